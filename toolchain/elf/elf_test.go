package elf

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// cc compiles C source with the machine's compiler.
func cc(t *testing.T, out, source string, args ...string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		t.Fatal(err)
	}
	src := out + ".src.c"
	if err := os.WriteFile(src, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command("gcc", append([]string{src, "-o", out}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, said)
	}
	if err := os.Remove(src); err != nil {
		t.Fatal(err)
	}
	return out
}

func patchelf(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("patchelf")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func mustOpen(t *testing.T, path string) *Image {
	t.Helper()
	img, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func sum(t *testing.T, path string) [32]byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(b)
}

// tree builds bin/hello, which needs lib/libgreet.so.1, found by runpath.
func tree(t *testing.T, runpath string) (dir, exe, lib string) {
	t.Helper()
	dir = t.TempDir()
	lib = cc(t, filepath.Join(dir, "lib/libgreet.so.1"), `#include <math.h>
		double greet(double x) { return pow(x, x); }`,
		"-shared", "-fPIC", "-Wl,-soname,libgreet.so.1", "-Wl,--build-id=0x00112233445566778899", "-lm")
	args := []string{lib, "-Wl,--build-id=none", "-pie", "-fPIE"}
	if runpath != "" {
		args = append(args, "-Wl,--enable-new-dtags", "-Wl,-rpath,"+runpath)
	}
	exe = cc(t, filepath.Join(dir, "bin/hello"), `double greet(double); int main(int c, char **v) { return greet(c) == 1.0 ? 0 : 1; }`, args...)
	return dir, exe, lib
}

func TestRead(t *testing.T) {
	_, exe, lib := tree(t, "$ORIGIN/../lib:/opt/none")
	img := mustOpen(t, exe)
	if p, ok := img.Platform(); !ok || p != platform.Native() {
		t.Errorf("platform %v %v", p, ok)
	}
	if img.Interp != Interpreter(platform.Native()) || !img.Program() || !img.PIE || !img.HasDynamic || img.BuildID != "" {
		t.Errorf("%+v", img)
	}
	if !slices.Equal(img.Needed, []string{"libgreet.so.1", "libc.so.6"}) {
		t.Errorf("needed %q", img.Needed)
	}
	if !slices.Equal(img.RunPath, []string{"$ORIGIN/../lib", "/opt/none"}) || img.RPath != nil {
		t.Errorf("runpath %q, rpath %q", img.RunPath, img.RPath)
	}
	so := mustOpen(t, lib)
	if so.Soname != "libgreet.so.1" || so.BuildID != "00112233445566778899" || so.Program() || so.Interp != "" || so.RunPath != nil {
		t.Errorf("%+v", so)
	}
	// pow has version GLIBC_2.29 on both machines that this runs on.
	if v := so.MaxVersions()["GLIBC"]; v != "2.29" {
		t.Errorf("glibc %q of %+v", v, so.Versions)
	}
}

func TestReadKinds(t *testing.T) {
	dir := t.TempDir()
	static := mustOpen(t, cc(t, filepath.Join(dir, "static"), "int main(void){return 0;}", "-static"))
	if static.HasDynamic || static.Interp != "" || !static.Program() {
		t.Errorf("%+v", static)
	}
	old := mustOpen(t, cc(t, filepath.Join(dir, "old"), "int main(void){return 0;}", "-Wl,--disable-new-dtags,-rpath,$ORIGIN"))
	if !slices.Equal(old.RPath, []string{"$ORIGIN"}) || old.RunPath != nil || !slices.Equal(old.SearchPath(), old.RPath) {
		t.Errorf("%+v", old)
	}
	obj := mustOpen(t, cc(t, filepath.Join(dir, "a.o"), "int x;", "-c"))
	if obj.Type != elf.ET_REL || obj.HasDynamic || obj.Program() {
		t.Errorf("%+v", obj)
	}
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("#!/bin/sh\nexit 0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{text, os.DevNull, dir} {
		if _, err := Open(path); err == nil || path == text && !errors.Is(err, ErrNotELF) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestReadAgreesWithSections reads the machine's own libraries and compares with
// debug/elf's section-based reading.
func TestReadAgreesWithSections(t *testing.T) {
	l, err := NewLinker("/", platform.Native())
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, paths := range l.cache {
		f, err := elf.Open(paths[0])
		if err != nil {
			continue
		}
		img := mustOpen(t, paths[0])
		needed, _ := f.ImportedLibraries()
		soname, _ := f.DynString(elf.DT_SONAME)
		if !slices.Equal(img.Needed, needed) || strings.Join(soname, "") != img.Soname {
			t.Errorf("%s: %q %q", paths[0], img.Needed, img.Soname)
		}
		needs, _ := f.DynamicVersionNeeds()
		var versions []VersionNeed
		for _, n := range needs {
			v := VersionNeed{Library: n.Name}
			for _, d := range n.Needs {
				v.Names = append(v.Names, d.Dep)
			}
			versions = append(versions, v)
		}
		if !reflect.DeepEqual(versions, img.Versions) {
			t.Errorf("%s: versions %v, want %v", paths[0], img.Versions, versions)
		}
		f.Close()
		read++
	}
	if read < 20 {
		t.Errorf("only %d libraries were read", read)
	}
}

func TestSetRunpath(t *testing.T) {
	ctx := context.Background()
	for _, tt := range []struct {
		name, have string
		want       []string
		tool       bool // Whether patchelf is needed.
	}{
		{"add", "", []string{"$ORIGIN/../lib"}, true},
		{"shorten", "$ORIGIN/../lib:/opt/none", []string{"$ORIGIN/../lib"}, false},
		{"grow", "$ORIGIN/../lib", []string{"$ORIGIN/../lib", "$ORIGIN/../lib64/private"}, true},
		{"remove", "/opt/none", nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, exe, _ := tree(t, tt.have)
			if err := os.Chmod(exe, 0o555); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Dir(exe)
			twin := filepath.Join(dir, "twin")
			b, _ := os.ReadFile(exe)
			if err := os.WriteFile(twin, b, 0o755); err != nil {
				t.Fatal(err)
			}
			tool := ""
			if tt.tool {
				err := SetRunpath(ctx, "", exe, tt.want)
				if err == nil || !strings.Contains(err.Error(), "install the package patchelf") || sum(t, exe) != sha256.Sum256(b) {
					t.Fatalf("without patchelf: %v", err)
				}
			}
			if tt.tool {
				tool = patchelf(t)
			}
			if err := SetRunpath(ctx, tool, exe, tt.want); err != nil {
				t.Fatal(err)
			}
			img := mustOpen(t, exe)
			if !slices.Equal(img.RunPath, tt.want) || img.RPath != nil {
				t.Errorf("runpath %q", img.RunPath)
			}
			if info, _ := os.Stat(exe); info.Mode().Perm() != 0o555 {
				t.Errorf("mode %v", info.Mode())
			}
			if len(tt.want) > 0 {
				if said, err := exec.Command(exe).CombinedOutput(); err != nil {
					t.Errorf("the edited file does not run: %v %s", err, said)
				}
			}
			// The same again, from the start and on top.
			if err := SetRunpath(ctx, patchelf(t), twin, tt.want); err != nil {
				t.Fatal(err)
			}
			once := sum(t, exe)
			if sum(t, twin) != once {
				t.Error("two edits of equal files differ")
			}
			if err := SetRunpath(ctx, "/none", exe, tt.want); err != nil || sum(t, exe) != once {
				t.Errorf("the second edit: %v", err)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

func TestSetRunpathReplacesRPath(t *testing.T) {
	_, exe, lib := tree(t, "")
	exe = cc(t, exe, "double greet(double); int main(void){return greet(1) != 1;}", lib, "-Wl,--disable-new-dtags,-rpath,/opt/none:$ORIGIN/../lib")
	if err := SetRunpath(context.Background(), patchelf(t), exe, []string{"$ORIGIN/../lib"}); err != nil {
		t.Fatal(err)
	}
	if img := mustOpen(t, exe); img.RPath != nil || !slices.Equal(img.RunPath, []string{"$ORIGIN/../lib"}) {
		t.Errorf("%+v", img)
	}
}

func TestSetSoname(t *testing.T) {
	ctx := context.Background()
	_, exe, lib := tree(t, "$ORIGIN")
	e := Editor{Patchelf: patchelf(t)}
	if err := e.SetSoname(ctx, lib, "libgreet-private.so.1"); err != nil {
		t.Fatal(err)
	}
	if img := mustOpen(t, lib); img.Soname != "libgreet-private.so.1" {
		t.Errorf("soname %q", img.Soname)
	}
	if err := e.SetSoname(ctx, exe, "x.so"); err == nil || !strings.Contains(err.Error(), "a program") {
		t.Errorf("%v", err)
	}
	if err := e.SetSoname(ctx, lib, "../x.so"); err == nil {
		t.Error("a soname with a slash was taken")
	}
}

func TestEditRefusals(t *testing.T) {
	ctx := context.Background()
	_, exe, _ := tree(t, "$ORIGIN/../lib")
	dir := filepath.Dir(exe)
	link := filepath.Join(dir, "link")
	if err := os.Symlink("hello", link); err != nil {
		t.Fatal(err)
	}
	other := platform.Platform{OS: "linux", Arch: "arm64"}
	if platform.Native() == other {
		other.Arch = "amd64"
	}
	want := []string{"$ORIGIN"}
	for _, tt := range []struct {
		name string
		e    Editor
		file string
		path []string
		says string
	}{
		{"static", Editor{}, cc(t, filepath.Join(dir, "static"), "int main(void){return 0;}", "-static"), want, ErrNotEditable.Error()},
		{"object", Editor{}, cc(t, filepath.Join(dir, "a.o"), "int x;", "-c"), want, ErrNotEditable.Error()},
		{"foreign", Editor{Platform: other}, exe, want, "only files for " + other.String()},
		{"symlink", Editor{}, link, want, "it is a symlink"},
		{"absolute", Editor{}, exe, []string{"/usr/lib"}, "does not start with $ORIGIN"},
		{"empty entry", Editor{}, exe, []string{""}, "does not start with $ORIGIN"},
		{"two in one", Editor{}, exe, []string{"$ORIGIN:/usr/lib"}, "cannot be one entry"},
		{"missing", Editor{}, exe + "x", want, "no such file"},
	} {
		if err := tt.e.SetRunpath(ctx, tt.file, tt.path); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want it to say %q", tt.name, err, tt.says)
		}
	}
}

// TestEditIsChecked runs edits that go wrong: a tool that changes code, one
// that changes another name, one that does nothing.
func TestEditIsChecked(t *testing.T) {
	real := patchelf(t)
	for name, tt := range map[string]struct{ script, says string }{
		"code":    {`"` + real + `" "$@" && f="$3" && printf 'X' | dd of="$f" bs=1 seek=$((0x1045)) conv=notrunc 2>/dev/null`, `section ".text" differ`},
		"name":    {`"` + real + `" "$@" && "` + real + `" --add-needed libm.so.6 "$3"`, "needed libraries"},
		"nothing": {`:`, "runpath: [], expected [$ORIGIN/../lib]"},
		"failure": {`echo no such luck; exit 3`, "no such luck"},
		"ruin":    {`: > "$3"`, "cannot be read back"},
	} {
		t.Run(name, func(t *testing.T) {
			_, exe, _ := tree(t, "")
			tool := filepath.Join(t.TempDir(), "patchelf")
			script := "#!/bin/sh\nPATH=/usr/bin:/bin\n" + tt.script + "\n"
			if name == "code" {
				// Hit the first byte of .text wherever the linker put it.
				f, err := elf.Open(exe)
				if err != nil {
					t.Fatal(err)
				}
				script = strings.Replace(script, "$((0x1045))", "$((0x"+hexOf(f.Section(".text").Offset)+"))", 1)
				f.Close()
			}
			if err := os.WriteFile(tool, []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			before := sum(t, exe)
			err := SetRunpath(context.Background(), tool, exe, []string{"$ORIGIN/../lib"})
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, want it to say %q", err, tt.says)
			}
			if sum(t, exe) != before {
				t.Error("the file was changed")
			}
		})
	}
}

func hexOf(n uint64) string {
	const digits = "0123456789abcdef"
	if n < 16 {
		return digits[n : n+1]
	}
	return hexOf(n/16) + digits[n%16:n%16+1]
}

// TestInPlaceShared links a library whose name is the tail of the RUNPATH, so
// that the linker stores it only once; overwriting would rename the library.
func TestInPlaceShared(t *testing.T) {
	dir := t.TempDir()
	lib := cc(t, filepath.Join(dir, "tail"), "int tail(void){return 0;}", "-shared", "-fPIC", "-Wl,-soname,tail")
	exe := cc(t, filepath.Join(dir, "exe"), "int tail(void); int main(void){return tail();}", lib,
		"-s", "-Wl,-O2", "-Wl,--enable-new-dtags,-rpath,$ORIGIN/./././tail")
	b, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b, []byte("\x00tail\x00")) {
		t.Fatal("the linker did not share the string: the fixture proves nothing")
	}
	done, err := RewriteRunpathInPlace(exe, []string{"$ORIGIN"})
	if done || err != nil || sum(t, exe) != sha256.Sum256(b) {
		t.Fatalf("done %v, %v", done, err)
	}
	if err := SetRunpath(context.Background(), patchelf(t), exe, []string{"$ORIGIN"}); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command(exe).CombinedOutput(); err != nil {
		t.Errorf("%v %s", err, said)
	}
}

func TestCompareVersions(t *testing.T) {
	sorted := []string{"2", "2.2.5", "2.9", "2.34", "2.34.1", "10"}
	for i, a := range sorted {
		for j, b := range sorted {
			got := CompareVersions(a, b)
			if (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%s and %s: %d", a, b, got)
			}
		}
	}
}

func TestExpandOrigin(t *testing.T) {
	for entry, want := range map[string]string{
		"$ORIGIN": "/a/b", "${ORIGIN}/../lib": "/a/b/../lib", "$ORIGIN/": "/a/b/",
		"$ORIGINAL": "", "/usr/lib": "", "": "", "lib": "", "$ORIGIN/$LIB": "", "x$ORIGIN": "",
	} {
		got, ok := ExpandOrigin(entry, "/a/b")
		if got != want || ok != (want != "") {
			t.Errorf("%q: %q %v", entry, got, ok)
		}
	}
}

func TestIsBase(t *testing.T) {
	if !slices.IsSorted(Base()) || !IsBase("libc.so.6") || IsBase("libz.so.1") || IsBase("libLLVM.so.22.1") {
		t.Errorf("%q", Base())
	}
}
