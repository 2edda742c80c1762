package step

import "syscall"

// dieWithParent makes the kernel kill the child when the thread that started
// it ends (prctl(2), PR_SET_PDEATHSIG): after a kill -9 of this program no
// ninja must go on writing into a work folder that the next build takes over.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
