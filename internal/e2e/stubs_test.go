//go:build e2e && linux

package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/remote/api"
	"github.com/stonemason-hip/stonemason/remote/api/importer"
	"github.com/stonemason-hip/stonemason/remote/stub"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// stubs are the bundles with stubs, of this machine and for a Mac, and the SDK
// that programs for a Mac are compiled with.
type stubs struct {
	project, therock string
	linux, mac, sdk  string
	libraries        []*api.Library
}

// withStubs builds the bundles. Of what a bundle for a Mac has by default LLVM is
// left out.
func withStubs(t *testing.T) *stubs {
	t.Helper()
	project, therock := product(t)
	s := &stubs{project: project, therock: therock, linux: filepath.Join(project, "dist", platform.Native().String()),
		mac: filepath.Join(project, "dist", "darwin-arm64")}
	t.Log(tool(t, project, os.Environ(), therock, "build", "-channel=debian", "-with=STUBS"))
	t.Log(tool(t, project, os.Environ(), therock, "build", "-channel=debian", "-host=darwin-arm64", "-provider=amd-llvm=external"))
	out := tool(t, project, os.Environ(), therock, "component", "macos-sdk", "-channel=debian")
	m := regexp.MustCompile(`macos-sdk@any is in (\S+)`).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("the build names no folder of the SDK:\n%s", out)
	}
	s.sdk = m[1]
	for _, name := range api.Libraries() {
		l, err := api.Load(api.Descriptions(), name)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(described, l.Name) {
			s.libraries = append(s.libraries, l)
		}
	}
	return s
}

// forMac are the arguments that make a clang compile and link for a Mac.
func (s *stubs) forMac(t *testing.T) []string {
	return []string{"--target=arm64-apple-macos" + platform.MacOSFloor, "-isysroot", s.sdk, "-fuse-ld=lld", "--ld-path=" + llvmtest.Tool(t, "ld64.lld")}
}

// described are the libraries that have a description and no component yet.
var described = []string{"MIOpen", "amd_smi", "hipblaslt", "hipfft", "rocsolver"}

// TestStubs uses the stubs as programs do: those of the test, and with
// $STONEMASON_HIP_EXAMPLES those of public collections.
func TestStubs(t *testing.T) {
	s := withStubs(t)
	t.Run("size", s.size)
	t.Run("find_package", s.findPackage)
	t.Run("records", s.records)
	t.Run("text stubs alone", s.textStubs)
	t.Run("HIP for a Mac", s.hipForMac)
	t.Run("CUDA for a Mac", s.cudaForMac)
	t.Run("verify", func(t *testing.T) {
		for _, dist := range []string{s.linux, s.mac} {
			if out := tool(t, s.project, os.Environ(), s.therock, "verify", "-bundle="+dist); !strings.Contains(out, "nothing is wrong") {
				t.Error(out)
			}
		}
	})
	if dir := os.Getenv(examplesEnv); dir != "" {
		t.Run(examplesEnv, func(t *testing.T) { s.programs(t, dir) })
	}
	t.Run("twice", func(t *testing.T) {
		for _, c := range []struct{ name, host string }{{"stub-hip", "darwin-arm64"}, {"stub-rocfft", "darwin-arm64"}, {"stub-rocfft", platform.Native().String()}} {
			out := tool(t, s.project, os.Environ(), s.therock, "repro", c.name, "-channel=debian", "-host="+c.host)
			if !strings.Contains(out, "the same twice") {
				t.Error(out)
			}
		}
	})
}

// size checks that there is a library for each description, stripped, and that
// none is large.
func (s *stubs) size(t *testing.T) {
	for _, l := range s.libraries {
		for _, file := range []string{
			filepath.Join(s.linux, "lib", "lib"+l.Name+".so."+l.File.Version),
			filepath.Join(s.mac, "lib", "lib"+l.Name+"."+l.File.Version+".dylib"),
			filepath.Join(s.mac, "lib", "lib"+l.Name+".tbd"),
		} {
			info, err := os.Stat(file)
			if err != nil {
				t.Errorf("lib%s is described, and no component makes its stub: %v", l.Name, err)
			} else if info.Size() >= 1<<20 {
				t.Errorf("%s has %d bytes", file, info.Size())
			}
			if out, _, err := llvmtest.Try(t, "llvm-nm", "--debug-syms", file); err == nil && strings.Contains(out, " t ") {
				t.Errorf("%s is not stripped", file)
			}
		}
	}
}

// calls are C statements for each library: what a first program does with it, and
// what it prints where there is no device.
var calls = map[string]struct{ body, prints string }{
	"amdhip64":  {`int n; puts(hipGetErrorString(hipGetDeviceCount(&n)));`, "no ROCm-capable device is detected\n"},
	"hiprtc":    {`int a, b; printf("%d\n", hiprtcVersion(&a, &b) == HIPRTC_SUCCESS);`, "1\n"},
	"rocblas":   {`rocblas_handle h; puts(rocblas_status_to_string(rocblas_create_handle(&h)));`, "rocblas_status_internal_error\n"},
	"rocrand":   {`rocrand_generator g; printf("%d\n", rocrand_create_generator(&g, ROCRAND_RNG_PSEUDO_DEFAULT) == ROCRAND_STATUS_INTERNAL_ERROR);`, "1\n"},
	"rocfft":    {`rocfft_plan_description d; printf("%d\n", rocfft_plan_description_create(&d) == rocfft_status_failure);`, "1\n"},
	"rocsparse": {`rocsparse_handle h; puts(rocsparse_get_status_name(rocsparse_create_handle(&h)));`, "rocsparse_status_internal_error\n"},
	"hiprand":   {`hiprandGenerator_t g; printf("%d\n", hiprandCreateGenerator(&g, HIPRAND_RNG_PSEUDO_DEFAULT) == HIPRAND_STATUS_INITIALIZATION_FAILED);`, "1\n"},
	"hipblas":   {`hipblasHandle_t h; puts(hipblasStatusToString(hipblasCreate(&h)));`, "HIPBLAS_STATUS_NOT_INITIALIZED\n"},
}

// headers are the #include lines of a library's own headers.
func (s *stubs) headers(t *testing.T, l *api.Library) (source string) {
	t.Helper()
	file := filepath.Join(s.project, "remote", "api", "annotations", l.Name+".yaml")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	a, err := importer.ReadAnnotations(file, data)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(a.Defines)) {
		fmt.Fprintf(&b, "#ifndef %s\n#define %s %s\n#endif\n", name, name, a.Defines[name])
	}
	if a.Before != "" { // what the headers need in C alone
		fmt.Fprintf(&b, "#ifndef __cplusplus\n%s\n#endif\n", strings.TrimSpace(a.Before))
	}
	for _, h := range a.Headers {
		fmt.Fprintf(&b, "#include <%s>\n", h)
	}
	return b.String()
}

// findPackage builds one program for each library with CMake, for Linux and for a
// Mac: find_package, the library's target and its headers, from the bundle alone.
func (s *stubs) findPackage(t *testing.T) {
	dir := t.TempDir()
	var project strings.Builder
	project.WriteString("cmake_minimum_required(VERSION 3.21)\nproject(users C CXX)\n")
	for _, l := range s.libraries {
		c, ok := calls[l.Name]
		if !ok {
			t.Errorf("calls has no program for lib%s", l.Name)
			continue
		}
		source := s.headers(t, l) + "#include <stdio.h>\nint main(void) { " + c.body + " return 0; }\n"
		fmt.Fprintf(&project, "find_package(%s REQUIRED)\n", l.File.Package)
		for _, language := range []string{"c", "cpp"} {
			name := "use_" + l.Name + "_" + language
			write(t, filepath.Join(dir, name+"."+language), source)
			fmt.Fprintf(&project, "add_executable(%s %s.%s)\ntarget_link_libraries(%s PRIVATE %s)\n", name, name, language, name, l.File.Targets[0])
		}
	}
	write(t, filepath.Join(dir, "CMakeLists.txt"), project.String())
	configure := []string{"cmake", "-G", "Ninja", "-S", dir, "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF"}
	build := func(folder string, args ...string) {
		tool(t, dir, host(), append(append(slices.Clone(configure), "-B", folder), args...)...)
		tool(t, dir, host(), "cmake", "--build", folder, "-j", "2")
	}
	build("linux", "-DCMAKE_PREFIX_PATH="+s.linux)
	clang := llvmtest.Tool(t, "clang")
	triple := "arm64-apple-macos" + platform.MacOSFloor
	// CMake's own file for Darwin asks a program of Macs whether there are run paths.
	rules := write(t, filepath.Join(dir, "mac.cmake"), "set(CMAKE_SHARED_LIBRARY_RUNTIME_C_FLAG \"-Wl,-rpath,\")\nset(CMAKE_SHARED_LIBRARY_RUNTIME_CXX_FLAG \"-Wl,-rpath,\")\n")
	build("mac", "-DCMAKE_PREFIX_PATH="+s.mac, "-DCMAKE_USER_MAKE_RULES_OVERRIDE="+rules, "-DCMAKE_SYSTEM_NAME=Darwin", "-DCMAKE_SYSTEM_VERSION=23.0.0", "-DCMAKE_SYSTEM_PROCESSOR=arm64", "-DCMAKE_OSX_SYSROOT="+s.sdk,
		"-DCMAKE_OSX_DEPLOYMENT_TARGET="+platform.MacOSFloor, "-DCMAKE_C_COMPILER="+clang, "-DCMAKE_CXX_COMPILER="+clang+"++",
		"-DCMAKE_C_COMPILER_TARGET="+triple, "-DCMAKE_CXX_COMPILER_TARGET="+triple,
		"-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld --ld-path="+llvmtest.Tool(t, "ld64.lld"), "-DCMAKE_INSTALL_NAME_TOOL="+llvmtest.Tool(t, "llvm-install-name-tool"))
	for _, l := range s.libraries {
		for _, language := range []string{"c", "cpp"} {
			name := "use_" + l.Name + "_" + language
			if out := stdout(t, filepath.Join(dir, "linux", name)); out != calls[l.Name].prints {
				t.Errorf("%s prints %q, want %q", name, out, calls[l.Name].prints)
			}
			if used := dylibs(t, filepath.Join(dir, "mac", name)); !slices.Contains(used, stub.DarwinName(l)) {
				t.Errorf("%s for a Mac is linked with %q, want %s", name, used, stub.DarwinName(l))
			}
		}
	}
}

// dylibs lists what a Mach-O file is linked with.
func dylibs(t *testing.T, file string) []string {
	t.Helper()
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^\s+(\S+) \(compat`).FindAllStringSubmatch(llvmtest.Run(t, "llvm-objdump", "--macho", "--dylibs-used", file), -1) {
		names = append(names, m[1])
	}
	return names
}

func stdout(t *testing.T, bin string) string {
	t.Helper()
	return llvmtest.Run(t, bin)
}

func write(t *testing.T, file, text string) string {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// records compares the sizes and offsets of all records, and the values of all
// constants, as a compiler finds them in the library's own headers and in the
// stub's source: printed on this machine, asserted for a Mac.
func (s *stubs) records(t *testing.T) {
	dir, all := t.TempDir(), 0
	const standard = "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n"
	for _, l := range s.libraries {
		theirs, ours := api.Facts(l), api.FactsIn(l, func(name string) string { return name })
		printed := map[string]string{}
		for who, source := range map[string]struct {
			text  string
			facts []api.Fact
		}{"headers": {s.headers(t, l), theirs}, "stub": {stub.Types(l), ours}} {
			var program, asserts strings.Builder
			for i, f := range source.facts {
				fmt.Fprintf(&program, "    printf(\"%%d %%lld\\n\", %d, (long long)(%s));\n", i, f.Expression)
				fmt.Fprintf(&asserts, "_Static_assert(%s == %d, \"\");\n", f.Expression, f.Value)
			}
			file := write(t, filepath.Join(dir, l.Name+"-"+who+".c"), standard+source.text+"int main(void) {\n"+program.String()+"}\n")
			bin := filepath.Join(dir, l.Name+"-"+who)
			llvmtest.Run(t, "clang", "-std=gnu11", "-w", "-I"+filepath.Join(s.linux, "include"), file, "-o", bin)
			printed[who] = stdout(t, bin)
			file = write(t, filepath.Join(dir, l.Name+"-"+who+"-mac.c"), standard+source.text+asserts.String())
			llvmtest.Run(t, "clang", append(s.forMac(t)[:3], "-std=gnu11", "-w", "-fsyntax-only", "-I"+filepath.Join(s.mac, "include"), file)...)
		}
		lines := strings.Split(printed["stub"], "\n")
		for i, want := range strings.Split(printed["headers"], "\n") {
			if i >= len(lines) || lines[i] != want {
				t.Errorf("lib%s: of %s the stub says %q, the headers %q", l.Name, theirs[min(i, len(theirs)-1)].Expression, lines[min(i, len(lines)-1)], want)
			}
		}
		t.Logf("lib%s: %d numbers of %d records are the same", l.Name, len(theirs), len(l.Records))
		all += len(theirs)
	}
	if all < 1800 {
		t.Errorf("only %d numbers were compared", all)
	}
}

// textStubs links for a Mac where nothing but the text stubs is.
func (s *stubs) textStubs(t *testing.T) {
	dir := t.TempDir()
	for _, l := range s.libraries {
		text := read(t, filepath.Join(s.mac, "lib"), "lib"+l.Name+".tbd")
		write(t, filepath.Join(dir, "lib"+l.Name+".tbd"), string(text))
		source := write(t, filepath.Join(dir, l.Name+".c"), s.headers(t, l)+"#include <stdio.h>\nint main(void) { "+calls[l.Name].body+" return 0; }\n")
		bin := filepath.Join(dir, l.Name)
		llvmtest.Run(t, "clang", append(s.forMac(t), "-I"+filepath.Join(s.mac, "include"), source, "-L"+dir, "-l"+l.Name, "-o", bin)...)
		dylib := filepath.Join(dir, l.Name+"-dylib")
		llvmtest.Run(t, "clang", append(s.forMac(t), "-I"+filepath.Join(s.mac, "include"), source, filepath.Join(s.mac, "lib", "lib"+l.Name+".dylib"), "-o", dylib)...)
		// The same library with the same versions, whichever it was linked with.
		linked := llvmtest.Run(t, "llvm-objdump", "--macho", "--dylibs-used", bin)
		_, linked, _ = strings.Cut(linked, "\n")
		_, want, _ := strings.Cut(llvmtest.Run(t, "llvm-objdump", "--macho", "--dylibs-used", dylib), "\n")
		if linked != want || !strings.Contains(linked, stub.DarwinName(l)) {
			t.Errorf("linked with the text stub the program uses\n%s\nwith the library\n%s", linked, want)
		}
	}
}

// hipForMac links objects of HIP, compiled by hipcc for a Mac, with the stub of
// the runtime: as a library and as text.
func (s *stubs) hipForMac(t *testing.T) {
	m := &mac{bundle: s.linux, fixtures: filepath.Join(s.project, "internal", "e2e", "testdata", "darwin")}
	dir, _, env := m.folder(t)
	tool(t, dir, env, m.hipcc("-c", "kernel.hip", "second.hip")...)
	text := t.TempDir()
	write(t, filepath.Join(text, "libamdhip64.tbd"), string(read(t, filepath.Join(s.mac, "lib"), "libamdhip64.tbd")))
	for _, from := range []string{filepath.Join(s.mac, "lib"), text} {
		tool(t, dir, env, m.hipcc("-isysroot", s.sdk, "-L"+from, "-Wl,-rpath,@loader_path/../lib", "kernel.o", "second.o", "-o", "program")...)
		macFatBinary(t, read(t, dir, "program"), "scale", "shift")
		if used := dylibs(t, filepath.Join(dir, "program")); !slices.Contains(used, "@rpath/libamdhip64.7.dylib") {
			t.Errorf("with %s the program uses %q", from, used)
		}
	}
	// A call that the runtime does not have is found by the linker.
	write(t, filepath.Join(dir, "no.c"), "int hipNoSuchCall(void);\nint main(void) { return hipNoSuchCall(); }\n")
	tool(t, dir, env, append(append([]string{filepath.Join(s.linux, "lib", "llvm", "bin", "clang")}, s.forMac(t)[:3]...), "-c", "no.c")...)
	if out := fails(t, dir, env, m.hipcc("-isysroot", s.sdk, "-L"+text, "no.o", "-o", "no")...); !strings.Contains(out, "undefined symbol: hipNoSuchCall") {
		t.Errorf("the linker says\n%s", out)
	}
	if _, err := os.Stat(filepath.Join(dir, "no")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a program: %v", err)
	}
}
