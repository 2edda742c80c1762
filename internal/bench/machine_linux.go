package bench

import (
	"context"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// processor is the model in /proc/cpuinfo (proc_cpuinfo(5)).
func processor(context.Context) string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func memory(context.Context) int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit)
}

func fileSystem(ctx context.Context, dir string) string {
	return output(ctx, "stat", "--file-system", "--format=%T", dir)
}
