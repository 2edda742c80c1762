package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

const (
	// Schema is the name in the first line of every log.
	Schema = "stonemason.events"
	// Version rises when a reader of the older form would misread a newer log.
	// New optional fields do not raise it.
	Version = 1

	// maxLine bounds one line, for the writer and the reader alike.
	maxLine = 16 << 20
	// maxText bounds a free text field of one event.
	maxText = 64 << 10
)

// header is the first line of a log. The same line appears again where a
// later process went on with the same file.
type header struct {
	Schema  string    `json:"schema"`
	Version int       `json:"version"`
	Tool    string    `json:"tool,omitempty"`
	Run     string    `json:"run,omitempty"`
	Started time.Time `json:"started"`
}

// File is a log on disk: JSON lines, one event a line, each written by one
// write to a file opened with O_APPEND, so that lines of several writers do
// not mix and a killed process can tear at most its last line. Every line
// names its run, so that builds that ran at once can be told apart.
//
// A log is bounded by rotation: see Create.
type File struct {
	mu   sync.Mutex
	f    *os.File
	run  string
	torn bool // the file may end in the middle of a line
	err  error
}

// Create opens path for appending, creating it when it is not there, and
// writes the schema line of a new run. tool is the name and version of the
// program. A file that an earlier process left with a torn last line is
// continued on a new line.
//
// A log over 32 MiB to which nobody is writing becomes path.1, path.1 becomes
// path.2, and what was path.2 is dropped: a run is never cut in two, and the
// newest runs stay. See Runs.
func Create(path, tool string) (*File, error) {
	f, err := openCurrent(path, rotateAbove)
	if err != nil {
		return nil, fmt.Errorf("event log: %w", err)
	}
	now := time.Now().UTC()
	l := &File{f: f, run: newRun(now)}
	if l.torn, err = endsTorn(f); err == nil {
		err = l.write(header{Schema, Version, tool, l.run, now})
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("event log %s: %w", path, err)
	}
	return l, nil
}

func endsTorn(f *os.File) (bool, error) {
	st, err := f.Stat()
	if err != nil || st.Size() == 0 || !st.Mode().IsRegular() {
		return false, err
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], st.Size()-1); err != nil {
		return false, err
	}
	return last[0] != '\n', nil
}

// Emit writes one line. After a failed write it goes on trying with the next
// event, so that a disk that was full for a moment costs only what was emitted
// in that moment; Err tells.
func (l *File) Emit(e Event) {
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	e.Run = l.run
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.write(bounded(e)); err != nil && l.err == nil {
		l.err = fmt.Errorf("event log %s: %w", l.f.Name(), err)
	}
}

// bounded cuts texts that came from outside to a size a log line may have.
func bounded(e Event) Event {
	for _, s := range []*string{&e.Msg, &e.Reason, &e.Key, &e.Next, &e.Log} {
		if len(*s) > maxText {
			*s = (*s)[:maxText] + "…"
		}
	}
	return e
}

func (l *File) write(v any) error {
	var b bytes.Buffer
	if l.torn {
		b.WriteByte('\n')
	}
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // compiler output is full of < and >
	if err := enc.Encode(v); err != nil {
		return err
	}
	if b.Len() > maxLine {
		return fmt.Errorf("an event of %d bytes does not fit a line of %d", b.Len(), maxLine)
	}
	n, err := l.f.Write(b.Bytes())
	if err != nil {
		l.torn = l.torn || n > 0
		return err
	}
	l.torn = false
	return nil
}

// Run is the name of this run in the log.
func (l *File) Run() string { return l.run }

// Err returns the first error of a write, or nil.
func (l *File) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Close closes the file and returns the first error of its life.
func (l *File) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.f.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	if l.err != nil {
		return l.err
	}
	return err
}

// ErrSchema is returned when a file is no event log, or one of a newer version.
var ErrSchema = errors.New("not an event log of a known version")

// Log is what Read found.
type Log struct {
	Version int
	Tool    string // of the last process that wrote to it
	Events  []Event
	Damaged int // lines that were torn or are no event
}

// Read reads a whole log. Torn and foreign lines are counted and passed over.
// The error is about the file itself: not there, no schema line, or a version
// that this program does not know (ErrSchema).
func Read(path string) (*Log, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("event log: %w", err)
	}
	defer f.Close()
	r := NewReader(f)
	var l Log
	for {
		e, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("event log %s: %w", path, err)
		}
		l.Events = append(l.Events, e)
	}
	l.Version, l.Tool, l.Damaged = r.head.Version, r.head.Tool, r.damaged
	return &l, nil
}

// Reader reads a log event by event.
type Reader struct {
	br      *bufio.Reader
	head    header
	damaged int
}

// NewReader returns a Reader. It reads ahead.
func NewReader(r io.Reader) *Reader {
	return &Reader{br: bufio.NewReaderSize(r, 64<<10)}
}

// Damaged returns how many lines had to be passed over so far.
func (r *Reader) Damaged() int { return r.damaged }

// Next returns the next event, io.EOF after the last one, ErrSchema when the
// first line is not that of a log of a known version, or a read error. What
// stands after the last newline is an event only if it is complete JSON.
func (r *Reader) Next() (Event, error) {
	for {
		line, err := r.line()
		if err != nil {
			if err == io.EOF && r.head.Schema == "" {
				return Event{}, fmt.Errorf("%w: empty", ErrSchema)
			}
			return Event{}, err
		}
		var h header
		if bytes.HasPrefix(line, []byte(`{"schema":`)) && json.Unmarshal(line, &h) == nil && h.Schema == Schema {
			if h.Version < 1 || h.Version > Version {
				return Event{}, fmt.Errorf("%w: version %d, this program reads up to %d", ErrSchema, h.Version, Version)
			}
			r.head = h
			if r.head.Run == "" { // written before runs had names
				r.head.Run = runName(h.Started)
			}
			continue
		}
		if r.head.Schema == "" {
			return Event{}, fmt.Errorf("%w: the first line is not a schema line", ErrSchema)
		}
		var e Event
		if json.Unmarshal(line, &e) != nil || e.Kind == "" {
			r.damaged++
			continue
		}
		if e.Run == "" {
			e.Run = r.head.Run
		}
		return e, nil
	}
}

// line returns the next line that is not empty and not over maxLine.
func (r *Reader) line() ([]byte, error) {
	for {
		var line []byte
		long := false
		for {
			part, err := r.br.ReadSlice('\n')
			if len(line)+len(part) > maxLine {
				long = true
			} else if !long {
				line = append(line, part...)
			}
			if err == bufio.ErrBufferFull {
				continue
			}
			if err == io.EOF && (len(line) > 0 || long) {
				break
			}
			if err != nil {
				return nil, err
			}
			break
		}
		if long {
			r.damaged++
			continue
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}
