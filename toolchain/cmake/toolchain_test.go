package cmake

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/cross"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

var linux = platform.Platform{OS: "linux", Arch: "amd64"}

// The text is compared whole: a line that appears or goes away must be meant.
func TestTextOfANativeBuild(t *testing.T) {
	got := Toolchain{
		Build: linux, Host: linux, CC: "/usr/bin/gcc", CXX: "/usr/bin/g++",
		Flags:      []string{"-Wall", `-DTEXT="a b"`},
		PrefixMaps: map[string]string{"/w/src": "source", "/w/build": "build"},
		Prefixes:   []string{"/store/zstd", "/odd;store/$x"},
		Programs:   []string{"/home/me/tools"}, Meant: []string{"/usr/local/llvm"},
	}.Text()
	want := `# Written by stonemason; a configure step reads it.
set(CMAKE_C_COMPILER "/usr/bin/gcc")
set(CMAKE_CXX_COMPILER "/usr/bin/g++")
set(CMAKE_C_FLAGS_INIT "-Wall '-DTEXT=\"a b\"' -ffile-prefix-map=/w/build=build -ffile-prefix-map=/w/src=source")
set(CMAKE_CXX_FLAGS_INIT "-Wall '-DTEXT=\"a b\"' -ffile-prefix-map=/w/build=build -ffile-prefix-map=/w/src=source")
# Nothing is found by accident: no package registries, no environment, no
# prefix of a package manager (cmake-packages(7), CMAKE_FIND_USE_*).
set(CMAKE_FIND_USE_PACKAGE_REGISTRY "OFF")
set(CMAKE_FIND_USE_SYSTEM_PACKAGE_REGISTRY "OFF")
set(CMAKE_EXPORT_PACKAGE_REGISTRY "OFF")
set(CMAKE_FIND_USE_CMAKE_ENVIRONMENT_PATH "OFF")
set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH "OFF")
set(CMAKE_FIND_USE_INSTALL_PREFIX "OFF")
set(CMAKE_PROGRAM_PATH "/home/me/tools;/usr/bin;/bin;/usr/sbin;/sbin")
set(stonemason_meant "/store/zstd;/odd\\;store/\$x;/usr/local/llvm")
` + foreign + pkgConfig + `set(CMAKE_PREFIX_PATH "/store/zstd;/odd\\;store/\$x")
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestAnotherHostNamesItsSystem(t *testing.T) {
	for _, c := range []struct {
		host              platform.Platform
		system, processor string
	}{
		{platform.Platform{OS: "linux", Arch: "arm64"}, "Linux", "aarch64"},
		{platform.Platform{OS: "darwin", Arch: "arm64"}, "Darwin", "arm64"},
	} {
		text := Toolchain{Build: linux, Host: c.host}.Text()
		for _, want := range []string{`set(CMAKE_SYSTEM_NAME "` + c.system + `")`, `set(CMAKE_SYSTEM_PROCESSOR "` + c.processor + `")`} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no line %s", c.host, want)
			}
		}
	}
	// CMake takes a toolchain file that names a system for a cross build and
	// then runs no program of the build (CMAKE_CROSSCOMPILING).
	if text := (Toolchain{Build: linux, Host: linux}).Text(); strings.Contains(text, "CMAKE_SYSTEM_NAME") {
		t.Error("a native build names a system")
	}
}

// What CMake cannot find out about a Mac, and all that it would look for here,
// is said.
func TestTextForMacOS(t *testing.T) {
	mac := platform.Platform{OS: "darwin", Arch: "arm64"}
	x := cross.Darwin(mac, "/llvm/bin", "/sdk")
	text := Toolchain{Build: linux, Host: mac, CC: x.CC, CXX: x.CXX, Cross: &x, Sysroot: x.Sysroot, Prefixes: []string{"/store/zstd"}, Launcher: "/usr/bin/ccache"}.Text()
	for _, want := range []string{
		`CMAKE_SYSTEM_NAME "Darwin"`, `CMAKE_SYSTEM_VERSION "23.0.0"`, `CMAKE_SYSTEM_PROCESSOR "arm64"`,
		`CMAKE_OSX_ARCHITECTURES "arm64"`, `CMAKE_OSX_DEPLOYMENT_TARGET "14.0"`, `CMAKE_OSX_SYSROOT "/sdk"`,
		`CMAKE_C_COMPILER "/llvm/bin/clang"`, `CMAKE_CXX_COMPILER "/llvm/bin/clang++"`,
		`CMAKE_C_COMPILER_TARGET "arm64-apple-macos14.0"`, `CMAKE_CXX_COMPILER_TARGET "arm64-apple-macos14.0"`, `CMAKE_ASM_COMPILER_TARGET "arm64-apple-macos14.0"`,
		`CMAKE_AR "/llvm/bin/llvm-ar"`, `CMAKE_RANLIB "/llvm/bin/llvm-ranlib"`, `CMAKE_NM "/llvm/bin/llvm-nm"`, `CMAKE_STRIP "/llvm/bin/llvm-strip"`,
		`CMAKE_OTOOL "/llvm/bin/llvm-otool"`, `CMAKE_INSTALL_NAME_TOOL "/llvm/bin/llvm-install-name-tool"`, `CMAKE_LIBTOOL "/llvm/bin/llvm-libtool-darwin"`,
		`CMAKE_LINKER "/llvm/bin/ld64.lld"`, `CMAKE_LIPO "/llvm/bin/llvm-lipo"`,
		`CMAKE_FIND_ROOT_PATH "/store/zstd;/sdk"`, `CMAKE_FIND_ROOT_PATH_MODE_PROGRAM "NEVER"`, `CMAKE_FIND_ROOT_PATH_MODE_LIBRARY "ONLY"`,
		`CMAKE_FIND_ROOT_PATH_MODE_INCLUDE "ONLY"`, `CMAKE_FIND_ROOT_PATH_MODE_PACKAGE "ONLY"`,
		`CMAKE_EXE_LINKER_FLAGS_INIT "-fuse-ld=lld --ld-path=/llvm/bin/ld64.lld -Wl,-headerpad_max_install_names"`,
		`CMAKE_SHARED_LINKER_FLAGS_INIT "-fuse-ld=lld`, `CMAKE_MODULE_LINKER_FLAGS_INIT "-fuse-ld=lld`,
		`ENV{PKG_CONFIG_LIBDIR} ""`, `CMAKE_CXX_COMPILER_LAUNCHER "/usr/bin/ccache"`,
	} {
		if !strings.Contains(text, "set("+want) {
			t.Errorf("no line set(%s", want)
		}
	}
	if strings.Contains(text, "-linux-gnu/pkgconfig") {
		t.Error("pkg-config looks at this machine's libraries")
	}
	// On a Mac nothing says that programs cannot be run.
	text = Toolchain{Build: mac, Host: mac, CC: "cc", CXX: "c++", Sysroot: "/sdk", Archiver: "/llvm/bin/llvm-ar", Ranlib: "/llvm/bin/llvm-ranlib"}.Text()
	for _, want := range []string{
		`CMAKE_OSX_ARCHITECTURES "arm64"`, `CMAKE_OSX_DEPLOYMENT_TARGET "14.0"`, `CMAKE_OSX_SYSROOT "/sdk"`, `CMAKE_AR "/llvm/bin/llvm-ar"`, `CMAKE_RANLIB "/llvm/bin/llvm-ranlib"`,
	} {
		if !strings.Contains(text, "set("+want) {
			t.Errorf("on a Mac: no line set(%s", want)
		}
	}
	for _, not := range []string{"CMAKE_SYSTEM_NAME", "CMAKE_FIND_ROOT_PATH", "-fuse-ld=lld", "PKG_CONFIG"} {
		if strings.Contains(text, not) {
			t.Errorf("on a Mac: a line with %s", not)
		}
	}
}

// odd are strings that mean something to CMake, ninja or a shell.
var odd = []string{
	"", "plain", "two words", `back\slash`, `end\`, `"quoted"`, "it's", "$HOME", "${CMAKE_VERSION}", "$ENV{HOME}", "$<CONFIG>",
	"@CMAKE_VERSION@", "a;b", `a\;b`, "[[x]]", "]=]", "#no comment", "(paren)", "größe", "tab\there", "line\nbreak", "a\\nb",
}

// TestQuoteRoundTrip lets CMake itself read what Quote writes, with the newest
// policies and with the oldest that CMake 3.25 knows.
func TestQuoteRoundTrip(t *testing.T) {
	for _, policies := range []string{"3.25", "2.8.12"} {
		dir := t.TempDir()
		var script strings.Builder
		script.WriteString("cmake_minimum_required(VERSION " + policies + ")\n")
		for _, s := range odd {
			script.WriteString("set(x " + Quote(s) + ")\nfile(APPEND out.txt \"${x}\")\nfile(APPEND out.txt \"|\")\n")
		}
		file := filepath.Join(dir, "x.cmake")
		if err := os.WriteFile(file, []byte(script.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("cmake", "-Wno-deprecated", "-P", file)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("policies of %s: %v\n%s", policies, err, out)
		}
		got, err := os.ReadFile(filepath.Join(dir, "out.txt"))
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.Join(odd, "|") + "|"; string(got) != want {
			t.Errorf("policies of %s: CMake read\n%q\nwant\n%q", policies, got, want)
		}
	}
}

// TestListKeepsItsElements lets CMake take a list apart again.
func TestListKeepsItsElements(t *testing.T) {
	elements := []string{"/a", "/b;c", "/d e", "/$f"}
	file := filepath.Join(t.TempDir(), "x.cmake")
	script := "cmake_minimum_required(VERSION 3.25)\nset(list " + Quote(list(elements)) + ")\nforeach(x IN LISTS list)\nmessage(\"<${x}>\")\nendforeach()\n"
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("cmake", "-P", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if want := "</a>\n</b;c>\n</d e>\n</$f>\n"; string(out) != want {
		t.Errorf("CMake sees\n%swant\n%s", out, want)
	}
}

// TestFlagsReachTheCompiler takes odd flags through CMake, ninja and the shell
// to a real compiler: the program prints what arrived.
func TestFlagsReachTheCompiler(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a folder's $name")
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const text = `two words; $HOME 'n' more & <done> %s`
	write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.25)\nproject(p C)\nadd_executable(p main.c)\n")
	write("main.c", "#include <stdio.h>\nint main(void) { puts(TEXT); puts(__FILE__); return 0; }\n")
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Fatal(err)
	}
	native := platform.Native()
	write("toolchain.cmake", Toolchain{
		Build: native, Host: native, CC: cc, CXX: cc,
		Flags: []string{`-DTEXT="` + text + `"`}, PrefixMaps: map[string]string{dir: "neutral place"},
	}.Text())
	build := filepath.Join(t.TempDir(), "build")
	for _, argv := range [][]string{
		{"cmake", "-G", "Ninja", "-S", dir, "-B", build, "-DCMAKE_TOOLCHAIN_FILE=" + filepath.Join(dir, "toolchain.cmake")},
		{"ninja", "-C", build},
	} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", argv, err, out)
		}
	}
	out, err := exec.Command(filepath.Join(build, "p")).Output()
	if want := text + "\nneutral place/main.c\n"; err != nil || string(out) != want {
		t.Errorf("the program says %q, %v; want %q", out, err, want)
	}
}
