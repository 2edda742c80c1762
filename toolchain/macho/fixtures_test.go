package macho

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

// stubTBD stands for libSystem: enough to link freestanding code.
const stubTBD = `--- !tapi-tbd
tbd-version:     4
targets:         [ arm64-macos, x86_64-macos ]
install-name:    '/usr/lib/libSystem.B.dylib'
exports:
  - targets:         [ arm64-macos, x86_64-macos ]
    symbols:         [ dyld_stub_binder, _puts, _malloc, _environ ]
...
`

// librarySource has something of everything that a reader looks at: weak and
// strong imports, data pointers into itself and elsewhere, a weak definition,
// zero-filled data.
const librarySource = `
extern int puts(const char *); extern char **environ;
__attribute__((weak_import)) extern void *malloc(unsigned long);
__attribute__((weak)) int weakdef(void) { return 3; }
int table[] = {1, 2}; int *inner = table; int (*outer)(const char *) = puts; char ***env = &environ;
static int zeros[400];
int hello(int x) { zeros[x] = x; if (malloc) malloc(3); return puts("hi") + weakdef() + zeros[x + 1]; }
int dispatch(int x) { switch (x) { case 0: return hello(1); case 1: return 7; case 2: return hello(3); case 3: return 12; case 4: return hello(9); } return x; }
`

const programSource = `extern int hello(int); int main(void) { return hello(2); }`

// link compiles source for arch and macOS 14 and links it with lld.
func link(t testing.TB, out, arch, source string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	src, obj, tbd := filepath.Join(dir, "source.c"), filepath.Join(dir, "source.o"), filepath.Join(dir, "libSystem.tbd")
	write(t, src, source)
	write(t, tbd, stubTBD)
	mkdir(t, filepath.Dir(out))
	llvmtest.Run(t, "clang", "--target="+arch+"-apple-macos14.0", "-ffreestanding", "-nostdinc", "-O1", "-g", "-c", src, "-o", obj)
	args := []string{"-arch", arch, "-platform_version", "macos", "14.0", "14.2", "-o", out, obj, tbd}
	llvmtest.Run(t, "ld64.lld", append(args, flags...)...)
	return out
}

// dylib links the library that most tests use, with room for edits.
func dylibAt(t testing.TB, out, arch, id string, flags ...string) string {
	t.Helper()
	return link(t, out, arch, librarySource, append([]string{"-dylib", "-install_name", id, "-compatibility_version", "1.0",
		"-current_version", "1.2.3", "-headerpad_max_install_names"}, flags...)...)
}

// program links a program against a dylib.
func programAt(t testing.TB, out, arch, library string, flags ...string) string {
	t.Helper()
	return link(t, out, arch, programSource, append([]string{library, "-headerpad_max_install_names"}, flags...)...)
}

// fat makes a universal file of thin ones.
func fat(t testing.TB, out string, thin ...string) string {
	t.Helper()
	llvmtest.Run(t, "llvm-lipo", append(append([]string{"-create"}, thin...), "-output", out)...)
	return out
}

// goProgram builds a program with Go's own linker.
func goProgram(t testing.TB, arch string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module hello\ngo 1.21\n")
	write(t, filepath.Join(dir, "main.go"), "package main\nfunc main() { println(\"hello\") }\n")
	out := filepath.Join(dir, "hello")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", out, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS=darwin", "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, said)
	}
	return out
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t testing.TB, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func contents(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func open(t testing.TB, path string) *File {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// good fails unless every signature of the file is right and LLVM reads it too.
func good(t testing.TB, path string) *File {
	t.Helper()
	f := open(t, path)
	problems, err := f.Verify()
	if err != nil || len(problems) > 0 {
		t.Fatalf("%s: %v, error %v", path, problems, err)
	}
	// Its output says of damage on standard output or standard error.
	out, stderr, err := llvmtest.Try(t, "llvm-objdump", "--macho", "--all-headers", path)
	if err != nil || stderr != "" || strings.Contains(out, "malformed") || strings.Contains(out, "past end of file") {
		t.Fatalf("llvm-objdump of %s: %v %s\n%s", path, err, stderr, out)
	}
	oracle(t, path)
	return f
}

// commandsOf are the load commands of all images as bytes.
func commandsOf(f *File) []byte {
	var out bytes.Buffer
	for _, img := range f.Images {
		for _, c := range img.Commands {
			out.Write(c.Data)
		}
	}
	return out.Bytes()
}
