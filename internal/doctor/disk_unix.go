//go:build unix

package doctor

import (
	"math"
	"syscall"

	"golang.org/x/sys/unix"
)

// freeSpace returns the bytes that an ordinary user may still write at path,
// and a number that is the same for paths on one file system.
func freeSpace(path string) (free int64, dev uint64, err error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return 0, 0, err
	}
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		return 0, 0, err
	}
	blocks, size := int64(fs.Bavail), int64(fs.Bsize)
	if blocks < 0 || size <= 0 {
		return 0, uint64(st.Dev), nil
	}
	if blocks > math.MaxInt64/size {
		return math.MaxInt64, uint64(st.Dev), nil
	}
	return blocks * size, uint64(st.Dev), nil
}
