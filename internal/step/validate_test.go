package step

import (
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/internal/spec"
)

func TestValidate(t *testing.T) {
	copyOf := func(item CopyItem) Step { return &Copy{Items: []CopyItem{item}} }
	for _, c := range []struct {
		name string
		step Step
		want string // part of the error; "" for none
	}{
		{"cmake without source", &CMake{}, "source is missing"},
		{"cmake", &CMake{Source: "${source}"}, ""},
		{"copy of nothing", &Copy{}, "items is empty"},
		{"copy without to", copyOf(CopyItem{From: "${source}"}), "from and to"},
		{"copy without from", copyOf(CopyItem{To: "x"}), "from and to"},
		{"copy of the source", copyOf(CopyItem{From: "${source}", To: "."}), ""},
		{"copy of the source's root", copyOf(CopyItem{From: "${source}/", To: "."}), ""},
		{"copy of a need", copyOf(CopyItem{From: "${dep.zstd}/include", To: "include"}), ""},
		{"copy of a build result", copyOf(CopyItem{From: "${build}/x.h", To: "include/x.h"}), ""},
		{"copy from the machine", copyOf(CopyItem{From: "/etc/passwd", To: "x"}), "does not lie below"},
		{"copy from a relative path", copyOf(CopyItem{From: "x", To: "x"}), "does not lie below"},
		{"copy from above the source", copyOf(CopyItem{From: "${source}/../x", To: "x"}), "does not lie below"},
		{"copy from beside the source", copyOf(CopyItem{From: "${source}x", To: "x"}), "does not lie below"},
		{"copy from LLVM, which is keyed otherwise", copyOf(CopyItem{From: "${llvm}/x", To: "x"}), "does not lie below"},
		{"copy with a bad glob", copyOf(CopyItem{From: "${source}", To: ".", Only: []string{"["}}), "syntax error"},
		{"copy with a bad exception", copyOf(CopyItem{From: "${source}", To: ".", Except: []string{"a**"}}), "whole component"},
		{"generate without a name", &Generate{Content: "x"}, "file is missing"},
		{"link", &Link{Links: map[string]string{"bin/a": "b"}}, ""},
		{"link to a neighbour folder", &Link{Links: map[string]string{"bin/a": "../lib/b"}}, ""},
		{"absolute link", &Link{Links: map[string]string{"bin/a": "/bin/sh"}}, "leaves the stage"},
		{"link out of the stage", &Link{Links: map[string]string{"bin/a": "../../x"}}, "leaves the stage"},
		{"link beside the stage", &Link{Links: map[string]string{"../a": "b"}}, "leaves the stage"},
		{"link in place of a parent", &Link{Links: map[string]string{"..": "b"}}, "leaves the stage"},
		{"link with an absolute name", &Link{Links: map[string]string{"/bin/a": "b"}}, "leaves the stage"},
		{"run path", &Fixup{Runpaths: []Runpath{{Globs: []string{"bin/*"}, Paths: []string{"$ORIGIN", "$ORIGIN/../lib"}}}}, ""},
		{"absolute run path", &Fixup{Runpaths: []Runpath{{Paths: []string{"/usr/lib"}}}}, "does not begin with $ORIGIN"},
		{"run path that only looks like it", &Fixup{Runpaths: []Runpath{{Paths: []string{"$ORIGINAL/lib"}}}}, "does not begin with $ORIGIN"},
		{"run path with a bad glob", &Fixup{Runpaths: []Runpath{{Globs: []string{""}}}}, "empty pattern"},
		{"adopt nothing", &AdoptLLVM{}, "tools is empty"},
		{"adopt a path", &AdoptLLVM{Tools: []string{"../sh"}}, "not the name of a program"},
		{"adopt an optional path", &AdoptLLVM{Tools: []string{"clang"}, Optional: []string{"a/b"}}, "not the name of a program"},
		{"adopt with a linked path", &AdoptLLVM{Tools: []string{"clang"}, Links: map[string]string{"": "clang"}}, "not the name of a program"},
		{"adopt from packages", &AdoptLLVM{Tools: []string{"clang"}, Root: "${source}"}, ""},
		{"adopt from a folder of the machine", &AdoptLLVM{Tools: []string{"clang"}, Root: "/opt"}, "does not lie below"},
		{"adopt from above the source", &AdoptLLVM{Tools: []string{"clang"}, Root: "${source}/.."}, "does not lie below"},
		{"adopt", &AdoptLLVM{Tools: []string{"clang++"}}, ""},
		{"stub of nothing", &Stub{}, "libraries is empty"},
		{"stub", &Stub{Libraries: []string{"amdhip64", "rocblas"}}, ""},
		{"stub of what is not described", &Stub{Libraries: []string{"rocblass"}}, `did you mean "rocblas"?`},
		{"stub of a path", &Stub{Libraries: []string{"../amdhip64"}}, "there is no description"},
		{"stub of one twice", &Stub{Libraries: []string{"rocblas", "rocblas"}}, "librocblas stands twice"},
	} {
		err := c.step.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestTypesAreListedOnceAndMade(t *testing.T) {
	names := Names()
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("names %v are not sorted, or not unique", names)
	}
	for _, name := range names {
		if s, err := New(name); err != nil || s == nil {
			t.Errorf("New(%q): %v, %v", name, s, err)
		}
	}
	if _, err := New("shell"); err == nil {
		t.Error("New makes a step of a type that is not there")
	}
}

// What is kept when a build is interrupted must not have touched the stage.
func TestStages(t *testing.T) {
	for _, typ := range Types() {
		kept := typ.Name == "cmake" || typ.Name == "ninja" || typ.Name == "stub"
		if got := Stages(typ.New()); got == kept {
			t.Errorf("Stages(%s) = %v", typ.Name, got)
		}
	}
	if !Stages(&Ninja{Stage: true}) {
		t.Error("a ninja step that installs does not count as one that stages")
	}
}

func TestIsVariable(t *testing.T) {
	for name, want := range map[string]bool{
		"source": true, "build": true, "stage": true, "jobs": true, "linkjobs": true, "llvm": true, "llvm.major": true,
		"dep.amd-llvm": true, "dep.": true, "dep": false, "sources": false, "": false, "llvm.minor": false, "version": false,
	} {
		if got := IsVariable(name); got != want {
			t.Errorf("IsVariable(%q) = %v", name, got)
		}
	}
}

func TestSlicerGivesEveryPathOneSlice(t *testing.T) {
	slicer := Slicer([]spec.SliceRule{
		{Slice: spec.Dbg, Globs: []string{"share/trace/**"}},
		{Slice: spec.Doc, Globs: []string{"share/trace/**", "notes/*"}},
	})
	for name, want := range map[string]spec.Slice{
		"share/trace/x": spec.Dbg, "notes/x": spec.Doc, "notes/x/y": spec.Run,
		"bin/clang": spec.Run, "lib/llvm/bin/clang": spec.Run, "libexec/x": spec.Run,
		"lib/libx.so": spec.Lib, "lib/libx.so.1.2": spec.Lib, "lib/libx.dylib": spec.Lib,
		"lib/libx.a": spec.Dev, "include/x.h": spec.Dev, "lib/llvm/include/x.h": spec.Dev,
		"lib/cmake/x/x.cmake": spec.Dev, "lib/pkgconfig/x.pc": spec.Dev, "share/x.cmake": spec.Dev,
		"lib/clang/22/include/stddef.h": spec.Run,
		"lib/debug/x":                   spec.Dbg, "bin/x.debug": spec.Dbg, "lib/.build-id/ab/cd": spec.Dbg, "lib/x.dSYM/y": spec.Dbg,
		"share/doc/x/README": spec.Doc, "share/man/man1/x.1": spec.Doc, "LICENSE.txt": spec.Doc,
		"amdgcn/bitcode/ocml.bc": spec.Run, "share/hip/version": spec.Run, "x": spec.Run, "included": spec.Run,
	} {
		if got := slicer(name); got != string(want) {
			t.Errorf("%s is in slice %s, want %s", name, got, want)
		}
	}
}
