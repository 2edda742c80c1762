package doctor

import "golang.org/x/sys/unix"

// machineMemory asks the kernel: sysctl hw.memsize, in bytes.
func machineMemory() (int64, error) {
	n, err := unix.SysctlUint64("hw.memsize")
	return int64(n), err
}
