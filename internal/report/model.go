// Package report tells the story of one build from its event log: what was
// built and why, what bounded the wall time, how the cores were used, what
// failed. The same Report becomes one HTML page that needs no network, a trace
// for Perfetto, a Markdown summary and JSON.
//
// Everything in a log is taken to be hostile: texts are cleaned and cut, the
// numbers of nodes, steps and edges are bounded, and nothing outside the log's
// folder is read.
package report

import (
	"time"

	"github.com/stonemason-hip/stonemason/internal/trace"
)

// Schema and Version name the form of a Report's JSON.
const (
	Schema  = "stonemason.report"
	Version = 1
)

// Result says how a build ended.
type Result string

// The results.
const (
	Succeeded   Result = "succeeded"
	Failed      Result = "failed"
	Interrupted Result = "interrupted" // stopped, killed, or still going on
)

// Unfinished is the outcome of what had begun and has no end in the log.
const Unfinished trace.Outcome = "unfinished"

// Report is what one build's events say. Times are nanoseconds; those called
// start and end count from the build's beginning.
type Report struct {
	Schema  string    `json:"schema"`
	Version int       `json:"version"`
	Run     string    `json:"run"`
	Tool    string    `json:"tool,omitempty"`
	Command string    `json:"command,omitempty"`
	Started time.Time `json:"started"`
	Result  Result    `json:"result"`

	Wall time.Duration `json:"wall_ns"`
	// CPU is user and system time of all steps; 0 when the log has none.
	CPU time.Duration `json:"cpu_ns"`
	// Occupied is the sum of the durations of all commands and of the steps
	// that ran none of ninja's.
	Occupied time.Duration `json:"occupied_ns"`
	// Cores are the machine's, Jobs what the build was allowed to run at once;
	// 0 when the log does not say.
	Cores int `json:"cores"`
	Jobs  int `json:"jobs"`
	// MaxRSS is the peak of the largest process in bytes; 0 when unknown.
	MaxRSS int64 `json:"maxrss_bytes"`

	Counts map[trace.Outcome]int `json:"counts"`
	Nodes  []*Node               `json:"nodes"`
	// Path is the chain of nodes that bounded the wall time, first to last.
	Path []Link `json:"critical_path"`
	// Needs is the longest chain of needs alone: what the build would have
	// taken with any number of cores.
	Needs time.Duration `json:"needs_ns"`
	// Lanes is how many things ran at once at most.
	Lanes     int       `json:"lanes"`
	EdgeCount int       `json:"edges"`
	Slowest   []Slow    `json:"slowest_edges"`
	Warnings  []Message `json:"warnings,omitempty"`
	// Notes say what this report lacks, and why.
	Notes []string `json:"notes,omitempty"`

	byID map[string]*Node
}

// Node is one component for one host.
type Node struct {
	ID        string `json:"id"` // component@host
	Component string `json:"component"`
	Host      string `json:"host,omitempty"`
	Action    string `json:"action,omitempty"` // as planned: source, system, prebuilt, off
	// Needs are the IDs of the nodes that it is built with, Beside those that
	// it needs only when it runs.
	Needs   []string      `json:"needs,omitempty"`
	Beside  []string      `json:"beside,omitempty"`
	Outcome trace.Outcome `json:"outcome"`
	// Reason says why it was built, skipped, or failed.
	Reason  string   `json:"reason,omitempty"`
	Changes []Change `json:"changes,omitempty"`

	Start    time.Duration `json:"start_ns"`
	End      time.Duration `json:"end_ns"`
	Estimate time.Duration `json:"estimate_ns,omitempty"`
	CPU      time.Duration `json:"cpu_ns,omitempty"`
	MaxRSS   int64         `json:"maxrss_bytes,omitempty"`
	Bytes    int64         `json:"bytes,omitempty"`
	Key      string        `json:"key,omitempty"`
	Content  string        `json:"content,omitempty"`
	Steps    []*Step       `json:"steps,omitempty"`
	Failure  *Failure      `json:"failure,omitempty"`

	ran bool
}

// Duration is the node's wall time.
func (n *Node) Duration() time.Duration { return n.End - n.Start }

// Change is one input that is not what it was.
type Change struct {
	Name string `json:"name"`
	Old  string `json:"old"`
	New  string `json:"new"`
}

// Step is one step of a node.
type Step struct {
	Name    string        `json:"name"`
	Outcome trace.Outcome `json:"outcome"`
	Start   time.Duration `json:"start_ns"`
	End     time.Duration `json:"end_ns"`
	CPU     time.Duration `json:"cpu_ns,omitempty"`
	MaxRSS  int64         `json:"maxrss_bytes,omitempty"`
	// Edges are the commands that ninja ran in this step.
	Edges []Edge `json:"-"`
	// Lane is the step's lane when it has no edges.
	Lane int `json:"-"`

	ninja     string // the kept .ninja_log, as the log names it
	offset    int64  // its size before the step
	ended     time.Time
	collector *collector
}

// Duration is the step's wall time.
func (s *Step) Duration() time.Duration { return s.End - s.Start }

// Edge is one command of ninja's. Lane is its core: no two edges of one lane
// overlap.
type Edge struct {
	Start, End time.Duration
	Output     string
	Outputs    int
	Lane       int
}

// Slow is one of the slowest edges.
type Slow struct {
	Node     string        `json:"node"`
	Step     string        `json:"step"`
	Output   string        `json:"output"`
	Start    time.Duration `json:"start_ns"`
	Duration time.Duration `json:"duration_ns"`
}

// Wait says what a node of the critical path waited for before it began.
type Wait string

// What is waited for.
const (
	ForBeginning Wait = "beginning" // it was among the first
	ForNeed      Wait = "need"      // a node that it needs ended last
	ForJobs      Wait = "jobs"      // what it needs was there, but no job was free
)

// Link is one node of the critical path.
type Link struct {
	Node string `json:"node"`
	// For is what it waited for; On the node that ended the waiting, and Idle
	// the time from there to its own beginning.
	For      Wait          `json:"waited_for"`
	On       string        `json:"waited_on,omitempty"`
	Idle     time.Duration `json:"idle_ns"`
	Start    time.Duration `json:"start_ns"`
	Duration time.Duration `json:"duration_ns"`
	// Longest is the longest step of the node.
	Longest     string        `json:"longest_step,omitempty"`
	LongestTook time.Duration `json:"longest_step_ns,omitempty"`
}

// Failure is why a node failed.
type Failure struct {
	Step    string `json:"step,omitempty"`
	Message string `json:"message"`
	Log     string `json:"log,omitempty"`
	Next    string `json:"next,omitempty"`
	// Errors are the tools' own error lines, each with its context below it.
	Errors []string `json:"errors,omitempty"`
	More   int      `json:"more_errors,omitempty"` // beyond Errors
	// Tail are the last lines printed, when no error line was recognised.
	Tail []string `json:"tail,omitempty"`
}

// Message is a warning, about a node or about the whole build.
type Message struct {
	Node string `json:"node,omitempty"`
	Text string `json:"text"`
}

// Find returns the node with an ID, or nil.
func (r *Report) Find(id string) *Node { return r.byID[id] }

// Use is the part of the cores' time that was used, 0 to 1, and whether it
// was processor time (else it is the time in which a command was running).
// ok is false when the number of cores is not known.
func (r *Report) Use() (part float64, measured, ok bool) {
	if r.Cores == 0 || r.Wall <= 0 {
		return 0, false, false
	}
	used := r.Occupied
	if measured = r.CPU > 0; measured {
		used = r.CPU
	}
	return min(1, float64(used)/(float64(r.Wall)*float64(r.Cores))), measured, true
}

// Hits is how many of the wanted nodes were not built, and how many were
// wanted.
func (r *Report) Hits() (hits, wanted int) {
	for _, n := range r.Nodes {
		switch n.Outcome {
		case trace.Restored:
			hits++
			wanted++
		case trace.Built, trace.Adopted, trace.Failed, Unfinished:
			wanted++
		}
	}
	return hits, wanted
}
