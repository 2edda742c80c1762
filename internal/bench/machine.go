package bench

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
)

// Machine describes the machine in one line: system, processor, cores, memory,
// file system of the folder dir, and the versions of the programs that take
// part. What cannot be found out is left out.
func Machine(ctx context.Context, dir string, programs ...string) string {
	parts := []string{runtime.GOOS + "/" + runtime.GOARCH}
	if name := processor(ctx); name != "" {
		parts = append(parts, name)
	}
	parts = append(parts, fmt.Sprintf("%d cores", runtime.NumCPU()))
	if bytes := memory(ctx); bytes > 0 {
		parts = append(parts, fmt.Sprintf("%.0f GiB", float64(bytes)/(1<<30)))
	}
	if name := fileSystem(ctx, dir); name != "" {
		parts = append(parts, name)
	}
	parts = append(parts, runtime.Version())
	for _, p := range programs {
		if line := version(ctx, p); line != "" {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, ", ")
}

// version is a program's name and the first word with a digit in the first line
// of what --version prints.
func version(ctx context.Context, program string) string {
	out, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(out), "\n")
	for _, word := range strings.Fields(first) {
		if strings.ContainsAny(word, "0123456789") {
			return program + " " + word
		}
	}
	return ""
}

func output(ctx context.Context, argv ...string) string {
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
