package report

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/stonemason-hip/stonemason/internal/trace"
	"github.com/stonemason-hip/stonemason/internal/ui"
)

// maxRows bounds every table of the Markdown summary: GitHub takes 1 MiB.
const maxRows = 100

// Markdown writes a summary for a CI's page of a job, in GitHub's Markdown.
func (r *Report) Markdown(w io.Writer) error {
	var b strings.Builder
	title := map[Result]string{Succeeded: "Build succeeded", Failed: "Build failed", Interrupted: "Build interrupted"}[r.Result]
	fmt.Fprintf(&b, "## %s in %s\n\n", title, ui.Duration(r.Wall))
	b.WriteString("| | |\n|---|---|\n")
	row := func(name, value string) { fmt.Fprintf(&b, "| %s | %s |\n", name, value) }
	if r.Command != "" {
		row("command", escape(r.Command))
	}
	hits, wanted := r.Hits()
	row("components", r.countsText())
	row("from the store", fmt.Sprintf("%d of %d", hits, wanted))
	row("wall time", ui.Duration(r.Wall))
	if r.CPU > 0 {
		row("processor time", ui.Duration(r.CPU))
	}
	if use, measured, ok := r.Use(); ok {
		row(map[bool]string{true: "use of the cores", false: "cores occupied"}[measured], fmt.Sprintf("%.0f %% of %d", use*100, r.Cores))
	}
	if r.EdgeCount > 0 {
		row("commands", fmt.Sprint(r.EdgeCount))
	}
	if r.MaxRSS > 0 {
		row("largest process", ui.Bytes(r.MaxRSS))
	}
	for _, n := range r.Nodes {
		if n.Failure != nil {
			r.failureMarkdown(&b, n)
		}
	}
	if len(r.Path) > 0 {
		b.WriteString("\n### What bounded the time\n\n")
		for i, l := range r.Path {
			if i == maxRows {
				fmt.Fprintf(&b, "\nand %d more\n", len(r.Path)-i)
				break
			}
			fmt.Fprintf(&b, "%d. **%s** %s", i+1, escape(l.Node), ui.Duration(l.Duration))
			if l.Longest != "" {
				fmt.Fprintf(&b, ", of which step %s %s", escape(l.Longest), ui.Duration(l.LongestTook))
			}
			fmt.Fprintf(&b, " (%s)\n", escape(l.why()))
		}
	}
	b.WriteString("\n### Components\n\n| component | outcome | time | why |\n|---|---|--:|---|\n")
	rows, skipped := 0, 0
	for _, n := range r.Nodes {
		if n.Outcome == trace.Skipped {
			skipped++
			continue
		}
		if rows++; rows > maxRows {
			continue
		}
		why := escape(n.Reason)
		if n.Outcome == trace.Failed {
			why = "see above"
		}
		for i, c := range n.Changes {
			if i == 3 {
				why += fmt.Sprintf("<br>and %d more changes", len(n.Changes)-i)
				break
			}
			why += "<br>" + escape(c.String())
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", escape(n.ID), n.Outcome, ui.Duration(n.Duration()), strings.TrimPrefix(why, "<br>"))
	}
	if rows > maxRows {
		fmt.Fprintf(&b, "\nand %d more\n", rows-maxRows)
	}
	if skipped > 0 {
		fmt.Fprintf(&b, "\n%d skipped: not wanted, or not possible here.\n", skipped)
	}
	if len(r.Slowest) > 0 {
		b.WriteString("\n<details><summary>Slowest commands</summary>\n\n| output | component | time |\n|---|---|--:|\n")
		for _, s := range r.Slowest[:min(len(r.Slowest), 10)] {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", escape(s.Output), escape(s.Node), ui.Duration(s.Duration))
		}
		b.WriteString("\n</details>\n")
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "\n> %s\n", escape(note))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) failureMarkdown(b *strings.Builder, n *Node) {
	f := n.Failure
	fmt.Fprintf(b, "\n### %s failed", escape(n.ID))
	if f.Step != "" {
		fmt.Fprintf(b, " in step %s", escape(f.Step))
	}
	fmt.Fprintf(b, "\n\n%s\n", escape(f.Message))
	lines := append([]string{}, f.Errors...)
	if len(lines) == 0 {
		lines = f.Tail
	}
	if len(lines) > 0 {
		body := strings.Join(lines, "\n")
		fence := "```"
		for strings.Contains(body, fence) {
			fence += "`"
		}
		fmt.Fprintf(b, "\n%s\n%s\n%s\n", fence, body, fence)
	}
	if f.More > 0 {
		fmt.Fprintf(b, "\nand %d more in the log\n", f.More)
	}
	if f.Next != "" {
		fmt.Fprintf(b, "\nNext: %s\n", escape(f.Next))
	}
}

// countsText lists how many nodes ended in which way.
func (r *Report) countsText() string {
	var parts []string
	for _, o := range outcomes() {
		if n := r.Counts[o]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o))
		}
	}
	return strings.Join(parts, ", ")
}

// outcomes are all outcomes, in the order in which they are told.
func outcomes() []trace.Outcome {
	return []trace.Outcome{trace.Failed, trace.Built, trace.Adopted, trace.Restored, Unfinished, trace.Skipped}
}

// why says what a node of the critical path waited for.
func (l Link) why() string {
	idle := ""
	if l.Idle >= time.Millisecond {
		idle = ui.Duration(l.Idle) + " after "
	}
	switch l.For {
	case ForNeed:
		if l.Idle > prompt {
			return "began " + idle + "its need " + l.On + " ended"
		}
		return "began when its need " + l.On + " was there"
	case ForJobs:
		if l.Idle > prompt {
			return "waited for free jobs, began " + idle + l.On + " ended"
		}
		return "waited for free jobs, which " + l.On + " gave back"
	}
	return "among the first"
}

// String is a change on one line.
func (c Change) String() string {
	s := c.New
	if c.Old != "" {
		s = c.Old + " → " + c.New
	}
	if c.Name != "" {
		s = c.Name + ": " + s
	}
	return s
}

// escape makes a text plain Markdown: nothing in it is markup or HTML.
func escape(s string) string {
	var b strings.Builder
	var before rune
	for _, r := range s {
		switch {
		case strings.ContainsRune("\\`*_{}[]()#+!|~$", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		case r == '@' && !unicode.IsLetter(before) && !unicode.IsDigit(before): // no mention of a person
			b.WriteString("&#64;")
		case r < ' ':
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
		before = r
	}
	return b.String()
}
