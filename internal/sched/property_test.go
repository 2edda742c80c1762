package sched

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stonemason-hip/stonemason/internal/budget"
)

// world runs generated graphs in virtual time and keeps an eye on them.
type world struct {
	t      *testing.T
	jobs   int
	memory int64
	tasks  []Task
	work   map[string]time.Duration

	mu        sync.Mutex
	running   map[string]int // jobs, by task
	done      map[string]bool
	idle      time.Duration // processor time lost while something that fits was ready
	last      time.Time
	peakJobs  int
	peakBytes int64
}

// note takes down what has happened since it was last called; change is what
// happens now.
func (w *world) note(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	used, bytes := 0, int64(0)
	for id, jobs := range w.running {
		used += jobs
		bytes += int64(jobs) * w.task(id).Memory
	}
	for _, t := range w.tasks {
		_, runs := w.running[t.ID]
		blocked := slices.ContainsFunc(t.Needs, func(n string) bool { return !w.done[n] })
		if runs || w.done[t.ID] || blocked || used >= w.jobs {
			continue
		}
		oversize := w.memory > 0 && t.Memory > w.memory
		if len(w.running) == 0 || !oversize && !w.alone() && (w.memory == 0 || t.Memory == 0 || bytes+t.Memory <= w.memory) {
			w.idle += now.Sub(w.last)
			break
		}
	}
	w.last = now
	change()
	used, bytes = 0, 0
	for id, jobs := range w.running {
		used += jobs
		bytes += int64(jobs) * w.task(id).Memory
	}
	if w.alone() {
		if len(w.running) > 1 || used > 1 {
			w.t.Errorf("what exceeds the memory does not run alone: %v", w.running)
		}
		return
	}
	w.peakJobs, w.peakBytes = max(w.peakJobs, used), max(w.peakBytes, bytes)
}

func (w *world) task(id string) *Task {
	return &w.tasks[slices.IndexFunc(w.tasks, func(t Task) bool { return t.ID == id })]
}

func (w *world) alone() bool {
	for id := range w.running {
		if w.memory > 0 && w.task(id).Memory > w.memory {
			return true
		}
	}
	return false
}

// single is a task that runs one process.
func (w *world) single(id string) func(context.Context, *budget.Lease) error {
	return func(context.Context, *budget.Lease) error {
		w.note(func() { w.running[id] = 1 })
		time.Sleep(w.work[id])
		w.note(func() { delete(w.running, id); w.done[id] = true })
		return nil
	}
}

// divided is a task that is told its number of jobs, as an old ninja is.
func (w *world) divided(id string) func(context.Context, *budget.Lease) error {
	return func(_ context.Context, l *budget.Lease) error {
		w.note(func() { w.running[id] = 1 })
		n := l.Take(w.jobs)
		w.note(func() { w.running[id] = 1 + n })
		time.Sleep(w.work[id] / time.Duration(1+n))
		w.note(func() { w.running[id] = 1 })
		l.Give(n)
		w.note(func() { delete(w.running, id); w.done[id] = true })
		return nil
	}
}

// pool is an outlet without a pipe.
type pool struct {
	mu     sync.Mutex
	tokens int
	got    func()
}

func (p *pool) Unread() int { p.mu.Lock(); defer p.mu.Unlock(); return p.tokens }
func (p *pool) Put(n int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tokens += n
	return nil
}
func (p *pool) TakeBack(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n = min(n, p.tokens)
	p.tokens -= n
	return n
}
func (p *pool) Reclaim(got func()) { p.mu.Lock(); defer p.mu.Unlock(); p.got = got }
func (p *pool) StopReclaim()       { p.mu.Lock(); defer p.mu.Unlock(); p.got = nil }
func (p *pool) Close() int         { return p.TakeBack(1 << 20) }

// release gives a token back: whoever competes for it has it.
func (p *pool) release() {
	p.mu.Lock()
	got := p.got
	p.got = nil
	if got == nil {
		p.tokens++
	}
	p.mu.Unlock()
	if got != nil {
		got()
	}
}

// shared is a task of many short commands that takes its jobs from an outlet,
// as a new ninja does.
func (w *world) shared(id string) func(context.Context, *budget.Lease) error {
	const unit = time.Second
	return func(_ context.Context, l *budget.Lease) error {
		p := new(pool)
		w.note(func() { w.running[id] = 1 })
		l.Open(p)
		units, running := int(w.work[id]/unit), 0
		ended := make(chan struct{}, 64)
		for units > 0 || running > 0 {
			for units > 0 && (running == 0 || p.TakeBack(1) == 1) {
				units--
				running++
				w.note(func() { w.running[id] = running })
				go func() { time.Sleep(unit); ended <- struct{}{} }()
			}
			select {
			case <-ended:
				running--
				if running > 0 { // the one without a token is whichever ends last
					w.note(func() { w.running[id] = running })
					p.release()
				}
			case <-time.After(unit / 10):
			}
		}
		w.note(func() { w.running[id] = 1 })
		l.Close()
		w.note(func() { delete(w.running, id); w.done[id] = true })
		return nil
	}
}

// generate makes a graph of layers, as toolchains are: what needs what is drawn
// among all tasks before it.
func generate(t *testing.T, r *rand.Rand, n, jobs int, memory int64, mode string) *world {
	w := &world{t: t, jobs: jobs, memory: memory, work: map[string]time.Duration{}, running: map[string]int{}, done: map[string]bool{}}
	for i := range n {
		id := fmt.Sprintf("t%03d", i)
		w.work[id] = time.Duration(1+r.IntN(100)) * time.Second
		task := Task{ID: id, Cost: w.work[id]}
		for range r.IntN(3) {
			if i > 0 {
				need := fmt.Sprintf("t%03d", r.IntN(i))
				if !slices.Contains(task.Needs, need) {
					task.Needs = append(task.Needs, need)
				}
			}
		}
		if memory > 0 {
			task.Memory = r.Int64N(memory * 5 / 4)
			if r.IntN(3) > 0 {
				task.Memory /= 8
			}
		}
		switch mode {
		case "single":
			task.Run = w.single(id)
		case "divided":
			task.Run = w.divided(id)
		case "shared":
			task.Run = w.shared(id)
		}
		w.tasks = append(w.tasks, task)
	}
	return w
}

// run returns how long it took, and the bound below which no schedule is:
// the longest path and the work of all processors.
func (w *world) run() (took, bound time.Duration) {
	begun := time.Now()
	w.last = begun
	if failed := Run(w.t.Context(), w.tasks, Options{Jobs: w.jobs, Memory: w.memory}); len(failed) != 0 {
		w.t.Fatal(failed)
	}
	var sum, path time.Duration
	ends := map[string]time.Duration{}
	for _, task := range w.tasks { // needs come before
		for _, n := range task.Needs {
			ends[task.ID] = max(ends[task.ID], ends[n])
		}
		ends[task.ID] += w.work[task.ID]
		path = max(path, ends[task.ID])
		sum += w.work[task.ID]
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.peakJobs > w.jobs {
		w.t.Errorf("%d jobs at once, budget %d", w.peakJobs, w.jobs)
	}
	if w.memory > 0 && w.peakBytes > w.memory {
		w.t.Errorf("%d bytes at once, budget %d", w.peakBytes, w.memory)
	}
	return time.Since(begun), max(path, sum/time.Duration(w.jobs))
}

// TestNeverIdle: no processor is idle while a task is ready that fits, and the
// budget of jobs and memory holds, over generated graphs.
func TestNeverIdle(t *testing.T) {
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			w := generate(t, r, 5+r.IntN(60), 1+r.IntN(12), []int64{0, 1 << 30}[seed%2], "single")
			w.run()
			if w.idle > 0 {
				t.Errorf("seed %d: %v lost while a task was ready", seed, w.idle)
			}
		})
	}
}

func TestNearTheLowerBound(t *testing.T) {
	for mode, limit := range map[string]float64{"single": 1.1, "divided": 1.8, "shared": 1.1} {
		var ratios []float64
		for seed := range uint64(24) {
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 2))
				w := generate(t, r, 10+r.IntN(30), 2+r.IntN(7), 0, mode)
				took, bound := w.run()
				time.Sleep(time.Second) // until the budget has seen that all is closed
				if mode != "single" {   // a task alone can fill all processors
					var sum time.Duration
					for _, v := range w.work {
						sum += v
					}
					bound = sum / time.Duration(w.jobs)
				}
				ratios = append(ratios, float64(took)/float64(bound))
			})
		}
		slices.Sort(ratios)
		median, worst := ratios[len(ratios)/2], ratios[len(ratios)-1]
		t.Logf("%s: median %.3f, worst %.3f", mode, median, worst)
		if worst > limit {
			t.Errorf("%s: %.3f of the bound, at most %.2f", mode, worst, limit)
		}
	}
}
