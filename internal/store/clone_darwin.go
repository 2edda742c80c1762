package store

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// clonePath clones one file by name (clonefile(2)), on APFS. done is false
// where the two names are not on one file system that can.
func clonePath(from, to string) (done bool, err error) {
	err = unix.Clonefile(from, to, unix.CLONE_NOFOLLOW)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return true, err
	}
	return false, nil // the copy tells what is wrong, when something is
}

// cloneFile has no equivalent for two open files here; the caller copies.
func cloneFile(out, in *os.File) error { return errors.ErrUnsupported }
