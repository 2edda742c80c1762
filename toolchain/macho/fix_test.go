package macho

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

const stage = "/build/stage/amd-llvm"

// emptySource is a dylib with one symbol of its own, prefixed so that several
// can be linked into one program.
func symbolSource(name string) string { return fmt.Sprintf("int %s(void) { return 1; }", name) }

func useSource(names ...string) string {
	var decl, calls strings.Builder
	for _, n := range names {
		fmt.Fprintf(&decl, "extern int %s(void); ", n)
		fmt.Fprintf(&calls, "+ %s()", n)
	}
	return decl.String() + "int main(void) { return 0 " + calls.String() + "; }"
}

func libraryAt(t testing.TB, out, symbol, id string, flags ...string) string {
	t.Helper()
	return link(t, out, "arm64", symbolSource(symbol), append([]string{"-dylib", "-install_name", id, "-headerpad_max_install_names"}, flags...)...)
}

func symlink(t testing.TB, to, name string) {
	t.Helper()
	mkdir(t, filepath.Dir(name))
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}

// stagedTree is a tree as builds leave it: absolute ids of the stage, a bare
// leaf, run paths of the build, doubles, links, a hard link, and companions
// that are not to be touched.
func stagedTree(t testing.TB) string {
	t.Helper()
	root := t.TempDir()
	in := func(p string) string { return filepath.Join(root, p) }
	// A versioned library with its links, known by the stage's path.
	zstd := libraryAt(t, in("lib/libzstd.1.5.7.dylib"), "zstd", stage+"/lib/libzstd.1.dylib")
	symlink(t, "libzstd.1.5.7.dylib", in("lib/libzstd.1.dylib"))
	symlink(t, "libzstd.1.dylib", in("lib/libzstd.dylib"))
	// A bare leaf for an id.
	bare := libraryAt(t, in("lib/llvm/libbare.dylib"), "bare", "libbare.dylib")
	// One that needs the first, through a link that is not its id's name.
	clang := link(t, in("lib/libclang.dylib"), "arm64", "extern int zstd(void); int clang(void) { return zstd(); }", "-dylib",
		"-install_name", "@rpath/libclang.dylib", "-headerpad_max_install_names", "-rpath", stage+"/lib", "-rpath", "/build/tree/lib", zstd)
	if _, err := Apply(clang, Edit{Change: map[string]string{stage + "/lib/libzstd.1.dylib": stage + "/lib/libzstd.dylib"}}); err != nil {
		t.Fatal(err)
	}
	exe := link(t, in("bin/tool"), "arm64", useSource("zstd", "bare", "clang"), "-headerpad_max_install_names",
		"-rpath", "@loader_path/../lib", zstd, bare, clang)
	if err := os.Link(exe, in("bin/tool-22")); err != nil {
		t.Fatal(err)
	}
	symlink(t, "tool", in("bin/tool++"))
	link(t, in("bin/plain"), "arm64", useSource(), "-headerpad_max_install_names", "-rpath", "/build/tree/lib", "-rpath", "/build/tree/lib/")
	// A dSYM, an object and an archive.
	llvmtest.Run(t, "dsymutil", zstd, "-o", in("lib/libzstd.1.5.7.dylib.dSYM"))
	write(t, in("bin/script"), "#!/bin/sh\n")
	symlink(t, "nowhere", in("lib/dangling.dylib"))
	symlink(t, "..", in("lib/up"))
	return root
}

// stateOf is what a tree is made of: links by target, files by inode and
// content, both with mode and time.
func stateOf(t testing.TB, root string) map[string]string {
	t.Helper()
	state := map[string]string{}
	err := filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(p)
			state[rel] = "link to " + to
		case e.Type().IsRegular():
			state[rel] = fmt.Sprint(inodeOf(info), info.Mode(), info.ModTime(), info.Size(), string(contents(t, p)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// ownDylibs are an image's dependencies apart from the system's.
func ownDylibs(img *Image) []string {
	var out []string
	for _, d := range img.Dylibs {
		if !strings.HasPrefix(d.Name, "/usr/lib/") {
			out = append(out, d.Name)
		}
	}
	return out
}

func TestFix(t *testing.T) {
	root := stagedTree(t)
	before := stateOf(t, root)
	report, err := Fix(t.Context(), root, FixOptions{Prefixes: []string{stage}, Jobs: 2})
	if err != nil {
		t.Fatal(err)
	}
	if report.Images != 5 || len(report.Unresolved) > 0 || len(report.Skipped) > 0 {
		t.Errorf("%+v", report)
	}
	want := map[string]struct {
		id     string
		dylibs []string
		rpaths []string
	}{
		"lib/libzstd.1.5.7.dylib": {"@rpath/libzstd.1.dylib", nil, nil},
		"lib/llvm/libbare.dylib":  {"@rpath/libbare.dylib", nil, nil},
		"lib/libclang.dylib":      {"@rpath/libclang.dylib", []string{"@rpath/libzstd.1.dylib"}, []string{"@loader_path"}},
		"bin/tool": {"", []string{"@rpath/libzstd.1.dylib", "@rpath/libbare.dylib", "@rpath/libclang.dylib"},
			[]string{"@loader_path/../lib", "@loader_path/../lib/llvm"}},
		"bin/plain": {"", nil, nil},
	}
	for path, w := range want {
		img := good(t, filepath.Join(root, path)).Images[0]
		dylibs := ownDylibs(img)
		id := ""
		if img.ID != nil {
			id = img.ID.Name
		}
		if id != w.id || !slices.Equal(dylibs, w.dylibs) || !slices.Equal(img.Rpaths, w.rpaths) {
			t.Errorf("%s: id %q, needs %q, run paths %q", path, id, dylibs, img.Rpaths)
		}
	}
	var changed []string
	for _, f := range report.Files {
		changed = append(changed, f.Path)
	}
	if !slices.Equal(changed, []string{"bin/plain", "bin/tool", "lib/libclang.dylib", "lib/libzstd.1.5.7.dylib", "lib/llvm/libbare.dylib"}) {
		t.Errorf("changed: %q", changed)
	}
	tool := report.Files[1]
	if !slices.Equal(tool.Names, []string{"bin/tool", "bin/tool-22"}) || tool.Changed["libbare.dylib"] != "@rpath/libbare.dylib" ||
		!slices.Equal(tool.OldRpaths, []string{"@loader_path/../lib"}) {
		t.Errorf("%+v", tool)
	}
	after := stateOf(t, root)
	if !slices.Equal(slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after))) {
		t.Error("files came or went")
	}
	for p, was := range before {
		if touched := slices.Contains(changed, p) || p == "bin/tool-22"; (after[p] != was) != touched {
			t.Errorf("%s: changed %v", p, after[p] != was)
		}
	}
	if after["bin/tool"] != after["bin/tool-22"] {
		t.Error("the hard links were torn apart")
	}

	again, err := Fix(t.Context(), root, FixOptions{Prefixes: []string{stage}})
	if err != nil || len(again.Files) > 0 {
		t.Fatalf("again: %+v, %v", again, err)
	}
	if !maps.Equal(after, stateOf(t, root)) {
		t.Error("the second run touched something")
	}

	// Moved as a whole and fixed up without the prefix: nothing to do either.
	moved := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.Rename(root, moved); err != nil {
		t.Fatal(err)
	}
	if again, err = Fix(t.Context(), moved, FixOptions{}); err != nil || len(again.Files) > 0 {
		t.Fatalf("moved: %+v, %v", again, err)
	}
}

// TestFixIsTheSameAnywhere fixes two trees in folders of different lengths.
func TestFixIsTheSameAnywhere(t *testing.T) {
	sum := func(dir string) map[string]string {
		files := map[string]string{}
		for p := range stateOf(t, dir) {
			if info, err := os.Stat(filepath.Join(dir, p)); err == nil && info.Mode().IsRegular() {
				files[p] = string(contents(t, filepath.Join(dir, p)))
			}
		}
		return files
	}
	root := stagedTree(t)
	copied := filepath.Join(t.TempDir(), "a", "much", "longer", "place")
	if err := os.CopyFS(copied, os.DirFS(root)); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{root, copied} {
		if _, err := Fix(t.Context(), dir, FixOptions{Prefixes: []string{stage}}); err != nil {
			t.Fatal(err)
		}
	}
	if !maps.Equal(sum(root), sum(copied)) {
		t.Error("the results differ")
	}
}

func TestFixRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		make func(t *testing.T, root string)
		opts FixOptions
		want string
	}{
		"no room": {func(t *testing.T, root string) {
			link(t, filepath.Join(root, "lib/libtight.dylib"), "arm64", symbolSource("f"), "-dylib", "-install_name", "x", "-headerpad", "0")
			if err := os.Rename(filepath.Join(root, "lib/libtight.dylib"), filepath.Join(root, "lib/lib"+strings.Repeat("t", 99)+".dylib")); err != nil {
				t.Fatal(err)
			}
		}, FixOptions{}, "-headerpad_max_install_names"},
		"a name of two meanings": {func(t *testing.T, root string) {
			one := libraryAt(t, filepath.Join(root, "a/libsame.dylib"), "f", "libsame.dylib")
			libraryAt(t, filepath.Join(root, "b/libsame.dylib"), "f", "libsame.dylib")
			link(t, filepath.Join(root, "bin/tool"), "arm64", useSource("f"), "-headerpad_max_install_names", one)
		}, FixOptions{}, `its dependency "libsame.dylib" may be a/libsame.dylib or b/libsame.dylib`},
		"the other of that name comes first": {func(t *testing.T, root string) {
			one := libraryAt(t, filepath.Join(root, "a/libone.dylib"), "one", "/stage/a/libone.dylib")
			two := libraryAt(t, filepath.Join(root, "b/libtwo.dylib"), "two", "/stage/b/libtwo.dylib")
			libraryAt(t, filepath.Join(root, "a/libtwo.dylib"), "two", "/stage/a/libtwo.dylib")
			link(t, filepath.Join(root, "bin/tool"), "arm64", useSource("one", "two"), "-headerpad_max_install_names", one, two)
		}, FixOptions{Prefixes: []string{"/stage"}}, "it would load a/libtwo.dylib for b/libtwo.dylib"},
		"a rule that leads nowhere": {func(t *testing.T, root string) {
			one := libraryAt(t, filepath.Join(root, "lib/libone.dylib"), "one", "libone.dylib")
			link(t, filepath.Join(root, "bin/tool"), "arm64", useSource("one"), "-headerpad_max_install_names", one)
		}, FixOptions{Rpaths: []RpathRule{{"bin/*", []string{"@loader_path/../lib64"}}}}, "none of the run paths that a rule gives it (@loader_path/../lib64) leads to lib/libone.dylib"},
		"a hard link outside": {func(t *testing.T, root string) {
			one := libraryAt(t, filepath.Join(root, "lib/libone.dylib"), "one", "libone.dylib")
			if err := os.Link(one, filepath.Join(t.TempDir(), "outside")); err != nil {
				t.Fatal(err)
			}
		}, FixOptions{}, "2 names, and 1 are known here"},
		"a damaged image": {func(t *testing.T, root string) {
			one := libraryAt(t, filepath.Join(root, "lib/libone.dylib"), "one", "libone.dylib")
			if err := os.Truncate(one, 5000); err != nil {
				t.Fatal(err)
			}
		}, FixOptions{}, "read lib/libone.dylib: damaged Mach-O file"},
		"a relative prefix": {func(*testing.T, string) {}, FixOptions{Prefixes: []string{"stage"}}, `prefix "stage" is not an absolute folder`},
		"a bad rule":        {func(*testing.T, string) {}, FixOptions{Rpaths: []RpathRule{{"[", nil}}}, `rule for run paths "["`},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			libraryAt(t, filepath.Join(root, "lib/libgood.dylib"), "good", "libgood.dylib")
			c.make(t, root)
			before := stateOf(t, root)
			_, err := Fix(t.Context(), root, c.opts)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v", err)
			}
			if !maps.Equal(before, stateOf(t, root)) {
				t.Error("files changed")
			}
		})
	}
}

// TestFixRules gives run paths by rule, leaves the unresolved, and knows the
// same leaf in two folders as long as each is asked for by place.
func TestFixRules(t *testing.T) {
	root := t.TempDir()
	in := func(p string) string { return filepath.Join(root, p) }
	one := libraryAt(t, in("a/libsame.dylib"), "one", "/stage/a/libsame.dylib")
	two := libraryAt(t, in("b/libsame.dylib"), "two", "/stage/b/libsame.dylib")
	away := libraryAt(t, filepath.Join(t.TempDir(), "libaway.dylib"), "away", "/opt/brew/lib/libaway.dylib")
	link(t, in("bin/one"), "arm64", useSource("one"), "-headerpad_max_install_names", one)
	link(t, in("bin/two"), "arm64", useSource("two", "away"), "-headerpad_max_install_names", "-rpath", "/opt/brew/lib", two, away)
	report, err := Fix(t.Context(), root, FixOptions{Prefixes: []string{"/stage"},
		Rpaths: []RpathRule{{"bin/one", []string{"@loader_path/../a/", "@loader_path/../a"}}, {"bin/o*", []string{"@loader_path"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Unresolved) != 1 || report.Unresolved[0] != (Unresolved{"bin/two", "/opt/brew/lib/libaway.dylib", Load}) {
		t.Errorf("%+v", report.Unresolved)
	}
	for path, rpath := range map[string]string{"bin/one": "@loader_path/../a", "bin/two": "@loader_path/../b"} {
		if img := good(t, in(path)).Images[0]; !slices.Equal(img.Rpaths, []string{rpath}) || ownDylibs(img)[0] != "@rpath/libsame.dylib" {
			t.Errorf("%s: %q, %+v", path, img.Rpaths, img.Dylibs)
		}
	}
}

// TestFixUniversal fixes slices that name the same library differently.
func TestFixUniversal(t *testing.T) {
	root := t.TempDir()
	dir := t.TempDir()
	arm := dylibAt(t, filepath.Join(dir, "arm.dylib"), "arm64", "/stage/lib/liba.1.dylib")
	intel := dylibAt(t, filepath.Join(dir, "intel.dylib"), "x86_64", "liba.1.dylib")
	armExe := programAt(t, filepath.Join(dir, "arm"), "arm64", arm)
	intelExe := programAt(t, filepath.Join(dir, "intel"), "x86_64", intel, "-rpath", "/stage/lib")
	mkdir(t, filepath.Join(root, "lib"))
	mkdir(t, filepath.Join(root, "bin"))
	fat(t, filepath.Join(root, "lib/liba.1.dylib"), arm, intel)
	fat(t, filepath.Join(root, "bin/tool"), armExe, intelExe)
	if _, err := Fix(t.Context(), root, FixOptions{Prefixes: []string{"/stage"}}); err != nil {
		t.Fatal(err)
	}
	good(t, filepath.Join(root, "lib/liba.1.dylib"))
	for _, img := range good(t, filepath.Join(root, "bin/tool")).Images {
		if ownDylibs(img)[0] != "@rpath/liba.1.dylib" || !slices.Equal(img.Rpaths, []string{"@loader_path/../lib"}) || !img.data.hasSignature {
			t.Errorf("%s: %+v %q", img.Arch(), img.Dylibs, img.Rpaths)
		}
	}
}

// TestFixCertificate leaves what a certificate signed alone if it need not
// change, and refuses otherwise.
func TestFixCertificate(t *testing.T) {
	root := t.TempDir()
	lib := libraryAt(t, filepath.Join(root, "lib/liba.dylib"), "a", "@rpath/liba.dylib")
	signWith(t, lib, signer{}, blob(SlotCMS, blobWrapper, "certificate"))
	b := contents(t, lib)
	sig, err := open(t, lib).Images[0].Signature()
	if err != nil {
		t.Fatal(err)
	}
	b[sig.Offset+int64(sig.Blobs[0].Offset)+15] &^= CSAdHoc
	write(t, lib, string(b))
	if report, err := Fix(t.Context(), root, FixOptions{}); err != nil || len(report.Files) > 0 {
		t.Fatal(report, err)
	}
	b[open(t, lib).Images[0].Section("__TEXT", "__text").Offset] ^= 1
	write(t, lib, string(b))
	if _, err := Fix(t.Context(), root, FixOptions{}); !errors.Is(err, ErrSigned) {
		t.Fatal(err)
	}
	if report, err := Fix(t.Context(), root, FixOptions{Resign: true}); err != nil || len(report.Files) != 1 || len(report.Files[0].Dropped) == 0 {
		t.Fatal(report, err)
	}
	good(t, lib)
}

// TestFixNames settles by which name a dylib is known: its id's if a file or
// link has it, whatever others use; else the one that its dependents use.
func TestFixNames(t *testing.T) {
	root := t.TempDir()
	in := func(p string) string { return filepath.Join(root, p) }
	// An id of nowhere, which only an exact match can tell.
	x := libraryAt(t, in("lib/libx.1.2.dylib"), "x", "/elsewhere/libx.1.dylib")
	symlink(t, "libx.1.2.dylib", in("lib/libx.1.dylib"))
	symlink(t, "libx.1.2.dylib", in("lib/libx.dylib"))
	// An id that nothing there is called, and a dependent that knows better.
	y := libraryAt(t, in("lib/liby.2.3.dylib"), "y", "liby-build.dylib")
	symlink(t, "liby.2.3.dylib", in("lib/liby.2.dylib"))
	one := link(t, in("bin/one"), "arm64", useSource("x"), "-headerpad_max_install_names", x)
	for _, name := range []string{"bin/two", "bin/three"} {
		exe := link(t, in(name), "arm64", useSource("x", "y"), "-headerpad_max_install_names", x, y)
		if _, err := Apply(exe, Edit{Change: map[string]string{"/elsewhere/libx.1.dylib": "libx.dylib", "liby-build.dylib": "liby.2.dylib"}}); err != nil {
			t.Fatal(err)
		}
	}
	// A program that can be started in two folders.
	mkdir(t, in("libexec/deep"))
	if err := os.Link(one, in("libexec/deep/one")); err != nil {
		t.Fatal(err)
	}
	if _, err := Fix(t.Context(), root, FixOptions{Editor: Editor{Unsynced: true}}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][]string{
		"bin/one": {"@rpath/libx.1.dylib"}, "bin/two": {"@rpath/libx.1.dylib", "@rpath/liby.2.dylib"}, "bin/three": {"@rpath/libx.1.dylib", "@rpath/liby.2.dylib"},
	} {
		if got := ownDylibs(good(t, in(path)).Images[0]); !slices.Equal(got, want) {
			t.Errorf("%s needs %q, want %q", path, got, want)
		}
	}
	for path, want := range map[string]string{"lib/libx.1.2.dylib": "@rpath/libx.1.dylib", "lib/liby.2.3.dylib": "@rpath/liby.2.dylib"} {
		if got := good(t, in(path)).Images[0].ID.Name; got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	if got := open(t, in("libexec/deep/one")).Images[0].Rpaths; !slices.Equal(got, []string{"@loader_path/../lib", "@loader_path/../../lib"}) {
		t.Errorf("run paths %q", got)
	}
}
