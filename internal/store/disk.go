package store

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/stonemason-hip/stonemason/internal/exit"
)

// Full reports whether an error says that a disk, a quota or a limit of file
// size is used up.
func Full(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}

// DiskError gives an error of writing below a folder its exit code: Resources
// when there is no space, Config when the folder cannot be written to. Any
// other error, and one that has a code already, stays as it is.
func DiskError(where string, err error) error {
	var coded *exit.Error
	switch {
	case err == nil || errors.As(err, &coded):
		return err
	case Full(err):
		return exit.Hint(exit.Withf(exit.Resources, "no space is left for %s: %w", where, err), "go tool mage store:gc -max=0B")
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS):
		return exit.Withf(exit.Config, "%s cannot be written: %w", where, err)
	}
	return err
}

// fail gives an error of the store its exit code, as DiskError does, and says
// what was being done and what can be done about it.
func (s *Store) fail(what string, err error) error {
	var coded *exit.Error
	if err == nil || errors.As(err, &coded) {
		return err
	}
	if Full(err) {
		return DiskError(s.root, fmt.Errorf("store: %s: %w", what, err))
	}
	for _, known := range []error{fs.ErrPermission, unix.EROFS, unix.ENOTDIR, unix.EEXIST} {
		if errors.Is(err, known) {
			var at *fs.PathError // of the path that what names, or its parent
			if errors.As(err, &at) {
				err = at.Err
			}
			return exit.Withf(exit.Config, "store: %s: %w (make %s yours, or choose another folder with cache.dir in therock.yaml or STONEMASON_CACHE_DIR)", what, err, s.root)
		}
	}
	return fmt.Errorf("store: %s: %w", what, err)
}

// writeFile gives a name to data that is written completely and synced; the
// folder is synced too, so that the name outlives a power cut.
func (s *Store) writeFile(name string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Join(s.root, "tmp"), s.tmpPattern("write"))
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return err
	}
	return syncDir(filepath.Dir(name))
}

// mkdir makes a folder whose parent is there, and syncs the parent when the
// folder is new.
func mkdir(dir string) error {
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// removeAll is os.RemoveAll for trees in which folders may be read-only, as
// those of some sources are.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) // the second attempt tells what is wrong
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// Stamp names the state of a tree by what looking at it costs nothing: every
// path with its kind, mode, size, inode, and the times of its last change of
// content and of inode. Equal stamps mean that nobody wrote to the tree in
// between, down to the steps in which the file system counts time; they do not
// mean that the disk still holds the bytes, which only reading them tells.
func Stamp(dir string) (string, error) {
	h := sha256.New()
	line := make([]byte, 0, 512)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		line = append(append(line[:0], path[len(dir):]...), 0)
		if d.IsDir() {
			line = append(line, "dir"...)
		} else {
			var st unix.Stat_t
			if err := unix.Lstat(path, &st); err != nil {
				return &fs.PathError{Op: "lstat", Path: path, Err: err}
			}
			for _, v := range []uint64{uint64(st.Mode), uint64(st.Size), uint64(st.Mtim.Nano()), uint64(st.Ctim.Nano()), st.Ino} {
				line = binary.LittleEndian.AppendUint64(line, v)
			}
		}
		h.Write(append(line, '\n'))
		return nil
	})
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
