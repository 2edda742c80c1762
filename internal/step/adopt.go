package step

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/key"
	"github.com/stonemason-hip/stonemason/toolchain/llvm"
)

// AdoptLLVM copies an LLVM, as a rule the build machine's, into lib/llvm of the
// stage: the programs, clang's own headers, and the libraries that are not part
// of every Linux system, all finding each other by their own place.
type AdoptLLVM struct {
	// Tools must be there; Optional are taken where they are.
	Tools    []string `yaml:"tools"`
	Optional []string `yaml:"optional,omitempty"`
	// Root is a folder of packages, unpacked over each other, to take the host's
	// LLVM from in place of the machine's own.
	Root string `yaml:"root,omitempty"`
	// Links are further names in lib/llvm/bin: new name to program.
	Links map[string]string `yaml:"links,omitempty"`
	// ConfigBelow is the first major version whose clang finds ROCm above
	// lib/llvm by itself; an older one gets configuration files that say it
	// (clang's user's manual, "Configuration files").
	ConfigBelow string `yaml:"config_below,omitempty" pattern:"^[0-9]+$"`
}

// Validate implements Step.
func (s *AdoptLLVM) Validate() error {
	if len(s.Tools) == 0 {
		return errors.New("tools is empty")
	}
	for _, name := range slices.Concat(s.Tools, s.Optional, slices.Collect(maps.Keys(s.Links))) {
		if name == "" || strings.ContainsAny(name, "/\\") {
			return fmt.Errorf("%q is not the name of a program", name)
		}
	}
	if s.Root != "" && !keyed(s.Root) {
		return fmt.Errorf("root %q does not lie below ${source}, ${build} or ${dep.name}", s.Root)
	}
	return nil
}

// Key implements Step.
func (s *AdoptLLVM) Key(b *key.Builder) { fields(b, s) }

// Run implements Step.
func (s *AdoptLLVM) Run(ctx context.Context, r *Run) error {
	in, err := s.install(r)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.Output, "+ adopt %s\n", in)
	report, err := llvm.Adopt(ctx, in, llvm.Spec{
		Tools: s.Tools, Optional: s.Optional, Links: s.Links, Dest: r.Stage, Patchelf: r.Tools["patchelf"],
	})
	if err != nil {
		return err
	}
	for _, f := range report.Files {
		if f.Origin != "" {
			fmt.Fprintf(r.Output, "%s from %s\n", f.Path, f.Origin)
		}
	}
	fmt.Fprintf(r.Output, "left to the system: %s\n", strings.Join(report.Base, ", "))
	if below, err := strconv.Atoi(s.ConfigBelow); err == nil && in.Major < below {
		for _, name := range []string{"clang.cfg", "clang++.cfg"} {
			file := filepath.Join(r.Stage, "lib", "llvm", "bin", name)
			if err := os.WriteFile(file, []byte("--rocm-path=<CFGDIR>/../../..\n"), 0o644); err != nil {
				return err
			}
			fmt.Fprintf(r.Output, "+ %s says where ROCm is: this clang does not look there\n", name)
		}
	}
	if len(report.Absent) > 0 {
		fmt.Fprintf(r.Output, "not there, and not needed: %s\n", strings.Join(report.Absent, ", "))
	}
	return nil
}

// install is the LLVM to adopt.
func (s *AdoptLLVM) install(r *Run) (llvm.Install, error) {
	if s.Root != "" {
		root, err := r.Expand(s.Root)
		if err != nil {
			return llvm.Install{}, err
		}
		in, err := llvm.FromTree(root, r.Host)
		return in, exit.With(exit.Source, err)
	}
	if r.LLVM == nil {
		return llvm.Install{}, errors.New("no usable LLVM was found: go tool mage doctor")
	}
	return *r.LLVM, nil
}
