package doctor

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestTryCompilers(t *testing.T) {
	f := newFake(t, "linux")
	good := func(name string) string {
		t.Helper()
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	cc, cxx := good("cc"), good("c++")
	if err := TryCompilers(t.Context(), cc, cxx); err != nil {
		t.Fatal(err)
	}
	// A C compiler that is told to compile C++ has no libstdc++ to link.
	if err := TryCompilers(t.Context(), cc, cc); err == nil || !strings.Contains(err.Error(), "cannot compile a small program") {
		t.Errorf("%v", err)
	}
	bad := filepath.Join(f.dir, "bin", "bad")
	for body, want := range map[string]string{
		"kill -SEGV $$": bad + " crashes (signal: segmentation fault",
		"echo 'x.c:1: note: a note' >&2; echo 'x.c:2: error: what is wrong' >&2; exit 1": "small program: x.c:2: error: what is wrong",
		"exit 4": "small program: exit status 4",
		"exit 0": "says that it compiled a program and made none",
		"printf '\\033[31mred\\a error: \\000\\n'; exit 1": "red",
	} {
		f.script("bad", body)
		err := TryCompilers(t.Context(), bad, cxx)
		if err == nil || !strings.Contains(err.Error(), want) || strings.ContainsAny(err.Error(), "\x1b\a\x00\n") {
			t.Errorf("%s: %q", body, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := TryCompilers(ctx, cc, cxx); err == nil {
		t.Error("it went on when it was cancelled")
	}
	// Nothing is left behind.
	t.Setenv("TMPDIR", f.dir)
	if err := TryCompilers(t.Context(), cc, cxx); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(f.dir, "stonemason-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// How jobs are shared is a matter of ninja, and of the make that its commands
// may run, as internal/step decides it.
func TestHowJobsAreShared(t *testing.T) {
	for _, c := range []struct{ ninja, make, want string }{
		{"1.11.1", "", "divided among components: ninja 1.13 "},
		{"1.12.9", "GNU Make 4.4.1", "divided among components: ninja 1.13 "},
		{"1.13.0.git", "", "shared"},
		{"2.0", "GNU Make 4.4.1\nBuilt for x86_64-pc-linux-gnu", "shared"},
		{"1.13.2", "GNU Make 4.3\nBuilt for x86_64-pc-linux-gnu", "divided among components: make 4.4 "},
		{"1.13.2", "usage: make [-BeikNnqrstWwX]", "divided among components: make 4.4 "},
	} {
		f := newFake(t, "linux").all()
		f.says("ninja", c.ninja)
		if c.make != "" {
			f.says("make", c.make)
		}
		if it := item(t, Check(t.Context(), Needs{Host: f.Host, Tools: []string{"ninja"}}), "jobs"); !strings.HasPrefix(it.Found, c.want) || it.Status != OK {
			t.Errorf("%+v: %+v", c, it)
		}
	}
}

func TestAFolderThatCannotBeWritten(t *testing.T) {
	f := newFake(t, "linux").all()
	// Not even root can write into /proc.
	r := Check(t.Context(), Needs{Host: f.Host, Tools: []string{}, Disk: []DiskNeed{{Path: "/proc/sys/kernel/none", What: "store", Otherwise: "do that"}}})
	if it := item(t, r, "store"); it.Status != Missing || it.Suggest != "do that" || !strings.Contains(it.Found, "/proc/sys/kernel/none") {
		t.Errorf("%+v", it)
	}
	if err := Ensure(t.Context(), r, Mode{Yes: true}); err == nil || !strings.Contains(err.Error(), "for store: do that") {
		t.Errorf("%v", err)
	}
}

// What is only recommended stops nothing, is installed with what is missing,
// and may fail to be.
func TestWhatIsRecommended(t *testing.T) {
	f := newFake(t, "linux").all()
	os.Remove(filepath.Join(f.dir, "bin", "ninja"))
	f.script("dnf", `echo "$@" >>$FAKE/dnf.log
case "$*" in
*bubblewrap*) echo 'no such package' >&2; exit 1 ;;
*ninja-build*) printf '#!/bin/sh\necho 1.12.1\n' >$FAKE/bin/ninja; /bin/chmod +x $FAKE/bin/ninja ;;
esac`)
	f.UID = 0
	isolation := func(context.Context) Item { return Item{Name: "isolation", Status: Warn, Recommended: true} }
	r := Check(t.Context(), Needs{Host: f.Host, Probes: []Probe{isolation}})
	if it := item(t, r, "isolation"); it.Packages["dnf"][0] != "bubblewrap" {
		t.Errorf("%+v", it)
	}
	var said strings.Builder
	if err := Ensure(t.Context(), r, Mode{Yes: true, Out: &said}); err != nil || !r.OK() {
		t.Fatalf("%v: %s", err, said.String())
	}
	log, err := os.ReadFile(filepath.Join(f.dir, "dnf.log"))
	if lines := strings.Split(strings.TrimSpace(string(log)), "\n"); err != nil || len(lines) != 2 || strings.Contains(lines[0], "bubblewrap") || !strings.HasSuffix(lines[1], "bubblewrap") {
		t.Errorf("%v: %s", err, log)
	}
	if !strings.Contains(said.String(), "bubblewrap is recommended and could not be installed: ") {
		t.Errorf("said %s", said.String())
	}
	// Alone it is no reason to install anything.
	os.Remove(filepath.Join(f.dir, "dnf.log"))
	if err := Ensure(t.Context(), Check(t.Context(), Needs{Host: f.Host, Probes: []Probe{isolation}}), Mode{Yes: true}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(f.dir, "dnf.log")); err == nil {
		t.Error("it was installed alone")
	}
}
