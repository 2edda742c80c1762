package ui

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/stonemason-hip/stonemason/internal/trace"
)

// Row is one line of the summary: a component and how it ended.
type Row struct {
	Component string
	Host      string // shown when the rows are of more than one host
	Outcome   trace.Outcome
	Detail    string // how it was obtained, or why it was skipped or failed
	Duration  time.Duration
	Bytes     int64 // size of the install tree; 0 is not shown
}

// Footer is what follows the summary table.
type Footer struct {
	Bundle  string   // folder of the finished bundle, empty when there is none
	Use     []string // commands that put it to use
	Notes   []string
	Elapsed time.Duration
}

// Rows makes the rows of a summary from a log's node.end events, in order of
// their first appearance. A node that ended twice shows its last end.
func Rows(events []trace.Event) []Row {
	type id struct{ host, node string }
	var rows []Row
	at := map[id]int{}
	for _, e := range events {
		if e.Kind != trace.NodeEnd {
			continue
		}
		detail := e.Reason
		if e.Outcome == trace.Failed && detail == "" {
			detail = e.Msg
		}
		r := Row{e.Node, e.Host, e.Outcome, detail, e.Duration, e.Bytes}
		k := id{e.Host, e.Node}
		if i, ok := at[k]; ok {
			rows[i] = r
			continue
		}
		at[k] = len(rows)
		rows = append(rows, r)
	}
	return rows
}

// outcomeTone is the colour of an outcome.
func outcomeTone(o trace.Outcome) Tone {
	switch o {
	case trace.Built, trace.Restored, trace.Adopted:
		return Good
	case trace.Skipped:
		return Faint
	case trace.Failed:
		return Bad
	}
	return Normal
}

// Summary writes the table that ends a build: every component, how it was
// obtained or why it was skipped, its time and size; then the counts, where
// the bundle is and how to use it.
func Summary(w io.Writer, look Look, rows []Row, f Footer) error {
	hosts := map[string]bool{}
	for _, r := range rows {
		hosts[r.Host] = true
	}
	headers := []string{"component", "outcome", "how", "time", "size"}
	align := []Align{Left, Left, Left, Right, Right}
	outcomeCol := 1
	if len(hosts) > 1 {
		headers = append([]string{"component", "host"}, headers[1:]...)
		align = append([]Align{Left}, align...)
		outcomeCol = 2
	}
	var cells [][]string
	for _, r := range rows {
		took, size := "", ""
		if r.Duration > 0 {
			took = Duration(r.Duration)
		}
		if r.Bytes > 0 {
			size = Bytes(r.Bytes)
		}
		detail, _, _ := strings.Cut(r.Detail, "\n")
		row := []string{r.Component, string(r.Outcome), detail, took, size}
		if len(hosts) > 1 {
			row = append([]string{r.Component, r.Host}, row[1:]...)
		}
		cells = append(cells, row)
	}
	var b strings.Builder
	if len(rows) > 0 {
		b.WriteString(tableText(look, headers, cells, TableOptions{
			Align: align, Flex: outcomeCol + 2,
			Style: func(row, col int) Tone {
				if row < 0 {
					return Strong
				}
				if o := rows[row].Outcome; col == outcomeCol || o == trace.Skipped {
					return outcomeTone(o)
				}
				return Normal
			},
		}))
	}
	for _, line := range wrap(counts(rows, f.Elapsed), look.Width) {
		b.WriteString(line + "\n")
	}
	var fields [][2]string
	if f.Bundle != "" {
		fields = append(fields, [2]string{"bundle", f.Bundle})
	}
	for i, u := range f.Use {
		name := "use"
		if i > 0 {
			name = ""
		}
		fields = append(fields, [2]string{name, u})
	}
	for _, n := range f.Notes {
		fields = append(fields, [2]string{"note", n})
	}
	if len(fields) > 0 {
		b.WriteString("\n")
		writeFields(&b, look, "", fields)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// counts is the sentence under the table: "7 components in 1m23s: 4 built, …".
func counts(rows []Row, elapsed time.Duration) string {
	n := map[trace.Outcome]int{}
	for _, r := range rows {
		n[r.Outcome]++
	}
	s := plural(len(rows), "component")
	if elapsed > 0 {
		s += " in " + Duration(elapsed)
	}
	var parts []string
	for _, o := range []trace.Outcome{trace.Built, trace.Restored, trace.Adopted, trace.Skipped, trace.Failed} {
		if n[o] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[o], o))
		}
	}
	if len(parts) > 0 {
		s += ": " + strings.Join(parts, ", ")
	}
	return s
}

// writeFields writes "name  value" lines. Values are paths and commands to be
// copied, so they are neither wrapped nor cut: the terminal does that without
// adding line ends of its own.
func writeFields(b *strings.Builder, look Look, indent string, fields [][2]string) {
	width := 0
	for _, f := range fields {
		width = max(width, len(f[0]))
	}
	for _, f := range fields {
		b.WriteString(indent + look.paint(Faint, pad(f[0], width)) + "  " + Clean(f[1]) + "\n")
	}
}
