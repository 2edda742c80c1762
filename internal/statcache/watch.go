package statcache

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Watch collects the files that decide an answer. A nil Watch collects
// nothing; several goroutines may use one.
type Watch struct {
	mu    sync.Mutex
	paths map[string]bool // path → whether the way there counts
	never bool
}

// Add watches files and folders, there or not. A folder counts as changed when
// a name in it comes, goes or is replaced.
func (w *Watch) Add(paths ...string) { w.add(false, paths) }

// AddLinked watches files and where symlinks lead to them.
func (w *Watch) AddLinked(paths ...string) { w.add(true, paths) }

func (w *Watch) add(linked bool, paths []string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.paths == nil {
		w.paths = map[string]bool{}
	}
	for _, p := range paths {
		if filepath.IsAbs(p) {
			w.paths[p] = w.paths[p] || linked
		} else {
			w.never = true // it depends on the working directory
		}
	}
}

// Never says that files do not decide the answer, so that it is not kept.
func (w *Watch) Never() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.never = true
}

// witnesses looks at all files. ok is false when one cannot vouch for an
// answer that was asked for at a moment.
func (w *Watch) witnesses(asked time.Time) (list []witness, ok bool) {
	if w == nil {
		return nil, true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.never || len(w.paths) > maxWitnesses {
		return nil, false
	}
	for _, path := range slices.Sorted(maps.Keys(w.paths)) {
		is, err := Stat(path)
		if err != nil || is.Exists() && !is.Settled(asked) {
			return nil, false
		}
		one := witness{identity: string(is.append(nil)), path: path}
		if w.paths[path] && is.Exists() {
			if one.real, err = filepath.EvalSymlinks(path); err != nil {
				return nil, false
			}
		}
		list = append(list, one)
	}
	return list, true
}

func statOpen(f *os.File) (Identity, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return Identity{}, err
	}
	return Of(&st), nil
}
