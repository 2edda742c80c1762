package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// CopyTree copies a tree of folders, regular files and symbolic links into
// dest, which may exist already (trees are merged). A file that is already
// there is an error: two artifacts must not own the same path. Files are
// cloned where the file system can share blocks, and copied otherwise; they
// are never hard-linked, because a write through one name would change the
// sealed original.
//
// rename, when given, is called with every path relative to src; it returns
// the path to write relative to dest, or "" to leave the entry out.
func CopyTree(ctx context.Context, src, dest string, rename func(rel string) string) error {
	return filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
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
		return copyEntry(path, filepath.Join(dest, rel), d)
	})
}

func copyEntry(from, to string, d fs.DirEntry) error {
	switch {
	case d.IsDir():
		return os.MkdirAll(to, 0o755)
	case d.Type()&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		if old, err := os.Readlink(to); err == nil && old == target {
			return nil
		}
		return os.Symlink(target, to)
	case d.Type().IsRegular():
		info, err := d.Info()
		if err != nil {
			return err
		}
		return copyFile(from, to, info.Mode().Perm())
	}
	return fmt.Errorf("%s is neither file, folder nor symbolic link", from)
}

func copyFile(from, to string, mode fs.FileMode) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already: two artifacts hold the same file", to)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if cloneFile(out, in) == nil {
		return nil
	}
	_, err = io.Copy(out, in)
	return err
}
