// Package trace is the event log of a build: typed events, the append-only
// file that keeps them, and the Bus that hands them to the file and to the
// terminal. Logs, the time line, the report and the terminal are all fed from
// these events and from nothing else.
package trace

import (
	"fmt"
	"sync"
	"time"
)

// Kind names what happened.
type Kind string

// The kinds of events and the fields that go with them beside Time, Host,
// Node and Step.
const (
	// PlanReady: Nodes, Total (nodes), Estimate (of the whole build).
	PlanReady Kind = "plan.ready"
	// BuildStart: Msg (command line), Log (folder of the build's logs), Total
	// (nodes to make), Attrs cores and jobs.
	BuildStart Kind = "build.start"
	// NodeStart: Estimate; Reason when it is built again, and Attrs
	// change.000, change.001, …: what changed, as "name: old → new".
	NodeStart Kind = "node.start"
	// NodeEnd: Outcome, Reason, Duration, Bytes, Key, Content; when Failed also
	// Step (the step that failed), Msg (the error), Log and Next.
	NodeEnd Kind = "node.end"
	// StepStart: Msg (what it does, in a few words), Estimate.
	StepStart Kind = "step.start"
	// StepEnd: Outcome, Reason, Duration, CPU, MaxRSS; when Failed also Msg,
	// Log; of a step that ran ninja Attrs ninja_log (path of the kept copy of
	// .ninja_log) and ninja_log_offset (its bytes before the step).
	StepEnd Kind = "step.end"
	// StepOutput: Msg (one line that a child printed, without its newline).
	StepOutput Kind = "step.output"
	// StepProgress: Done, Total (ninja's edges).
	StepProgress Kind = "step.progress"
	// FetchProgress: Done, Total (bytes; Total 0 when unknown), Msg (what).
	FetchProgress Kind = "fetch.progress"
	// Warn: Msg, and Next when a command helps.
	Warn Kind = "warn"
	// Info: Msg.
	Info Kind = "info"
	// BuildEnd: Outcome (Built or Failed), Duration, Msg, Done and Total (nodes).
	BuildEnd Kind = "build.end"
)

// state reports whether dropping an event of this kind would leave a reader
// with a wrong picture of what is running or done.
func (k Kind) state() bool {
	switch k {
	case StepOutput, StepProgress, FetchProgress, Warn, Info:
		return false
	}
	return true
}

// Outcome says how a node or step ended.
type Outcome string

// The outcomes. Every node ends with exactly one of them.
const (
	Built    Outcome = "built"    // its steps ran
	Restored Outcome = "restored" // taken from the store or a cache
	Adopted  Outcome = "adopted"  // copied in from what the machine has
	Skipped  Outcome = "skipped"  // not wanted or not possible here; see Reason
	Failed   Outcome = "failed"
)

// Event is one line of the log. It is one flat struct so that a line reads the
// same whatever its kind; the kinds' comments say which fields each one uses,
// and the others stay zero and are not written.
type Event struct {
	Time time.Time `json:"time"`
	Kind Kind      `json:"kind"`
	Run  string    `json:"run,omitempty"` // which run of the program; File fills it in

	Host string `json:"host,omitempty"` // linux-amd64, darwin-arm64, …
	Node string `json:"node,omitempty"` // component
	Step string `json:"step,omitempty"` // step's name inside the component
	Msg  string `json:"msg,omitempty"`

	Outcome  Outcome       `json:"outcome,omitempty"`
	Reason   string        `json:"reason,omitempty"`      // why it was skipped, rebuilt, …
	Duration time.Duration `json:"duration_ns,omitempty"` // nanoseconds of wall time
	Estimate time.Duration `json:"estimate_ns,omitempty"` // nanoseconds, from history; 0 when unknown
	Bytes    int64         `json:"bytes,omitempty"`       // size of the sealed install tree
	Key      string        `json:"key,omitempty"`
	Content  string        `json:"content,omitempty"` // content id

	Done  int64 `json:"done,omitempty"`
	Total int64 `json:"total,omitempty"` // 0 when unknown

	CPU    time.Duration `json:"cpu_ns,omitempty"`       // nanoseconds of user and system time of the children
	MaxRSS int64         `json:"maxrss_bytes,omitempty"` // bytes, peak of the largest child

	Log  string `json:"log,omitempty"`  // path of the log file or folder
	Next string `json:"next,omitempty"` // the command to type next

	Nodes []PlanNode        `json:"nodes,omitempty"`
	Attrs map[string]string `json:"attrs,omitempty"` // whatever has no field of its own
}

// PlanNode is one node of the plan as far as a reader of the log needs it to
// draw the graph and to estimate.
type PlanNode struct {
	Name   string `json:"name"`
	Host   string `json:"host,omitempty"`
	Action string `json:"action"` // build, restore, adopt or skip
	Reason string `json:"reason,omitempty"`
	// Deps are the IDs of the nodes that it is built with, and so after; Beside
	// those that it needs only when it runs.
	Deps     []string      `json:"deps,omitempty"`
	Beside   []string      `json:"beside,omitempty"`
	Estimate time.Duration `json:"estimate_ns,omitempty"`
}

// Sink takes events. Emit may be called from any goroutine and has no error:
// a sink that can fail keeps its first error for whoever closes it.
type Sink interface{ Emit(Event) }

// SinkFunc makes a Sink of a function.
type SinkFunc func(Event)

// Emit calls f.
func (f SinkFunc) Emit(e Event) { f(e) }

// Discard returns a sink that forgets everything.
func Discard() Sink { return SinkFunc(func(Event) {}) }

// Memory is a sink that keeps all events. The zero value is ready for use.
type Memory struct {
	mu     sync.Mutex
	events []Event
}

// Emit keeps e.
func (m *Memory) Emit(e Event) {
	m.mu.Lock()
	m.events = append(m.events, e)
	m.mu.Unlock()
}

// Events returns a copy of what has been kept so far.
func (m *Memory) Events() []Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Event(nil), m.events...)
}

// Warnf emits a warning about a node, or about the whole build when node is "".
func Warnf(s Sink, node, format string, args ...any) {
	s.Emit(Event{Kind: Warn, Node: node, Msg: fmt.Sprintf(format, args...)})
}

// Infof emits a remark about a node, or about the whole build when node is "".
func Infof(s Sink, node, format string, args ...any) {
	s.Emit(Event{Kind: Info, Node: node, Msg: fmt.Sprintf(format, args...)})
}
