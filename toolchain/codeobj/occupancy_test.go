package codeobj

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
	"github.com/stonemason-hip/stonemason/toolchain/gpu"
)

// What clang says of each kernel is the right answer: of registers of several
// numbers, and of local memory of several sizes, on processors of every kind.
func TestOccupancyAsClangSaysIt(t *testing.T) {
	table, err := gpu.Load()
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	source.WriteString(llvmtest.Prelude)
	for _, n := range []int{25, 40, 72, 100, 128} {
		fmt.Fprintf(&source, "extern \"C\" __global__ __attribute__((amdgpu_flat_work_group_size(64, 64))) void vgprs%d(int *p) {\n", n)
		fmt.Fprintf(&source, "  asm volatile(\"v_mov_b32 v%d, 0\" ::: \"v%d\"); *p = 1;\n}\n", n-1, n-1)
	}
	for _, n := range []int{82, 90, 102} {
		fmt.Fprintf(&source, "extern \"C\" __global__ void sgprs%d(int *p) { asm volatile(\"s_mov_b32 s%d, 0\" ::: \"s%d\"); *p = 1; }\n", n, n-1, n-1)
	}
	for i, n := range []int{5120, 20480, 61440, 21000, 25088} {
		items := []int{64, 256, 1024, 64, 64}[i]
		fmt.Fprintf(&source, "extern \"C\" __global__ __attribute__((amdgpu_flat_work_group_size(%d, %d))) void lds%d(int *p) {\n", items, items, n)
		fmt.Fprintf(&source, "  __shared__ volatile int t[%d]; t[__builtin_amdgcn_workitem_id_x()] = 1; *p = t[7];\n}\n", n/4)
	}
	dir := t.TempDir()
	in := filepath.Join(dir, "in.hip")
	if err := os.WriteFile(in, []byte(source.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	remark := regexp.MustCompile(`remark: (?:.*: )?\s*(Function Name|Occupancy \[waves/SIMD\]): (\S+)`)
	for _, p := range table.Processors() {
		var modes []string
		switch p.Name {
		case "gfx1010", "gfx1030", "gfx1100", "gfx1151", "gfx1201":
			modes = []string{"-mcumode", "-mwavefrontsize64"}
		}
		if p.Name < "gfx900" && !strings.HasPrefix(p.Name, "gfx1") {
			continue
		}
		for _, mode := range append([]string{"-O2"}, modes...) {
			out := filepath.Join(dir, p.Name+".co")
			_, text, err := llvmtest.Try(t, "clang++", "-x", "hip", "-nogpuinc", "-nogpulib", "--offload-device-only", "--no-gpu-bundle-output",
				"-O2", mode, "-fuse-cuid=none", "-Rpass-analysis=kernel-resource-usage", "--offload-arch="+p.Name, in, "-o", out)
			if err != nil {
				t.Fatalf("%s: %v\n%s", p.Name, err, text)
			}
			want, name := map[string]int{}, ""
			for _, m := range remark.FindAllStringSubmatch(text, -1) {
				if m[1] == "Function Name" {
					name = m[2]
				} else {
					want[name], _ = strconv.Atoi(m[2])
				}
			}
			data, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			obj, err := Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			if len(want) != 13 || len(obj.Kernels) != 13 {
				t.Fatalf("%s: clang speaks of %d kernels, the code object of %d\n%s", p.Name, len(want), len(obj.Kernels), text)
			}
			for i := range obj.Kernels {
				k := &obj.Kernels[i]
				if o := k.Occupancy(p, int(k.MaxFlatWorkgroupSize), 0); o.Waves != want[k.Name] || (o.Waves == o.Most) != (o.Limit == "") {
					t.Errorf("%s %s: %s: %+v, clang says %d", p.Name, mode, k.Name, o, want[k.Name])
				}
			}
		}
	}
}

func TestOccupancyOfLocalMemory(t *testing.T) {
	k := &LoadedKernel{Kernel: &Kernel{WavefrontSize: 64, VGPRCount: 8, GroupSegmentFixedSize: 513}}
	gfx942 := gpu.Processor{Name: "gfx942", LDS: 65536}
	for _, c := range []struct{ items, dynamic, waves int }{
		{64, 0, 8},       // 64 groups of 1024 bytes would be there: 16 waves a SIMD
		{64, 15871, 1},   // 16384 bytes: 4 groups, one a SIMD
		{64, 15872, 1},   // 16896 bytes: 3 groups, and one SIMD idles
		{256, 32255, 2},  // 32768: 2 groups of 4 waves
		{256, 32256, 1},  // rounded up, one
		{256, 65536, 0},  // too much
		{0, 65536, 8},    // no work-group is asked about
		{1024, 64511, 4}, // 65024 and its granule: one group of 16 waves
	} {
		if o := k.Occupancy(gfx942, c.items, c.dynamic); o.Waves != c.waves {
			t.Errorf("%+v: %+v", c, o)
		}
	}
	for name, want := range map[string][3]int{"gfx90a": {9, 0, 10}, "gfx942": {9, 4, 2}, "gfx9-4-generic": {9, 4, 0}, "gfx9-generic": {9, 0, 0}, "gfx1201": {12, 0, 1}, "gfx10-3-generic": {10, 3, 0}, "gfx": {}} {
		if a, b, c := version(name); [3]int{a, b, c} != want {
			t.Errorf("%s: %d %d %d", name, a, b, c)
		}
	}
}
