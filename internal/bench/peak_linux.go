package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// PeakMemory is the most that a running process had in memory so far, in bytes:
// VmHWM (proc_pid_status(5)). Its children do not count. It is 0 when the
// process is gone, and where the system does not tell.
func PeakMemory(pid int) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err == nil {
				return kb << 10
			}
		}
	}
	return 0
}

// ResetPeak makes the peak memory of this process what it has now, and returns that,
// in bytes: clear_refs and VmRSS (proc(5)).
func ResetPeak() (int64, error) {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return 0, err
	}
	return PeakMemory(os.Getpid()), nil
}
