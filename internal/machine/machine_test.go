package machine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// fakeTool puts a program of that name into a folder of its own.
func fakeTool(t *testing.T, name string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// Tools are found by PATH and named absolutely; what is missing is left out
// and is no error.
func TestProbeFindsToolsByPath(t *testing.T) {
	cmake, perl := fakeTool(t, "cmake"), fakeTool(t, "perl")
	t.Setenv("PATH", filepath.Dir(cmake)+":"+filepath.Dir(perl))
	m := Probe(t.Context(), Options{Memory: 5})
	if len(m.Tools) != 2 || m.Tools["cmake"] != cmake || m.Tools["perl"] != perl {
		t.Errorf("tools are %v", m.Tools)
	}
	if m.Platform != platform.Native() || m.Memory != 5 {
		t.Errorf("platform %s, memory %d", m.Platform, m.Memory)
	}
	if want := filepath.Dir(cmake) + ":" + filepath.Dir(perl) + ":/usr/bin:/bin:/usr/sbin:/sbin"; strings.Join(m.Path, ":") != want {
		t.Errorf("path is %v, want %s", m.Path, want)
	}
}

// A prefix that the user names is meant: without an LLVM in it none is used,
// although the machine may have others.
func TestProbeTakesNoOtherLLVMThanTheOneNamed(t *testing.T) {
	m := Probe(t.Context(), Options{LLVMPrefix: t.TempDir()})
	if m.LLVM != nil || m.LLVMVersion() != "" {
		t.Errorf("LLVM is %v", m.LLVM)
	}
	if _, err := m.LLVMDigest(t.Context()); err == nil || !strings.Contains(err.Error(), "doctor") {
		t.Errorf("the digest of no LLVM: %v", err)
	}
}

func TestProbeSaysWhyThereIsNoCompiler(t *testing.T) {
	m := Probe(t.Context(), Options{CC: fakeTool(t, "cc"), CXX: fakeTool(t, "c++")})
	if m.CC != nil || m.CXX != nil || m.CCError == nil {
		t.Errorf("compilers %v and %v, error %v", m.CC, m.CXX, m.CCError)
	}
}

// The search path names each folder once, the tools' own before the system's.
func TestSearchPath(t *testing.T) {
	got := searchPath(map[string]string{"git": "/opt/a/git", "cmake": "/opt/b/cmake", "ninja": "/opt/b/ninja", "perl": "/usr/bin/perl"})
	if want := []string{"/opt/b", "/opt/a", "/usr/bin", "/bin", "/usr/sbin", "/sbin"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := searchPath(nil); !slices.Equal(got, []string{"/usr/bin", "/bin", "/usr/sbin", "/sbin"}) {
		t.Errorf("without tools: %v", got)
	}
}

func TestLinkJobs(t *testing.T) {
	for _, c := range []struct {
		memory     int64
		jobs, want int
	}{
		{0, 16, 1}, {1 << 30, 16, 1}, {8 << 30, 16, 2}, {64 << 30, 4, 4}, {64 << 30, 0, 1}, {-1, 8, 1},
	} {
		if got := (&Machine{Memory: c.memory}).LinkJobs(c.jobs); got != c.want {
			t.Errorf("LinkJobs(%d) with %d bytes = %d, want %d", c.jobs, c.memory, got, c.want)
		}
	}
}
