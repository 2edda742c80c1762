package smoke

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
	"github.com/stonemason-hip/stonemason/toolchain/gpu"
)

// noHeaders lets the real compiler take HIP without headers or device libraries.
var noHeaders = []string{"-nogpuinc", "-nogpulib"}

// miniBundle is a bundle with the machine's LLVM and nothing else.
func miniBundle(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	llvm := filepath.Dir(filepath.Dir(llvmtest.Tool(t, "clang++")))
	if err := os.Symlink(llvm, filepath.Join(root, "lib", "llvm")); err != nil {
		t.Fatal(err)
	}
	return root
}

const addSource = `
__global__ void add(int *out, const int *in, int n) {
  __shared__ volatile int tile[16];
  unsigned i = __builtin_amdgcn_workitem_id_x();
  tile[i & 15] = n;
  out[i] = in[i] + tile[(i + 1) & 15];
}
`

const addExpect = `schema: 1
kernels:
  - name: _Z3addPiPKii
    source: add(int*, int const*, int)
    lds: 64
    args:
      - {name: out, kind: global_buffer, offset: 0, size: 8}
      - {name: in, kind: global_buffer, offset: 8, size: 8}
      - {name: n, kind: by_value, offset: 16, size: 4}
`

const twoSource = `
struct pair { double a; char b; };
template <int N> __global__ void twice(pair p, double *out) { *out = p.a * N + p.b; }
template __global__ void twice<2>(pair, double *);
extern "C" __global__ void nothing() {}
`

const twoExpect = `schema: 1
kernels:
  - name: _Z5twiceILi2EEv4pairPd
    args:
      - {kind: by_value, offset: 0, size: 16}
      - {kind: global_buffer, offset: 16, size: 8}
  - name: nothing
`

// examples writes a folder of examples: name, source, expectation, in threes.
func examples(t *testing.T, parts ...string) string {
	t.Helper()
	dir := t.TempDir()
	for ; len(parts) > 0; parts = parts[3:] {
		put(t, filepath.Join(dir, parts[0], parts[0]+sourceExt), llvmtest.Prelude+parts[1])
		put(t, filepath.Join(dir, parts[0], expectFile), parts[2])
	}
	return dir
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func gpus(t *testing.T, names ...string) []gpu.Target {
	t.Helper()
	table, err := gpu.Load()
	if err != nil {
		t.Fatal(err)
	}
	ts, err := table.Expand(names, nil)
	if err != nil {
		t.Fatal(err)
	}
	return ts
}

func TestRun(t *testing.T) {
	t.Parallel()
	var seen []int
	report, err := Run(t.Context(), Options{
		Bundle:   miniBundle(t),
		GPUs:     gpus(t, "gfx942", "gfx90a:sramecc+:xnack-", "gfx1100", "gfx9-4-generic"),
		Examples: examples(t, "add", addSource, addExpect, "two", twoSource, twoExpect),
		WorkDir:  t.TempDir(),
		Flags:    noHeaders,
		Progress: func(done, total int, what string) {
			if total != 12 || what == "" {
				t.Errorf("progress %d of %d: %q", done, total, what)
			}
			seen = append(seen, done)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := report.Table(&b, 100); err != nil || !report.OK() {
		t.Fatalf("not ok: %v\n%s", err, b.String())
	}
	if len(report.Rows) != 8 || len(report.Bundles) != 4 || len(seen) != 12 || seen[11] != 12 {
		t.Errorf("%d rows, %d bundles, progress %v", len(report.Rows), len(report.Bundles), seen)
	}
	for i, row := range report.Rows {
		if !row.Repeated || row.Bytes == 0 || row.Version == 0 || row.Kernels != 1+i/4 {
			t.Errorf("%+v", row)
		}
	}
	if r := report.Rows[0]; r.Example != "add" || r.GPU != "gfx90a:sramecc+:xnack-" {
		t.Errorf("the first row is %s for %s", r.Example, r.GPU)
	}
	for _, row := range report.Bundles {
		if len(row.Entries) != 5 || (row.Kind == KindCompressed) != (row.Bytes < row.Plain) {
			t.Errorf("%+v", row)
		}
	}
	if out := b.String(); !strings.Contains(out, "all 12 checks passed") || !strings.Contains(report.Version, "clang version") {
		t.Errorf("table:\n%s", out)
	}
	data, err := json.Marshal(report)
	var back Report
	if err != nil || json.Unmarshal(data, &back) != nil || !back.OK() || !strings.Contains(string(data), `"kernels":2`) {
		t.Errorf("json: %v\n%s", err, data)
	}
}

// Each example here is wrong in one way, and the run must say which.
func TestRunFinds(t *testing.T) {
	t.Parallel()
	change := func(text, from, to string) string {
		if !strings.Contains(text, from) {
			t.Fatalf("%q is not there to be changed", from)
		}
		return strings.Replace(text, from, to, 1)
	}
	leak := "__global__ void leak(const char **out) { *out = __FILE__; }\n"
	leakExpect := "schema: 1\nkernels:\n  - name: _Z4leakPPKc\n    args:\n      - {kind: global_buffer, offset: 0, size: 8}\n"
	unknown := gpu.Target{Processor: gpu.Processor{Name: "gfx9999", Wave: 64}, ID: gpu.TargetID{Processor: "gfx9999"}}
	work := t.TempDir()
	report, err := Run(t.Context(), Options{
		Bundle: miniBundle(t),
		GPUs:   append(gpus(t, "gfx942"), unknown),
		Examples: examples(t,
			"argument", addSource, change(addExpect, "offset: 16, size: 4", "offset: 20, size: 8"),
			"broken", change(addSource, "out[i]", "nowhere[i]"), addExpect,
			"fewer", change(addSource, ", int n)", ")")+"int n;", addExpect,
			"fine", addSource, addExpect,
			"kernel", addSource, change(addExpect, "_Z3addPiPKii", "_Z3sub"),
			"leak", leak, leakExpect,
			"lds", addSource, change(addExpect, "lds: 64", "lds: 128"),
		),
		WorkDir: work,
		Flags:   noHeaders,
	})
	if err != nil {
		t.Fatal(err)
	}
	if report.OK() {
		t.Error("the report is ok")
	}
	want := map[string]string{
		"argument": "add(int*, int const*, int): n is by_value of 4 bytes at 16, want by_value of 8 at 20",
		"broken":   "error: use of undeclared identifier 'nowhere'",
		"fewer":    "error:",
		"fine":     "",
		"kernel":   "kernel add(int*, int const*, int) is missing; kernel _Z3addPiPKii is not expected",
		"leak":     "",
		"lds":      "add(int*, int const*, int): 64 bytes of LDS, want 128",
	}
	for _, row := range report.Rows {
		w := want[row.Example]
		if row.GPU == "gfx9999" {
			w = "this LLVM does not know gfx9999: take a newer LLVM, or leave the GPU out"
		}
		if !strings.Contains(row.Finding, w) || row.OK != (w == "") {
			t.Errorf("%s for %s: ok is %v, %q; want %q", row.Example, row.GPU, row.OK, row.Finding, w)
		}
		if row.Bytes == 0 {
			if log, err := os.ReadFile(row.Log); err != nil || !strings.Contains(string(log), "--offload-arch="+row.GPU) {
				t.Errorf("%s for %s: log %q, %v", row.Example, row.GPU, row.Log, err)
			}
		}
	}
	for _, row := range report.Bundles {
		w := map[string]string{
			"broken": "no GPU is left that the example compiles for",
			"fewer":  "no GPU is left that the example compiles for",
			"leak":   "gfx942: compiled in another folder it has other bytes: a path or a time is in it",
		}[row.Example]
		if row.Finding != w || row.OK != (w == "") {
			t.Errorf("%s of %s: %q, want %q", row.Kind, row.Example, row.Finding, w)
		}
	}
	var b bytes.Buffer
	if err := report.Table(&b, 60); err != nil || !strings.Contains(b.String(), "checks failed") {
		t.Errorf("%v\n%s", err, b.String())
	}
	for _, line := range strings.Split(b.String(), "\n") {
		if len(line) > 60 && !strings.Contains(line, work) && !strings.Contains(line, "clang version") {
			t.Errorf("longer than 60: %s", line)
		}
	}
}

// A compiler without its bundler is found out, and its objects still count.
func TestRunWithoutBundler(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	put(t, filepath.Join(root, "lib/llvm/bin/README"), "")
	if err := os.Symlink(llvmtest.Tool(t, "clang++"), filepath.Join(root, clangPath)); err != nil {
		t.Fatal(err)
	}
	report, err := Run(t.Context(), Options{
		Bundle: root, GPUs: gpus(t, "gfx942"), Flags: noHeaders, Quick: true,
		Examples: examples(t, "add", addSource, addExpect, "two", twoSource, twoExpect),
	})
	if err != nil {
		t.Fatal(err)
	}
	if report.OK() || !report.Rows[0].OK || !strings.Contains(report.Bundles[0].Finding, "clang-offload-bundler is missing") {
		t.Errorf("%+v", report)
	}
	if len(report.Bundles) != 3 || report.Rows[1].Repeated {
		t.Errorf("quick: %d bundles, second example repeated: %v", len(report.Bundles), report.Rows[1].Repeated)
	}
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	good := Options{Bundle: miniBundle(t), GPUs: gpus(t, "gfx942"), Examples: examples(t, "add", addSource, addExpect), Flags: noHeaders}
	for _, c := range []struct {
		name string
		edit func(*Options)
		want string
	}{
		{"no bundle", func(o *Options) { o.Bundle = t.TempDir() }, "neither bin/hipcc nor lib/llvm/bin/clang++ is there"},
		{"no gpu", func(o *Options) { o.GPUs = nil }, "no GPU to compile for"},
		{"no examples", func(o *Options) { o.Examples = t.TempDir() }, "examples: none in"},
		{"no folder", func(o *Options) { o.Examples = filepath.Join(t.TempDir(), "x") }, "no such file"},
		{"half an example", func(o *Options) {
			o.Examples = examples(t, "add", addSource, addExpect)
			if err := os.Remove(filepath.Join(o.Examples, "add", expectFile)); err != nil {
				t.Fatal(err)
			}
		}, "example add: open"},
		{"unknown key", func(o *Options) { o.Examples = examples(t, "add", addSource, addExpect+"kernel: 1\n") }, "field kernel not found"},
	} {
		opts := good
		c.edit(&opts)
		if _, err := Run(t.Context(), opts); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want one that says %q", c.name, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	opts := good
	opts.Progress = func(int, int, string) { cancel() }
	if _, err := Run(ctx, opts); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestFindToolchainPrefersHipcc(t *testing.T) {
	root := miniBundle(t)
	clang, err := findToolchain(root, nil, nil)
	if err != nil || !strings.HasSuffix(clang.compiler, clangPath) || !strings.Contains(strings.Join(clang.flags, " "), "--rocm-path="+root) {
		t.Errorf("%+v, %v", clang, err)
	}
	put(t, filepath.Join(root, hipccPath), "")
	hipcc, err := findToolchain(root, []string{"-O0"}, []string{"A=b"})
	if err != nil || !strings.HasSuffix(hipcc.compiler, hipccPath) || strings.Contains(strings.Join(hipcc.flags, " "), "rocm-path") {
		t.Errorf("%+v, %v", hipcc, err)
	}
	if strings.Join(hipcc.env, " ") != "PATH=/usr/bin:/bin A=b" || hipcc.flags[len(hipcc.flags)-1] != "-O0" {
		t.Errorf("environment %v, flags %v", hipcc.env, hipcc.flags)
	}
}

// An object for one GPU is checked as if it were for others.
func TestCheckObjectAgainstOtherTargets(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(llvmtest.HIP(t, addSource, "gfx942"))
	if err != nil {
		t.Fatal(err)
	}
	o, err := codeobj.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	table, err := gpu.Load()
	if err != nil {
		t.Fatal(err)
	}
	expect, err := ParseExpectation([]byte(addExpect))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ target, want string }{
		{"gfx942", ""},
		{"gfx942:xnack+", "e_flags 0x54c, want 0x74c for gfx942:xnack+"},
		{"gfx950", "e_flags 0x54c, want 0x54f for gfx950"},
		{"gfx1100", "e_flags 0x54c, want 0x41 for gfx1100; add(int*, int const*, int): wavefront 64, want 32"},
	} {
		got := strings.Join(checkObject(o, table, gpus(t, c.target)[0], expect), "; ")
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.target, got, c.want)
		}
	}
}

func TestParseExpectationRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "EOF"},
		{"schema: 2\nkernels: [{name: k}]", "schema 2"},
		{"schema: 1", "at least one"},
		{"schema: 1\nkernels: [{source: k}]", "name is missing"},
		{"schema: 1\nkernels: [{name: k}, {name: k}]", "twice"},
		{"schema: 1\nkernels: [{name: k, args: [{offset: 0, size: 4}]}]", "kind and size"},
		{"schema: 1\nkernels: [{name: k, args: [{kind: by_value, offset: -4, size: 4}]}]", "cannot unmarshal"},
		{"schema: 1\nkernels: [{name: k}]\n---\nschema: 1", "more than one document"},
		{strings.Repeat("#", maxExpect+1), "at most"},
	} {
		if _, err := ParseExpectation([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: %v, want one that says %q", c.text, err, c.want)
		}
	}
}

func FuzzParseExpectation(f *testing.F) {
	f.Add([]byte(addExpect))
	f.Add([]byte(twoExpect))
	f.Fuzz(func(t *testing.T, data []byte) {
		if e, err := ParseExpectation(data); err == nil && len(e.Kernels) == 0 {
			t.Error("no kernels are accepted")
		}
	})
}

func TestExplain(t *testing.T) {
	target := gpus(t, "gfx1250")[0]
	for _, c := range []struct{ stderr, want string }{
		{"clang: error: unsupported HIP gpu architecture: gfx1250\n", "this LLVM does not know gfx1250"},
		{"clang: error: cannot find ROCm device library for gfx1250; provide its path\n", "the bundle has no device library for gfx1250"},
		{"a.hip:1:1: warning: w\na.hip:2:3: error: e\nmore\n", "a.hip:2:3: error: e"},
		{"killed\n\n", "killed"},
		{"", "the compiler says nothing"},
	} {
		if got := explain(c.stderr, target); !strings.HasPrefix(got, c.want) {
			t.Errorf("%q: %q, want %q", c.stderr, got, c.want)
		}
	}
}

func TestTable(t *testing.T) {
	report := &Report{
		Compiler: "/b/bin/hipcc", Version: "clang version 22",
		Rows: []Row{
			{Example: "saxpy", GPU: "gfx942", OK: true, Kernels: 1, Bytes: 5512, Seconds: 1.44, Repeated: true},
			{Example: "math", GPU: "gfx90a:xnack+", Finding: "kernel f is missing; g: 64 bytes of LDS, want 128", Log: "/w/log"},
		},
		Bundles: []BundleRow{{Example: "saxpy", Kind: KindPlain, OK: true, Entries: []string{"a", "b"}, Bytes: 10, Plain: 10}},
	}
	for _, c := range []struct {
		width int
		want  string
	}{
		{80, `/b/bin/hipcc (clang version 22)

EXAMPLE  GPU            RESULT  KERNELS  BYTES  TWICE  EMULATOR  TIME
saxpy    gfx942         ok            1   5512   same         -  1.4s
math     gfx90a:xnack+  FAILED        0      0      -         -  0.0s
    kernel f is missing; g: 64 bytes of LDS, want 128
    log: /w/log

BUNDLE OF  KIND    RESULT  ENTRIES  BYTES  PLAIN  TIME
saxpy      bundle  ok            2     10     10  0.0s

1 of 3 checks failed
`},
		{40, `/b/bin/hipcc (clang version 22)

EXAMPLE  GPU            RESULT  KERNELS
saxpy    gfx942         ok            1
math     gfx90a:xnack+  FAILED        0
    kernel f is missing; g: 64 bytes of
    LDS, want 128
    log: /w/log

BUNDLE OF  KIND    RESULT  ENTRIES
saxpy      bundle  ok            2

1 of 3 checks failed
`},
	} {
		var b bytes.Buffer
		if err := report.Table(&b, c.width); err != nil || b.String() != c.want {
			t.Errorf("width %d: %v\n%s\nwant\n%s", c.width, err, b.String(), c.want)
		}
	}
	if (&Report{}).OK() {
		t.Error("an empty report is ok")
	}
}

// The project's own examples: each loads, and the source names that people read
// are the demangled forms (by llvm-cxxfilt) of the names that are compared.
func TestExamplesOfTheProject(t *testing.T) {
	list, err := LoadExamples("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, ex := range list {
		names = append(names, ex.Name)
		for _, k := range ex.Expect.Kernels {
			if got := strings.TrimSpace(llvmtest.Run(t, "llvm-cxxfilt", k.Name)); got != k.Source {
				t.Errorf("%s: %s is %q, smoke.yaml says %q", ex.Name, k.Name, got, k.Source)
			}
			if k.LDS == nil {
				t.Errorf("%s: %s: lds is missing", ex.Name, k.Name)
			}
		}
	}
	if got := strings.Join(names, " "); got != "atomics dynamic_lds math reduction saxpy templates transpose" {
		t.Errorf("examples %s", got)
	}
}
