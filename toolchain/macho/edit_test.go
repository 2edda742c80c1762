package macho

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

// names makes install names of many lengths around the alignment of commands.
func names(n int) string { return "@rpath/" + strings.Repeat("x", n) + ".dylib" }

func TestEditAndBack(t *testing.T) {
	dir := t.TempDir()
	arm := dylibAt(t, filepath.Join(dir, "arm.dylib"), "arm64", "@rpath/liba.1.dylib", "-rpath", "@loader_path")
	intel := dylibAt(t, filepath.Join(dir, "intel.dylib"), "x86_64", "@rpath/liba.1.dylib", "-rpath", "@loader_path")
	for name, path := range map[string]string{
		"thin":      arm,
		"unsigned":  intel,
		"universal": fat(t, filepath.Join(dir, "fat.dylib"), arm, intel),
	} {
		t.Run(name, func(t *testing.T) {
			was := contents(t, path)
			before := open(t, path)
			for _, n := range []int{0, 1, 8, 17} {
				done, err := Apply(path, Edit{ID: names(n), Change: map[string]string{"/usr/lib/libSystem.B.dylib": names(40 - n)},
					SetRpaths: true, Rpaths: []string{"@loader_path/../lib/", "@loader_path/../lib", "@loader_path/" + names(n)}})
				if err != nil || !done.Changed {
					t.Fatal(done, err)
				}
				f := good(t, path)
				for _, img := range f.Images {
					if img.ID.Name != names(n) || img.Dylibs[0].Name != names(40-n) || img.ID.Current != 0x10203 ||
						!slices.Equal(img.Rpaths, []string{"@loader_path/../lib", "@loader_path/" + names(n)}) {
						t.Fatalf("%+v %+v %q", img.ID, img.Dylibs, img.Rpaths)
					}
				}
				if _, err := Apply(path, Edit{ID: "@rpath/liba.1.dylib", SetRpaths: true, Rpaths: []string{"@loader_path"},
					Change: map[string]string{names(40 - n): "/usr/lib/libSystem.B.dylib"}}); err != nil {
					t.Fatal(err)
				}
				if after := good(t, path); !bytes.Equal(commandsOf(before), commandsOf(after)) {
					t.Fatalf("the load commands differ after %d and back", n)
				}
			}
			// Of all bytes, only the linker-signed flag and the hash of
			// nothing else may differ.
			is := contents(t, path)
			if len(is) != len(was) {
				t.Fatalf("%d bytes, were %d", len(is), len(was))
			}
			for k := range is {
				if is[k] != was[k] && !(was[k] == 2 && is[k] == 0) {
					t.Fatalf("byte %#x is %#x and was %#x", k, is[k], was[k])
				}
			}
			if name == "unsigned" && !bytes.Equal(is, was) {
				t.Fatal("an unsigned image changed")
			}
		})
	}
}

func TestEditNothing(t *testing.T) {
	path := dylibAt(t, filepath.Join(t.TempDir(), "liba.dylib"), "arm64", "@rpath/liba.1.dylib", "-rpath", "@loader_path")
	before, _ := os.Stat(path)
	done, err := Apply(path, Edit{ID: "@rpath/liba.1.dylib", SetRpaths: true, Rpaths: []string{"@loader_path/."}, Sign: SignAlways})
	if err != nil || done.Changed {
		t.Fatal(done, err)
	}
	if after, _ := os.Stat(path); !os.SameFile(before, after) {
		t.Fatal("the file was replaced")
	}
}

func TestEditRefuses(t *testing.T) {
	dir := t.TempDir()
	lib := dylibAt(t, filepath.Join(dir, "liba.dylib"), "arm64", "@rpath/liba.1.dylib")
	tight := link(t, filepath.Join(dir, "tight.dylib"), "arm64", librarySource, "-dylib", "-install_name", "a", "-headerpad", "0")
	exe := programAt(t, filepath.Join(dir, "exe"), "arm64", lib)
	for _, c := range []struct {
		path string
		edit Edit
		want string
		kind error
	}{
		{lib, Edit{Change: map[string]string{"libnone.dylib": "x"}}, `does not depend on "libnone.dylib"`, nil},
		{lib, Edit{Change: map[string]string{"/usr/lib/libSystem.B.dylib": ""}}, "renamed to nothing", nil},
		{exe, Edit{ID: "@rpath/exe"}, "no install name to change: it is a file of type executable", nil},
		{lib, Edit{ID: "a\x00b"}, "zero byte", nil},
		{lib, Edit{ID: strings.Repeat("a", 1025)}, "longer than 1024", nil},
		{lib, Edit{SetRpaths: true, Rpaths: []string{""}}, "an empty run path", nil},
		{tight, Edit{ID: "@rpath/" + strings.Repeat("l", 200)}, "short: link it with -headerpad_max_install_names", ErrNoRoom},
	} {
		was := contents(t, c.path)
		_, err := Apply(c.path, c.edit)
		if err == nil || !strings.Contains(err.Error(), c.want) || c.kind != nil && !errors.Is(err, c.kind) {
			t.Errorf("%+v: %v", c.edit, err)
		}
		if !bytes.Equal(was, contents(t, c.path)) {
			t.Errorf("%+v: the file changed", c.edit)
		}
	}
	left, _ := filepath.Glob(filepath.Join(dir, ".*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestRoomToTheByte fills the header exactly, and then asks for 8 bytes more.
func TestRoomToTheByte(t *testing.T) {
	path := link(t, filepath.Join(t.TempDir(), "liba.dylib"), "arm64", librarySource, "-dylib", "-install_name", "a", "-headerpad", "0x40")
	slack := open(t, path).Images[0].Slack
	if slack < 0x40 {
		t.Fatal(slack)
	}
	// "a" takes 32 bytes of command; each 8 bytes of name 8 more.
	full := strings.Repeat("n", int(slack)/8*8+7)
	plan, err := open(t, path).Plan(Edit{ID: full + "n"})
	if !errors.Is(err, ErrNoRoom) {
		t.Fatal(plan, err)
	}
	if want := 8 - slack%8; !strings.Contains(err.Error(), ", "+string(rune('0'+want))+" short:") {
		t.Errorf("%v, want %d short", err, want)
	}
	if _, err := Apply(path, Edit{ID: full}); err != nil {
		t.Fatal(err)
	}
	if img := good(t, path).Images[0]; img.Slack != slack%8 || img.ID.Name != full {
		t.Errorf("slack %d", img.Slack)
	}
}

// TestSlackInUse refuses to write over bytes that no load command names.
func TestSlackInUse(t *testing.T) {
	path := dylibAt(t, filepath.Join(t.TempDir(), "liba.dylib"), "arm64", "a")
	b := contents(t, path)
	img := open(t, path).Images[0]
	b[headerSize+img.CommandsSize+20] = 1
	f, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Plan(Edit{ID: names(40)}); !errors.Is(err, ErrNoRoom) || !strings.Contains(err.Error(), "in use") {
		t.Fatal(err)
	}
	if _, err := f.Plan(Edit{ID: names(8)}); err != nil {
		t.Fatal(err)
	}
}

func TestLinksModesAndTimes(t *testing.T) {
	dir := t.TempDir()
	lib := dylibAt(t, filepath.Join(dir, "lib", "liba.1.2.dylib"), "arm64", "@rpath/liba.1.dylib")
	old := time.Unix(1_600_000_000, 123_000_000)
	for _, err := range []error{os.Chmod(lib, 0o444), os.Chtimes(lib, old, old), os.Symlink("liba.1.2.dylib", filepath.Join(dir, "lib", "liba.1.dylib")),
		os.Symlink("lib/liba.1.dylib", filepath.Join(dir, "liba.dylib"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Apply(filepath.Join(dir, "liba.dylib"), Edit{ID: "@rpath/libother.dylib"}); err != nil {
		t.Fatal(err)
	}
	if img := good(t, lib).Images[0]; img.ID.Name != "@rpath/libother.dylib" {
		t.Fatal(img.ID)
	}
	info, _ := os.Lstat(lib)
	if info.Mode() != 0o444 || !info.ModTime().Equal(old) {
		t.Errorf("mode %v, time %v", info.Mode(), info.ModTime())
	}
	if to, err := os.Readlink(filepath.Join(dir, "liba.dylib")); to != "lib/liba.1.dylib" {
		t.Errorf("the link became %q, %v", to, err)
	}

	// Hard links: one name alone is refused, all together stay one file.
	other := filepath.Join(dir, "copy.dylib")
	if err := os.Link(lib, other); err != nil {
		t.Fatal(err)
	}
	was := contents(t, lib)
	if _, err := Apply(lib, Edit{ID: "x"}); !errors.Is(err, ErrHardLinks) {
		t.Fatal(err)
	}
	if !bytes.Equal(was, contents(t, lib)) {
		t.Fatal("the file changed")
	}
	if done, err := Apply(lib, Edit{ID: "@rpath/libother.dylib"}); err != nil || done.Changed {
		t.Fatal("an edit of nothing: ", done, err)
	}
	if _, err := (Editor{}).Apply(t.Context(), []string{other, lib}, Edit{ID: "x"}); err != nil {
		t.Fatal(err)
	}
	a, _ := os.Stat(lib)
	b, _ := os.Stat(other)
	if !os.SameFile(a, b) || good(t, other).Images[0].ID.Name != "x" {
		t.Fatal("torn apart, or not edited")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "lib", ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}

	// Two links that lead to each other.
	for _, l := range [][2]string{{"x", "y"}, {"y", "x"}} {
		if err := os.Symlink(l[0], filepath.Join(dir, l[1])); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Apply(filepath.Join(dir, "x"), Edit{ID: "z"}); err == nil || !strings.Contains(err.Error(), "too many") {
		t.Fatal(err)
	}
}

// TestOddImages refuses what an edit would tear.
func TestOddImages(t *testing.T) {
	dir := t.TempDir()
	arm := dylibAt(t, filepath.Join(dir, "arm.dylib"), "arm64", "a")
	intel := dylibAt(t, filepath.Join(dir, "intel.dylib"), "x86_64", "a")
	thin := contents(t, arm)
	universal := contents(t, fat(t, filepath.Join(dir, "fat.dylib"), arm, intel))
	img := open(t, arm).Images[0]
	patch := func(cmd uint32, values map[int64]uint32) []byte {
		b := bytes.Clone(thin)
		for _, c := range img.Commands {
			if c.Cmd == cmd {
				for off, v := range values {
					binary.LittleEndian.PutUint32(b[c.Offset+off:], v)
				}
				return b
			}
		}
		t.Fatalf("no load command %#x", cmd)
		return nil
	}
	for name, c := range map[string]struct {
		b    []byte
		sign Signing
		want string
	}{
		"bytes behind __LINKEDIT":    {append(contents(t, intel), make([]byte, 16)...), SignAlways, "its __LINKEDIT ends at"},
		"bytes behind the slices":    {append(bytes.Clone(universal), 1, 2, 3), 0, "3 bytes behind its last slice"},
		"bytes behind the signature": {append(bytes.Clone(thin), make([]byte, 16)...), 0, "is not its end"},
		"encrypted":                  {patch(LCUUID, map[int64]uint32{0: LCEncryptionInfo64, 8: 0, 12: 0, 16: 1}), 0, "it is encrypted"},
		"data in the header":         {patch(LCFunctionStarts, map[int64]uint32{8: 64, 12: 8}), 0, "its load commands reach"},
		"data in the signature":      {patch(LCFunctionStarts, map[int64]uint32{8: uint32(len(thin)) - 8, 12: 8}), 0, "function starts reaches into the signature"},
		"a signature of no bytes":    {patch(LCCodeSignature, map[int64]uint32{8: 4, 12: 0}), 0, "0 bytes are too few"},
	} {
		path := filepath.Join(dir, "odd")
		write(t, path, string(c.b))
		if _, err := Apply(path, Edit{ID: names(3), Sign: c.sign}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if !bytes.Equal(contents(t, path), c.b) {
			t.Errorf("%s: the file changed", name)
		}
	}
}

// TestUniversalLayout keeps the order and the alignment of slices that grow.
func TestUniversalLayout(t *testing.T) {
	dir := t.TempDir()
	arm := dylibAt(t, filepath.Join(dir, "arm.dylib"), "arm64", "a")
	intel := dylibAt(t, filepath.Join(dir, "intel.dylib"), "x86_64", "a")
	path := fat(t, filepath.Join(dir, "fat.dylib"), intel, arm)
	before := open(t, path)
	// Signed, the first slice grows over the place of the second.
	if _, err := Apply(path, Edit{Sign: SignAnew, Identifier: strings.Repeat("i", 1000)}); err != nil {
		t.Fatal(err)
	}
	after := good(t, path)
	for k, img := range after.Images {
		if a := after.fat.slices[k]; img.Arch() != before.Images[k].Arch() || a.align != before.fat.slices[k].align || img.Offset%(1<<a.align) != 0 {
			t.Errorf("slice %d: %s at %#x, aligned to 2^%d", k, img.Arch(), img.Offset, a.align)
		}
	}
	if after.Images[0].Size <= before.Images[0].Size {
		t.Error("it did not grow")
	}
	llvmtest.Run(t, "llvm-lipo", path, "-verify_arch", "arm64", "x86_64")
	llvmtest.Run(t, "llvm-lipo", path, "-thin", "arm64", "-output", filepath.Join(dir, "thin"))
	good(t, filepath.Join(dir, "thin"))
}
