package codeobj

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
	"github.com/stonemason-hip/stonemason/toolchain/gpu"
)

// kernelSource has what makes descriptors and metadata differ: templates, LDS,
// scratch, dynamic stack, required sizes, by-value structs, doubles, globals.
const kernelSource = `
template <typename T> __global__ void axpy(T a, const T *__restrict__ x, T *y, unsigned n) {
  unsigned i = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
  if (i < n) y[i] = a * x[i] + y[i];
}
template __global__ void axpy<float>(float, const float *, float *, unsigned);
template __global__ void axpy<double>(double, const double *, double *, unsigned);

struct big { int a[5]; char b; };
__device__ int counter;
__constant__ float table[4] = {1, 2, 3, 4};

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, 64))) void lds(big b, int *out, short s) {
  __shared__ volatile int tile[100];
  unsigned i = __builtin_amdgcn_workitem_id_y();
  tile[i] = b.a[i] + s;
  __builtin_amdgcn_s_barrier();
  out[i] = tile[99 - i] + __builtin_amdgcn_workgroup_id_z() + counter + (int)table[i & 3];
}

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, 256))) void scratch(int *p, int n) {
  volatile int a[64];
  for (int i = 0; i < 64; i++) a[i] = p[i];
  p[n] = a[n & 63] + a[p[n] & 63];
}

__device__ __attribute__((noinline)) int deep(int n, int *p) { return n < 2 ? p[n] : deep(n - 1, p) + deep(n - 2, p); }
extern "C" __global__ void stack(int *p, int n) { *p = deep(n, p); }

extern "C" __global__ void nothing() {}
`

func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func gpuTable(t testing.TB) *gpu.Table {
	t.Helper()
	table, err := gpu.Load()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// Oracles: llvm-readelf, llvm-readobj and llvm-objdump on what clang compiles.
func TestParseAgreesWithLLVM(t *testing.T) {
	table := gpuTable(t)
	for _, c := range []struct {
		arch    string
		version int
		flags   []string
	}{
		{"gfx942", 4, nil}, {"gfx942", 5, nil}, {"gfx942", 6, nil},
		{"gfx803", 6, nil}, {"gfx900", 4, nil}, {"gfx906:sramecc+:xnack-", 5, nil}, {"gfx90a:xnack+", 6, nil},
		{"gfx1030", 5, nil}, {"gfx1100", 6, nil}, {"gfx1201", 6, nil}, {"gfx1250", 6, nil},
		{"gfx9-4-generic", 6, nil},
		{"gfx942", 6, []string{"-mllvm", "-amdgpu-kernarg-preload-count=3"}},
		{"gfx90a", 5, []string{"-O0", "-fcuda-flush-denormals-to-zero"}},
		{"gfx11-generic", 6, nil},
	} {
		t.Run(fmt.Sprint(c.arch, " v", c.version, c.flags), func(t *testing.T) {
			t.Parallel()
			path := llvmtest.HIP(t, kernelSource, c.arch, append(c.flags, fmt.Sprintf("-mcode-object-version=%d", c.version))...)
			o, err := Parse(read(t, path))
			if err != nil {
				t.Fatal(err)
			}
			if o.Version != c.version {
				t.Errorf("version %d, compiled as %d", o.Version, c.version)
			}
			target, err := o.Target(table)
			if err != nil || target.String() != c.arch {
				t.Errorf("target %s, %v; compiled for %s", target, err, c.arch)
			}
			if len(o.Kernels) != 6 {
				t.Errorf("%d kernels, the source has 6", len(o.Kernels))
			}
			compareHeader(t, o, path)
			compareMetadata(t, o, path)
			compareDescriptors(t, o, path)
		})
	}
}

func compareHeader(t *testing.T, o *Object, path string) {
	t.Helper()
	var dump []struct {
		ElfHeader struct {
			Ident struct {
				ABIVersion int
			}
			Flags              struct{ Value uint32 }
			SectionHeaderCount string
			ProgramHeaderCount int
		}
		Symbols []struct {
			Symbol struct {
				Name        struct{ Name string }
				Value, Size uint64
				Type        struct{ Value uint8 }
				Binding     struct{ Value uint8 }
				Section     struct{ Value uint16 }
			}
		}
	}
	out := llvmtest.Run(t, "llvm-readobj", "--file-headers", "--symbols", "--elf-output-style=JSON", path)
	if err := json.Unmarshal([]byte(out), &dump); err != nil || len(dump) != 1 {
		t.Fatalf("llvm-readobj: %v\n%s", err, out)
	}
	h := dump[0].ElfHeader
	if int(o.ABIVersion) != h.Ident.ABIVersion || o.Flags.Raw != h.Flags.Value ||
		strconv.Itoa(len(o.Sections)) != h.SectionHeaderCount || len(o.Segments) != h.ProgramHeaderCount {
		t.Errorf("header: abi %d, flags 0x%x, %d sections, %d segments; llvm-readobj: %+v",
			o.ABIVersion, o.Flags.Raw, len(o.Sections), len(o.Segments), h)
	}
	if len(o.Symbols)+1 != len(dump[0].Symbols) {
		t.Fatalf("%d symbols, llvm-readobj has %d with the reserved one", len(o.Symbols), len(dump[0].Symbols))
	}
	for i, s := range o.Symbols {
		d := dump[0].Symbols[i+1].Symbol
		want := Symbol{Name: d.Name.Name, Type: d.Type.Value, Bind: d.Binding.Value, Visible: s.Visible, Section: d.Section.Value, Value: d.Value, Size: d.Size}
		if s != want {
			t.Errorf("symbol %d: %+v, llvm-readobj: %+v", i, s, want)
		}
	}
}

// agree compares decoded metadata with llvm's YAML of it, by the tags: each key
// there must have a field here with the same value, and each field that is set
// must be there.
func agree(got reflect.Value, want any, path string) []string {
	var bad []string
	switch got.Kind() {
	case reflect.Struct:
		m, _ := want.(map[string]any)
		known := map[string]bool{}
		for i := range got.NumField() {
			key, _, _ := strings.Cut(got.Type().Field(i).Tag.Get("amdgpu"), ",")
			known[key] = true
			w, ok := m[key]
			if !ok && !got.Field(i).IsZero() {
				bad = append(bad, fmt.Sprintf("%s/%s is %v, llvm has no such key", path, key, got.Field(i)))
			} else if ok {
				bad = append(bad, agree(got.Field(i), w, path+"/"+key)...)
			}
		}
		for key := range m {
			if !known[key] {
				bad = append(bad, fmt.Sprintf("%s/%s is not decoded", path, key))
			}
		}
	case reflect.Slice:
		list, _ := want.([]any)
		if len(list) != got.Len() {
			return []string{fmt.Sprintf("%s has %d members, llvm %d", path, got.Len(), len(list))}
		}
		for i, w := range list {
			bad = append(bad, agree(got.Index(i), w, fmt.Sprintf("%s[%d]", path, i))...)
		}
	default:
		if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
			bad = append(bad, fmt.Sprintf("%s is %s, llvm says %s", path, g, w))
		}
	}
	return bad
}

func compareMetadata(t *testing.T, o *Object, path string) {
	t.Helper()
	out := llvmtest.Run(t, "llvm-readelf", "--notes", path)
	_, text, ok := strings.Cut(out, "---\n")
	text, _, ok2 := strings.Cut(text, "\n...")
	if !ok || !ok2 {
		t.Fatalf("llvm-readelf: no metadata in\n%s", out)
	}
	var want map[string]any
	if err := yaml.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	for _, bad := range agree(reflect.ValueOf(*o.Metadata), want, "") {
		t.Error(bad)
	}
}

var directive = regexp.MustCompile(`(?m)^\s+\.amdhsa_(\w+) (-?\d+)$`)

func compareDescriptors(t *testing.T, o *Object, path string) {
	t.Helper()
	out := llvmtest.Run(t, "llvm-objdump", "-D", "-j", ".rodata", path)
	for _, k := range o.Kernels {
		_, text, ok := strings.Cut(out, ".amdhsa_kernel "+k.Name+"\n")
		text, _, ok2 := strings.Cut(text, ".end_amdhsa_kernel")
		if !ok || !ok2 {
			t.Errorf("llvm-objdump shows no descriptor of %s:\n%s", k.Name, out)
			continue
		}
		d, r1, r2 := k.Descriptor, k.Descriptor.Rsrc1, k.Descriptor.Rsrc2
		yes := func(b bool) int {
			if b {
				return 1
			}
			return 0
		}
		prop := func(p KernelProperties) int { return yes(d.Properties.Has(p)) }
		got := map[string]int{
			"group_segment_fixed_size":         int(d.GroupSegmentFixedSize),
			"private_segment_fixed_size":       int(d.PrivateSegmentFixedSize),
			"kernarg_size":                     int(d.KernargSize),
			"accum_offset":                     d.AccumOffset(),
			"float_round_mode_32":              r1.FloatRound32(),
			"float_round_mode_16_64":           r1.FloatRound1664(),
			"float_denorm_mode_32":             r1.FloatDenorm32(),
			"float_denorm_mode_16_64":          r1.FloatDenorm1664(),
			"dx10_clamp":                       yes(r1.DX10Clamp()),
			"ieee_mode":                        yes(r1.IEEEMode()),
			"fp16_overflow":                    yes(r1.FP16Overflow()),
			"workgroup_processor_mode":         yes(r1.WGPMode()),
			"memory_ordered":                   yes(r1.MemOrdered()),
			"forward_progress":                 yes(r1.ForwardProgress()),
			"enable_private_segment":           yes(r2.PrivateSegment()),
			"system_sgpr_workgroup_id_x":       yes(r2.WorkgroupIDX()),
			"system_sgpr_workgroup_id_y":       yes(r2.WorkgroupIDY()),
			"system_sgpr_workgroup_id_z":       yes(r2.WorkgroupIDZ()),
			"system_sgpr_workgroup_info":       yes(r2.WorkgroupInfo()),
			"system_vgpr_workitem_id":          r2.WorkitemID(),
			"user_sgpr_private_segment_buffer": prop(PropPrivateSegmentBuffer),
			"user_sgpr_dispatch_ptr":           prop(PropDispatchPtr),
			"user_sgpr_queue_ptr":              prop(PropQueuePtr),
			"user_sgpr_kernarg_segment_ptr":    prop(PropKernargSegmentPtr),
			"user_sgpr_dispatch_id":            prop(PropDispatchID),
			"user_sgpr_flat_scratch_init":      prop(PropFlatScratchInit),
			"user_sgpr_private_segment_size":   prop(PropPrivateSegmentSize),
			"user_sgpr_kernarg_preload_length": d.KernargPreloadLength(),
			"user_sgpr_kernarg_preload_offset": d.KernargPreloadOffset(),
			"wavefront_size32":                 prop(PropWavefront32),
			"uses_dynamic_stack":               prop(PropDynamicStack),
		}
		compared := 0
		for _, m := range directive.FindAllStringSubmatch(text, -1) {
			if v, ok := got[m[1]]; ok {
				compared++
				if strconv.Itoa(v) != m[2] {
					t.Errorf("%s: %s is %d, llvm-objdump says %s", k.Name, m[1], v, m[2])
				}
			}
		}
		if compared < 20 {
			t.Errorf("%s: only %d fields of its descriptor were compared", k.Name, compared)
		}
		if d.Properties.WavefrontSize() != int(k.WavefrontSize) {
			t.Errorf("%s: wavefront %d in the descriptor, %d in the metadata", k.Name, d.Properties.WavefrontSize(), k.WavefrontSize)
		}
		code, err := o.At(k.Entry, k.CodeSize)
		if err != nil || k.CodeSize == 0 || len(code) != int(k.CodeSize) {
			t.Errorf("%s: code of %d bytes: %v", k.Name, k.CodeSize, err)
		}
	}
}

// Fields that compilers leave at zero, by their place in
// llvm/Support/AMDHSAKernelDescriptor.h.
func TestParseDescriptor(t *testing.T) {
	raw := make([]byte, DescriptorSize)
	raw[58], raw[59] = 0x85, 0x02 // length 5, offset 5
	d, err := ParseDescriptor(raw)
	if err != nil || d.KernargPreloadLength() != 5 || d.KernargPreloadOffset() != 5 {
		t.Errorf("preload %d from %d, %v", d.KernargPreloadLength(), d.KernargPreloadOffset(), err)
	}
	for _, i := range []int{12, 24, 43, 60, 63} {
		bad := make([]byte, DescriptorSize)
		bad[i] = 1
		if _, err := ParseDescriptor(bad); err == nil || !strings.Contains(err.Error(), "reserved") {
			t.Errorf("byte %d set: %v", i, err)
		}
	}
	if _, err := ParseDescriptor(raw[:63]); err == nil {
		t.Error("63 bytes are accepted")
	}
}

func TestExplicitArguments(t *testing.T) {
	t.Parallel()
	o, err := Parse(read(t, llvmtest.HIP(t, kernelSource, "gfx942")))
	if err != nil {
		t.Fatal(err)
	}
	k, ok := o.Kernel("lds")
	if !ok {
		t.Fatal("kernel lds is not found")
	}
	var got []string
	for _, a := range k.Explicit() {
		got = append(got, fmt.Sprintf("%s@%d+%d", a.ValueKind, a.Offset, a.Size))
	}
	if want := "by_value@0+24 global_buffer@24+8 by_value@32+2"; strings.Join(got, " ") != want {
		t.Errorf("arguments %v, the source says %s", got, want)
	}
	if k.GroupSegmentFixedSize != 400 || k.Descriptor.GroupSegmentFixedSize != 400 || k.MaxFlatWorkgroupSize != 64 {
		t.Errorf("lds %d and %d, work-group %d; the source says 400, 400, 64",
			k.GroupSegmentFixedSize, k.Descriptor.GroupSegmentFixedSize, k.MaxFlatWorkgroupSize)
	}
	if s, _ := o.Kernel("stack"); !s.UsesDynamicStack || !s.Descriptor.Properties.Has(PropDynamicStack) {
		t.Error("recursion is not seen as a dynamic stack")
	}
}

// A stripped object has only its dynamic symbols, and still loads.
func TestParseStripped(t *testing.T) {
	t.Parallel()
	path := llvmtest.HIP(t, kernelSource, "gfx1100")
	out := filepath.Join(t.TempDir(), "stripped.co")
	llvmtest.Run(t, "llvm-strip", path, "-o", out)
	o, err := Parse(read(t, out))
	if err != nil || len(o.Kernels) != 6 {
		t.Fatalf("%v", err)
	}
}

// Every byte of a real object is broken once, and every length is cut: whatever
// is accepted must still be whole enough to walk.
func TestParseSurvivesDamage(t *testing.T) {
	t.Parallel()
	good := read(t, llvmtest.HIP(t, "extern \"C\" __global__ void k(int *p) { *p = 1; }", "gfx942"))
	if _, err := Parse(good); err != nil {
		t.Fatal(err)
	}
	table := gpuTable(t)
	walk := func(data []byte) {
		o, err := Parse(data)
		if err != nil {
			return
		}
		_, _ = o.Target(table) // only its panics count
		for _, k := range o.Kernels {
			_, _ = o.At(k.Entry, k.CodeSize)
		}
	}
	data := make([]byte, len(good))
	for i := range good {
		for _, bit := range []byte{0x01, 0x80, 0xff} {
			copy(data, good)
			data[i] ^= bit
			walk(data)
		}
		walk(good[:i])
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	good := read(t, llvmtest.HIP(t, "extern \"C\" __global__ void k(int *p) { *p = 1; }", "gfx942"))
	change := func(off int, b ...byte) []byte {
		data := append([]byte(nil), good...)
		copy(data[off:], b)
		return data
	}
	// p_memsz of the first loaded segment.
	load := 0
	for load = 64; good[load] != byte(SegmentLoad); load += phdrSize {
	}
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"overlapping segments", change(load+40, 0, 0, 1), "where the one before it ends"},
		{"huge image", change(load+3*phdrSize+40, 0, 0, 0, 0, 5), "at most 0x100000000"},
		{"empty", nil, "not an ELF file"},
		{"text", []byte("int main() {}"), "not an ELF file"},
		{"header cut", good[:40], "cut short"},
		{"32 bit", change(4, 1), "only 64-bit"},
		{"big endian", change(5, 2), "only 64-bit little-endian"},
		{"host machine", change(18, 62, 0), "is this a host file?"},
		{"os abi", change(7, 0), "os abi 0"},
		{"version 3", change(8, 1), "abi version 1"},
		{"version 7", change(8, 5), "abi version 5"},
		{"not linked", change(16, 1), "not linked"},
		{"segments outside", change(32, 0xff, 0xff, 0xff, 0xff), "program headers"},
		{"too many segments", change(56, 0xff, 0xff), "at most 1024"},
		{"sections outside", change(40, 0xff, 0xff, 0xff, 0xff, 0xff), "section headers"},
		{"cut in the middle", good[:len(good)/2], "do not lie in"},
	} {
		if _, err := Parse(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want one that says %q", c.name, err, c.want)
		}
	}
}

func FuzzObject(f *testing.F) {
	f.Add(read(f, llvmtest.HIP(f, kernelSource, "gfx90a")))
	f.Add(read(f, llvmtest.HIP(f, "extern \"C\" __global__ void k(int *p) { *p = 1; }", "gfx11-generic")))
	f.Add([]byte("\x7fELF\x02\x01\x01\x40\x04"))
	table := gpuTable(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = FatBinary(data) // only its panics count
		o, err := Parse(data)
		if err != nil {
			return
		}
		_, _ = o.Target(table)
		for _, k := range o.Kernels {
			if _, err := o.At(k.DescriptorAddr, DescriptorSize); err != nil {
				t.Errorf("%s: %v", k.Name, err)
			}
			if _, err := o.At(k.Entry, 1); err != nil {
				t.Errorf("%s: %v", k.Name, err)
			}
		}
	})
}

// Object files that are linked without LTO, as some builds of -fgpu-rdc are,
// each bring a note of their own.
func TestParseSeveralNotes(t *testing.T) {
	dir := t.TempDir()
	object := func(name, arch, source string) string {
		ir, out := filepath.Join(dir, name+arch+".ll"), filepath.Join(dir, name+arch+".o")
		src := filepath.Join(dir, name+".hip")
		if err := os.WriteFile(src, []byte(llvmtest.Prelude+source), 0o644); err != nil {
			t.Fatal(err)
		}
		llvmtest.Run(t, "clang++", "-x", "hip", "-nogpuinc", "-nogpulib", "--offload-arch="+arch, "-fgpu-rdc", "--cuda-device-only",
			"-O2", "-S", "-emit-llvm", src, "-o", ir)
		llvmtest.Run(t, "llc", "-mtriple=amdgcn-amd-amdhsa", "-mcpu="+arch, "-filetype=obj", ir, "-o", out)
		return out
	}
	link := func(name string, objects ...string) []byte {
		out := filepath.Join(dir, name)
		llvmtest.Run(t, "ld.lld", append([]string{"-shared", "-o", out}, objects...)...)
		data, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	one := object("one", "gfx942", `__device__ int triple(int); __global__ void first(int *p) { *p = triple(1); }`)
	two := object("two", "gfx942", `__device__ int triple(int x) { return x * 3; } __global__ void second(int *p, int q) { *p = triple(q); }`)
	o, err := Parse(link("both.so", one, two))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"_Z5firstPi", "_Z6secondPii"} {
		if _, ok := o.Metadata.Kernel(name); !ok {
			t.Errorf("no metadata of %s", name)
		}
	}
	if len(o.Kernels) != 2 {
		t.Errorf("%d kernels", len(o.Kernels))
	}

	notes := func(names ...string) (all [][]byte) {
		for _, name := range names {
			all = append(all, note(map[string]any{".name": name, ".symbol": name + ".kd"}, nil))
		}
		return all
	}
	if m, err := mergeMetadata(notes("a", "b", "c")); err != nil || len(m.Kernels) != 3 {
		t.Errorf("%+v, %v", m, err)
	}
	var other bytes.Buffer
	encode(&other, map[string]any{"amdhsa.version": []any{1, 2}, "amdhsa.target": "amdgcn-amd-amdhsa--gfx90a", "amdhsa.kernels": []any{}})
	for name, c := range map[string]struct {
		notes [][]byte
		want  string
	}{
		"twice":  {notes("a", "b", "a"), `kernel "a" is there twice`},
		"target": {append(notes("a"), other.Bytes()), "another"},
		"none":   {nil, "no AMDGPU metadata note"},
		"many":   {make([][]byte, maxNotes+1), "metadata notes"},
	} {
		if _, err := mergeMetadata(c.notes); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Every field of a descriptor that the assembler can set, each generation's own included.
func TestDescriptorOfTheAssembler(t *testing.T) {
	t.Parallel()
	const common = `
.amdhsa_next_free_vgpr 40
.amdhsa_next_free_sgpr 20
.amdhsa_group_segment_fixed_size 1000
.amdhsa_private_segment_fixed_size 200
.amdhsa_fp16_overflow 1
.amdhsa_float_round_mode_32 2
.amdhsa_float_round_mode_16_64 1
.amdhsa_float_denorm_mode_32 1
.amdhsa_float_denorm_mode_16_64 2
.amdhsa_exception_fp_ieee_invalid_op 1
.amdhsa_exception_fp_ieee_div_zero 1
.amdhsa_exception_int_div_zero 1
.amdhsa_system_vgpr_workitem_id 1
.amdhsa_system_sgpr_workgroup_id_x 0
.amdhsa_system_sgpr_workgroup_id_z 1
.amdhsa_system_sgpr_workgroup_info 1
.amdhsa_user_sgpr_dispatch_ptr 1
.amdhsa_user_sgpr_queue_ptr 1
.amdhsa_user_sgpr_kernarg_segment_ptr 1
.amdhsa_user_sgpr_dispatch_id 1
.amdhsa_user_sgpr_private_segment_size 1
.amdhsa_uses_dynamic_stack 1
`
	for arch, more := range map[string]string{
		"gfx90a":  ".amdhsa_accum_offset 24\n.amdhsa_tg_split 1\n.amdhsa_ieee_mode 0\n.amdhsa_dx10_clamp 0\n.amdhsa_user_sgpr_private_segment_buffer 1\n.amdhsa_user_sgpr_flat_scratch_init 0\n.amdhsa_system_sgpr_private_segment_wavefront_offset 1",
		"gfx1100": ".amdhsa_wavefront_size32 0\n.amdhsa_shared_vgpr_count 8\n.amdhsa_inst_pref_size 5\n.amdhsa_workgroup_processor_mode 0\n.amdhsa_memory_ordered 0\n.amdhsa_forward_progress 1",
		"gfx1201": ".amdhsa_inst_pref_size 130\n.amdhsa_forward_progress 1",
	} {
		o, err := Parse(read(t, llvmtest.Assembly(t, arch, "s_endpgm", common+more, "", 0)))
		if err != nil {
			t.Fatal(err)
		}
		d := o.Kernels[0].Descriptor
		check := func(name string, got, want any) {
			t.Helper()
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: %s is %v, want %v", arch, name, got, want)
			}
		}
		check("sizes", []uint32{d.GroupSegmentFixedSize, d.PrivateSegmentFixedSize}, []uint32{1000, 200})
		check("rounding", []int{d.Rsrc1.FloatRound32(), d.Rsrc1.FloatRound1664(), d.Rsrc1.FloatDenorm32(), d.Rsrc1.FloatDenorm1664()}, []int{2, 1, 1, 2})
		check("FP16_OVFL", d.Rsrc1.FP16Overflow(), true)
		check("exceptions", d.Rsrc2.FloatExceptions(), 1|1<<2|1<<6)
		check("work-group", []bool{d.Rsrc2.WorkgroupIDX(), d.Rsrc2.WorkgroupIDY(), d.Rsrc2.WorkgroupIDZ(), d.Rsrc2.WorkgroupInfo()}, []bool{false, false, true, true})
		check("work-item", d.Rsrc2.WorkitemID(), 1)
		check("left to the runtime", []any{d.Rsrc1.Priority(), d.Rsrc1.Privileged(), d.Rsrc1.DebugMode(), d.Rsrc1.Bulky(), d.Rsrc1.CdbgUser(), d.Rsrc2.TrapHandler(), d.Rsrc2.AddressWatch(), d.Rsrc2.MemoryViolation(), d.Rsrc2.GranulatedLDS()},
			[]any{0, false, false, false, false, false, false, false, 0})
		props := PropDispatchPtr | PropQueuePtr | PropKernargSegmentPtr | PropDispatchID | PropPrivateSegmentSize | PropDynamicStack
		gfx9 := arch == "gfx90a"
		if gfx9 {
			props |= PropPrivateSegmentBuffer
		}
		if arch == "gfx1201" {
			props |= PropWavefront32
		}
		check("properties", d.Properties, props)
		check("AGPRs", d.AccumOffset() == 24 && d.TGSplit(), gfx9)
		check("clamp and IEEE", d.Rsrc1.DX10Clamp() && d.Rsrc1.IEEEMode(), arch == "gfx1100")
		check("shared registers", d.SharedVGPRs() == 8, arch == "gfx1100")
		check("prefetch", []int{d.InstructionPrefetch(9), d.InstructionPrefetch(11), d.InstructionPrefetch(12)}[map[string]int{"gfx90a": 0, "gfx1100": 1, "gfx1201": 2}[arch]], map[string]int{"gfx90a": 0, "gfx1100": 5, "gfx1201": 130}[arch])
		check("modes", []bool{d.Rsrc1.WGPMode(), d.Rsrc1.MemOrdered(), d.Rsrc1.ForwardProgress()}, []bool{arch == "gfx1201", arch == "gfx1201", !gfx9})
	}
}
