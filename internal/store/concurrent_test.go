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

// A record that cannot be read is an error that says what to do; one that
// names another key is not believed.
func TestLookupOfADamagedRecord(t *testing.T) {
	s := open(t)
	a := seal(t, s, "one", "x")
	file := s.actionFile("tool", a.Key.ID)
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"torn": string(good[:20]), "empty": "", "of another key": strings.Replace(string(good), string(a.Key.ID), string(action("two").Key.ID), 1),
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := s.Lookup("tool", a.Key.ID); ok || err == nil || !strings.Contains(err.Error(), "remove ") || !strings.Contains(err.Error(), file) {
			t.Errorf("record %s: %v, %v", name, ok, err)
		}
	}
	if h, err := s.History("tool"); err != nil || len(h) > 1 {
		t.Errorf("history: %v, %v", h, err)
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
