package treehash

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/stonemason-hip/stonemason/internal/statcache"
)

// Workspace is a folder that a person works in. Its id and its listing are
// those of HashGitWorkspace and ListGitWorkspace, found sooner: what was learnt
// is kept in a snapshot file, and as long as the kernel says of every folder
// and file that nothing was written, and of git's index and every file that
// says what git ignores, neither git is started nor a file opened. A change
// costs itself; when a name came, went or changed its kind, git is asked again.
type Workspace struct {
	Dir     string
	Options Options
	// Cache is the folder for snapshot files; "" learns everything anew.
	Cache string

	// slack is statcache.Slack; tests are in a hurry.
	slack time.Duration
}

// way is how an answer was found.
type way string

const (
	unchanged way = "unchanged" // by looking
	refreshed way = "refreshed" // some files were read
	relisted  way = "relisted"  // git was asked, or the folder walked
)

// Hash returns the content id of the workspace.
func (w *Workspace) Hash(ctx context.Context) (string, Stats, error) {
	v, s, _, err := w.current(ctx)
	if err != nil {
		return "", Stats{}, err
	}
	if s != nil {
		return s.ID, s.Stats, nil
	}
	return v.ID, v.Stats, nil
}

// List returns the entries of the workspace, sorted by path.
func (w *Workspace) List(ctx context.Context) ([]Entry, error) {
	v, s, _, err := w.current(ctx)
	if err != nil {
		return nil, err
	}
	if s == nil {
		s = v.decode()
	}
	return s.entries(), nil
}

// current brings what is known up to date: as a view, when nothing changed,
// or as a snapshot.
func (w *Workspace) current(ctx context.Context) (*view, *snapshot, way, error) {
	abs, err := filepath.Abs(w.Dir)
	if err != nil {
		return nil, nil, "", fmt.Errorf("hash workspace: %w", err)
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return nil, nil, "", fmt.Errorf("hash workspace: %w", err)
	}
	opts := w.Options
	opts.Exclude = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(opts.Exclude), ".git"))))
	file := w.file(abs, opts)
	v := w.known(file, abs, opts)
	if v != nil && !v.Ask && v.holds() {
		d, err := v.compare(ctx)
		if err != nil {
			return nil, nil, "", err
		}
		if d.empty() {
			return v, nil, unchanged, nil
		}
		s, ok, err := w.refresh(ctx, v, d)
		if err != nil {
			return nil, nil, "", fmt.Errorf("hash workspace %s: %w", w.Dir, err)
		}
		if ok {
			w.keep(file, s)
			return nil, s, refreshed, nil
		}
	}
	s, err := w.relist(ctx, abs, opts, v)
	if err != nil {
		return nil, nil, "", fmt.Errorf("hash workspace %s: %w", w.Dir, err)
	}
	w.keep(file, s)
	return nil, s, relisted, nil
}

// settled reports whether what is learnt of a file from now on holds as long
// as its identity stays.
func (w *Workspace) settled(is statcache.Identity, now time.Time) bool {
	slack := w.slack
	if slack == 0 {
		slack = statcache.Slack
	}
	return is.SettledBy(now.Add(-slack))
}

// file is the snapshot file of a workspace.
func (w *Workspace) file(abs string, opts Options) string {
	if w.Cache == "" {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %d", abs, opts.Exclude, opts.maxEntries()))
	return filepath.Join(w.Cache, hex.EncodeToString(sum[:12]))
}

// known reads the snapshot file. A damaged one, and one of other
// circumstances, is none.
func (w *Workspace) known(file, abs string, opts Options) *view {
	if file == "" {
		return nil
	}
	v, err := readView(file)
	if err != nil || v.Dir != abs || !slices.Equal(v.Exclude, opts.Exclude) {
		return nil
	}
	if top, _ := enclosingRepository(abs); top != v.Top || gitProgram() != v.Git {
		return nil
	}
	return v
}

// gitProgram is the path of git, or "".
func gitProgram() string {
	path, err := exec.LookPath("git")
	if err != nil {
		return ""
	}
	return path
}

// keep computes the id and writes the snapshot file. That a file cannot be
// written costs time at the next start, and nothing else.
func (w *Workspace) keep(file string, s *snapshot) {
	entries := s.entries()
	s.ID, s.Stats = IDOf(entries), StatsOf(entries)
	if file == "" {
		return
	}
	data, err := s.encode()
	if err == nil {
		err = statcache.WriteFile(file, data)
	}
	if err != nil {
		os.Remove(file)
	}
	prune(w.Cache)
}

// maxSnapshots is how many workspaces are remembered.
const maxSnapshots = 16

// prune removes all but the newest files of a snapshot folder: of workspaces
// that were built once, and of processes that were killed while they wrote.
func prune(cache string) {
	entries, err := os.ReadDir(cache)
	if err != nil || len(entries) <= maxSnapshots {
		return
	}
	age := map[string]int64{}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			age[e.Name()] = info.ModTime().UnixNano()
		}
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return cmp.Compare(age[b.Name()], age[a.Name()]) })
	for _, e := range entries[maxSnapshots:] {
		os.Remove(filepath.Join(cache, e.Name()))
	}
}

// learn reads the files and links of some leaves, on all cores.
func (w *Workspace) learn(ctx context.Context, root string, leaves []*leaf) error {
	var files []job
	for _, l := range leaves {
		files = append(files, job{entry: &l.Entry, size: l.is.Size, done: func(is statcache.Identity, began time.Time) {
			l.is, l.settled = is, w.settled(is, began)
		}})
	}
	return readAll(ctx, root, files)
}

// relist asks git, or walks the folder, and reads what an older view does not
// know.
func (w *Workspace) relist(ctx context.Context, abs string, opts Options, old *view) (*snapshot, error) {
	began := time.Now()
	list := &listing{root: abs, opts: opts, watched: &watched{rules: map[string]statcache.Identity{}}}
	entries, err := list.workspace(ctx)
	if err != nil {
		return nil, err
	}
	if err := list.walkFolders(ctx); err != nil {
		return nil, err
	}
	s := &snapshot{meta: meta{Dir: abs, Exclude: opts.Exclude, Git: gitProgram(), Ask: list.watched.ask}}
	s.Top, _ = enclosingRepository(abs)
	for _, path := range slices.Sorted(maps.Keys(list.watched.rules)) {
		is := list.watched.rules[path]
		s.Rules = append(s.Rules, rule{path, is, w.settled(is, began)})
	}
	listed := map[string]bool{"": true}
	for _, e := range entries {
		if e.Type == Dir {
			listed[e.Path] = true
		}
	}
	for _, f := range list.watched.folders {
		if f.listed = listed[f.path]; f.listed {
			delete(listed, f.path)
		}
		if f.settled = w.settled(f.is, began); !f.settled {
			// Names that came while git was listing are not in its list.
			f.names = [16]byte{}
		}
		s.folders = append(s.folders, f)
	}
	for path := range listed { // it went meanwhile
		s.folders, s.Ask = append(s.folders, folder{path: path, listed: true}), true
	}
	for _, e := range entries {
		if e.Type != Dir {
			s.leaves = append(s.leaves, leaf{Entry: e})
		}
	}
	return s, w.learn(ctx, abs, s.unknown(abs, old))
}

// unknown takes over from an older view what it knows of the leaves, and
// returns the others.
func (s *snapshot) unknown(root string, old *view) []*leaf {
	known := map[string]leaf{}
	if old != nil {
		for _, l := range old.decode().leaves {
			known[l.Path] = l
		}
	}
	is := make([]statcache.Identity, len(s.leaves))
	lookAt(root, len(is), func(i int) string { return s.leaves[i].Path }, is)
	var unknown []*leaf
	for i := range s.leaves {
		l := &s.leaves[i]
		if was, ok := known[l.Path]; ok && was.settled && was.is == is[i] && was.Type == l.Type {
			*l = was
		} else {
			l.is = is[i]
			unknown = append(unknown, l)
		}
	}
	return unknown
}
