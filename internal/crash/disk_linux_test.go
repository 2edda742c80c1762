package crash

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stonemason-hip/stonemason/internal/exit"
)

// insideEnv says that a test runs in a mount namespace of its own.
const insideEnv = "STONEMASON_CRASH_INSIDE"

// TestDiskFull gives a build, on a small file system of its own, less space
// than it needs, in dozens of amounts, and then fewer files. Each time it ends
// with one clear error; nothing half-done has a final name; and when there is
// space again the build gives what an undisturbed one gives.
func TestDiskFull(t *testing.T) {
	if os.Getenv(insideEnv) == "" {
		inNamespace(t)
		return
	}
	dir := t.TempDir()
	d := disk{dir: filepath.Join(dir, "disk")}
	check(t, os.Mkdir(d.dir, 0o755))
	t.Cleanup(func() { _ = unix.Unmount(d.dir, unix.MNT_DETACH) }) // after a failure it is still mounted
	template := filepath.Join(dir, "template")
	newProject(t, template, "small.txtar")

	p := d.fresh(t, template, "size=64m")
	before := d.used(t)
	p.args = append(p.args, "-jobs=1")
	p.build(t)
	want := p.outcome(t)
	// What a build needs at most is more than what stays: its work folders go,
	// and a quarter is kept free.
	needed := usage{bytes: 3 * d.used(t).bytes, files: 3 * d.used(t).files}
	d.gone(t)

	for _, kind := range []struct {
		name        string
		from, to, n int64
		option      string
	}{
		{"bytes", before.bytes, needed.bytes, 24, "size"},
		{"files", before.files, needed.files, 12, "nr_inodes"},
	} {
		failed := 0
		for i := range kind.n {
			limit := kind.from + (kind.to-kind.from)*i/kind.n
			p := d.fresh(t, template, fmt.Sprintf("%s=%d", kind.option, limit))
			p.args = append(p.args, "-jobs=1")
			var out, errs bytes.Buffer
			cmd := p.command(t.Context(), p.args...)
			cmd.Stdout, cmd.Stderr = &out, &errs
			err := cmd.Run()
			p.whole(t)
			var ended *exec.ExitError
			if errors.As(err, &ended) {
				failed++
				refused(t, fmt.Sprintf("with %d %s", limit, kind.name), ended.ExitCode(), out.String(), errs.String())
			} else if err != nil {
				t.Fatal(err)
			}
			check(t, unix.Mount("", d.dir, "", unix.MS_REMOUNT, "size=64m,nr_inodes=100000"))
			p.build(t)
			sound(t, p, d.dir, want)
			if t.Failed() {
				t.Fatalf("with %d %s\n%s%s", limit, kind.name, &out, &errs)
			}
			d.gone(t)
		}
		t.Logf("%d of %d limits of %s between %d and %d were too low", failed, kind.n, kind.name, kind.from, kind.to)
		if failed < int(kind.n)/3 {
			t.Errorf("%s: only %d builds ran out of it", kind.name, failed)
		}
	}
}

// refused checks how a build ends that has no space: with the code for it, and
// one error that says so.
func refused(t testing.TB, when string, code int, out, errs string) {
	t.Helper()
	if code != int(exit.Resources) || !strings.Contains(errs, "no space left on device") || strings.Count("\n"+errs, "\nerror: ") != 1 {
		t.Errorf("%s: code %d\n%s%s", when, code, out, errs)
	}
}

// inNamespace runs the test anew where it may mount.
func inNamespace(t *testing.T) {
	self, err := os.Executable()
	check(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=30m")
	cmd.Env = append(os.Environ(), insideEnv+"=yes", binaryEnv+"="+binary)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS, Pdeathsig: unix.SIGKILL}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	check(t, err)
}

// disk is a small file system.
type disk struct{ dir string }

type usage struct{ bytes, files int64 }

// fresh mounts it with a copy of a project on it.
func (d disk) fresh(t testing.TB, template, options string) *project {
	t.Helper()
	check(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	check(t, unix.Mount("tmpfs", d.dir, "tmpfs", 0, "size=64m"))
	check(t, os.CopyFS(d.dir, os.DirFS(template)))
	check(t, unix.Mount("", d.dir, "", unix.MS_REMOUNT, options))
	return &project{dir: filepath.Join(d.dir, "project"), store: filepath.Join(d.dir, "store"), args: []string{"build"}}
}

func (d disk) gone(t testing.TB) {
	t.Helper()
	check(t, unix.Unmount(d.dir, 0))
}

func (d disk) used(t testing.TB) usage {
	t.Helper()
	var st unix.Statfs_t
	check(t, unix.Statfs(d.dir, &st))
	return usage{bytes: int64(st.Blocks-st.Bfree) * int64(st.Bsize), files: int64(st.Files - st.Ffree)}
}
