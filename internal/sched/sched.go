// Package sched runs the tasks of a graph: each after those it needs, as many
// at once as the job budget allows, the longest remaining path first.
package sched

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Task is one unit of work.
type Task struct {
	ID    string
	Needs []string
	// Cost is the expected time; it only sets the order.
	Cost time.Duration
	// Run does the work with at most jobs processes at once.
	Run func(ctx context.Context, jobs int) error
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
	// Jobs is the budget: the sum of what running tasks may use.
	Jobs int
	// KeepGoing starts tasks that do not depend on a failed one.
	KeepGoing bool
}

// Run runs the tasks and returns the error of every task that did not succeed,
// by ID. Tasks that are running when another fails come to their end; a
// cancelled context ends all. Tasks must not need each other in a circle.
func Run(ctx context.Context, tasks []Task, opts Options) map[string]error {
	r := newRun(tasks, max(1, opts.Jobs))
	finished := make(chan result)
	running := 0
	for r.pending > 0 || running > 0 {
		for stopped := false; ; {
			stopped = stopped || ctx.Err() != nil || len(r.failed) > 0 && !opts.KeepGoing
			next := -1
			if !stopped {
				next = r.next()
			}
			if next < 0 {
				break
			}
			t, jobs := r.start(next)
			running++
			go func() { finished <- result{t.ID, jobs, t.Run(ctx, jobs)} }()
		}
		if running == 0 {
			r.abandon(ctx)
			break
		}
		done := <-finished
		running--
		r.finish(done)
	}
	return r.failed
}

type result struct {
	id   string
	jobs int
	err  error
}

type run struct {
	tasks   []Task
	started []bool
	rank    map[string]time.Duration // longest path from the task's start to the end
	done    map[string]bool
	failed  map[string]error
	pending int
	free    int
	total   int
	byID    map[string]*Task
}

func newRun(tasks []Task, jobs int) *run {
	r := &run{
		tasks: tasks, started: make([]bool, len(tasks)), rank: map[string]time.Duration{}, done: map[string]bool{},
		failed: map[string]error{}, pending: len(tasks), free: jobs, total: jobs, byID: map[string]*Task{},
	}
	dependents := map[string][]string{}
	for i := range tasks {
		r.byID[tasks[i].ID] = &tasks[i]
		for _, n := range tasks[i].Needs {
			dependents[n] = append(dependents[n], tasks[i].ID)
		}
	}
	var rank func(id string) time.Duration
	rank = func(id string) time.Duration {
		if v, ok := r.rank[id]; ok {
			return v
		}
		var longest time.Duration
		for _, d := range dependents[id] {
			longest = max(longest, rank(d))
		}
		r.rank[id] = longest + max(r.byID[id].Cost, time.Millisecond)
		return r.rank[id]
	}
	for id := range r.byID {
		rank(id)
	}
	return r
}

// next is the index of the ready task with the longest path ahead, or -1.
func (r *run) next() int {
	if r.free == 0 {
		return -1
	}
	best := -1
	for i, t := range r.tasks {
		if r.started[i] || !r.ready(t) {
			continue
		}
		if best < 0 || r.rank[t.ID] > r.rank[r.tasks[best].ID] || r.rank[t.ID] == r.rank[r.tasks[best].ID] && strings.Compare(t.ID, r.tasks[best].ID) < 0 {
			best = i
		}
	}
	return best
}

func (r *run) ready(t Task) bool {
	return !slices.ContainsFunc(t.Needs, func(n string) bool { return r.byID[n] != nil && !r.done[n] })
}

// start takes a task's share of the budget: what is free, divided by the
// tasks that could start now.
func (r *run) start(i int) (Task, int) {
	ready := 0
	for j, t := range r.tasks {
		if !r.started[j] && r.ready(t) {
			ready++
		}
	}
	jobs := max(1, r.free/max(1, ready))
	r.started[i] = true
	r.pending--
	r.free -= jobs
	return r.tasks[i], jobs
}

func (r *run) finish(res result) {
	r.free += res.jobs
	if res.err == nil {
		r.done[res.id] = true
		return
	}
	r.failed[res.id] = res.err
	r.failDependents(res.id)
}

// failDependents marks everything that needs a failed task.
func (r *run) failDependents(id string) {
	for i, t := range r.tasks {
		if !r.started[i] && slices.Contains(t.Needs, id) {
			r.started[i] = true
			r.pending--
			r.failed[t.ID] = &NeedFailedError{ID: t.ID, Need: id}
			r.failDependents(t.ID)
		}
	}
}

// abandon gives every task that was never started its error.
func (r *run) abandon(ctx context.Context) {
	for i, t := range r.tasks {
		if !r.started[i] {
			r.started[i] = true
			r.pending--
			r.failed[t.ID] = ErrNotStarted
			if ctx.Err() != nil {
				r.failed[t.ID] = context.Cause(ctx)
			}
		}
	}
}
