package step

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
	"github.com/stonemason-hip/stonemason/toolchain/cross"
	"github.com/stonemason-hip/stonemason/toolchain/hostcc"
	"github.com/stonemason-hip/stonemason/toolchain/macho"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// symbolsSource is line 1 of what the tests look for.
const symbolsSource = "int answer(int x) { return x * 42; }\n"

// What is asked of both formats: the image has no debug information any more,
// its mode is kept, an archive is left alone, and a debugger finds the source
// line again, also after everything has been moved.
func symbolsSplit(t *testing.T, r *Run, image, dwarf, archive string) {
	t.Helper()
	before, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(image, 0o750); err != nil {
		t.Fatal(err)
	}
	lines := func(file string) string {
		return llvmtest.Run(t, "llvm-symbolizer", "--obj="+file, "--relative-address", address(t, file, "answer"))
	}
	if err := new(Symbols).Run(t.Context(), r); err != nil {
		t.Fatalf("%v\n%s", err, r.Output)
	}
	if _, err := os.Stat(filepath.Join(r.Stage, dwarf)); err != nil {
		t.Fatalf("%v\n%s", err, r.Output)
	}
	if info, err := os.Stat(image); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if after, err := os.ReadFile(archive); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the archive has changed (%v)", err)
	}
	if said := llvmtest.Run(t, "llvm-dwarfdump", "--debug-info", image); strings.Contains(said, "DW_TAG_subprogram") {
		t.Errorf("the image still has debug information:\n%s", said)
	}
	rel, err := filepath.Rel(r.Stage, image)
	if err != nil {
		t.Fatal(err)
	}
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(r.Stage, moved); err != nil {
		t.Fatal(err)
	}
	if got := lines(filepath.Join(moved, rel)); !strings.Contains(got, "answer.c:1") {
		t.Errorf("the debug information is not found: %s", got)
	}
	err = filepath.WalkDir(moved, func(file string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(file)
		if file != filepath.Join(moved, filepath.Base(archive)) && bytes.Contains(data, []byte(r.Stage)) {
			t.Errorf("%s names the stage", file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// address is a symbol's, in hex.
func address(t *testing.T, file, symbol string) string {
	t.Helper()
	for _, line := range strings.Split(llvmtest.Run(t, "llvm-nm", file), "\n") {
		words := strings.Fields(line)
		if len(words) == 3 && strings.TrimPrefix(words[2], "_") == symbol {
			return "0x" + words[0]
		}
	}
	t.Fatalf("%s has no %s", file, symbol)
	return ""
}

func symbolsStage(t *testing.T, compile ...string) (r *Run, object, archive string) {
	t.Helper()
	dir := t.TempDir()
	r = &Run{Stage: filepath.Join(dir, "stage"), BuildDir: filepath.Join(dir, "build"), Work: dir, Output: new(bytes.Buffer), Build: platform.Native(), Host: platform.Native(), Env: os.Environ()}
	for _, folder := range []string{"stage/lib", "src"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	source := filepath.Join(dir, "src", "answer.c")
	if err := os.WriteFile(source, []byte(symbolsSource), 0o644); err != nil {
		t.Fatal(err)
	}
	object = filepath.Join(dir, "src", "answer.o")
	run(t, append(compile, "-g", "-c", source, "-o", object)...)
	archive = filepath.Join(r.Stage, "libanswer.a")
	llvmtest.Run(t, "llvm-ar", "rcs", archive, object)
	return r, object, archive
}

func run(t *testing.T, argv ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
}

func TestSymbolsELF(t *testing.T) {
	cc, err := exec.LookPath("gcc")
	if err != nil {
		t.Fatal(err)
	}
	r, object, archive := symbolsStage(t, cc, "-fPIC")
	r.CC = &hostcc.Compiler{Path: cc}
	library := filepath.Join(r.Stage, "lib", "libanswer.so.1")
	run(t, cc, "-shared", object, "-o", library)
	if err := os.Symlink("libanswer.so.1", filepath.Join(r.Stage, "lib", "libanswer.so")); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(r.Stage, "lib", "libplain.so")
	run(t, cc, "-shared", "-nostdlib", "-x", "c", "/dev/null", "-o", plain)
	before, err := os.Stat(plain)
	if err != nil {
		t.Fatal(err)
	}
	symbolsSplit(t, r, library, "lib/.debug/libanswer.so.1.debug", archive)
	if strings.Contains(r.Output.(*bytes.Buffer).String(), plain) {
		t.Errorf("%s (%d bytes) has no debug information, and was worked on", plain, before.Size())
	}
}

func TestSymbolsMachO(t *testing.T) {
	r, object, archive := symbolsStage(t, llvmtest.Tool(t, "clang"), "--target=arm64-apple-macos14.0")
	r.Host = platform.Platform{OS: "darwin", Arch: "arm64"}
	tools := cross.Darwin(r.Host, filepath.Dir(llvmtest.Tool(t, "clang")), "")
	r.Cross = &tools
	library := filepath.Join(r.Stage, "lib", "libanswer.dylib")
	llvmtest.Run(t, "ld64.lld", "-arch", "arm64", "-platform_version", "macos", "14.0", "14.0", "-dylib", "-undefined", "dynamic_lookup",
		"-install_name", "@rpath/libanswer.dylib", "-o", library, object)
	dwarf := "lib/libanswer.dylib.dSYM/Contents/Resources/DWARF/libanswer.dylib"
	symbolsSplit(t, r, library, dwarf, archive)

	// What is split off goes to the slice dbg, and the image is still in order
	// for the fix-up that follows.
	if got := Slicer(nil)(dwarf); got != "dbg" {
		t.Errorf("slice %s", got)
	}
	r2, object, _ := symbolsStage(t, llvmtest.Tool(t, "clang"), "--target=arm64-apple-macos14.0")
	r2.Host, r2.Cross = r.Host, r.Cross
	library = filepath.Join(r2.Stage, "lib", "libanswer.dylib")
	llvmtest.Run(t, "ld64.lld", "-arch", "arm64", "-platform_version", "macos", "14.0", "14.0", "-dylib", "-undefined", "dynamic_lookup",
		"-install_name", library, "-headerpad_max_install_names", "-o", library, object)
	for _, s := range []Step{new(Symbols), new(Fixup)} {
		if err := s.Run(context.Background(), r2); err != nil {
			t.Fatalf("%v\n%s", err, r2.Output)
		}
	}
	f, err := macho.Open(library)
	if err != nil {
		t.Fatal(err)
	}
	if sources, err := f.Images[0].SourceFiles(); err != nil || len(sources) > 0 {
		t.Errorf("the image still names %q for debuggers (%v)", sources, err)
	}
	if f.Images[0].ID == nil || f.Images[0].ID.Name != "@rpath/libanswer.dylib" {
		t.Errorf("%+v", f.Images[0].ID)
	}
	if got := Slicer(nil)("lib/.debug/libanswer.so.1.debug"); got != "dbg" {
		t.Errorf("slice %s", got)
	}
}
