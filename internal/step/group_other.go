//go:build unix && !linux

package step

import "syscall"

// dieWithParent has no equivalent here: a child outlives a kill -9 of this
// program.
func dieWithParent(*syscall.SysProcAttr) {}
