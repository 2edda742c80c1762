package emulator

import "github.com/stonemason-hip/stonemason/emulator/isa"

// Barriers in two steps ("RDNA 4" ISA, "Barriers"): a wave signals that it is
// there, and later waits for all others to have signalled. That of the work-group
// has number -1; a kernel sets others up itself (see rdna_named.go).

// The numbers of barriers that are always there.
const (
	workGroupBarrier = -1
	trapBarrier      = -2 // of trap handlers: what a kernel does with it is ignored
)

// barriers are the operations of gfx12.
func barriers(ops map[string]*operation) {
	signal := func(first bool) *operation {
		return &operation{run: func(w *wave, i *instr) {
			number, members, ok := w.barrier(i)
			switch {
			case !ok, number == trapBarrier:
			case number >= 0:
				w.signalNamed(i, number, members, first)
			default:
				if first {
					w.scc = bit32(w.group.signals == 0)
				}
				w.group.signals++
				w.arrive(&w.group.arrived)
				w.group.complete()
			}
		}}
	}
	ops["s_barrier_signal"], ops["s_barrier_signal_isfirst"] = signal(false), signal(true)
	ops["s_barrier_wait"] = &operation{run: func(w *wave, i *instr) {
		number, _, ok := w.barrier(i)
		switch {
		case !ok, number == trapBarrier:
		case number >= 0:
			w.waitNamed(i)
		case w.passed:
			w.passed = false
			w.leave(w.group.opened)
		default:
			w.state = awaiting
		}
	}}
	namedBarriers(ops)
}

// barrier returns the number of the barrier that an instruction names: an inline
// constant, or what M0 says, which never is that of the work-group. M0 also says how
// many waves a barrier has.
func (w *wave) barrier(i *instr) (number, members int, ok bool) {
	s := &i.src[0]
	m0 := w.s[isa.M0]
	switch {
	case s.kind == srcConst:
		number = int(int16(s.value))
	case s.kind == srcScalar && s.reg == isa.M0:
		number, members = int(m0&31), int(m0>>16&127)
	default:
		w.fail(i, "the number of a barrier is a constant, or in M0")
		return 0, 0, false
	}
	if number < trapBarrier || number > mostNamed {
		w.fail(i, "barrier %d: there are those of 1 to %d, and the work-group's (-1)", number, mostNamed)
		return 0, 0, false
	}
	return number, members, true
}

// live counts the waves that have not ended.
func (g *group) live() (n int) {
	for _, w := range g.waves {
		if w.state != ended {
			n++
		}
	}
	return n
}

// complete opens the barrier when all waves that have not ended have signalled.
func (g *group) complete() {
	if g.signals == 0 || g.signals < g.live() {
		return
	}
	for _, w := range g.waves {
		if w.state == ended {
			w.arrive(&g.arrived)
		}
	}
	g.signals = 0
	g.opened, g.arrived = g.arrived, nil
	for _, w := range g.waves {
		if w.state == awaiting && !w.atNamed {
			w.state = running
			w.leave(g.opened)
		} else {
			w.passed = true
		}
	}
}

// arrive and leave tell a launch that looks for races what a barrier orders: what
// waves did before they signalled comes before what others do when they have waited.
func (w *wave) arrive(all *clockView) {
	k := w.group.launch.watch
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if *all == nil {
		*all = clockView{}
	}
	k.clock(w.id()).release(w.id(), *all)
}

func (w *wave) leave(all clockView) {
	k := w.group.launch.watch
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.clock(w.id()).seen.join(all)
}

// stuck returns one of the waves when all wait for signals that nobody is left to
// give, else nil.
func (g *group) stuck() *wave {
	if g.signals > 0 {
		g.complete() // a wave may have ended
	}
	var waiting *wave
	for _, w := range g.waves {
		switch w.state {
		case ended:
		case awaiting:
			waiting = w
		default:
			return nil
		}
	}
	return waiting
}
