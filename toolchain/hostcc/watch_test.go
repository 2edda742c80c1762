package hostcc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stonemason-hip/stonemason/internal/statcache"
)

// wrapper compiles a program that notes that it ran and then is the machine's
// compiler, with a macro more. Two of one length of mark are of one size.
func wrapper(t *testing.T, path, real, log, mark string) {
	t.Helper()
	source := filepath.Join(t.TempDir(), "w.c")
	text := fmt.Sprintf(`#include <fcntl.h>
#include <unistd.h>
static const char define[] = "-DSTONEMASON_TEST=%s";
int main(int argc, char **argv) {
	char *args[64];
	int n = 0, log = open("%s", O_WRONLY | O_APPEND | O_CREAT, 0644);
	if (log < 0 || write(log, "x", 1) != 1 || argc > 60) return 1;
	close(log);
	args[n++] = "%s";
	args[n++] = (char *)define;
	for (int i = 1; i < argc; i++) args[n++] = argv[i];
	args[n] = 0;
	execv(args[0], args);
	return 1;
}
`, mark, log, real)
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(real, "-o", path, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// What a compiler said is remembered, and a compiler that is put into its place
// is noticed at once, be it of the same size and dated like the old one.
func TestDetectRemembers(t *testing.T) {
	real, err := exec.LookPath("gcc")
	if err != nil {
		t.Fatal(err)
	}
	dir, away := t.TempDir(), t.TempDir()
	log := filepath.Join(dir, "log")
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	gcc := filepath.Join(away, "gcc")
	wrapper(t, gcc, real, log, "1")
	for _, name := range []string{"gcc", "g++"} {
		if err := os.Symlink(gcc, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(statcache.Slack + 100*time.Millisecond)
	state := filepath.Join(t.TempDir(), "cache")
	o := Options{Path: bin + ":/usr/bin:/bin", CC: "gcc", CXX: "g++"}
	detect := func() (p Pair, runs int) {
		t.Helper()
		before, _ := os.ReadFile(log)
		o.Cache = statcache.Open(state)
		p, err := Detect(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if err := o.Cache.Save(); err != nil {
			t.Fatal(err)
		}
		after, _ := os.ReadFile(log)
		return p, len(after) - len(before)
	}
	first, runs := detect()
	if runs == 0 {
		t.Fatal("the wrapper never ran")
	}
	same := func(what string) {
		t.Helper()
		if again, runs := detect(); again != first || runs != 0 {
			t.Errorf("%s: asked %d times; %+v, want %+v", what, runs, again, first)
		}
	}
	same("again")
	info, err := os.Stat(gcc)
	if err != nil {
		t.Fatal(err)
	}

	// In place: the same inode.
	wrapper(t, gcc+".new", real, log, "2")
	other, err := os.ReadFile(gcc + ".new")
	if err != nil || int64(len(other)) != info.Size() {
		t.Fatalf("%d bytes, not %d: %v", len(other), info.Size(), err)
	}
	put := func(data []byte) {
		t.Helper()
		if err := os.WriteFile(gcc, data, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(gcc, info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
	}
	put(other)
	second, runs := detect()
	if runs == 0 || second.C.Digest == first.C.Digest {
		t.Errorf("a compiler written over is not noticed: asked %d times", runs)
	}
	// By another inode, and both times as before for all that utimes can do.
	if err := os.Rename(gcc+".new", gcc); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(gcc, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if third, runs := detect(); runs == 0 || third != second {
		t.Errorf("a compiler replaced is not noticed: asked %d times, %+v", runs, third)
	}
	// A new compiler before it in the search path, once all is settled.
	time.Sleep(statcache.Slack + 100*time.Millisecond)
	if first, runs = detect(); runs == 0 {
		t.Error("what was written just now was remembered")
	}
	same("settled")
	front := filepath.Join(dir, "front")
	o.Path = front + ":" + o.Path
	if first, runs = detect(); runs == 0 {
		t.Error("another search path gets the old answer")
	}
	same("with a folder that is not there")
	if err := os.Mkdir(front, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(gcc, filepath.Join(front, "gcc")); err != nil {
		t.Fatal(err)
	}
	if p, _ := detect(); p.C.Path != filepath.Join(front, "gcc") {
		t.Errorf("found %s, and a better one has come", p.C.Path)
	}
}

// A compiler that did not answer once is asked again, and not passed over for
// as long as its files stay.
func TestAFailureIsNotRemembered(t *testing.T) {
	real, err := exec.LookPath("gcc")
	if err != nil {
		t.Fatal(err)
	}
	dir, away := t.TempDir(), filepath.Join(t.TempDir(), "log")
	cc := filepath.Join(dir, "cc")
	wrapper(t, cc, real, filepath.Join(away, "x"), "1") // it fails without its log
	time.Sleep(statcache.Slack + 100*time.Millisecond)
	o := Options{Path: dir + ":/usr/bin:/bin", Cache: statcache.Open("")}
	if p, err := Detect(t.Context(), o); err != nil || p.C.Path == cc {
		t.Fatalf("%+v, %v", p, err)
	}
	if err := os.Mkdir(away, 0o755); err != nil {
		t.Fatal(err)
	}
	if p, err := Detect(t.Context(), o); err != nil || p.C.Path != cc {
		t.Errorf("found %s, and %s answers now: %v", p.C.Path, cc, err)
	}
}

// A script can run anything, and a wrapper of another name too: they are asked
// each time.
func TestDetectAsksScripts(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"gcc", "g++"} {
		fake(t, filepath.Join(dir, name), gcc12)
	}
	time.Sleep(statcache.Slack + 100*time.Millisecond)
	state := filepath.Join(t.TempDir(), "cache")
	for range 2 {
		c := statcache.Open(state)
		if _, err := Detect(t.Context(), Options{Path: dir, Cache: c}); err != nil {
			t.Fatal(err)
		}
		if err := c.Save(); err != nil {
			t.Fatal(err)
		}
		if data, _ := os.ReadFile(state); strings.Contains(string(data), "\nanswer ") {
			t.Error("what a script said is remembered")
		}
	}
	for name, known := range map[string]bool{
		"gcc": true, "x86_64-linux-gnu-gcc-12": true, "g++-12": true, "clang++": true, "clang-22": true, "cc1plus": true,
		"x86_64-linux-gnu-ld.bfd": true, "ld.lld": true, "lld": true, "aarch64-linux-gnu-as": true,
		"ccache": false, "sccache": false, "distcc": false, "icecc": false, "mold-wrapper": false, "zig": false,
	} {
		if driverName.MatchString(name) != known {
			t.Errorf("%s counts as a compiler's own: %v", name, !known)
		}
	}
}

// What the user's environment says to a compiler plays no part.
func TestDetectIgnoresTheEnvironment(t *testing.T) {
	o := Options{Path: "/usr/bin:/bin"}
	want, err := Detect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"CPATH", "GCC_EXEC_PREFIX", "COMPILER_PATH", "LIBRARY_PATH", "CCC_OVERRIDE_OPTIONS"} {
		t.Setenv(name, "/nowhere/")
	}
	if got, err := Detect(t.Context(), o); err != nil || got != want {
		t.Errorf("found %+v, %v; want %+v", got, err, want)
	}
}
