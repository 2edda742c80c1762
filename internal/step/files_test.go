package step

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/internal/spec"
)

func write(t *testing.T, mode fs.FileMode, text string, path ...string) string {
	t.Helper()
	file := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, mode); err != nil {
		t.Fatal(err)
	}
	return file
}

func modeOf(t *testing.T, file string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

// Only what this copy brings gets the execute bits, not its neighbours.
func TestCopyMakesOnlyItsOwnFilesExecutable(t *testing.T) {
	r, _ := newRun(t)
	write(t, 0o644, "x", r.Source, "scripts", "run")
	data := write(t, 0o644, "x", r.Stage, "bin", "data")
	s := &Copy{Items: []CopyItem{{From: "${source}/scripts", To: "bin", Executable: true}}}
	if err := s.Run(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if m := modeOf(t, filepath.Join(r.Stage, "bin", "run")); m != 0o755 {
		t.Errorf("bin/run has mode %v", m)
	}
	if m := modeOf(t, data); m != 0o644 {
		t.Errorf("bin/data has mode %v now", m)
	}
}

// A folder that is a symbolic link in the source is copied as what it leads
// to: the link itself would lead nowhere in the stage.
func TestCopyFollowsAFolderThatIsALink(t *testing.T) {
	r, _ := newRun(t)
	write(t, 0o644, "x", r.Source, "real", "a.h")
	if err := os.Symlink("real", filepath.Join(r.Source, "include")); err != nil {
		t.Fatal(err)
	}
	if err := (&Copy{Items: []CopyItem{{From: "${source}/include", To: "include"}}}).Run(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if m := modeOf(t, filepath.Join(r.Stage, "include")); !m.IsDir() {
		t.Errorf("include is %v", m)
	}
	if m := modeOf(t, filepath.Join(r.Stage, "include", "a.h")); !m.IsRegular() {
		t.Errorf("include/a.h is %v", m)
	}
}

func TestCopyNeverReplacesAFileOfAnotherItem(t *testing.T) {
	r, _ := newRun(t)
	write(t, 0o644, "1", r.Source, "one", "a.h")
	write(t, 0o644, "2", r.Source, "two", "a.h")
	err := (&Copy{Items: []CopyItem{{From: "${source}/one", To: "include"}, {From: "${source}/two", To: "include"}}}).Run(t.Context(), r)
	if err == nil || !strings.Contains(err.Error(), "include/a.h exists already") {
		t.Errorf("error %v", err)
	}
}

func TestGenerateWritesNowhereElse(t *testing.T) {
	r, _ := newRun(t)
	outside := filepath.Join(t.TempDir(), "x")
	for _, file := range []string{outside, "../x", "${build}/../../x", "${source}/../../x", "a/../../x"} {
		if err := (&Generate{File: file, Content: "x"}).Run(t.Context(), r); err == nil {
			t.Errorf("generate wrote %s", file)
		}
	}
	old := write(t, 0o644, "old", r.Stage, "bin", "x")
	if err := (&Generate{File: "bin/x", Content: "${jobs}", Executable: true}).Run(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(old); string(data) != "3" || modeOf(t, old) != 0o755 {
		t.Errorf("bin/x holds %q with mode %v", data, modeOf(t, old))
	}
	if err := (&Generate{File: "${build}/y", Content: "x"}).Run(t.Context(), r); err != nil {
		t.Error(err)
	}
}

func TestFixupOfScriptsAndModes(t *testing.T) {
	r, _ := newRun(t)
	for _, c := range []struct{ name, before, after string }{
		{"bash", "#!/bin/bash\nx\n", "#!/usr/bin/env bash\nx\n"},
		{"local-bash", "#! /usr/local/bin/bash \nx\n", "#!/usr/bin/env bash\nx\n"},
		{"python", "#!/usr/bin/python3\nx\n", "#!/usr/bin/env python3\nx\n"},
		{"sh", "#!/bin/sh\nx\n", "#!/bin/sh\nx\n"},
		{"arguments", "#!/bin/bash -e\nx\n", "#!/bin/bash -e\nx\n"},
		{"env", "#!/usr/bin/env perl\nx\n", "#!/usr/bin/env perl\nx\n"},
		{"no-line-end", "#!/bin/bash", "#!/bin/bash"},
		{"empty", "", ""},
		{"text", "/bin/bash\n", "/bin/bash\n"},
	} {
		file := write(t, 0o700, c.before, r.Stage, "bin", c.name)
		if err := (&Fixup{}).Run(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if data, _ := os.ReadFile(file); string(data) != c.after {
			t.Errorf("%s: %q became %q, want %q", c.name, c.before, data, c.after)
		}
		if m := modeOf(t, file); m != 0o755 {
			t.Errorf("%s: mode %v", c.name, m)
		}
	}
	private := write(t, 0o600, "#!/bin/bash\n", r.Stage, "share", "private")
	dir := filepath.Join(r.Stage, "share")
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := (&Fixup{}).Run(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if modeOf(t, private) != 0o644 || modeOf(t, dir).Perm() != 0o755 {
		t.Errorf("modes %v and %v", modeOf(t, private), modeOf(t, dir))
	}
	if data, _ := os.ReadFile(private); string(data) != "#!/bin/bash\n" {
		t.Errorf("a file that is no program was rewritten: %q", data)
	}
}

func TestFixupOfLinks(t *testing.T) {
	r, _ := newRun(t)
	write(t, 0o644, "x", r.Stage, "lib", "libx.so.1")
	link := func(target string, path ...string) string {
		t.Helper()
		file := filepath.Join(append([]string{r.Stage}, path...)...)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, file); err != nil {
			t.Fatal(err)
		}
		return file
	}
	inside := link(r.Stage+"/lib/../lib/libx.so.1", "share", "deep", "x")
	relative := link("libx.so.1", "lib", "libx.so")
	root := link(r.Stage, "lib", "root")
	if err := (&Fixup{}).Run(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{inside: "../../lib/libx.so.1", relative: "libx.so.1", root: ".."} {
		if got, err := os.Readlink(file); err != nil || got != want {
			t.Errorf("%s → %s, %v, want %s", file, got, err, want)
		}
	}
	for _, bad := range []string{"/etc/passwd", r.Stage + "/../src", r.Stage + "x", r.Work} {
		file := link(bad, "bad")
		if err := (&Fixup{}).Run(t.Context(), r); err == nil || !strings.Contains(err.Error(), "symbolic link bad leads to "+bad) {
			t.Errorf("a link to %s: %v", bad, err)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFixupStopsWhenItIsCancelled(t *testing.T) {
	r, _ := newRun(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (&Fixup{}).Run(ctx, r); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestAuditRefusesALeakUnlessItIsExcused(t *testing.T) {
	r, out := newRun(t)
	write(t, 0o644, "built in "+r.Work+"/src\n", r.Stage, "share", "x.txt")
	err := (&Audit{}).Run(t.Context(), r)
	if err == nil || !strings.Contains(err.Error(), "share/x.txt: build-path-leak") {
		t.Fatalf("error %v", err)
	}
	r.Exceptions = []spec.Exception{{Rule: "build-path-leak", Globs: []string{"bin/*"}, Why: "another file"}}
	if err := (&Audit{}).Run(t.Context(), r); err == nil {
		t.Error("an exception of another file excuses it")
	}
	r.Exceptions[0].Globs = []string{"share/*"}
	if err := (&Audit{}).Run(t.Context(), r); err != nil || !strings.Contains(out.String(), "excused: another file") {
		t.Errorf("error %v, output %s", err, out)
	}
	write(t, 0o644, "and "+r.Work, r.Stage, "lib", "y.txt")
	write(t, 0o644, "and "+r.Work, r.Stage, "lib", "z.txt")
	if err := (&Audit{}).Run(t.Context(), r); err == nil || !strings.Contains(err.Error(), "2 findings") {
		t.Errorf("error %v", err)
	}
}
