package emulator

import (
	"context"
	"math/rand/v2"
)

// turn is how many instructions a wave runs before the next one's turn comes,
// patience how many rounds a work-group has before others start beside it: it may
// wait for them.
const (
	turn      = 4096
	patience  = 64
	maxActive = 64
)

// group is a work-group with its waves and its local memory.
type group struct {
	launch  *launch
	id      Dim3
	lds     []byte
	size    uint32 // of lds, in bytes
	waves   []*wave
	rounds  int
	signals int       // of waves, for the barrier of two steps
	own     ownMemory // of a launch that is checked

	arrived, opened clockView // see arrive and leave
}

// worker runs work-groups on one core.
type worker struct {
	launch   *launch
	rng      *rand.Rand
	counters Counters
	idle     []*group // done: their memory is used again
	waves    []*wave
	watched  bool // the launch is checked or counted
}

func (wk *worker) work(ctx context.Context) error {
	var active []*group
	for {
		if len(active) == 0 || active[len(active)-1].rounds > patience && len(active) < maxActive {
			n, ok := wk.launch.take()
			switch {
			case ok:
				active = append(active, wk.group(n))
			case len(active) == 0:
				return nil
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		for i := 0; i < len(active); i++ {
			done, err := wk.round(active[i])
			if err != nil {
				return err
			}
			if done {
				wk.idle = append(wk.idle, active[i])
				wk.waves = append(wk.waves, active[i].waves...)
				active = append(active[:i], active[i+1:]...)
				i--
			}
		}
	}
}

// round gives each wave of a work-group a turn.
func (wk *worker) round(g *group) (done bool, err error) {
	g.rounds++
	n := len(g.waves)
	first := 0
	if wk.launch.opts.Deterministic && wk.launch.opts.Seed != 0 {
		first = wk.rng.IntN(n)
	}
	live, waiting := 0, 0
	for k := range n {
		w := g.waves[(first+k)%n]
		if w.state == asleep {
			w.state = running
		}
		if w.state == running {
			if w.trace != nil {
				w.stepTraced(turn, wk.watched)
			} else if wk.watched {
				w.stepWatched(turn)
			} else {
				w.step(turn)
			}
			ran := turn - w.left
			wk.counters.Instructions += ran
			if err := wk.launch.spend(ran); err != nil {
				return false, err
			}
			if h := wk.launch.host; h != nil {
				served, err := h.serve()
				if err != nil {
					return false, err
				}
				if served {
					g.rounds = 0 // it has not waited for another work-group
				}
				w.last = nil // it may have been freed
			}
			if w.state == faulted {
				return false, w.fault
			}
		}
		if w.state != ended {
			live++
		}
		if w.state == atBarrier {
			waiting++
		}
	}
	if w := g.stuck(); w != nil {
		w.fail(&w.code[w.pc-1], "all waves wait for a barrier that nobody signals any more")
		return false, w.fault
	}
	if live > 0 && waiting == live {
		if k := wk.launch.watch; k != nil {
			k.barrier(g)
		}
		for _, w := range g.waves {
			if w.state == atBarrier {
				w.state = running
			}
		}
	}
	return live == 0, nil
}

// group makes the work-group of that number ready to run.
func (wk *worker) group(n uint64) *group {
	l := wk.launch
	var g *group
	if k := len(wk.idle); k > 0 {
		g, wk.idle = wk.idle[k-1], wk.idle[:k-1]
		clear(g.lds)
	} else {
		g = &group{launch: l, size: l.lds, lds: newRegion(0, uint64(l.lds)+8, "", true).data}
	}
	x, y := uint64(l.grid.X), uint64(l.grid.Y)
	g.id = Dim3{uint32(n % x), uint32(n / x % y), uint32(n / x / y)}
	g.rounds, g.signals, g.own, g.arrived, g.opened = 0, 0, ownMemory{}, nil, nil
	count := int(l.waves())
	g.waves = g.waves[:0]
	for i := range count {
		var w *wave
		if k := len(wk.waves); k > 0 {
			w, wk.waves = wk.waves[k-1], wk.waves[:k-1]
			*w = wave{v: w.v, scratch: w.scratch}
			clear(w.v[:l.registers])
			clear(w.v[firstAGPR : firstAGPR+l.registers])
		} else {
			w = &wave{v: new([vregs]vec), scratch: newRegion(0, uint64(l.private)*lanes+8, "", true).data}
		}
		w.group, w.number, w.code, w.mem, w.count = g, i, l.program.code, &l.module.dev.mem, &wk.counters
		l.start(w, g)
		w.trace = l.traced(w)
		g.waves = append(g.waves, w)
	}
	wk.counters.Groups++
	wk.counters.Waves += int64(count)
	return g
}
