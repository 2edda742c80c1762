//go:build unix

package step

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the child into a process group of its own and makes
// cancellation kill the whole group: ninja's compilers are grandchildren.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
