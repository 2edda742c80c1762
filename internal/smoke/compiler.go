package smoke

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stonemason-hip/stonemason/toolchain/gpu"
)

// Compiler compiles single sources with a bundle, as a run does its examples.
type Compiler struct{ tools *toolchain }

// FindCompiler finds the compiler of a bundle. The flags are added to every
// compilation, behind -O3.
func FindCompiler(bundle string, flags []string) (*Compiler, error) {
	t, err := findToolchain(bundle, flags, nil)
	if err != nil {
		return nil, err
	}
	return &Compiler{t}, nil
}

// CompileError is what a compiler wrote about a source that it does not take.
type CompileError struct {
	Target gpu.Target
	Output string // standard error
}

// Error is the line that matters.
func (e *CompileError) Error() string { return explain(e.Output, e.Target) }

// Device compiles a source for the device alone and returns the code object. It runs
// in dir, where a relative source is, with line tables and the names of arguments.
// The error is a *CompileError when the compiler refuses the source.
func (c *Compiler) Device(ctx context.Context, dir, source string, target gpu.Target) ([]byte, error) {
	work, err := os.MkdirTemp("", "stonemason-kernel-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	out := filepath.Join(work, "kernel.co")
	argv := append(append([]string{}, c.tools.flags...), "-gline-tables-only", "-fhip-kernel-arg-name",
		"--offload-device-only", "--no-gpu-bundle-output", "--offload-arch="+target.String(), source, "-o", out)
	_, stderr, err := c.tools.run(ctx, dir, c.tools.compiler, argv...)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && stderr == "":
		return nil, fmt.Errorf("run %s: %w", c.tools.compiler, err)
	case err != nil:
		return nil, &CompileError{Target: target, Output: strings.TrimSpace(stderr)}
	}
	return readFile(out)
}
