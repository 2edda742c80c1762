package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/internal/key"
)

func open(t *testing.T) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// stage makes a small install tree on the store's file system.
func stage(t *testing.T, s *Store, content string) string {
	t.Helper()
	dir, err := s.Tmp("test")
	if err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"bin/tool": 0o755, "include/a.h": 0o644} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content+name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("tool", filepath.Join(dir, "bin", "alias")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func action(name string) Action {
	var b key.Builder
	b.Add("name", name)
	return Action{Component: "tool", Host: "linux-amd64", Outcome: "built", Key: b.Key()}
}

func seal(t *testing.T, s *Store, name, content string) Action {
	t.Helper()
	a, err := s.Seal(t.Context(), action(name), stage(t, s, content), func(p string) string { return filepath.Dir(p) })
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestSealedThingsAreFoundAgain(t *testing.T) {
	s := open(t)
	want := seal(t, s, "one", "x")
	got, ok, err := s.Lookup("tool", want.Key.ID)
	if err != nil || !ok || got.Content != want.Content || got.Key.Text != want.Key.Text || got.Files != 3 {
		t.Fatalf("Lookup = %+v, %v, %v; sealed %+v", got, ok, err, want)
	}
	tree, err := s.Tree(got.Content)
	if err != nil {
		t.Fatal(err)
	}
	if target, err := os.Readlink(filepath.Join(tree, "bin", "alias")); err != nil || target != "tool" {
		t.Errorf("alias → %q, %v", target, err)
	}
	m, err := s.Manifest(got.Content)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range m.Files {
		if f.Type != "dir" && f.Slice != filepath.Dir(f.Path) {
			t.Errorf("%s is in slice %q", f.Path, f.Slice)
		}
	}
	if left, _ := os.ReadDir(filepath.Join(s.Root(), "tmp")); len(left) != 0 {
		t.Errorf("tmp holds %v after sealing", left)
	}
}

func TestTwoKeysOneContent(t *testing.T) {
	s := open(t)
	a, b := seal(t, s, "one", "same"), seal(t, s, "two", "same")
	if a.Content != b.Content {
		t.Fatalf("contents differ: %s, %s", a.Content, b.Content)
	}
	if c := seal(t, s, "three", "other"); c.Content == a.Content {
		t.Error("different trees have one content")
	}
	if h, err := s.History("tool"); err != nil || len(h) != 3 || h[0].Key.ID != action("three").Key.ID {
		t.Errorf("History: %d entries, %v", len(h), err)
	}
}

func TestAnActionWithoutItsObjectIsNothing(t *testing.T) {
	s := open(t)
	a := seal(t, s, "one", "x")
	dir, err := s.object(a.Content)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.Lookup("tool", a.Key.ID); ok || err != nil {
		t.Errorf("Lookup of a lost object: %v, %v", ok, err)
	}
}

func TestRefusesANewerStoreAndABadContentID(t *testing.T) {
	root := filepath.Join(t.TempDir(), "store")
	if _, err := Open(root); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "version"), []byte("99\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var newer *VersionError
	if _, err := Open(root); !errors.As(err, &newer) || newer.Found != "99" {
		t.Errorf("Open of layout 99: %v", err)
	}
	s := open(t)
	for _, c := range []Content{"", "sha256:", "sha256:../../etc", Content("sha256:" + strings.Repeat("G", 64))} {
		if _, err := s.Tree(c); err == nil {
			t.Errorf("Tree(%q) gives a folder", c)
		}
	}
}

func TestCopyTreeNeverSharesAFileWithTheOriginal(t *testing.T) {
	s := open(t)
	a := seal(t, s, "one", "x")
	tree, err := s.Tree(a.Content)
	if err != nil {
		t.Fatal(err)
	}
	dest := t.TempDir()
	if err := CopyTree(t.Context(), tree, dest, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dest, "bin/tool"), []byte("overwritten"), 0o755); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(filepath.Join(tree, "bin/tool")); string(data) != "xbin/tool" {
		t.Errorf("the sealed file now holds %q", data)
	}
	if err := CopyTree(t.Context(), tree, dest, nil); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("copying over existing files: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := CopyTree(ctx, tree, t.TempDir(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled copy: %v", err)
	}
}
