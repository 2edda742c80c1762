package machine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/stonemason-hip/stonemason/toolchain/cross"
	"github.com/stonemason-hip/stonemason/toolchain/hostcc"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// Cross finds what makes programs for a platform that is not this machine:
// the LLVM that would be adopted, for macOS, and the distribution's cross
// compilers for another processor of Linux. sysroot is the folder of the
// platform's headers and libraries, for compilers that bring none.
func (m *Machine) Cross(host platform.Platform, sysroot string) (*cross.Toolchain, error) {
	switch {
	case host.OS == "darwin":
		if m.LLVM == nil {
			return nil, errors.New("compiling for macOS needs clang and lld, and the machine has no usable LLVM: go tool mage doctor")
		}
		if missing := m.DarwinToolsMissing(); len(missing) > 0 {
			return nil, fmt.Errorf("compiling for macOS needs %s, which LLVM %s in %s does not have: go tool mage doctor", missing[0], m.LLVM.Version, m.LLVM.Prefix)
		}
		t := cross.Darwin(host, m.LLVM.BinDir, sysroot)
		return &t, nil
	case host.OS == m.Platform.OS:
		t, err := cross.GNU(host, m.CrossPath)
		if err != nil {
			return nil, fmt.Errorf("compiling for %s: %w: go tool mage doctor", host, err)
		}
		return &t, nil
	}
	return nil, fmt.Errorf("no compiler of this machine (%s) makes programs for %s: build them on a %s machine", m.Platform, host, host)
}

// DarwinToolsMissing lists the programs that compiling for macOS needs and the
// machine's LLVM lacks.
func (m *Machine) DarwinToolsMissing() []string {
	if m.LLVM == nil {
		return cross.DarwinTools()
	}
	return slices.DeleteFunc(cross.DarwinTools(), func(tool string) bool { return m.LLVM.Tools[tool] != "" })
}

// CrossIdentity names, by content, what Cross gives: a line for keys.
func (m *Machine) CrossIdentity(ctx context.Context, host platform.Platform) (string, error) {
	t, err := m.Cross(host, "")
	if err != nil {
		return "", err
	}
	if host.OS == "darwin" {
		digest, err := m.LLVMDigest(ctx)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("llvm %s %s", m.LLVMVersion(), digest), nil
	}
	pair, err := hostcc.Detect(ctx, hostcc.Options{CC: t.CC, CXX: t.CXX, Cache: m.cache})
	if err != nil {
		return "", fmt.Errorf("compiling for %s: %w", host, err)
	}
	text := fmt.Sprintf("%s %s %s %s", pair.C.Kind, pair.C.Version, pair.C.Digest, pair.CXX.Digest)
	for _, name := range []string{"AR", "STRIP"} { // the others make nothing that is kept
		digest, err := m.cache.Digest(t.Programs[name])
		if err != nil {
			return "", fmt.Errorf("%s: %w", filepath.Base(t.Programs[name]), err)
		}
		text += " " + digest
	}
	_ = m.cache.Save()
	return text, nil
}
