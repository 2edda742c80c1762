package trace

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// stalled is a live sink that takes nothing until it is opened.
type stalled struct {
	open    chan struct{}
	entered chan struct{}
	once    sync.Once
	Memory
	closed bool
}

func newStalled() *stalled {
	return &stalled{open: make(chan struct{}), entered: make(chan struct{})}
}

func (s *stalled) Emit(e Event) {
	s.once.Do(func() { close(s.entered) })
	<-s.open
	s.Memory.Emit(e)
}

func (s *stalled) Close() error { s.closed = true; return nil }

// A terminal that is stopped (Ctrl-S) must stop neither the build nor the log,
// and must find everything that matters when it goes on.
func TestStalledTerminal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	f, err := Create(path, "t")
	if err != nil {
		t.Fatal(err)
	}
	s := newStalled()
	b := NewBus(f, s)
	b.Emit(Event{Kind: BuildStart})
	<-s.entered // the sink now holds BuildStart, everything else waits

	const nodes, lines = 5000, 20000
	for i := range nodes {
		b.Emit(Event{Kind: NodeStart, Node: fmt.Sprint(i)})
	}
	for i := range lines {
		b.Emit(Event{Kind: StepOutput, Node: "0", Step: "build", Msg: fmt.Sprint(i)})
		b.Emit(Event{Kind: StepProgress, Node: "0", Step: "build", Done: int64(i), Total: lines})
	}
	b.Emit(Event{Kind: BuildEnd})
	close(s.open)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if !s.closed {
		t.Error("the live sink was not closed")
	}

	count := map[Kind]int{}
	var last Event
	for _, e := range s.Events() {
		count[e.Kind]++
		last = e
		if e.Kind == StepProgress && e.Done != lines-1 {
			t.Errorf("stale progress %d reached the terminal", e.Done)
		}
		if e.Kind == Info && !strings.HasPrefix(e.Msg, fmt.Sprint(lines-maxPending)+" lines") {
			t.Errorf("the terminal was told %q", e.Msg)
		}
	}
	want := map[Kind]int{BuildStart: 1, NodeStart: nodes, StepOutput: maxPending, StepProgress: 1, Info: 1, BuildEnd: 1}
	if !reflect.DeepEqual(count, want) || last.Kind != BuildEnd {
		t.Errorf("the terminal saw %v ending with %s, want %v", count, last.Kind, want)
	}
	l, err := Read(path)
	if err != nil || len(l.Events) != 1+nodes+2*lines+1 || l.Damaged != 0 {
		t.Errorf("log: %v, %d events", err, len(l.Events))
	}
}

func TestOrderIsTheSameEverywhere(t *testing.T) {
	var durable, a, b Memory
	bus := NewBus(&durable, &a, &b)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range 300 {
				bus.Emit(Event{Kind: NodeEnd, Node: fmt.Sprint(w), Total: int64(i)})
				bus.Emit(Event{Kind: StepOutput, Node: fmt.Sprint(w), Total: int64(i)})
			}
		}()
	}
	wg.Wait()
	if err := bus.Close(); err != nil {
		t.Fatal(err)
	}
	if len(durable.Events()) != 2400 || !reflect.DeepEqual(durable.Events(), a.Events()) || !reflect.DeepEqual(a.Events(), b.Events()) {
		t.Fatalf("%d, %d, %d events, or in another order", len(durable.Events()), len(a.Events()), len(b.Events()))
	}
	for _, e := range a.Events() {
		if e.Time.IsZero() {
			t.Fatal("an event without a time")
		}
	}
	bus.Emit(Event{Kind: Info})
	if bus.Close() != nil || len(a.Events()) != 2400 {
		t.Fatal("the closed bus took an event, or closed twice")
	}
}

func TestBusWithoutSinks(t *testing.T) {
	b := NewBus(nil)
	Warnf(b, "n", "x %d", 1)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	Infof(Discard(), "", "y")
}

func TestFetchesAreCoalescedByFile(t *testing.T) {
	s := newStalled()
	b := NewBus(nil, s)
	b.Emit(Event{Kind: BuildStart})
	<-s.entered
	for i := range int64(5) {
		b.Emit(Event{Kind: FetchProgress, Node: "n", Msg: "a.tar", Done: i})
		b.Emit(Event{Kind: FetchProgress, Node: "n", Msg: "b.tar", Done: i})
	}
	close(s.open)
	b.Close()
	var got []string
	for _, e := range s.Events()[1:] {
		got = append(got, fmt.Sprint(e.Msg, e.Done))
	}
	if want := []string{"a.tar4", "b.tar4"}; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestOutput(t *testing.T) {
	in := "[1/12] Building a.o\nplain\r\n\n 50%\r100%\n[12/12] Linking\n[0/0] x\n[3/2] y\n[1/2 z\n[99999999999/99999999999] big\nbad \xff byte\nlast"
	want := []string{
		"out [1/12] Building a.o", "progress 1/12", "out plain", "out  50%", "out 100%",
		"out [12/12] Linking", "progress 12/12", "out [0/0] x", "out [3/2] y", "out [1/2 z",
		"out [99999999999/99999999999] big", "out bad \uFFFD byte", "out last",
	}
	for _, chunk := range []int{1, 7, len(in)} {
		var m Memory
		o := NewOutput(&m, Event{Host: "h", Node: "n", Step: "s", Duration: time.Second})
		for rest := in; rest != ""; {
			k := min(chunk, len(rest))
			if n, err := o.Write([]byte(rest[:k])); n != k || err != nil {
				t.Fatal(n, err)
			}
			rest = rest[k:]
		}
		o.Close()
		var got []string
		for _, e := range m.Events() {
			if e.Host != "h" || e.Node != "n" || e.Step != "s" || e.Duration != 0 {
				t.Fatalf("event %+v", e)
			}
			if e.Kind == StepOutput {
				got = append(got, "out "+e.Msg)
			} else {
				got = append(got, fmt.Sprintf("progress %d/%d", e.Done, e.Total))
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("in pieces of %d:\n%q\nwant\n%q", chunk, got, want)
		}
	}
}

func TestOutputBoundsALine(t *testing.T) {
	var m Memory
	o := NewOutput(&m, Event{})
	o.Write([]byte(strings.Repeat("x", 3*maxOutputLine+5)))
	o.Close()
	var sizes []int
	for _, e := range m.Events() {
		sizes = append(sizes, len(e.Msg))
	}
	if want := []int{maxOutputLine, maxOutputLine, maxOutputLine, 5}; !reflect.DeepEqual(sizes, want) {
		t.Fatalf("lines of %v, want %v", sizes, want)
	}
}
