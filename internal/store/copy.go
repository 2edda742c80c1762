package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/treehash"
)

// CopyTree copies a tree of folders, regular files and symbolic links into
// dest, which may exist already (trees are merged). A file that is already
// there is an error: two artifacts must not own the same path. Files are
// cloned where the file system can share blocks, and copied otherwise, several
// at once; they are never hard-linked, because a write through one name would
// change the sealed original.
//
// rename, when given, is called with every path relative to src, one after the
// other in the order of names; it returns the path to write relative to dest,
// or "" to leave the entry out.
func CopyTree(ctx context.Context, src, dest string, rename func(rel string) string) error {
	c := newCopier(ctx)
	err := filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := c.ctx.Err(); err != nil {
			return err
		}
		rel, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}
		if rename != nil && rel != "." {
			if rel = rename(filepath.ToSlash(rel)); rel == "" {
				return nil
			}
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dest, rel)), 0o755); err != nil {
				return err
			}
		}
		to := filepath.Join(dest, rel)
		switch {
		case d.IsDir():
			return os.MkdirAll(to, 0o755)
		case d.Type()&fs.ModeSymlink != 0:
			return copyLink(path, to)
		case d.Type().IsRegular():
			c.file(path, to, -1)
			return nil
		}
		return fmt.Errorf("%s is neither file, folder nor symbolic link", path)
	})
	return DiskError(dest, c.wait(err))
}

// Restore copies sealed trees into dest, all at once and the largest files
// first, by their manifests: what is in a tree beyond its manifest stays
// behind, and what is missing or of another size is an error with exit code
// Verify that names store:verify.
func (s *Store) Restore(ctx context.Context, contents []Content, dest string) error {
	type file struct {
		from, to string
		size     int64
	}
	var files []file
	var links [][2]string
	dirs := map[string]bool{dest: true}
	for _, content := range contents {
		m, err := s.Manifest(content)
		if err != nil {
			return err
		}
		tree, err := s.Tree(content)
		if err != nil {
			return err
		}
		for _, f := range m.Files {
			name := filepath.FromSlash(f.Path)
			to := filepath.Join(dest, name)
			switch f.Type {
			case treehash.Dir:
				dirs[to] = true
				continue
			case treehash.Symlink:
				links = append(links, [2]string{f.Target, to})
			default:
				files = append(files, file{filepath.Join(tree, name), to, f.Size})
			}
			dirs[filepath.Dir(to)] = true
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return DiskError(dest, err)
		}
	}
	for _, l := range links {
		if err := makeLink(l[0], l[1]); err != nil {
			return DiskError(dest, err)
		}
	}
	slices.SortStableFunc(files, func(a, b file) int { return int(max(-1, min(1, b.size-a.size))) })
	c := newCopier(ctx)
	for _, f := range files {
		c.file(f.from, f.to, f.size)
	}
	return DiskError(dest, c.wait(nil))
}

func copyLink(from, to string) error {
	target, err := os.Readlink(from)
	if err != nil {
		return err
	}
	return makeLink(target, to)
}

func makeLink(target, to string) error {
	if old, err := os.Readlink(to); err == nil && old == target {
		return nil
	}
	return os.Symlink(target, to)
}

// copyWorkers bounds the files that are copied at once: a few more than there
// are cores, because some of them wait for the disk.
func copyWorkers() int { return min(16, 2*runtime.GOMAXPROCS(0)) }

// openFlags keep an open from following a last symbolic link and from waiting
// for the other end of a pipe.
const openFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC

// copyBuffer is what a file is read in where it is read at all. A file up to
// this size takes one read and one write.
const copyBuffer = 256 << 10

type copyJob struct {
	from, to string
	size     int64 // what the manifest says; -1 when there is none
}

// copier copies files with several workers. The first error ends it.
type copier struct {
	caller  context.Context
	ctx     context.Context // ends with the caller's, and at the first error
	group   *errgroup.Group
	jobs    chan copyJob
	noClone atomic.Bool
	buffers sync.Pool
}

func newCopier(ctx context.Context) *copier {
	c := &copier{caller: ctx, jobs: make(chan copyJob, 4*copyWorkers())}
	c.group, c.ctx = errgroup.WithContext(ctx)
	c.buffers.New = func() any { b := make([]byte, copyBuffer); return &b }
	for range copyWorkers() {
		c.group.Go(func() error {
			for j := range c.jobs {
				if err := c.ctx.Err(); err != nil {
					return err
				}
				if err := c.copy(j); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return c
}

// file hands a file to the workers.
func (c *copier) file(from, to string, size int64) {
	select {
	case c.jobs <- copyJob{from, to, size}:
	case <-c.ctx.Done(): // wait tells why
	}
}

// wait ends the copying. err is what the caller stopped at.
func (c *copier) wait(err error) error {
	close(c.jobs)
	first := c.group.Wait()
	switch {
	case first != nil && (err == nil || errors.Is(err, context.Canceled)):
		return first // it stopped the walk too
	case err != nil:
		return err
	}
	return c.caller.Err() // file drops what comes after the end
}

func (c *copier) copy(j copyJob) (err error) {
	if !c.noClone.Load() {
		done, err := clonePath(j.from, j.to)
		switch {
		case errors.Is(err, fs.ErrExist):
			return taken(j.to)
		case done:
			return errors.Join(err, sealedSize(j))
		}
	}
	in, err := os.OpenFile(j.from, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return missing(j, err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return missing(j, fmt.Errorf("%s is no regular file", j.from))
	}
	if j.size >= 0 && info.Size() != j.size {
		return missing(j, fmt.Errorf("%s has %d bytes and was sealed with %d", j.from, info.Size(), j.size))
	}
	out, err := os.OpenFile(j.to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if errors.Is(err, fs.ErrExist) {
		return taken(j.to)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if !c.noClone.Load() {
		if cloneFile(out, in) == nil {
			return nil
		}
		c.noClone.Store(true) // no file of this pair of file systems can be
	}
	if info.Size() > copyBuffer {
		_, err = io.Copy(out, in) // copy_file_range where the system has it
		return err
	}
	buf := c.buffers.Get().(*[]byte)
	defer c.buffers.Put(buf)
	_, err = io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{in}, *buf)
	return err
}

// sealedSize holds a finished copy to its manifest.
func sealedSize(j copyJob) error {
	if j.size < 0 {
		return nil
	}
	info, err := os.Lstat(j.to)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() != j.size {
		return missing(j, fmt.Errorf("%s has %d bytes and was sealed with %d", j.from, info.Size(), j.size))
	}
	return nil
}

func taken(file string) error {
	return fmt.Errorf("%s exists already: two artifacts hold the same file", file)
}

// missing is the error of a file that is not as its manifest says. Without a
// manifest it is the error itself.
func missing(j copyJob, err error) error {
	if j.size < 0 {
		return err
	}
	return exit.Hint(exit.Withf(exit.Verify, "store: an artifact is damaged: %w", err), "go tool mage store:verify")
}
