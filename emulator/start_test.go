package emulator

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

// startSource looks at all that a kernel is told. Each kernel of the two versions of
// arguments gets them all, because where it looks is not known to the compiler.
const startSource = `
extern __shared__ u32 t[];
KERNEL implicit(u32 *out, u32 from) { t[TID & 15] = from; SYNC; const __attribute__((address_space(4))) u32 *p = (const __attribute__((address_space(4))) u32 *)__builtin_amdgcn_implicitarg_ptr(); if (TID < 64) out[TID] = p[from + TID] + t[0] - from; }
#if VERSION > 4
#define SIZE(n, axis) (((const __attribute__((address_space(4))) u32 *)__builtin_amdgcn_implicitarg_ptr())[n] > __builtin_amdgcn_workgroup_id_##axis() ? __builtin_amdgcn_workgroup_size_##axis() : ((const __attribute__((address_space(4))) unsigned short *)__builtin_amdgcn_implicitarg_ptr())[9 + n])
#else
#define LEFT(axis) (__builtin_amdgcn_grid_size_##axis() - __builtin_amdgcn_workgroup_id_##axis() * __builtin_amdgcn_workgroup_size_##axis())
#define SIZE(n, axis) (LEFT(axis) < __builtin_amdgcn_workgroup_size_##axis() ? LEFT(axis) : __builtin_amdgcn_workgroup_size_##axis())
#endif
KERNEL place(u32 *out, u32 *size, u32 w, u32 h) { /* sizes as the device libraries find them */
  u32 bx = SIZE(0, x), by = SIZE(1, y), bz = SIZE(2, z);
  u32 x = BID * 6 + TID, y = __builtin_amdgcn_workgroup_id_y() * 5 + __builtin_amdgcn_workitem_id_y(), z = __builtin_amdgcn_workgroup_id_z() * 4 + __builtin_amdgcn_workitem_id_z();
  u32 i = (z * h + y) * w + x; out[i] += 1 + (bx | by << 8 | bz << 16);
  if (i == 0) { size[0] = __builtin_amdgcn_grid_size_x(); size[1] = __builtin_amdgcn_grid_size_y(); size[2] = __builtin_amdgcn_grid_size_z(); } }
KERNEL generic(u32 *out) { __shared__ u32 t[64]; volatile u32 mine = TID * 3; t[TID] = TID * 5; SYNC; u32 *p = TID & 1 ? t + TID : (u32 *)&mine; asm volatile("" : "+v"(p)); out[TID] = *p; }
`

// What a kernel is told when it starts, in all versions of code objects: the compiler
// takes sizes out of the dispatch packet in version 4, and out of arguments since.
func TestStartOfAllVersions(t *testing.T) {
	for n, arch := range []string{"gfx900", "gfx90a", "gfx942", "gfx1100", "gfx1201"} {
		for version := 4; version <= 6; version++ {
			for _, opt := range []string{"-O0", "-O2"}[(n+version)%2:][:1] {
				t.Run(fmt.Sprint(arch, opt, "/v", version), func(t *testing.T) {
					m := loadHIP(t, arch, opt, startSource, fmt.Sprintf("-mcode-object-version=%d", version), fmt.Sprintf("-DVERSION=%d", version), "-fno-offload-uniform-block")
					if m.obj.Version != version {
						t.Fatalf("the code object has version %d", m.obj.Version)
					}
					testPlace(t, m, Dim3{3, 2, 2}, Dim3{})
					testPlace(t, m, Dim3{3, 2, 2}, Dim3{13, 8, 5})
					testPlace(t, m, Dim3{1, 3, 2}, Dim3{2, 15, 8})
					testPlace(t, m, Dim3{2, 1, 1}, Dim3{7, 0, 1})
					po, out := alloc(t, m, 4*64)
					if _, err := m.Launch(t.Context(), "generic", Dim3{1, 1, 1}, Dim3{64, 1, 1}, [][]byte{u64arg(uint64(po))}, Options{}); err != nil {
						t.Fatal(err)
					}
					for i := range uint32(64) {
						if got := load32(out, uint64(4*i)); got != i*(3+2*(i&1)) {
							t.Fatalf("lane %d reads %d through a generic pointer", i, got)
						}
					}
					if version > 4 {
						testImplicit(t, m)
					}
				})
			}
		}
	}
}

// testPlace launches work-groups of 6×5×4, of which the last may be smaller.
func testPlace(t *testing.T, m *Module, grid, items Dim3) {
	t.Helper()
	all := Dim3{6 * grid.X, 5 * grid.Y, 4 * grid.Z}
	for n, p := range []*uint32{&all.X, &all.Y, &all.Z} {
		if v := [3]uint32{items.X, items.Y, items.Z}[n]; v != 0 {
			*p = v
		}
	}
	count := uint64(all.X) * uint64(all.Y) * uint64(all.Z)
	po, out := alloc(t, m, 4*count)
	ps, size := alloc(t, m, 12)
	args := [][]byte{u64arg(uint64(po)), u64arg(uint64(ps)), u32arg(all.X), u32arg(all.Y)}
	counters, err := m.Launch(t.Context(), "place", grid, Dim3{6, 5, 4}, args, Options{Items: items, Check: CheckWait, Count: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint32(count) {
		x, y, z := i%all.X, i/all.X%all.Y, i/all.X/all.Y
		part := func(v, all, block uint32) uint32 { return min(block, all-v/block*block) }
		want := 1 + (part(x, all.X, 6) | part(y, all.Y, 5)<<8 | part(z, all.Z, 4)<<16)
		if got := load32(out, uint64(4*i)); got != want {
			t.Fatalf("%v of %v: work-item %d,%d,%d: 0x%x, want 0x%x", items, all, x, y, z, got, want)
		}
	}
	if got := (Dim3{load32(size, 0), load32(size, 4), load32(size, 8)}); got != all {
		t.Errorf("the grid has %v work-items, want %v", got, all)
	}
	// Smaller work-groups have fewer waves.
	waves, wave := int64(0), int64(m.obj.Kernels[0].WavefrontSize)
	for g := range grid.count() {
		id := Dim3{uint32(g) % grid.X, uint32(g) / grid.X % grid.Y, uint32(g) / grid.X / grid.Y}
		n := int64(min(6, all.X-6*id.X)) * int64(min(5, all.Y-5*id.Y)) * int64(min(4, all.Z-4*id.Z))
		waves += (n + wave - 1) / wave
	}
	if counters.Waves != waves {
		t.Errorf("%v: %d waves, want %d", all, counters.Waves, waves)
	}
}

// testImplicit compares all hidden arguments of version 5 with where AMDGPUUsage, "Code
// Object V5 Kernel Argument Metadata", has them.
func testImplicit(t *testing.T, m *Module) {
	t.Helper()
	po, out := alloc(t, m, 4*64)
	_, err := m.Launch(t.Context(), "implicit", Dim3{3, 2, 4}, Dim3{64, 2, 1}, [][]byte{u64arg(uint64(po)), u32arg(0)}, Options{DynamicLDS: 260, Items: Dim3{130, 3, 4}, Deterministic: true})
	if err != nil {
		t.Fatal(err)
	}
	word := func(at int) uint32 { return load32(out, uint64(at)) }
	half := func(at int) uint32 { return uint32(binary.LittleEndian.Uint16(out[at:])) }
	for _, c := range []struct {
		name      string
		got, want uint32
	}{
		{"block_count_x", word(0), 2}, {"block_count_y", word(4), 1}, {"block_count_z", word(8), 4},
		{"group_size_x", half(12), 64}, {"group_size_y", half(14), 2}, {"group_size_z", half(16), 1},
		{"remainder_x", half(18), 2}, {"remainder_y", half(20), 1}, {"remainder_z", half(22), 0},
		{"global_offset_x", word(40), 0}, {"global_offset_y", word(48), 0}, {"global_offset_z", word(56), 0}, {"grid_dims", half(64), 3},
		{"dynamic_lds_size", word(120), 260}, {"default_queue", word(104), 0}, {"completion_action", word(112), 0},
	} {
		if c.got != c.want {
			t.Errorf("hidden_%s is %d, want %d", c.name, c.got, c.want)
		}
	}
	for name, at := range map[string]int{"hostcall_buffer": 80, "multigrid_sync_arg": 88, "heap_v1": 96} {
		if kernelHas(m, "implicit", "hidden_"+name) && binary.LittleEndian.Uint64(out[at:]) == 0 {
			t.Errorf("hidden_%s is null", name)
		}
	}
	if kernelHas(m, "implicit", "hidden_private_base") && (word(192) != privateAperture>>32 || word(196) != sharedAperture>>32) {
		t.Errorf("the apertures begin at 0x%x and 0x%x", word(192), word(196))
	}
	for _, kind := range []string{"hidden_block_count_x", "hidden_remainder_z", "hidden_grid_dims", "hidden_hostcall_buffer", "hidden_multigrid_sync_arg", "hidden_heap_v1"} {
		if !kernelHas(m, "implicit", kind) {
			t.Errorf("the kernel has no %s: nothing was compared", kind)
		}
	}
}

func kernelHas(m *Module, kernel, kind string) bool {
	k, _ := m.obj.Kernel(kernel)
	for _, a := range k.Args {
		if a.ValueKind == kind {
			return true
		}
	}
	return false
}

// A launch that asks for what cannot be is refused, in numbers that do not wrap around.
func TestLaunchLimits(t *testing.T) {
	m := loadHIP(t, "gfx1201", "-O2", `KERNEL any(u32 *out) { out[0] = 1; }`)
	po, _ := alloc(t, m, 64)
	one := Dim3{1, 1, 1}
	for _, c := range []struct {
		grid, block Dim3
		opts        Options
		change      func(k *codeobj.LoadedKernel)
		want        string
	}{
		{one, Dim3{4096, 1, 1}, Options{}, nil, "4096 work-items in a work-group: the kernel allows 1024"},
		{one, Dim3{1 << 22, 1 << 21, 1 << 21}, Options{}, nil, "at most 1024"},
		{Dim3{1 << 27, 1, 1}, Dim3{64, 1, 1}, Options{}, nil, "8589934592 work-items in x: at most 4294967295"},
		{Dim3{1, 1 << 17, 1}, one, Options{}, nil, "131072 work-groups in y: gfx1201 has at most 65536"},
		{Dim3{math.MaxUint32, 1 << 16, 1 << 16}, one, Options{}, nil, "is too large"},
		{one, one, Options{DynamicLDS: math.MaxUint32 - 2}, nil, "bytes of local memory"},
		{one, one, Options{DynamicLDS: 65537}, nil, "65540 bytes of local memory: gfx1201 has 65536"},
		{one, one, Options{}, func(k *codeobj.LoadedKernel) { k.Descriptor.PrivateSegmentFixedSize = math.MaxUint32 - 100 }, "private bytes of a work-item: at most"},
		{one, one, Options{}, func(k *codeobj.LoadedKernel) { k.Descriptor.Rsrc2 |= 4 << 24 }, "exceptions of floats are not supported"},
		{one, Dim3{64, 1, 1}, Options{}, func(k *codeobj.LoadedKernel) { k.ReqdWorkgroupSize = []uint64{64, 2, 1} }, "1 work-items in y of a work-group: the kernel is made for 2"},
		{one, Dim3{64, 2, 1}, Options{}, func(k *codeobj.LoadedKernel) { k.ReqdWorkgroupSize = []uint64{64, 2, 1} }, ""},
		{Dim3{2, 1, 1}, Dim3{64, 1, 1}, Options{Items: Dim3{X: 100}}, nil, "do not fill 2 work-groups of 64"},
		{Dim3{2, 1, 1}, Dim3{64, 1, 1}, Options{Items: Dim3{X: 128, Y: 1}}, nil, ""},
		{Dim3{2, 1, 1}, Dim3{64, 1, 1}, Options{Items: Dim3{X: 64}}, nil, "64 work-items in x are not those of 2 work-groups of 64"},
		{Dim3{2, 1, 1}, Dim3{64, 1, 1}, Options{Items: Dim3{X: 129}}, nil, "129 work-items in x are not those"},
		{one, one, Options{}, func(k *codeobj.LoadedKernel) { k.Args[0].ValueKind = "hidden_news" }, `the hidden argument "hidden_news" is not known`},
		{one, one, Options{}, func(k *codeobj.LoadedKernel) { k.Args[0].ValueKind = "image" }, "is of kind image, which is not supported"},
	} {
		k, _ := m.obj.Kernel("any")
		before, loaded := *k.Kernel, *k
		k.Args = append([]codeobj.Arg(nil), k.Args...)
		if c.change != nil {
			c.change(k)
		}
		_, err := m.Launch(t.Context(), "any", c.grid, c.block, [][]byte{u64arg(uint64(po))}, c.opts)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v of %v, %+v: %v, want %q", c.grid, c.block, c.opts, err, c.want)
		}
		*k = loaded
		*k.Kernel = before
	}
}

const relocatedSource = `
#define DEFAULT __attribute__((visibility("default"))) __device__
__device__ u32 table[64]; __device__ u32 *within = table + 5; __device__ u32 *many[130];
DEFAULT u32 seven = 7; DEFAULT u32 *to = &seven;
__device__ u32 twice(u32 v) { return 2 * v; } __device__ u32 thrice(u32 v) { return 3 * v; }
__device__ u32 (*functions[])(u32) = {twice, thrice};
struct Row { u32 *p; }; 
#define R4(n) {table + n}, {table + n + 1}, {table + n + 2}, {table + n + 3}
__device__ Row rows[] = {R4(0), R4(4), R4(8), R4(12), R4(16), R4(20), R4(24), R4(28), R4(32), R4(36), R4(40), R4(44), R4(48), R4(52), R4(56), R4(60), R4(1), R4(5), R4(9)};
KERNEL fill(u32 *out) { table[TID] = TID * 10; }
KERNEL follow(u32 *out, u32 which) { out[TID] = *within + *to + functions[which](TID) + *rows[TID + 8].p; }
`

// Pointers of the code object lead to where it lies: relocations by address and by
// symbol, and those that lld packs.
func TestRelocations(t *testing.T) {
	for _, flags := range [][]string{nil, {"-Xoffload-linker", "--pack-dyn-relocs=relr"}} {
		m := loadHIP(t, "gfx942", "-O1", relocatedSource, flags...)
		kinds := map[uint32]int{}
		for _, s := range m.obj.Sections {
			switch s.Type {
			case 4:
				for at := 0; at < len(s.Data); at += 24 {
					kinds[binary.LittleEndian.Uint32(s.Data[at+8:])]++
				}
			case 19:
				kinds[0] = len(s.Data)
			}
		}
		if kinds[relAbs64] == 0 || flags == nil && kinds[relRelative64] < 70 || flags != nil && (kinds[0] < 16 || kinds[relRelative64] > 0) {
			t.Fatalf("relocations: %v", kinds)
		}
		po, out := alloc(t, m, 256)
		for which := range uint32(2) {
			for _, kernel := range []string{"fill", "follow"} {
				args := [][]byte{u64arg(uint64(po)), u32arg(which)}
				if kernel == "fill" {
					args = args[:1]
				}
				if _, err := m.Launch(t.Context(), kernel, Dim3{1, 1, 1}, Dim3{64, 1, 1}, args, Options{}); err != nil {
					t.Fatal(err)
				}
			}
			for i := range uint32(64) {
				row := i + 8
				if row >= 64 {
					row -= 63 // the later rows begin at 1, 5 and 9
				}
				if got, want := load32(out, uint64(4*i)), 50+7+(2+which)*i+10*row; got != want {
					t.Fatalf("%v: lane %d: %d, want %d", flags, i, got, want)
				}
			}
		}
	}
}

// A relocation that nobody knows, or that lies elsewhere, is an error.
func TestBadRelocations(t *testing.T) {
	for name, flags := range map[string][]string{"rela": nil, "relr": {"-Xoffload-linker", "--pack-dyn-relocs=relr"}} {
		data, err := os.ReadFile(llvmtest.HIP(t, prelude+relocatedSource, "gfx942", flags...))
		if err != nil {
			t.Fatal(err)
		}
		obj, err := codeobj.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range obj.Sections {
			change := map[string]map[uint64]string{"rela": {0: "outside of the image", 8: "is not known"}, "relr": {0: "outside of the image"}}[name]
			if s.Type != map[string]uint32{"rela": 4, "relr": 19}[name] {
				continue
			}
			for at, want := range change {
				bad := append([]byte(nil), data...)
				binary.LittleEndian.PutUint64(bad[s.Offset+at:], 1<<40+2*at)
				d, err := NewDevice("gfx942")
				if err != nil {
					t.Fatal(err)
				}
				if _, err := d.Load(bad); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v, want %q", name, err, want)
				}
			}
		}
	}
}

// assembled loads a kernel k of instructions alone.
func assembledKernel(t *testing.T, arch, code, directives, args string, kernarg int) *Module {
	t.Helper()
	data, err := os.ReadFile(llvmtest.Assembly(t, arch, code, directives, args, kernarg))
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewDevice(arch)
	if err != nil {
		t.Fatal(err)
	}
	m, err := d.Load(data)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

const (
	pointers = "      - {.offset: 0, .size: 8, .value_kind: global_buffer}\n      - {.offset: 8, .size: 8, .value_kind: global_buffer}"
	smallest = ".amdhsa_next_free_vgpr 16\n.amdhsa_next_free_sgpr 24\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
)

// What a small kernel does, counted by hand.
func TestCountersByHand(t *testing.T) {
	m := assembledKernel(t, "gfx942", `
s_load_dwordx4 s[4:7], s[0:1], 0x0
v_lshlrev_b32 v1, 2, v0
s_waitcnt lgkmcnt(0)
global_load_dword v2, v1, s[6:7]
s_waitcnt vmcnt(0)
v_cmp_lt_u32 vcc, 15, v0
s_and_saveexec_b64 s[8:9], vcc
v_add_u32 v2, 1, v2
s_mov_b64 exec, s[8:9]
ds_write_b32 v1, v2
s_waitcnt lgkmcnt(0)
ds_read_b32 v3, v1
scratch_store_dwordx2 off, v[2:3], off
v_mfma_f32_4x4x1_16b_f32 v[8:11], v2, v2, 0
s_waitcnt lgkmcnt(0)
global_atomic_add v1, v3, s[4:5]
global_store_byte v1, v3, s[6:7] offset:3
s_endpgm`, smallest+".amdhsa_accum_offset 16\n.amdhsa_group_segment_fixed_size 256\n.amdhsa_private_segment_fixed_size 8", pointers, 16)
	pa, _ := alloc(t, m, 256)
	pb, _ := alloc(t, m, 256)
	got, err := m.Launch(t.Context(), "k", Dim3{1, 2, 1}, Dim3{64, 1, 1}, [][]byte{u64arg(uint64(pa)), u64arg(uint64(pb))}, Options{Count: true, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	const groups = 2
	want := Counters{Instructions: 18 * groups, Groups: groups, Waves: groups, Scalar: 2 * groups, Vector: 3 * groups, Matrix: 1 * groups, ScalarMemory: 1 * groups, VectorMemory: 4 * groups, LocalMemory: 2 * groups, Control: 5 * groups,
		Lanes: 9 * 64 * groups, ActiveLanes: (9*64 - 16) * groups, BytesLoaded: (16 + 256 + 256) * groups, BytesStored: (256 + 64) * groups, LocalBytes: 512 * groups, PrivateBytes: 8 * 64 * groups}
	if got != want {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// The registers that arguments are loaded into before a kernel starts are right where
// the kernel trusts them: behind the part of its code that is for firmware that does not.
func TestPreloadedRegisters(t *testing.T) {
	for _, arch := range []string{"gfx90a", "gfx942", "gfx950"} {
		m := loadHIP(t, arch, "-O3", `KERNEL add(u32 *out, u32 x, u32 y, u64 z) { out[TID] = TID * x + y + (u32)(z >> 32); }`, "-mllvm", "-amdgpu-kernarg-preload-count=8")
		k, _ := m.Object().Kernel("add")
		if k.Descriptor.KernargPreloadLength() < 6 {
			t.Fatalf("%s: %d registers are preloaded", arch, k.Descriptor.KernargPreloadLength())
		}
		const prologue = 256
		k.Entry += prologue
		p, out := alloc(t, m, 256)
		c, err := m.Launch(t.Context(), "add", Dim3{1, 1, 1}, Dim3{64, 1, 1}, [][]byte{u64arg(uint64(p)), u32arg(7), u32arg(5), u64arg(9 << 32)}, Options{Count: true})
		if err != nil {
			t.Fatal(err)
		}
		if c.ScalarMemory != 0 {
			t.Errorf("%s: %d scalar loads: the arguments were not in registers", arch, c.ScalarMemory)
		}
		for i := range uint32(64) {
			if got := load32(out, uint64(4*i)); got != i*7+14 {
				t.Fatalf("%s: %d: %d, want %d", arch, i, got, i*7+14)
			}
		}
	}
}

// User registers come in the order of the descriptor's bits, whichever of them there are;
// what follows them is the work-group. The kernel stores all of its first 24.
func TestUserRegisters(t *testing.T) {
	for _, c := range []struct {
		arch, directives string
		kernarg, private int // where they are
		dispatch, group  int
	}{
		{"gfx900", ".amdhsa_user_sgpr_dispatch_ptr 1\n.amdhsa_user_sgpr_dispatch_id 1\n.amdhsa_user_sgpr_private_segment_size 1", 2, 6, 0, 7},
		{"gfx900", ".amdhsa_user_sgpr_private_segment_buffer 1\n.amdhsa_user_sgpr_queue_ptr 1\n.amdhsa_user_sgpr_flat_scratch_init 1\n.amdhsa_system_sgpr_workgroup_info 1", 6, -1, -1, 10},
		{"gfx942", ".amdhsa_accum_offset 16\n.amdhsa_user_sgpr_dispatch_ptr 1\n.amdhsa_user_sgpr_queue_ptr 1", 4, -1, 0, 6},
		{"gfx1100", ".amdhsa_user_sgpr_dispatch_id 1\n.amdhsa_user_sgpr_private_segment_size 1", 0, 4, -1, 5},
	} {
		var code strings.Builder
		load, wait := "s_load_dwordx2 s[28:29], s[%d:%d], 0x0\n", "s_waitcnt lgkmcnt(0)\n"
		store := "global_store_dword v1, v2, s[28:29] offset:%d\n"
		if c.arch == "gfx1100" {
			load, store = "s_load_b64 s[28:29], s[%d:%d], 0x0\n", "global_store_b32 v1, v2, s[28:29] offset:%d\n"
		}
		fmt.Fprintf(&code, load+wait+"v_mov_b32 v1, 0\n", c.kernarg, c.kernarg+1)
		for n := range 24 {
			fmt.Fprintf(&code, "v_mov_b32 v2, s%d\n"+store, n, 4*n)
		}
		code.WriteString("s_endpgm")
		directives := strings.Replace(smallest, "sgpr 24", "sgpr 32", 1) + ".amdhsa_system_sgpr_workgroup_id_y 1\n.amdhsa_system_sgpr_workgroup_id_z 1\n.amdhsa_private_segment_fixed_size 40\n" + c.directives
		m := assembledKernel(t, c.arch, code.String(), directives, pointers, 16)
		p, out := alloc(t, m, 96)
		if _, err := m.Launch(t.Context(), "k", Dim3{5, 3, 2}, Dim3{1, 1, 1}, [][]byte{u64arg(uint64(p)), u64arg(0)}, Options{Deterministic: true}); err != nil {
			t.Fatalf("%s: %v", c.arch, err)
		}
		for n, want := range []uint32{4, 2, 1} { // the last work-group
			if got := load32(out, uint64(4*(c.group+n))); got != want {
				t.Errorf("%s: s%d is %d, want %d of the work-group", c.arch, c.group+n, got, want)
			}
		}
		if c.private >= 0 && load32(out, uint64(4*c.private)) != 40 {
			t.Errorf("%s: s%d is %d, want 40 private bytes", c.arch, c.private, load32(out, uint64(4*c.private)))
		}
		if at := uint64(4 * c.dispatch); c.dispatch >= 0 && binary.LittleEndian.Uint64(out[at:]) < globalBase {
			t.Errorf("%s: the dispatch packet lies at 0x%x", c.arch, binary.LittleEndian.Uint64(out[at:]))
		}
	}
}

// Private memory ends where the descriptor says.
func TestPrivateEnds(t *testing.T) {
	for at, want := range map[int]string{0: "", 36: "", 37: "load of 4 private bytes at 0x25: there are 40", 40: "load of 4 private bytes at 0x28"} {
		m := assembledKernel(t, "gfx942", fmt.Sprintf("v_mov_b32 v1, %d\nscratch_load_dword v2, v1, off\ns_endpgm", at), smallest+".amdhsa_accum_offset 16\n.amdhsa_private_segment_fixed_size 40", "", 0)
		_, err := m.Launch(t.Context(), "k", Dim3{1, 1, 1}, Dim3{1, 1, 1}, nil, Options{})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("at %d of 40: %v, want %q", at, err, want)
		}
	}
}

// A seed is an order of its own: two seeds give two orders, the same seed the same.
func TestSeeds(t *testing.T) {
	m := loadHIP(t, "gfx942", "-O2", `KERNEL order(u32 *next, u32 *out) { if (TID % 64 == 0) out[GID / 64] = __hip_atomic_fetch_add(next, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }`)
	orders := map[string]uint64{}
	for seed := range uint64(12) {
		var first string
		for range 2 {
			p, _ := alloc(t, m, 4)
			po, out := alloc(t, m, 4*16*8)
			if _, err := m.Launch(t.Context(), "order", Dim3{8, 1, 1}, Dim3{1024, 1, 1}, [][]byte{u64arg(uint64(p)), u64arg(uint64(po))}, Options{Deterministic: true, Seed: seed}); err != nil {
				t.Fatal(err)
			}
			if first != "" && first != string(out) {
				t.Errorf("seed %d: two orders", seed)
			}
			first = string(out)
		}
		orders[first] = seed
	}
	if len(orders) < 10 {
		t.Errorf("12 seeds give %d orders", len(orders))
	}
}

// What is loaded behind the last constant, to a multiple of sixteen bytes, is zero: three
// words that are aligned to four are loaded as four.
func TestEndOfConstants(t *testing.T) {
	m := loadHIP(t, "gfx942", "-O2", `typedef u32 three __attribute__((ext_vector_type(3)));
__constant__ three last = {5, 6, 7};
KERNEL sum(u32 *out) { three v = *(volatile three *)&last; three u = last; out[0] = v.x + u.y + u.z; }`)
	po, out := alloc(t, m, 4)
	if _, err := m.Launch(t.Context(), "sum", Dim3{1, 1, 1}, Dim3{1, 1, 1}, [][]byte{u64arg(uint64(po))}, Options{}); err != nil || load32(out, 0) != 18 {
		t.Errorf("%d, want 18: %v", load32(out, 0), err)
	}
	parts := 0
	for _, r := range m.dev.mem.regions() {
		if strings.HasSuffix(r.name, " of the code object") {
			parts++
			if r.size%tail != 0 && r.base+r.size != m.image.base+m.image.size {
				t.Errorf("%s ends at 0x%x", r.name, r.base+r.size)
			}
		}
	}
	if parts < 3 {
		t.Errorf("%d parts", parts)
	}
}
