// Package build carries a plan out: it looks every node up by its key, builds
// what is missing, and seals the results into the store.
package build

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/stonemason-hip/stonemason/internal/budget"
	"github.com/stonemason-hip/stonemason/internal/explain"
	"github.com/stonemason-hip/stonemason/internal/key"
	"github.com/stonemason-hip/stonemason/internal/machine"
	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/sched"
	"github.com/stonemason-hip/stonemason/internal/source"
	"github.com/stonemason-hip/stonemason/internal/store"
	"github.com/stonemason-hip/stonemason/internal/trace"
)

// Builder builds a graph.
type Builder struct {
	Graph   *plan.Graph
	Store   *store.Store
	Sources *source.Provider
	Machine *machine.Machine
	Events  trace.Sink
	// Logs is the folder for the logs of this build.
	Logs string
	Jobs int
	// LinkJobs bounds LLVM's links; 0 is by memory.
	LinkJobs int
	// KeepGoing builds what does not depend on a failure.
	KeepGoing bool
	// KeepWork leaves work folders of successful builds behind.
	KeepWork bool
	// Rebuild names components that are built although the store has them.
	Rebuild []string

	// What was found out before anything is built, by node ID.
	forecast map[string]Forecast
	verdicts map[string]explain.Verdict
	expected map[string]time.Duration
	// The components of which the store had results when the nodes were looked
	// up; nil when that is not known.
	built map[string]bool
}

// Result is what became of a node.
type Result struct {
	Node    *plan.Node
	Outcome trace.Outcome
	Reason  string
	Action  store.Action
	Key     key.Key
	Took    time.Duration
	Err     error
}

// Run builds the graph's enabled nodes and returns what became of every node,
// by ID, the switched-off ones included. The error is the first failure.
func (b *Builder) Run(ctx context.Context) (map[string]*Result, error) {
	begun := time.Now()
	results := map[string]*Result{}
	var mu sync.Mutex
	contents := map[string]store.Content{}
	var tasks []sched.Task
	enabled := b.Graph.Enabled()
	b.look(ctx)
	b.Events.Emit(trace.Event{Kind: trace.BuildStart, Log: b.Logs, Total: int64(len(enabled))})
	b.announce()
	for _, n := range b.Graph.Nodes {
		if !n.Enabled {
			results[n.ID] = &Result{Node: n, Outcome: trace.Skipped, Reason: n.Why}
			b.Events.Emit(trace.Event{Kind: trace.NodeEnd, Host: n.Host, Node: n.Component, Outcome: trace.Skipped, Reason: n.Why})
			continue
		}
		tasks = append(tasks, sched.Task{
			ID: n.ID, Needs: n.Build, Cost: b.expected[n.ID], Memory: b.peak(n),
			Run: func(ctx context.Context, lease *budget.Lease) error {
				mu.Lock()
				known := make(map[string]store.Content, len(contents))
				for id, c := range contents {
					known[id] = c
				}
				mu.Unlock()
				res := b.node(ctx, n, known, lease)
				mu.Lock()
				defer mu.Unlock()
				results[n.ID] = res
				if res.Err == nil {
					contents[n.ID] = res.Action.Content
				}
				return res.Err
			},
		})
	}
	stopFetching := b.prefetch(ctx)
	failed := sched.Run(ctx, tasks, sched.Options{
		Jobs: b.Jobs, Memory: budget.Usable(b.Machine.Memory), KeepGoing: b.KeepGoing,
		Oversize: func(t sched.Task, memory int64) {
			n := b.Graph.Node(t.ID)
			trace.Warnf(b.Events, n.Component, "one of its processes needs up to %d MiB of memory, and there is %d MiB: it runs alone, with one job", t.Memory>>20, memory>>20)
		},
	})
	stopFetching()
	var first error
	for _, n := range enabled {
		err := failed[n.ID]
		if err == nil {
			continue
		}
		if results[n.ID] == nil { // it was never started
			results[n.ID] = &Result{Node: n, Outcome: trace.Skipped, Reason: err.Error(), Err: err}
			b.Events.Emit(trace.Event{Kind: trace.NodeEnd, Host: n.Host, Node: n.Component, Outcome: trace.Skipped, Reason: err.Error()})
		} else if first == nil {
			first = fmt.Errorf("%s: %w", n.ID, err)
		}
	}
	if first == nil && ctx.Err() != nil {
		first = context.Cause(ctx)
	}
	b.Events.Emit(trace.Event{Kind: trace.BuildEnd, Duration: time.Since(begun), Done: int64(len(enabled) - len(failed)), Total: int64(len(enabled))})
	return results, first
}

// look finds out, before anything is built, what the store has, why the rest
// must be built, and how long that took last time.
func (b *Builder) look(ctx context.Context) {
	b.forecast, b.verdicts = b.Survey(ctx)
	b.expected = map[string]time.Duration{}
	for id, f := range b.forecast {
		n := b.Graph.Node(id)
		if f.Cached && !slices.Contains(b.Rebuild, n.Component) {
			continue
		}
		b.expected[id] = b.Expect(n)
	}
}

// announce tells the log and the terminal what is planned.
func (b *Builder) announce() {
	var nodes []trace.PlanNode
	var total time.Duration
	for _, n := range b.Graph.Nodes {
		action, why := "off", n.Why
		if n.Enabled {
			action, why = string(n.Provider), b.verdicts[n.ID].Reason()
			if _, todo := b.expected[n.ID]; !todo {
				action = "restore"
			}
			total += b.expected[n.ID]
		}
		nodes = append(nodes, trace.PlanNode{Name: n.Component, Host: n.Host, Action: action, Reason: why, Deps: n.Build, Beside: n.Runtime, Estimate: b.expected[n.ID]})
	}
	b.Events.Emit(trace.Event{Kind: trace.PlanReady, Nodes: nodes, Total: int64(len(nodes)), Estimate: total})
}

// Expect is the wall time that building a node will take: what it took last
// time, else its declared processor time spread over the jobs.
func (b *Builder) Expect(n *plan.Node) time.Duration {
	if b.built != nil && !b.built[n.Component] {
		return n.Estimate.CPU / time.Duration(max(1, b.Jobs))
	}
	if history, err := b.Store.History(n.Component); err == nil {
		for _, a := range history {
			if a.Host == n.Host && a.Outcome == n.Outcome && a.Seconds > 0 {
				return time.Duration(a.Seconds * float64(time.Second))
			}
		}
	}
	return n.Estimate.CPU / time.Duration(max(1, b.Jobs))
}

// peak is the memory in bytes that one process of a node needs: what the
// largest needed the last times, else what its component declares.
func (b *Builder) peak(n *plan.Node) int64 {
	if _, todo := b.expected[n.ID]; !todo {
		return 0
	}
	var largest int64
	history, _ := b.Store.History(n.Component) // without it, what is declared counts
	for _, a := range history[:min(len(history), 3)] {
		if a.Host == n.Host && a.Outcome == n.Outcome {
			largest = max(largest, a.MaxRSS)
		}
	}
	if largest > 0 {
		return largest
	}
	return n.Estimate.Memory
}

// Work is the folder in which a node is built. Its name is the key's, so that
// a build that was interrupted is found again, and no other uses it.
func (b *Builder) Work(n *plan.Node, id key.ID) string {
	return filepath.Join(b.Store.Root(), "work", n.Component+"-"+id.Short())
}

// Log is the log file of a node in this build.
func (b *Builder) Log(n *plan.Node) string {
	return filepath.Join(b.Logs, n.Component+"@"+n.Host+".log")
}

func (b *Builder) openLog(n *plan.Node) (io.WriteCloser, error) {
	if err := os.MkdirAll(b.Logs, 0o755); err != nil {
		return nil, fmt.Errorf("build: %w", err)
	}
	f, err := os.Create(b.Log(n))
	if err != nil {
		return nil, fmt.Errorf("build: %w", err)
	}
	return f, nil
}
