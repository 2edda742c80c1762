package report

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stonemason-hip/stonemason/internal/trace"
	"github.com/stonemason-hip/stonemason/internal/ui"
)

const (
	maxNodes    = 5000
	maxSteps    = 500 // of one node
	maxAllSteps = 50000
	// maxListened bounds the steps at once whose output is listened to. More
	// than that do not run at once; a forged log may say so.
	maxListened = 64
	maxNeeds    = 500 // of one node
	maxChanges  = 100 // of one node
	maxWarnings = 200
	maxText     = 2000 // characters of a text that is shown
	maxErrors   = 10   // of one failure
	maxTail     = 20   // last lines of one failure
)

// Read makes the report of one run. logs is the folder in which the kept ninja
// logs lie; nothing outside it is read.
func Read(run trace.Run, logs string) (*Report, error) {
	r := &Report{
		Schema: Schema, Version: Version, Run: text(run.ID), Tool: text(run.Tool),
		Counts: map[trace.Outcome]int{}, byID: map[string]*Node{},
	}
	c := reader{r: r}
	damaged, err := trace.Each(run, func(e trace.Event) error { c.add(e); return nil })
	if err != nil {
		return nil, err
	}
	if c.last.IsZero() {
		return nil, errors.New("the run has no event")
	}
	if damaged > 0 {
		r.note("lines of the event log that are torn or foreign, passed over: %d", damaged)
	}
	c.finish()
	r.attach(logs)
	r.place()
	r.slowest()
	r.criticalPath()
	return r, nil
}

// text makes a text from outside fit to be shown: one line, without control
// characters, of bounded length.
func text(s string) string {
	if len(s) > 4*maxText {
		s = s[:4*maxText]
	}
	s = ui.Clean(strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " "))
	if short := []rune(s); len(short) > maxText {
		s = string(short[:maxText-1]) + "…"
	}
	return s
}

// verbatim is text for lines in which blanks have a meaning.
func verbatim(s string) string {
	if len(s) > maxText {
		s = s[:maxText] + "…"
	}
	return ui.Clean(strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\t", "    "))
}

func (r *Report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// reader builds a Report up, event by event.
type reader struct {
	r       *Report
	base    time.Time // the build's beginning
	last    time.Time
	ended   bool
	end     trace.Event
	dropped int

	steps, listened int
}

// longestTime bounds every time in a report: what is longer is a clock that was
// set, or a forged log.
const longestTime = 366 * 24 * time.Hour

// since is a time as a distance from the build's beginning. A clock that was
// set back in between gives 0, never less.
func (c *reader) since(t time.Time) time.Duration {
	return min(max(0, t.Sub(c.base)), longestTime)
}

func (c *reader) add(e trace.Event) {
	if c.base.IsZero() {
		c.base = e.Time
		c.r.Started = e.Time
	}
	if e.Time.After(c.last) {
		c.last = e.Time
	}
	switch e.Kind {
	case trace.BuildStart:
		c.base, c.r.Started, c.r.Command = e.Time, e.Time, text(e.Msg)
		c.r.Cores, c.r.Jobs = count(e.Attrs["cores"]), count(e.Attrs["jobs"])
	case trace.PlanReady:
		for _, p := range e.Nodes {
			if n := c.node(p.Name, p.Host); n != nil {
				n.Action, n.Reason, n.Estimate = text(p.Action), text(p.Reason), max(0, p.Estimate)
				n.Needs = needs(p.Deps)
				n.Beside = slices.DeleteFunc(needs(p.Beside), func(id string) bool { return slices.Contains(n.Needs, id) })
			}
		}
	case trace.NodeStart:
		if n := c.node(e.Node, e.Host); n != nil {
			n.ran, n.Start, n.Outcome, n.Reason = true, c.since(e.Time), Unfinished, text(e.Reason)
			n.Changes = changes(e.Attrs)
		}
	case trace.NodeEnd:
		c.nodeEnd(e)
	case trace.StepStart:
		n := c.node(e.Node, e.Host)
		if n == nil || len(n.Steps) == maxSteps || c.steps == maxAllSteps {
			c.dropped++
			return
		}
		c.steps++
		n.Steps = append(n.Steps, &Step{Name: text(e.Step), Start: c.since(e.Time), Outcome: Unfinished})
	case trace.StepEnd:
		c.stepEnd(e)
	case trace.StepOutput:
		s := c.running(e)
		if s != nil && s.collector == nil && c.listened < maxListened {
			c.listened++
			s.collector = newCollector()
		}
		if s != nil && s.collector != nil {
			s.collector.add(e.Msg)
		}
	case trace.Warn:
		if len(c.r.Warnings) < maxWarnings {
			c.r.Warnings = append(c.r.Warnings, Message{text(e.Node), text(e.Msg)})
		}
	case trace.BuildEnd:
		c.ended, c.end = true, e
	}
}

// node finds a node by name, or makes it; nil when there are too many.
func (c *reader) node(name, host string) *Node {
	if name == "" {
		return nil
	}
	id := name
	if host != "" {
		id += "@" + host
	}
	id = text(id)
	if n := c.r.byID[id]; n != nil {
		return n
	}
	if len(c.r.Nodes) == maxNodes {
		c.dropped++
		return nil
	}
	n := &Node{ID: id, Component: text(name), Host: text(host)}
	c.r.byID[id] = n
	c.r.Nodes = append(c.r.Nodes, n)
	return n
}

// running finds the step that an event is about: the newest of that name that
// has not ended.
func (c *reader) running(e trace.Event) *Step {
	n := c.node(e.Node, e.Host)
	if n == nil {
		return nil
	}
	name := text(e.Step)
	for _, s := range slices.Backward(n.Steps) {
		if s.Name == name && s.Outcome == Unfinished {
			return s
		}
	}
	return nil
}

func (c *reader) stepEnd(e trace.Event) {
	s := c.running(e)
	if s == nil {
		return
	}
	s.Outcome, s.End = outcome(e.Outcome), c.until(s.Start, e)
	s.CPU, s.MaxRSS, s.ended = max(0, e.CPU), max(0, e.MaxRSS), e.Time
	s.ninja = e.Attrs["ninja_log"]
	s.offset, _ = strconv.ParseInt(e.Attrs["ninja_log_offset"], 10, 64)
	if s.Outcome != trace.Failed && s.collector != nil {
		s.collector = nil // what it printed is of no further use
		c.listened--
	}
}

func (c *reader) nodeEnd(e trace.Event) {
	n := c.node(e.Node, e.Host)
	if n == nil {
		return
	}
	n.Outcome = outcome(e.Outcome)
	n.Bytes, n.Key, n.Content = max(0, e.Bytes), text(e.Key), text(e.Content)
	if n.ran {
		n.End = c.until(n.Start, e)
	}
	if e.Reason != "" {
		n.Reason = text(e.Reason)
	}
	if n.Outcome != trace.Failed {
		return
	}
	f := &Failure{Step: text(e.Step), Message: text(cmp.Or(e.Msg, e.Reason)), Log: text(e.Log), Next: text(e.Next)}
	for _, s := range n.Steps {
		if s.Outcome == trace.Failed && s.collector != nil {
			f.Step = cmp.Or(f.Step, s.Name)
			s.collector.report(f)
			s.collector = nil // told, and another may be listened to
			c.listened--
		}
	}
	n.Failure = f
}

// until is the end of what began at start: by the duration in the event, which
// is measured by a clock that nobody sets, else by the event's own time.
func (c *reader) until(start time.Duration, e trace.Event) time.Duration {
	if e.Duration > 0 && e.Duration < longestTime {
		return start + e.Duration
	}
	return max(start, c.since(e.Time))
}

// finish fills in what follows from the events as a whole.
func (c *reader) finish() {
	r := c.r
	r.Wall = c.since(c.last)
	if c.ended {
		r.Wall = c.until(0, c.end)
	}
	failed, unfinished := false, false
	for _, n := range r.Nodes {
		if n.Outcome == "" {
			n.Outcome = trace.Skipped
			if n.Action != "off" {
				n.Outcome, n.Reason = Unfinished, "it was not begun"
			}
		}
		if n.ran && n.Outcome == Unfinished {
			n.End = max(n.Start, r.Wall)
		}
		for _, s := range n.Steps {
			if s.Outcome == Unfinished {
				s.End = max(s.Start, min(n.End, r.Wall))
			}
			s.collector = nil
			n.CPU += s.CPU
			n.MaxRSS = max(n.MaxRSS, s.MaxRSS)
		}
		r.CPU += n.CPU
		r.MaxRSS = max(r.MaxRSS, n.MaxRSS)
		r.Counts[n.Outcome]++
		failed = failed || n.Outcome == trace.Failed
		unfinished = unfinished || n.Outcome == Unfinished
		r.Wall = max(r.Wall, n.End)
	}
	switch {
	case failed || c.end.Outcome == trace.Failed:
		r.Result = Failed
	case !c.ended || unfinished || c.end.Done < c.end.Total:
		r.Result = Interrupted
	default:
		r.Result = Succeeded
	}
	if !c.ended {
		r.note("the log has no end of this build: it was killed, or is still going on")
	}
	if c.dropped > 0 {
		r.note("more nodes or steps than a report shows; events left out: %d", c.dropped)
	}
	// Those that ran come first, in the order in which they began.
	slices.SortStableFunc(r.Nodes, func(a, b *Node) int {
		switch {
		case a.ran != b.ran && a.ran:
			return -1
		case a.ran != b.ran:
			return 1
		case a.ran:
			return cmp.Compare(a.Start, b.Start)
		}
		return 0
	})
}

// outcome is one of the known outcomes; anything else is not to be trusted.
func outcome(o trace.Outcome) trace.Outcome {
	switch o {
	case trace.Built, trace.Restored, trace.Adopted, trace.Skipped, trace.Failed:
		return o
	}
	return Unfinished
}

func needs(ids []string) []string {
	var out []string
	for _, id := range ids[:min(len(ids), maxNeeds)] {
		if id = text(id); !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// count reads a small number; anything else is 0.
func count(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 1<<16 {
		return 0
	}
	return n
}

// changes reads the attributes change.000, change.001, …, each "name: old →
// new".
func changes(attrs map[string]string) []Change {
	var out []Change
	for _, k := range slices.Sorted(maps.Keys(attrs)) {
		if !strings.HasPrefix(k, "change.") || len(out) == maxChanges {
			continue
		}
		name, values, ok := strings.Cut(attrs[k], ": ")
		if !ok {
			name, values = "", attrs[k]
		}
		before, after, ok := strings.Cut(values, " → ")
		if !ok {
			before, after = "", values
		}
		out = append(out, Change{text(name), text(before), text(after)})
	}
	return out
}

// collector keeps of a step's output what a failure is told with.
type collector struct {
	scan *ui.Scanner
	tail []string
}

func newCollector() *collector { return &collector{scan: ui.NewScanner(maxErrors)} }

func (c *collector) add(line string) {
	c.scan.Add(line)
	if len(c.tail) == maxTail {
		c.tail = slices.Delete(c.tail, 0, 1)
	}
	c.tail = append(c.tail, verbatim(line))
}

func (c *collector) report(f *Failure) {
	found, total := c.scan.Result()
	for _, d := range found {
		lines := []string{verbatim(d.String())}
		for _, l := range d.Context {
			lines = append(lines, verbatim(l))
		}
		f.Errors = append(f.Errors, strings.Join(lines, "\n"))
	}
	f.More = total - len(found)
	if len(found) == 0 {
		f.Tail = append(f.Tail, c.tail...)
	}
}
