//go:build e2e && linux

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// Programs that nobody wrote for the stubs, out of two public collections: every one
// that is in them is found, and either used or named in a table with the reason
// (programs_list_test.go).

// examplesEnv names a folder with checkouts of the collections (docs/stubs.md).
// Without it no test looks for them.
const examplesEnv = "STONEMASON_HIP_EXAMPLES"

// program is compiled as it is.
type program struct {
	name      string   // its folder below that of the collections, or a source
	dir       string   // the folder
	sources   []string // of C++ or HIP, below dir
	includes  []string // below dir
	libraries []string // beside libamdhip64
	flags     []string // for sources and link
	// host marks sources without device code, which any C++ compiler compiles.
	host bool
}

// outcome is what came of a program.
type outcome struct {
	linux, mac string // "yes", or which step fails
	runs       string // how it ended
}

// programs compiles and links all programs of the collections, for Linux and for a
// Mac, and runs those for Linux: each ends by itself and says that there is no
// device. The log has a line of a table about each, and sums.
func (s *stubs) programs(t *testing.T, collections string) {
	all := findPrograms(t, collections)
	sums := map[string]int{}
	var lines []string
	for _, p := range all {
		if missing := slices.DeleteFunc(slices.Clone(p.libraries), s.hasStub); len(missing) > 0 {
			t.Errorf("%s is linked with lib%s, which no component makes a stub of", p.name, strings.Join(missing, ", lib"))
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			o := s.program(t, p)
			lines = append(lines, fmt.Sprintf("| %s | %s | %s | %s |", p.name, o.linux, o.runs, o.mac))
			for column, word := range map[string]string{"Linux": o.linux, "Mac": o.mac, "runs": o.runs} {
				sums[column+": "+word]++
			}
		})
	}
	t.Logf("| program | Linux | run | Mac |\n%s", strings.Join(lines, "\n"))
	for _, word := range slices.Sorted(maps.Keys(sums)) {
		t.Logf("%d of %d: %s", sums[word], len(lines), word)
	}
}

func (s *stubs) hasStub(library string) bool {
	_, err := os.Stat(filepath.Join(s.linux, "lib", "lib"+library+".so"))
	return err == nil
}

// findPrograms returns the programs of the collections in the order of their names.
// A source that belongs to none, and a table's row without a source, fail the test.
func findPrograms(t *testing.T, collections string) []program {
	t.Helper()
	found := map[string]*program{}
	used := map[string]bool{}
	for _, collection := range []string{"rocm-examples", "HIP-Examples"} {
		err := filepath.WalkDir(filepath.Join(collections, collection), func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !slices.Contains([]string{".hip", ".cpp", ".cu"}, filepath.Ext(file)) {
				return err
			}
			name, err := filepath.Rel(collections, file)
			if err != nil {
				return err
			}
			name = filepath.ToSlash(name)
			if row := leftOutAs(name); row != "" {
				used[row] = true
				return nil
			}
			p := programOf(name)
			if p == nil {
				t.Errorf("%s belongs to no program and is not left out", name)
				return nil
			}
			if q := found[p.name]; q != nil {
				q.sources, q.host = append(q.sources, p.sources...), q.host && p.host
			} else {
				found[p.name] = p
			}
			return nil
		})
		if err != nil {
			t.Fatalf("%v: $%s names no folder with the collections", err, examplesEnv)
		}
	}
	for row := range leftOut {
		if !used[row] {
			t.Errorf("there is no %s to leave out", row)
		}
	}
	var all []program
	for _, name := range slices.Sorted(maps.Keys(found)) {
		p := found[name]
		p.dir = filepath.Join(collections, filepath.FromSlash(p.dir))
		all = append(all, *p)
	}
	for _, table := range []map[string]string{doesNotCompile, notForMac} {
		for name := range table {
			if found[name] == nil {
				t.Errorf("there is no program %s", name)
			}
		}
	}
	return all
}

// program compiles, links and runs one.
func (s *stubs) program(t *testing.T, p program) (o outcome) {
	out := t.TempDir()
	besides(t, p.dir, out)
	o.runs, o.mac = "-", "-"
	lib := filepath.Join(s.linux, "lib")
	step, said := s.build(t, p, filepath.Join(out, "linux"), lib, nil, []string{"-Wl,-rpath," + lib})
	if want, ok := doesNotCompile[p.name]; ok {
		if step != "compile" || !strings.Contains(said, want) {
			t.Errorf("it is said not to compile (%s), and %q fails:\n%s", want, step, said)
		}
		o.linux = "does not compile: " + want
		return o
	}
	if o.linux = "yes"; step != "" {
		t.Errorf("%s fails:\n%s", step, said)
		o.linux = "no " + step
		return o
	}
	o.runs = runs(t, filepath.Join(out, "linux"), p.dir)

	target := []string{"--target=arm64-apple-macos" + platform.MacOSFloor, "-isysroot", s.sdk}
	step, said = s.build(t, p, filepath.Join(out, "mac"), filepath.Join(s.mac, "lib"), target, target)
	if want, ok := notForMac[p.name]; ok {
		if step == "" || !strings.Contains(said, want) {
			t.Errorf("it is said not to be for a Mac (%s), and %q fails:\n%s", want, step, said)
		}
		o.mac = "no " + step + ": " + want
		return o
	}
	if o.mac = "yes"; step != "" {
		t.Errorf("for a Mac %s fails:\n%s", step, said)
		o.mac = "no " + step
		return o
	}
	if used := dylibs(t, filepath.Join(out, "mac")); !slices.Contains(used, "@rpath/libamdhip64.7.dylib") {
		t.Errorf("for a Mac it uses %q", used)
	}
	// Some of HIP's sources have no kernel.
	if _, err := codeobj.FatBinary(read(t, out, "linux")); err == nil {
		if _, err := codeobj.FatBinary(read(t, out, "mac")); err != nil {
			t.Errorf("for a Mac: %v", err)
		}
	}
	return o
}

// besides links what lies beside a program's sources, such as an image that it reads,
// into the folder where it is run.
func besides(t *testing.T, dir, out string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.Symlink(filepath.Join(dir, e.Name()), filepath.Join(out, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
}

// build compiles and links a program with the stubs in lib. It returns the step that
// fails and what was said there, or "".
func (s *stubs) build(t *testing.T, p program, bin, lib string, compile, link []string) (failed, said string) {
	t.Helper()
	run := func(argv []string) bool {
		cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		cmd.Dir = p.dir
		out, err := cmd.CombinedOutput()
		said = fmt.Sprintf("%s: %v\n%s", strings.Join(argv, " "), err, out)
		return err == nil
	}
	hipcc := []string{filepath.Join(s.linux, "bin", "hipcc"), "--offload-arch=gfx90a"}
	if p.host {
		hipcc = []string{filepath.Join(s.linux, "lib", "llvm", "bin", "clang++"), "-D__HIP_PLATFORM_AMD__", "-isystem", filepath.Join(filepath.Dir(lib), "include")}
	}
	var objects []string
	for i, source := range p.sources {
		object := fmt.Sprintf("%s-%d.o", bin, i)
		argv := slices.Concat(hipcc, compile, p.flags, []string{"-w", "-O1", "-c", source, "-o", object})
		for _, include := range p.includes {
			argv = append(argv, "-I", include)
		}
		if !run(argv) {
			return "compile", said
		}
		objects = append(objects, object)
	}
	argv := slices.Concat([]string{filepath.Join(s.linux, "bin", "hipcc")}, link, objects, []string{"-L" + lib})
	if slices.Contains(p.flags, "-fgpu-rdc") {
		argv = append(argv, "-fgpu-rdc", "--offload-arch=gfx90a")
	}
	for _, l := range p.libraries {
		argv = append(argv, "-l"+l)
	}
	if !run(append(argv, "-o", bin)) {
		return "link", said
	}
	return "", ""
}

// runs runs a program where there is no device, and returns how it ended.
func runs(t *testing.T, bin, dir string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin)
	cmd.Dir = dir
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	text := said.String()
	own, stubs := "", false // what it says itself
	for line := range strings.Lines(text) {
		if strings.Contains(line, "this is a link stub, no device can be reached") {
			stubs = true
		} else {
			own += line
		}
	}
	words := "says that there is no device"
	switch {
	case strings.Contains(own, "no ROCm-capable device is detected"), strings.Contains(own, "hipErrorNoDevice"):
	case stubs:
		words = "the stub says it"
	default:
		t.Errorf("it does not say that there is no device:\n%s", text)
	}
	var ended *exec.ExitError
	switch {
	case err == nil:
		return words + ", exit 0"
	case !errors.As(err, &ended):
		t.Error(err)
		return "does not start"
	}
	status := ended.Sys().(syscall.WaitStatus)
	switch {
	case !status.Signaled():
		return words + ", exit not 0"
	// What a program asserts of a call, or throws and nobody catches, it ends by itself,
	// as it would anywhere.
	case status.Signal() == syscall.SIGABRT && strings.Contains(own, "Assertion `"):
		return words + ", ended by its own assertion"
	case status.Signal() == syscall.SIGABRT && strings.Contains(own, "terminate called after throwing an instance of"):
		return words + ", ended by its own exception"
	}
	t.Errorf("it is ended by %v:\n%s", status.Signal(), text)
	return status.Signal().String()
}
