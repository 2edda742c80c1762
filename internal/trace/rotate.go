package trace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

const (
	// rotateAbove is the size in bytes from which a new run begins a new file.
	rotateAbove = 32 << 20
	// keptFiles is how many older files of a log are kept beside it.
	keptFiles = 2
)

// older is the name of the nth older file of a log, from 1, the newest.
func older(path string, n int) string { return fmt.Sprintf("%s.%d", path, n) }

// openCurrent opens the log for appending, moving a large one aside first.
//
// Every writer holds a shared lock (flock(2)) on the file for as long as it
// lives; who can have it alone knows that nobody else writes, and may rotate.
// Locks end with their process, however that ends. Where the file system
// knows no locks nothing is rotated and nothing fails.
func openCurrent(path string, limit int64) (*os.File, error) {
	for range 100 {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o644)
		if err != nil {
			return nil, err
		}
		moved, err := rotate(f, path, limit)
		if err == nil && !moved {
			if flock(f, unix.LOCK_SH) == nil && !isStill(f, path) {
				moved = true // another writer rotated it while we waited
			}
		}
		if err == nil && !moved {
			return f, nil
		}
		f.Close()
		if err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s is moved away again and again", path)
}

// rotate moves the open file aside when it is large and nobody else has it.
func rotate(f *os.File, path string, limit int64) (moved bool, err error) {
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() || st.Size() <= limit {
		return false, err
	}
	if flock(f, unix.LOCK_EX|unix.LOCK_NB) != nil {
		return false, nil
	}
	if !isStill(f, path) {
		return true, nil
	}
	for n := keptFiles; n > 0; n-- {
		from := path
		if n > 1 {
			from = older(path, n-1)
		}
		if err := os.Rename(from, older(path, n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	return true, nil
}

// isStill reports whether path names the open file.
func isStill(f *os.File, path string) bool {
	now, err := os.Stat(path)
	if err != nil {
		return false
	}
	st, err := f.Stat()
	return err == nil && os.SameFile(now, st)
}

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); err != unix.EINTR {
			return err
		}
	}
}
