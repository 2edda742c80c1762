package macho

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

func llvmTool(t testing.TB) InstallNameTool {
	return InstallNameTool{Program: llvmtest.Tool(t, "llvm-install-name-tool")}
}

// TestToolAgrees makes the same edits with llvm-install-name-tool and with our
// own code; signed by us, the results say the same.
func TestToolAgrees(t *testing.T) {
	dir := t.TempDir()
	arm := dylibAt(t, filepath.Join(dir, "arm.dylib"), "arm64", "@rpath/liba.1.dylib", "-rpath", "/a", "-rpath", "/b")
	intel := dylibAt(t, filepath.Join(dir, "intel.dylib"), "x86_64", "@rpath/liba.1.dylib", "-rpath", "/a", "-rpath", "/b")
	for _, path := range []string{arm, fat(t, filepath.Join(dir, "fat.dylib"), arm, intel)} {
		signWithAll(t, path)
		e := Edit{ID: "@rpath/libother.dylib", Change: map[string]string{"/usr/lib/libSystem.B.dylib": "@rpath/x.dylib"},
			SetRpaths: true, Rpaths: []string{"/b", "@loader_path/../lib"}}
		own := filepath.Join(t.TempDir(), filepath.Base(path))
		write(t, own, string(contents(t, path)))
		if _, err := Apply(own, e); err != nil {
			t.Fatal(err)
		}
		if done, err := (Editor{Tool: llvmTool(t)}).Apply(t.Context(), []string{path}, e); err != nil || !done.Changed {
			t.Fatal(done, err)
		}
		a, b := good(t, own), good(t, path)
		for k := range a.Images {
			i, j := a.Images[k], b.Images[k]
			if i.ID.Name != j.ID.Name || !slices.Equal(i.Dylibs, j.Dylibs) || !slices.Equal(i.Rpaths, j.Rpaths) {
				t.Errorf("%s: %v %v %q and %v %v %q", i.Arch(), i.ID, i.Dylibs, i.Rpaths, j.ID, j.Dylibs, j.Rpaths)
			}
		}
		sig, err := b.Images[len(b.Images)-1].Signature()
		if err != nil || string(sig.EntitlementsXML) != "<plist/>" {
			t.Errorf("the tool's edit lost the entitlements: %v, %v", sig, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// signWithAll gives the last slice's signature entitlements.
func signWithAll(t testing.TB, path string) {
	t.Helper()
	f := open(t, path)
	plan, err := f.Plan(Edit{Sign: SignAnew, Leaf: "leaf"})
	if err != nil {
		t.Fatal(err)
	}
	s := plan.Slices[len(plan.Slices)-1].sign
	if err := s.keep(&Signature{Directories: []CodeDirectory{{HashType: 2}}, Blobs: []Blob{blob(SlotEntitlements, blobEntitlements, "<plist/>")}}); err != nil {
		t.Fatal(err)
	}
	b, err := plan.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, string(b))
}

// TestToolIsGuarded: without room llvm-install-name-tool writes over the code
// and ends well. It must not get that far, nor may its result.
func TestToolIsGuarded(t *testing.T) {
	path := link(t, filepath.Join(t.TempDir(), "liba.dylib"), "arm64", librarySource, "-dylib", "-install_name", "a", "-headerpad", "0")
	e := Edit{ID: "@rpath/" + strings.Repeat("l", 200)}
	was := contents(t, path)
	if _, err := (Editor{Tool: llvmTool(t)}).Apply(t.Context(), []string{path}, e); !errors.Is(err, ErrNoRoom) {
		t.Fatal(err)
	}
	if !bytes.Equal(was, contents(t, path)) {
		t.Fatal("the file changed")
	}
	// What the tool does by itself, and that reading back would notice it.
	f := open(t, path)
	plan, err := f.Plan(Edit{ID: "b"})
	if err != nil {
		t.Fatal(err)
	}
	plan.edit = e
	if err := (llvmTool(t)).Edit(t.Context(), path, f, e); err != nil {
		return // Not with LLVM 22: a later one refuses by itself.
	}
	if err := plan.check(contents(t, path), true); err == nil {
		t.Error("the corpse was not noticed")
	}
}

// liar is a tool that does something else.
type liar struct{ edit func(path string) error }

func (l liar) Edit(_ context.Context, path string, _ *File, _ Edit) error { return l.edit(path) }
func (liar) Sign(context.Context, string, string) (bool, error)           { return false, nil }

func TestToolThatLies(t *testing.T) {
	dir := t.TempDir()
	path := dylibAt(t, filepath.Join(dir, "liba.dylib"), "arm64", "@rpath/liba.1.dylib", "-rpath", "/a")
	was := contents(t, path)
	apply := func(e Edit) func(string) error {
		return func(p string) error { _, err := Apply(p, e); return err }
	}
	for name, c := range map[string]struct {
		edit func(string) error
		want string
	}{
		"does nothing":       {func(string) error { return nil }, `its install name is "@rpath/liba.1.dylib", and was to be "x"`},
		"fails":              {func(string) error { return errors.New("out of tea") }, "out of tea"},
		"another name":       {apply(Edit{ID: "y"}), `its install name is "y"`},
		"a run path too few": {apply(Edit{ID: "x", SetRpaths: true}), `its run paths are [], and were to be ["/a"]`},
		"a dependency more":  {apply(Edit{ID: "x", Change: map[string]string{"/usr/lib/libSystem.B.dylib": "z"}}), "its dependencies are"},
		"no image":           {func(p string) error { write(t, p, "MZ"); return nil }, "what the tool made cannot be read"},
		"a byte of code": {func(p string) error {
			if err := apply(Edit{ID: "x"})(p); err != nil {
				return err
			}
			b := contents(t, p)
			b[open(t, p).Images[0].Section("__TEXT", "__text").Offset]++
			write(t, p, string(b))
			return nil
		}, "bytes behind the load commands changed"},
	} {
		_, err := Editor{Tool: liar{c.edit}}.Apply(t.Context(), []string{path}, Edit{ID: "x"})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if !bytes.Equal(was, contents(t, path)) {
			t.Errorf("%s: the file changed", name)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	// Somebody else writes to the file as the copy is edited.
	_, err := Editor{Tool: liar{func(p string) error {
		write(t, path, "theirs")
		return apply(Edit{ID: "x"})(p)
	}}}.Apply(t.Context(), []string{path}, Edit{ID: "x"})
	if err == nil || !strings.Contains(err.Error(), "somebody else changed it") || string(contents(t, path)) != "theirs" {
		t.Errorf("changed meanwhile: %v", err)
	}
	write(t, path, string(was))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, ed := range []Editor{{}, {Tool: llvmTool(t)}} {
		if _, err := ed.Apply(ctx, []string{path}, Edit{ID: "x"}); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	}
}

// TestFixByTool fixes a tree with llvm-install-name-tool and with our own code.
func TestFixByTool(t *testing.T) {
	root := stagedTree(t)
	report, err := Fix(t.Context(), root, FixOptions{Prefixes: []string{stage}, Editor: Editor{Tool: llvmTool(t)}})
	if err != nil || len(report.Files) != 5 {
		t.Fatalf("%+v, %v", report, err)
	}
	for _, f := range report.Files {
		good(t, filepath.Join(root, f.Path))
	}
	if again, err := Fix(t.Context(), root, FixOptions{Prefixes: []string{stage}}); err != nil || len(again.Files) > 0 {
		t.Fatalf("by our own code: %+v, %v", again, err)
	}
}
