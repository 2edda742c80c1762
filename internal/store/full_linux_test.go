package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stonemason-hip/stonemason/internal/exit"
)

// A full disk is a real one: a tmpfs of a few pages, in a mount namespace of
// the other process's own. Where neither root nor a user namespace is to be
// had, the limit of the size of a file stands in for it.
func TestDiskFull(t *testing.T) {
	for _, what := range []string{"full-blocks", "full-inodes"} {
		if out, err := apart(t, what); err != nil {
			t.Errorf("%s: %v\n%s", what, err, out)
		}
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STONEMASON_STORE_TEST=full-limit "+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("limit: %v\n%s", err, out)
	}
}

// A store that cannot be written to is refused when it is opened: on a
// read-only file system or, for those whom a mode keeps out, a folder.
func TestNotWritable(t *testing.T) {
	if out, err := apart(t, "read-only"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// A folder of the store that is a disk of its own cannot be renamed away: it is
// emptied where it is.
func TestEmptyOfAnotherDisk(t *testing.T) {
	if out, err := apart(t, "mounted"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// mounted empties a store whose objects lie on another file system.
func mounted(root string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("cannot mount: %w", err)
	}
	s, err := Open(root)
	if err != nil {
		return err
	}
	objects := filepath.Join(root, "objects")
	if err := unix.Mount("tmpfs", objects, "tmpfs", 0, "size=1m"); err != nil {
		return fmt.Errorf("cannot mount: %w", err)
	}
	for _, file := range []string{"objects/aa/x/tree/bin/tool", "sources/sha256/x"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(root, file), []byte("x"), 0o644); err != nil {
			return err
		}
	}
	dirs, err := s.Empty(context.Background())
	if err != nil || len(dirs) != 2 {
		return fmt.Errorf("emptied %v: %w", dirs, err)
	}
	for _, dir := range []string{"objects", "sources", "tmp"} {
		if left, err := os.ReadDir(filepath.Join(root, dir)); err != nil || len(left) > 0 {
			return fmt.Errorf("%s holds %v: %w", dir, left, err)
		}
	}
	return nil
}

// apart runs the other process in a mount namespace of its own. Where that is
// not allowed, nothing is run: the other half of each test needs none.
func apart(t *testing.T, what string) ([]byte, error) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STONEMASON_STORE_TEST="+what+" "+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, unix.EPERM) || bytes.Contains(out, []byte("cannot mount")) {
		t.Logf("%s: no mount namespace here: %v", what, err)
		return nil, nil
	}
	return out, err
}

// readOnly opens a store, makes its file system read-only, and opens it again.
func readOnly(dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("cannot mount: %w", err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		return fmt.Errorf("cannot mount: %w", err)
	}
	for _, exists := range []bool{false, true} {
		root := filepath.Join(dir, fmt.Sprint(exists))
		if exists {
			s, err := Open(root)
			if err != nil {
				return err
			}
			if err := s.Close(); err != nil {
				return err
			}
		}
		if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			return err
		}
		_, err := Open(root)
		if exit.Of(err) != exit.Config || !strings.Contains(err.Error(), "read-only file system (make ") || !strings.Contains(err.Error(), "STONEMASON_CACHE_DIR") {
			return fmt.Errorf("Open where a store exists %v: %w, exit code %d", exists, err, exit.Of(err))
		}
		if err := unix.Mount("", dir, "", unix.MS_REMOUNT, ""); err != nil {
			return err
		}
	}
	return nil
}

func otherHere(what string, args []string) error {
	switch what {
	case "full-blocks":
		return fill(args[0], "size=400k", crowdBlocks)
	case "full-inodes":
		return fill(args[0], "nr_inodes=400,size=1m", crowdInodes)
	case "read-only":
		return readOnly(args[0])
	case "mounted":
		return mounted(args[0])
	case "full-limit":
		return limited(args[0])
	}
	return fmt.Errorf("no such test: %s", what)
}

// fill seals on a small file system again and again, each time with room for a
// little more, until it succeeds: so every write of Seal fails once.
func fill(dir, options string, crowd func(ballast string, free int) error) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("cannot mount: %w", err)
	}
	ballast := filepath.Join(dir, "ballast")
	for free := range 60 {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
			return fmt.Errorf("cannot mount: %w", err)
		}
		if err := os.Mkdir(ballast, 0o755); err != nil {
			return err
		}
		done, err := attempt(filepath.Join(dir, "store"), func() error { return crowd(ballast, free) }, func() error { return os.RemoveAll(ballast) })
		if err != nil {
			return fmt.Errorf("with room for %d: %w", free, err)
		}
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			return err
		}
		if done && free < 2 {
			return fmt.Errorf("only %d attempts failed: the disk was never full", free)
		}
		if done {
			return nil
		}
	}
	return errors.New("there is never enough room")
}

// attempt stages a tree, takes the room away, seals, and looks at what is left
// of it. done reports whether there was room enough. When there was not, it
// gives the room back and seals again.
func attempt(root string, crowd, relax func() error) (done bool, err error) {
	s, err := Open(root)
	if err != nil {
		return false, err
	}
	staged := func() (string, error) {
		stage, err := s.Tmp("stage")
		if err != nil {
			return "", err
		}
		if err := os.Mkdir(filepath.Join(stage, "bin"), 0o755); err != nil {
			return "", err
		}
		return stage, os.WriteFile(filepath.Join(stage, "bin", "tool"), []byte("tool"), 0o755)
	}
	stage, err := staged()
	if err != nil {
		return false, err
	}
	if err := crowd(); err != nil {
		return false, err
	}
	slice := func(string) string { return "run" }
	a, sealErr := s.Seal(context.Background(), action("one"), stage, slice)
	left, _ := filepath.Glob(filepath.Join(root, "*", "*", "*.json"))
	if sealErr == nil {
		return true, whole(s, a)
	}
	if exit.Of(sealErr) != exit.Resources || strings.Count(sealErr.Error(), "\n") > 0 || exit.HintOf(sealErr) == "" {
		return false, fmt.Errorf("the error is %q, exit code %d, hint %q", sealErr, exit.Of(sealErr), exit.HintOf(sealErr))
	}
	if len(left) > 0 {
		return false, fmt.Errorf("after %w there is %v", sealErr, left)
	}
	// An object may be there when only its record had no room: then it is whole.
	v, err := s.Verify(context.Background())
	if err != nil || len(v.Findings) > 0 {
		return false, fmt.Errorf("after %w: %+v, %w", sealErr, v, err)
	}
	if err := os.RemoveAll(stage); err != nil {
		return false, err
	}
	if rest, _ := os.ReadDir(filepath.Join(root, "tmp")); len(rest) > 0 {
		return false, fmt.Errorf("after %w tmp holds %v", sealErr, rest)
	}
	// On the full disk, room can be made.
	if err := s.Close(); err != nil {
		return false, err
	}
	if _, err := s.Trim(context.Background(), TrimOptions{Max: 0, Stale: true}); err != nil {
		return false, fmt.Errorf("trimming a full disk: %w", err)
	}
	if err := relax(); err != nil {
		return false, err
	}
	if stage, err = staged(); err != nil {
		return false, err
	}
	if a, err = s.Seal(context.Background(), action("one"), stage, slice); err != nil {
		return false, fmt.Errorf("with room again: %w", err)
	}
	return false, whole(s, a)
}

// crowdBlocks leaves so many pages of a file system free.
func crowdBlocks(ballast string, free int) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(ballast, &fs); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(ballast, "x"), make([]byte, (int64(fs.Bfree)-int64(free))*int64(fs.Bsize)), 0o644)
}

// crowdInodes leaves so many inodes of a file system free.
func crowdInodes(ballast string, free int) error {
	for i := 0; ; i++ {
		var fs unix.Statfs_t
		if err := unix.Statfs(ballast, &fs); err != nil || int(fs.Ffree) <= free {
			return err
		}
		if err := os.WriteFile(filepath.Join(ballast, fmt.Sprint(i)), nil, 0o644); err != nil {
			return err
		}
	}
}

// limited seals under a limit of the size of files that grows.
func limited(dir string) error {
	signal.Ignore(unix.SIGXFSZ)
	limit := func(size uint64) error {
		return unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: unix.RLIM_INFINITY})
	}
	for size := uint64(0); size < 4096; size += 64 {
		done, err := attempt(filepath.Join(dir, fmt.Sprint(size)), func() error { return limit(size) }, func() error { return limit(unix.RLIM_INFINITY) })
		if done || err != nil {
			return err
		}
	}
	return errors.New("no limit was large enough")
}
