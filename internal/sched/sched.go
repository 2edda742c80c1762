// Package sched runs the tasks of a graph: each after those it needs, as many
// at once as the budget of jobs and memory allows, the longest remaining path
// first.
package sched

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stonemason-hip/stonemason/internal/budget"
)

// Task is one unit of work.
type Task struct {
	ID    string
	Needs []string
	// Cost is the expected time. It sets the order, and how the budget is
	// divided where it is divided beforehand.
	Cost time.Duration
	// Memory is the peak in bytes of the largest process of the task, 0 when
	// that is unknown. With so much for each of its jobs a task is admitted.
	Memory int64
	// Run does the work with the tokens of a lease, which holds one to begin
	// with. It is ended when Run returns.
	Run func(ctx context.Context, lease *budget.Lease) error
}

// NeedFailedError is the error of a task that was not run because one that it
// needs has failed.
type NeedFailedError struct{ ID, Need string }

func (e *NeedFailedError) Error() string {
	return fmt.Sprintf("%s was not started: %s has failed", e.ID, e.Need)
}

// ErrNotStarted is the error of a task that was not run because another,
// unrelated one had failed before.
var ErrNotStarted = errors.New("not started after an earlier failure")

// Options of a run.
type Options struct {
	// Jobs is how many processes may run at once, over all tasks.
	Jobs int
	// Memory is how many bytes they may use, 0 being no bound.
	Memory int64
	// Oversize is told, if set, of a task that needs more memory than there
	// is, when it is started, alone and with one job.
	Oversize func(t Task, memory int64)
	// KeepGoing starts tasks that do not depend on a failed one.
	KeepGoing bool
}

// Run runs the tasks and returns the error of every task that did not succeed,
// by ID. Tasks that are running when another fails come to their end; a
// cancelled context ends all. Tasks must not need each other in a circle.
//
// A task that is ready and fits into the budget never waits, even when one
// before it in the order does not fit.
func Run(ctx context.Context, tasks []Task, opts Options) map[string]error {
	r := newRun(tasks, budget.New(opts.Jobs, opts.Memory))
	finished := make(chan result)
	for {
		var waiting []int64
		if ctx.Err() == nil && (len(r.failed) == 0 || opts.KeepGoing) {
			waiting = r.startReady(ctx, opts, finished)
		}
		r.budget.Await(waiting)
		if r.running == 0 {
			break
		}
		select {
		case done := <-finished:
			r.finish(done)
		case <-r.budget.Changed():
		case <-ctx.Done():
			r.budget.Await(nil)
			r.finish(<-finished)
		}
	}
	r.abandon(ctx)
	return r.failed
}

type result struct {
	id    string
	lease *budget.Lease
	err   error
}

type run struct {
	budget *budget.Budget
	order  []*Task // the longest path ahead first
	byID   map[string]*Task
	// dependents are those who need a task, directly.
	dependents map[string][]string
	rank       map[string]time.Duration // longest path from the task's start to the end
	running    int
	failed     map[string]error

	mu      sync.Mutex // tasks ask for their share while they run
	started map[string]bool
	done    map[string]bool
}

func newRun(tasks []Task, b *budget.Budget) *run {
	r := &run{
		budget: b, byID: map[string]*Task{}, dependents: map[string][]string{}, rank: map[string]time.Duration{},
		failed: map[string]error{}, started: map[string]bool{}, done: map[string]bool{},
	}
	for i := range tasks {
		t := &tasks[i]
		r.byID[t.ID] = t
		r.order = append(r.order, t)
		for _, n := range t.Needs {
			r.dependents[n] = append(r.dependents[n], t.ID)
		}
	}
	var rank func(id string) time.Duration
	rank = func(id string) time.Duration {
		if v, ok := r.rank[id]; ok {
			return v
		}
		var longest time.Duration
		for _, d := range r.dependents[id] {
			longest = max(longest, rank(d))
		}
		r.rank[id] = longest + r.byID[id].cost()
		return r.rank[id]
	}
	for id := range r.byID {
		rank(id)
	}
	slices.SortFunc(r.order, func(a, b *Task) int {
		return cmp.Or(cmp.Compare(r.rank[b.ID], r.rank[a.ID]), strings.Compare(a.ID, b.ID))
	})
	return r
}

// cost is the expected time; a task of which nothing is known is a short one.
func (t *Task) cost() time.Duration { return max(t.Cost, time.Millisecond) }

// startReady starts the ready tasks that fit and returns what memory a process
// of each of the others needs.
func (r *run) startReady(ctx context.Context, opts Options, finished chan<- result) (waiting []int64) {
	for _, t := range r.order {
		if r.started[t.ID] || !r.ready(t) {
			continue
		}
		lease, ok := r.budget.Begin(t.Memory, func() int { return r.share(t) })
		if !ok {
			waiting = append(waiting, t.Memory)
			continue
		}
		if r.budget.Exceeds(t.Memory) && opts.Oversize != nil {
			opts.Oversize(*t, r.budget.Memory())
		}
		r.mu.Lock()
		r.started[t.ID] = true
		r.mu.Unlock()
		r.running++
		go func() {
			err := t.Run(ctx, lease)
			finished <- result{t.ID, lease, err}
		}()
	}
	return waiting
}

func (r *run) ready(t *Task) bool {
	return !slices.ContainsFunc(t.Needs, func(n string) bool { return r.byID[n] != nil && !r.done[n] })
}

// share is how many jobs are a task's by right, where they must be divided
// beforehand: its part of the work that could go on at the same time, which is
// all that is not done and does not need it. So something is left for what
// begins later, and most for what takes longest.
func (r *run) share(t *Task) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	after := map[string]bool{t.ID: true}
	for queue := []string{t.ID}; len(queue) > 0; queue = queue[1:] {
		for _, d := range r.dependents[queue[0]] {
			if !after[d] {
				after[d] = true
				queue = append(queue, d)
			}
		}
	}
	others := time.Duration(0)
	for id, o := range r.byID {
		if !after[id] && !r.done[id] {
			others += o.cost()
		}
	}
	jobs := float64(r.budget.Jobs()) * float64(t.cost()) / float64(t.cost()+others)
	return max(1, int(math.Ceil(jobs)))
}

func (r *run) finish(res result) {
	// Only now: what begins with these tokens must know how this one ended.
	res.lease.End()
	r.running--
	if res.err == nil {
		r.mu.Lock()
		r.done[res.id] = true
		r.mu.Unlock()
		return
	}
	r.failed[res.id] = res.err
	r.failDependents(res.id)
}

// failDependents marks everything that needs a failed task.
func (r *run) failDependents(id string) {
	for _, d := range r.dependents[id] {
		if !r.started[d] {
			r.mu.Lock()
			r.started[d] = true
			r.mu.Unlock()
			r.failed[d] = &NeedFailedError{ID: d, Need: id}
			r.failDependents(d)
		}
	}
}

// abandon gives every task that was never started its error.
func (r *run) abandon(ctx context.Context) {
	for _, t := range r.order {
		if !r.started[t.ID] {
			r.failed[t.ID] = ErrNotStarted
			if ctx.Err() != nil {
				r.failed[t.ID] = context.Cause(ctx)
			}
		}
	}
}
