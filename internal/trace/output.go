package trace

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// maxOutputLine bounds one StepOutput event; a longer line becomes several.
const maxOutputLine = 16 << 10

// Output turns what a child process prints into events: a StepOutput a line,
// and a StepProgress where the line begins with ninja's "[12/345] ". It is an
// io.Writer to give to exec.Cmd, beside the log file, by io.MultiWriter. It
// may be used for standard output and standard error at once.
type Output struct {
	mu   sync.Mutex
	sink Sink
	base Event
	buf  []byte
}

var _ io.WriteCloser = (*Output)(nil)

// NewOutput returns an Output whose events carry base's Host, Node and Step.
func NewOutput(s Sink, base Event) *Output {
	return &Output{sink: s, base: Event{Host: base.Host, Node: base.Node, Step: base.Step}}
}

// Write takes p. It never fails. A carriage return ends a line as a newline
// does, since progress meters end their lines so.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		i := bytes.IndexAny(p, "\r\n")
		part := p
		if i >= 0 {
			part, p = p[:i], p[i+1:]
		} else {
			p = nil
		}
		for len(part) > 0 {
			k := min(len(part), maxOutputLine-len(o.buf))
			o.buf = append(o.buf, part[:k]...)
			if part = part[k:]; len(o.buf) == maxOutputLine {
				o.flush()
			}
		}
		if i >= 0 {
			o.flush()
		}
	}
	return n, nil
}

// Close emits a last line that had no newline. It never fails.
func (o *Output) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flush()
	return nil
}

func (o *Output) flush() {
	if len(o.buf) == 0 {
		return
	}
	e := o.base
	e.Kind, e.Msg = StepOutput, strings.ToValidUTF8(string(o.buf), "\uFFFD")
	o.buf = o.buf[:0]
	o.sink.Emit(e)
	if done, total, ok := ninjaStatus(e.Msg); ok {
		p := o.base
		p.Kind, p.Done, p.Total = StepProgress, done, total
		o.sink.Emit(p)
	}
}

// ninjaStatus reads the status that ninja puts before each edge. Its default
// form is "[%f/%t] ", finished and total edges (ninja manual, NINJA_STATUS).
func ninjaStatus(line string) (done, total int64, ok bool) {
	rest, found := strings.CutPrefix(line, "[")
	if !found {
		return 0, 0, false
	}
	done, rest, ok = number(rest)
	if !ok || !strings.HasPrefix(rest, "/") {
		return 0, 0, false
	}
	total, rest, ok = number(rest[1:])
	if !ok || !strings.HasPrefix(rest, "]") || total == 0 || done > total {
		return 0, 0, false
	}
	return done, total, true
}

// number reads a decimal number of one to nine digits.
func number(s string) (n int64, rest string, ok bool) {
	i := 0
	for i < len(s) && i < 10 && s[i] >= '0' && s[i] <= '9' {
		n = n*10 + int64(s[i]-'0')
		i++
	}
	return n, s[i:], i > 0 && i < 10
}
