package disk

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stonemason-hip/stonemason/internal/exit"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// insideEnv says that the test runs in a mount namespace of its own.
const insideEnv = "STONEMASON_DISK_INSIDE"

// The guard tells on a real, small file system: bytes and files.
func TestGuard(t *testing.T) {
	if os.Getenv(insideEnv) == "" {
		self, err := os.Executable()
		check(t, err)
		cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestGuard$", "-test.v")
		cmd.Env = append(os.Environ(), insideEnv+"=yes")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
		if os.Geteuid() != 0 {
			cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
		}
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		check(t, err)
		return
	}
	check(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	for _, c := range []struct {
		name, options string
		fill          func(dir string) // past the reserve
		exhaust       func(dir string)
		says          string
	}{
		{
			"bytes", "size=100m",
			func(dir string) { write(t, dir, "a", 85<<20) }, func(dir string) { write(t, dir, "b", 15<<20-8192) },
			"KiB are free",
		},
		{
			"a small disk", "size=1m",
			func(dir string) { write(t, dir, "a", 800<<10) }, func(string) {},
			"KiB are free",
		},
		{
			"files", "size=100m,nr_inodes=2000",
			func(dir string) { files(t, dir, 0, 1800) }, func(dir string) { files(t, dir, 1800, 1990) },
			"more files",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			check(t, unix.Mount("tmpfs", dir, "tmpfs", 0, c.options))
			defer func() { check(t, unix.Unmount(dir, 0)) }()
			ctx, g := Watch(t.Context(), dir)
			if err := g.Check(); err != nil || ctx.Err() != nil {
				t.Errorf("with all free: %v", err)
			}
			c.fill(dir)
			<-ctx.Done()
			err := context.Cause(ctx)
			if exit.Of(err) != exit.Resources || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
			if c.name != "a small disk" && g.Exhausted() {
				t.Error("exhausted already")
			}
			c.exhaust(dir)
			if g.Check() == nil || !g.Exhausted() {
				t.Error("not exhausted")
			}
			// What was noticed stays noticed.
			entries, err := os.ReadDir(dir)
			check(t, err)
			for _, e := range entries {
				check(t, os.Remove(filepath.Join(dir, e.Name())))
			}
			if g.Check() == nil || !g.Exhausted() {
				t.Error("forgotten")
			}
			g.End()
		})
	}
}

func write(t testing.TB, dir, name string, size int) {
	t.Helper()
	check(t, os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o644))
}

func files(t testing.TB, dir string, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		check(t, os.WriteFile(filepath.Join(dir, "f"+strings.Repeat("x", i%50)+string(rune('A'+i/50))), nil, 0o644))
	}
}

func TestGuardEnds(t *testing.T) {
	ctx, g := Watch(t.Context(), t.TempDir())
	g.End()
	if ctx.Err() == nil || g.Check() != nil {
		t.Errorf("%v", g.Check())
	}
	// A folder that is gone is no reason to stop: writing to it will tell.
	_, g = Watch(t.Context(), filepath.Join(t.TempDir(), "none"))
	if err := g.Check(); err != nil {
		t.Error(err)
	}
	g.End()
}
