package bench

import (
	"context"
	"errors"
	"strconv"

	"golang.org/x/sys/unix"
)

// processor is machdep.cpu.brand_string (sysctl(3)).
func processor(context.Context) string {
	name, err := unix.Sysctl("machdep.cpu.brand_string")
	if err != nil {
		return ""
	}
	return name
}

// memory is hw.memsize (sysctl(3)).
func memory(ctx context.Context) int64 {
	n, err := strconv.ParseInt(output(ctx, "sysctl", "-n", "hw.memsize"), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func fileSystem(_ context.Context, dir string) string {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return ""
	}
	return unix.ByteSliceToString(st.Fstypename[:])
}

// PeakMemory is 0: macOS tells nobody about a process that still runs.
func PeakMemory(int) int64 { return 0 }

// ResetPeak fails: macOS has nothing like it.
func ResetPeak() (int64, error) { return 0, errors.ErrUnsupported }
