// Package dev holds what the developers of Stonemason run: tests, lint, long
// proofs and the standalone binary.
package dev

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/stonemason-hip/stonemason/internal/doctor"
	"github.com/stonemason-hip/stonemason/internal/exit"
)

// Test runs everything that must pass: lint, the tests of all packages and,
// unless short, those that need the real toolchain or a browser. What they use
// is installed first, when m allows.
func Test(ctx context.Context, out, errs io.Writer, m doctor.Mode, short bool) error {
	if err := doctor.Ensure(ctx, doctor.Check(ctx, needs(short)), m); err != nil {
		return err
	}
	if err := Lint(ctx, out, errs); err != nil {
		return err
	}
	if err := run(ctx, out, errs, nil, "go", "test", "-timeout", "20m", "./..."); err != nil {
		return err
	}
	if short {
		return nil
	}
	// They have a build tag of their own, because one needs the machine's LLVM
	// and takes minutes where nothing was built before, and one a browser.
	return run(ctx, out, errs, nil, "go", "test", "-timeout", "60m", "-count=1", "-v", "-tags", "e2e", "./internal/e2e", "./internal/report")
}

// Proof runs the tests that take too long for every change: the real build,
// killed at twenty places, and everything under the race detector.
func Proof(ctx context.Context, out, errs io.Writer, m doctor.Mode) error {
	if err := doctor.Ensure(ctx, doctor.Check(ctx, needs(true)), m); err != nil {
		return err
	}
	if err := run(ctx, out, errs, []string{"CGO_ENABLED=1"}, "go", "test", "-race", "-timeout", "60m", "./..."); err != nil {
		return err
	}
	return run(ctx, out, errs, nil, "go", "test", "-timeout", "170m", "-count=1", "-v", "-tags", "proof", "-run", "TestReal", "./internal/crash")
}

// Lint checks formatting and what go vet and staticcheck find, for both
// operating systems.
func Lint(ctx context.Context, out, errs io.Writer) error {
	var unformatted bytes.Buffer
	if err := run(ctx, &unformatted, errs, nil, "gofmt", "-l", "emulator", "internal", "magefiles", "remote", "toolchain"); err != nil {
		return err
	}
	if files := strings.TrimSpace(unformatted.String()); files != "" {
		return exit.Hint(exit.Withf(exit.Failure, "not formatted:\n%s", files), "gofmt -w internal magefiles toolchain")
	}
	for _, c := range []struct{ env, argv []string }{
		{nil, []string{"go", "vet", "./..."}},
		{nil, []string{"go", "vet", "-tags", "e2e", "./internal/e2e", "./internal/report"}},
		{nil, []string{"go", "vet", "-tags", "proof", "./internal/crash"}},
		{nil, []string{"go", "vet", "-tags", "mage", "./magefiles"}},
		{[]string{"GOOS=darwin", "GOARCH=arm64"}, []string{"go", "vet", "./..."}},
		{nil, []string{"go", "tool", "staticcheck", "./..."}},
	} {
		if err := run(ctx, out, errs, c.env, c.argv...); err != nil {
			return err
		}
	}
	return nil
}

// Compile makes the standalone binary of the repository in the folder root.
// Mage writes a file among the targets meanwhile: two that compile at once
// would take each other's, so one waits.
func Compile(ctx context.Context, out, errs io.Writer, root, file string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	if file, err = filepath.Abs(file); err != nil {
		return err
	}
	state := filepath.Join(root, ".stonemason")
	if err := os.MkdirAll(state, 0o755); err != nil {
		return err
	}
	unlock, err := lockedfile.MutexAt(filepath.Join(state, "compile.lock")).Lock()
	if err != nil {
		return err
	}
	defer unlock()
	cmd := exec.CommandContext(ctx, "go", "tool", "mage", "-ldflags", "-s -w", "-compile", file)
	cmd.Dir = root
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return exit.With(exit.Failure, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, said.String()))
	}
	fmt.Fprintf(out, "wrote %s\n", file)
	return nil
}

func run(ctx context.Context, out, errs io.Writer, env []string, argv ...string) error {
	fmt.Fprintf(errs, "+ %s\n", strings.Join(append(env, argv...), " "))
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = out, errs
	if env != nil {
		cmd.Env = append(os.Environ(), env...)
	}
	if err := cmd.Run(); err != nil {
		return exit.With(exit.Failure, fmt.Errorf("%s: %w", strings.Join(argv, " "), err))
	}
	return nil
}
