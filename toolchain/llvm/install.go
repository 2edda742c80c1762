// Package llvm finds the LLVM installations of a machine, says what each lacks,
// and adopts one: copies its tools and the private libraries that they need
// into a folder that can then be moved anywhere.
package llvm

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// Vendor says who packaged an installation, and so which packages hold what.
type Vendor string

// The vendors whose layouts are known. Ubuntu's and apt.llvm.org's packages
// are laid out as Debian's.
const (
	Debian   Vendor = "debian"
	Fedora   Vendor = "fedora"
	Homebrew Vendor = "homebrew"
	Other    Vendor = "other"
)

// Install is one LLVM installation.
type Install struct {
	// Prefix is the folder that holds bin, absolute.
	Prefix string `json:"prefix"`
	// Version is what clang says of itself; Major its first number.
	Version string `json:"version"`
	Major   int    `json:"major"`
	Vendor  Vendor `json:"vendor"`
	// Triple is clang's default target.
	Triple string `json:"triple"`
	// BinDir, LibDir and ResourceDir are absolute. ResourceDir holds clang's
	// own headers.
	BinDir      string `json:"bin_dir"`
	LibDir      string `json:"lib_dir"`
	ResourceDir string `json:"resource_dir"`
	// Tools are the programs by name, symlinks not followed.
	Tools map[string]string `json:"-"`
	// HasDev tells whether LLVM's and clang's CMake packages are there.
	HasDev bool `json:"has_dev"`
	// HasAMDGPU tells whether clang has the amdgcn target.
	HasAMDGPU bool `json:"has_amdgpu"`
	// Missing are the required tools that it lacks, sorted.
	Missing []string `json:"missing,omitempty"`
	// Unusable are the reasons not to use it; empty for a usable one.
	Unusable []string `json:"unusable,omitempty"`

	// root is the folder that stands for / (see Options.Root), host the machine
	// that the programs are for where they were not found by running them (see
	// FromTree).
	root string
	host platform.Platform
}

// Usable reports whether nothing speaks against the installation.
func (i Install) Usable() bool { return len(i.Unusable) == 0 }

// String is a short description for a person.
func (i Install) String() string {
	version := i.Version
	if version == "" {
		version = "unknown version"
	}
	return fmt.Sprintf("LLVM %s (%s, %s)", version, i.Vendor, i.Prefix)
}

// Packages are the packages, in the vendor's names, that hold the missing
// tools and, with dev, the CMake packages; empty for an unknown vendor.
func (i Install) Packages(dev bool) []string {
	var names []string
	for _, tool := range i.Missing {
		names = append(names, packageOf(i.Vendor, i.Major, tool))
	}
	if dev && !i.HasDev {
		switch i.Vendor {
		case Debian:
			// llvm-dev's CMake files refuse to load without the other three.
			names = append(names, fmt.Sprintf("llvm-%d-dev", i.Major), fmt.Sprintf("libclang-%d-dev", i.Major),
				"libzstd-dev", "zlib1g-dev", "libxml2-dev")
		case Fedora:
			names = append(names, "llvm-devel", "clang-devel")
		case Homebrew:
			names = append(names, "llvm")
		}
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == "" })
	slices.Sort(names)
	return slices.Compact(names)
}

// packageOf is the package of a tool. Debian's split was read from the
// packages of release 22 (dpkg -S), Fedora's and Homebrew's from their
// package names: clang-tools-extra, and the formulae llvm and lld.
func packageOf(v Vendor, major int, tool string) string {
	isLLD := slices.Contains([]string{"lld", "ld.lld", "ld64.lld", "lld-link", "wasm-ld"}, tool)
	isClang := strings.HasPrefix(tool, "clang")
	switch v {
	case Debian:
		switch {
		case isLLD:
			return "lld-" + strconv.Itoa(major)
		case tool == "clang" || tool == "clang++" || tool == "clang-cpp":
			return "clang-" + strconv.Itoa(major)
		case isClang || slices.Contains([]string{"offload-arch", "amdgpu-arch", "nvptx-arch"}, tool):
			return "clang-tools-" + strconv.Itoa(major)
		}
		return "llvm-" + strconv.Itoa(major)
	case Fedora:
		switch {
		case isLLD:
			return "lld"
		case tool == "clang" || tool == "clang++" || tool == "clang-cpp":
			return "clang"
		case isClang || strings.HasSuffix(tool, "-arch"):
			return "clang-tools-extra"
		}
		return "llvm"
	case Homebrew:
		if isLLD {
			return "lld"
		}
		return "llvm"
	}
	return ""
}

// NoUsableError says that no installation can be used, and why none of those
// found can.
type NoUsableError struct {
	Found    []Install
	MinMajor int
}

// Error lists each installation found with the reasons against it.
func (e *NoUsableError) Error() string {
	if len(e.Found) == 0 {
		return fmt.Sprintf("no LLVM found: install clang, lld and llvm of version %d or newer, or name a prefix", e.MinMajor)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "no usable LLVM (version %d or newer is needed)", e.MinMajor)
	for _, in := range e.Found {
		fmt.Fprintf(&b, "; %s: %s", in, strings.Join(in.Unusable, ", "))
	}
	return b.String()
}

// Best is the first usable installation of what Detect returned, or a
// NoUsableError.
func Best(found []Install, minMajor int) (Install, error) {
	for _, in := range found {
		if in.Usable() {
			return in, nil
		}
	}
	return Install{}, &NoUsableError{Found: found, MinMajor: minMajor}
}

// rank sorts usable ones first, then newest first, then those that a person
// named, in the order named; the prefix decides between equals.
func rank(found []Install, named map[string]int) {
	order := func(i Install) int {
		if at, ok := named[i.Prefix]; ok {
			return at
		}
		return len(named)
	}
	slices.SortStableFunc(found, func(a, b Install) int {
		if a.Usable() != b.Usable() {
			if a.Usable() {
				return -1
			}
			return 1
		}
		return cmp.Or(compareVersions(b.Version, a.Version), cmp.Compare(order(a), order(b)), strings.Compare(a.Prefix, b.Prefix))
	})
}

func compareVersions(a, b string) int {
	va, erra := semver.NewVersion(a)
	vb, errb := semver.NewVersion(b)
	switch {
	case erra != nil && errb != nil:
		return 0
	case erra != nil:
		return -1
	case errb != nil:
		return 1
	}
	return va.Compare(vb)
}
