// Package elf reads and edits what the dynamic loader cares about in ELF
// files: the interpreter, the names a file needs, where it looks for them, and
// which symbol versions it asks of them.
//
// Reading follows the program headers, as the loader does, and not the section
// headers, as most tools do: the two can disagree, and the loader decides
// whether a bundle runs. Layouts are those of the System V gABI (chapters 4 and
// 5) and, for symbol versions, of the Linux Standard Base, part "Symbol
// Versioning". Every count, size and offset is bounded, and a hostile file
// gives an error.
package elf

import (
	"debug/elf"
	"slices"
	"strconv"
	"strings"

	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// MachineAMDGPU is e_machine of the code objects that a HIP bundle may carry
// beside programs for its host (gABI machine registry).
const MachineAMDGPU = elf.Machine(224)

// Image is one ELF file as the loader sees it.
type Image struct {
	Class   elf.Class
	Machine elf.Machine
	Type    elf.Type
	OSABI   elf.OSABI
	// Interp is the program interpreter, "" without PT_INTERP.
	Interp string
	// HasDynamic tells a file with a dynamic section from a static one.
	HasDynamic bool
	// PIE is DF_1_PIE of DT_FLAGS_1: an ET_DYN that is a program.
	PIE    bool
	Soname string
	Needed []string
	// RPath and RunPath are the entries of DT_RPATH and DT_RUNPATH in order,
	// empty ones kept; nil without the tag.
	RPath, RunPath []string
	// BuildID is the GNU build id in hex, "" without one.
	BuildID string
	// Versions are the symbol versions asked of other libraries, by library
	// in file order.
	Versions []VersionNeed
}

// VersionNeed is one Verneed record.
type VersionNeed struct {
	// Library is the file name the versions are asked of ("libc.so.6").
	Library string
	// Names are version names in file order ("GLIBC_2.34").
	Names []string
}

// Platform is the machine that the image runs on, and false for one that is
// none of ours (an AMD GPU's, or a 32-bit one).
func (i *Image) Platform() (platform.Platform, bool) {
	if i.Class != elf.ELFCLASS64 {
		return platform.Platform{}, false
	}
	switch i.Machine {
	case elf.EM_X86_64:
		return platform.Platform{OS: "linux", Arch: "amd64"}, true
	case elf.EM_AARCH64:
		return platform.Platform{OS: "linux", Arch: "arm64"}, true
	}
	return platform.Platform{}, false
}

// MachineName is e_machine for people.
func (i *Image) MachineName() string {
	if i.Machine == MachineAMDGPU {
		return "AMD GPU"
	}
	if p, ok := i.Platform(); ok {
		return p.String()
	}
	return strings.TrimPrefix(i.Class.String(), "ELFCLASS") + "-bit " + i.Machine.String()
}

// Program reports whether the image can be started: it names an interpreter,
// is at a fixed address, or is a static program that can move.
func (i *Image) Program() bool {
	switch i.Type {
	case elf.ET_EXEC:
		return true
	case elf.ET_DYN:
		return i.PIE || i.Interp != "" && i.Soname == ""
	}
	return false
}

// SearchPath is where the loader looks for what the image needs, before its
// own directories: DT_RUNPATH if there is one, else DT_RPATH (ld.so(8)).
func (i *Image) SearchPath() []string {
	if i.RunPath != nil {
		return i.RunPath
	}
	return i.RPath
}

// MaxVersions is the newest version asked for in each family: GLIBC, GLIBCXX,
// CXXABI, GCC. Names that are no dotted numbers (GLIBC_PRIVATE,
// GLIBC_ABI_DT_RELR) are left out.
func (i *Image) MaxVersions() map[string]string {
	newest := map[string]string{}
	for _, need := range i.Versions {
		for _, name := range need.Names {
			family, version, ok := splitVersion(name)
			if ok && (newest[family] == "" || CompareVersions(version, newest[family]) > 0) {
				newest[family] = version
			}
		}
	}
	return newest
}

func splitVersion(name string) (family, version string, ok bool) {
	family, version, ok = strings.Cut(name, "_")
	if !ok || !slices.Contains([]string{"GLIBC", "GLIBCXX", "CXXABI", "GCC"}, family) {
		return "", "", false
	}
	for part := range strings.SplitSeq(version, ".") {
		if _, err := strconv.ParseUint(part, 10, 32); err != nil {
			return "", "", false
		}
	}
	return family, version, true
}

// CompareVersions compares dotted numbers of any length: 2.9 is older than
// 2.34, and 2.34 older than 2.34.1. A part that is no number counts as 0.
func CompareVersions(a, b string) int {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for k := range max(len(as), len(bs)) {
		var x, y uint64
		if k < len(as) {
			x, _ = strconv.ParseUint(as[k], 10, 32)
		}
		if k < len(bs) {
			y, _ = strconv.ParseUint(bs[k], 10, 32)
		}
		if x != y {
			if x < y {
				return -1
			}
			return 1
		}
	}
	return len(as) - len(bs)
}

// Interpreter is the dynamic loader's path on a platform, as its ABI fixes it
// (System V psABI of x86-64 and of AArch64), and "" elsewhere.
func Interpreter(p platform.Platform) string {
	switch p.String() {
	case "linux-amd64":
		return "/lib64/ld-linux-x86-64.so.2"
	case "linux-arm64":
		return "/lib/ld-linux-aarch64.so.1"
	}
	return ""
}
