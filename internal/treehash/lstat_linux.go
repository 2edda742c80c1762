//go:build amd64 || arm64

package treehash

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// lookFlags open a folder only to look up names in it.
const lookFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// lstatAt is fstatat(2) for a name that ends with a zero byte. x/sys copies
// each name to add that byte; a hundred thousand copies are noticed.
func lstatAt(dir int, name []byte, st *unix.Stat_t) error {
	for {
		_, _, errno := unix.Syscall6(sysFstatat, uintptr(dir), uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(st)), unix.AT_SYMLINK_NOFOLLOW, 0, 0)
		switch errno {
		case 0:
			return nil
		case unix.EINTR:
			continue
		}
		return errno
	}
}
