package ui

import (
	"fmt"
	"strings"
	"time"

	"github.com/stonemason-hip/stonemason/internal/trace"
)

// lines writes what is to stay of an event: in plain mode every start and end,
// on a terminal (where the live block shows what runs) only what is worth
// keeping on the screen.
func (w *owner) lines(e trace.Event, ended *nodeRun) {
	if e.Kind == trace.NodeEnd && e.Outcome == trace.Failed && tells(e, ended) {
		w.permanent(w.stamp(e, strings.TrimRight(FailureText(w.o.Look, failureOf(e, ended, w.model)), "\n")))
		return
	}
	text, tone := describe(e, w.model)
	if text == "" || !w.o.Verbose && !w.wanted(e) {
		return
	}
	if w.o.TTY {
		text = w.mark(e) + text
	}
	w.permanent(w.stamp(e, w.o.paint(tone, text)))
}

// wanted says whether an event leaves a line when nothing asked for more.
func (w *owner) wanted(e trace.Event) bool {
	switch e.Kind {
	case trace.StepOutput:
		return false
	case trace.Warn, trace.Info:
		return true
	case trace.NodeEnd:
		return !w.o.TTY || e.Outcome == trace.Built || e.Outcome == trace.Adopted || e.Outcome == trace.Failed
	}
	return !w.o.TTY
}

// mark is the symbol before a line on a terminal.
func (w *owner) mark(e trace.Event) string {
	switch {
	case e.Kind == trace.Warn:
		return w.o.symbol("▲ ", "! ")
	case e.Kind == trace.NodeEnd && e.Outcome == trace.Failed:
		return w.o.symbol("✗ ", "x ")
	case e.Kind == trace.NodeEnd && e.Outcome == trace.Skipped:
		return "- "
	case e.Kind == trace.NodeEnd:
		return w.o.symbol("✓ ", "+ ")
	}
	return "  "
}

// stamp puts the elapsed time before the first line of plain output.
func (w *owner) stamp(e trace.Event, text string) string {
	if w.o.TTY {
		return text
	}
	return clock(e.Time.Sub(w.model.start)) + " " + text
}

// tells reports whether there is more to a failed node than its reason.
func tells(e trace.Event, n *nodeRun) bool {
	return e.Step != "" || e.Msg != "" || e.Log != "" || n != nil && n.failed != nil
}

// describe is an event in a few words, without time or symbol; "" for events
// that are no line.
func describe(e trace.Event, m *model) (string, Tone) {
	name := Clean(m.label(e.Host, e.Node))
	at := name
	if e.Step != "" {
		at += ": " + Clean(e.Step)
	}
	msg := cleanLines(e.Msg)
	switch e.Kind {
	case trace.PlanReady:
		return "plan: " + describePlan(e), Normal
	case trace.BuildStart:
		if msg == "" {
			return "", Normal
		}
		return "build: " + msg, Normal
	case trace.NodeStart:
		return at + ": started" + about(e.Estimate), Normal
	case trace.StepStart:
		if msg != "" {
			msg = ": " + msg
		}
		return at + ": started" + msg + about(e.Estimate), Normal
	case trace.StepEnd, trace.NodeEnd:
		return at + ": " + describeEnd(e), outcomeTone(e.Outcome)
	case trace.StepOutput:
		return at + " | " + Clean(e.Msg), Faint
	case trace.Warn:
		if e.Node != "" {
			msg = at + ": " + msg
		}
		if e.Next != "" {
			msg += "; next: " + Clean(e.Next)
		}
		return "warning: " + msg, Caution
	case trace.Info:
		if e.Node != "" {
			msg = at + ": " + msg
		}
		return msg, Normal
	case trace.BuildEnd:
		end := "done"
		if e.Outcome == trace.Failed {
			end = "failed"
		}
		if e.Duration > 0 {
			end += " after " + Duration(e.Duration)
		}
		return "build: " + end, outcomeTone(e.Outcome)
	}
	return "", Normal
}

func describeEnd(e trace.Event) string {
	s := string(e.Outcome)
	if s == "" || e.Kind == trace.StepEnd && e.Outcome == trace.Built {
		s = "done"
	}
	if e.Duration > 0 {
		s += " in " + Duration(e.Duration)
	}
	if e.Bytes > 0 {
		s += ", " + Bytes(e.Bytes)
	}
	if e.Reason != "" {
		s += ": " + cleanLines(e.Reason)
	} else if e.Outcome == trace.Failed && e.Msg != "" {
		s += ": " + cleanLines(e.Msg)
	}
	return s
}

func describePlan(e trace.Event) string {
	n := map[string]int{}
	for _, node := range e.Nodes {
		n[node.Action]++
	}
	var parts []string
	for _, a := range []string{"build", "adopt", "restore", "skip"} {
		if n[a] > 0 {
			parts = append(parts, fmt.Sprintf("%d to %s", n[a], a))
		}
	}
	if len(parts) == 0 {
		parts = []string{plural(max(len(e.Nodes), int(e.Total)), "component")}
	}
	return strings.Join(parts, ", ") + about(e.Estimate)
}

func about(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return ", about " + Duration(d)
}

// cleanLines cleans a text that may have several lines and puts it on one.
func cleanLines(s string) string {
	var parts []string
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(Clean(line)); line != "" {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, " ")
}

// heartbeat says what is running, when nothing else was said for a while.
func (w *owner) heartbeat() {
	if w.wrote || w.held || len(w.model.running) == 0 {
		w.wrote = false
		return
	}
	var parts []string
	for _, n := range w.model.running {
		s := Clean(w.model.label(n.id.host, n.id.name))
		for _, st := range n.steps {
			s += " " + Clean(st.name)
			if st.total > 0 {
				s += fmt.Sprintf(" [%d/%d]", st.done, st.total)
			}
		}
		parts = append(parts, s)
	}
	w.write(clock(w.o.Now().Sub(w.model.start)) + " still running: " + strings.Join(parts, ", ") + "\n")
}
