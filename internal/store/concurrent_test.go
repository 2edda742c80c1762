package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stonemason-hip/stonemason/internal/treehash"
)

// TestSealOfOneContentAtOnce seals the same tree from several stores on the
// same folder, under the same and under other keys: as several processes do.
func TestSealOfOneContentAtOnce(t *testing.T) {
	s := open(t)
	const n = 8
	var wg sync.WaitGroup
	contents := make([]Content, n)
	errs := make([]error, n)
	for i := range n {
		own, err := Open(s.Root())
		if err != nil {
			t.Fatal(err)
		}
		dir := stage(t, own, "same")
		wg.Go(func() {
			var a Action
			a, errs[i] = own.Seal(t.Context(), action(fmt.Sprint("key", i/2)), dir, func(string) string { return "run" })
			contents[i] = a.Content
		})
	}
	wg.Wait()
	for i := range n {
		if errs[i] != nil || contents[i] != contents[0] {
			t.Errorf("seal %d: %s, %v", i, contents[i], errs[i])
		}
	}
	tree, err := s.Tree(contents[0])
	if err != nil {
		t.Fatal(err)
	}
	if id, _, err := treehash.Hash(t.Context(), tree, treehash.Options{}); err != nil || Content(id) != contents[0] {
		t.Errorf("the sealed tree has content %s, %v", id, err)
	}
	if h, err := s.History("tool"); err != nil || len(h) != n/2 {
		t.Errorf("%d actions, %v", len(h), err)
	}
	if left, _ := os.ReadDir(filepath.Join(s.Root(), "tmp")); len(left) != 0 {
		t.Errorf("tmp holds %v", left)
	}
}

// Whoever waits for a lock gets it, one at a time.
func TestLockIsOneAtATime(t *testing.T) {
	s := open(t)
	var wg sync.WaitGroup
	inside := make(chan struct{}, 1)
	for range 8 {
		wg.Go(func() {
			unlock, err := s.Lock("x")
			if err != nil {
				t.Error(err)
				return
			}
			defer unlock()
			select {
			case inside <- struct{}{}:
				<-inside
			default:
				t.Error("two hold the lock")
			}
		})
	}
	wg.Wait()
}

// A seal that fails leaves neither object nor action.
func TestASealThatFailsLeavesNothing(t *testing.T) {
	s := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Seal(ctx, action("one"), stage(t, s, "x"), func(string) string { return "" }); err == nil {
		t.Error("a cancelled seal succeeds")
	}
	if _, err := s.Seal(t.Context(), action("one"), filepath.Join(s.Root(), "tmp", "not-there"), func(string) string { return "" }); err == nil {
		t.Error("the seal of a stage that is not there succeeds")
	}
	for _, dir := range []string{"objects", "actions"} {
		if left, _ := os.ReadDir(filepath.Join(s.Root(), dir)); len(left) != 0 {
			t.Errorf("%s holds %v", dir, left)
		}
	}
}

// A record or a manifest that cannot be used counts as nothing and is told,
// once; the next Seal puts it right.
func TestLookupOfADamagedRecord(t *testing.T) {
	s := open(t)
	a := seal(t, s, "one", "x")
	record := s.actionFile("tool", a.Key.ID)
	dir, err := s.object(a.Content)
	if err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(dir, "manifest.json")
	for _, c := range []struct {
		name, file string
		damage     func(string) string
		want       string
	}{
		{"torn", record, func(s string) string { return s[:20] }, "is built again"},
		{"empty", record, func(string) string { return "" }, "is built again"},
		{"of another key", record, func(s string) string { return strings.Replace(s, string(a.Key.ID), string(action("two").Key.ID), 1) }, "is built again"},
		{"with another text", record, func(s string) string { return strings.Replace(s, "name=one", "name=two", 1) }, "is built again"},
		{"with no content", record, func(s string) string { return strings.Replace(s, string(a.Content), "sha256:../../x", 1) }, "is not a content id"},
		{"torn", manifest, func(s string) string { return s[:len(s)/2] }, "is built again"},
		{"empty", manifest, func(string) string { return "" }, "is built again"},
		{"of another size", manifest, func(s string) string { return strings.Replace(s, `"size": 9`, `"size": 8`, 1) }, "does not list what was sealed"},
		{"with a way out", manifest, func(s string) string { return strings.Replace(s, "bin/tool", "../../tool", 1) }, "is no path"},
	} {
		good, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(c.file, []byte(c.damage(string(good))), 0o644); err != nil {
			t.Fatal(err)
		}
		other, err := Open(s.Root())
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, ok, err := other.Lookup("tool", a.Key.ID); ok || err != nil {
				t.Errorf("%s %s: %v, %v", filepath.Base(c.file), c.name, ok, err)
			}
		}
		if w := other.Warnings(); len(w) != 1 || !strings.Contains(w[0], c.want) || !strings.Contains(w[0], filepath.Dir(c.file)) {
			t.Errorf("%s %s: warnings %q", filepath.Base(c.file), c.name, w)
		}
		if h, err := s.History("tool"); err != nil || len(h) > 1 {
			t.Errorf("history: %v, %v", h, err)
		}
		if seal(t, other, "one", "x"); there(t, s, "one") != "one" {
			t.Errorf("%s %s: sealing does not put it right", filepath.Base(c.file), c.name)
		}
		if got, err := os.ReadFile(manifest); err != nil || c.file == manifest && string(got) != string(good) {
			t.Errorf("%s: the manifest is %s, %v", c.name, got, err)
		}
	}
}

// A Seal of what is there already repairs it when it is damaged.
func TestSealReplacesADamagedObject(t *testing.T) {
	s := open(t)
	a := seal(t, s, "one", "x")
	tree, err := s.Tree(a.Content)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tree, "bin/tool"), []byte("Xbin/tool"), 0o755); err != nil {
		t.Fatal(err)
	}
	seal(t, s, "two", "x")
	if data, err := os.ReadFile(filepath.Join(tree, "bin/tool")); err != nil || string(data) != "xbin/tool" {
		t.Errorf("the object holds %q, %v", data, err)
	}
	if w := s.Warnings(); len(w) != 1 || !strings.Contains(w[0], "~ bin/tool") {
		t.Errorf("warnings %q", w)
	}
}

func TestCopyTreeRenamesAndLeavesOut(t *testing.T) {
	src, dest := t.TempDir(), t.TempDir()
	for _, name := range []string{"a/x", "a/y", "b/z"} {
		if err := os.MkdirAll(filepath.Join(src, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(src, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	err := CopyTree(t.Context(), src, dest, func(rel string) string {
		switch rel {
		case "a/x":
			return "deep/er/x"
		case "b/z":
			return "z"
		}
		return ""
	})
	if err != nil {
		t.Fatal(err)
	}
	entries, err := treehash.List(t.Context(), dest, treehash.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Path)
	}
	if got := strings.Join(names, " "); got != "deep deep/er deep/er/x z" {
		t.Errorf("copied %s", got)
	}
}

// A component whose rules for slices change gives the same bytes, and its files
// are then in other slices.
func TestSealOfOneContentInOtherSlices(t *testing.T) {
	s := open(t)
	first := seal(t, s, "first", "x")
	if _, err := s.Manifest(first.Content); err != nil {
		t.Fatal(err)
	}
	again, err := s.Seal(t.Context(), action("again"), stage(t, s, "x"), func(string) string { return "dev" })
	if err != nil || again.Content != first.Content {
		t.Fatalf("%s, %v", again.Content, err)
	}
	other, err := Open(s.Root())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Store{s, other} {
		m, err := s.Manifest(again.Content)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range m.Files {
			if f.Type != treehash.Dir && f.Slice != "dev" {
				t.Errorf("%s is in slice %q", f.Path, f.Slice)
			}
		}
	}
	if problems, err := s.examine(t.Context(), again.Content); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// A look that was cancelled has not found an object sound.
func TestExamineThatIsCancelledAtItsEnd(t *testing.T) {
	s := open(t)
	a := seal(t, s, "one", "x")
	dir, err := s.object(a.Content)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tree", "bin", "tool"), []byte("y"), 0o755); err != nil {
		t.Fatal(err)
	}
	for asked := range 100 {
		ctx := &ending{Context: t.Context(), left: asked}
		problems, err := s.examine(ctx, a.Content)
		if err == nil && len(problems) == 0 {
			t.Fatalf("cancelled after it was asked %d times, it says that a damaged object is sound", asked)
		}
		if err == nil {
			return
		}
	}
	t.Error("it never came to its end")
}

// ending is a context that is cancelled when it has been asked often enough.
type ending struct {
	context.Context
	mu   sync.Mutex
	left int
}

func (c *ending) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}
