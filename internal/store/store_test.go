package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/key"
	"github.com/stonemason-hip/stonemason/internal/treehash"
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
	if _, err := Open(root); !errors.As(err, &newer) || newer.Found != "99" || exit.Of(err) != exit.Config {
		t.Errorf("Open of layout 99: %v", err)
	}
	for _, text := range []string{"", "one", "0", "-1"} {
		if err := os.WriteFile(filepath.Join(root, "version"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(root); exit.Of(err) != exit.Config || errors.As(err, &newer) && newer.Found == text {
			t.Errorf("Open of layout %q: %v", text, err)
		}
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

// Restore goes by the manifest: nothing foreign comes along, and nothing is
// left out unnoticed.
func TestRestoreGoesByTheManifest(t *testing.T) {
	s := open(t)
	a, b := seal(t, s, "one", "x"), seal(t, s, "two", "y")
	tree, err := s.Tree(a.Content)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tree, "foreign"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	dest := filepath.Join(t.TempDir(), "new")
	if err := s.Restore(t.Context(), []Content{a.Content}, dest); err != nil {
		t.Fatal(err)
	}
	if id, _, err := treehash.Hash(t.Context(), dest, treehash.Options{}); err != nil || Content(id) != a.Content {
		t.Errorf("restored %s, %v; want %s", id, err, a.Content)
	}
	if err := s.Restore(t.Context(), []Content{a.Content, b.Content}, filepath.Join(t.TempDir(), "both")); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("two artifacts with the same files: %v", err)
	}
	for name, damage := range map[string]func(file string) error{
		"missing": os.Remove,
		"shorter": func(file string) error { return os.Truncate(file, 3) },
		"a link":  func(file string) error { return errors.Join(os.Remove(file), os.Symlink("alias", file)) },
		"a pipe":  func(file string) error { return errors.Join(os.Remove(file), unix.Mkfifo(file, 0o600)) },
	} {
		if err := damage(filepath.Join(tree, "bin", "tool")); err != nil {
			t.Fatal(err)
		}
		err := s.Restore(t.Context(), []Content{a.Content}, filepath.Join(t.TempDir(), "new"))
		if exit.Of(err) != exit.Verify || exit.HintOf(err) != "go tool mage store:verify" {
			t.Errorf("a file that is %s: %v", name, err)
		}
		if err := os.RemoveAll(filepath.Join(tree, "bin", "tool")); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(tree, "bin", "tool"), []byte("xbin/tool"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// A copy that is cancelled in the middle never passes for a whole one.
func TestCopyTreeIsCancelledInTheMiddle(t *testing.T) {
	src := t.TempDir()
	for i := range 300 {
		if err := os.WriteFile(filepath.Join(src, fmt.Sprintf("%03d", i)), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, at := range []string{"000", "150", "299"} {
		ctx, cancel := context.WithCancel(t.Context())
		err := CopyTree(ctx, src, filepath.Join(t.TempDir(), "new"), func(rel string) string {
			if rel == at {
				cancel()
			}
			return rel
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled at %s: %v", at, err)
		}
	}
}

func TestStampSeesWhatATimeDoesNot(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a", "x")
	put(t, file, "one", 1)
	was, err := Stamp(dir)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Stamp(dir); err != nil || again != was {
		t.Errorf("nothing happened: %s, %v; was %s", again, err, was)
	}
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	if again, err := Stamp(moved); err != nil || again != was {
		t.Errorf("moved: %s, %v; was %s", again, err, was)
	}
	info, err := os.Stat(filepath.Join(moved, "a", "x"))
	if err != nil {
		t.Fatal(err)
	}
	// Other bytes, the same size, the time set back. The file system may count
	// time in steps: until the inode's time has moved on, write again.
	for range 1000 {
		if err := os.WriteFile(filepath.Join(moved, "a", "x"), []byte("two"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(moved, "a", "x"), info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
		if again, err := Stamp(moved); err != nil {
			t.Fatal(err)
		} else if again != was {
			return
		}
	}
	t.Error("a file that was written to has the stamp of before")
}
