//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
	"github.com/stonemason-hip/stonemason/toolchain/sdk"
	"github.com/stonemason-hip/stonemason/toolchain/tbd"
)

// The SDK of the component macos-sdk, out of the sources that the lock names:
// programs for macOS are compiled and linked with it, and what they import is
// there.
func TestMacOSSDK(t *testing.T) {
	project, therock := product(t)
	out := tool(t, project, os.Environ(), therock, "component", "macos-sdk")
	m := regexp.MustCompile(`macos-sdk@any is in (\S+)`).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("the build names no folder:\n%s", out)
	}
	floor, err := sdk.ParseVersion(platform.MacOSFloor)
	if err != nil {
		t.Fatal(err)
	}
	found, err := sdk.Finder{Component: m[1]}.Find(t.Context(), floor)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %s", found.Path, found.Key())
	dir := found.Path
	work := t.TempDir()
	lld := llvmtest.Tool(t, "ld64.lld")
	compile := func(compiler string, args ...string) (stderr string, err error) {
		t.Helper()
		args = append([]string{"--target=" + (platform.Platform{OS: "darwin", Arch: "arm64"}).Triple(), "-isysroot", dir, "-fuse-ld=lld", "--ld-path=" + lld}, args...)
		_, stderr, err = llvmtest.Try(t, llvmtest.Tool(t, compiler), args...)
		return stderr, err
	}
	write := func(name, text string) string {
		t.Helper()
		name = filepath.Join(work, name)
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}

	exported := map[string]bool{}
	for _, stub := range []string{"usr/lib/libc++.tbd", "usr/lib/libSystem.tbd"} {
		f, err := tbd.Open(os.DirFS(dir), stub)
		if err != nil {
			t.Fatal(err)
		}
		e, ok := f.Exports(sdk.Target)
		if !ok || len(e.Elsewhere) > 0 {
			t.Fatalf("%s: %v, and it re-exports %v", stub, ok, e.Elsewhere)
		}
		for name := range e.Symbols {
			exported[name] = true
		}
	}
	image := filepath.Join(work, "image")
	check := func(libraries ...string) {
		t.Helper()
		used := llvmtest.Run(t, llvmtest.Tool(t, "llvm-objdump"), "--macho", "--dylibs-used", image)
		var names []string
		for _, m := range regexp.MustCompile(`(?m)^\s+(\S+) \(compat`).FindAllStringSubmatch(used, -1) {
			names = append(names, m[1])
		}
		if !slices.Equal(names, libraries) {
			t.Errorf("the image uses %v, want %v", names, libraries)
		}
		imports := strings.Fields(llvmtest.Run(t, llvmtest.Tool(t, "llvm-nm"), "-u", "-j", image))
		if len(imports) == 0 {
			t.Error("the image imports nothing")
		}
		for _, name := range imports {
			if !exported[name] {
				t.Errorf("the image imports %s, which no stub has", name)
			}
		}
	}
	const system, cxx = "/usr/lib/libSystem.B.dylib", "/usr/lib/libc++.1.dylib"

	program := filepath.Join("testdata", "macos", "program.cpp")
	for _, flags := range [][]string{{"-std=c++20", "-O2"}, {"-std=c++23", "-g"}} {
		if stderr, err := compile("clang++", append(flags, "-Wall", "-Werror", program, "-o", image)...); err != nil {
			t.Fatalf("%v: %v\n%s", flags, err, stderr)
		}
		check(cxx, system)
	}
	library := write("library.c", "#include <math.h>\n#include <pthread.h>\n#include <stdio.h>\nint f(double x) { pthread_t t; (void)t; return printf(\"%f\", sin(x)); }\n")
	if stderr, err := compile("clang", "-dynamiclib", "-install_name", "@rpath/libl.1.dylib", library, "-lm", "-lpthread", "-ldl", "-lutil", "-o", image); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	if names := llvmtest.Run(t, llvmtest.Tool(t, "llvm-nm"), "-u", "-j", image); !strings.Contains(names, "_sin\n") {
		t.Errorf("the library imports\n%s", names)
	}

	// Every public header of libc++ in one program.
	entries, err := os.ReadDir(filepath.Join(dir, "usr", "include", "c++", "v1"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, e := range entries {
		if e.Type().IsRegular() && !strings.HasPrefix(e.Name(), "__") && !strings.Contains(e.Name(), ".modulemap") {
			fmt.Fprintf(&all, "#include <%s>\n", e.Name())
		}
	}
	if n := strings.Count(all.String(), "\n"); n < 100 {
		t.Errorf("libc++ has %d headers", n)
	}
	if stderr, err := compile("clang++", "-std=c++23", "-w", "-fsyntax-only", write("all.cpp", all.String()+"int main() {}\n")); err != nil {
		t.Errorf("all headers of libc++: %v\n%s", err, stderr)
	}

	// What came after the deployment target is refused: by the compiler where
	// libc++ announces it, by the linker everywhere.
	for source, want := range map[string]string{
		"#include <charconv>\nint main(int, char **v) { double d; return std::from_chars(v[0], v[0] + 1, d).ec == std::errc(); }\n":                    "introduced in macOS 26.0",
		"extern \"C\" void *__cxa_init_primary_exception(void *, void *, void (*)(void *));\nint main() { __cxa_init_primary_exception(0, 0, 0); }\n":  "undefined symbol: __cxa_init_primary_exception",
		"#include <cstdlib>\nint main() { quick_exit(0); }\n":                                                                                          "undefined symbol: quick_exit",
		"#include <os/lock.h>\nint main() { os_unfair_lock l = OS_UNFAIR_LOCK_INIT; os_unfair_lock_lock_with_flags(&l, OS_UNFAIR_LOCK_FLAG_NONE); }\n": "undefined symbol: os_unfair_lock_lock_with_flags",
	} {
		if stderr, err := compile("clang++", "-std=c++23", "-w", write("new.cpp", source), "-o", filepath.Join(work, "new")); err == nil || !strings.Contains(stderr, want) {
			t.Errorf("%s: %v, want %q:\n%s", source, err, want, stderr)
		}
	}

	// A configuration finds no library that is not there, and no function of a
	// newer macOS.
	got := tool(t, work, os.Environ(), "cmake", "-G", "Ninja", "-S", filepath.Join(project, "internal", "e2e", "testdata", "macos"), "-B", filepath.Join(work, "probe"),
		"-DCMAKE_SYSTEM_NAME=Darwin", "-DCMAKE_SYSTEM_PROCESSOR=arm64", "-DCMAKE_OSX_SYSROOT="+dir, "-DCMAKE_OSX_DEPLOYMENT_TARGET="+platform.MacOSFloor,
		"-DCMAKE_C_COMPILER="+llvmtest.Tool(t, "clang"), "-DCMAKE_CXX_COMPILER="+llvmtest.Tool(t, "clang++"),
		"-DCMAKE_C_COMPILER_TARGET=arm64-apple-macos"+platform.MacOSFloor, "-DCMAKE_CXX_COMPILER_TARGET=arm64-apple-macos"+platform.MacOSFloor,
		"-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld --ld-path="+lld, "-DCMAKE_INSTALL_NAME_TOOL="+llvmtest.Tool(t, "llvm-install-name-tool"),
		"-DCMAKE_AR="+llvmtest.Tool(t, "llvm-ar"), "-DCMAKE_RANLIB="+llvmtest.Tool(t, "llvm-ranlib"),
		"-DCMAKE_FIND_ROOT_PATH="+dir, "-DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY", "-DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY", "-DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY")
	for _, want := range []string{"ZLIB_FOUND=0", "Iconv_FOUND=0", "HAVE_SPAWN_H=1", "HAVE_POSIX_SPAWN=1", "HAVE_QUICK_EXIT=0"} {
		if !strings.Contains(got, "probe "+want+"\n") {
			t.Errorf("CMake does not say %s:\n%s", want, got)
		}
	}
}
