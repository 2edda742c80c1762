package step

import (
	"context"
	"fmt"
	"os"

	"github.com/stonemason-hip/stonemason/internal/key"
	"github.com/stonemason-hip/stonemason/toolchain/sdk"
)

// MacOSSDK assembles an SDK for macOS in the stage: usr/include, usr/lib and
// SDKSettings.json at its top.
type MacOSSDK struct {
	// Darwin is zig's folder lib/libc, LLVM the folder that holds libcxx and
	// libcxxabi.
	Darwin string `yaml:"darwin"`
	LLVM   string `yaml:"llvm"`
	// DeploymentTarget is the oldest macOS that programs are made for.
	DeploymentTarget string `yaml:"deployment_target"`
}

// Validate implements Step.
func (s *MacOSSDK) Validate() error {
	for name, folder := range map[string]string{"darwin": s.Darwin, "llvm": s.LLVM} {
		if !keyed(folder) {
			return fmt.Errorf("%s %q does not lie below ${source}, ${build} or ${dep.name}", name, folder)
		}
	}
	if _, err := sdk.ParseVersion(s.DeploymentTarget); err != nil {
		return fmt.Errorf("deployment_target: %w", err)
	}
	return nil
}

// Key implements Step.
func (s *MacOSSDK) Key(b *key.Builder) {
	fields(b, s)
	b.Add("assembly", sdk.Revision)
}

// Run implements Step.
func (s *MacOSSDK) Run(ctx context.Context, r *Run) error {
	target, err := sdk.ParseVersion(s.DeploymentTarget)
	if err != nil {
		return fmt.Errorf("deployment_target: %w", err)
	}
	open := func(folder string) (*os.Root, error) {
		name, err := r.Expand(folder)
		if err != nil {
			return nil, err
		}
		return os.OpenRoot(name)
	}
	darwin, err := open(s.Darwin)
	if err != nil {
		return err
	}
	defer darwin.Close()
	llvm, err := open(s.LLVM)
	if err != nil {
		return err
	}
	defer llvm.Close()
	stage, err := os.OpenRoot(r.Stage)
	if err != nil {
		return err
	}
	defer stage.Close()
	sum, err := sdk.Assemble(ctx, sdk.Sources{Darwin: darwin.FS(), LLVM: llvm.FS()}, stage, target)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.Output, "+ SDK of macOS %s for macOS %s: %d headers, %d symbols of libc++\n", sum.Version, sum.Target, sum.Headers, sum.Symbols)
	for _, name := range sum.LeftOut {
		fmt.Fprintf(r.Output, "left out, for the SDK has no stub of its library: %s\n", name)
	}
	fmt.Fprintf(r.Output, "left out, for macOS %s has not got them: %d symbols of libc++, %d of libSystem\n", sum.Target, len(sum.TooNew), sum.System)
	return nil
}
