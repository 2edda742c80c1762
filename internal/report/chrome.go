package report

import (
	"encoding/json"
	"io"
	"time"
)

// The Trace Event Format (docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU)
// as chrome://tracing and ui.perfetto.dev read it: an object with traceEvents,
// of which the kinds X (complete: ts and dur in microseconds), M (metadata)
// and C (counter) are written.
type traceFile struct {
	TraceEvents     []traceEvent      `json:"traceEvents"`
	DisplayTimeUnit string            `json:"displayTimeUnit"`
	OtherData       map[string]string `json:"otherData"`
}

type traceEvent struct {
	Name  string         `json:"name"`
	Phase string         `json:"ph"`
	Cat   string         `json:"cat,omitempty"`
	TS    float64        `json:"ts"`
	Dur   *float64       `json:"dur,omitempty"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	Args  map[string]any `json:"args,omitempty"`
}

// The lanes of a process in the trace.
const (
	nodeLane  = 0
	stepLane  = 1
	firstLane = 2 // of ninja's edges
)

// Trace writes the build as a trace for ui.perfetto.dev and chrome://tracing:
// a process for every component that ran, in it a lane for the component, one
// for its steps, and one for every core its commands used.
func (r *Report) Trace(w io.Writer) error {
	t := traceFile{
		TraceEvents: []traceEvent{}, DisplayTimeUnit: "ms",
		OtherData: map[string]string{"run": r.Run, "tool": r.Tool, "command": r.Command, "started": r.Started.UTC().Format(time.RFC3339Nano), "result": string(r.Result)},
	}
	meta := func(pid, tid int, what, key string, value any) {
		t.TraceEvents = append(t.TraceEvents, traceEvent{Name: what, Phase: "M", PID: pid, TID: tid, Args: map[string]any{key: value}})
	}
	span := func(name, cat string, pid, tid int, start, end time.Duration, args map[string]any) {
		dur := micros(end - start)
		t.TraceEvents = append(t.TraceEvents, traceEvent{Name: name, Cat: cat, Phase: "X", TS: micros(start), Dur: &dur, PID: pid, TID: tid, Args: args})
	}
	meta(0, 0, "process_name", "name", "build")
	meta(0, 0, "process_sort_index", "sort_index", 0)
	meta(0, 0, "thread_name", "name", "build")
	span("build "+string(r.Result), "build", 0, 0, 0, r.Wall, map[string]any{"command": r.Command})
	pid := 0
	for _, n := range r.Nodes {
		if !n.ran {
			continue
		}
		pid++
		meta(pid, nodeLane, "process_name", "name", n.ID)
		meta(pid, nodeLane, "process_sort_index", "sort_index", pid)
		meta(pid, nodeLane, "thread_name", "name", "component")
		meta(pid, nodeLane, "thread_sort_index", "sort_index", nodeLane)
		args := map[string]any{"outcome": string(n.Outcome)}
		if n.Reason != "" {
			args["reason"] = n.Reason
		}
		if n.Key != "" {
			args["key"] = n.Key
		}
		span(n.Component, "component", pid, nodeLane, n.Start, n.End, args)
		if len(n.Steps) > 0 {
			meta(pid, stepLane, "thread_name", "name", "steps")
			meta(pid, stepLane, "thread_sort_index", "sort_index", stepLane)
		}
		named := map[int]bool{}
		for _, s := range n.Steps {
			args := map[string]any{"outcome": string(s.Outcome)}
			if s.CPU > 0 {
				args["cpu_ms"] = s.CPU.Milliseconds()
			}
			if s.MaxRSS > 0 {
				args["maxrss_bytes"] = s.MaxRSS
			}
			span(s.Name, "step", pid, stepLane, s.Start, s.End, args)
			for _, e := range s.Edges {
				lane := firstLane + e.Lane
				if !named[lane] {
					named[lane] = true
					meta(pid, lane, "thread_name", "name", "core "+itoa(e.Lane+1))
					meta(pid, lane, "thread_sort_index", "sort_index", lane)
				}
				span(e.Output, "edge", pid, lane, e.Start, e.End, nil)
			}
		}
	}
	for _, p := range r.load() {
		t.TraceEvents = append(t.TraceEvents, traceEvent{Name: "running at once", Phase: "C", TS: micros(p.at), Args: map[string]any{"commands": p.n}})
	}
	enc := json.NewEncoder(w)
	return enc.Encode(t)
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
