package treehash

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/stonemason-hip/stonemason/internal/statcache"
)

// job is one file or link to read.
type job struct {
	entry *Entry
	// size is what the file had when it was looked at.
	size int64
	// done is told which file was read, and when that began; it may be nil.
	done func(is statcache.Identity, began time.Time)
}

// readAll reads files and links on all cores. The big ones come first: one
// that came last would be read by one core, while the others have nothing left
// to do.
func readAll(ctx context.Context, root string, jobs []job) error {
	slices.SortStableFunc(jobs, func(a, b job) int {
		// Small ones stay in the order of their folders, which disks like.
		return int(min(b.size, 1<<40)>>20) - int(min(a.size, 1<<40)>>20)
	})
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range min(runtime.GOMAXPROCS(0), len(jobs)) {
		g.Go(func() error {
			r := &reader{hash: sha256.New(), buf: make([]byte, 256<<10)}
			for {
				i := int(next.Add(1)) - 1
				if i >= len(jobs) {
					return nil
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				j, began := &jobs[i], time.Now()
				is, err := r.read(ctx, filepath.Join(root, filepath.FromSlash(j.entry.Path)), j.entry)
				if err != nil {
					return err
				}
				if j.done != nil {
					j.done(is, began)
				}
			}
		})
	}
	return g.Wait()
}

// lookAt fills in the identities of paths below root, on all cores. What is
// not there gets the zero identity, and what cannot be looked at too.
func lookAt(root string, n int, path func(i int) string, is []statcache.Identity) {
	var next atomic.Int64
	var g errgroup.Group
	const stride = 256
	for range min(4*runtime.GOMAXPROCS(0), n/stride+1) {
		g.Go(func() error {
			for {
				from := int(next.Add(stride)) - stride
				if from >= n {
					return nil
				}
				for i := from; i < min(from+stride, n); i++ {
					// Whoever reads the file meets the error again.
					is[i], _ = statcache.Lstat(filepath.Join(root, filepath.FromSlash(path(i))))
				}
			}
		})
	}
	_ = g.Wait()
}

type reader struct {
	hash hash.Hash
	buf  []byte
}

// read fills in the content of one entry, a file or a link, and says which
// file it was.
func (r *reader) read(ctx context.Context, name string, e *Entry) (statcache.Identity, error) {
	if e.Type != Symlink {
		return r.file(ctx, name, e)
	}
	is, err := statcache.Lstat(name)
	if err != nil {
		return is, err
	}
	target, err := os.Readlink(name)
	if err != nil {
		return is, err
	}
	e.Target = filepath.ToSlash(target)
	return is, nil
}

// file fills size, executable bit and hash of one file. The file is opened
// without following a link and without blocking on a pipe, so that a path which
// changed since the walk is noticed instead of obeyed.
func (r *reader) file(ctx context.Context, name string, e *Entry) (statcache.Identity, error) {
	fd, err := retry(func() (int, error) { return unix.Open(name, unix.O_RDONLY|openFlags, 0) })
	if err != nil {
		return statcache.Identity{}, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return statcache.Identity{}, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	before := statcache.Of(&st)
	if before.Mode&unix.S_IFMT != unix.S_IFREG {
		return before, fmt.Errorf("%s changed into a %s while the tree was hashed", name, kindOf(before.Mode))
	}
	r.hash.Reset()
	var n int64
	for {
		got, err := retry(func() (int, error) { return unix.Read(fd, r.buf) })
		if err != nil {
			return before, &fs.PathError{Op: "read", Path: name, Err: err}
		}
		if got <= 0 {
			break
		}
		n += int64(got)
		r.hash.Write(r.buf[:got])
		// A short read of a file is its end, unless it grows.
		if n == before.Size && got < len(r.buf) {
			break
		}
		if err := ctx.Err(); err != nil {
			return before, err
		}
	}
	if err := unix.Fstat(fd, &st); err != nil {
		return before, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	if after := statcache.Of(&st); n != before.Size || after.Size != n || after.Mtime != before.Mtime {
		return before, fmt.Errorf("%s changed while it was hashed: run again when nothing writes to it", name)
	}
	e.Size, e.Exec = n, before.Mode&0o100 != 0
	e.SHA256 = hex.EncodeToString(r.hash.Sum(r.buf[:0]))
	return before, nil
}

func retry(f func() (int, error)) (int, error) {
	for {
		n, err := f()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// kindOf names the kind of a file in st_mode.
func kindOf(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return "directory"
	case unix.S_IFIFO:
		return "named pipe"
	case unix.S_IFSOCK:
		return "socket"
	case unix.S_IFCHR, unix.S_IFBLK:
		return "device"
	}
	return "special file"
}
