package ui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/trace"
)

var t0 = time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)

func at(seconds float64) time.Time { return t0.Add(time.Duration(seconds * float64(time.Second))) }

// story is a build with everything in it: parallel nodes, downloads, progress,
// warnings, hostile output, a skipped, an adopted and a failed node.
func story(log string) []trace.Event {
	const host = "linux-amd64"
	return []trace.Event{
		{Time: at(0), Kind: trace.BuildStart, Msg: "therock build"},
		{Time: at(0), Kind: trace.PlanReady, Estimate: 3 * time.Minute, Nodes: []trace.PlanNode{
			{Name: "amd-llvm", Host: host, Action: "adopt"}, {Name: "device-libs", Host: host, Action: "build", Deps: []string{"amd-llvm"}},
			{Name: "hipify", Host: host, Action: "build"}, {Name: "rccl", Host: host, Action: "skip", Reason: "no GPU driver"}}},
		{Time: at(0.1), Kind: trace.NodeEnd, Host: host, Node: "rccl", Outcome: trace.Skipped, Reason: "needs Linux with a GPU driver"},
		{Time: at(0.2), Kind: trace.NodeStart, Host: host, Node: "amd-llvm"},
		{Time: at(1), Kind: trace.NodeStart, Host: host, Node: "hipify", Estimate: time.Minute},
		{Time: at(1), Kind: trace.FetchProgress, Host: host, Node: "hipify", Msg: "hipify.tar.xz", Done: 3 << 20, Total: 12 << 20},
		{Time: at(4), Kind: trace.NodeEnd, Host: host, Node: "amd-llvm", Outcome: trace.Adopted, Reason: "LLVM 22.1.8 of Debian", Duration: 3800 * time.Millisecond, Bytes: 412 << 20},
		{Time: at(4), Kind: trace.NodeStart, Host: host, Node: "device-libs"},
		{Time: at(4), Kind: trace.StepStart, Host: host, Node: "device-libs", Step: "configure"},
		{Time: at(6), Kind: trace.StepEnd, Host: host, Node: "device-libs", Step: "configure", Outcome: trace.Built, Duration: 2 * time.Second},
		{Time: at(6), Kind: trace.StepStart, Host: host, Node: "device-libs", Step: "build", Estimate: 90 * time.Second},
		{Time: at(6), Kind: trace.StepStart, Host: host, Node: "hipify", Step: "build", Msg: "hipify-clang"},
		{Time: at(7), Kind: trace.Warn, Host: host, Node: "hipify", Msg: "the mirror lies\x1b]0;owned\x07 about \x1b[31msizes", Next: "therock doctor"},
		{Time: at(8), Kind: trace.StepOutput, Host: host, Node: "device-libs", Step: "build", Msg: "[120/345] Building \x1b[32mocml.bc\x1b[0m"},
		{Time: at(8), Kind: trace.StepProgress, Host: host, Node: "device-libs", Step: "build", Done: 120, Total: 345},
		{Time: at(9), Kind: trace.StepOutput, Host: host, Node: "hipify", Step: "build", Msg: "::error::not ours ##[set-env name=PATH]"},
		{Time: at(9), Kind: trace.StepOutput, Host: host, Node: "hipify", Step: "build", Msg: "[2/3] Building CXX object a.o"},
		{Time: at(9), Kind: trace.StepOutput, Host: host, Node: "hipify", Step: "build", Msg: "FAILED: a.o"},
		{Time: at(9), Kind: trace.StepOutput, Host: host, Node: "hipify", Step: "build", Msg: "c++ -c a.cpp"},
		{Time: at(9), Kind: trace.StepOutput, Host: host, Node: "hipify", Step: "build", Msg: "\x1b[1ma.cpp:7:3: \x1b[31merror: \x1b[0mno member named 'getLoc' in 'clang::Token'"},
		{Time: at(9), Kind: trace.StepOutput, Host: host, Node: "hipify", Step: "build", Msg: "    7 |   tok.getLoc();"},
		{Time: at(9), Kind: trace.StepOutput, Host: host, Node: "hipify", Step: "build", Msg: "      |   ~~~ ^"},
		{Time: at(10), Kind: trace.StepEnd, Host: host, Node: "hipify", Step: "build", Outcome: trace.Failed, Duration: 4 * time.Second, Msg: "ninja exited with status 1", Log: log},
		{Time: at(10), Kind: trace.NodeEnd, Host: host, Node: "hipify", Outcome: trace.Failed, Duration: 9 * time.Second, Reason: "step build failed",
			Next: "therock component hipify", Attrs: map[string]string{"shell": "therock shell hipify"}},
		{Time: at(100), Kind: trace.StepEnd, Host: host, Node: "device-libs", Step: "build", Outcome: trace.Built, Duration: 94 * time.Second},
		{Time: at(101), Kind: trace.NodeEnd, Host: host, Node: "device-libs", Outcome: trace.Built, Duration: 97 * time.Second, Bytes: 3565158},
		{Time: at(101), Kind: trace.BuildEnd, Outcome: trace.Failed, Duration: 101 * time.Second},
	}
}

// golden compares with a file in testdata; UPDATE=1 writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE") == "1" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs. Got:\n%s\nwant:\n%s", path, got, want)
	}
}

// noEscapes fails on every byte that could steer a terminal.
func noEscapes(t *testing.T, s string) {
	t.Helper()
	for i, r := range s {
		if r != '\n' && (r < 0x20 || r >= 0x7f && r <= 0x9f) {
			t.Fatalf("control character %q at %d of %q", r, i, s[max(0, i-40):min(len(s), i+20)])
		}
	}
}

func TestPlain(t *testing.T) {
	for _, verbose := range []bool{false, true} {
		var b bytes.Buffer
		u := New(Options{Out: &b, Verbose: verbose})
		for _, e := range story("/logs/hipify/build.log") {
			u.Emit(e)
		}
		u.Print("the end")
		if err := u.Close(); err != nil {
			t.Fatal(err)
		}
		noEscapes(t, b.String())
		name := "plain.golden"
		if verbose {
			name = "plain-verbose.golden"
		}
		golden(t, name, b.String())
	}
}

func TestGitHubActions(t *testing.T) {
	var b bytes.Buffer
	u := New(Options{Out: &b, GitHubActions: true, Look: Look{TTY: true, Unicode: true, Profile: colorprofile.TrueColor}})
	for _, e := range story("") {
		u.Emit(e)
	}
	u.Close()
	noEscapes(t, b.String())
	golden(t, "github.golden", b.String())
	// What a child printed must not be a command to the runner.
	for line := range strings.Lines(b.String()) {
		if strings.Contains(line, "##[") || strings.HasPrefix(strings.TrimSpace(line), "::error::not ours") {
			t.Errorf("the runner would obey %q", line)
		}
	}
}

// drive feeds the story to an owner without its goroutine, drawing a frame
// after every event, and returns the terminal and the frames it showed.
func drive(t *testing.T, width, height int, o Options, after func(i int, v *vt, w *owner)) (*vt, string) {
	t.Helper()
	v := newVT(width, height)
	now := t0
	o.Out, o.TTY, o.Height = v, true, height
	o.Now = func() time.Time { return now }
	if o.Width == 0 {
		o.Width = width
	}
	_, w := newUI(o)
	var frames strings.Builder
	for i, e := range story("") {
		now = e.Time
		w.handle(e)
		w.redraw()
		if after != nil {
			after(i, v, w)
		}
		if e.Kind == trace.StepProgress || e.Kind == trace.FetchProgress || e.Kind == trace.NodeEnd {
			fmt.Fprintf(&frames, "--- after %s of %s\n%s", e.Kind, e.Node, v.text())
		}
	}
	w.handle(closeMsg{})
	if v.err != nil || w.err != nil {
		t.Fatal(v.err, w.err)
	}
	return v, frames.String()
}

func TestLive(t *testing.T) {
	for _, width := range []int{20, 80, 200} {
		o := Options{Look: Look{Unicode: true, Profile: colorprofile.TrueColor}}
		v, frames := drive(t, width, 12, o, func(i int, v *vt, w *owner) {
			for _, line := range w.drawn {
				if n := textWidth(line); n >= width {
					t.Errorf("width %d: the block's line %q takes %d columns", width, line, n)
				}
			}
			if len(w.drawn) > 11 {
				t.Errorf("width %d: a block of %d lines on 12 rows", width, len(w.drawn))
			}
		})
		golden(t, fmt.Sprintf("live-%d.golden", width), frames+"--- at the end\n"+v.text())
		if strings.Contains(v.text(), "running") {
			t.Errorf("width %d: the block was not taken away:\n%s", width, v.text())
		}
	}
}

// What stays on the terminal must be the same whatever happened to its size
// on the way, and nothing of the block may be left. (A block that no longer
// fits the screen after wrapping has scrolled away, and no program can take
// it back; the sizes here stay clear of that.)
func TestResize(t *testing.T) {
	o := Options{Look: Look{Unicode: true, Profile: colorprofile.ASCII}}
	want, _ := drive(t, 80, 24, o, nil)
	for _, sizes := range [][]int{{40, 80}, {20, 200, 30}, {79, 81, 33, 120}, {25}} {
		got, _ := drive(t, 80, 24, o, func(i int, v *vt, w *owner) {
			next := sizes[i%len(sizes)]
			v.resize(next, 24)
			w.size = func() (int, int) { return v.width, v.height }
			if i%2 == 0 { // not every change is seen in time
				w.handle(resizeMsg{})
			}
		})
		got.resize(80, 24)
		// The failure block is laid out for the width at its time; compare
		// what does not depend on it.
		for _, line := range []string{"✓ amd-llvm: adopted in 3.8s, 412 MiB: LLVM 22.1.8 of Debian", "✓ device-libs: built in 1m37s, 3.4 MiB"} {
			if strings.Count(got.text(), line) != 1 || strings.Count(want.text(), line) != 1 {
				t.Errorf("sizes %v: %q stands %d times in\n%s", sizes, line, strings.Count(got.text(), line), got.text())
			}
		}
		if strings.Contains(got.text(), "running") || strings.Contains(got.text(), "[120/345]") {
			t.Errorf("sizes %v: part of the block stayed:\n%s", sizes, got.text())
		}
	}
}

func TestNoColour(t *testing.T) {
	var raw bytes.Buffer
	_, w := newUI(Options{Out: &raw, Look: Look{TTY: true, Width: 80, Profile: colorprofile.ASCII}, Now: func() time.Time { return at(5) }})
	for _, e := range story("") {
		w.handle(e)
		w.redraw()
	}
	w.handle(closeMsg{})
	for part := range strings.SplitSeq(raw.String(), "\x1b[") {
		if i := strings.IndexAny(part, "mAK"); i > 0 && part[i] == 'm' {
			for code := range strings.SplitSeq(part[:i], ";") {
				if len(code) == 2 && strings.Contains("34", code[:1]) || len(code) > 2 {
					t.Fatalf("colour %q in spite of NO_COLOR", part[:i])
				}
			}
		}
	}
	if !strings.Contains(raw.String(), "\x1b[1m") {
		t.Error("bold is gone too; NO_COLOR is about colour")
	}
	for _, r := range raw.String() {
		if r > 0x7e {
			t.Fatalf("%q on a terminal that is not UTF-8", r)
		}
	}
}

func TestManyRunningNodesFitTheScreen(t *testing.T) {
	for _, height := range []int{1, 2, 3, 5, 24} {
		v := newVT(60, height)
		_, w := newUI(Options{Out: v, Height: height, Look: Look{TTY: true, Width: 60}, Now: func() time.Time { return at(9) }})
		for i := range 50 {
			w.handle(trace.Event{Time: at(0), Kind: trace.NodeStart, Node: fmt.Sprint("node-", i)})
		}
		for range 5 {
			w.spin++
			w.redraw()
		}
		if got := len(w.drawn); got > max(2, height-1) {
			t.Errorf("height %d: %d lines", height, got)
		}
		if height > 2 && strings.Count(v.text(), "running") != 1 {
			t.Errorf("height %d: frames pile up:\n%s", height, v.text())
		}
	}
}

func TestFrameWritesOnce(t *testing.T) {
	var writes counter
	_, w := newUI(Options{Out: &writes, Look: Look{TTY: true, Width: 80}, Now: func() time.Time { return at(3) }})
	for i := range 1000 {
		w.handle(trace.Event{Time: at(1), Kind: trace.NodeEnd, Node: fmt.Sprint(i), Outcome: trace.Built})
	}
	if writes != 0 {
		t.Fatalf("%d writes between frames", writes)
	}
	w.redraw()
	w.redraw()
	if writes != 1 {
		t.Fatalf("%d writes for one changed and one unchanged frame", writes)
	}
}

type counter int

func (c *counter) Write(p []byte) (int, error) { *c++; return len(p), nil }

func TestHeartbeat(t *testing.T) {
	var b bytes.Buffer
	now := t0
	_, w := newUI(Options{Out: &b, Now: func() time.Time { return now }})
	for _, e := range story("")[:15] {
		now = e.Time
		w.handle(e)
	}
	w.heartbeat() // there was output since the last one
	before := b.Len()
	now = at(68)
	w.heartbeat()
	if got, want := b.String()[before:], "01:08 still running: hipify build, device-libs build [120/345]\n"; got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func TestTwoHostsAreTold(t *testing.T) {
	var b bytes.Buffer
	u := New(Options{Out: &b})
	u.Emit(trace.Event{Time: t0, Kind: trace.PlanReady, Nodes: []trace.PlanNode{{Name: "a", Host: "linux-amd64", Action: "build"}, {Name: "a", Host: "darwin-arm64", Action: "build"}}})
	u.Emit(trace.Event{Time: t0, Kind: trace.NodeEnd, Node: "a", Host: "linux-amd64", Outcome: trace.Built})
	u.Emit(trace.Event{Time: t0, Kind: trace.NodeEnd, Node: "a", Host: "darwin-arm64", Outcome: trace.Failed, Step: "build", Msg: "x"})
	u.Close()
	for _, want := range []string{"a@linux-amd64: built", "a@darwin-arm64 failed in step build"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// Events in any order, from a damaged log or a caller's mistake, must not
// panic, and concurrent use must be safe (go test -race).
func TestAnyOrderAndConcurrency(t *testing.T) {
	var b bytes.Buffer
	u := New(Options{Out: &b, Look: Look{TTY: true, Width: 30}, In: strings.NewReader("y\ny\ny\ny\n")})
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			events := story("")
			for i := range events {
				u.Emit(events[(i*7+w*5)%len(events)])
			}
			u.Print("x")
			if w == 0 {
				if ok, err := u.Ask(context.Background(), "go on?"); !ok || err != nil {
					t.Error(ok, err)
				}
			}
		}()
	}
	wg.Wait()
	u.Close()
	u.Emit(trace.Event{Kind: trace.Info})
	u.Print("after")
	if err := u.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestWriteErrorIsReturned(t *testing.T) {
	r, w := io.Pipe()
	r.CloseWithError(errors.New("gone"))
	u := New(Options{Out: w})
	u.Emit(trace.Event{Kind: trace.Info, Msg: "x"})
	if err := u.Close(); err == nil || err.Error() != "gone" {
		t.Fatalf("Close = %v", err)
	}
}

func TestDetect(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	o := Detect(f, []string{"TERM=xterm-256color", "LANG=C.UTF-8", "GITHUB_ACTIONS=true", "CLICOLOR_FORCE=1"})
	if o.TTY || !o.GitHubActions || o.Profile != colorprofile.NoTTY || o.Out != f {
		t.Errorf("a file became a terminal: %+v", o)
	}
}

func TestErrorText(t *testing.T) {
	err := exit.Hint(exit.Withf(exit.Config, "therock.yaml:3:5: unknown key \x1b[2Jfoo\nsecond"), "therock plan\ntherock doctor")
	got := ErrorText(Look{}, err)
	want := "error: therock.yaml:3:5: unknown key foo\n  second\nnext:  therock plan\n       therock doctor\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if ErrorText(Look{}, nil) != "" {
		t.Error("text for no error")
	}
}
