package ui

import (
	"fmt"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/trace"
)

// maxGroup bounds the lines kept for the group of one node.
const maxGroup = 5000

// github writes for the log of GitHub Actions. Nodes run side by side and the
// log knows no nested or parallel groups, so the lines of a node are kept and
// written as one group when it ends; starts and warnings appear at once. The
// forms ::group::, ::endgroup::, ::error and ::warning are GitHub's workflow
// commands.
func (w *owner) github(e trace.Event, ended *nodeRun) {
	text, _ := describe(e, w.model)
	stamped := harmless(w.stamp(e, text))
	switch e.Kind {
	case trace.StepStart, trace.StepEnd, trace.StepOutput:
		if n := w.model.node(e); n != nil {
			if len(n.group) < maxGroup {
				n.group = append(n.group, stamped)
			} else {
				n.lost++
			}
		}
	case trace.Warn:
		w.permanent(command("warning", e.Node, strings.TrimPrefix(text, "warning: ")))
	case trace.NodeEnd:
		w.githubEnd(e, ended, stamped)
	default:
		if text != "" {
			w.permanent(stamped)
		}
	}
}

func (w *owner) githubEnd(e trace.Event, n *nodeRun, stamped string) {
	if len(n.group) > 0 {
		w.permanent("::group::" + escapeData(stamped))
		if n.lost > 0 {
			n.group = append(n.group, fmt.Sprintf("%d more lines; the log has them", n.lost))
		}
		w.permanent(strings.Join(n.group, "\n"))
		w.permanent("::endgroup::")
	} else {
		w.permanent(stamped)
	}
	if e.Outcome != trace.Failed || !tells(e, n) {
		return
	}
	f := failureOf(e, n, w.model)
	title := f.Node
	if f.Step != "" {
		title += ": " + f.Step
	}
	if len(f.Diagnostics) == 0 {
		w.permanent(command("error", title, f.Reason))
	}
	for _, d := range f.Diagnostics {
		w.permanent(command("error", title, d.String()))
	}
	for line := range strings.Lines(FailureText(w.o.Look, f)) {
		w.permanent(harmless(strings.TrimSuffix(line, "\n")))
	}
}

// command forms a workflow command with a title.
func command(name, title, message string) string {
	s := "::" + name
	if title != "" {
		s += " title=" + escapeProperty(Clean(title))
	}
	return s + "::" + escapeData(message)
}

func escapeData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func escapeProperty(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}

// harmless keeps a line that is not ours from being taken for a workflow
// command. The runner looks for "::" after leading space, and for "##["
// anywhere in a line.
func harmless(line string) string {
	if strings.HasPrefix(strings.TrimLeft(line, " "), "::") {
		line = "| " + line
	}
	return strings.ReplaceAll(line, "##[", "## [")
}
