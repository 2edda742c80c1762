// Package cross describes the compilers of one machine that make programs for
// another: which programs they are, which options each needs every time, and
// where the other machine's headers and libraries lie.
//
// For macOS they are an LLVM's clang and ld64.lld with a macOS SDK; for another
// processor of Linux, the cross compilers of the distribution, which bring
// their own headers and libraries.
package cross

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// Toolchain is a set of programs that make something for Host.
type Toolchain struct {
	Host platform.Platform
	// CC and CXX are absolute paths.
	CC, CXX string
	// Triple is what CC and CXX are told to compile for; "" for compilers that
	// know one target alone.
	Triple string
	// Flags belong to each call of a compiler, LinkFlags to each link besides.
	Flags, LinkFlags []string
	// Programs are the absolute paths of the other tools, by the name that
	// CMake has for them: AR is the variable CMAKE_AR.
	Programs map[string]string
	// Sysroot holds the host's headers and libraries; "" for compilers that
	// bring their own.
	Sysroot string
}

// Possible reports whether programs for host can be made on a machine build.
func Possible(build, host platform.Platform) bool {
	return build == host || build.OS == "linux"
}

// darwinPrograms are LLVM's stand-ins for Apple's tools. LIBTOOL is left to
// the last: CMake itself makes archives with AR and RANLIB.
func darwinPrograms() map[string]string {
	return map[string]string{
		"AR": "llvm-ar", "RANLIB": "llvm-ranlib", "NM": "llvm-nm", "STRIP": "llvm-strip",
		"OBJCOPY": "llvm-objcopy", "OBJDUMP": "llvm-objdump", "READELF": "llvm-readelf",
		"LINKER": "ld64.lld", "OTOOL": "llvm-otool", "INSTALL_NAME_TOOL": "llvm-install-name-tool",
		"LIBTOOL": "llvm-libtool-darwin", "LIPO": "llvm-lipo", "DSYMUTIL": "dsymutil",
	}
}

// DarwinTools lists the programs of an LLVM that compiling for macOS needs.
func DarwinTools() []string {
	return append([]string{"clang", "clang++"}, slices.Sorted(maps.Values(darwinPrograms()))...)
}

// Darwin is the LLVM in a folder bin, told to make programs for macOS.
//
// Clang drives the linker of the machine that it runs on unless both -fuse-ld
// and --ld-path say otherwise; with the second alone it leaves out
// -platform_version, without which ld64.lld stops. Headers have room for
// longer install names, so that a later edit cannot overwrite code
// (ld(1), -headerpad_max_install_names).
func Darwin(host platform.Platform, bin, sysroot string) Toolchain {
	t := Toolchain{
		Host: host, CC: filepath.Join(bin, "clang"), CXX: filepath.Join(bin, "clang++"),
		Triple: host.Triple(), Sysroot: sysroot, Programs: map[string]string{},
		LinkFlags: []string{"-fuse-ld=lld", "--ld-path=" + filepath.Join(bin, "ld64.lld"), "-Wl,-headerpad_max_install_names"},
	}
	for name, program := range darwinPrograms() {
		t.Programs[name] = filepath.Join(bin, program)
	}
	return t
}

// gnuPrograms are the binutils' names (binutils(1)).
func gnuPrograms() map[string]string {
	return map[string]string{
		"AR": "ar", "RANLIB": "ranlib", "NM": "nm", "STRIP": "strip", "OBJCOPY": "objcopy",
		"OBJDUMP": "objdump", "READELF": "readelf", "LINKER": "ld",
	}
}

// GNUTriple is how distributions spell the prefix of their cross compilers
// (Debian's multiarch tuples, Fedora's alike).
func GNUTriple(host platform.Platform) string {
	return strings.ReplaceAll(host.Triple(), "-unknown", "")
}

// GNU finds the distribution's cross compilers for another processor of Linux
// in the folders of a search path. The error names what is missing.
func GNU(host platform.Platform, path []string) (Toolchain, error) {
	prefix := GNUTriple(host) + "-"
	find := func(program string) (string, error) {
		for _, dir := range path {
			file := filepath.Join(dir, prefix+program)
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return file, nil
			}
		}
		return "", fmt.Errorf("no %s%s in %s", prefix, program, strings.Join(path, ":"))
	}
	t := Toolchain{Host: host, Programs: map[string]string{}}
	var err error
	if t.CC, err = find("gcc"); err != nil {
		return Toolchain{}, err
	}
	if t.CXX, err = find("g++"); err != nil {
		return Toolchain{}, err
	}
	for name, program := range gnuPrograms() {
		if t.Programs[name], err = find(program); err != nil {
			return Toolchain{}, err
		}
	}
	return t, nil
}

// Files lists all programs of the toolchain, sorted.
func (t Toolchain) Files() []string {
	files := append(slices.Collect(maps.Values(t.Programs)), t.CC, t.CXX)
	slices.Sort(files)
	return slices.Compact(files)
}
