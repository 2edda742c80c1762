// Package hostcc finds the C and C++ compilers that build programs for the
// machine itself, and refuses those that are too old.
//
// What a compiler is comes from the macros that it predefines, not from its
// name or its banner: cc may be anything, and macOS's gcc is clang.
package hostcc

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// Kind is a family of compilers, in CMake's spelling (CMAKE_C_COMPILER_ID).
type Kind string

// The families that LLVM can be built with.
const (
	GCC        Kind = "GNU"
	Clang      Kind = "Clang"
	AppleClang Kind = "AppleClang"
)

// Language is what a compiler is asked to compile.
type Language string

// The two languages.
const (
	C   Language = "C"
	CXX Language = "C++"
)

// Compiler is one compiler for one language.
type Compiler struct {
	Kind     Kind     `json:"kind"`
	Language Language `json:"language"`
	// Version has three numbers, from the predefined macros. Apple's numbers
	// are its own: 15.0.0 is not Clang's 15.
	Version string `json:"version"`
	// Path is absolute, symlinks not followed: their names select behaviour
	// (clang++), and wrappers (ccache) work by them.
	Path string `json:"path"`
	// Triple is the default target (-dumpmachine).
	Triple string `json:"triple"`
	// Digest identifies what compiles, assembles and links by content, as a
	// sha256 in hex; no path is in it.
	Digest string `json:"digest"`
}

// String is a short description for a person.
func (c Compiler) String() string {
	return fmt.Sprintf("%s %s (%s)", c.Kind, c.Version, c.Path)
}

// Pair is a C and a C++ compiler.
type Pair struct {
	C   Compiler `json:"c"`
	CXX Compiler `json:"cxx"`
}

// Minimum is the oldest version of a kind that is accepted.
type Minimum struct {
	Kind    Kind
	Version string
}

// Minimums are LLVM's own requirements for release 22 (llvm/docs/
// GettingStarted.rst, "Host C++ Toolchain, both Compiler and Standard
// Library"). All three have C++17, which everything else here needs.
func Minimums() []Minimum {
	return []Minimum{{GCC, "7.4.0"}, {Clang, "5.0.0"}, {AppleClang, "10.0.0"}}
}

// minimum is the oldest version of a kind.
func minimum(k Kind) string {
	for _, m := range Minimums() {
		if m.Kind == k {
			return m.Version
		}
	}
	return ""
}

// TooOldError refuses a compiler.
type TooOldError struct {
	Found   Compiler
	Minimum string
}

func (e *TooOldError) Error() string {
	return fmt.Sprintf("%s is too old: version %s or newer is needed; %s", e.Found, e.Minimum, advice(e.Found.Language))
}

// UnusableError says why a program cannot serve as a compiler.
type UnusableError struct {
	Path   string
	Reason string
}

func (e *UnusableError) Error() string {
	return fmt.Sprintf("%s cannot be used as a compiler: %s", e.Path, e.Reason)
}

// NotFoundError says that no compiler for a language can be used. Refused are
// the errors of those that were found (TooOldError, UnusableError).
type NotFoundError struct {
	Language Language
	Tried    []string
	Refused  []error
}

func (e *NotFoundError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "no usable %s compiler", e.Language)
	for _, err := range e.Refused {
		fmt.Fprintf(&b, "; %v", err)
	}
	if len(e.Refused) == 0 {
		fmt.Fprintf(&b, " (looked for %s); %s", strings.Join(e.Tried, ", "), advice(e.Language))
	}
	return b.String()
}

// Unwrap lets errors.As reach the refusals.
func (e *NotFoundError) Unwrap() []error { return e.Refused }

// advice says how to install a compiler on the system at hand.
func advice(l Language) string {
	if runtime.GOOS == "darwin" {
		return "install Apple's command line tools with: xcode-select --install"
	}
	deb, rpm := "gcc", "gcc"
	if l == CXX {
		deb, rpm = "g++", "gcc-c++"
	}
	return fmt.Sprintf("install one (apt-get install %s, dnf install %s) or name one with STONEMASON_CC and STONEMASON_CXX", deb, rpm)
}

// check refuses a compiler below its kind's minimum.
func check(c Compiler) error {
	least := minimum(c.Kind)
	have, err := semver.NewVersion(c.Version)
	if err != nil {
		return &UnusableError{Path: c.Path, Reason: "its version " + c.Version + " is no version"}
	}
	want, err := semver.NewVersion(least)
	if err != nil {
		return &UnusableError{Path: c.Path, Reason: "compilers of kind " + string(c.Kind) + " are not supported"}
	}
	if have.LessThan(want) {
		return &TooOldError{Found: c, Minimum: least}
	}
	return nil
}
