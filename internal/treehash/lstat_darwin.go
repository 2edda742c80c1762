package treehash

import (
	"errors"

	"golang.org/x/sys/unix"
)

// lookFlags open a folder to look up names in it.
const lookFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// lstatAt is fstatat(2) for a name that ends with a zero byte.
func lstatAt(dir int, name []byte, st *unix.Stat_t) error {
	for {
		if err := unix.Fstatat(dir, string(name[:len(name)-1]), st, unix.AT_SYMLINK_NOFOLLOW); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
