package build

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// bootID names the present start of the machine (sysctl kern.bootsessionuuid);
// "" where that is not known.
func bootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}

// syncFileSystem has what was written so far brought to the disk: sync(2), and
// F_FULLFSYNC (fcntl(2)), which makes the drive empty its own memory too.
func syncFileSystem(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = unix.Sync()
	_, err = unix.FcntlInt(f.Fd(), unix.F_FULLFSYNC, 0)
	return errors.Join(err, f.Close())
}
