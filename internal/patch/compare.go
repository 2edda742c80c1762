package patch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// maxEntries bounds the files of a source. LLVM has about 170,000.
const maxEntries = 2_000_000

// change is a file that differs between two folders.
type change struct {
	name     string // with slashes, relative to both folders
	old, new string // path on disk; empty where there is no such file
	oldExec  bool
	newExec  bool
}

// compare lists the regular files that differ between two folders, sorted by
// name. A difference that no patch can carry is an error.
func compare(ctx context.Context, pristine, edited string) ([]change, error) {
	before, err := list(ctx, pristine)
	if err != nil {
		return nil, err
	}
	after, err := list(ctx, edited)
	if err != nil {
		return nil, err
	}
	names := maps.Clone(before)
	maps.Copy(names, after)
	var changes []change
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		old, hadOld := before[name]
		now, hasNew := after[name]
		c := change{name: name}
		if hadOld {
			c.old, c.oldExec = filepath.Join(pristine, filepath.FromSlash(name)), old.Mode()&0o100 != 0
		}
		if hasNew {
			c.new, c.newExec = filepath.Join(edited, filepath.FromSlash(name)), now.Mode()&0o100 != 0
		}
		if hadOld && hasNew {
			same, err := sameFile(c, old, now)
			if err != nil {
				return nil, err
			}
			if same {
				continue
			}
		}
		for _, info := range []fs.FileInfo{old, now} {
			if info != nil && !info.Mode().IsRegular() {
				return nil, fmt.Errorf("%s differs and is no regular file in one of the copies: a patch cannot hold that", name)
			}
		}
		if err := checkName(name); err != nil {
			return nil, fmt.Errorf("a patch cannot hold this change: %w", err)
		}
		changes = append(changes, c)
	}
	if len(changes) > maxFiles {
		return nil, fmt.Errorf("%d files differ, more than %d; does the edited copy hold the results of a build?", len(changes), maxFiles)
	}
	return changes, nil
}

// list returns everything in a folder but folders, by its name with slashes,
// without following links. The .git in the root belongs to whoever edits.
func list(ctx context.Context, dir string) (map[string]fs.FileInfo, error) {
	found := map[string]fs.FileInfo{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		switch {
		case name == ".git" && d.IsDir():
			return fs.SkipDir
		case name == ".git", d.IsDir():
			return nil
		case len(found) == maxEntries:
			return fmt.Errorf("more than %d files", maxEntries)
		}
		found[filepath.ToSlash(name)], err = d.Info()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", dir, err)
	}
	return found, nil
}

// sameFile compares kind, content and whether it can be executed.
func sameFile(c change, a, b fs.FileInfo) (bool, error) {
	switch {
	case a.Mode().Type() != b.Mode().Type():
		return false, nil
	case a.Mode()&fs.ModeSymlink != 0:
		x, err := os.Readlink(c.old)
		if err != nil {
			return false, err
		}
		y, err := os.Readlink(c.new)
		return x == y, err
	case !a.Mode().IsRegular():
		return true, nil // sockets and pipes of the same kind: nothing to compare
	case a.Size() != b.Size() || c.oldExec != c.newExec:
		return false, nil
	case os.SameFile(a, b):
		return true, nil
	}
	return sameContent(c.old, c.new)
}

func sameContent(a, b string) (bool, error) {
	x, err := os.Open(a)
	if err != nil {
		return false, err
	}
	defer x.Close()
	y, err := os.Open(b)
	if err != nil {
		return false, err
	}
	defer y.Close()
	p, q := make([]byte, 1<<16), make([]byte, 1<<16)
	for {
		n, err := io.ReadFull(x, p)
		m, err2 := io.ReadFull(y, q)
		if !bytes.Equal(p[:n], q[:m]) {
			return false, nil
		}
		ended := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !ended {
			return false, err
		}
		if err2 != nil && err2 != io.EOF && err2 != io.ErrUnexpectedEOF {
			return false, err2
		}
		if ended {
			return true, nil
		}
	}
}
