package launchfile

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/emulator"
	"github.com/stonemason-hip/stonemason/emulator/isa/isatest"
	"github.com/stonemason-hip/stonemason/internal/yamlx"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

const source = `
typedef unsigned int u32;
#define GID (__builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x())
__global__ void saxpy(float a, const float *x, float *y, u32 n) { u32 i = GID; if (i < n) y[i] = a * x[i] + y[i]; }
struct pair { double scale; int shift; };
template <typename T> __global__ void apply(const T *in, T *out, pair p) { u32 i = GID; out[i] = (T)(in[i] * p.scale) + p.shift; }
template __global__ void apply<int>(const int *, int *, pair);
template __global__ void apply<_Float16>(const _Float16 *, _Float16 *, pair);
extern "C" __global__ void plain(int k, float f, void *out) { ((float *)out)[GID] = k * f; }
extern "C" __global__ void wild(u32 *out) { out[GID * 1000] = 1; }
extern __shared__ u32 tile[];
__global__ void reverse(const unsigned char *in, unsigned char *out) { u32 t = __builtin_amdgcn_workitem_id_x(); tile[t] = in[t]; __builtin_amdgcn_s_barrier(); out[t] = tile[__builtin_amdgcn_workgroup_size_x() - 1 - t]; }
`

type device struct {
	dev *emulator.Device
	mod *emulator.Module
}

func load(t *testing.T, flags ...string) device {
	t.Helper()
	path := llvmtest.HIP(t, source, "gfx90a", flags...)
	isatest.Agrees(t, path, "gfx90a")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dev, err := emulator.NewDevice("gfx90a")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := dev.Load(data)
	if err != nil {
		t.Fatal(err)
	}
	return device{dev, mod}
}

// text puts launches behind the head of a file; column 5 is that of the keys.
func text(launch string) []byte { return []byte("schema: 1\nlaunches:\n  - " + launch) }

func (d device) run(t *testing.T, file, launch string) (*Report, error) {
	t.Helper()
	f, err := Parse(file, text(launch))
	if err != nil {
		return nil, err
	}
	p, err := f.Bind(d.mod.Object())
	if err != nil {
		return nil, err
	}
	return p.Run(t.Context(), d.dev, d.mod, emulator.Options{Budget: 1e7, Workers: 1}) // the first fault is that of the first group
}

func TestRun(t *testing.T) {
	d := load(t, "-fhip-kernel-arg-name")
	dir := t.TempDir()
	file := filepath.Join(dir, "launch.yaml")
	var raw []byte
	for i := range 64 {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(i)))
	}
	if err := os.WriteFile(filepath.Join(dir, "x.bin"), append([]byte("head"), raw...), 0o644); err != nil {
		t.Fatal(err)
	}
	const head = "{grid: 4, block: 64, kernel: "
	for name, launch := range map[string]string{
		"in order":      head + "saxpy, args: [2.5, {name: x, count: 200, range: {}}, {count: 200, name: y, expr: 'i % 7', expect: '2.5*x + y'}, 200]}",
		"by name":       head + "saxpy, args: {n: 0x40, a: 2, y: {count: 64, expect: 'a*x'}, x: {file: {path: x.bin, offset: 4}}}}",
		"from a file":   head + "saxpy, args: [1, {count: 64}, {file: {path: x.bin, offset: 4}, expect: {file: {path: x.bin, offset: 4}}}, 64]}",
		"lists":         head + "_Z5saxpyfPKfPfj, args: [-.inf, {values: [1, 2]}, {values: [0, 0.5], expect: {values: [-.inf, -.inf]}}, 2]}",
		"chance":        head + "saxpy, args: [0, {count: 64}, {count: 64, name: y, random: {from: -1, to: 1, seed: 3}, expect: 'when(y >= -1 && y < 1, y, nan)'}, 64]}",
		"aggregate":     head + "apply<int>, args: [{count: 256, name: x, constant: -3}, {count: 256, expect: 'x * 2 + 5'}, {bytes: 00000000000000400500000000000000}]}",
		"f16":           head + "apply<_Float16>, args: [{count: 256, name: x, range: {from: 1, step: 0.5}}, {count: 256, expect: {expr: 'x * 0.1 + 5', ulp: 1}}, {bytes: 9a9999999999b93f0500000000000000}]}",
		"no types":      head + "plain, args: [3, 1.5, {type: f32, count: 256, expect: {constant: 4.5}}]}",
		"types told":    head + "plain, args: [{value: 3, type: i32}, {value: 2, type: f32}, {type: f32, count: 256, expect: {constant: 6}}]}",
		"dynamic local": "{grid: 1, block: [64], lds: 256, kernel: reverse, args: [{name: x, count: 64, range: {from: 5}}, {count: 64, expect: 'x[n-1-i]'}]}",
		"within bounds": head + "saxpy, args: [1, {count: 64, name: x, expr: 'sqrt(i)'}, {count: 64, expect: {expr: 'sqrt(i) + 0.001', abs: 0.002}}, 64]}",
	} {
		r, err := d.run(t, file, launch)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !r.OK || len(r.Launches) != 1 || r.Launches[0].Counters.Waves == 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}

	// What is wrong is found, counted and shown.
	r, err := d.run(t, file, head+"saxpy, args: [2, {name: x, count: 64, range: {}}, {count: 64, name: y, expect: 'when(i < 60, 2*x, 2*x + 1)'}, 64]}\n  - "+head+"saxpy, args: [0, 0, 0, 0]}")
	if err != nil || r.OK || len(r.Launches) != 2 || !r.Launches[1].OK {
		t.Fatalf("%+v, %v", r, err)
	}
	if b := r.Launches[0].Buffers[1]; b.Wrong != 4 || b.Mismatch != "element 60 is 120, expected 121 (1.31e+05 ulp)" || b.First[3] != "6" || b.Expected[3] != "6" || b.At != 60 || r.Launches[0].Buffers[0].Checked {
		t.Errorf("%+v", b)
	}
	// A fault ends the file.
	r, err = d.run(t, file, head+"wild, args: [{type: u32, count: 1000}]}\n  - "+head+"saxpy, args: [0, 0, 0, 0]}")
	if err != nil || r.OK || len(r.Launches) != 1 || r.Launches[0].Fault == nil || r.Launches[0].Fault.Lane != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	// An expression that fails while it is evaluated says where.
	if _, err = d.run(t, file, head+"saxpy, args: [0, {count: 9, expr: '1/(i-3)'}, 0, 0]}"); err == nil || !strings.Contains(err.Error(), "launch.yaml:3:51: division by zero for i = 3") {
		t.Errorf("%v", err)
	}
	// So does one that is stopped.
	f, err := Parse(file, text(head+"saxpy, args: [0, {count: 100000, expr: '1'}, 0, 0]}"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.Bind(d.mod.Object())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Run(ctx, d.dev, d.mod, emulator.Options{}); err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("cancelled: %v", err)
	}
}

// Each nonsense is one error that says where.
func TestNonsense(t *testing.T) {
	d := load(t)
	file := filepath.Join(t.TempDir(), "l.yaml")
	const head = "{grid: 1, block: 64, kernel: saxpy, args: "
	for launch, want := range map[string]string{
		"{block: 64}":                                                   `3:5: missing required key "grid"`,
		"{grid: 1, block: 64, kernal: x}":                               `3:26: unknown key "kernal" in launches[0]: did you mean "kernel"?`,
		"{grid: 0, block: 64}":                                          "3:12: launches[0].grid: found 0, expected at least 1",
		"{grid: [1, 2, 3, 4], block: 64}":                               "3:12: launches[0].grid: found a list, expected x, or [x, y, z]",
		"{grid: x, block: 64}":                                          "3:12: launches[0].grid: found the string",
		"{grid: [1, -2], block: 64}":                                    "3:16: launches[0].grid[1]: found the number -2",
		"{grid: 1, block: 64, lds: -1}":                                 "3:31: launches[0].lds: found the number -1",
		"{grid: 1, block: 64, args: 5}":                                 "3:32: launches[0].args: found the number 5, expected a list of arguments, or a mapping by name",
		"{grid: 1, block: 64, args: []}":                                "3:5: which kernel? There are",
		"{grid: 1, block: 64, kernel: saxpi}":                           `3:34: launches[0].kernel: no kernel "saxpi" in the code object: did you mean "saxpy"?`,
		"{grid: 1, block: 64, kernel: [a]}":                             "3:34: launches[0].kernel: found a list, expected the name of a kernel",
		head + "[1, 0, 0]}":                                             "3:47: saxpy(float, float const*, float*, unsigned int) has 4 arguments, and 3 are given",
		head + "{a: 1}}":                                                "3:5: the code object has no names of arguments: compile with -fhip-kernel-arg-name",
		head + "[x, 0, 0, 0]}":                                          `3:48: launches[0].args[0]: found the string "x", expected a number`,
		head + "[true, 0, 0, 0]}":                                       "3:48: launches[0].args[0]: found true, expected a number",
		head + "[[1], 0, 0, 0]}":                                        "3:48: launches[0].args[0]: found a list, expected a number, or a mapping",
		head + "[1, 0, 0, 1.5]}":                                        `3:57: launches[0].args[3]: "1.5" is not a whole number, as u32 is`,
		head + "[1, 0, 0, -1]}":                                         "3:57: launches[0].args[3]: -1 does not fit u32: from 0 to 4294967295",
		head + "[1e39, 0, 0, 0]}":                                       "3:48: launches[0].args[0]: 1e39 does not fit f32",
		head + "[{value: 1, type: f64}, 0, 0, 0]}":                      "3:56: launches[0].args[0].value: 1 × f64 has 8 bytes, and the argument has 4 (float)",
		head + "[{value: [1, 2]}, 0, 0, 0]}":                            "launches[0].args[0].value: 2 × f32 has 8 bytes, and the argument has 4 (float)",
		head + "[{value: 1, count: 2}, 0, 0, 0]}":                       "3:66: launches[0].args[0].count: a buffer has this, and this argument is a value",
		head + "[{bytes: 0g}, 0, 0, 0]}":                                `launches[0].args[0].bytes: found the string "0g", expected bytes in hexadecimal`,
		head + "[{bytes: 00ff}, 0, 0, 0]}":                              "launches[0].args[0].bytes: 2 bytes for an argument of 4 (float)",
		head + "[{type: f33, value: 1}, 0, 0, 0]}":                      `3:55: launches[0].args[0].type: found "f33", expected one of`,
		head + "[{count: 3}, 0, 0, 0]}":                                 "3:48: launches[0].args[0]: a buffer for an argument of 4 bytes: expected a value (float)",
		head + "[1, {}, 0, 0]}":                                         "3:51: launches[0].args[1]: how large is the buffer? count is missing, or value",
		head + "[1, {count: 0}, 0, 0]}":                                 "3:59: launches[0].args[1].count: found 0, expected at least one element",
		head + "[1, {count: 99999999999}, 0, 0]}":                       "3:51: launches[0].args[1]: 99999999999 elements of 4 bytes: at most",
		head + "[1, {count: 1073741824}, {count: 1}, 0]}":               "3:5: the buffers have 4294967300 bytes together: at most 4294967296",
		head + "[1, {count: 2, values: [1]}, 0, 0]}":                    "launches[0].args[1].values: 1 elements, and count says 2",
		head + "[1, {values: []}, 0, 0]}":                               "launches[0].args[1].values: found a list, expected a list of numbers",
		head + "[1, {values: [1, a]}, 0, 0]}":                           "3:64: launches[0].args[1].values[1]: found the string \"a\"",
		head + "[1, {count: 2, constant: 1, expr: i}, 0, 0]}":           "launches[0].args[1].expr: the buffer is filled by constant already",
		head + "[1, {count: 2, constant: 1e50}, 0, 0]}":                 "launches[0].args[1].constant: 1e50 does not fit f32",
		head + "[1, {count: 2, range: {step: z}}, 0, 0]}":               "launches[0].args[1].range.step: found the string \"z\"",
		head + "[1, {count: 2, random: {to: 1}}, 0, 0]}":                `missing required key "from" in launches[0].args[1].random`,
		head + "[1, {count: 2, random: {from: 1, to: 1}}, 0, 0]}":       "launches[0].args[1].random.to: 1 is not above from: 1",
		head + "[1, {count: 2, expr: '2*'}, 0, 0]}":                     "3:68: launches[0].args[1].expr: column 3 of the expression: expected operand",
		head + "[1, {count: 2, expr: z}, 0, 0]}":                        `3:68: launches[0].args[1].expr: no argument has the name "z": name one so: {name: z, …}`,
		head + "[1, {count: 2, expr: y}, {count: 2, name: y}, 0]}":      "launches[0].args[1].expr: y is filled later than this buffer: put it first",
		head + "[1, {count: 2, name: x}, {count: 2, name: x}, 0]}":      "3:72: launches[0].args[2]: the name x stands on line 3 already",
		head + "[1, {count: 2, name: 2x}, 0, 0]}":                       `launches[0].args[1].name: found the string "2x", expected a string that matches`,
		head + "[1, {file: nowhere.bin}, 0, 0]}":                        "3:58: launches[0].args[1].file: open ",
		head + "[1, {file: .}, 0, 0]}":                                  "launches[0].args[1].file: . is not a file",
		head + "[1, {file: {path: l.yaml, offset: 9}}, 0, 0]}":          "launches[0].args[1].file: l.yaml has 6 bytes: none at 9",
		head + "[1, {file: l.yaml}, 0, 0]}":                             "launches[0].args[1].file: l.yaml has 6 bytes from 0 on: not a multiple of 4",
		head + "[1, {file: {path: l.yaml}, count: 2}, 0, 0]}":           "l.yaml has 6 bytes from 0 on, and the buffer has 8",
		head + "[1, {file: {path: l.yaml, offset: 6}}, 0, 0]}":          "0 bytes of l.yaml: expected at least one element",
		head + "[1, {count: 1, expect: {}}, 0, 0]}":                     "3:70: launches[0].args[1].expect: expected one of values, constant, file and expr, found 0",
		head + "[1, {count: 1, expect: {expr: i, constant: 1}}, 0, 0]}": "expected one of values, constant, file and expr, found 2",
		head + "[1, {count: 1, expect: {values: [1, 2]}}, 0, 0]}":       "launches[0].args[1].expect.values: 2 elements, and the buffer has 1",
		head + "[1, {count: 1, expect: {expr: i, ulp: -1}}, 0, 0]}":     "launches[0].args[1].expect.ulp: found the number -1, expected at least 0",
		head + "[1, {count: 1, expect: {expr: i, ulps: 1}}, 0, 0]}":     `unknown key "ulps" in launches[0].args[1].expect: did you mean "ulp"?`,
		head + "[1, {count: 1, expect: {constant: x}}, 0, 0]}":          "launches[0].args[1].expect.constant: found the string \"x\"",
		"{grid: 1, block: 64, kernel: plain, args: [1, 1, {count: 4}]}": "3:54: launches[0].args[2]: the type of its elements is not known: say type: f32, or another",
		"{grid: 1, block: 64, kernel: apply<int>, args: [0, 0, 1]}":     "launches[0].args[2]: its type is not known (pair): say type: f32, or another, or give the bytes",
		"{grid: 1, block: 64, kernel: apply, args: [0, 0, 1]}":          "2 kernels are called apply",
	} {
		if err := os.WriteFile(file, []byte("12345\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := d.run(t, file, launch)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), file+":3:") {
			t.Errorf("%s\n got %v\nwant %s", launch, err, want)
		} else if list, ok := err.(yamlx.Errors); !ok || len(list) != 1 {
			t.Errorf("%s: %T with %v", launch, err, err)
		}
	}
	named := load(t, "-fhip-kernel-arg-name")
	for launch, want := range map[string]string{
		head + "{a: 1, x: 0, y: 0, m: 0}}":                   `the kernel has no argument "m"`,
		head + "{a: 1, x: 0, y: 0}}":                         "the argument n is missing",
		head + "{a: {name: b, value: 1}, x: 0, y: 0, n: 1}}": "the argument has its name already: a",
	} {
		if _, err := named.run(t, file, launch); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", launch, err, want)
		}
	}
	for doc, want := range map[string]string{
		"schema: 2\nlaunches: []": "l.yaml:1:9: schema: found the number 2",
		"launches: []":            "missing required key \"schema\"",
		"schema: 1\nlaunches: []": "launches: found 0 entries, expected at least 1",
		"schema: 1\ndevice: gfx924\nlaunches: [{grid: 1, block: 1}]": `l.yaml:2:9: device: unknown gpu "gfx924": did you mean "gfx904"?`,
	} {
		if _, err := Parse("l.yaml", []byte(doc)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", doc, err, want)
		}
	}
}
