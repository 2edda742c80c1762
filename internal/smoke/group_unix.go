//go:build unix

package smoke

import (
	"os/exec"
	"syscall"
)

// ownGroup makes cancellation reach the compilers that a driver started: they
// share its process group, and the whole group is killed.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
