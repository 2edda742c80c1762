package emulator

import (
	"context"
	"math/rand/v2"
	"time"
)

// turn is how many instructions a wave runs before the next one's turn comes,
// patience how many rounds a work-group has before others start beside it: it may
// wait for them. maxActive bounds those that run beside each other on one core and are
// not known to wait.
const (
	turn      = 4096
	shortTurn = 512 // where work-groups are known to wait for each other
	patience  = 64
	maxActive = 64
	// A look whether a wave stands still is dear: the first comes after that many turns,
	// or at once where others have stood still, and each that is in vain doubles them.
	firstLook = 8
	maxTurns  = 1 << 10
)

// group is a work-group with its waves and its local memory.
type group struct {
	launch  *launch
	id      Dim3
	block   Dim3 // its work-items
	lds     []byte
	size    uint32 // of lds, in bytes
	waves   []*wave
	rounds  int
	signals int       // of waves, for the barrier of two steps
	stands  bool      // all waves that have not ended wait, and at least one stands still
	own     ownMemory // of a launch that is checked
	named   *[mostNamed + 1]namedBarrier

	arrived, opened clockView // see arrive and leave
}

// worker runs work-groups on one core.
type worker struct {
	launch   *launch
	number   int
	rng      *rand.Rand
	counters Counters
	idle     []*group // done: their memory is used again
	waves    []*wave
	files    []*[vregs]vec // registers that no wave has
	watched  bool          // the launch is checked or counted

	moving []*group // work-groups that have begun
	still  []*group // those of them in which all waves stand still, without registers
	passes int      // since somebody has looked at these
	quiet  bool     // the last look found no change anywhere
	waited bool     // some work-group has stood still
	pause  time.Duration

	looks         []*look // by instruction; see standsStill
	list          []touch
	before, after []uint32
	own           []ownWord
}

func (wk *worker) work(ctx context.Context) error {
	defer wk.launch.still.say(wk.number, workerLeft)
	for {
		open := wk.mayBegin()
		if open {
			n, ok := wk.launch.take()
			if open = ok; ok {
				wk.moving = append(wk.moving, wk.group(n))
			} else if len(wk.moving)+len(wk.still) == 0 {
				return nil
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(wk.moving) > 0 {
			if err := wk.pass(); err != nil {
				return err
			}
			wk.launch.still.changed()
		}
		// Looking at all that wait each time one begins would take the square of their number.
		if wk.passes++; len(wk.still) > 0 && (len(wk.moving) == 0 && !open || wk.passes > len(wk.still)/8) {
			wk.passes = 0
			if err := wk.lookAtStill(ctx); err != nil {
				return err
			}
		}
	}
}

// mayBegin reports whether another work-group may begin beside those that have: when
// all wait or take long.
func (wk *worker) mayBegin() bool {
	n := len(wk.moving)
	if n+len(wk.still) == 0 {
		return true
	}
	workers := uint64(wk.launch.workers())
	if uint64(n+len(wk.still)) >= (wk.launch.resident+workers-1)/workers {
		return false
	}
	return n == 0 || n < maxActive && wk.moving[n-1].rounds > patience
}

// pass gives each work-group that is not known to wait a round.
func (wk *worker) pass() error {
	for i := 0; i < len(wk.moving); i++ {
		g := wk.moving[i]
		done, err := wk.round(g)
		if err != nil {
			return err
		}
		switch {
		case done:
			wk.idle = append(wk.idle, g)
			wk.waves = append(wk.waves, g.waves...)
		case g.stands:
			wk.park(g)
			wk.still = append(wk.still, g)
		default:
			continue
		}
		wk.moving = append(wk.moving[:i], wk.moving[i+1:]...)
		i--
	}
	return nil
}

// round gives each wave of a work-group a turn.
func (wk *worker) round(g *group) (done bool, err error) {
	g.rounds++
	n := len(g.waves)
	first := 0
	if wk.launch.opts.Deterministic && wk.launch.opts.Seed != 0 {
		first = wk.rng.IntN(n)
	}
	live, waiting, awaited, still := 0, 0, 0, 0
	for k := range n {
		w := g.waves[(first+k)%n]
		if w.state == asleep {
			w.state = running
		}
		if w.state == running {
			if err := wk.turn(g, w); err != nil {
				return false, err
			}
		}
		if w.state != ended {
			live++
		}
		switch {
		case w.state == atBarrier:
			waiting++
		case w.state == awaiting:
			awaited++
		case w.spins:
			still++
		}
	}
	if w := g.stuck(); w != nil {
		w.fail(&w.code[w.pc-1], "all waves wait for a barrier that nobody signals any more")
		return false, w.fault
	}
	g.stands = still > 0 && still+waiting+awaited == live
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

// run gives a wave some instructions, in the way that the launch asks for.
func (wk *worker) run(w *wave, most int64) {
	switch {
	case w.trace != nil:
		w.stepTraced(most, wk.watched)
	case wk.watched:
		w.stepWatched(most)
	default:
		w.step(most)
	}
}

// turn runs a wave for a while.
func (wk *worker) turn(g *group, w *wave) error {
	if w.spins {
		if err := wk.lookAgain(w); err != nil || w.spins || w.state != running {
			return err
		}
	}
	if w.every == 0 {
		w.every = firstLook
		if wk.waited {
			w.every = 1
		}
	}
	most := int64(turn)
	if w.every == 1 {
		most = shortTurn
	}
	wk.run(w, most)
	waits := w.left == 0 && w.state == running || w.state == asleep // as far as one can tell
	if err := wk.spent(most - w.left); err != nil {
		return err
	}
	if h := wk.launch.host; h != nil {
		served, err := h.serve()
		if err != nil {
			return err
		}
		if served {
			g.rounds = 0 // it has not waited for another work-group
			waits = false
		}
		w.last = nil // it may have been freed
	}
	if w.state == faulted {
		return w.fault
	}
	if !waits {
		return nil
	}
	if w.turns++; w.turns < w.every {
		return nil
	}
	w.state, w.turns = running, 0
	if err := wk.lookAgain(w); err != nil {
		return err
	}
	if w.every = min(2*w.every, maxTurns); w.spins {
		w.every = 1
	}
	return nil
}

// lookAgain finds out whether a wave stands still.
func (wk *worker) lookAgain(w *wave) error {
	yes, ran := wk.standsStill(w)
	w.spins = yes
	if err := wk.spent(ran); err != nil {
		return err
	}
	if w.state == faulted {
		return w.fault
	}
	return nil
}

func (wk *worker) spent(instructions int64) error {
	wk.counters.Instructions += instructions
	return wk.launch.spend(instructions)
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
	g.rounds, g.signals, g.stands, g.own, g.arrived, g.opened, g.named = 0, 0, false, ownMemory{}, nil, nil, nil
	g.block = l.blockOf(g.id)
	count := int(l.wavesOf(g.block))
	g.waves = g.waves[:0]
	for i := range count {
		var w *wave
		if k := len(wk.waves); k > 0 {
			w, wk.waves = wk.waves[k-1], wk.waves[:k-1]
			*w = wave{v: w.v, scratch: w.scratch, still: still{v: w.still.v}}
			clear(w.v[:l.registers])
			clear(w.v[firstAGPR : firstAGPR+l.registers])
		} else {
			w = &wave{v: wk.file(true), scratch: newRegion(0, uint64(l.private)*lanes+8, "", true).data}
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
