package store

import (
	"os"

	"golang.org/x/sys/unix"
)

// clonePath clones by name; Linux clones open files.
func clonePath(from, to string) (done bool, err error) { return false, nil }

// cloneFile shares the blocks of in with out (FICLONE, ioctl_ficlone(2)), on
// file systems that can: btrfs, XFS with reflinks, bcachefs.
func cloneFile(out, in *os.File) error {
	return unix.IoctlFileClone(int(out.Fd()), int(in.Fd()))
}
