package smoke

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
	"github.com/stonemason-hip/stonemason/toolchain/gpu"
)

// checkObject compares a code object with the GPU it was compiled for and with
// what its example expects. It returns what is wrong, in words; nothing when
// all is well. The object's OS ABI and ABI version were checked by parsing it.
func checkObject(o *codeobj.Object, table *gpu.Table, target gpu.Target, expect Expectation) []string {
	var findings []string
	add := func(format string, args ...any) { findings = append(findings, fmt.Sprintf(format, args...)) }

	if want := target.EFlags(); o.Flags.Raw != want {
		add("e_flags 0x%x, want 0x%x for %s", o.Flags.Raw, want, target)
	} else if _, err := o.Target(table); err != nil {
		add("%v", err)
	}
	if target.Generic() && o.Version < 6 {
		add("code object version %d: generic targets need 6", o.Version)
	}
	expected := map[string]bool{}
	for _, want := range expect.Kernels {
		expected[want.Name] = true
		k, ok := o.Kernel(want.Name)
		if !ok {
			add("kernel %s is missing", want.label())
			continue
		}
		if int(k.WavefrontSize) != target.Wave {
			add("%s: wavefront %d, want %d", want.label(), k.WavefrontSize, target.Wave)
		}
		if want.LDS != nil && k.GroupSegmentFixedSize != *want.LDS {
			add("%s: %d bytes of LDS, want %d", want.label(), k.GroupSegmentFixedSize, *want.LDS)
		}
		if k.GroupSegmentFixedSize > uint64(target.LDS) {
			add("%s: %d bytes of LDS, %s has %d", want.label(), k.GroupSegmentFixedSize, target.Name, target.LDS)
		}
		findings = append(findings, checkArgs(k.Explicit(), want)...)
	}
	for _, k := range o.Kernels {
		if !expected[k.Name] {
			add("kernel %s is not expected", k.Name)
		}
	}
	return findings
}

func checkArgs(got []codeobj.Arg, want ExpectedKernel) []string {
	if len(got) != len(want.Args) {
		return []string{fmt.Sprintf("%s: %d arguments, want %d", want.label(), len(got), len(want.Args))}
	}
	var findings []string
	for i, a := range got {
		w := want.Args[i]
		if a.ValueKind != w.Kind || a.Offset != w.Offset || a.Size != w.Size {
			name := w.Name
			if name == "" {
				name = fmt.Sprintf("argument %d", i)
			}
			findings = append(findings, fmt.Sprintf("%s: %s is %s of %d bytes at %d, want %s of %d at %d",
				want.label(), name, a.ValueKind, a.Size, a.Offset, w.Kind, w.Size, w.Offset))
		}
	}
	return findings
}

// explain turns what a failed compiler wrote into one finding.
func explain(stderr string, target gpu.Target) string {
	for _, mark := range []string{"unsupported HIP gpu architecture", "invalid target ID", "unknown target CPU", "is not a recognized processor"} {
		if strings.Contains(stderr, mark) {
			return fmt.Sprintf("this LLVM does not know %s: take a newer LLVM, or leave the GPU out", target)
		}
	}
	if strings.Contains(stderr, "cannot find ROCm device library") {
		return fmt.Sprintf("the bundle has no device library for %s: build device-libs for it, or leave the GPU out", target)
	}
	return firstError(stderr)
}

// firstError finds the line that matters: the first with "error:", else the
// last that is not empty.
func firstError(stderr string) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	for _, l := range lines {
		if strings.Contains(l, "error:") {
			return strings.TrimSpace(l)
		}
	}
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return last
	}
	return "the compiler says nothing"
}

// wantIDs are the entries that clang puts in a bundle for these targets, the
// host's left out, sorted.
func wantIDs(targets []gpu.Target) []string {
	var ids []string
	for _, t := range targets {
		ids = append(ids, "hipv4-amdgcn-amd-amdhsa--"+t.String())
	}
	slices.Sort(ids)
	return ids
}

// deviceIDs are the entries for GPUs that a bundle has, sorted.
func deviceIDs(b *codeobj.Bundle) []string {
	var ids []string
	for _, e := range b.Entries {
		if e.Device() {
			ids = append(ids, e.ID)
		}
	}
	return sorted(ids)
}

func allIDs(b *codeobj.Bundle) []string {
	var ids []string
	for _, e := range b.Entries {
		ids = append(ids, e.ID)
	}
	return ids
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}

func equal(a, b []string) bool { return slices.Equal(a, b) }
