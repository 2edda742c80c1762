package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/stonemason-hip/stonemason/internal/ui"
)

// compileTime bounds one program of a few lines; a second is usual for the
// first one on a slow machine.
const compileTime = time.Minute

// programs are what TryCompilers has compiled, by the names of their files:
// each needs the headers and the libraries of its language.
func programs() map[string]string {
	return map[string]string{
		"try.c":   "#include <stdio.h>\nint main(void) { puts(\"works\"); return 0; }\n",
		"try.cpp": "#include <iostream>\n#include <vector>\nint main() { std::vector<int> v{1}; std::cout << v.size() << std::endl; }\n",
	}
}

// TryCompilers compiles and links a small program with a C and with a C++
// compiler. A compiler may well say its version and then crash, or lack headers
// or a linker; configure steps fail at that with pages of output.
func TryCompilers(ctx context.Context, cc, cxx string) error {
	dir, err := os.MkdirTemp("", "stonemason-doctor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for name, text := range programs() {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	failed := make(chan error, 2)
	go func() { failed <- compile(ctx, dir, cc, "try.c") }()
	go func() { failed <- compile(ctx, dir, cxx, "try.cpp") }()
	return errors.Join(<-failed, <-failed)
}

func compile(ctx context.Context, dir, compiler, file string) error {
	ctx, cancel := context.WithTimeout(ctx, compileTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, compiler, file, "-o", file+".out")
	cmd.Dir = dir
	// As in a build: none of the variables that change what it finds.
	cmd.Env = []string{"LC_ALL=C", "PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var out limited
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if err == nil {
		if info, statErr := os.Stat(filepath.Join(dir, file+".out")); statErr != nil || info.Size() == 0 {
			return fmt.Errorf("%s says that it compiled a program and made none", compiler)
		}
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s does not end: %w", compiler, ctx.Err())
	}
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		if status, ok := ended.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return fmt.Errorf("%s crashes (%v) when it compiles a small program", compiler, err)
		}
	}
	return fmt.Errorf("%s cannot compile a small program: %s", compiler, telling(out.String(), err))
}

// telling is the line of a compiler's output that says what is wrong.
func telling(out string, err error) string {
	first := ""
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(ui.Clean(line))
		if strings.Contains(line, "error:") || strings.Contains(line, "cannot ") {
			return short(line)
		}
		if first == "" {
			first = line
		}
	}
	if first == "" {
		return err.Error()
	}
	return short(first)
}

func short(line string) string {
	const most = 200
	if r := []rune(line); len(r) > most {
		return string(r[:most]) + "…"
	}
	return line
}
