package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// aged seals an artifact and says that it was used so long ago. The session
// that made it is over, so that nothing but its age speaks for it.
func aged(t *testing.T, s *Store, name string, hours int) Action {
	t.Helper()
	a := seal(t, s, name, name)
	when := time.Now().Add(-time.Duration(hours) * time.Hour)
	if err := os.Chtimes(s.actionFile(a.Component, a.Key.ID), when, when); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return a
}

// there lists which of the artifacts are found, by a store of its own.
func there(t *testing.T, s *Store, names ...string) string {
	t.Helper()
	other, err := Open(s.Root())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	var found []string
	for _, name := range names {
		if _, ok, err := other.Lookup("tool", action(name).Key.ID); err != nil {
			t.Fatal(err)
		} else if ok {
			found = append(found, name)
		}
	}
	return strings.Join(found, " ")
}

func trim(t *testing.T, s *Store, o TrimOptions) *Trimmed {
	t.Helper()
	got, err := s.Trim(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func names(items []Item) string {
	var out []string
	for _, it := range items {
		out = append(out, it.Name)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func put(t *testing.T, file, text string, hours int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	when := time.Now().Add(-time.Duration(hours) * time.Hour)
	for range 3 { // and the folders around it
		if err := os.Chtimes(file, when, when); err != nil {
			t.Fatal(err)
		}
		file = filepath.Dir(file)
	}
}

func TestTrimTakesTheLongestUnusedAndKeepsWhatIsInUse(t *testing.T) {
	s := open(t)
	for i, name := range []string{"old", "used", "bundled", "held", "fresh"} {
		aged(t, s, name, 10-i)
	}
	oldest, _, err := s.Lookup("tool", action("old").Key.ID)
	if err != nil {
		t.Fatal(err)
	}
	a, _, err := s.Lookup("tool", action("bundled").Key.ID)
	if err != nil {
		t.Fatal(err)
	}
	bundle := t.TempDir()
	put(t, filepath.Join(bundle, "m.json"), fmt.Sprintf(`{"components":[{"content":%q}]}`, a.Content), 0)
	if err := s.AddRoot(Root{Path: bundle, Contents: []Content{a.Content}, Manifest: "m.json"}); err != nil {
		t.Fatal(err)
	}
	used, _, err := s.Lookup("tool", action("used").Key.ID)
	if err != nil {
		t.Fatal(err)
	}
	s.Used(used)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	other, err := Open(s.Root())
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := other.Lookup("tool", action("held").Key.ID); !ok || err != nil {
		t.Fatal(ok, err)
	}
	before, err := s.Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// Room for all but two: old is the longest unused, then, as bundled and
	// held are in use, fresh: used was used now.
	o := TrimOptions{Max: before.Total - 1}
	for _, it := range before.Items {
		if it.Content == oldest.Content {
			o.Max -= it.Bytes
		}
	}
	o.DryRun = true
	dry := trim(t, s, o)
	if got := there(t, s, "old", "used", "bundled", "held", "fresh"); got != "old used bundled held fresh" {
		t.Errorf("a dry run leaves %s", got)
	}
	o.DryRun = false
	got := trim(t, s, o)
	if len(got.Removed) != 2 || len(got.Kept) != 2 || names(dry.Removed) != names(got.Removed) || names(dry.Kept) != names(got.Kept) {
		t.Errorf("removed %s, kept %s; the dry run said %s and %s", names(got.Removed), names(got.Kept), names(dry.Removed), names(dry.Kept))
	}
	if got.Total != before.Total-got.Bytes || got.Total > o.Max {
		t.Errorf("from %d bytes %d went, %d are left, at most %d were wanted", before.Total, got.Bytes, got.Total, o.Max)
	}
	if got := there(t, s, "old", "used", "bundled", "held", "fresh"); got != "used bundled held" {
		t.Errorf("there are %s", got)
	}
	// A lease ends with its session, a root with its bundle.
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if trim(t, s, TrimOptions{Max: 0}); there(t, s, "used", "bundled", "held") != "bundled" {
		t.Errorf("without room, there are %s", there(t, s, "used", "bundled", "held"))
	}
	put(t, filepath.Join(bundle, "m.json"), `{"components":[]}`, 0)
	if trim(t, s, TrimOptions{Max: 0}); there(t, s, "bundled") != "" {
		t.Error("what a bundle held before it was made anew is still there")
	}
	if _, ok := s.RootAt(bundle); ok {
		t.Error("the root is still registered")
	}
	if left, _ := os.ReadDir(s.Root() + "/tmp"); len(left) != 0 {
		t.Errorf("tmp holds %v", left)
	}
	// The records outlive their objects: they know how long a build takes.
	if h, err := s.History("tool"); err != nil || len(h) != 5 {
		t.Errorf("%d records, %v", len(h), err)
	}
}

// Everything that costs disk counts, and goes by its age.
func TestTrimGoesOverAllKinds(t *testing.T) {
	s := open(t)
	text := strings.Repeat("x", 10_000)
	aged(t, s, "one", 1)
	root := s.Root()
	sum := strings.Repeat("ab", 32)
	put(t, filepath.Join(root, "sources/sha256", sum), text, 30)
	put(t, filepath.Join(root, "checkouts/c0ffee.git/HEAD"), text, 20)
	put(t, filepath.Join(root, "apt/index/Packages"), text, 15)
	put(t, filepath.Join(root, "work/half-0123456789ab/build/x.o"), text, 10)
	put(t, filepath.Join(root, "quarantine/q/object/x"), text, 5)
	inv, err := s.Inventory(t.Context())
	if err != nil || len(inv.Items) != 6 || inv.Total < 50_000 {
		t.Fatalf("%+v, %v", inv, err)
	}
	for _, want := range []string{sum, "c0ffee", "index", "half-0123456789ab", "q"} {
		inv, err := s.Inventory(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := trim(t, s, TrimOptions{Max: inv.Total - 1}); names(got.Removed) != want {
			t.Errorf("removed %s, want %s", names(got.Removed), want)
		}
	}
	if got := there(t, s, "one"); got != "one" {
		t.Error("the artifact that was used last is gone")
	}
}

// While another process uses the store, it may be reading any download, and
// the folder of a build is its builder's.
func TestTrimLeavesOthersTheirDownloadsAndWork(t *testing.T) {
	s := open(t)
	put(t, filepath.Join(s.Root(), "sources/sha256", strings.Repeat("ab", 32)), "x", 30)
	put(t, filepath.Join(s.Root(), "work/tool-0123456789ab/x"), "x", 30)
	put(t, filepath.Join(s.Root(), "checkouts/c0ffee.git/HEAD"), "x", 30)
	other, err := Open(s.Root())
	if err != nil {
		t.Fatal(err)
	}
	other.Sources()
	unlock, err := other.Lock("tool-0123456789ab")
	if err != nil {
		t.Fatal(err)
	}
	fetched, ok := other.tryLock(filepath.Join(s.Checkouts(), "c0ffee.lock"))
	if !ok {
		t.Fatal("the checkout cannot be locked")
	}
	if got := trim(t, s, TrimOptions{Max: 0, Stale: true}); len(got.Removed) != 0 || len(got.Kept) != 3 {
		t.Errorf("removed %s, kept %s", names(got.Removed), names(got.Kept))
	}
	unlock()
	fetched()
	if got := trim(t, s, TrimOptions{Max: 0}); names(got.Removed) != "c0ffee tool-0123456789ab" {
		t.Errorf("removed %s", names(got.Removed))
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if got := trim(t, s, TrimOptions{Max: 0}); names(got.Removed) != strings.Repeat("ab", 32) {
		t.Errorf("removed %s", names(got.Removed))
	}
}

// Leftovers of the dead go, those of the living stay; a work folder is stale
// when its key has a result.
func TestTrimSweeps(t *testing.T) {
	s := open(t)
	a := aged(t, s, "one", 1)
	own, err := s.Tmp("own")
	if err != nil {
		t.Fatal(err)
	}
	dead, err := Open(s.Root())
	if err != nil {
		t.Fatal(err)
	}
	left, err := dead.Tmp("dead")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(left, "read-only"), 0o500); err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(s.Root(), "work", "tool-"+a.Key.ID.Short())
	put(t, filepath.Join(stale, "x"), "x", 1)
	put(t, filepath.Join(s.Root(), "tmp/stage-older"), "x", 25)
	if got := trim(t, s, TrimOptions{Max: -1}); names(got.Removed) != "stage-older" {
		t.Errorf("removed %s", names(got.Removed))
	}
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	if got := trim(t, s, TrimOptions{Max: -1}); names(got.Removed) != filepath.Base(left) {
		t.Errorf("removed %s", names(got.Removed))
	}
	if got := trim(t, s, TrimOptions{Max: -1, Stale: true}); names(got.Removed) != filepath.Base(stale) {
		t.Errorf("removed %s", names(got.Removed))
	}
	if _, err := os.Stat(own); err != nil {
		t.Error(err)
	}
}

// Records without an object are bounded.
func TestTrimForgets(t *testing.T) {
	s := open(t)
	for i := range keptRecords + 3 {
		aged(t, s, fmt.Sprint(i), 1)
	}
	trim(t, s, TrimOptions{Max: 0})
	h, err := s.History("tool")
	if err != nil || len(h) != keptRecords || h[0].Key.ID != action(fmt.Sprint(keptRecords+2)).Key.ID {
		t.Errorf("%d records, %v", len(h), err)
	}
}

// What a session makes that begins while the store is looked through is not
// taken for a leftover.
func TestTrimLeavesSessionsThatBeginMeanwhile(t *testing.T) {
	s := open(t)
	for i := range 1000 { // it takes a while to look through these
		put(t, filepath.Join(s.Root(), "quarantine", fmt.Sprint(i%10), fmt.Sprint(i)), "x", 1)
	}
	stop, done := make(chan struct{}), make(chan error)
	go func() {
		var errs []error
		for i := 0; ; i++ {
			select {
			case <-stop:
				done <- errors.Join(errs...)
				return
			default:
				// Leftovers alone, or everything.
				_, err := s.Trim(context.Background(), TrimOptions{Max: int64(i%2)<<40 - 1})
				errs = append(errs, err)
			}
		}
	}()
	var made []string
	for range 100 {
		other, err := Open(s.Root())
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		dir, err := other.Tmp("work")
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, dir)
	}
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
	gone := 0
	for _, dir := range made {
		if _, err := os.Stat(dir); err != nil {
			gone++
		}
	}
	if gone > 0 {
		t.Errorf("%d of %d folders of live sessions are gone", gone, len(made))
	}
}

// Who looks a content up while eviction is under way waits for it, and then
// looks: it does not find what goes away.
func TestLookupWaitsForEviction(t *testing.T) {
	s := open(t)
	a := aged(t, s, "one", 1)
	if _, err := s.Manifest(a.Content); err != nil { // which is remembered
		t.Fatal(err)
	}
	s.Sources() // its session has begun: the lease is next
	gate, err := lockFile(t.Context(), filepath.Join(s.Root(), "locks", leaseLock), unix.LOCK_EX)
	if err != nil {
		t.Fatal(err)
	}
	found := make(chan bool)
	go func() {
		_, ok, err := s.Lookup("tool", a.Key.ID)
		if err != nil {
			t.Error(err)
		}
		found <- ok
	}()
	select {
	case ok := <-found:
		t.Fatalf("it did not wait: found %v", ok)
	case <-time.After(100 * time.Millisecond): // who does not wait has long been there
	}
	dir, err := s.object(a.Content)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, filepath.Join(s.Root(), "tmp", grave+"x")); err != nil {
		t.Fatal(err)
	}
	if err := gate.Close(); err != nil {
		t.Fatal(err)
	}
	if <-found {
		t.Error("what went away meanwhile was found")
	}
}
