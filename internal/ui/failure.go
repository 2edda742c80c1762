package ui

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/trace"
)

// Failure is what there is to say about a component that failed.
type Failure struct {
	Node, Host, Step string
	Reason           string // the error itself
	Duration         time.Duration
	Log              string // path of the log file
	Next             string // the command that tries again
	Shell            string // the command that opens a shell in the step's environment
	Diagnostics      []Diagnostic
	More             int      // errors beyond Diagnostics
	Tail             []string // the last lines printed, shown when there are no diagnostics
}

// shellAttr is the event attribute that carries Failure.Shell.
const shellAttr = "shell"

// failureOf gathers what the events, the step's last lines and the log tell.
func failureOf(e trace.Event, n *nodeRun, m *model) Failure {
	f := Failure{
		Node: m.label(e.Host, e.Node), Step: e.Step, Reason: e.Msg, Duration: e.Duration,
		Log: e.Log, Next: e.Next, Shell: e.Attrs[shellAttr],
	}
	if n != nil && n.failed != nil {
		s := n.failed
		if f.Step == "" {
			f.Step = s.name
		}
		if f.Reason == "" {
			f.Reason = s.msg
		}
		if f.Log == "" {
			f.Log = s.log
		}
		if s.took > 0 {
			f.Duration = s.took
		}
		found, total := s.scan.Result()
		f.Diagnostics, f.More, f.Tail = found, total-len(found), s.tail
	}
	if f.Reason == "" {
		f.Reason = e.Reason
	}
	// The log has every line; what came through the events may have been
	// thinned out for a slow terminal.
	if f.Log != "" {
		if found, total, err := scanLog(f.Log); err == nil && total > len(f.Diagnostics)+f.More {
			f.Diagnostics, f.More = found, total-len(found)
		}
	}
	return f
}

func scanLog(name string) ([]Diagnostic, int, error) {
	st, err := os.Stat(name)
	if err != nil {
		return nil, 0, err
	}
	if !st.Mode().IsRegular() { // a folder has no lines, and a pipe would block
		return nil, 0, fmt.Errorf("%s is not a file", name)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	s := NewScanner(maxDiagnostics)
	err = s.read(file)
	found, total := s.Result()
	return found, total, err
}

// FailureText returns the block that tells of a failure: what and where, the
// tool's own error lines or the last lines that it printed, the log, and the
// command to type next. It ends with a newline.
func FailureText(look Look, f Failure) string {
	var b strings.Builder
	head := Clean(f.Node) + " failed"
	if f.Host != "" {
		head = Clean(f.Node) + "@" + Clean(f.Host) + " failed"
	}
	if f.Step != "" {
		head += " in step " + Clean(f.Step)
	}
	if f.Duration > 0 {
		head += " after " + Duration(f.Duration)
	}
	for i, line := range wrap(head, max(0, look.Width-2)) {
		mark := look.symbol("✗ ", "error: ")
		if i > 0 {
			mark = "  "
		}
		b.WriteString(look.paint(Bad, mark+line) + "\n")
	}
	inner := 0
	if look.Width > 0 {
		inner = max(1, look.Width-2)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(f.Reason), "\n") {
		for _, part := range wrap(Clean(line), inner) {
			if part != "" {
				b.WriteString("  " + part + "\n")
			}
		}
	}
	b.WriteString("\n")
	for _, d := range f.Diagnostics {
		writeDiagnostic(&b, look, d, inner)
	}
	if f.More > 0 {
		b.WriteString("  " + look.paint(Faint, fmt.Sprintf("and %s in the log", plural(f.More, "more error"))) + "\n")
	}
	if len(f.Diagnostics) == 0 && len(f.Tail) > 0 {
		b.WriteString("  " + look.paint(Faint, "its last lines:") + "\n")
		for _, line := range f.Tail {
			b.WriteString("  " + clip(look, Clean(line), inner) + "\n")
		}
	}
	if len(f.Diagnostics) > 0 || len(f.Tail) > 0 {
		b.WriteString("\n")
	}
	if advice := advise(f); advice != "" {
		for _, line := range wrap(advice, inner) {
			b.WriteString("  " + look.paint(Caution, line) + "\n")
		}
	}
	var fields [][2]string
	for _, p := range [][2]string{{"log", f.Log}, {"next", f.Next}, {"shell", f.Shell}} {
		if p[1] != "" {
			fields = append(fields, p)
		}
	}
	writeFields(&b, look, "  ", fields)
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func writeDiagnostic(b *strings.Builder, look Look, d Diagnostic, width int) {
	for i, line := range wrap(Clean(d.String()), width) {
		tone := Strong
		if i > 0 {
			tone = Normal
		}
		b.WriteString("  " + look.paint(tone, line) + "\n")
	}
	for _, line := range d.Context {
		b.WriteString("  " + look.paint(Faint, clip(look, Clean(line), width)) + "\n")
	}
}

// clip cuts a line whose columns mean something, where there is a width.
func clip(look Look, line string, width int) string {
	if width <= 0 {
		return line
	}
	return truncate(line, width, look)
}

// advise names the cause behind some messages that do not say it themselves.
func advise(f Failure) string {
	lines := append([]string{f.Reason}, f.Tail...)
	for _, d := range f.Diagnostics {
		lines = append(append(lines, d.Message), d.Context...)
	}
	for _, line := range lines {
		switch {
		case strings.Contains(line, "Killed signal terminated program"),
			strings.Contains(line, "unable to execute command: Killed"),
			strings.Contains(line, "signal: killed"),
			strings.Contains(line, "std::bad_alloc"),
			strings.Contains(line, "Cannot allocate memory"),
			strings.Contains(line, "out of memory"):
			return "the machine seems to have run out of memory: fewer jobs at once need less"
		case strings.Contains(line, "No space left on device"):
			return "the disk is full"
		}
	}
	return ""
}

// ErrorText returns the last words of a program that ends with err: the error
// and, when it carries one, the command to type next. Nil gives "".
func ErrorText(look Look, err error) string {
	if err == nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(cleanKeepLines(err.Error())), "\n")
	var b strings.Builder
	b.WriteString(look.paint(Bad, "error:") + " " + lines[0] + "\n")
	for _, line := range lines[1:] {
		b.WriteString("  " + line + "\n")
	}
	if hint := exit.HintOf(err); hint != "" {
		hints := strings.Split(strings.TrimSpace(cleanKeepLines(hint)), "\n")
		b.WriteString(look.paint(Faint, "next:") + "  " + strings.Join(hints, "\n       ") + "\n")
	}
	return b.String()
}
