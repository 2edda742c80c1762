package audit

import (
	"context"
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// bundle is a small good bundle, and what it takes to spoil it.
type bundle struct {
	t *testing.T
	// dir holds the bundle; spare holds parts for mutations.
	dir, spare string
}

// good builds, with the machine's own compiler, a program that needs a library
// that needs another one.
func good(t *testing.T) bundle {
	t.Helper()
	b := bundle{t: t, dir: filepath.Join(t.TempDir(), "bundle"), spare: t.TempDir()}
	b.cc("lib/libdeep.so.1.0", "int deep(void){return 0;}", "-shared", "-fPIC", "-Wl,-soname,libdeep.so.1")
	b.link("libdeep.so.1.0", "lib/libdeep.so.1")
	b.cc("lib/libgreet.so.1.0", "int deep(void); int greet(void){return deep();}", "-shared", "-fPIC", "-Wl,-soname,libgreet.so.1",
		b.path("lib/libdeep.so.1"), "-Wl,--enable-new-dtags,-rpath,$ORIGIN")
	b.link("libgreet.so.1.0", "lib/libgreet.so.1")
	b.hello("-Wl,--enable-new-dtags,-rpath,$ORIGIN/../lib")
	b.link("hello", "bin/hi")
	b.write("bin/tool", 0o755, "#!/bin/sh\necho tool 1.0\n")
	b.write("bin/later", 0o755, "#!/bin/sh\n[ \"$1\" = -h ] || exit 2\n")
	b.write("lib/cmake/greet/greetConfig.cmake", 0o644, "# made for /usr/lib/llvm-22\nset(greet_LIB \"${CMAKE_CURRENT_LIST_DIR}/../../libgreet.so.1\")\n")
	b.write("share/doc/readme", 0o644, "#!/opt/none is no interpreter of a file that does not run\n")
	// A code object, as far as its header goes.
	object := []byte(b.read("lib/libdeep.so.1.0"))
	binary.LittleEndian.PutUint16(object[18:], uint16(224))
	b.write("amdgcn/kernel.hsaco", 0o644, string(object))
	b.cc("lib/crt.o", "int x;", "-c")
	return b
}

func (b bundle) hello(args ...string) {
	b.cc("bin/hello", "int greet(void); int main(void){return greet();}",
		append([]string{b.path("lib/libgreet.so.1"), "-Wl,-rpath-link," + b.path("lib")}, args...)...)
}

// copied is the bundle at another place, with its own folder.
func (b bundle) copied(t *testing.T) bundle {
	t.Helper()
	c := bundle{t: t, dir: filepath.Join(t.TempDir(), "moved"), spare: b.spare}
	if said, err := exec.Command("cp", "-a", b.dir, c.dir).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v\n%s", err, said)
	}
	return c
}

func (b bundle) path(name string) string { return filepath.Join(b.dir, name) }

func (b bundle) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b bundle) write(name string, mode os.FileMode, text string) {
	b.t.Helper()
	b.must(os.MkdirAll(filepath.Dir(b.path(name)), 0o755))
	b.must(os.WriteFile(b.path(name), []byte(text), 0o600))
	b.must(os.Chmod(b.path(name), mode))
}

func (b bundle) read(name string) string {
	b.t.Helper()
	text, err := os.ReadFile(b.path(name))
	b.must(err)
	return string(text)
}

func (b bundle) link(target, name string) {
	b.t.Helper()
	b.must(os.MkdirAll(filepath.Dir(b.path(name)), 0o755))
	b.must(os.Symlink(target, b.path(name)))
}

func (b bundle) remove(name string) {
	b.t.Helper()
	b.must(os.Remove(b.path(name)))
}

func (b bundle) chmod(name string, mode os.FileMode) {
	b.t.Helper()
	b.must(os.Chmod(b.path(name), mode))
}

// cc compiles from standard input, so that no source's name is compiled in.
func (b bundle) cc(name, source string, args ...string) {
	b.t.Helper()
	b.must(os.MkdirAll(filepath.Dir(b.path(name)), 0o755))
	cmd := exec.Command("gcc", append([]string{"-x", "c", "-", "-x", "none", "-o", b.path(name)}, args...)...)
	cmd.Stdin = strings.NewReader(source)
	if said, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("gcc: %v\n%s", err, said)
	}
	b.must(os.Chmod(b.path(name), 0o755))
}

// machine writes another e_machine into an image.
func (b bundle) machine(name string, m elf.Machine) {
	b.t.Helper()
	image := []byte(b.read(name))
	binary.LittleEndian.PutUint16(image[18:], uint16(m))
	b.write(name, 0o755, string(image))
}

func (b bundle) patchelf(args ...string) {
	b.t.Helper()
	if said, err := exec.Command("patchelf", args...).CombinedOutput(); err != nil {
		b.t.Fatalf("patchelf: %v\n%s", err, said)
	}
}

// audit runs the audit as verify does.
func (b bundle) audit(change func(*Options)) *Report {
	b.t.Helper()
	o := Options{Platform: platform.Native(), BuildPaths: []string{"/tmp/some/build", "/store"}, Execute: true}
	if change != nil {
		change(&o)
	}
	r, err := Run(context.Background(), b.dir, o)
	b.must(err)
	return r
}
