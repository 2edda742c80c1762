package emulator

import "github.com/stonemason-hip/stonemason/emulator/isa"

// Barriers with names: a kernel says how many signals open one, and a wave which of
// them it will wait at. LLVM writes them for gfx12; AMD's document of RDNA 4 does not
// have them, and what they do is taken from LLVM, "AMDGPU Execution Synchronization",
// which counts them to GFX12.5.

// mostNamed is the highest number of a barrier with a name. 0 is none: to join it is
// to wait nowhere, and whatever else is done with it does nothing.
const mostNamed = 16

// namedBarrier opens when as many waves have signalled as it has members.
type namedBarrier struct {
	members, signals int
	arrived, opened  clockView // of a launch that is checked
}

// named returns the state of a barrier.
func (g *group) namedState(number int) *namedBarrier {
	if g.named == nil {
		g.named = new([mostNamed + 1]namedBarrier)
	}
	return &g.named[number]
}

func namedBarriers(ops map[string]*operation) {
	ops["s_barrier_init"] = &operation{run: func(w *wave, i *instr) {
		number, _, ok := w.barrier(i)
		if !ok || number == 0 {
			return
		}
		members := int(w.s[isa.M0] >> 16 & 127)
		if number < 0 || members == 0 {
			w.fail(i, "barrier %d of %d waves cannot be set up", number, members)
			return
		}
		*w.group.namedState(number) = namedBarrier{members: members}
	}}
	ops["s_barrier_join"] = &operation{run: func(w *wave, i *instr) {
		number, _, ok := w.barrier(i)
		switch {
		case !ok:
		case number < 0:
			w.fail(i, "barrier %d has all waves of the work-group", number)
		default:
			w.joined, w.passedNamed = uint8(number)+1, false
		}
	}}
	ops["s_barrier_leave"] = &operation{run: func(w *wave, i *instr) {
		number := int(w.joined) - 1
		w.scc = bit32(number > 0) // nobody says what it is: here, that there was one to leave
		w.joined, w.passedNamed = 0, false
		switch {
		case number < 0:
			w.fail(i, "it leaves a barrier, and has joined none")
		case number > 0:
			b := w.group.namedState(number)
			if b.members == 0 {
				w.fail(i, "barrier %d was never set up, or all have left it", number)
				return
			}
			b.members--
			w.arrive(&b.arrived)
			w.group.completeNamed(number)
		}
	}}
	ops["s_get_barrier_state"] = &operation{results: 1, run: func(w *wave, i *instr) {
		number, _, ok := w.barrier(i)
		if !ok {
			return
		}
		var members, signals int
		switch {
		case number == workGroupBarrier:
			members, signals = w.group.live(), w.group.signals
		case number > 0:
			b := w.group.namedState(number)
			members, signals = b.members, b.signals
		}
		w.s[i.dst&127] = bit32(members > 0) | uint32(members)<<4 | uint32(signals)<<16
	}}
}

// signalNamed counts a signal. Where members is not zero the barrier has as many from
// now on.
func (w *wave) signalNamed(i *instr, number, members int, first bool) {
	if number == 0 {
		return
	}
	b := w.group.namedState(number)
	if members != 0 {
		b.members = members
	}
	if b.members <= b.signals {
		w.fail(i, "barrier %d has %d waves, and %d have signalled: was it set up?", number, b.members, b.signals)
		return
	}
	if first {
		w.scc = bit32(b.signals == 0)
	}
	b.signals++
	w.arrive(&b.arrived)
	w.group.completeNamed(number)
}

// waitNamed waits for the barrier that the wave joined last, whatever number the
// instruction says.
func (w *wave) waitNamed(i *instr) {
	switch number := int(w.joined) - 1; {
	case number < 0:
		w.fail(i, "it waits for a barrier with a name, and has joined none")
	case number == 0:
	case w.passedNamed:
		w.passedNamed = false
		w.leave(w.group.namedState(number).opened)
	default:
		w.state, w.atNamed = awaiting, true
	}
}

// completeNamed opens a barrier when all its members have signalled: those that have
// joined it may go on.
func (g *group) completeNamed(number int) {
	b := g.namedState(number)
	if b.signals == 0 || b.signals < b.members {
		return
	}
	b.signals = 0
	b.opened, b.arrived = b.arrived, nil
	for _, w := range g.waves {
		switch {
		case int(w.joined) != number+1:
		case w.state == awaiting && w.atNamed:
			w.state, w.atNamed = running, false
			w.leave(b.opened)
		default:
			w.passedNamed = true
		}
	}
}
