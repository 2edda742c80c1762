//go:build e2e && linux

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
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

// stubs are the bundles with stubs, of this machine, for a Mac and for Linux on
// ARM64, and the SDK that programs for a Mac are compiled with.
type stubs struct {
	project, therock     string
	linux, mac, arm, sdk string
	libraries            []*api.Library
}

// withStubs builds the bundles. Of what bundles for other hosts have by default
// LLVM is left out.
func withStubs(t *testing.T) *stubs {
	t.Helper()
	project, therock := product(t)
	s := &stubs{project: project, therock: therock, linux: filepath.Join(project, "dist", platform.Native().String()),
		mac: filepath.Join(project, "dist", "darwin-arm64"), arm: filepath.Join(project, "dist", "linux-arm64")}
	t.Log(tool(t, project, os.Environ(), therock, "build", "-channel=debian", "-with=STUBS"))
	t.Log(tool(t, project, os.Environ(), therock, "build", "-channel=debian", "-host=darwin-arm64", "-provider=amd-llvm=external"))
	if s.arm != s.linux {
		t.Log(tool(t, project, os.Environ(), therock, "build", "-channel=debian", "-host=linux-arm64", "-with=STUBS", "-provider=amd-llvm=external"))
	}
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
		s.libraries = append(s.libraries, l)
	}
	return s
}

// forMac are the arguments that make a clang compile and link for a Mac.
func (s *stubs) forMac(t *testing.T) []string {
	return []string{"--target=arm64-apple-macos" + platform.MacOSFloor, "-isysroot", s.sdk, "-fuse-ld=lld", "--ld-path=" + llvmtest.Tool(t, "ld64.lld")}
}

// TestStubs uses the stubs as programs do: those of the test, and with
// $STONEMASON_HIP_EXAMPLES those of public collections.
func TestStubs(t *testing.T) {
	s := withStubs(t)
	t.Run("size", s.size)
	t.Run("symbols", s.symbols)
	t.Run("signatures", s.signatures)
	t.Run("find_package", s.findPackage)
	t.Run("language HIP", s.languageHIP)
	t.Run("descriptions", s.descriptions)
	t.Run("records", s.records)
	t.Run("text stubs alone", s.textStubs)
	t.Run("HIP for a Mac", s.hipForMac)
	t.Run("CUDA for a Mac", s.cudaForMac)
	t.Run("verify", func(t *testing.T) {
		for _, dist := range []string{s.linux, s.mac, s.arm} {
			if out := tool(t, s.project, os.Environ(), s.therock, "verify", "-bundle="+dist); !strings.Contains(out, "nothing is wrong") {
				t.Error(out)
			}
		}
	})
	if dir := os.Getenv(examplesEnv); dir != "" {
		t.Run(examplesEnv, func(t *testing.T) { s.programs(t, dir) })
	}
	t.Run("twice", func(t *testing.T) {
		// One that is large, one that is small, and one with code of its own.
		for _, c := range []struct{ name, host string }{{"stub-hip", "darwin-arm64"}, {"stub-hipfft", "linux-arm64"}, {"stub-amd-smi", platform.Native().String()}} {
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
			filepath.Join(s.arm, "lib", "lib"+l.Name+".so."+l.File.Version),
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
// what it prints where there is no device. hipBLASLt's own library ends the process
// in hipblasLtCreate; ours answers.
var calls = map[string]struct{ body, prints string }{
	"amdhip64":  {`int n; puts(hipGetErrorString(hipGetDeviceCount(&n)));`, "no ROCm-capable device is detected\n"},
	"hiprtc":    {`int a, b; printf("%d\n", hiprtcVersion(&a, &b) == HIPRTC_SUCCESS);`, "1\n"},
	"rocblas":   {`rocblas_handle h; puts(rocblas_status_to_string(rocblas_create_handle(&h)));`, "rocblas_status_internal_error\n"},
	"rocrand":   {`rocrand_generator g; printf("%d\n", rocrand_create_generator(&g, ROCRAND_RNG_PSEUDO_DEFAULT) == ROCRAND_STATUS_INTERNAL_ERROR);`, "1\n"},
	"rocfft":    {`rocfft_plan_description d; printf("%d\n", rocfft_plan_description_create(&d) == rocfft_status_failure);`, "1\n"},
	"rocsparse": {`rocsparse_handle h; puts(rocsparse_get_status_name(rocsparse_create_handle(&h)));`, "rocsparse_status_internal_error\n"},
	"hiprand":   {`hiprandGenerator_t g; printf("%d\n", hiprandCreateGenerator(&g, HIPRAND_RNG_PSEUDO_DEFAULT) == HIPRAND_STATUS_INITIALIZATION_FAILED);`, "1\n"},
	"rocsolver": {`size_t n; rocsolver_rfinfo i; rocsolver_get_version_string_size(&n); printf("%d ", (int)n); puts(rocblas_status_to_string(rocsolver_create_rfinfo(&i, 0)));`, "8 rocblas_status_internal_error\n"},
	"hipblaslt": {`hipblasLtHandle_t h; printf("%d\n", hipblasLtCreate(&h) == HIPBLAS_STATUS_NOT_INITIALIZED);`, "1\n"},
	"hipfft":    {`int v; hipfftHandle p; hipfftGetVersion(&v); printf("%d %d\n", v, hipfftPlan1d(&p, 8, HIPFFT_C2C, 1) == HIPFFT_SETUP_FAILED);`, "10036 1\n"},
	"MIOpen":    {`miopenHandle_t h; puts(miopenGetErrorString(miopenCreate(&h)));`, "miopenStatusInternalError\n"},
	"amd_smi":   {`const char *s; amdsmi_status_code_to_string(amdsmi_init(AMDSMI_INIT_AMD_GPUS), &s); puts(s);`, "AMDSMI_STATUS_DRIVER_NOT_LOADED: Processor driver not loaded.\n"},
	"hipblas":   {`hipblasHandle_t h; puts(hipblasStatusToString(hipblasCreate(&h)));`, "HIPBLAS_STATUS_NOT_INITIALIZED\n"},
}

// annotations are those that a library's description was made with.
func (s *stubs) annotations(t *testing.T, l *api.Library) *importer.Annotations {
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
	return a
}

// languages are those that a library's own headers are written for: some are C but
// for a line, which api:import edits.
func (s *stubs) languages(t *testing.T, l *api.Library) []string {
	if a := s.annotations(t, l); len(a.Edits) > 0 || len(a.Instead) > 0 {
		return []string{"cpp"}
	}
	return []string{"c", "cpp"}
}

// compiler is a clang for one of these languages, with the standard to use.
func compiler(language string) (clang, standard string) {
	if language == "cpp" {
		return "clang++", "-std=gnu++17"
	}
	return "clang", "-std=gnu11"
}

// headers are the #include lines of a library's own headers.
func (s *stubs) headers(t *testing.T, l *api.Library) (source string) {
	t.Helper()
	a := s.annotations(t, l)
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
// Those for Linux are run, each call of them seen.
func (s *stubs) findPackage(t *testing.T) {
	dir := t.TempDir()
	var project strings.Builder
	project.WriteString("cmake_minimum_required(VERSION 3.21)\nproject(users C CXX)\n" +
		"find_package(hipblas-common REQUIRED)\nget_target_property(_ roc::hipblas-common INTERFACE_INCLUDE_DIRECTORIES)\n" +
		"if(NOT EXISTS \"${_}/hipblas-common/hipblas-common.h\")\n  message(FATAL_ERROR \"no header below ${_}\")\nendif()\n")
	for _, l := range s.libraries {
		c, ok := calls[l.Name]
		if !ok {
			t.Errorf("calls has no program for lib%s", l.Name)
			continue
		}
		source := s.headers(t, l) + "#include <stdio.h>\nint main(void) { " + c.body + " return 0; }\n"
		// Not the packages of hipBLASLt and AMD SMI: theirs know nothing of HIP either.
		if l.Name != "hipblaslt" && l.Name != "amd_smi" {
			source = "#ifndef __HIP_PLATFORM_AMD__\n#error the target does not say for which platform\n#endif\n" + source
		}
		p := l.File.Package
		fmt.Fprintf(&project, "find_package(%s 99 QUIET)\nif(%s_FOUND)\n  message(FATAL_ERROR \"%s is of version 99\")\nendif()\n", p, p, p)
		version := l.Version
		if p == "hip" || p == "hiprtc" { // as their own packages have it
			version = "7.2.53211"
		}
		fmt.Fprintf(&project, "find_package(%s %s EXACT REQUIRED)\n", p, version)
		fmt.Fprintf(&project, "foreach(name %s %s)\n  if(NOT ${name}_LIBRARIES OR NOT IS_DIRECTORY \"${${name}_INCLUDE_DIRS}\")\n    message(FATAL_ERROR \"no variables of ${name}\")\n  endif()\nendforeach()\n",
			p, strings.ToUpper(p))
		for _, language := range s.languages(t, l) {
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
	if s.arm != s.linux {
		build("arm", "-DCMAKE_PREFIX_PATH="+s.arm, "-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64",
			"-DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc", "-DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++")
	}
	clang := llvmtest.Tool(t, "clang")
	triple := "arm64-apple-macos" + platform.MacOSFloor
	// CMake's own file for Darwin asks a program of Macs whether there are run paths.
	rules := write(t, filepath.Join(dir, "mac.cmake"), "set(CMAKE_SHARED_LIBRARY_RUNTIME_C_FLAG \"-Wl,-rpath,\")\nset(CMAKE_SHARED_LIBRARY_RUNTIME_CXX_FLAG \"-Wl,-rpath,\")\n")
	build("mac", "-DCMAKE_PREFIX_PATH="+s.mac, "-DCMAKE_USER_MAKE_RULES_OVERRIDE="+rules, "-DCMAKE_SYSTEM_NAME=Darwin", "-DCMAKE_SYSTEM_VERSION=23.0.0", "-DCMAKE_SYSTEM_PROCESSOR=arm64", "-DCMAKE_OSX_SYSROOT="+s.sdk,
		"-DCMAKE_OSX_DEPLOYMENT_TARGET="+platform.MacOSFloor, "-DCMAKE_C_COMPILER="+clang, "-DCMAKE_CXX_COMPILER="+clang+"++",
		"-DCMAKE_C_COMPILER_TARGET="+triple, "-DCMAKE_CXX_COMPILER_TARGET="+triple,
		"-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld --ld-path="+llvmtest.Tool(t, "ld64.lld"), "-DCMAKE_INSTALL_NAME_TOOL="+llvmtest.Tool(t, "llvm-install-name-tool"))
	for _, l := range s.libraries {
		for _, language := range s.languages(t, l) {
			name := "use_" + l.Name + "_" + language
			s.runs(t, filepath.Join(dir, "linux", name), l)
			if s.arm != s.linux {
				s.runs(t, filepath.Join(dir, "arm", name), l, qemu...)
			}
			if used := dylibs(t, filepath.Join(dir, "mac", name)); !slices.Contains(used, stub.DarwinName(l)) {
				t.Errorf("%s for a Mac is linked with %q, want %s", name, used, stub.DarwinName(l))
			}
		}
	}
}

// languageHIP builds a program of CMake's own language HIP, for which CMake asks the
// clang where ROCm is and reads the package hip-lang there.
func (s *stubs) languageHIP(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "CMakeLists.txt"), `cmake_minimum_required(VERSION 3.21)
project(language C CXX HIP)
find_package(rocblas REQUIRED)
add_executable(language main.hip)
target_link_libraries(language PRIVATE roc::rocblas)
`)
	write(t, filepath.Join(dir, "main.hip"), `#include <hip/hip_runtime.h>
#include <rocblas/rocblas.h>
#include <cstdio>
__global__ void twice(float *x) { x[threadIdx.x] *= 2; }
int main() {
    float *p = nullptr;
    rocblas_handle h;
    std::puts(hipGetErrorName(hipMalloc(&p, 16)));
    twice<<<1, 4>>>(p);
    std::puts(hipGetErrorName(hipGetLastError()));
    std::puts(rocblas_status_to_string(rocblas_create_handle(&h)));
}
`)
	tool(t, dir, host(), "cmake", "-G", "Ninja", "-S", ".", "-B", "build", "-DCMAKE_PREFIX_PATH="+s.linux, "-DCMAKE_HIP_ARCHITECTURES=gfx942",
		"-DCMAKE_HIP_COMPILER="+filepath.Join(s.linux, "lib", "llvm", "bin", "clang++"), "-DCMAKE_BUILD_RPATH="+filepath.Join(s.linux, "lib"))
	tool(t, dir, host(), "cmake", "--build", "build")
	if out, want := stdout(t, filepath.Join(dir, "build", "language")), "hipErrorNoDevice\nhipErrorNoDevice\nrocblas_status_internal_error\n"; out != want {
		t.Errorf("it prints %q, want %q", out, want)
	}
}

// qemu runs a program for Linux on ARM64, with the distribution's libraries.
var qemu = []string{"qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu"}

// runs checks what the program of a library prints, and that each call that it
// makes of the library is traced, and only when that is wished.
func (s *stubs) runs(t *testing.T, bin string, l *api.Library, runner ...string) {
	t.Helper()
	calls, argv := calls[l.Name], append(runner, bin)
	prefix := "lib" + l.Name + ": "
	for _, traced := range []bool{false, true} {
		cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		var out, errs bytes.Buffer
		cmd.Env, cmd.Stdout, cmd.Stderr = host(), &out, &errs
		if traced {
			cmd.Env = append(cmd.Env, "STONEMASON_STUB_TRACE=1")
		}
		if err := cmd.Run(); err != nil || out.String() != calls.prints {
			t.Errorf("%s: %v, prints %q, want %q", bin, err, out.String(), calls.prints)
		}
		for i := range l.Functions {
			f := l.Functions[i].Key
			if called := strings.Contains(calls.body, f+"("); strings.Contains(errs.String(), prefix+f+"(") != (called && traced) {
				t.Errorf("%s, traced %v: calls %s %v, and says\n%s", bin, traced, f, called, errs.String())
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
	const includes = "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n"
	for _, l := range s.libraries {
		theirs, ours := api.Facts(l), api.FactsIn(l, func(name string) string { return name })
		printed := map[string]string{}
		for who, source := range map[string]struct {
			text  string
			facts []api.Fact
		}{"headers": {s.headers(t, l), theirs}, "stub": {stub.Types(l), ours}} {
			// The stub is C, and headers are what their authors made. Where these lack a
			// header of C alone they get it: float2 has another alignment in C++.
			language, more := "c", []string(nil)
			if a := s.annotations(t, l); who == "headers" && len(a.Edits) > 0 {
				language = "cpp"
			} else if who == "headers" {
				more = instead(t, a.Instead)
			}
			clang, standard := compiler(language)
			var program, asserts strings.Builder
			for i, f := range source.facts {
				fmt.Fprintf(&program, "    printf(\"%%d %%lld\\n\", %d, (long long)(%s));\n", i, f.Expression)
				fmt.Fprintf(&asserts, "_Static_assert(%s == %d, \"\");\n", f.Expression, f.Value)
			}
			file := write(t, filepath.Join(dir, l.Name+"-"+who+"."+language), includes+source.text+"int main(void) {\n"+program.String()+"}\n")
			bin := filepath.Join(dir, l.Name+"-"+who)
			llvmtest.Run(t, clang, append(more, standard, "-w", "-I"+filepath.Join(s.linux, "include"), file, "-o", bin)...)
			printed[who] = stdout(t, bin)
			file = write(t, filepath.Join(dir, l.Name+"-"+who+"-mac."+language), includes+source.text+asserts.String())
			llvmtest.Run(t, clang, slices.Concat(more, s.forMac(t)[:3], []string{standard, "-w", "-fsyntax-only", "-I" + filepath.Join(s.mac, "include"), file})...)
		}
		lines := strings.Split(strings.TrimSpace(printed["stub"]), "\n")
		for i := len(ours); i < len(theirs); i++ { // handles that are a number are macros of the headers alone
			lines = append(lines, fmt.Sprintf("%d %d", i, theirs[i].Value))
		}
		for i, want := range strings.Split(strings.TrimSpace(printed["headers"]), "\n") {
			if i >= len(lines) || lines[i] != want {
				t.Errorf("lib%s: of %s the stub says %q, the headers %q", l.Name, theirs[min(i, len(theirs)-1)].Expression, lines[min(i, len(lines)-1)], want)
			}
		}
		t.Logf("lib%s: %d numbers of %d records are the same", l.Name, len(theirs), len(l.Records))
		all += len(theirs)
	}
	if all < 3900 {
		t.Errorf("only %d numbers were compared", all)
	}
}

// instead makes a folder with headers that C does not have, and names it to a compiler.
func instead(t *testing.T, headers map[string]string) []string {
	dir := t.TempDir()
	for name, with := range headers {
		text := ""
		if with != "" {
			text = "#include <" + with + ">\n"
		}
		write(t, filepath.Join(dir, name), text)
	}
	return []string{"-I" + dir}
}

// textStubs links for a Mac where nothing but the text stubs is.
func (s *stubs) textStubs(t *testing.T) {
	dir := t.TempDir()
	for _, l := range s.libraries {
		text := read(t, filepath.Join(s.mac, "lib"), "lib"+l.Name+".tbd")
		write(t, filepath.Join(dir, "lib"+l.Name+".tbd"), string(text))
		language := s.languages(t, l)[0]
		clang, _ := compiler(language)
		source := write(t, filepath.Join(dir, l.Name+"."+language), s.headers(t, l)+"#include <stdio.h>\nint main(void) { "+calls[l.Name].body+" return 0; }\n")
		bin := filepath.Join(dir, l.Name)
		// Calls of the libraries that this one is used with find those.
		with := []string{"-I" + filepath.Join(s.mac, "include"), source}
		for _, used := range l.Used() {
			with = append(with, filepath.Join(s.mac, "lib", "lib"+used.Name+".dylib"))
		}
		llvmtest.Run(t, clang, append(append(s.forMac(t), with...), "-L"+dir, "-l"+l.Name, "-o", bin)...)
		dylib := filepath.Join(dir, l.Name+"-dylib")
		llvmtest.Run(t, clang, append(append(s.forMac(t), with...), filepath.Join(s.mac, "lib", "lib"+l.Name+".dylib"), "-o", dylib)...)
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
