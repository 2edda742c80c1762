package patch

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

// maxFileBytes bounds a file that a patch reads or makes, and maxTreeBytes all
// of them together. LLVM's largest generated source is some ten megabytes.
const (
	maxFileBytes = 128 << 20
	maxTreeBytes = 1 << 30
)

// tree is a folder with changes on top of it that are not written yet.
type tree struct {
	root  *os.Root
	nodes map[string]*node // never changed once they are in here
	bytes *int64           // read so far
}

// node is a file as the tree has it.
type node struct {
	data    []byte
	perm    fs.FileMode
	exists  bool
	changed bool // differs from what the folder has
}

func (n *node) exec() bool { return n.perm&0o100 != 0 }

// setExec lets those execute the file who can read it, or nobody.
func (n *node) setExec(on bool) {
	n.perm &^= 0o111
	if on {
		n.perm |= n.perm & 0o444 >> 2
	}
}

func newTree(root *os.Root) *tree {
	return &tree{root: root, nodes: map[string]*node{}, bytes: new(int64)}
}

// fork returns a tree of the same state whose changes do not reach t.
func (t *tree) fork() *tree {
	return &tree{root: t.root, nodes: maps.Clone(t.nodes), bytes: t.bytes}
}

// read returns the file of a name; a name that nothing has is a node that does
// not exist. Anything but a regular file, and any way through a symbolic link,
// is an error.
func (t *tree) read(name string) (*node, error) {
	if n := t.nodes[name]; n != nil {
		return n, nil
	}
	n, err := t.readDisk(name)
	if err != nil {
		return nil, err
	}
	t.nodes[name] = n
	return n, nil
}

func (t *tree) readDisk(name string) (*node, error) {
	for i := range len(name) {
		if name[i] != '/' {
			continue
		}
		folder := name[:i]
		if n := t.nodes[folder]; n != nil {
			if n.exists {
				return nil, &ConflictError{File: name, Problem: fmt.Sprintf("%s is a file, not a folder", folder)}
			}
			return &node{}, nil
		}
		info, err := t.root.Lstat(folder)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return &node{}, nil
		case err != nil:
			return nil, err
		case info.Mode()&fs.ModeSymlink != 0:
			return nil, fmt.Errorf("%s: %s is a symbolic link, and a patch does not write through one", name, folder)
		case !info.IsDir():
			return nil, &ConflictError{File: name, Problem: fmt.Sprintf("%s is a file, not a folder", folder)}
		}
	}
	info, err := t.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &node{}, nil
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, fmt.Errorf("%s is a symbolic link, and a patch does not write through one", name)
	case info.IsDir():
		return nil, &ConflictError{File: name, Problem: "it is a folder in the source"}
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", name)
	case info.Size() > maxFileBytes || *t.bytes+info.Size() > maxTreeBytes:
		return nil, fmt.Errorf("%s: too much to patch in memory (a file of %d bytes; the limits are %d a file and %d in all)", name, info.Size(), maxFileBytes, maxTreeBytes)
	}
	// O_NOFOLLOW and O_NONBLOCK: what was looked at is what is opened, even if
	// somebody exchanges it for a link or a pipe in between.
	f, err := t.root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("%s is larger than %d bytes", name, maxFileBytes)
	}
	*t.bytes += int64(len(data))
	return &node{data: data, perm: info.Mode().Perm(), exists: true}, nil
}

// write makes the folder what the tree is: deletions first, so that a folder
// may take the place of a file, then everything else in the order of the names.
func (t *tree) write(ctx context.Context) error {
	names := slices.Sorted(maps.Keys(t.nodes))
	for _, name := range names {
		n := t.nodes[name]
		if !n.changed || n.exists {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, name := range names {
		n := t.nodes[name]
		if !n.changed || !n.exists {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.replace(name, n); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	for _, name := range names {
		if n := t.nodes[name]; n.changed && !n.exists {
			t.prune(path.Dir(name))
		}
	}
	return nil
}

// replace writes a file beside its place and moves it there.
func (t *tree) replace(name string, n *node) error {
	if dir := path.Dir(name); dir != "." {
		if err := t.root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	temp := name + ".stonemason-patch"
	f, err := t.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(n.data)
	// Not at creation: the umask takes bits away there.
	err = errors.Join(err, f.Chmod(n.perm), f.Close())
	if err == nil {
		err = t.root.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, t.root.Remove(temp))
	}
	return nil
}

// prune removes folders that became empty, as git does, which keeps none.
func (t *tree) prune(dir string) {
	for dir != "." && !strings.HasPrefix(dir, "..") {
		if t.root.Remove(dir) != nil {
			return // not empty, or gone
		}
		dir = path.Dir(dir)
	}
}

// gitBlobID is git's name for a file's content: the SHA-1 of "blob", its length
// and the content (gitformat-pack(5), git-hash-object(1)).
func gitBlobID(data []byte) string {
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(data))
	_, _ = io.Copy(h, bytes.NewReader(data))
	return hex.EncodeToString(h.Sum(nil))
}
