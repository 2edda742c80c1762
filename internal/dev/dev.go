// Package dev holds what the developers of Stonemason run: tests, lint and the
// standalone binary.
package dev

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/exit"
)

// Test runs everything that must pass: lint, the tests of all packages and,
// unless short, the end-to-end test on the real toolchain.
func Test(ctx context.Context, out, errs io.Writer, short bool) error {
	if err := Lint(ctx, out, errs); err != nil {
		return err
	}
	if err := run(ctx, out, errs, "go", "test", "-timeout", "20m", "./..."); err != nil {
		return err
	}
	if short {
		return nil
	}
	// The end-to-end test has a build tag of its own, because it needs the
	// machine's LLVM and takes minutes where nothing was built before.
	return run(ctx, out, errs, "go", "test", "-timeout", "60m", "-count=1", "-v", "-tags", "e2e", "./internal/e2e")
}

// Lint checks formatting and what go vet and staticcheck find.
func Lint(ctx context.Context, out, errs io.Writer) error {
	var unformatted bytes.Buffer
	if err := run(ctx, &unformatted, errs, "gofmt", "-l", "internal", "magefiles", "toolchain"); err != nil {
		return err
	}
	if files := strings.TrimSpace(unformatted.String()); files != "" {
		return exit.Hint(exit.Withf(exit.Failure, "not formatted:\n%s", files), "gofmt -w internal magefiles toolchain")
	}
	for _, argv := range [][]string{
		{"go", "vet", "./..."},
		{"go", "vet", "-tags", "e2e", "./internal/e2e"},
		{"go", "vet", "-tags", "mage", "./magefiles"},
		{"go", "tool", "staticcheck", "./..."},
	} {
		if err := run(ctx, out, errs, argv...); err != nil {
			return err
		}
	}
	return nil
}

// Compile makes the standalone binary.
func Compile(ctx context.Context, out, errs io.Writer, file string) error {
	wd, err := os.Getwd()
	if err != nil {
		return err
	}
	if err := run(ctx, out, errs, "go", "tool", "mage", "-ldflags", "-s -w", "-compile", wd+"/"+file); err != nil {
		return err
	}
	fmt.Fprintf(out, "wrote %s\n", file)
	return nil
}

func run(ctx context.Context, out, errs io.Writer, argv ...string) error {
	fmt.Fprintf(errs, "+ %s\n", strings.Join(argv, " "))
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = out, errs
	if err := cmd.Run(); err != nil {
		return exit.With(exit.Failure, fmt.Errorf("%s: %w", strings.Join(argv, " "), err))
	}
	return nil
}
