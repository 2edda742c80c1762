// Package statcache remembers what is known of files for as long as the
// kernel says that they are the same files, unwritten since.
//
// A file is recognised by its device, inode, kind and mode, size, and the
// times of its last write (mtime) and of its last change of any kind (ctime).
// A program can set the first of these times back, but not the second, and a
// file put into the place of another has another inode. So a replaced file is
// noticed, be it of the same size and dated like the old one.
//
// One hole is left, which git calls racy (Documentation/technical/
// racy-git.txt): the kernel's clock for files ticks in steps of some
// milliseconds, on some file systems of up to two seconds, and a file that is
// written twice within a step has the same times after both. So what was
// learnt of a file that had been written just before is not kept (Settled).
package statcache

import (
	"errors"
	"io/fs"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Slack is how old a file's times must be when it is looked at, for the look
// to be trusted later: the coarsest step in use is FAT's, two seconds.
const Slack = 2 * time.Second

// Identity is what the kernel says of a file without opening it. The zero
// value stands for a file that is not there. Times are nanoseconds since 1970.
type Identity struct {
	Dev, Ino           uint64
	Mode               uint32 // kind and permissions, as in st_mode
	Size, Mtime, Ctime int64
}

// Of takes the identity out of what stat(2) filled in.
func Of(st *unix.Stat_t) Identity {
	return Identity{
		Dev: uint64(st.Dev), Ino: st.Ino, Mode: uint32(st.Mode), Size: st.Size,
		Mtime: unix.TimespecToNsec(st.Mtim), Ctime: unix.TimespecToNsec(st.Ctim),
	}
}

// Stat is the identity of the file that path leads to. That nothing is there
// is no error: the identity is zero then.
func Stat(path string) (Identity, error) { return look(path, unix.Stat) }

// Lstat is like Stat, of a symlink itself.
func Lstat(path string) (Identity, error) { return look(path, unix.Lstat) }

func look(path string, stat func(string, *unix.Stat_t) error) (Identity, error) {
	var st unix.Stat_t
	for {
		err := stat(path, &st)
		switch {
		case err == nil:
			return Of(&st), nil
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
			return Identity{}, nil
		}
		return Identity{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
}

// Exists reports whether there was a file.
func (i Identity) Exists() bool { return i != Identity{} }

// Settled reports whether what is learnt of the file at a moment or after it
// holds as long as the identity stays: nothing was written so shortly before
// that moment that a later write could bear the same times.
func (i Identity) Settled(at time.Time) bool { return i.SettledBy(at.Add(-Slack)) }

// SettledBy reports whether nothing was written since a moment.
func (i Identity) SettledBy(limit time.Time) bool {
	ns := limit.UnixNano()
	return i.Mtime < ns && i.Ctime < ns
}

// append writes the identity as one word.
func (i Identity) append(b []byte) []byte {
	if !i.Exists() {
		return append(b, '-')
	}
	b = strconv.AppendUint(b, i.Dev, 36)
	for _, n := range [...]uint64{i.Ino, uint64(i.Mode), uint64(i.Size), uint64(i.Mtime), uint64(i.Ctime)} {
		b = append(b, '.')
		b = strconv.AppendUint(b, n, 36)
	}
	return b
}
