package emulator

// Barriers in two steps ("RDNA 4" ISA, "Barriers"): a wave signals that it is
// there, and later waits for all others to have signalled. Only the barrier of the
// work-group, -1, is known; those with names are not.

// workGroupBarrier is the number of the work-group's barrier.
const workGroupBarrier = -1

// barriers are the operations of gfx12.
func barriers(ops map[string]*operation) {
	known := func(w *wave, i *instr) bool {
		number := int16(w.scalar32(&i.src[0]))
		if number != workGroupBarrier {
			w.fail(i, "barrier %d: the work-group's (-1) is supported alone", number)
		}
		return number == workGroupBarrier
	}
	signal := func(first bool) *operation {
		return &operation{run: func(w *wave, i *instr) {
			if !known(w, i) {
				return
			}
			if first {
				w.scc = bit32(w.group.signals == 0)
			}
			w.group.signals++
			w.group.arrive(w)
			w.group.complete()
		}}
	}
	ops["s_barrier_signal"], ops["s_barrier_signal_isfirst"] = signal(false), signal(true)
	ops["s_barrier_wait"] = &operation{run: func(w *wave, i *instr) {
		switch {
		case !known(w, i):
		case w.passed:
			w.passed = false
			w.group.leave(w)
		default:
			w.state = awaiting
		}
	}}
}

// complete opens the barrier when all waves that have not ended have signalled.
func (g *group) complete() {
	live := 0
	for _, w := range g.waves {
		if w.state != ended {
			live++
		}
	}
	if g.signals == 0 || g.signals < live {
		return
	}
	for _, w := range g.waves {
		if w.state == ended {
			g.arrive(w)
		}
	}
	g.signals = 0
	g.opened, g.arrived = g.arrived, nil
	for _, w := range g.waves {
		if w.state == awaiting {
			w.state = running
			g.leave(w)
		} else {
			w.passed = true
		}
	}
}

// arrive and leave tell a launch that looks for races what a barrier orders: what
// waves did before they signalled comes before what others do when they have waited.
func (g *group) arrive(w *wave) {
	k := g.launch.watch
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if g.arrived == nil {
		g.arrived = clockView{}
	}
	k.clock(w.id()).release(w.id(), g.arrived)
}

func (g *group) leave(w *wave) {
	k := g.launch.watch
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.clock(w.id()).seen.join(g.opened)
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
