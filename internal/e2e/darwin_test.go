//go:build e2e

package e2e

import (
	"bytes"
	"debug/macho"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
	"github.com/stonemason-hip/stonemason/toolchain/gpu"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// hostMac compiles HIP for a Mac without an SDK: the program declares what it
// needs (testdata/darwin).
var hostMac = []string{"--target=arm64-apple-macos14.0", "--offload-arch=gfx942", "-nogpuinc", "-nogpulib"}

// TestDarwinHost compiles and links HIP programs for a macOS host with the
// bundle of this machine, whose clang may or may not know how. Two variables of
// the environment widen it: STONEMASON_CLANG names a clang that does know, whose
// objects must be those of hipcc byte for byte, and STONEMASON_MACOS_SDK an SDK,
// for which the examples are compiled.
func TestDarwinHost(t *testing.T) {
	project, therock := product(t)
	t.Log(tool(t, project, os.Environ(), therock, "build"))
	m := &mac{bundle: filepath.Join(project, "dist", platform.Native().String()), fixtures: filepath.Join(project, "internal", "e2e", "testdata", "darwin")}

	t.Run("object", m.object)
	t.Run("program", m.program)
	t.Run("order", m.order)
	t.Run("dependencies", m.dependencies)
	t.Run("relocatable device code", m.relocatable)
	t.Run("broken source", m.broken)
	t.Run("ended by a signal", m.ended)
	if clang := os.Getenv("STONEMASON_CLANG"); clang != "" {
		t.Run("STONEMASON_CLANG", func(t *testing.T) { m.native(t, clang) })
	}
	if sdk := os.Getenv("STONEMASON_MACOS_SDK"); sdk != "" {
		t.Run("STONEMASON_MACOS_SDK", func(t *testing.T) { m.examples(t, sdk, filepath.Join(project, "examples")) })
	}
}

type mac struct{ bundle, fixtures string }

// folder returns a new folder with the programs, and an environment that keeps
// temporary files in another one, whose name is returned too.
func (m *mac) folder(t *testing.T) (dir, temp string, env []string) {
	t.Helper()
	dir, temp = t.TempDir(), filepath.Join(t.TempDir(), "te mp")
	if err := os.CopyFS(dir, os.DirFS(m.fixtures)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(temp, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir, temp, append(nothing(), "TMPDIR="+temp)
}

// hipcc is a command line of the bundle's hipcc for a Mac.
func (m *mac) hipcc(args ...string) []string {
	return slices.Concat([]string{filepath.Join(m.bundle, "bin", "hipcc")}, hostMac, args)
}

// empty fails the test if dir holds anything.
func empty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		t.Errorf("left behind: %s", filepath.Join(dir, e.Name()))
	}
}

// object compiles one source in several ways and reads all of it back.
func (m *mac) object(t *testing.T) {
	dir, temp, env := m.folder(t)
	for _, flags := range [][]string{{"-O0"}, {"-O2"}, {"-O2", "-g"}, {"-O2", "-save-temps"}} {
		name := strings.Join(flags, "")
		tool(t, dir, env, m.hipcc(append(flags, "-cuid=1", "-c", "kernel.hip", "-o", name+".o")...)...)
		data := read(t, dir, name+".o")
		entries := macFatBinary(t, data, "scale")
		// With -g the driver wants a dSYM of what has been linked for a GPU.
		if !slices.Contains(flags, "-g") {
			tool(t, dir, env, m.hipcc(append(flags, "-cuid=1", "--offload-device-only", "--no-gpu-bundle-output", "-c", "kernel.hip", "-o", name+".co")...)...)
			if want := read(t, dir, name+".co"); !bytes.Equal(entries[0], want) {
				t.Errorf("%s: %d bytes of device code in the object, %d when compiled for the device alone, and not the same", name, len(entries[0]), len(want))
			}
		}
		checkWrapper(t, data)
		if words := "section \".hip_fatbin\" section \".hipFatBinSegment\""; !bytes.Contains(data, []byte(words)) {
			t.Errorf("%s: the program's own string %q is changed", name, words)
		}
	}
	// Words that a shell would read otherwise, through two command lines.
	note := `$HOME 'and' \"more\" \\ `
	tool(t, dir, env, m.hipcc("-c", `-DNOTE="`+note+`"`, "kernel.hip", "-o", "note.o")...)
	if want := `$HOME 'and' "more" \ `; !bytes.Contains(read(t, dir, "note.o"), []byte(want)) {
		t.Errorf("no string %q in the object", want)
	}
	// No pass is run before the names are set, so that none is run twice.
	for _, line := range strings.Split(tool(t, dir, env, m.hipcc("-v", "-O2", "-c", "kernel.hip", "-o", "v.o")...), "\n") {
		if strings.Contains(line, "'-emit-llvm'") != strings.Contains(line, "'-disable-llvm-passes'") {
			t.Errorf("a job to LLVM assembly with passes: %s", line)
		}
	}
	empty(t, temp)
}

// checkWrapper checks what __hipRegisterFatBinary is given: magic, version and,
// by a relocation, the fat binary (CGCUDANV.cpp of clang).
func checkWrapper(t *testing.T, data []byte) {
	t.Helper()
	f, err := macho.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if f.Type != macho.TypeObj || f.Cpu != macho.CpuArm64 {
		t.Errorf("type %v for %v, want an object for arm64", f.Type, f.Cpu)
	}
	found := 0
	for _, s := range f.Sections {
		if s.Seg != "__HIP" {
			continue
		}
		found++
		b, err := s.Data()
		if err != nil {
			t.Fatal(err)
		}
		switch s.Name {
		case "__hip_fatbin":
			if s.Align != 12 {
				t.Errorf("the fat binary is aligned to %d bytes, want 4096", 1<<s.Align)
			}
		case "__fatbin":
			if len(b) != 24 || binary.LittleEndian.Uint32(b) != 0x48495046 || binary.LittleEndian.Uint32(b[4:]) != 1 {
				t.Errorf("wrapper % x, want 24 bytes that begin with HIPF and version 1", b)
			}
			if len(s.Relocs) != 1 || s.Relocs[0].Addr != 8 {
				t.Errorf("relocations of the wrapper: %v, want one at 8", s.Relocs)
			}
		default:
			t.Errorf("section __HIP,%s", s.Name)
		}
	}
	if found != 2 {
		t.Errorf("%d sections in __HIP, want 2", found)
	}
}

// macFatBinary returns the code objects in a Mach-O file, and fails the test
// unless they are for gfx942 and have one kernel each, with these names.
func macFatBinary(t *testing.T, data []byte, kernels ...string) [][]byte {
	t.Helper()
	table, err := gpu.Load()
	if err != nil {
		t.Fatal(err)
	}
	section, err := codeobj.FatBinary(data)
	if err != nil {
		t.Fatal(err)
	}
	bundles, err := codeobj.ParseBundles(section, codeobj.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	var objects [][]byte
	for _, b := range bundles {
		for _, e := range b.Entries {
			if !e.Device() {
				continue
			}
			o, err := codeobj.Parse(e.Data)
			if err != nil {
				t.Fatalf("%s: %v", e.ID, err)
			}
			if target, err := o.Target(table); err != nil || target.Processor.Name != "gfx942" {
				t.Errorf("%s is for %v, %v", e.ID, target, err)
			}
			for _, k := range o.Kernels {
				names = append(names, k.Kernel.Name)
			}
			objects = append(objects, e.Data)
		}
	}
	if !slices.Equal(names, kernels) {
		t.Fatalf("kernels %q, want %q", names, kernels)
	}
	return objects
}

// standIns makes an SDK of one library and a HIP runtime that does nothing, and
// returns the arguments to link with them.
func (m *mac) standIns(t *testing.T, dir string, env []string) []string {
	t.Helper()
	sdk := filepath.Join(dir, "sdk")
	if err := os.MkdirAll(filepath.Join(sdk, "usr", "lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "libSystem.tbd"), filepath.Join(sdk, "usr", "lib", "libSystem.tbd")); err != nil {
		t.Fatal(err)
	}
	clang := filepath.Join(m.bundle, "lib", "llvm", "bin", "clang")
	tool(t, dir, env, clang, "--target=arm64-apple-macos14.0", "-isysroot", sdk, "-fuse-ld=lld", "-dynamiclib",
		"-install_name", "@rpath/libamdhip64.dylib", "amdhip64.c", "-o", "libamdhip64.dylib")
	return []string{"-isysroot", sdk, "-nostdlib++", "-L.", "-Wl,-rpath,@loader_path"}
}

// program links two sources, compiled in the same run, with the bundle's lld
// against a library that stands in for the HIP runtime.
func (m *mac) program(t *testing.T) {
	dir, temp, env := m.folder(t)
	link := m.standIns(t, dir, env)
	tool(t, dir, env, m.hipcc(append(link, "kernel.hip", "second.hip", "-o", "program")...)...)
	empty(t, temp)
	data := read(t, dir, "program")
	macFatBinary(t, data, "scale", "shift")
	f, err := macho.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if libs, err := f.ImportedLibraries(); err != nil || !slices.Contains(libs, "@rpath/libamdhip64.dylib") {
		t.Errorf("the program is linked with %v, %v", libs, err)
	}
	// Of objects alone hipcc cannot see that they are HIP's: the same library.
	tool(t, dir, env, m.hipcc("-c", "kernel.hip", "second.hip")...)
	tool(t, dir, env, m.hipcc(append(link, "kernel.o", "second.o", "-o", "again")...)...)
	macFatBinary(t, read(t, dir, "again"), "scale", "shift")
}

func (m *mac) dependencies(t *testing.T) {
	dir, _, env := m.folder(t)
	tool(t, dir, env, m.hipcc("-c", "-MD", "-MF", "deps", "second.hip", "-o", "out.o")...)
	if got, want := strings.Join(strings.Fields(string(read(t, dir, "deps"))), " "), "out.o: second.hip kernel.hip"; got != want {
		t.Errorf("dependencies %q, want %q", got, want)
	}
}

// relocatable checks that -fgpu-rdc is refused in one line: Mach-O has no place
// for what has to be linked later.
func (m *mac) relocatable(t *testing.T) {
	dir, temp, env := m.folder(t)
	out := fails(t, dir, env, m.hipcc("-c", "-fgpu-rdc", "kernel.hip", "-o", "out.o")...)
	line, rest, _ := strings.Cut(out, "\n")
	if !strings.Contains(line, "error: ") || !strings.Contains(line, "-fgpu-rdc") || rest != "" && !strings.HasPrefix(rest, "failed to execute:") {
		t.Errorf("hipcc -c -fgpu-rdc says\n%s", out)
	}
	if _, err := os.Stat(filepath.Join(dir, "out.o")); err == nil {
		t.Error("there is an object")
	}
	empty(t, temp)
}

func (m *mac) broken(t *testing.T) {
	dir, temp, env := m.folder(t)
	// Broken for the device, which is compiled first, and for the host alone.
	for _, text := range []string{"int f( {\n", "#ifndef __HIP_DEVICE_COMPILE__\nint f( {\n#endif\n"} {
		if err := os.WriteFile(filepath.Join(dir, "broken.hip"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if out := fails(t, dir, env, m.hipcc("-c", "broken.hip", "-o", "out.o")...); !strings.Contains(out, "broken.hip:") {
			t.Errorf("%q: hipcc says\n%s", text, out)
		}
		if _, err := os.Stat(filepath.Join(dir, "out.o")); err == nil {
			t.Errorf("%q: there is an object", text)
		}
	}
	empty(t, temp)
}

// ended sends hipcc a signal while a compiler reads a header that does not
// come. The header is a pipe: opening it for writing waits for the compiler,
// and it has no reader any more when the compiler is gone.
func (m *mac) ended(t *testing.T) {
	dir, temp, env := m.folder(t)
	pipe := filepath.Join(dir, "header.h")
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	source := "#ifndef __HIP_DEVICE_COMPILE__\n#include \"header.h\"\n#endif\n#include \"kernel.hip\"\n"
	if err := os.WriteFile(filepath.Join(dir, "waits.hip"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	argv := m.hipcc("-c", "waits.hip", "-o", "out.o")
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var ended *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &ended) {
		t.Fatalf("hipcc ended with %v", err)
	}
	if s := ended.Sys().(syscall.WaitStatus); !s.Signaled() || s.Signal() != syscall.SIGTERM {
		t.Errorf("hipcc ended with %v, want SIGTERM", ended)
	}
	if _, err := w.WriteString("\n"); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("the compiler still reads: %v", err)
	}
	empty(t, temp)
}

// native compiles with a clang that makes such host code by itself. Its objects
// are those that hipcc makes of the bundle's clang, if both are of one version.
func (m *mac) native(t *testing.T, clang string) {
	dir, temp, env := m.folder(t)
	for _, level := range []string{"-O0", "-O2"} {
		args := slices.Concat(hostMac, []string{level, "-cuid=1", "-c", "-x", "hip", "kernel.hip", "-o", "direct.o"})
		tool(t, dir, env, append([]string{clang}, args...)...)
		data := read(t, dir, "direct.o")
		macFatBinary(t, data, "scale")
		checkWrapper(t, data)
		tool(t, dir, env, m.hipcc(level, "-cuid=1", "-c", "kernel.hip", "-o", "hipcc.o")...)
		version := func(c string) string {
			v, _, _ := strings.Cut(tool(t, dir, env, c, "--version"), "\n")
			return v
		}
		if version(clang) == version(filepath.Join(m.bundle, "lib", "llvm", "bin", "clang")) && !bytes.Equal(data, read(t, dir, "hipcc.o")) {
			t.Errorf("%s: hipcc makes another object than %s", level, clang)
		}
	}
	// A header without a guard is read once in each pass.
	if err := os.WriteFile(filepath.Join(dir, "once.h"), []byte("#ifdef SEEN\n#error twice\n#endif\n#define SEEN\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	tool(t, dir, env, slices.Concat([]string{clang}, hostMac, []string{"-include", "once.h", "-c", "-x", "hip", "kernel.hip", "-o", "once.o"})...)
	for _, more := range [][]string{{"-c"}, {"-c", "--offload-new-driver"}} {
		argv := slices.Concat([]string{clang}, hostMac, []string{"-fgpu-rdc", "-x", "hip", "kernel.hip", "-o", "rdc.o"}, more)
		if out := fails(t, dir, env, argv...); !strings.Contains(out, "unsupported option") || strings.Count(out, "\n") != 1 {
			t.Errorf("%s says\n%s", strings.Join(argv, " "), out)
		}
	}
	// In one run device code of several sources is linked: one fat binary, and
	// one handle, for all of them. In several partitions each would have a
	// metadata note of its own.
	link := append(m.standIns(t, dir, env), "-fuse-ld=lld", "-fgpu-rdc", "-flto-partitions=1", "-x", "hip", "kernel.hip", "second.hip", "-o", "program")
	tool(t, dir, env, slices.Concat([]string{clang}, hostMac, link)...)
	data := read(t, dir, "program")
	macFatBinary(t, data, "scale", "shift")
	f, err := macho.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]uint64{}
	for _, symbol := range f.Symtab.Syms {
		for _, name := range []string{"___hip_fatbin_", "___hip_gpubin_handle_"} {
			if !strings.HasPrefix(symbol.Name, name) || strings.HasPrefix(symbol.Name, "___hip_fatbin_wrapper") {
				continue
			}
			if before, ok := at[name]; ok && before != symbol.Value {
				t.Errorf("%s is at %#x, another one at %#x", symbol.Name, symbol.Value, before)
			}
			at[name] = symbol.Value
		}
	}
	if len(at) != 2 {
		t.Errorf("the program has symbols of %v, want a fat binary and a handle", at)
	}
	empty(t, temp)
}

// examples compiles every example against a real SDK.
func (m *mac) examples(t *testing.T, sdk, examples string) {
	sources, err := filepath.Glob(filepath.Join(examples, "*", "*.hip"))
	if err != nil || len(sources) == 0 {
		t.Fatalf("no examples in %s: %v", examples, err)
	}
	dir, temp, env := m.folder(t)
	for _, source := range sources {
		tool(t, dir, env, filepath.Join(m.bundle, "bin", "hipcc"), "--target=arm64-apple-macos14.0", "-isysroot", sdk, "--offload-arch=gfx942", "-c", source, "-o", "example.o")
		data := read(t, dir, "example.o")
		checkWrapper(t, data)
		if section, err := codeobj.FatBinary(data); err != nil {
			t.Errorf("%s: %v", source, err)
		} else if bundles, err := codeobj.ParseBundles(section, codeobj.Limits{}); err != nil || len(bundles) != 1 {
			t.Errorf("%s: %d bundles, %v", source, len(bundles), err)
		}
	}
	empty(t, temp)
}

// fails runs a program that must fail and returns what it says.
func fails(t *testing.T, dir string, env []string, argv ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("%s: %v, want it to fail\n%s", strings.Join(argv, " "), err, out)
	}
	return string(out)
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
