//go:build e2e && linux

package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// macCMake are the arguments by which CMake builds for a Mac on this machine.
func (s *stubs) macCMake(t *testing.T, dir string) []string {
	t.Helper()
	clang, triple := llvmtest.Tool(t, "clang"), "arm64-apple-macos"+platform.MacOSFloor
	// CMake's own file for Darwin asks a program of Macs whether there are run paths.
	rules := write(t, filepath.Join(dir, "mac.cmake"), `set(CMAKE_SHARED_LIBRARY_RUNTIME_C_FLAG "-Wl,-rpath,")
set(CMAKE_SHARED_LIBRARY_RUNTIME_CXX_FLAG "-Wl,-rpath,")
`)
	lld := "-fuse-ld=lld --ld-path=" + llvmtest.Tool(t, "ld64.lld")
	return []string{"-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_USER_MAKE_RULES_OVERRIDE=" + rules,
		"-DCMAKE_SYSTEM_NAME=Darwin", "-DCMAKE_SYSTEM_VERSION=23.0.0", "-DCMAKE_SYSTEM_PROCESSOR=arm64",
		"-DCMAKE_OSX_SYSROOT=" + s.sdk, "-DCMAKE_OSX_DEPLOYMENT_TARGET=" + platform.MacOSFloor,
		"-DCMAKE_C_COMPILER=" + clang, "-DCMAKE_CXX_COMPILER=" + clang + "++",
		"-DCMAKE_C_COMPILER_TARGET=" + triple, "-DCMAKE_CXX_COMPILER_TARGET=" + triple,
		"-DCMAKE_EXE_LINKER_FLAGS=" + lld, "-DCMAKE_SHARED_LINKER_FLAGS=" + lld,
		"-DCMAKE_INSTALL_NAME_TOOL=" + llvmtest.Tool(t, "llvm-install-name-tool"), "-DCMAKE_AR=" + llvmtest.Tool(t, "llvm-ar"), "-DCMAKE_RANLIB=" + llvmtest.Tool(t, "llvm-ranlib"),
		"-DCMAKE_STRIP=" + llvmtest.Tool(t, "llvm-strip")}
}

// cudaForMac builds the project of a scenario, which has a CUDA back end, for a Mac:
// with the stubs as libraries, and as text alone.
func (s *stubs) cudaForMac(t *testing.T) {
	dir := t.TempDir()
	scenario, err := txtar.ParseFile(filepath.Join(s.project, "testdata", "script", "stub_cuda_toolkit.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range scenario.Files {
		file := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, file, string(f.Data))
	}
	for _, library := range []string{"cudart", "cublas"} {
		tool(t, dir, os.Environ(), s.therock, "api:import", library, "-headers=cuda/include", "-symbols="+library+".txt", "-version=12.4", "-packages=a=1,b=1")
	}
	tool(t, dir, os.Environ(), s.therock, "api:stub", "cudart,cublas", "-out=stubs")
	mac, toolkit := s.macCMake(t, dir), filepath.Join(dir, "toolkit")
	build := func(source, folder string, args ...string) {
		t.Helper()
		tool(t, dir, host(), slices.Concat([]string{"cmake", "-G", "Ninja", "-S", source, "-B", folder}, mac, args)...)
		tool(t, dir, host(), "cmake", "--build", folder, "-j", "2")
	}
	build("stubs", "build-stubs", "-DCMAKE_INSTALL_PREFIX="+toolkit)
	tool(t, dir, host(), "cmake", "--install", "build-stubs")
	if err := os.CopyFS(filepath.Join(toolkit, "include"), os.DirFS(filepath.Join(dir, "cuda", "include"))); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(toolkit, "version.txt"), "CUDA Version 12.4.0\n")

	names := []string{"@rpath/libcudart.12.dylib", "@rpath/libcublas.12.dylib"}
	linked := func(folder string) {
		t.Helper()
		build("worker", folder, "-DCUDAToolkit_ROOT="+toolkit)
		used := dylibs(t, filepath.Join(dir, folder, "worker"))
		for _, name := range names {
			if !slices.Contains(used, name) {
				t.Errorf("%s: the program uses %q, want %s", folder, used, name)
			}
		}
	}
	linked("build")
	// A build machine needs no library, only the lists of their symbols.
	removed := 0
	err = filepath.WalkDir(filepath.Join(toolkit, "lib"), func(file string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".dylib") {
			return err
		}
		removed++
		return os.Remove(file)
	})
	if err != nil || removed < 2 {
		t.Fatalf("%d libraries are removed: %v", removed, err)
	}
	linked("build-text")
}
