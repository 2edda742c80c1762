//go:build mage

package main

import (
	"context"
	"fmt"
	"os"

	"github.com/stonemason-hip/stonemason/internal/app"
	"github.com/stonemason-hip/stonemason/internal/dev"
)

// Test passes the tests: lint, unit tests, scenarios, and the real toolchain built, moved, verified and used.
func Test(ctx context.Context, yes, short *bool) error {
	return door(dev.Test(ctx, os.Stdout, os.Stderr, app.New().Installing(value(yes)), value(short)))
}

// Proof passes the long tests: the real build killed at twenty places, and everything under the race detector.
func Proof(ctx context.Context, yes *bool) error {
	return door(dev.Proof(ctx, os.Stdout, os.Stderr, app.New().Installing(value(yes))))
}

// Lint checks the code: gofmt, go vet, staticcheck.
func Lint(ctx context.Context) error {
	return door(dev.Lint(ctx, os.Stdout, os.Stderr))
}

// Bench measures us beside the alternatives on this machine and writes docs/benchmarks.md.
func Bench(ctx context.Context, only *string) error {
	return door(app.New().Bench(ctx, app.BenchOptions{Only: value(only)}))
}

// Compile makes the standalone binary bin/therock, with the same verbs.
func Compile(ctx context.Context) error {
	return door(dev.Compile(ctx, os.Stdout, os.Stderr, ".", "bin/therock"))
}

// Schema writes the JSON Schemas of the project's files to docs/schema.
func Schema(ctx context.Context) error {
	return door(app.New().Schema(ctx))
}

// Completion prints the completion script of a shell: bash, zsh or fish.
func Completion(shell string) error {
	text, err := app.Completion(shell)
	fmt.Print(text)
	return door(err)
}
