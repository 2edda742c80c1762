package launchfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/emulator"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

// A template is a launch file: it binds, and where kernels stay within its buffers it
// runs.
func TestTemplate(t *testing.T) {
	const src = `
#define KERNEL __attribute__((global))
struct point { float x, y, z; };
template <typename T> KERNEL void add(const T *a, T *b, T by, unsigned n) {
  unsigned i = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
  if (i < n) b[i] = a[i] + by;
}
template KERNEL void add<float>(const float *, float *, float, unsigned);
extern "C" KERNEL void plain(int *p, float f, long n) { if (n > 1) p[1] = (int)f; }
KERNEL __attribute__((amdgpu_flat_work_group_size(64, 64))) void shapes(point p, point *to, void *what, short small) { to[0] = p; to[0].x += small; *(int *)what = 3; }
KERNEL void nothing() {}
`
	data, err := os.ReadFile(llvmtest.HIP(t, src, "gfx90a", "-fhip-kernel-arg-name", "-Wno-everything"))
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
	text, err := Template(mod.Object(), "", "gfx90a")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"schema: 1\ndevice: gfx90a\nlaunches:\n", "  # void add<float>(float const*, float*, float, unsigned int)\n", "kernel: _Z3addIfEvPKT_PS0_S0_j\n    grid: 4\n    block: 256\n",
		"      - {name: a, count: 1024, expr: i} # float const*\n", "      - {name: b, count: 1024, expr: i} # float* # add expect: for what it holds afterwards\n", "      - {name: by, value: 1} # float\n      - {name: n, value: 1024} # unsigned int\n",
		"- {name: p, type: u32, count: 1024, expr: i} # say what its elements are", "{name: f, type: i32, value: 1024} # or f32", `{name: p, bytes: "000000000000000000000000"} # point`, "{name: to, type: u32, count: 1024, expr: i} # point* # say what its elements are", "{name: small, value: 1} # short",
		"grid: 16\n    block: 64\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	name := filepath.Join(t.TempDir(), "k.launch.yaml")
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := Read(name)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := f.Bind(mod.Object())
	if err != nil {
		t.Fatal(err)
	}
	report, err := plan.Run(t.Context(), dev, mod, emulator.Options{Budget: 1e6})
	if err != nil || !report.OK || len(report.Launches) != 4 {
		t.Fatalf("%+v, %v", report, err)
	}
	if got := strings.Join(report.Launches[0].Buffers[1].First[:3], " "); got != "1 2 3" {
		t.Errorf("%+v", report.Launches[0])
	}
	one, err := Template(mod.Object(), "plain", "gfx90a")
	if err != nil || strings.Count(string(one), "kernel:") != 1 {
		t.Errorf("%s, %v", one, err)
	}
	if _, err := Template(mod.Object(), "plane", "gfx90a"); err == nil {
		t.Error("a kernel that is not there has a template")
	}
	if _, err := Template(&codeobj.Object{}, "", "gfx90a"); err == nil {
		t.Error("an object without kernels has a template")
	}
	// Names out of a code object stay where they are put.
	if got := quoted("a: b'\n# c"); got != "'a: b''?# c'" {
		t.Errorf("%q", got)
	}
	if got := templateArg(codeobj.Arg{Name: "x, y: 1", Size: 4, ValueKind: "by_value"}, "evil\nlaunches: []", 2); strings.Contains(got, "\n") || !strings.Contains(got, "name: arg2,") {
		t.Errorf("%q", got)
	}
}
