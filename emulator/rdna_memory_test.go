package emulator

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// rdnaMemorySource is in the words of a processor: LOAD and STORE a word of a buffer,
// OFF where no scalar offset is, WAIT for all loads.
func rdnaMemorySource(arch string) string {
	words := []string{"LOAD", "buffer_load_b32", "FORMAT", "buffer_load_format_xyzw", "OFF", "0", "WAIT", "s_waitcnt vmcnt(0)", "SIDE", "global_load_addtid_b32", "FMIN", "global_atomic_min_f32",
		"CSUB", "global_atomic_csub_u32", "RETURN", "glc", "UNORM", "42", "SINT", "28"}
	switch arch {
	case "gfx1030":
		words[1], words[9], words[11], words[13], words[17] = "buffer_load_dword", "global_load_dword_addtid", "global_atomic_fmin", "global_atomic_csub", "56"
	case "gfx1201":
		words[5], words[7], words[11], words[13], words[15] = "null", "s_wait_loadcnt 0", "global_atomic_min_num_f32", "global_atomic_sub_clamp_u32", "th:TH_ATOMIC_RETURN"
	}
	return strings.NewReplacer(words...).Replace(`
typedef u32 u32x4 __attribute__((ext_vector_type(4))); typedef float f4 __attribute__((ext_vector_type(4)));
#define DESC(stride, records, flags) u32x4 d = {(u32)(u64)p, (u32)((u64)p >> 32) | (stride) << 16, records, flags}
#define LOADED(text) u32 v; asm volatile(text "\nWAIT" : "=v"(v) : "v"(TID), "s"(d)); out[TID] = v
KERNEL raw(u32 *p, u32 *out) { DESC(0, 100, 3 << 28); u32 t = TID * 4, v; asm volatile("LOAD %0, %1, %2, OFF offen offset:4\nWAIT" : "=v"(v) : "v"(t), "s"(d)); out[TID] = v; }
KERNEL structured(u32 *p, u32 *out) { DESC(12, 20, 0); LOADED("LOAD %0, %1, %2, OFF idxen offset:8"); }
KERNEL beyond(u32 *p, u32 *out) { DESC(12, 20, 0); LOADED("LOAD %0, %1, %2, OFF idxen offset:12"); }
KERNEL far(u32 *p, u32 *out) { DESC(12, 20, 0); LOADED("LOAD %0, %1, %2, OFF idxen offset:20"); }
KERNEL indexed(u32 *p, u32 *out) { DESC(12, 20, 1 << 28); LOADED("LOAD %0, %1, %2, OFF idxen offset:12"); }
KERNEL none(u32 *p, u32 *out) { DESC(4, 0, 2 << 28); LOADED("LOAD %0, %1, %2, OFF idxen"); }
KERNEL unorm(u32 *p, u32 *out) { DESC(4, 64, 4 | 5 << 3 | 6 << 6 | 1 << 9 | UNORM << 12); f4 v; asm volatile("FORMAT %0, %1, %2, OFF idxen\nWAIT" : "=v"(v) : "v"(TID), "s"(d)); out[TID] = (u32)(v.x * 255 + 0.5f) | (u32)(v.z * 255 + 0.5f) << 8 | (u32)v.w << 16; }
KERNEL sint(u32 *p, u32 *out) { DESC(4, 64, 5 | 4 << 3 | 0 << 6 | 1 << 9 | SINT << 12); u32x4 v; asm volatile("FORMAT %0, %1, %2, OFF idxen\nWAIT" : "=v"(v) : "v"(TID), "s"(d)); out[TID] = v.x + 7 * v.y + v.z + v.w; }
KERNEL side(u32 *p, u32 *out) { u32 v; asm volatile("SIDE %0, %1 offset:8\nWAIT" : "=v"(v) : "s"(p)); out[TID] = v; }
KERNEL least(u32 *p, u32 *out) { float x = 30 - (float)TID; if (TID == 0) *(float *)(p + 1) = 5.5f; asm volatile("FMIN %0, %1, off offset:4" :: "v"(p), "v"(x) : "memory"); out[TID] = 0; if (TID == 5) out[0] = (u32)(*(volatile float *)(p + 1) + 100); }
KERNEL less(u32 *p, u32 *out) { u32 old; if (TID < 4) { asm volatile("CSUB %0, %1, %2, off RETURN\nWAIT" : "=v"(old) : "v"(p), "v"(400) : "memory"); out[TID] = old; } }
`)
}

func TestRDNAMemory(t *testing.T) {
	for _, arch := range []string{"gfx1030", "gfx1100", "gfx1201"} {
		m := loadHIP(t, arch, "-O2", rdnaMemorySource(arch))
		for kernel, want := range map[string]func(i int) uint32{
			"raw":        func(i int) uint32 { return uint32(1001+i) * bit32(i < 24) },
			"structured": func(i int) uint32 { return uint32(1002+3*i) * bit32(i < 20) },
			"beyond":     func(i int) uint32 { return 0 },
			"far":        func(i int) uint32 { return 0 },
			"indexed":    func(i int) uint32 { return uint32(1003+3*i) * bit32(i < 20) },
			"none":       func(i int) uint32 { return 0 },
			"unorm":      func(i int) uint32 { return uint32(1000+i)&255 | 1<<16 },
			"sint":       func(i int) uint32 { return uint32(7*(1000+i) + 1) },
			"side":       func(i int) uint32 { return uint32(1002 + i) },
			"least":      func(i int) uint32 { return map[int]uint32{0: 99}[i] },
			"less":       func(i int) uint32 { return map[int]uint32{0: 1000, 1: 600, 2: 200}[i] },
		} {
			t.Run(arch+kernel, func(t *testing.T) {
				p, mem := alloc(t, m, 4096)
				for i := range len(mem) / 4 {
					putWord(mem, i, uint32(1000+i))
				}
				po, out := alloc(t, m, 256)
				_, err := m.Launch(t.Context(), kernel, Dim3{1, 1, 1}, Dim3{32, 1, 1}, [][]byte{u64arg(uint64(p)), u64arg(uint64(po))}, Options{})
				if err != nil {
					t.Fatal(err)
				}
				for i := range 32 {
					if got := load32(out, uint64(4*i)); got != want(i) {
						t.Fatalf("%d: %d (0x%x), want %d", i, got, got, want(i))
					}
				}
			})
		}
	}
}

// The numbers of the formats are those that LLVM's assembler knows by name.
func TestRDNAFormats(t *testing.T) {
	for _, c := range []struct {
		number             int
		format, data, kind uint32
	}{
		{10, 1, 1, numUnorm}, {10, 13, 2, numFloat}, {10, 22, 4, numFloat}, {10, 28, 5, numSint}, {10, 30, 6, numUnorm}, {10, 36, 6, numFloat}, {10, 43, 7, numFloat}, {10, 44, 8, numUnorm}, {10, 49, 8, numSint}, {10, 50, 9, numUnorm},
		{10, 61, 10, numSint}, {10, 64, 11, numFloat}, {10, 65, 12, numUnorm}, {10, 74, 13, numFloat}, {10, 77, 14, numFloat}, {10, 78, 0, 0}, {10, 0, 0, 0},
		{11, 28, 5, numSint}, {11, 30, 6, numFloat}, {11, 31, 7, numFloat}, {11, 33, 8, numSnorm}, {11, 34, 8, numUint}, {11, 35, 8, numSint}, {11, 36, 9, numUnorm}, {11, 42, 10, numUnorm}, {11, 50, 11, numFloat}, {11, 57, 12, numFloat}, {12, 60, 13, numFloat}, {12, 63, 14, numFloat},
	} {
		if data, kind := rdnaFormat(c.number, c.format); data != c.data || data != 0 && kind != c.kind {
			t.Errorf("format %d of gfx%d: %d, %d", c.format, c.number, data, kind)
		}
	}
}

// Between a signal and the wait for the others a wave may do what others wait for.
func TestSplitBarriers(t *testing.T) {
	m := loadHIP(t, "gfx1201", "-O2", `
KERNEL split(u32 *out) { __shared__ u32 t[256]; volatile u32 *f = t + 255;
  t[TID] = TID * 3; if (TID == 255) *f = 0;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier_signal(-1);
  u32 own = TID ^ 5;
  __builtin_amdgcn_s_barrier_wait(-1); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  if (TID >= 224 && TID < 255) return;
  out[TID] = t[254 - TID % 250] + own; }
KERNEL first(u32 *out) { if (__builtin_amdgcn_s_barrier_signal_isfirst(-1)) out[0] = 1 + TID / 32; __builtin_amdgcn_s_barrier_wait(-1); __builtin_amdgcn_s_barrier_signal(-1); __builtin_amdgcn_s_barrier_wait(-1); out[1] = out[0]; }
KERNEL spin(u32 *out) { /* the first wave has signalled, and waits for what the last does beyond the barrier's first half */
  if (TID < 32) { __builtin_amdgcn_s_barrier_signal(-1); while (!__hip_atomic_load(out, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT)) {} __builtin_amdgcn_s_barrier_wait(-1); }
  else { __builtin_amdgcn_s_barrier_signal(-1); __builtin_amdgcn_s_barrier_wait(-1); __hip_atomic_store(out, 9u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT); } }
KERNEL never(u32 *out) { if (TID >= 32) __builtin_amdgcn_s_barrier_signal(-1); __builtin_amdgcn_s_barrier_wait(-1); out[0] = 1; }
KERNEL leaves(u32 *out) { if (TID >= 32) return; __builtin_amdgcn_s_barrier_signal(-1); __builtin_amdgcn_s_barrier_wait(-1); out[TID] = 4; }
`)
	for _, c := range []struct {
		kernel, fails string
		want          map[int]uint32
	}{
		{"split", "", map[int]uint32{0: 254*3 + 5, 100: 154*3 + 97, 223: 31*3 + (223 ^ 5)}},
		{"first", "", map[int]uint32{0: 1, 1: 1}},
		{"spin", "", map[int]uint32{0: 9}},
		{"never", "nobody signals", nil},
		{"leaves", "", map[int]uint32{31: 4, 32: 0}},
	} {
		t.Run(c.kernel, func(t *testing.T) {
			po, out := alloc(t, m, 1024)
			_, err := m.Launch(t.Context(), c.kernel, Dim3{1, 1, 1}, Dim3{256, 1, 1}, [][]byte{u64arg(uint64(po))}, Options{Budget: 1e7, Check: CheckWait})
			var f *Fault
			if c.fails != "" {
				if !errors.As(err, &f) || !strings.Contains(f.Reason, c.fails) || f.Instruction == "" {
					t.Errorf("%v, want %q", err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range c.want {
				if got := load32(out, uint64(4*i)); got != want {
					t.Errorf("%d: %d, want %d", i, got, want)
				}
			}
		})
	}
}

// A kernel finds where it is: in registers of its own, in those that traps share on
// gfx12, packed or apart, in both sizes of waves and compiled for all processors of a family.
func TestRDNAStart(t *testing.T) {
	const source = `
KERNEL place(u32 *out) { u32 x = TID, y = __builtin_amdgcn_workitem_id_y(), z = __builtin_amdgcn_workitem_id_z(); u32 i = ((BID * 3 + __builtin_amdgcn_workgroup_id_y()) * 2 + __builtin_amdgcn_workgroup_id_z()) * 60 + (z * 4 + y) * 5 + x;
  out[i] = x | y << 4 | z << 8 | BID << 12 | __builtin_amdgcn_workgroup_id_y() << 16 | __builtin_amdgcn_workgroup_id_z() << 20; }
`
	for _, c := range []struct{ device, target string }{
		{"gfx1030", "gfx1030"}, {"gfx1100", "gfx1100"}, {"gfx1201", "gfx1201"}, {"gfx1030", "gfx10-3-generic"}, {"gfx1100", "gfx11-generic"}, {"gfx1201", "gfx12-generic"},
	} {
		for _, flags := range [][]string{nil, {"-mwavefrontsize64"}} {
			t.Run(fmt.Sprint(c.target, flags), func(t *testing.T) {
				m := loadFor(t, c.device, c.target, source, append(flags, "-mcode-object-version=6")...)
				po, out := alloc(t, m, 4*2*3*2*60)
				counters, err := m.Launch(t.Context(), "place", Dim3{2, 3, 2}, Dim3{5, 4, 3}, [][]byte{u64arg(uint64(po))}, Options{Count: true})
				if err != nil {
					t.Fatal(err)
				}
				if waves, lanes := map[bool]int64{true: 24, false: 12}[flags == nil], counters.Active(); counters.Waves != waves || lanes < 0.9 || lanes > 0.95 {
					t.Errorf("%d waves, %g of the lanes", counters.Waves, lanes)
				}
				for i := range 720 {
					w := i % 60
					g := i / 60
					want := uint32(w%5 | w/5%4<<4 | w/20<<8 | g/6<<12 | g/2%3<<16 | g%2<<20)
					if got := load32(out, uint64(4*i)); got != want {
						t.Fatalf("%d: 0x%x, want 0x%x", i, got, want)
					}
				}
			})
		}
	}
}
