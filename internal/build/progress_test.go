package build

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stonemason-hip/stonemason/internal/key"
	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/spec"
)

func keyNamed(name string) key.Key {
	var b key.Builder
	b.Add("name", name)
	return b.Key()
}

func TestProgressIsRemembered(t *testing.T) {
	work, k := t.TempDir(), keyNamed("one")
	p, err := loadProgress(work, k)
	if err != nil || len(p.Steps) != 0 {
		t.Fatalf("of an empty folder: %+v, %v", p, err)
	}
	for _, s := range []string{"source", "00-configure"} {
		if err := p.add(work, s); err != nil {
			t.Fatal(err)
		}
	}
	again, err := loadProgress(work, k)
	if err != nil || !slices.Equal(again.Steps, []string{"source", "00-configure"}) {
		t.Errorf("read back: %+v, %v", again, err)
	}
}

// Progress of another key, and what a power cut may leave, counts as none: the
// steps are run again, and nothing fails.
func TestProgressThatDoesNotCount(t *testing.T) {
	k := keyNamed("one")
	for name, text := range map[string]string{
		"of another key": `{"key":"` + string(keyNamed("two").ID) + `","steps":["source"]}`,
		"without a key":  `{"steps":["source"]}`,
		"torn":           `{"key":"` + string(k.ID) + `","steps":["sou`,
		"empty":          "",
		"zeros":          "\x00\x00\x00\x00",
		"of other types": `{"key":1,"steps":{"a":"b"}}`,
	} {
		work := t.TempDir()
		if err := os.WriteFile(filepath.Join(work, "progress.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		p, err := loadProgress(work, k)
		if err != nil || p.Key != k.ID || len(p.Steps) != 0 {
			t.Errorf("progress %s: %+v, %v", name, p, err)
		}
	}
}

// After a power cut files may be empty that a step had written. Only what was
// synced before counts when the machine was started anew.
func TestProgressAfterAPowerCut(t *testing.T) {
	if bootID() == "" {
		t.Fatal("this machine does not say when it was started")
	}
	work, k := t.TempDir(), keyNamed("one")
	restarted := func() { // as the record looks to a machine that was started later
		file := filepath.Join(work, progressFile)
		data, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, []byte(strings.ReplaceAll(string(data), bootID(), "another start")), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	steps := func() int {
		p, err := loadProgress(work, k)
		if err != nil {
			t.Fatal(err)
		}
		return len(p.Steps)
	}
	p := &progress{Key: k.ID}
	if err := p.add(work, sourceMark); err != nil {
		t.Fatal(err)
	}
	if steps() != 1 {
		t.Error("a build that was killed does not go on")
	}
	restarted()
	if steps() != 0 {
		t.Error("what was not on the disk is gone on with")
	}
	if err := p.add(work, "00-configure"); err != nil {
		t.Fatal(err)
	}
	p.settle(work, time.Minute)
	restarted()
	if steps() != 2 {
		t.Error("what was synced is not gone on with")
	}
	// Gone on with, it is written to again.
	s := newSite(t, progress{Steps: []string{sourceMark, "00-one"}})
	s.done = &progress{Key: s.key.ID, Steps: []string{sourceMark, "00-one"}, Boot: bootID()}
	s.done.settle(s.work, time.Minute)
	if err := s.open(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if left, err := loadProgress(s.work, s.key); err != nil || left.Boot != bootID() {
		t.Errorf("a folder that is at work says it is on the disk: %+v, %v", left, err)
	}
}

func TestCheck(t *testing.T) {
	stage := t.TempDir()
	for _, name := range []string{"lib/a.bc", "lib/b.bc", "include/x.h"} {
		file := filepath.Join(stage, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		check spec.Check
		want  string
	}{
		{spec.Check{Exists: "include/x.h"}, ""},
		{spec.Check{Exists: "lib"}, ""},
		{spec.Check{Exists: "lib/*.bc", Count: 2}, ""},
		{spec.Check{Absent: "lib/c.bc"}, ""},
		{spec.Check{Exists: "lib/*.bc", Count: 3}, "lib/*.bc: 2 found, at least 3 expected"},
		{spec.Check{Exists: "lib/*.so"}, "lib/*.so: 0 found, at least 1 expected"},
		{spec.Check{Absent: "**/*.h"}, "**/*.h is there and must not be"},
	} {
		err := check(&plan.Node{Checks: []spec.Check{c.check}}, stage)
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%+v: %v, want %q", c.check, err, c.want)
		}
	}
	// All broken promises are named at once.
	err := check(&plan.Node{Checks: []spec.Check{{Exists: "a"}, {Exists: "include/x.h"}, {Exists: "b"}}}, stage)
	if err == nil || strings.Count(err.Error(), "0 found") != 2 {
		t.Errorf("error %v", err)
	}
}
