package build

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// bootID names the present start of the machine (random(4), boot_id); "" where
// that is not known.
func bootID() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// syncFileSystem has everything on the file system of a folder written to its
// disk (syncfs(2)).
func syncFileSystem(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
}
