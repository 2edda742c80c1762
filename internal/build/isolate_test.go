package build

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/machine"
	"github.com/stonemason-hip/stonemason/internal/source"
	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/internal/step"
	"github.com/stonemason-hip/stonemason/internal/store"
)

// Wherever store, checkout and home lie: a step sees of them what is its own.
func TestWhatAStepMayAccess(t *testing.T) {
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, checkout := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	work := filepath.Join(s.Root(), "work", "a")
	r := &step.Run{
		Work: work, Source: filepath.Join(work, "src"), Deps: map[string]string{"zstd": filepath.Join(s.Root(), "objects", "zstd")},
		Tools: map[string]string{"cmake": filepath.Join(home, ".local", "bin", "cmake")},
	}
	b := &Builder{Store: s, Sources: &source.Provider{Root: checkout}, Machine: &machine.Machine{}}
	more := filepath.Join(s.Root(), "shell")
	a := b.access(r, []string{more})
	for _, dir := range []string{s.Root(), checkout, home, "/opt", "/usr/local", "/tmp", "/run"} {
		if !slices.Contains(a.Hidden, dir) {
			t.Errorf("%s is not hidden: %v", dir, a.Hidden)
		}
	}
	for _, path := range []string{work, r.Deps["zstd"], r.Tools["cmake"]} {
		if !slices.Contains(a.Readable, path) {
			t.Errorf("%s cannot be read: %v", path, a.Readable)
		}
	}
	if !slices.Contains(a.Writable, more) {
		t.Errorf("%s cannot be written to: %v", more, a.Writable)
	}
	for _, path := range a.Writable {
		if path == more {
			continue
		}
		if dir, name := filepath.Split(path); filepath.Clean(dir) != work || name == "src" {
			t.Errorf("%s can be written to", path)
		}
	}
}

func TestRequiredIsolationIsNoWish(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // no bubblewrap
	b := &Builder{Machine: &machine.Machine{Isolation: spec.IsolationRequired}}
	if err := b.isolate(t.Context(), &step.Run{}, false); exit.Of(err) != exit.Preflight {
		t.Errorf("%v", err)
	}
	for _, mode := range []spec.Isolation{"", spec.IsolationAuto, spec.IsolationOff} {
		b := &Builder{Machine: &machine.Machine{Isolation: mode}}
		r := &step.Run{}
		if err := b.isolate(t.Context(), r, false); err != nil || r.Wrap != nil {
			t.Errorf("%q: %v", mode, err)
		}
	}
}
