package store

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Kind tells the things apart that cost disk.
type Kind string

// The kinds of things in a store.
const (
	Artifact   Kind = "artifact"   // an object, with its manifest
	Download   Kind = "download"   // a file of sources/
	Checkout   Kind = "checkout"   // the git objects of a commit
	Index      Kind = "index"      // an index of a Debian suite
	Work       Kind = "work"       // the folder of a build that did not end well
	Quarantine Kind = "quarantine" // what Verify found damaged
	Leftover   Kind = "leftover"   // what a dead process had not finished
)

// Item is one thing that costs disk.
type Item struct {
	Kind Kind `json:"kind"`
	// Name is the folder's or file's own: a hash, a commit, component-key.
	Name      string    `json:"name"`
	Component string    `json:"component,omitempty"`
	Host      string    `json:"host,omitempty"`
	Content   Content   `json:"content,omitempty"`
	Bytes     int64     `json:"bytes"`
	Used      time.Time `json:"used"` // the last time that a build took it
	// By says who uses it now: bundles and processes.
	By []string `json:"by,omitempty"`

	path string
	// lock is the file whose holder works in it; "" when there is none.
	lock string
	// stale: nothing will ever ask for it.
	stale bool
}

// Inventory is everything in a store.
type Inventory struct {
	Items []Item `json:"items"` // by kind, then component, then the latest used first
	// Other is the size of what is not listed: records, locks.
	Other int64 `json:"other"`
	// Total is the sum of all, in bytes.
	Total int64 `json:"total"`
}

// Inventory looks at everything in the store. Sizes are those of the files, as
// far as they are known without reading folders again.
func (s *Store) Inventory(ctx context.Context) (*Inventory, error) {
	inv, err := s.scan(ctx)
	if err != nil {
		return nil, s.fail("cannot list the store", err)
	}
	users, err := s.users(false)
	if err != nil {
		return nil, err
	}
	for i := range inv.Items {
		inv.Items[i].By = users.of(&inv.Items[i])
		if inv.Items[i].By == nil && busy(inv.Items[i].lock) {
			inv.Items[i].By = []string{"a build"}
		}
	}
	return inv, nil
}

func (s *Store) scan(ctx context.Context) (*Inventory, error) {
	inv := &Inventory{}
	records, err := s.records()
	if err != nil {
		return nil, err
	}
	for _, part := range []func(context.Context, *Inventory, []record) error{
		s.scanObjects, s.scanSources, s.scanCheckouts, s.scanWork, s.scanRest, s.scanTmp,
	} {
		if err := part(ctx, inv, records); err != nil {
			return nil, err
		}
	}
	for _, r := range records {
		inv.Other += r.bytes
	}
	inv.Total = inv.Other
	for _, it := range inv.Items {
		inv.Total += it.Bytes
	}
	slices.SortStableFunc(inv.Items, func(a, b Item) int {
		if c := strings.Compare(string(a.Kind), string(b.Kind)); c != 0 {
			return c
		}
		if c := strings.Compare(a.Component, b.Component); c != 0 {
			return c
		}
		return b.Used.Compare(a.Used)
	})
	return inv, nil
}

// record is a file of actions/.
type record struct {
	Action
	file  string
	bytes int64
	used  time.Time
}

// records reads all actions. Unreadable ones are left out.
func (s *Store) records() ([]record, error) {
	var all []record
	err := filepath.WalkDir(filepath.Join(s.root, "actions"), func(file string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // somebody else was quicker
		}
		if err != nil || d.IsDir() || filepath.Ext(file) != ".json" {
			return err
		}
		a, err := readAction(file)
		if err != nil {
			return nil // it names no object
		}
		if info, err := d.Info(); err == nil {
			all = append(all, record{a, file, info.Size(), info.ModTime()})
		}
		return nil
	})
	return all, err
}

// scanObjects goes by the objects that are there; their actions say what they
// are, how large, and when they were used.
func (s *Store) scanObjects(ctx context.Context, inv *Inventory, records []record) error {
	known := map[Content][]record{}
	for _, r := range records {
		known[r.Content] = append(known[r.Content], r)
	}
	dirs, err := filepath.Glob(filepath.Join(escape(s.root), "objects", "[0-9a-f][0-9a-f]", "*"))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		info, err := os.Lstat(dir)
		if err != nil {
			continue
		}
		it := Item{Kind: Artifact, Name: filepath.Base(dir), Content: Content("sha256:" + filepath.Base(dir)), path: dir, Used: info.ModTime()}
		if own := known[it.Content]; len(own) > 0 {
			it.Used = time.Time{}
			for _, r := range own {
				if !r.used.Before(it.Used) {
					it.Component, it.Host, it.Bytes, it.Used = r.Component, r.Host, r.Bytes, r.used
				}
			}
			if m, err := os.Lstat(filepath.Join(dir, "manifest.json")); err == nil {
				it.Bytes += m.Size()
			}
		} else if it.Bytes, _, err = size(ctx, dir); err != nil {
			return err
		}
		inv.Items = append(inv.Items, it)
	}
	return nil
}

// escape makes a path safe as the beginning of a glob pattern.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func (s *Store) scanSources(ctx context.Context, inv *Inventory, _ []record) error {
	return s.each("sources/sha256", func(dir string, d fs.DirEntry, info fs.FileInfo) error {
		used := info.ModTime()
		var st unix.Stat_t
		if unix.Lstat(filepath.Join(dir, d.Name()), &st) == nil {
			if read := time.Unix(st.Atim.Unix()); read.After(used) {
				used = read // as exact as the mount counts it
			}
		}
		inv.Items = append(inv.Items, Item{Kind: Download, Name: d.Name(), Bytes: info.Size(), Used: used, path: filepath.Join(dir, d.Name())})
		return nil
	})
}

func (s *Store) scanCheckouts(ctx context.Context, inv *Inventory, _ []record) error {
	return s.each("checkouts", func(dir string, d fs.DirEntry, info fs.FileInfo) error {
		commit, ok := strings.CutSuffix(d.Name(), ".git")
		if !ok || !d.IsDir() {
			return nil // a lock
		}
		it := Item{Kind: Checkout, Name: commit, Used: info.ModTime(), path: filepath.Join(dir, d.Name()), lock: filepath.Join(dir, commit+".lock")}
		var err error
		it.Bytes, _, err = size(ctx, it.path)
		inv.Items = append(inv.Items, it)
		return err
	})
}

// scanWork lists the folders of builds. One whose key has a result since is
// stale: nobody goes on with it.
func (s *Store) scanWork(ctx context.Context, inv *Inventory, records []record) error {
	sealed := map[string]bool{}
	for _, r := range records {
		if _, err := s.Tree(r.Content); err == nil {
			sealed[r.Component+"-"+r.Key.ID.Short()] = true
		}
	}
	return s.each("work", func(dir string, d fs.DirEntry, info fs.FileInfo) error {
		it := Item{Kind: Work, Name: d.Name(), path: filepath.Join(dir, d.Name()), lock: filepath.Join(s.root, "locks", d.Name()), stale: sealed[d.Name()]}
		if i := strings.LastIndexByte(d.Name(), '-'); i > 0 {
			it.Component = d.Name()[:i]
		}
		var err error
		it.Bytes, it.Used, err = size(ctx, it.path)
		inv.Items = append(inv.Items, it)
		return err
	})
}

// scanRest lists what else costs disk: indexes, quarantine, half downloads.
func (s *Store) scanRest(ctx context.Context, inv *Inventory, _ []record) error {
	for _, part := range []struct {
		dir  string
		kind Kind
	}{{"apt", Index}, {"quarantine", Quarantine}, {"sources/tmp", Leftover}} {
		err := s.each(part.dir, func(dir string, d fs.DirEntry, info fs.FileInfo) error {
			it := Item{Kind: part.kind, Name: d.Name(), Used: info.ModTime(), path: filepath.Join(dir, d.Name())}
			var err error
			it.Bytes, _, err = size(ctx, it.path)
			switch part.kind {
			case Quarantine:
				it.Component = readReason(it.path).Component
			case Leftover:
				it.stale = true // when nobody downloads: see users.of
			}
			inv.Items = append(inv.Items, it)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// scanTmp lists what is not sealed yet, and what of it nobody will seal.
func (s *Store) scanTmp(ctx context.Context, inv *Inventory, _ []record) error {
	first := len(inv.Items)
	err := s.each("tmp", func(dir string, d fs.DirEntry, info fs.FileInfo) error {
		it := Item{Kind: Leftover, Name: d.Name(), Used: info.ModTime(), path: filepath.Join(dir, d.Name())}
		var err error
		it.Bytes, _, err = size(ctx, it.path)
		inv.Items = append(inv.Items, it)
		return err
	})
	if err != nil {
		return err
	}
	// Only now: whose session is not among these had ended when tmp was listed.
	// Asked before, it might have begun since.
	sessions, err := s.Sessions()
	if err != nil {
		return err
	}
	live := map[string]bool{}
	for _, x := range sessions {
		live[x.ID] = true
	}
	for i := first; i < len(inv.Items); i++ {
		it := &inv.Items[i]
		id, named := tmpSession(it.Name)
		it.stale = named && !live[id] || strings.HasPrefix(it.Name, grave) ||
			// An older Stonemason left no name: a day is longer than it needed.
			!named && time.Since(it.Used) > 24*time.Hour
		if !it.stale {
			it.By = []string{"a build"}
		}
	}
	return nil
}

// each calls f with the entries of a folder of the store. A folder that is not
// there has none; an entry that goes away meanwhile is passed over.
func (s *Store) each(name string, f func(dir string, d fs.DirEntry, info fs.FileInfo) error) error {
	dir := filepath.Join(s.root, filepath.FromSlash(name))
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, d := range entries {
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := f(dir, d, info); err != nil {
			return err
		}
	}
	return nil
}

// size sums up the files below a path and finds the last change of any. Others
// may be at work there: what goes away meanwhile is not counted.
func size(ctx context.Context, path string) (bytes int64, changed time.Time, err error) {
	err = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if errors.Is(err, fs.ErrPermission) && d != nil && d.IsDir() {
			return fs.SkipDir // a folder that its owner has closed
		}
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		if info.ModTime().After(changed) {
			changed = info.ModTime()
		}
		if info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	return bytes, changed, err
}

// users says who uses what.
type users struct {
	contents map[Content][]string
	others   []Session
}

// users reads roots and leases. drop takes away the roots of bundles that are
// not there any more: see roots.
func (s *Store) users(drop bool) (*users, error) {
	u := &users{contents: map[Content][]string{}}
	roots, err := s.roots(drop)
	if err != nil {
		return nil, err
	}
	for _, r := range roots {
		for _, c := range sorted(r.Contents) {
			u.contents[c] = append(u.contents[c], r.Path)
		}
	}
	all, err := s.Sessions()
	if err != nil {
		return nil, err
	}
	for _, x := range all {
		for _, c := range sorted(x.Contents) {
			u.contents[c] = append(u.contents[c], x.String())
		}
	}
	u.others, err = s.others()
	return u, err
}

// of says who uses an item. Downloads and indexes have no leases of their own:
// while another process lives that may use any, all are in use.
func (u *users) of(it *Item) []string {
	switch {
	case it.Kind == Artifact:
		return u.contents[it.Content]
	case len(u.others) == 0:
		return it.By
	case it.Kind == Download || it.Kind == Index || it.Kind == Leftover && filepath.Base(filepath.Dir(filepath.Dir(it.path))) == "sources":
		var by []string
		for _, x := range u.others {
			by = append(by, x.String())
		}
		return by
	}
	return it.By
}

// busy reports whether somebody holds a lock.
func busy(lock string) bool {
	if lock == "" {
		return false
	}
	f, err := os.OpenFile(lock, os.O_RDWR|openFlags, 0)
	if err != nil {
		return false // a lock that was never taken
	}
	defer f.Close()
	return errors.Is(flock(f, unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// reason is the file reason.json of a thing in quarantine.
type reason struct {
	Schema    int       `json:"schema"`
	Component string    `json:"component,omitempty"`
	Content   Content   `json:"content,omitempty"`
	Download  string    `json:"download,omitempty"` // sha256
	Found     time.Time `json:"found"`
	Problems  []string  `json:"problems"`
}

func readReason(dir string) (r reason) {
	if data, err := readRecord(filepath.Join(dir, "reason.json")); err == nil {
		_ = json.Unmarshal(data, &r) // only for people
	}
	return r
}
