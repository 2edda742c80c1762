package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// TrimOptions say what Trim may take.
type TrimOptions struct {
	// Max is the size in bytes that the store is brought down to; negative is
	// no cap.
	Max int64
	// Stale takes what nobody will ask for, whatever the size: work folders
	// whose result was sealed since. Leftovers of dead processes always go.
	Stale bool
	// DryRun only says what would go.
	DryRun bool
}

// Trimmed is what Trim did.
type Trimmed struct {
	Removed []Item `json:"removed"`
	Bytes   int64  `json:"bytes"` // of what was removed
	// Kept would have gone by its age, and is in use.
	Kept []Item `json:"kept"`
	// Total is the store's size afterwards.
	Total int64 `json:"total"`
}

// keptRecords is how many records of a component outlive their objects, the
// newest: they tell how long a build takes and what changed since.
const keptRecords = 8

// grave begins the names of what waits in tmp to be deleted.
const grave = "gone-"

// Trim removes leftovers and then, those used longest ago first, whatever the
// store holds until it is at most as large as the cap: artifacts, downloads,
// git objects, work folders, quarantine. What a bundle or a live process uses
// stays, whatever its age; so the store may stay above the cap.
//
// What goes away loses its name first, by a rename while no lease can be
// taken, and is deleted after that: nobody ever finds half of it.
func (s *Store) Trim(ctx context.Context, o TrimOptions) (*Trimmed, error) {
	t := &Trimmed{}
	if o.Max < 0 && !o.Stale && !o.DryRun {
		return t, s.fail("cannot trim", s.sweep(ctx, t))
	}
	unlock, err := s.LockContext(ctx, "trim")
	if err != nil {
		return t, err
	}
	defer unlock()
	inv, err := s.scan(ctx)
	if err != nil {
		return t, s.fail("cannot trim", err)
	}
	t.Total = inv.Total
	slices.SortStableFunc(inv.Items, func(a, b Item) int { return a.Used.Compare(b.Used) })
	// The leftovers first, whatever their age.
	slices.SortStableFunc(inv.Items, func(a, b Item) int { return sooner(b, o) - sooner(a, o) })
	graves, err := s.bury(inv.Items, o, t)
	for _, dir := range graves {
		if ctx.Err() != nil {
			break // the next Trim finds them
		}
		err = errors.Join(err, removeAll(dir))
	}
	if err == nil && !o.DryRun {
		err = s.forget()
	}
	if err == nil {
		err = ctx.Err()
	}
	return t, s.fail("cannot trim", err)
}

// sooner is 1 for what goes whatever the size of the store.
func sooner(it Item, o TrimOptions) int {
	if it.stale && (it.Kind == Leftover || o.Stale) {
		return 1
	}
	return 0
}

// bury takes the names of what is to go, in the order of items, and returns
// the folders to delete. Meanwhile nobody can take a lease.
func (s *Store) bury(items []Item, o TrimOptions, t *Trimmed) (graves []string, err error) {
	gate, err := lockFile(context.Background(), filepath.Join(s.root, "locks", leaseLock), unix.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer gate.Close()
	users, err := s.users(!o.DryRun)
	if err != nil {
		return nil, err
	}
	for _, it := range items {
		must := sooner(it, o) == 1
		if !must && (o.Max < 0 || t.Total <= o.Max || it.Kind == Leftover) {
			continue
		}
		if it.By = users.of(&it); it.By != nil {
			t.Kept = append(t.Kept, it)
			continue
		}
		dir, taken, err := s.take(it, o.DryRun)
		if err != nil {
			return graves, err
		}
		if taken {
			it.By = []string{"a build"}
			t.Kept = append(t.Kept, it)
			continue
		}
		if dir != "" {
			graves = append(graves, dir)
		}
		t.Removed = append(t.Removed, it)
		t.Bytes += it.Bytes
		t.Total -= it.Bytes
	}
	return graves, nil
}

// take renames an item into its grave, unless somebody works in it.
func (s *Store) take(it Item, dry bool) (dir string, taken bool, err error) {
	lock := it.lock
	if it.Kind == Artifact {
		// An older Stonemason that is sealing the same object takes no lease.
		lock = filepath.Join(s.root, "locks", "object-"+it.Name)
	}
	if dry {
		return "", busy(lock), nil
	}
	if lock != "" {
		unlock, ok := s.tryLock(lock)
		if !ok {
			return "", true, nil
		}
		defer unlock()
	}
	var raw [8]byte
	_, _ = rand.Read(raw[:]) // never fails
	dir = filepath.Join(s.root, "tmp", grave+hex.EncodeToString(raw[:]))
	// A plain rename: on a full disk there may be no room for a folder.
	err = os.Rename(it.path, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil // somebody else was quicker
	}
	return dir, false, err
}

// sweep removes the leftovers of dead processes, without looking at anything
// else: it costs next to nothing.
func (s *Store) sweep(ctx context.Context, t *Trimmed) error {
	inv := &Inventory{}
	err := s.scanTmp(ctx, inv, nil)
	for _, it := range inv.Items {
		if !it.stale {
			continue
		}
		if err := removeAll(it.path); err != nil {
			return err
		}
		t.Removed = append(t.Removed, it)
		t.Bytes += it.Bytes
	}
	return err
}

// forget removes the records whose object is gone, but the newest of each
// component. They are small, and many.
func (s *Store) forget() error {
	all, err := s.records()
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b record) int { return b.Created.Compare(a.Created) })
	gone := map[string]int{}
	for _, r := range all {
		if _, err := s.Tree(r.Content); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if gone[r.Component]++; gone[r.Component] <= keptRecords {
			continue
		}
		if err := os.Remove(r.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Used records that an action's result was used now: Trim goes by it.
func (s *Store) Used(a Action) {
	now := time.Now()
	_ = os.Chtimes(s.actionFile(a.Component, a.Key.ID), now, now) // a store that cannot be written trims by age of building
}
