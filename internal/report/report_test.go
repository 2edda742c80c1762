package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stonemason-hip/stonemason/internal/trace"
)

func TestWhatTheEventsSay(t *testing.T) {
	r := eventful(t, 400)
	if r.Result != Failed || r.Wall != 22*time.Second || r.CPU != 50900*time.Millisecond || r.MaxRSS != 700<<20 || r.Cores != 4 || r.EdgeCount != 400 {
		t.Errorf("%+v", r)
	}
	want := map[trace.Outcome]int{trace.Failed: 1, trace.Built: 2, trace.Adopted: 1, trace.Restored: 1, Unfinished: 2, trace.Skipped: 1}
	if !reflect.DeepEqual(r.Counts, want) {
		t.Errorf("counts %v, want %v", r.Counts, want)
	}
	lib := r.Find("lib@linux-amd64")
	if want := []Change{{"flags", "-O2", "-O3 " + hostile}, {"patch 0001.patch", "11aa", "22bb"}, {"", "", "new file"}}; !reflect.DeepEqual(lib.Changes, want) {
		t.Errorf("changes %q, want %q", lib.Changes, want)
	}
	if !slices.Equal(lib.Needs, []string{"llvm@linux-amd64"}) || lib.Failure != nil || lib.Reason != "a flag changed" {
		t.Errorf("%+v", lib)
	}
	bad := r.Find(hostile + "@linux-amd64")
	f := bad.Failure
	if f == nil || f.Step != hostile || len(f.Errors) != 1 || f.Errors[0] != "a b/main.c:3:7: error: use of undeclared "+hostile+"\n    3 |   return x;\n      |          ^" {
		t.Fatalf("failure %+v", f)
	}
	late := r.Find("late@linux-amd64")
	if late.Outcome != Unfinished || late.End != r.Wall || late.Steps[0].End != r.Wall {
		t.Errorf("what was running at the end: %+v", late)
	}
	if n := r.Find("never@linux-amd64"); n.Outcome != Unfinished || n.ran {
		t.Errorf("what was not begun: %+v", n)
	}
	if len(r.Warnings) != 1 || len(r.Notes) != 0 {
		t.Errorf("warnings %v, notes %v", r.Warnings, r.Notes)
	}
	if len(r.Slowest) != maxSlow || r.Slowest[0].Duration < r.Slowest[29].Duration || r.Lanes != 4 {
		t.Errorf("slowest %v, %d lanes", r.Slowest, r.Lanes)
	}
}

func TestCriticalPath(t *testing.T) {
	type node struct {
		name       string
		start, end int // milliseconds
		needs      string
	}
	for name, c := range map[string]struct {
		nodes []node
		want  string
		needs int
	}{
		"a chain of needs":           {[]node{{"a", 0, 1000, ""}, {"b", 1010, 3000, "a"}, {"c", 10, 2000, ""}}, "a beginning, b need a", 2990},
		"the need that ended last":   {[]node{{"a", 0, 1000, ""}, {"b", 0, 1500, ""}, {"c", 1505, 2000, "a,b"}}, "b beginning, c need b", 1995},
		"no job was free":            {[]node{{"a", 0, 1000, ""}, {"b", 0, 4000, ""}, {"c", 4001, 6000, "a"}}, "b beginning, c jobs b", 4000},
		"free, and late of itself":   {[]node{{"a", 0, 1000, ""}, {"c", 3000, 6000, "a"}}, "a beginning, c need a", 4000},
		"no need, and no job":        {[]node{{"a", 0, 1000, ""}, {"c", 1001, 6000, ""}}, "a beginning, c jobs a", 4999},
		"a cycle, which cannot be":   {[]node{{"a", 0, 1000, "b"}, {"b", 1000, 2000, "a"}}, "a beginning, b need a", 2000},
		"one that needs itself":      {[]node{{"a", 0, 1000, "a"}}, "a beginning", 1000},
		"needs that the log has not": {[]node{{"a", 0, 1000, "x"}}, "a beginning", 1000},
	} {
		s := newStory(t)
		var plan []trace.PlanNode
		for _, n := range c.nodes {
			var needs []string
			if n.needs != "" {
				needs = strings.Split(n.needs, ",")
			}
			plan = append(plan, trace.PlanNode{Name: n.name, Action: "source", Deps: needs})
		}
		s.at(0, trace.Event{Kind: trace.BuildStart})
		s.at(0, trace.Event{Kind: trace.PlanReady, Nodes: plan})
		for _, n := range c.nodes {
			s.at(n.start, trace.Event{Kind: trace.NodeStart, Node: n.name})
			s.at(n.end, trace.Event{Kind: trace.NodeEnd, Node: n.name, Outcome: trace.Built})
		}
		r := s.read()
		var got []string
		for _, l := range r.Path {
			got = append(got, strings.TrimSpace(fmt.Sprint(l.Node, " ", l.For, " ", l.On)))
		}
		if strings.Join(got, ", ") != c.want || r.Needs != time.Duration(c.needs)*time.Millisecond {
			t.Errorf("%s: %v, needs alone %v; want %s, %dms", name, got, r.Needs, c.want, c.needs)
		}
	}
}

// ran tells a story of one node with one step that ended with these
// attributes, and reads it.
func ran(t *testing.T, prepare func(s *story) map[string]string) *Report {
	t.Helper()
	s := newStory(t)
	attrs := prepare(s)
	s.at(0, trace.Event{Kind: trace.BuildStart})
	s.at(0, trace.Event{Kind: trace.NodeStart, Node: "n", Host: "h"})
	s.at(100, trace.Event{Kind: trace.StepStart, Node: "n", Host: "h", Step: "build"})
	s.at(1100, trace.Event{Kind: trace.StepEnd, Node: "n", Host: "h", Step: "build", Outcome: trace.Built, Attrs: attrs})
	s.at(1200, trace.Event{Kind: trace.NodeEnd, Node: "n", Host: "h", Outcome: trace.Built})
	s.at(1200, trace.Event{Kind: trace.BuildEnd, Done: 1, Total: 1})
	return s.read()
}

func TestEdgesOfAStep(t *testing.T) {
	r := ran(t, func(s *story) map[string]string {
		path := s.ninja("n", 6, 100, 2)
		return map[string]string{"ninja_log": path}
	})
	s := r.Find("n@h").Steps[0]
	if len(s.Edges) != 6 || len(r.Notes) != 0 || r.Lanes != 2 {
		t.Fatalf("%+v, notes %v", s.Edges, r.Notes)
	}
	// ninja counts from when it began, the report from the build's beginning.
	if e := s.Edges[2]; e.Start != 200*time.Millisecond || e.End != 300*time.Millisecond {
		t.Errorf("%+v", e)
	}
	if r.Occupied != 600*time.Millisecond {
		t.Errorf("occupied %v", r.Occupied)
	}
}

// Two steps of a node run ninja in one build folder: the kept log is that of
// both, and each has its own part.
func TestTwoStepsOneNinjaLog(t *testing.T) {
	s := newStory(t)
	first := s.ninja("n", 3, 10, 1)
	st, err := os.Stat(first)
	if err != nil {
		t.Fatal(err)
	}
	more := "0\t50\t1\tinstall\tff\n"
	data, _ := os.ReadFile(first)
	if err := os.WriteFile(first, append(data, more...), 0o644); err != nil {
		t.Fatal(err)
	}
	later := begun.Add(2500 * time.Millisecond) // behind the first step, as the copy of the second
	if err := os.Chtimes(first, later, later); err != nil {
		t.Fatal(err)
	}
	s.at(0, trace.Event{Kind: trace.BuildStart})
	s.at(0, trace.Event{Kind: trace.NodeStart, Node: "n"})
	s.at(0, trace.Event{Kind: trace.StepStart, Node: "n", Step: "build"})
	s.at(100, trace.Event{Kind: trace.StepEnd, Node: "n", Step: "build", Outcome: trace.Built, Attrs: map[string]string{"ninja_log": first, "ninja_log_offset": "0"}})
	s.at(2400, trace.Event{Kind: trace.StepStart, Node: "n", Step: "install"})
	s.at(2500, trace.Event{Kind: trace.StepEnd, Node: "n", Step: "install", Outcome: trace.Built, Attrs: map[string]string{"ninja_log": first, "ninja_log_offset": fmt.Sprint(st.Size())}})
	s.at(2500, trace.Event{Kind: trace.NodeEnd, Node: "n", Outcome: trace.Built})
	n := s.read().Find("n")
	if len(n.Steps[0].Edges) != 3 || len(n.Steps[1].Edges) != 1 || n.Steps[1].Edges[0].Output != "install" {
		t.Fatalf("%+v and %+v", n.Steps[0].Edges, n.Steps[1].Edges)
	}
}

// Nothing is read but regular ninja logs in the folder of logs.
func TestEdgesAreReadFromTheLogsAlone(t *testing.T) {
	for name, prepare := range map[string]func(s *story) string{
		"outside": func(s *story) string {
			path := s.ninja("n", 3, 10, 1)
			outside := filepath.Join(s.dir, "n.ninja_log")
			if err := os.Rename(path, outside); err != nil {
				t.Fatal(err)
			}
			return outside
		},
		"by dots":    func(s *story) string { return "../n.ninja_log" },
		"other name": func(s *story) string { return "/etc/passwd" },
		"a link": func(s *story) string {
			path := s.ninja("n", 3, 10, 1)
			outside := filepath.Join(s.dir, "n.ninja_log")
			if err := os.Rename(path, outside); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(outside, path); err != nil {
				t.Fatal(err)
			}
			return path
		},
		"a pipe": func(s *story) string {
			path := filepath.Join(s.logs(), "p.ninja_log")
			if err := errors.Join(syscall.Mkfifo(path, 0o644), os.Chtimes(path, begun, begun)); err != nil {
				t.Fatal(err)
			}
			return path
		},
		"absent": func(s *story) string { return "none.ninja_log" },
		"no log": func(s *story) string {
			path := filepath.Join(s.logs(), "x.ninja_log")
			if err := os.WriteFile(path, []byte("hello\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			os.Chtimes(path, begun, begun)
			return path
		},
		"of a later build": func(s *story) string {
			path := s.ninja("n", 3, 10, 1)
			later := begun.Add(time.Minute)
			if err := os.Chtimes(path, later, later); err != nil {
				t.Fatal(err)
			}
			return path
		},
	} {
		r := ran(t, func(s *story) map[string]string { return map[string]string{"ninja_log": prepare(s)} })
		if r.EdgeCount != 0 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "edges are not shown") {
			t.Errorf("%s: %d edges, notes %q", name, r.EdgeCount, r.Notes)
		}
		// The step stands in for its edges.
		if r.Occupied != time.Second || r.Lanes != 1 {
			t.Errorf("%s: occupied %v in %d lanes", name, r.Occupied, r.Lanes)
		}
	}
}

func TestResults(t *testing.T) {
	for name, c := range map[string]struct {
		events []trace.Event
		want   Result
	}{
		"good":      {[]trace.Event{{Kind: trace.BuildStart}, {Kind: trace.BuildEnd, Done: 2, Total: 2}}, Succeeded},
		"killed":    {[]trace.Event{{Kind: trace.BuildStart}, {Kind: trace.NodeStart, Node: "a"}}, Interrupted},
		"stopped":   {[]trace.Event{{Kind: trace.BuildStart}, {Kind: trace.BuildEnd, Done: 1, Total: 2}}, Interrupted},
		"failed":    {[]trace.Event{{Kind: trace.NodeEnd, Node: "a", Outcome: trace.Failed}, {Kind: trace.BuildEnd, Total: 1}}, Failed},
		"told so":   {[]trace.Event{{Kind: trace.BuildEnd, Outcome: trace.Failed}}, Failed},
		"killed, 2": {[]trace.Event{{Kind: trace.NodeEnd, Node: "a", Outcome: trace.Failed}}, Failed},
	} {
		s := newStory(t)
		for i, e := range c.events {
			s.at(i, e)
		}
		if r := s.read(); r.Result != c.want {
			t.Errorf("%s: %s, want %s", name, r.Result, c.want)
		}
	}
}

// A log with everything in it that nobody would write: the report has bounds.
func TestForgedLog(t *testing.T) {
	s := newStory(t)
	var plan []trace.PlanNode
	for i := range maxNodes + 50 {
		plan = append(plan, trace.PlanNode{Name: fmt.Sprint("n", i), Action: "source", Deps: []string{fmt.Sprint("n", i+1)}})
	}
	s.at(5000, trace.Event{Kind: trace.PlanReady, Nodes: plan})
	s.at(-9999999, trace.Event{Kind: trace.NodeStart, Node: "n1", Reason: strings.Repeat("é", 100000), Attrs: map[string]string{"change.x": "\x00\xff\u202e" + hostile}})
	s.at(1, trace.Event{Kind: trace.StepEnd, Node: "n1", Step: "never begun"})
	for range maxSteps + 10 {
		s.at(2, trace.Event{Kind: trace.StepStart, Node: "n1", Step: "s"})
	}
	s.at(3, trace.Event{Kind: trace.StepEnd, Node: "n1", Step: "s", Duration: 1 << 62, CPU: -5, MaxRSS: -5, Outcome: "grand", Attrs: map[string]string{"ninja_log_offset": "-7", "ninja_log": "\x00"}})
	s.at(4, trace.Event{Kind: trace.NodeEnd, Node: "n1", Duration: -1 << 62, Bytes: -1, Outcome: "splendid"})
	s.at(4, trace.Event{Kind: trace.NodeEnd, Node: "", Outcome: trace.Failed})
	s.at(5, trace.Event{Kind: trace.BuildEnd, Duration: -5, Done: -1, Total: -1})
	r := s.read()
	n := r.Find("n1")
	if len(r.Nodes) != maxNodes || len(n.Steps) != maxSteps || len([]rune(n.Reason)) > maxText || n.Outcome != Unfinished || n.Bytes != 0 || n.CPU != 0 {
		t.Fatalf("%d nodes, %d steps, reason of %d, outcome %s, %d bytes", len(r.Nodes), len(n.Steps), len([]rune(n.Reason)), n.Outcome, n.Bytes)
	}
	if strings.ContainsAny(n.Changes[0].New, "\x00\u202e") || n.Start < 0 || r.Wall < 0 {
		t.Errorf("%+v", n.Changes)
	}
	for _, s := range n.Steps {
		if s.End < s.Start {
			t.Fatalf("a step ends before it begins: %+v", s)
		}
	}
	for _, write := range writers(r) {
		var b bytes.Buffer
		if err := write(&b); err != nil || b.Len() == 0 {
			t.Errorf("%v", err)
		}
	}
}

func writers(r *Report) []func(*bytes.Buffer) error {
	return []func(*bytes.Buffer) error{
		func(b *bytes.Buffer) error { return r.HTML(b) }, func(b *bytes.Buffer) error { return r.Trace(b) },
		func(b *bytes.Buffer) error { return r.Markdown(b) }, func(b *bytes.Buffer) error { return json.NewEncoder(b).Encode(r) },
	}
}

// The required fields of the Trace Event Format, kind by kind.
func TestTraceFormat(t *testing.T) {
	r := eventful(t, 40)
	var b bytes.Buffer
	if err := r.Trace(&b); err != nil {
		t.Fatal(err)
	}
	var file struct {
		TraceEvents     []map[string]any
		DisplayTimeUnit string
		OtherData       map[string]string
	}
	if err := json.Unmarshal(b.Bytes(), &file); err != nil {
		t.Fatal(err)
	}
	if u := file.DisplayTimeUnit; u != "ms" && u != "ns" {
		t.Errorf("displayTimeUnit %q", u)
	}
	type lane struct{ pid, tid float64 }
	ends := map[lane]float64{}
	processes, threads := map[float64]string{}, map[lane]string{}
	spans := map[string]int{}
	for _, e := range file.TraceEvents {
		for _, field := range []string{"ts", "pid", "tid"} {
			if _, ok := e[field].(float64); !ok {
				t.Fatalf("%s is no number in %v", field, e)
			}
		}
		name, _ := e["name"].(string)
		l := lane{e["pid"].(float64), e["tid"].(float64)}
		args, _ := e["args"].(map[string]any)
		switch e["ph"] {
		case "M":
			switch name {
			case "process_name":
				processes[l.pid] = args["name"].(string)
			case "thread_name":
				threads[l] = args["name"].(string)
			case "process_sort_index", "thread_sort_index":
				_ = args["sort_index"].(float64)
			default:
				t.Errorf("metadata %q", name)
			}
		case "X":
			dur, ok := e["dur"].(float64)
			if ts := e["ts"].(float64); !ok || dur < 0 || ts < 0 || name == "" || ts+dur > 22e6+1e-6 {
				t.Errorf("span %v", e)
			}
			// In a lane of commands spans do not overlap: the viewers would
			// nest them.
			if e["cat"] == "edge" {
				if ts := e["ts"].(float64); ts < ends[l] {
					t.Errorf("%v begins before its lane is free at %v", e, ends[l])
				}
				ends[l] = e["ts"].(float64) + dur
			}
			spans[e["cat"].(string)]++
			if processes[l.pid] == "" || threads[l] == "" {
				t.Errorf("the lane of %v has no name", e)
			}
		case "C":
			if _, ok := args["commands"].(float64); !ok {
				t.Errorf("counter %v", e)
			}
		default:
			t.Errorf("kind %v", e["ph"])
		}
	}
	if want := map[string]int{"build": 1, "component": 6, "step": 5, "edge": 40}; !reflect.DeepEqual(spans, want) {
		t.Errorf("spans %v, want %v", spans, want)
	}
	if file.OtherData["result"] != "failed" {
		t.Errorf("%v", file.OtherData)
	}
}

func TestMarkdown(t *testing.T) {
	r := eventful(t, 40)
	var b bytes.Buffer
	if err := r.Markdown(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{
		"## Build failed in 22s\n", "| from the store | 1 of 7 |", "| processor time | 51s |", "| use of the cores | 58 % of 4 |",
		"failed in step &lt;/script&gt;&lt;img", "```\na b/main.c:3:7: error: use of undeclared ", "lib@linux-amd64 | built | 20s | a flag changed<br>flags: -O2 → -O3 &lt;",
		"**lib@linux-amd64** 20s, of which step build 20s (began when its need llvm@linux-amd64 was there)", "1 skipped",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	// Outside the fence of a failure's lines no text of the log is markup.
	if outside := regexp.MustCompile("(?s)\n```\n.*?\n```\n").ReplaceAllString(text, ""); strings.Contains(outside, "<img") || strings.Contains(outside, "</script") {
		t.Errorf("markup got through:\n%s", outside)
	}
	if got := escape("a|b`c` <i> [x](y) @me me@home *z* _q_"); got != "a\\|b\\`c\\` &lt;i&gt; \\[x\\]\\(y\\) &#64;me me@home \\*z\\* \\_q\\_" {
		t.Errorf("%s", got)
	}
	f := &Failure{Message: "m", Errors: []string{"```\n````"}}
	b.Reset()
	var sb strings.Builder
	r.failureMarkdown(&sb, &Node{ID: "n", Failure: f})
	if !strings.Contains(sb.String(), "\n`````\n```\n````\n`````\n") {
		t.Errorf("a fence is broken by its text:\n%s", sb.String())
	}
}

func TestJSONHasTheNumbers(t *testing.T) {
	r := eventful(t, 40)
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back struct {
		Schema  string
		Version int
		Result  string
		Wall    int64 `json:"wall_ns"`
		Edges   int
		Counts  map[string]int
		Nodes   []struct{ ID, Outcome string }
		Path    []struct{ Node string } `json:"critical_path"`
	}
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if back.Schema != Schema || back.Version != 1 || back.Result != "failed" || back.Wall != 22e9 || back.Edges != 40 || back.Counts["built"] != 2 || len(back.Nodes) != 8 || len(back.Path) != len(r.Path) {
		t.Errorf("%+v", back)
	}
}

// One file, of reasonable size, that refers to nothing outside itself.
func TestPageStandsAlone(t *testing.T) {
	var b bytes.Buffer
	if err := eventful(t, 4000).HTML(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if b.Len() > 300<<10 {
		t.Errorf("%d bytes for 4,000 edges", b.Len())
	}
	if n := strings.Count(text, "</script>"); n != 2 {
		t.Errorf("%d ends of scripts, want 2", n)
	}
	for _, m := range regexp.MustCompile(`(?i)\b(?:src|href|action|data|poster)="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(m[1], "#") && m[1] != "data:," {
			t.Errorf("refers to %q", m[0])
		}
	}
	for _, bad := range []string{"http://", "https://", "@import", "url(", "<img", "<iframe", "<link rel=\"stylesheet"} {
		if strings.Contains(text, bad) {
			t.Errorf("%q is in the page", bad)
		}
	}
	if !strings.Contains(text, "default-src &#39;none&#39;") && !strings.Contains(text, "default-src 'none'") {
		t.Error("no content security policy")
	}
}

// Of more edges than a page holds the longest are drawn, and it says so.
func TestVeryManyEdges(t *testing.T) {
	r := ran(t, func(s *story) map[string]string {
		return map[string]string{"ninja_log": s.ninja("n", maxDrawn+500, 1, 30)}
	})
	data, drawn, err := r.data()
	if err != nil || drawn != maxDrawn || len(data) > 2<<20 {
		t.Fatalf("%v, %d of %d drawn, %d bytes", err, drawn, r.EdgeCount, len(data))
	}
	var b bytes.Buffer
	if err := r.HTML(&b); err != nil || !strings.Contains(b.String(), fmt.Sprintf("hold the %d longest", maxDrawn)) {
		t.Error("the page does not say what it leaves out", err)
	}
}

// The densest graph that a log can hold is drawn within bounds.
func TestDrawingIsBounded(t *testing.T) {
	r := &Report{byID: map[string]*Node{}}
	for i := range maxBoxes {
		n := &Node{ID: fmt.Sprint("n", i), Component: "c", Outcome: trace.Built}
		for j := max(0, i-maxNeeds); j < i; j++ {
			n.Needs = append(n.Needs, fmt.Sprint("n", j))
		}
		r.Nodes, r.byID[n.ID] = append(r.Nodes, n), n
	}
	var bytes int
	for _, l := range r.draw().Lines {
		bytes += len(l.Path)
	}
	if bytes > 8<<20 {
		t.Errorf("%d bytes of lines", bytes)
	}
	r.Nodes = append(r.Nodes, &Node{ID: "one more", Outcome: trace.Built})
	if d := r.draw(); len(d.Boxes) != 0 {
		t.Error("a graph too large is drawn")
	}
}

// In a drawn graph everything stands to the right of what it needs, no boxes
// overlap, and every need has its line.
func TestDrawing(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		r := &Report{byID: map[string]*Node{}}
		needs := 0
		for i := range 1 + rnd.IntN(40) {
			n := &Node{ID: fmt.Sprint("n", i), Component: strings.Repeat("x", 1+rnd.IntN(40)), Outcome: trace.Built}
			for j := range i {
				if rnd.IntN(6) == 0 {
					n.Needs = append(n.Needs, fmt.Sprint("n", j))
					needs++
				}
			}
			r.Nodes, r.byID[n.ID] = append(r.Nodes, n), n
		}
		d := r.draw()
		at := map[string]box{}
		for i, b := range d.Boxes {
			at[b.ID] = b
			if b.X < 0 || b.Y < 0 || b.X+b.W > d.Width || b.Y+b.H > d.Height {
				t.Fatalf("%+v lies outside %v by %v", b, d.Width, d.Height)
			}
			for _, o := range d.Boxes[:i] {
				if b.X < o.X+o.W && o.X < b.X+b.W && b.Y < o.Y+o.H && o.Y < b.Y+b.H {
					t.Fatalf("%+v and %+v overlap", b, o)
				}
			}
		}
		if len(d.Boxes) != len(r.Nodes) || len(d.Lines) != needs {
			t.Fatalf("%d boxes of %d, %d lines of %d", len(d.Boxes), len(r.Nodes), len(d.Lines), needs)
		}
		for _, l := range d.Lines {
			if at[l.From].X+at[l.From].W >= at[l.To].X {
				t.Fatalf("%s does not stand to the right of %s", l.To, l.From)
			}
		}
	}
}
