package report

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stonemason-hip/stonemason/internal/trace"
)

const hostile = `</script><img src=x onerror=document.title='owned'>`

// begun is the time at which the builds of these tests began.
var begun = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// story writes an event log with times of its own.
type story struct {
	t    *testing.T
	dir  string
	file *trace.File
}

func newStory(t *testing.T) *story {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "logs"), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := trace.Create(filepath.Join(dir, "events.jsonl"), "stonemason 1.2")
	if err != nil {
		t.Fatal(err)
	}
	return &story{t, dir, f}
}

// at emits an event some milliseconds after the beginning.
func (s *story) at(ms int, e trace.Event) {
	e.Time = begun.Add(time.Duration(ms) * time.Millisecond)
	s.file.Emit(e)
}

func (s *story) logs() string { return filepath.Join(s.dir, "logs") }

// ninja keeps a log of n edges of took milliseconds each, jobs at once, and
// returns its path. It is of the time of the story, not of now.
func (s *story) ninja(name string, n, took, jobs int) string {
	s.t.Helper()
	var b strings.Builder
	b.WriteString("# ninja log v5\n")
	for i := range n {
		start := i / jobs * took
		fmt.Fprintf(&b, "%d\t%d\t1\tCMakeFiles/%s.dir/src/file%05d.cpp.o\t%x\n", start, start+took, name, i, i+1)
	}
	path := filepath.Join(s.logs(), name+".ninja_log")
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Chtimes(path, begun, begun); err != nil {
		s.t.Fatal(err)
	}
	return path
}

func (s *story) read() *Report {
	s.t.Helper()
	if err := s.file.Close(); err != nil {
		s.t.Fatal(err)
	}
	runs, err := trace.Runs(filepath.Join(s.dir, "events.jsonl"))
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := Read(runs[len(runs)-1], s.logs())
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// eventful is a build in which everything happens: every outcome, edges,
// changes, a failure, a warning, and names that want to be markup. It has
// edges of ninja in two steps.
func eventful(t *testing.T, edges int) *Report {
	t.Helper()
	const l, h = "lib", "linux-amd64"
	s := newStory(t)
	s.at(0, trace.Event{Kind: trace.BuildStart, Msg: "therock build " + hostile, Total: 7, Attrs: map[string]string{"cores": "4", "jobs": "4"}})
	id := func(n string) string { return n + "@" + h }
	s.at(0, trace.Event{Kind: trace.PlanReady, Nodes: []trace.PlanNode{
		{Name: "llvm", Host: h, Action: "system"},
		{Name: l, Host: h, Action: "source", Deps: []string{id("llvm"), id("llvm")}},
		{Name: "tool", Host: h, Action: "source", Deps: []string{id(l), id("llvm"), id("headers")}},
		{Name: "headers", Host: h, Action: "source"},
		{Name: hostile, Host: h, Action: "source", Deps: []string{id("llvm")}},
		{Name: "late", Host: h, Action: "source", Deps: []string{id("headers")}},
		{Name: "never", Host: h, Action: "source", Deps: []string{id(hostile)}},
		{Name: "gpu", Host: h, Action: "off"},
	}})
	s.at(0, trace.Event{Kind: trace.NodeEnd, Node: "gpu", Host: h, Outcome: trace.Skipped, Reason: "needs a driver"})
	node := func(from, to int, name string, o trace.Outcome, attrs map[string]string) {
		s.at(from, trace.Event{Kind: trace.NodeStart, Node: name, Host: h, Reason: "why " + name, Attrs: attrs})
		s.at(to, trace.Event{Kind: trace.NodeEnd, Node: name, Host: h, Outcome: o, Bytes: 5 << 20})
	}
	node(5, 12, "headers", trace.Restored, nil)
	s.at(10, trace.Event{Kind: trace.NodeStart, Node: "llvm", Host: h, Reason: "nothing is in the store"})
	s.at(20, trace.Event{Kind: trace.StepStart, Node: "llvm", Host: h, Step: "adopt"})
	s.at(1000, trace.Event{Kind: trace.StepEnd, Node: "llvm", Host: h, Step: "adopt", Outcome: trace.Built, CPU: 900 * time.Millisecond, MaxRSS: 64 << 20})
	s.at(1010, trace.Event{Kind: trace.NodeEnd, Node: "llvm", Host: h, Outcome: trace.Adopted, Duration: time.Second})

	took := max(1, 20000/max(1, edges/3))
	s.at(1020, trace.Event{Kind: trace.NodeStart, Node: l, Host: h, Reason: "a flag changed", Attrs: map[string]string{
		"change.000": "flags: -O2 → -O3 " + hostile, "change.001": "patch 0001.patch: 11aa → 22bb", "change.002": "new file", "other": "x"}})
	s.at(1030, trace.Event{Kind: trace.StepStart, Node: l, Host: h, Step: "build"})
	s.at(1040, trace.Event{Kind: trace.StepOutput, Node: l, Host: h, Step: "build", Msg: "x.cpp:1:2: error: not kept, as the step succeeds"})
	s.at(21030, trace.Event{Kind: trace.StepEnd, Node: l, Host: h, Step: "build", Outcome: trace.Built, CPU: 50 * time.Second, MaxRSS: 700 << 20,
		Attrs: map[string]string{"ninja_log": s.ninja(l, edges-2, took, 3), "ninja_log_offset": "0"}})
	s.at(21100, trace.Event{Kind: trace.NodeEnd, Node: l, Host: h, Outcome: trace.Built, Bytes: 3 << 20, Key: "00aa", Content: "sha256:bb"})

	s.at(1020, trace.Event{Kind: trace.NodeStart, Node: hostile, Host: h, Reason: hostile})
	s.at(1021, trace.Event{Kind: trace.Warn, Node: hostile, Msg: "watch out " + hostile})
	s.at(1030, trace.Event{Kind: trace.StepStart, Node: hostile, Host: h, Step: hostile})
	for _, line := range []string{"plain " + hostile, "a b/main.c:3:7: error: use of undeclared " + hostile, "    3 |   return \x1b[31mx\x1b[0m;", "      |          ^", "1 error generated."} {
		s.at(1050, trace.Event{Kind: trace.StepOutput, Node: hostile, Host: h, Step: hostile, Msg: line})
	}
	s.at(9000, trace.Event{Kind: trace.StepEnd, Node: hostile, Host: h, Step: hostile, Outcome: trace.Failed, Reason: "ninja: exit status 1", MaxRSS: 80 << 20,
		Attrs: map[string]string{"ninja_log": s.ninja("bad", 2, 100, 1), "ninja_log_offset": "0"}})
	s.at(9010, trace.Event{Kind: trace.NodeEnd, Node: hostile, Host: h, Outcome: trace.Failed, Step: hostile, Reason: "step failed", Msg: "ninja: exit status 1 " + hostile, Log: "/x/" + hostile, Next: "go tool mage component x"})

	s.at(21400, trace.Event{Kind: trace.NodeStart, Node: "late", Host: h})
	s.at(21410, trace.Event{Kind: trace.StepStart, Node: "late", Host: h, Step: "copy"})
	s.at(21120, trace.Event{Kind: trace.NodeStart, Node: "tool", Host: h, Reason: "lib came out different"})
	s.at(21130, trace.Event{Kind: trace.StepStart, Node: "tool", Host: h, Step: "configure"})
	s.at(21380, trace.Event{Kind: trace.StepEnd, Node: "tool", Host: h, Step: "configure", Outcome: trace.Built})
	s.at(21390, trace.Event{Kind: trace.NodeEnd, Node: "tool", Host: h, Outcome: trace.Built})
	s.at(22000, trace.Event{Kind: trace.BuildEnd, Outcome: trace.Failed, Done: 5, Total: 7, Duration: 22 * time.Second})
	return s.read()
}
