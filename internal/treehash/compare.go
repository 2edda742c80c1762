package treehash

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/stonemason-hip/stonemason/internal/statcache"
)

// difference is what the disk says otherwise than a snapshot, or what the
// snapshot could not vouch for. The numbers are those of the view, ascending.
type difference struct {
	folders, leaves []int
	// moved: a folder is gone, or is no folder any more.
	moved bool
}

func (d *difference) empty() bool { return len(d.folders) == 0 && len(d.leaves) == 0 && !d.moved }

// stride is how many folders one goroutine takes at a time.
const stride = 16

// compare looks at every folder and leaf of a view, and opens no file.
func (v *view) compare(ctx context.Context) (*difference, error) {
	root, err := openFolder(unix.AT_FDCWD, v.Dir)
	if err != nil {
		return &difference{moved: true}, nil
	}
	defer unix.Close(root)
	var mu sync.Mutex
	var all difference
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	// More than cores: where the kernel must read inodes from a disk, several
	// such waits at a time are shorter.
	for range min(4*runtime.GOMAXPROCS(0), v.folderCount()/stride+1) {
		g.Go(func() error {
			var d difference
			for {
				from := int(next.Add(stride)) - stride
				if from >= v.folderCount() {
					break
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				for i := from; i < min(from+stride, v.folderCount()); i++ {
					v.compareFolder(root, i, &d)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			all.folders = append(all.folders, d.folders...)
			all.leaves = append(all.leaves, d.leaves...)
			all.moved = all.moved || d.moved
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	slices.Sort(all.folders)
	slices.Sort(all.leaves)
	return &all, nil
}

func openFolder(at int, path string) (int, error) {
	for {
		fd, err := unix.Openat(at, path, lookFlags, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

func (v *view) compareFolder(root, i int, d *difference) {
	f, first, count := v.folderAt(i)
	fd, err := openFolder(root, cmp.Or(f.path, "."))
	if err != nil {
		d.moved = true
		return
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || !f.settled || statcache.Of(&st) != f.is {
		d.folders = append(d.folders, i)
	}
	for j := first; j < first+count; j++ {
		name, is, settled := v.leafIs(j)
		if err := lstatAt(fd, name, &st); err != nil || !settled || statcache.Of(&st) != is {
			d.leaves = append(d.leaves, j)
		}
	}
}

// look reads a folder: its identity as it was before, and the names and kinds
// of what is in it, sorted, with their hash.
func look(dir string) (is statcache.Identity, entries []fs.DirEntry, names [16]byte, err error) {
	// ReadDir follows a symlink that was put into the folder's place; Lstat
	// before it does not.
	if is, err = statcache.Lstat(dir); err != nil {
		return is, nil, names, err
	}
	if is.Mode&unix.S_IFMT != unix.S_IFDIR {
		return is, nil, names, &fs.PathError{Op: "read folder", Path: dir, Err: fs.ErrNotExist}
	}
	if entries, err = os.ReadDir(dir); err != nil {
		return is, nil, names, err
	}
	h := sha256.New()
	var line []byte
	for _, e := range entries {
		line = append(line[:0], kindLetter(e.Type()), ' ')
		line = append(append(line, e.Name()...), 0)
		h.Write(line)
	}
	return is, entries, [16]byte(h.Sum(nil)), nil
}

func kindLetter(mode fs.FileMode) byte {
	switch {
	case mode.IsRegular():
		return 'f'
	case mode.IsDir():
		return 'd'
	case mode&fs.ModeSymlink != 0:
		return 'l'
	}
	return 's'
}

// holds reports whether the rules are the files that they were, and can be
// relied on to be.
func (m *meta) holds() bool {
	return !slices.ContainsFunc(m.Rules, func(r rule) bool {
		is, err := statcache.Lstat(r.Path)
		return err != nil || is != r.Is || is.Exists() && !r.Settled
	})
}

// refresh brings a snapshot up to date when only contents, modes, link targets
// and times differ: what git lists, or what is in a folder, is the same. ok is
// false when it is not.
func (w *Workspace) refresh(ctx context.Context, v *view, d *difference) (s *snapshot, ok bool, err error) {
	if d.moved {
		return nil, false, nil
	}
	now := time.Now()
	s = v.decode()
	for _, i := range d.folders {
		f := &s.folders[i]
		is, _, names, err := look(filepath.Join(v.Dir, filepath.FromSlash(f.path)))
		if err != nil || names != f.names {
			return nil, false, nil
		}
		f.is, f.settled = is, w.settled(is, now)
	}
	var changed []*leaf
	for _, j := range d.leaves {
		l := &s.leaves[j]
		is, err := statcache.Lstat(filepath.Join(v.Dir, filepath.FromSlash(l.Path)))
		if err != nil || is.Mode&unix.S_IFMT != l.is.Mode&unix.S_IFMT {
			return nil, false, nil
		}
		changed = append(changed, l)
	}
	if err := w.learn(ctx, v.Dir, changed); err != nil {
		return nil, false, err
	}
	return s, true, nil
}
