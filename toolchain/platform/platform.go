// Package platform names the machines that Stonemason runs on and builds for.
//
// A Platform is a pair of operating system and processor, in Go's spelling
// (GOOS, GOARCH). Only the three that a bundle can be made for exist.
package platform

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/suggest"
)

// NativeName is the spelling that Parse takes for "the machine this runs on".
const NativeName = "native"

// MacOSFloor is the oldest macOS that a darwin bundle runs on. libc++ marks
// newer symbols as missing below it, so it is part of the triple.
const MacOSFloor = "14.0"

// DarwinFloor is the version of MacOSFloor's kernel, which is what CMake calls
// the version of a system named Darwin (uname(1), -r).
const DarwinFloor = "23.0.0"

// Platform is one machine. The zero value is no platform.
type Platform struct {
	// OS is "linux" or "darwin", Arch "amd64" or "arm64".
	OS, Arch string
}

// The platforms that exist.
var (
	linuxAMD64  = Platform{OS: "linux", Arch: "amd64"}
	linuxARM64  = Platform{OS: "linux", Arch: "arm64"}
	darwinARM64 = Platform{OS: "darwin", Arch: "arm64"}
)

// All returns every platform that a bundle can be made for, in a fixed order.
func All() []Platform { return []Platform{linuxAMD64, linuxARM64, darwinARM64} }

// Names returns the names of All, in the same order.
func Names() []string {
	var names []string
	for _, p := range All() {
		names = append(names, p.String())
	}
	return names
}

// Parse reads a name such as "linux-amd64", or "native". An unknown name gives
// an error that lists the names and proposes the nearest one.
func Parse(name string) (Platform, error) {
	if name == NativeName {
		p := Native()
		if !p.Known() {
			return Platform{}, fmt.Errorf("this machine is %s, which is no platform of ours: name one of %s",
				p, strings.Join(Names(), ", "))
		}
		return p, nil
	}
	for _, p := range []Platform{linuxAMD64, linuxARM64, darwinARM64} {
		if os, arch, ok := strings.Cut(name, "-"); ok && os == p.OS && arch == p.Arch {
			return p, nil
		}
	}
	names := append(Names(), NativeName)
	if near, ok := suggest.Nearest(canonical(name), names); ok {
		return Platform{}, fmt.Errorf("unknown platform %s: did you mean %q?", quote(name), near)
	}
	return Platform{}, fmt.Errorf("unknown platform %s: use one of %s", quote(name), strings.Join(names, ", "))
}

// canonical turns other projects' spellings (linux/x86_64, macos-aarch64) into
// ours, for the sake of the suggestion alone: they stay errors.
func canonical(name string) string {
	return strings.NewReplacer("x86_64", "amd64", "x86-64", "amd64", "aarch64", "arm64",
		"macos", "darwin", "osx", "darwin", "/", "-", "_", "-").Replace(strings.ToLower(name))
}

// quote keeps a hostile name from filling the message.
func quote(name string) string {
	const limit = 60
	if len(name) > limit {
		return strconv.Quote(name[:limit]) + "…"
	}
	return strconv.Quote(name)
}

// Native is the machine that this runs on; it may not be Known.
func Native() Platform { return Platform{OS: runtime.GOOS, Arch: runtime.GOARCH} }

// Known reports whether p is one of All.
func (p Platform) Known() bool {
	return p == linuxAMD64 || p == linuxARM64 || p == darwinARM64
}

// IsZero reports whether p is no platform at all.
func (p Platform) IsZero() bool { return p == Platform{} }

// String is the name that Parse takes, and "" for the zero value.
func (p Platform) String() string {
	if p.IsZero() {
		return ""
	}
	return p.OS + "-" + p.Arch
}

// Triple is the target triple as clang and config.guess spell it, and "" for a
// platform that is not Known.
func (p Platform) Triple() string {
	switch p {
	case linuxAMD64:
		return "x86_64-unknown-linux-gnu"
	case linuxARM64:
		return "aarch64-unknown-linux-gnu"
	case darwinARM64:
		return "arm64-apple-macos" + MacOSFloor
	}
	return ""
}

// ExeSuffix is what an executable's file name ends with: nothing, on each of
// these.
func (p Platform) ExeSuffix() string { return "" }

// SharedLibName is the file name of the shared library of that name ("zstd",
// without lib) and major version: libzstd.so.1, libzstd.1.dylib. An empty major
// gives the name that a linker looks for.
func (p Platform) SharedLibName(name, major string) string {
	if p.OS == "darwin" {
		if major != "" {
			return "lib" + name + "." + major + ".dylib"
		}
		return "lib" + name + ".dylib"
	}
	if major != "" {
		return "lib" + name + ".so." + major
	}
	return "lib" + name + ".so"
}

// MarshalText writes the name; YAML and JSON use it.
func (p Platform) MarshalText() ([]byte, error) {
	if !p.IsZero() && !p.Known() {
		return nil, fmt.Errorf("platform %s cannot be written: it is not one of %s", p, strings.Join(Names(), ", "))
	}
	return []byte(p.String()), nil
}

// UnmarshalText reads what Parse takes, so that "native" in a file means the
// machine that reads it. An empty text is the zero value.
func (p *Platform) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*p = Platform{}
		return nil
	}
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*p = parsed
	return nil
}
