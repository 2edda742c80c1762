//go:build e2e && linux && amd64

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/internal/audit"
	"github.com/stonemason-hip/stonemason/internal/bundle"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// emulator runs one program of an ARM64 Linux, with the libraries that the
// distribution's cross compiler brings. What that program starts is not run by
// it, which is why drive is there.
func emulator() []string { return []string{"qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu"} }

// TestARM64 makes the bundle of linux-arm64 on this machine, and compiles with
// it: what its compilers make for a GPU is what those of this machine make.
func TestARM64(t *testing.T) {
	project, therock := product(t)
	t.Log(tool(t, project, os.Environ(), therock, "build", "-channel=debian"))
	t.Log(tool(t, project, os.Environ(), therock, "build", "-channel=debian", "-host=linux-arm64", "-with=zstd"))
	arm, native := filepath.Join(project, "dist", "linux-arm64"), filepath.Join(project, "dist", "linux-amd64")

	t.Run("verify", func(t *testing.T) {
		out := tool(t, project, os.Environ(), therock, "verify", "-bundle="+arm)
		if !strings.Contains(out, "nothing is wrong") || !strings.Contains(out, "not run on this linux-amd64 machine") {
			t.Error(out)
		}
	})
	t.Run("contents", func(t *testing.T) { shared(t, arm, native) })
	t.Run("programs start", func(t *testing.T) { start(t, arm) })
	t.Run("the same code", func(t *testing.T) { sameCode(t, project, arm, native) })
	t.Run("smoke", func(t *testing.T) {
		cmd := exec.CommandContext(t.Context(), therock, "smoke", "-bundle="+arm)
		cmd.Dir = project
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "is a bundle for linux-arm64: its compilers do not run on this linux-amd64 machine") {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// shared checks that both bundles have the same parts where parts are for any
// host, and the same programs where they are not.
func shared(t *testing.T, arm, native string) {
	contents := func(dir string) map[string]string {
		m, err := bundle.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for _, c := range m.Components {
			found[c.Name] = string(c.Content)
		}
		return found
	}
	a, n := contents(arm), contents(native)
	for _, name := range []string{"device-libs", "hip-headers", "rocm-cmake"} {
		if a[name] == "" || a[name] != n[name] {
			t.Errorf("%s is %s for linux-arm64 and %s for linux-amd64", name, a[name], n[name])
		}
	}
	for _, name := range []string{"amd-llvm", "hipcc", "zstd"} {
		if a[name] == "" || a[name] == n[name] {
			t.Errorf("%s is %q for linux-arm64 and %q for linux-amd64", name, a[name], n[name])
		}
	}
	if names, want := listed(t, arm), listed(t, native); !slices.Equal(names, want) {
		t.Errorf("programs of LLVM for linux-arm64: %q, for linux-amd64: %q", names, want)
	}
}

func listed(t *testing.T, dir string) (names []string) {
	entries, err := os.ReadDir(filepath.Join(dir, "lib/llvm/bin"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// start runs every program of LLVM in the bundle, and holds what they ask of
// the system to what Debian 12 has.
func start(t *testing.T, arm string) {
	r, err := audit.Run(t.Context(), filepath.Join(arm, "lib/llvm"), audit.Options{
		Platform: platform.Platform{OS: "linux", Arch: "arm64"}, Execute: true, Runner: emulator(),
		Floor: map[string]string{"GLIBC": "2.36", "GLIBCXX": "3.4.30"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if f.Severity == audit.Error {
			t.Errorf("%s: %s: %s", f.File, f.Rule, f.What)
		}
	}
	if r.Executed < 15 {
		t.Errorf("%d programs were run", r.Executed)
	}
	if len(r.Floor) == 0 {
		t.Error("no symbol versions were seen")
	}
}

// sameCode compiles an example for gfx942 with the clang of both bundles.
func sameCode(t *testing.T, project, arm, native string) {
	clang := "lib/llvm/bin/clang++"
	version := func(runner []string, dir string) string {
		out := tool(t, t.TempDir(), nothing(), append(slices.Clone(runner), filepath.Join(dir, clang), "--version")...)
		first, _, _ := strings.Cut(out, "\n")
		return first
	}
	here, there := version(nil, native), version(emulator(), arm)
	if release(here) != release(there) {
		t.Fatalf("this machine's compiler is %q, that of linux-arm64 %q: only equal releases make equal code: install clang, lld and llvm of the second's", here, there)
	}
	flags := []string{"-x", "hip", "--offload-device-only", "--no-gpu-bundle-output", "-O3", "-fuse-cuid=none",
		"--offload-arch=gfx942", filepath.Join(project, "examples", "saxpy", "saxpy.hip"), "-o", "saxpy.co"}
	compiled := func(runner []string, dir string) []byte {
		work := t.TempDir()
		drive(t, work, runner, append([]string{filepath.Join(dir, clang)}, flags...))
		if here != there {
			// The same release from two suites names itself differently.
			tool(t, work, nothing(), filepath.Join(native, "lib/llvm/bin/llvm-objcopy"), "--remove-section=.comment", "saxpy.co")
		}
		data, err := os.ReadFile(filepath.Join(work, "saxpy.co"))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	x86, arm64 := compiled(nil, native), compiled(emulator(), arm)
	if !bytes.Equal(x86, arm64) {
		t.Errorf("the code objects of %d and %d bytes differ", len(x86), len(arm64))
	}
	if len(x86) < 4096 {
		t.Errorf("a code object of %d bytes", len(x86))
	}
}

// release is the number in the first line of clang --version.
func release(banner string) string {
	_, after, _ := strings.Cut(banner, "clang version ")
	number, _, _ := strings.Cut(after, " ")
	return number
}

// drive runs a driver's command as the driver would: it is asked what it would
// start, and each of these is started through the runner.
func drive(t *testing.T, dir string, runner, argv []string) {
	t.Helper()
	if len(runner) == 0 {
		tool(t, dir, nothing(), argv...)
		return
	}
	out := tool(t, dir, nothing(), slices.Concat(runner, argv, []string{"-###"})...)
	started := 0
	for line := range strings.Lines(out) {
		if command := quoted(line); len(command) > 0 {
			tool(t, dir, nothing(), append(slices.Clone(runner), command...)...)
			started++
		}
	}
	if started != 2 {
		t.Fatalf("the driver would start %d programs, want the compiler and the linker:\n%s", started, out)
	}
}

// quoted reads a line of -###: arguments in quotes, in which a backslash stands
// before a quote, a dollar sign and itself (llvm::sys::printArg).
func quoted(line string) (argv []string) {
	if !strings.HasPrefix(line, ` "`) {
		return nil
	}
	var one strings.Builder
	inside, escaped := false, false
	for _, c := range strings.TrimSpace(line) {
		switch {
		case escaped:
			one.WriteRune(c)
			escaped = false
		case c == '\\':
			escaped = true
		case c == '"' && inside:
			argv = append(argv, one.String())
			one.Reset()
			inside = false
		case c == '"':
			inside = true
		case inside:
			one.WriteRune(c)
		}
	}
	return argv
}
