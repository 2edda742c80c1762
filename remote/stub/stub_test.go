package stub

import (
	"bufio"
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stonemason-hip/stonemason/remote/api"
	"github.com/stonemason-hip/stonemason/remote/api/importer"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
	"github.com/stonemason-hip/stonemason/toolchain/tbd"
)

// cflags are what the CMake project compiles with, and all warnings.
var cflags = []string{"-std=c11", "-O0", "-fvisibility=hidden", "-fno-builtin", "-Wall", "-Wextra", "-Wpedantic", "-Werror"}

// mac compiles for Apple Silicon without any header of it.
var mac = []string{"-target", "arm64-apple-macos14", "-nostdlibinc", "-ffreestanding"}

func load(t *testing.T, name string) *api.Library {
	t.Helper()
	l, err := api.Load(api.Descriptions(), name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// build compiles and links a library's stub for Linux as the CMake project does.
func build(t *testing.T, l *api.Library, dir string) string {
	t.Helper()
	source, err := Source(l)
	if err != nil {
		t.Fatal(err)
	}
	c := write(t, dir, l.Name+".c", source)
	script := write(t, dir, l.Name+".map", Versions(l))
	so := filepath.Join(dir, "lib"+l.Name+".so."+l.File.SoVersion)
	args := append(slices.Clone(cflags), "-fPIC", "-shared", c, "-o", so, "-Wl,--version-script="+script, "-Wl,-z,defs",
		"-Wl,-soname,"+filepath.Base(so))
	llvmtest.Run(t, "clang", args...)
	return so
}

// golden reads the symbols of the real library, name@node or name, without those
// that its annotations call no part of the C API.
func golden(t *testing.T, name string) []string {
	t.Helper()
	notes := filepath.Join("..", "api", "annotations", name+".yaml")
	data, err := os.ReadFile(notes)
	if err != nil {
		t.Fatal(err)
	}
	a, err := importer.ReadAnnotations(notes, data)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join("..", "api", "testdata", "symbols", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := importer.ReadSymbols(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for s, node := range symbols {
		if a.LeavesOut(s) != "" {
			continue
		}
		if node != "" {
			s += "@" + node
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

// exported lists what an ELF library defines for others, with version nodes.
func exported(t *testing.T, so string) []string {
	t.Helper()
	f, err := elf.Open(so)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF || s.Section == elf.SHN_ABS {
			continue
		}
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC {
			t.Errorf("%s is no function", s.Name)
		}
		name := s.Name
		if s.HasVersion && s.Version != "" && !s.VersionIndex.IsHidden() {
			name += "@" + s.Version
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// The stub exports what the real library does, symbol for symbol and version for
// version, and the text stub and the object for macOS the same; and nothing else.
func TestSymbolsAreThoseOfTheRealLibrary(t *testing.T) {
	for _, name := range api.Libraries() {
		t.Run(name, func(t *testing.T) {
			l, dir := load(t, name), t.TempDir()
			want := golden(t, name)
			so := build(t, l, dir)
			compare(t, "the shared library", exported(t, so), want)

			var plain []string
			for _, w := range want {
				symbol, _, _ := strings.Cut(w, "@")
				plain = append(plain, "_"+symbol)
			}
			slices.Sort(plain)
			stub, err := tbd.Parse(TBD(l))
			if err != nil {
				t.Fatal(err)
			}
			e, ok := stub.Exports("arm64-macos")
			if !ok {
				t.Fatal("the text stub is not for arm64-macos")
			}
			var listed []string
			for s := range e.Symbols {
				listed = append(listed, s)
			}
			slices.Sort(listed)
			compare(t, "the text stub", listed, plain)

			object := filepath.Join(dir, "mac.o")
			llvmtest.Run(t, "clang", append(append(slices.Clone(cflags), mac...), "-c", filepath.Join(dir, name+".c"), "-o", object)...)
			var defined []string
			for line := range strings.Lines(llvmtest.Run(t, "llvm-nm", "--defined-only", "--extern-only", object)) {
				defined = append(defined, strings.Fields(line)[2])
			}
			slices.Sort(defined)
			compare(t, "the object for macOS", defined, plain)

			if info, err := os.Stat(so); err != nil || info.Size() > 1<<20 {
				t.Errorf("%s has %d bytes, more than a MiB", so, info.Size())
			}
		})
	}
}

func compare(t *testing.T, what string, got, want []string) {
	t.Helper()
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("%s lacks %s", what, w)
		}
	}
	for _, g := range got {
		if !slices.Contains(want, g) {
			t.Errorf("%s has %s, which the real library has not", what, g)
		}
	}
}

// The records of the source have the layouts of the description, for both kinds
// of machines; api:import has compared those with the headers.
func TestLayouts(t *testing.T) {
	for _, name := range api.Libraries() {
		t.Run(name, func(t *testing.T) {
			l := load(t, name)
			var b strings.Builder
			b.WriteString("#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n" + Types(l))
			facts := api.FactsIn(l, func(name string) string { return name })
			for _, f := range facts {
				fmt.Fprintf(&b, "_Static_assert(%s == %d, \"\");\n", f.Expression, f.Value)
			}
			file := write(t, t.TempDir(), "facts.c", b.String())
			llvmtest.Run(t, "clang", "-std=c11", "-fsyntax-only", file)
			llvmtest.Run(t, "clang", append(slices.Clone(mac), "-std=c11", "-fsyntax-only", file)...)
		})
	}
}

func TestTheSameBytes(t *testing.T) {
	var libs []*api.Library
	for _, name := range api.Libraries() {
		libs = append(libs, load(t, name))
	}
	a, err := Files(libs)
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range libs {
		libs[i] = load(t, l.Name)
	}
	b, err := Files(libs)
	if err != nil {
		t.Fatal(err)
	}
	for i := range a {
		if a[i].Name != b[i].Name || !bytes.Equal(a[i].Data, b[i].Data) {
			t.Errorf("%s differs from one time to the next", a[i].Name)
		}
	}
	if _, err := Files([]*api.Library{libs[0], libs[0]}); err == nil {
		t.Error("one library twice is accepted")
	}
}

// A current version is shortened for macOS, a compatibility version that would have
// to be is refused.
func TestVersionsForMacOS(t *testing.T) {
	for version, want := range map[string]string{"7.2.53211": "7.2", "7": "7", "5.2": "5.2", "1.2.3.4": "1.2.3", "1.255.255": "1.255.255",
		"1.256": "1", "65535.1": "65535.1", "65536": "1", "1.x": "1", "": "1"} {
		if got := darwinVersion(version); got != want {
			t.Errorf("%q becomes %q, want %q", version, got, want)
		}
	}
	l := load(t, "hiprtc")
	for compatibility, ok := range map[string]bool{"7": true, "7.2": true, "7.255.255": true, "7.256": false, "7.2.53211": false, "1.2.3.4": false, "65536": false, "": false} {
		l.File.Compatibility = compatibility
		files, err := Files([]*api.Library{l})
		if (err == nil) != ok || !ok && (!strings.Contains(err.Error(), "libhiprtc: compatibility") || files != nil) {
			t.Errorf("compatibility %q: %v", compatibility, err)
		}
	}
}

// program builds a C program against stubs and runs it.
func program(t *testing.T, l *api.Library, body string, env ...string) (stdout, stderr string) {
	t.Helper()
	return run(t, compile(t, l, body), env...)
}

// compile builds a C program against a stub.
func compile(t *testing.T, l *api.Library, body string) (bin string) {
	t.Helper()
	dir := t.TempDir()
	so := build(t, l, dir)
	var b strings.Builder
	b.WriteString("#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n#include <math.h>\n" + Types(l))
	for i := range l.Functions {
		if f := &l.Functions[i]; f.Value.Link == "" {
			fmt.Fprintf(&b, "%s%s(%s);\n", spaced(f.Value.Returns), f.Key, parameters(f.Value.Params, false, f.Value.Variadic))
		}
	}
	b.WriteString(body)
	main := write(t, dir, "main.c", b.String())
	bin = filepath.Join(dir, "main")
	llvmtest.Run(t, "clang", "-std=c11", main, so, "-Wl,-rpath,"+dir, "-lm", "-lpthread", "-o", bin)
	return bin
}

// What the real runtime says of each error, on a machine without a device, the
// stub says too.
func TestErrorsAreThoseOfTheRealLibrary(t *testing.T) {
	out, _ := program(t, load(t, "amdhip64"), `
int main(void) {
    for (int i = -1; i < 1200; i++)
        printf("%d %s|%s\n", i, hipGetErrorName((hipError_t)i), hipGetErrorString((hipError_t)i));
}`)
	f, err := os.Open("testdata/errors-amdhip64.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	said := map[string]string{}
	for line := range strings.Lines(out) {
		n, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		said[n] = text
	}
	lines, compared := bufio.NewScanner(f), 0
	for lines.Scan() {
		if n, text, ok := strings.Cut(lines.Text(), " "); ok && n != "#" {
			compared++
			if said[n] != text {
				t.Errorf("of %s the stub says %q, the library %q", n, said[n], text)
			}
		}
	}
	if compared < 70 {
		t.Errorf("only %d errors were compared", compared)
	}
	if said["11"] != "hipErrorUnknown|unknown error" || said["1199"] != said["11"] {
		t.Errorf("of errors that do not exist it says %q and %q", said["11"], said["1199"])
	}
}

// What programs meet where there is no device.
func TestNoDevice(t *testing.T) {
	const body = `
#include <pthread.h>
static void *other(void *p) { *(hipError_t *)p = hipGetLastError(); return 0; }
int main(void) {
    int n = 7, version = 0; void *p = (void *)8;
    hipError_t e = hipGetDeviceCount(&n);
    printf("count %d %s\n", n, hipGetErrorName(e));
    printf("null %s\n", hipGetErrorName(hipGetDeviceCount(0)));
    e = hipGetLastError();
    printf("malloc %s %p\n", hipGetErrorName(hipMalloc(&p, 16)), p);
    hipError_t there;
    pthread_t thread;
    pthread_create(&thread, 0, other, &there); pthread_join(thread, 0);
    printf("other thread %s\n", hipGetErrorName(there));
    printf("peek %s\n", hipGetErrorName(hipPeekAtLastError()));
    printf("last %s\n", hipGetErrorName(hipGetLastError()));
    printf("then %s\n", hipGetErrorName(hipGetLastError()));
    printf("version %s %d\n", hipGetErrorName(hipRuntimeGetVersion(&version)), version);
    dim3 grid = {1, 2, 3}, block = {4, 5, 6}, g, b; size_t shared; hipStream_t s;
    __hipPushCallConfiguration(grid, block, 7, (hipStream_t)8);
    __hipPushCallConfiguration(block, grid, 9, (hipStream_t)10);
    printf("%d ", __hipPopCallConfiguration(&g, &b, &shared, &s));
    printf("%u %u %u %u %u %u %zu %p\n", g.x, g.y, g.z, b.x, b.y, b.z, shared, (void *)s);
    printf("%d ", __hipPopCallConfiguration(&g, &b, &shared, &s));
    printf("%u %zu; %s\n", g.z, shared, hipGetErrorName(__hipPopCallConfiguration(&g, &b, &shared, &s)));
    void **m = __hipRegisterFatBinary("image");
    int start = 42, *managed = 0, kernel;
    __hipRegisterFunction(m, &kernel, "k", "k", 1, 0, 0, 0, 0, 0);
    __hipRegisterVar(m, &kernel, "v", "v", 0, 4, 0, 0);
    __hipRegisterManagedVar(m, (void **)&managed, &start, "start", sizeof start, 64);
    printf("managed %d %d\n", *managed, (int)((uintptr_t)managed % 64));
    __hipUnregisterFatBinary(m);
    __hipUnregisterFatBinary(0);
    hipDriverProcAddressQueryResult found;
    hipError_t (*count)(int *) = 0, (*properties)(void *, int) = 0;
    hipGetProcAddress("hipGetDeviceCount", (void **)&count, 700, 0, &found);
    printf("proc %d %d\n", found, count == hipGetDeviceCount);
    hipGetProcAddress("hipGetDeviceProperties", (void **)&properties, 700, 0, &found);
    printf("proc %d\n", (void *)properties == (void *)hipGetDevicePropertiesR0600);
    hipGetProcAddress("hipGetDeviceProperties", (void **)&properties, 500, 0, 0);
    printf("proc %d\n", (void *)properties == (void *)hipGetDeviceProperties);
    hipGetProcAddress("hipMemcpy", (void **)&properties, 700, 2, 0);
    printf("proc %d\n", (void *)properties == (void *)hipMemcpy_spt);
    printf("proc %s %d\n", hipGetErrorName(hipGetProcAddress("hipNothing", (void **)&properties, 700, 0, &found)), found);
    hipChannelFormatDesc d = hipCreateChannelDesc(8, 16, 0, 0, hipChannelFormatKindUnsigned);
    printf("channel %d %d %d\n", d.x, d.y, d.f);
    const char *text = 0;
    printf("%s", hipGetErrorName(hipDrvGetErrorString(hipErrorNoDevice, &text)));
    printf(" %s\n", text);
}`
	const want = `count 0 hipErrorNoDevice
null hipErrorInvalidValue
malloc hipErrorNoDevice 0x8
other thread hipSuccess
peek hipErrorNoDevice
last hipErrorNoDevice
then hipSuccess
version hipSuccess 70253211
0 4 5 6 1 2 3 9 0xa
0 3 7; hipErrorMissingConfiguration
managed 42 0
proc 0 1
proc 1
proc 1
proc 1
proc hipErrorNotFound 1
channel 8 16 1
hipSuccess no ROCm-capable device is detected
`
	out, errs := program(t, load(t, "amdhip64"), body)
	if out != want {
		t.Errorf("the program prints\n%s\nwant\n%s", out, want)
	}
	const says = "libamdhip64: this is a link stub, no device can be reached: hipMalloc answers hipErrorNoDevice"
	if !strings.HasPrefix(errs, says) || strings.Count(errs, "\n") != 1 {
		t.Errorf("it says\n%s\nwant one line that begins with %q", errs, says)
	}
	out, errs = program(t, load(t, "amdhip64"), body, "STONEMASON_STUB_TRACE=1")
	if out != want {
		t.Errorf("traced it prints\n%s", out)
	}
	for _, line := range []string{
		"libamdhip64: hipGetDeviceCount(count=(nil)) = hipErrorInvalidValue\n",
		"libamdhip64: __hipPushCallConfiguration(gridDim={1, 2, 3}, blockDim={4, 5, 6}, sharedMem=7, stream=0x8) = hipSuccess\n",
		"libamdhip64: hipGetProcAddress(symbol=\"hipNothing\", ",
		"libamdhip64: hipGetErrorName(hip_error=100) = \"hipErrorNoDevice\"\n",
	} {
		if !strings.Contains(errs, line) {
			t.Errorf("the trace has no line %q", line)
		}
	}
}

// Half precision, of all values and of what lies between them.
func TestHalves(t *testing.T) {
	out, _ := program(t, load(t, "amdhip64"), `
static double exact(unsigned h) {
    int e = h >> 10 & 31, m = h & 1023;
    double v = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return h & 0x8000 ? -v : v;
}
static int wrong;
static void is(float f, unsigned want) {
    unsigned got = __gnu_f2h_ieee(f);
    if (got != want && wrong++ < 10) printf("%a is %04x, want %04x\n", f, got, want);
}
int main(void) {
    int halves = 0;
    for (unsigned h = 0; h < 65536; h++) {
        float f = __gnu_h2f_ieee((unsigned short)h);
        double want = exact(h);
        if (isnan(want) ? !isnan(f) : f != want || !!signbit(f) != (h >> 15)) { if (wrong++ < 10) printf("%04x is %a, want %a\n", h, f, want); }
        if (isnan(want)) continue;
        halves++;
        is(f, h);
        if ((h & 0x7fff) >= 0x7bff) continue;
        float middle = (float)((want + exact(h + 1)) / 2);
        is(middle, h & 1 ? h + 1 : h);
        is(nextafterf(middle, 0), h);
        is(nextafterf(middle, h >> 15 ? -INFINITY : INFINITY), h + 1);
    }
    is(65519.996f, 0x7bff); is(65520.0f, 0x7c00); is(1e30f, 0x7c00); is(-INFINITY, 0xfc00); is(1e-30f, 0);
    if ((__gnu_f2h_ieee(NAN) & 0x7fff) <= 0x7c00) { wrong++; printf("a NaN is none\n"); }
    printf("%d halves, %d wrong\n", halves, wrong);
}`)
	if out != "63490 halves, 0 wrong\n" {
		t.Error(out)
	}
}

// Shapes that no library of today has are written as well: a record that is aligned
// more than its fields, values of 64 bits, texts with what C reads otherwise.
func TestShapes(t *testing.T) {
	text, err := os.ReadFile("testdata/shapes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	l, err := api.Load(fstest.MapFS{"shapes.yaml": {Data: text}}, "shapes")
	if err != nil {
		t.Fatal(err)
	}
	var facts strings.Builder
	for _, f := range api.FactsIn(l, func(name string) string { return name }) {
		fmt.Fprintf(&facts, "_Static_assert(%s == %d, \"\");\n", f.Expression, f.Value)
	}
	const head = "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n"
	file := write(t, t.TempDir(), "facts.c", head+Types(l)+facts.String())
	llvmtest.Run(t, "clang", "-std=c11", "-fsyntax-only", file)
	llvmtest.Run(t, "clang", append(slices.Clone(mac), "-std=c11", "-fsyntax-only", file)...)
	compare(t, "the shared library", exported(t, build(t, l, t.TempDir())), []string{"shapes_text@SHAPES_1", "shapes_two@SHAPES_2"})

	bin := compile(t, l, `int main(void) {
    either e = {1};
    line c = {2};
    printf("%s|%s|%d\n", shapes_text(away), shapes_text((status)99), shapes_two(most, all, c, e));
}`)
	out, errs := run(t, bin, "STONEMASON_STUB_TRACE=1")
	if want := "nothing there: \"??/\" \\ é\n|no|7\n"; out != want {
		t.Errorf("it prints %q, want %q", out, want)
	}
	for _, line := range []string{"libshapes: shapes_two(a=9223372036854775807, b=4294967295, c={2}, d={at 0x", ") = away\n", "shapes_text(value=99) = \"no\"\n"} {
		if !strings.Contains(errs, line) {
			t.Errorf("the trace has no %q:\n%s", line, errs)
		}
	}
}
