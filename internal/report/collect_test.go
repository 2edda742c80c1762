package report

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stonemason-hip/stonemason/internal/trace"
)

// What a large build prints is read and let go, line by line.
func TestLargeLogIsNotHeld(t *testing.T) {
	s := newStory(t)
	s.at(0, trace.Event{Kind: trace.BuildStart})
	s.at(0, trace.Event{Kind: trace.NodeStart, Node: "n"})
	s.at(0, trace.Event{Kind: trace.StepStart, Node: "n", Step: "build"})
	line := strings.Repeat("warning: a long line of a compiler ", 12)
	const lines = 20000
	for i := range lines {
		s.at(i, trace.Event{Kind: trace.StepOutput, Node: "n", Step: "build", Msg: fmt.Sprint(line, i)})
	}
	s.at(lines, trace.Event{Kind: trace.StepEnd, Node: "n", Step: "build", Outcome: trace.Failed})
	s.at(lines, trace.Event{Kind: trace.NodeEnd, Node: "n", Outcome: trace.Failed})
	st, err := os.Stat(filepath.Join(s.dir, "events.jsonl"))
	if err != nil || st.Size() < 8<<20 {
		t.Fatal(err, st.Size())
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r := s.read()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > 512<<10 {
		t.Errorf("%d bytes are held of a log of %d", held, st.Size())
	}
	if f := r.Nodes[0].Failure; len(f.Tail) != maxTail || !strings.HasSuffix(f.Tail[maxTail-1], fmt.Sprint(lines-1)) {
		t.Errorf("%d last lines", len(f.Tail))
	}
}

// Any number of steps may come one after the other: each failure is heard, and
// what a step printed that went well is forgotten.
func TestManyStepsAreHeard(t *testing.T) {
	s := newStory(t)
	for i := range 3 * maxListened {
		n := fmt.Sprint("n", i)
		s.at(i, trace.Event{Kind: trace.NodeStart, Node: n})
		s.at(i, trace.Event{Kind: trace.StepStart, Node: n, Step: "s"})
		s.at(i, trace.Event{Kind: trace.StepOutput, Node: n, Step: "s", Msg: "a.c:1:1: error: of " + n})
		s.at(i, trace.Event{Kind: trace.StepEnd, Node: n, Step: "s", Outcome: trace.Built})
	}
	s.at(900, trace.Event{Kind: trace.StepStart, Node: "n0", Step: "s"})
	s.at(900, trace.Event{Kind: trace.StepOutput, Node: "n0", Step: "s", Msg: "b.c:1:1: error: the last"})
	s.at(900, trace.Event{Kind: trace.StepEnd, Node: "n0", Step: "s", Outcome: trace.Failed})
	s.at(900, trace.Event{Kind: trace.NodeEnd, Node: "n0", Outcome: trace.Failed})
	if f := s.read().Find("n0").Failure; f == nil || len(f.Errors) != 1 || f.Errors[0] != "b.c:1:1: error: the last" {
		t.Errorf("%+v", f)
	}
}

// A build that goes on after failures may have more of them than are listened
// to at once; each is told with its own error.
func TestManyFailuresAreHeard(t *testing.T) {
	s := newStory(t)
	for i := range 3 * maxListened {
		n := fmt.Sprint("n", i)
		s.at(i, trace.Event{Kind: trace.NodeStart, Node: n})
		s.at(i, trace.Event{Kind: trace.StepStart, Node: n, Step: "s"})
		s.at(i, trace.Event{Kind: trace.StepOutput, Node: n, Step: "s", Msg: "a.c:1:1: error: of " + n})
		s.at(i, trace.Event{Kind: trace.StepEnd, Node: n, Step: "s", Outcome: trace.Failed})
		s.at(i, trace.Event{Kind: trace.NodeEnd, Node: n, Outcome: trace.Failed})
	}
	for _, n := range s.read().Nodes {
		if f := n.Failure; f == nil || len(f.Errors) != 1 || f.Errors[0] != "a.c:1:1: error: of "+n.Component {
			t.Fatalf("%s: %+v", n.ID, f)
		}
	}
}

// A clock that is set from one end of time to the other makes no number that
// is less than nothing.
func TestClockFromEndToEnd(t *testing.T) {
	s := newStory(t)
	s.file.Emit(trace.Event{Time: time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC), Kind: trace.BuildStart})
	for _, year := range []int{9000, 1, 2026} {
		e := trace.Event{Time: time.Date(year, 1, 2, 0, 0, 0, 0, time.UTC), Node: fmt.Sprint("n", year), Step: "s"}
		for _, e.Kind = range []trace.Kind{trace.NodeStart, trace.StepStart, trace.StepEnd, trace.NodeEnd} {
			e.Duration, e.Outcome = time.Hour, trace.Built
			s.file.Emit(e)
		}
	}
	r := s.read()
	for _, n := range r.Nodes {
		if n.Start < 0 || n.End < n.Start || n.Steps[0].End < n.Steps[0].Start || n.Duration() != time.Hour || r.Wall < n.End {
			t.Errorf("%s: %v to %v, step %v to %v, of %v", n.ID, n.Start, n.End, n.Steps[0].Start, n.Steps[0].End, r.Wall)
		}
	}
}
