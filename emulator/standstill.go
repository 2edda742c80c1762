package emulator

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// standstill is how the workers of a launch find out that all waves stand still. The
// version grows after whatever may have changed memory. A worker that finds all its
// waves standing still says at which version it began to look. It looks a second time
// with no other worker looking, so that no two see each other's changes undone. When all
// have said the same version, and it is still that, nothing has changed while they
// looked, and nothing will.
type standstill struct {
	version atomic.Uint64
	turn    sync.Mutex // of those that look again

	mu   sync.Mutex
	said []uint64 // by worker
}

const (
	nothingSaid = math.MaxUint64 - iota
	workerLeft
)

func newStandstill(workers int) *standstill {
	s := &standstill{said: make([]uint64, workers)}
	for n := range s.said {
		s.said[n] = nothingSaid
	}
	return s
}

// changed says that memory may be another.
func (s *standstill) changed() { s.version.Add(1) }

// say notes that a worker has seen no change since a version, and reports whether that
// goes for all.
func (s *standstill) say(worker int, version uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said[worker] = version
	if version == workerLeft || version != s.version.Load() {
		return false
	}
	for _, v := range s.said {
		if v != version && v != workerLeft {
			return false
		}
	}
	return true
}

// file returns registers for a wave, zeros where they must be.
func (wk *worker) file(zero bool) *[vregs]vec {
	k := len(wk.files)
	if k == 0 {
		return new([vregs]vec)
	}
	v := wk.files[k-1]
	wk.files = wk.files[:k-1]
	if zero {
		clear(v[:wk.launch.registers])
		clear(v[firstAGPR : firstAGPR+wk.launch.registers])
	}
	return v
}

// park takes the registers of the waves away and keeps what is in them.
func (wk *worker) park(g *group) {
	wk.waited = true
	for _, w := range g.waves {
		if !w.spins && w.state != ended { // else it is known
			w.keep()
		}
		wk.files, w.v = append(wk.files, w.v), nil
	}
}

// resume gives the waves registers again.
func (wk *worker) resume(g *group) {
	for _, w := range g.waves {
		if w.v == nil {
			w.v = wk.file(false)
			if w.state != ended {
				w.giveBack()
			}
		}
	}
}

// awake reports whether some wave of a work-group that stood still has found what it
// waits for.
func (wk *worker) awake(g *group) (bool, error) {
	for _, w := range g.waves {
		if !w.spins || w.state != running {
			continue
		}
		w.v = wk.file(false)
		w.giveBack()
		if err := wk.lookAgain(w); err != nil {
			return false, err
		}
		if !w.spins {
			return true, nil
		}
		wk.files, w.v = append(wk.files, w.v), nil
	}
	return false, nil
}

// lookAtStill looks at the work-groups that stand still. It fails when all of the launch
// do, and no other can begin.
func (wk *worker) lookAtStill(ctx context.Context) error {
	s := wk.launch.still
	version := s.version.Load()
	if wk.quiet {
		s.turn.Lock()
		defer s.turn.Unlock()
	}
	woken := 0
	for i := 0; i < len(wk.still); i++ {
		g := wk.still[i]
		awake, err := wk.awake(g)
		if err != nil {
			return err
		}
		if awake {
			wk.resume(g)
			g.stands, g.rounds = false, 0
			wk.moving = append(wk.moving, g)
			wk.still = append(wk.still[:i], wk.still[i+1:]...)
			i--
			woken++
		}
	}
	if woken > 0 {
		wk.quiet, wk.pause = false, 0
		s.changed()
		return nil
	}
	if len(wk.moving) > 0 || wk.mayBegin() && wk.launch.more() {
		wk.quiet = false
		return nil
	}
	again := wk.quiet
	wk.quiet = true
	if again && s.say(wk.number, version) && !wk.launch.opts.Shared {
		return wk.over()
	}
	if again {
		return wk.rest(ctx)
	}
	return nil
}

// rest lets some time pass: another worker has to go on.
func (wk *worker) rest(ctx context.Context) error {
	const least, most = 20 * time.Microsecond, time.Millisecond
	wk.pause = min(max(2*wk.pause, least), most)
	timer := time.NewTimer(wk.pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// over is the end of a launch in which nothing can change any more.
func (wk *worker) over() error {
	l := wk.launch
	for _, g := range wk.still {
		for _, w := range g.waves {
			if !w.spins || w.state != running {
				continue
			}
			var at *instr
			if w.still.polls >= 0 {
				at = &w.code[w.still.polls]
				w.pc = w.still.polls + int32(at.size)
			}
			where := ""
			if at != nil {
				where = fmt.Sprintf(" for a change at %saddress 0x%x", w.still.space, w.still.addr)
			}
			if begun, all := l.begun(); begun < all {
				w.fail(at, "the wave waits in a loop%s, and so do all others: %d of %d work-groups have begun, as many as the largest %s holds at a time",
					where, begun, all, l.module.dev.target.Processor)
			} else {
				w.fail(at, "the wave waits in a loop%s, and all others have ended or wait as well: nothing will change", where)
			}
			return w.fault
		}
	}
	return nil
}
