package build

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stonemason-hip/stonemason/internal/budget"
	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/machine"
	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/source"
	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/internal/store"
	"github.com/stonemason-hip/stonemason/internal/trace"
)

// newSite is the work folder of a node without needs, whose steps write the
// stage, with what a build has left in it: steps that are done, and one file in
// each folder.
func newSite(t *testing.T, done progress) *site {
	t.Helper()
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	n := &plan.Node{ID: "a@linux-amd64", Component: "a", Host: "linux-amd64", Steps: []plan.Step{
		{Name: "one", Uses: "generate", With: map[string]any{"file": "one", "content": "x"}},
		{Name: "two", Uses: "generate", With: map[string]any{"file": "two", "content": "x"}},
	}}
	b := &Builder{
		Graph: &plan.Graph{Nodes: []*plan.Node{n}}, Store: s, Sources: &source.Provider{Root: t.TempDir()}, Events: trace.Discard(),
		Machine: &machine.Machine{Isolation: spec.IsolationOff}, Logs: t.TempDir(), Jobs: 1,
	}
	k := keyNamed("a")
	here := &site{b: b, n: n, key: k, work: b.Work(n, k.ID), log: io.Discard, jobs: 1}
	for _, dir := range []string{"src", "build", "stage", "home", "tmp"} {
		write(t, filepath.Join(here.work, dir, "file"))
	}
	done.Key = k.ID
	if err := done.save(here.work); err != nil {
		t.Fatal(err)
	}
	return here
}

func write(t *testing.T, file string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// kept lists the folders of a work folder whose file is there still.
func kept(t *testing.T, work string) (dirs []string) {
	t.Helper()
	for _, dir := range []string{"src", "build", "stage", "home", "tmp"} {
		if _, err := os.Stat(filepath.Join(work, dir, "file")); err == nil {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// A build goes on with what finished steps made in src and build, and with
// nothing else that lies in the folder.
func TestWhatABuildGoesOnWith(t *testing.T) {
	for name, c := range map[string]struct {
		done  progress
		fresh bool
		want  []string
	}{
		"nothing is known":       {progress{}, false, nil},
		"the source":             {progress{Steps: []string{sourceMark}}, false, []string{"src"}},
		"a step":                 {progress{Steps: []string{sourceMark, "00-one"}, Staged: []string{"01-two"}}, false, []string{"src", "build"}},
		"a step, begin anew":     {progress{Steps: []string{sourceMark, "00-one"}}, true, nil},
		"a person was there":     {progress{Steps: []string{sourceMark, "00-one"}, Touched: true}, false, nil},
		"only the stage is made": {progress{Staged: []string{"00-one"}}, false, nil},
	} {
		s := newSite(t, c.done)
		if err := s.open(t.Context(), c.fresh); err != nil {
			t.Fatal(err)
		}
		if got := kept(t, s.work); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v stay, want %v", name, got, c.want)
		}
		// As one finds it who comes when this build was killed at once.
		left, err := loadProgress(s.work, s.key)
		if err != nil || left.Touched || len(left.Staged) > 0 || len(left.Steps) > 0 && !slices.Contains(c.want, "src") {
			t.Errorf("%s: what is left says %+v, %v", name, left, err)
		}
	}
}

// What a person changes in the folder counts, wherever steps look at it.
func TestWhatAPersonChanges(t *testing.T) {
	for file, want := range map[string]bool{
		"": false, "src/file": true, "build/new": true, "stage/file": true, "toolchain.cmake": true,
		"home/.bash_history": false, "tmp/x": false, // a build empties these
	} {
		s := newSite(t, progress{Steps: []string{sourceMark}})
		write(t, filepath.Join(s.work, "toolchain.cmake"))
		if err := s.enter(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		entered := &Site{site: s}
		changed, err := entered.Borrow(func() error {
			during, err := loadProgress(s.work, s.key)
			if err != nil || !during.Touched {
				t.Errorf("while it is lent: %+v, %v", during, err)
			}
			if file != "" {
				return os.WriteFile(filepath.Join(s.work, file), []byte("other"), 0o644)
			}
			return nil
		})
		if err != nil || (len(changed) > 0) != want {
			t.Errorf("%q: changed %v, %v", file, changed, err)
		}
		if left, err := loadProgress(s.work, s.key); err != nil || left.Touched != want {
			t.Errorf("%q: %+v, %v", file, left, err)
		}
	}
}

// A step that is run alone begins, as in a build, without what an interrupted
// configuration left.
func TestTheFirstStepAloneBeginsAnew(t *testing.T) {
	for step, want := range map[string][]string{"one": {"src", "stage"}, "two": {"src", "build", "stage"}} {
		done := progress{Steps: []string{sourceMark}}
		if step == "two" {
			done.Steps = append(done.Steps, "00-one")
		}
		s := newSite(t, done)
		if err := s.enter(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		entered := &Site{site: s}
		if err := entered.Step(t.Context(), step); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(s.work, "build")); err != nil {
			t.Error(err)
		}
		// It wrote the stage, which no build goes on with.
		left, err := loadProgress(s.work, s.key)
		if err != nil || !slices.Equal(left.Steps, done.Steps) || len(left.Staged) != 1 {
			t.Errorf("%s: %+v, %v", step, left, err)
		}
		for _, dir := range []string{"home", "tmp"} {
			if err := os.RemoveAll(filepath.Join(s.work, dir)); err != nil {
				t.Fatal(err)
			}
		}
		if got := kept(t, s.work); !slices.Equal(got, want) {
			t.Errorf("%s: %v stay, want %v", step, got, want)
		}
	}
}

// The log of ninja's edges that a report reads is the build's: what a step that
// is run alone appends does not replace it.
func TestNinjasLogIsTheBuilds(t *testing.T) {
	s := newSite(t, progress{})
	write(t, s.ninjaLog())
	if attrs := s.keepNinjaLog(0); attrs != nil {
		t.Errorf("outside of a build: %v", attrs)
	}
	s.lease = new(budget.Lease)
	if attrs := s.keepNinjaLog(0); attrs["ninja_log_offset"] != "0" {
		t.Errorf("in a build: %v", attrs)
	}
}

// A workspace that changed between its key and its copy is not built, though
// another node, whose key was made in between, has looked at it since.
func TestAWorkspaceThatChangedBeforeItsCopy(t *testing.T) {
	s := newSite(t, progress{})
	s.n.Sources = []plan.Source{{Name: "a", Workspace: "mine"}}
	file := filepath.Join(s.b.Sources.Root, "mine", "file")
	write(t, file)
	look := func() {
		k, err := s.b.Key(t.Context(), s.n, nil)
		if err != nil {
			t.Fatal(err)
		}
		if s.key.ID == keyNamed("a").ID {
			s.key = k
		}
	}
	look()
	if err := os.WriteFile(file, []byte("other"), 0o644); err != nil {
		t.Fatal(err)
	}
	look()
	if err := s.open(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if err := s.source(t.Context()); exit.Of(err) != exit.Source || slices.Contains(s.done.Steps, sourceMark) {
		t.Errorf("%v, done %v", err, s.done.Steps)
	}
}
