//go:build e2e

package e2e

import (
	"bytes"
	"debug/macho"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// order checks where a link for a Mac looks for libamdhip64: in the user's folders,
// in their order, then in the prefix that hipcc lies in; and in no folder that
// nobody has named.
func (m *mac) order(t *testing.T) {
	dir, _, env := m.folder(t)
	link := slices.DeleteFunc(m.standIns(t, dir, env), func(arg string) bool { return strings.HasPrefix(arg, "-L") })
	tool(t, dir, env, m.hipcc("-c", "kernel.hip", "second.hip")...)
	// linked says which library a program is linked with.
	linked := func(bundle string, env []string, args ...string) string {
		t.Helper()
		program := filepath.Join(t.TempDir(), "program")
		argv := (&mac{bundle: bundle}).hipcc(slices.Concat(link, args, []string{"kernel.o", "second.o", "-o", program})...)
		tool(t, dir, env, argv...)
		f, err := macho.NewFile(bytes.NewReader(read(t, filepath.Dir(program), filepath.Base(program))))
		if err != nil {
			t.Fatal(err)
		}
		libs, err := f.ImportedLibraries()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(slices.DeleteFunc(libs, func(l string) bool { return !strings.Contains(l, "hip") }), " ")
	}
	// A prefix with a runtime for the Mac, a bundle for a Mac has one, and the same
	// with Linux's alone.
	ours, theirs := m.prefix(t), m.prefix(t)
	textRuntime(t, filepath.Join(ours, "lib"), "@rpath/hip-of-the-bundle.dylib")
	if err := os.WriteFile(filepath.Join(theirs, "lib", "libamdhip64.so"), []byte("\x7fELF, which no linker for a Mac reads"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"first", "second", "lib"} {
		textRuntime(t, filepath.Join(dir, name), "@rpath/hip-of-"+name+".dylib")
	}
	// What env.sh of a bundle says.
	sourced := append(slices.Clone(env), "HIP_PATH="+ours, "ROCM_PATH="+ours)
	for _, c := range []struct {
		name, bundle string
		env          []string
		args         []string
		want         string
	}{
		{"its own", ours, env, nil, "@rpath/hip-of-the-bundle.dylib"},
		{"the user's", ours, env, []string{"-Lsecond", "-Lfirst"}, "@rpath/hip-of-second.dylib"},
		{"the user's, named", ours, env, []string{"-Lfirst", "-lamdhip64"}, "@rpath/hip-of-first.dylib"},
		{"the user's, of the environment", ours, append(slices.Clone(env), "HIPCC_LINK_FLAGS_APPEND=-Lfirst"), nil, "@rpath/hip-of-first.dylib"},
		{"the user's, of a bundle for Linux", theirs, env, []string{"-Lfirst"}, "@rpath/hip-of-first.dylib"},
		{"the user's, with env.sh", ours, sourced, []string{"-Lfirst"}, "@rpath/hip-of-first.dylib"},
		{"no lib of the working folder", ours, sourced, nil, "@rpath/hip-of-the-bundle.dylib"},
		{"HIP_LIB_PATH", ours, append(slices.Clone(env), "HIP_LIB_PATH=second"), nil, "@rpath/hip-of-second.dylib"},
	} {
		if got := linked(c.bundle, c.env, c.args...); got != c.want {
			t.Errorf("%s: the program is linked with %q, want %q", c.name, got, c.want)
		}
	}
	out := fails(t, dir, env, (&mac{bundle: theirs}).hipcc(append(link, "kernel.o", "second.o", "-o", "none")...)...)
	if !strings.Contains(out, "amdhip64") || strings.Contains(out, "libamdhip64.so") {
		t.Errorf("without a library for the Mac hipcc says\n%s", out)
	}
}

// prefix is a bundle with a lib of its own: hipcc itself is copied, because it goes
// by the folder that it really lies in.
func (m *mac) prefix(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range []string{"bin", "lib"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"lib/llvm", "include", "amdgcn", "share"} {
		if err := os.Symlink(filepath.Join(m.bundle, filepath.FromSlash(name)), filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "bin", "hipcc"), read(t, filepath.Join(m.bundle, "bin"), "hipcc"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// textRuntime writes a text stub of a HIP runtime of some name into a folder.
func textRuntime(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`--- !tapi-tbd
tbd-version: 4
targets: [ arm64-macos ]
install-name: '%s'
exports:
  - targets: [ arm64-macos ]
    symbols: [ %s ]
...
`, name, "_"+strings.Join(runtimeNames, ", _"))
	if err := os.WriteFile(filepath.Join(dir, "libamdhip64.tbd"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// runtimeNames are what the fixtures call (testdata/darwin/amdhip64.c).
var runtimeNames = []string{"__hipRegisterFatBinary", "__hipRegisterFunction", "__hipRegisterVar", "__hipRegisterManagedVar", "__hipUnregisterFatBinary",
	"__hipPushCallConfiguration", "__hipPopCallConfiguration", "hipLaunchKernel"}
