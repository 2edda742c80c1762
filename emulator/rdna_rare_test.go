package emulator

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"
)

// What compilers do not write of themselves, in the words of the documents.
func TestRareOfRDNA(t *testing.T) {
	for _, arch := range []string{"gfx1030", "gfx1100", "gfx1201"} {
		testRDNA(t, arch, random, []rdnaCase{
			{"v_mov_b32 v10, %1; v_mov_b32 v11, %2; v_mov_b32 v12, %3; v_mov_b32 v13, 9; s_mov_b32 m0, 0x10002; v_swaprel_b32 v11, v11; v_sub_nc_u32 %0, v12, v13",
				func(_, _, z, _, _ uint32) uint32 { return 9 - z }}, // dst 11+1, src 11+2
			{"v_mov_b32 v10, %1; v_mov_b32 v11, %2; s_mov_b32 m0, 0x10000; s_mov_b32 s20, exec_lo; s_mov_b32 exec_lo, 0; v_swaprel_b32 v10, v10; s_mov_b32 exec_lo, s20; v_sub_nc_u32 %0, v10, v11",
				func(x, y, _, _, _ uint32) uint32 { return x - y }},
			{"s_mov_b32 s20, 7; s_mov_b32 s21, %4; s_mov_b32 s22, %5; s_mov_b32 s23, 8; s_mov_b32 m0, 0x30001; s_movrelsd_2_b32 s20, s20; v_mov_b32 %0, s23",
				func(_, _, _, s, _ uint32) uint32 { return s }},
			{"v_cvt_pk_u8_f32 %0, %1, 2, %2", func(x, y, _, _, _ uint32) uint32 { return byteOf(x, y, 2) }},
		})
		testRDNA(t, arch, floats, []rdnaCase{
			{"v_cvt_pk_u8_f32 %0, %1, 1, %2", func(x, y, _, _, _ uint32) uint32 { return byteOf(x, y, 1) }},
			{"v_mul_f32 v10, 0.5, %1; v_rndne_f32 v10, v10; v_mul_f32 v10, 0.5, v10; v_cvt_pk_u8_f32 %0, v10, 5, %2", func(x, y, _, _, _ uint32) uint32 {
				return byteOf(u32(float32(math.RoundToEven(float64(f32(x)*0.5)))*0.5), y, 1)
			}},
			{"v_mullit_f32 %0, %1, %2, %1", func(x, y, _, _, _ uint32) uint32 {
				if f32(x) <= 0 {
					return 0xff7fffff
				}
				return u32(f32(x) * f32(y))
			}},
			{"v_mov_b32 v10, 0xff7fffff; v_mullit_f32 %0, %1, v10, 1.0", func(_, _, _, _, _ uint32) uint32 { return 0xff7fffff }},
			{"v_mov_b32 v10, 0x7fc00000; v_mullit_f32 %0, %1, v10, 1.0", func(_, _, _, _, _ uint32) uint32 { return 0xff7fffff }},
			{"v_mov_b32 v10, 0x7fc00000; v_mullit_f32 %0, %1, 2.0, v10", func(_, _, _, _, _ uint32) uint32 { return 0xff7fffff }},
			{"v_mullit_f32 %0, %1, 2.0, 1.0", func(x, _, _, _, _ uint32) uint32 { return u32(f32(x) * 2) }},
		})
	}
}

// byteOf is f32 as one byte of a word.
func byteOf(x, old uint32, n uint) uint32 {
	v := math.RoundToEven(float64(f32(x)))
	if !(v > 0) {
		v = 0
	}
	return old&^(255<<(8*n)) | uint32(min(v, 255))<<(8*n)
}

// The builtin is there on all processors.
func TestBytesOfFloats(t *testing.T) {
	for _, arch := range []string{"gfx900", "gfx942", "gfx1201"} {
		m := loadHIP(t, arch, "-O2", `KERNEL pack(const float *a, const u32 *b, u32 *out, u32 n) { u32 i = GID; if (i < n) out[i] = __builtin_amdgcn_cvt_pk_u8_f32(a[i], 3, b[i]); }`)
		r := launchTest(t, m, "pack", func(a, b []byte) {
			random(a, b)
			for i := range items {
				v := float32(i)/2 - 100
				putWord(a, i, u32(v))
			}
			for i, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 254.5, 255.5, 0.5, 1.5, -0.4} {
				putWord(a, i, u32(float32(v)))
			}
		})
		for i := range items {
			if want := byteOf(r.inA(i), r.inB(i), 3); r.got(i) != want {
				t.Fatalf("%s: %g: 0x%x, want 0x%x", arch, f32(r.inA(i)), r.got(i), want)
			}
		}
	}
}

// Exchanges that compare as floats: zeros are alike, NaN is like nothing.
func TestFloatCompareExchange(t *testing.T) {
	for _, arch := range []string{"gfx1030", "gfx1100"} {
		single, wait := "atomic_fcmpswap", "s_waitcnt vmcnt(0)"
		double := "KERNEL wide(double *p, double *q, double *out) { typedef double d2 __attribute__((ext_vector_type(2))); double *at = p + TID, old; d2 v = {100.0 + TID, q[TID]}; asm volatile(\"global_atomic_fcmpswap_x2 %0, %1, %2, off glc\\ns_waitcnt vmcnt(0)\" : \"=v\"(old) : \"v\"(at), \"v\"(v) : \"memory\"); out[TID] = old; }\n"
		if arch == "gfx1100" {
			single, double = "atomic_cmpswap_f32", ""
		}
		var src strings.Builder
		for _, form := range []string{"global_%s %%0, %%1, %%2, off glc", "flat_%s %%0, %%1, %%2 glc", "buffer_%s %%2, %%3, %%4, 0 offen glc"} {
			kind, _, _ := strings.Cut(form, "_")
			fmt.Fprintf(&src, `typedef float f2 __attribute__((ext_vector_type(2))); typedef u32 u32x4 __attribute__((ext_vector_type(4)));
KERNEL %s(float *p, float *q, float *out) { float *at = p + TID, old = 0; f2 v = {100.0f + TID, q[TID]}; u32 off = TID * 4; u32x4 d = {(u32)(u64)p, (u32)((u64)p >> 32), 256, 3u << 28};
asm volatile("%s\n%s" : "=&v"(old), "+v"(at), "+v"(v), "+v"(off) : "s"(d) : "memory"); out[TID] = %s; }
`, kind, fmt.Sprintf(form, single), wait, map[bool]string{true: "v[0]", false: "old"}[kind == "buffer"])
		}
		m := loadHIP(t, arch, "-O2", src.String()+double)
		memory := []float64{1, 0, math.Copysign(0, -1), math.NaN(), 5, math.Inf(1), -3}
		compared := []float64{1, math.Copysign(0, -1), 0, math.NaN(), 6, math.Inf(1), 3}
		for _, kernel := range []string{"global", "flat", "buffer", "wide"} {
			if kernel == "wide" && double == "" {
				continue
			}
			size := map[bool]int{true: 8, false: 4}[kernel == "wide"]
			put := func(b []byte, i int, v float64) {
				if size == 8 {
					binary.LittleEndian.PutUint64(b[8*i:], math.Float64bits(v))
					return
				}
				putWord(b, i, math.Float32bits(float32(v)))
			}
			get := func(b []byte, i int) float64 {
				if size == 8 {
					return f64(binary.LittleEndian.Uint64(b[8*i:]))
				}
				return float64(f32(load32(b, uint64(4*i))))
			}
			pp, p := alloc(t, m, 256)
			pq, q := alloc(t, m, 256)
			po, out := alloc(t, m, 256)
			for i := range memory {
				put(p, i, memory[i])
				put(q, i, compared[i])
			}
			if _, err := m.Launch(t.Context(), kernel, Dim3{1, 1, 1}, Dim3{uint32(len(memory)), 1, 1}, [][]byte{u64arg(uint64(pp)), u64arg(uint64(pq)), u64arg(uint64(po))}, Options{Check: CheckRace}); err != nil {
				t.Fatal(arch, kernel, err)
			}
			same := func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b }
			for i := range memory {
				want := memory[i]
				if memory[i] == compared[i] {
					want = 100 + float64(i)
				}
				if got, old := get(p, i), get(out, i); !same(got, want) || !same(old, memory[i]) {
					t.Errorf("%s %s: %g, compared with %g: %g, want %g; was %g", arch, kernel, memory[i], compared[i], got, want, old)
				}
			}
		}
	}
}

// The words of local memory whose data has the highest bit.
func TestConditionalExchange(t *testing.T) {
	for _, arch := range []string{"gfx900", "gfx1030", "gfx1201"} {
		wait := map[bool]string{true: "s_wait_dscnt 0", false: "s_waitcnt lgkmcnt(0)"}[arch == "gfx1201"]
		m := loadHIP(t, arch, "-O2", `KERNEL exchange(const u64 *a, u64 *out) { __shared__ u64 t[64]; t[TID] = TID * 0x300000005ull; u64 v = a[TID], old; u32 at = (u32)(u64)(__attribute__((address_space(3))) u64 *)t + 8 * TID + 3;
asm volatile("ds_condxchg32_rtn_b64 %0, %1, %2\n`+wait+`" : "=v"(old) : "v"(at), "v"(v) : "memory"); out[TID] = old; out[64 + TID] = t[TID]; }`)
		pa, a := alloc(t, m, 512)
		po, out := alloc(t, m, 1024)
		for i := range 64 {
			binary.LittleEndian.PutUint64(a[8*i:], uint64(i)*0x123456789+uint64(i&1)<<31+uint64(i&2)<<62)
		}
		if _, err := m.Launch(t.Context(), "exchange", Dim3{1, 1, 1}, Dim3{64, 1, 1}, [][]byte{u64arg(uint64(pa)), u64arg(uint64(po))}, Options{}); err != nil {
			t.Fatal(arch, err)
		}
		for i := range 64 {
			v, old := binary.LittleEndian.Uint64(a[8*i:]), uint64(i)*0x300000005
			want := old
			if v>>31&1 != 0 {
				want = want&^0xffffffff | v&0x7fffffff
			}
			if v>>63 != 0 {
				want = want&0xffffffff | v&^(1<<63)&^0xffffffff
			}
			if got, now := binary.LittleEndian.Uint64(out[8*i:]), binary.LittleEndian.Uint64(out[512+8*i:]); got != old || now != want {
				t.Fatalf("%s: %d: 0x%x of 0x%x: 0x%x (was 0x%x), want 0x%x", arch, i, v, old, now, got, want)
			}
		}
	}
}

// A loop over the halves of a wave runs once for each that has lanes.
func TestSubvectorLoops(t *testing.T) {
	for _, arch := range []string{"gfx1030", "gfx1100"} {
		for _, wide := range []bool{false, true} {
			exec, flags := "s_mov_b32 exec_lo, %1\\n", []string(nil)
			if wide {
				exec, flags = "s_mov_b32 exec_lo, %1\\ns_mov_b32 exec_hi, %2\\n", []string{"-mwavefrontsize64"}
			}
			save := map[bool]string{true: "s_mov_b64 s[22:23], exec", false: "s_mov_b32 s22, exec_lo"}[wide]
			back := map[bool]string{true: "s_mov_b64 exec, s[22:23]", false: "s_mov_b32 exec_lo, s22"}[wide]
			m := loadHIP(t, arch, "-O2", `KERNEL halves(u32 *out, u32 lo, u32 hi) { u32 v = 0, n = 0; asm volatile("s_mov_b32 s21, 0\n`+save+`\n`+exec+`s_subvector_loop_begin s20, 5\nv_add_nc_u32 %0, 1, %0\ns_add_u32 s21, s21, 1\nv_mov_b32 v10, exec_hi\nv_max_u32 %0, 1, %0\ns_subvector_loop_end s20, 0xfffb\nv_add_nc_u32 %0, %0, 16\n`+back+`\nv_mov_b32 %3, s21" : "+v"(v), "+s"(lo), "+s"(hi), "=v"(n) :: "v10", "s20", "s21", "s22", "s23", "scc"); out[2 * TID] = v; out[2 * TID + 1] = n; }`, flags...)
			size := map[bool]int{true: 64, false: 32}[wide]
			for _, masks := range [][2]uint32{{0, 0}, {5, 0}, {0, 0x80000001}, {0xffffffff, 0xffffffff}, {1, 2}} {
				po, out := alloc(t, m, 512)
				if _, err := m.Launch(t.Context(), "halves", Dim3{1, 1, 1}, Dim3{uint32(size), 1, 1}, [][]byte{u64arg(uint64(po)), u32arg(masks[0]), u32arg(masks[1])}, Options{Budget: 1e5}); err != nil {
					t.Fatal(arch, err)
				}
				passes := bit32(masks[0] != 0) + bit32(wide && masks[1] != 0)
				for l := range size {
					want := uint32(0)
					if masks[l/32]>>(l%32)&1 != 0 {
						want = 17
					}
					if got, n := load32(out, uint64(8*l)), load32(out, uint64(8*l+4)); got != want || n != passes {
						t.Fatalf("%s, wide %v, lanes %x: lane %d: %d, want %d; %d passes, want %d", arch, wide, masks, l, got, want, n, passes)
					}
				}
			}
		}
	}
}

// Registers by request, which a kernel has to be launched with; hints that do nothing.
func TestRegistersByRequest(t *testing.T) {
	m := loadHIP(t, "gfx1201", "-O2", `
KERNEL asks(u32 *out, const u32 *p, u32 n) { u32 a, b, c; __builtin_amdgcn_s_prefetch_data(p, 7); __builtin_amdgcn_s_sleep_var(n);
asm volatile("s_cmp_eq_u32 %3, %3\ns_alloc_vgpr 300\ns_cselect_b32 %0, 1, 0\ns_cmp_lg_u32 %3, %3\ns_alloc_vgpr 0x40\ns_cselect_b32 %1, 1, 0\ns_alloc_vgpr %3\ns_cselect_b32 %2, 1, 0" : "=&s"(a), "=&s"(b), "=&s"(c) : "s"(n) : "scc"); out[0] = a; out[1] = b; out[2] = c; }`[1:])
	k, _ := m.obj.Kernel("asks")
	for _, byRequest := range []bool{false, true} {
		for _, n := range []uint32{256, 257, 0x200 + 32} {
			want := []uint32{1, 0, 0}
			if byRequest {
				k.Descriptor.Rsrc2 |= 1 << 6
				want = []uint32{0, 1, bit32(n != 257)}
			}
			po, out := alloc(t, m, 64)
			if _, err := m.Launch(t.Context(), "asks", Dim3{1, 1, 1}, Dim3{32, 1, 1}, [][]byte{u64arg(uint64(po)), u64arg(uint64(po)), u32arg(n)}, Options{}); err != nil {
				t.Fatal(err)
			}
			for i := range want {
				if got := load32(out, uint64(4*i)); got != want[i] {
					t.Errorf("by request %v, %d: answer %d: %d, want %d", byRequest, n, i, got, want[i])
				}
			}
		}
	}
}

// Waves of all work-groups give to a semaphore and take from it.
func TestSemaphoreChains(t *testing.T) {
	for _, arch := range []string{"gfx900", "gfx90a", "gfx1030", "gfx1100"} {
		release := "__builtin_amdgcn_ds_gws_sema_release_all(5)"
		m := loadHIP(t, arch, "-O2", `
#define ONCE if (TID == 0)
KERNEL handed(u32 *out) { u32 g = BID; // a chain of work-groups, the last first
  ONCE { if (g + 1 < 40) __builtin_amdgcn_ds_gws_sema_p(g + 1); out[g] = out[40]++; __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent"); __builtin_amdgcn_ds_gws_sema_v(g); } }
KERNEL counted(u32 *out) { // the first gives as many as the others take
  ONCE { if (BID == 0) { out[8] = 9; __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent"); __builtin_amdgcn_ds_gws_sema_br(7, 2); } else { __builtin_amdgcn_ds_gws_sema_p(2); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent"); out[BID] = out[8]; } } }
KERNEL initial(u32 *out) { ONCE { __builtin_amdgcn_ds_gws_init(3, 1); for (u32 k = 0; k < 3; k++) __builtin_amdgcn_ds_gws_sema_p(1); out[0] = 1; } }
KERNEL waits(u32 *out) { ONCE { __builtin_amdgcn_ds_gws_sema_v(1); __builtin_amdgcn_ds_gws_sema_p(2); out[0] = 1; } }
KERNEL released(u32 *out) { ONCE { if (BID == 0) { while (!__hip_atomic_load(out + 9, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) { `+release+`; __builtin_amdgcn_s_sleep(1); } } else { __builtin_amdgcn_ds_gws_sema_p(5); __hip_atomic_store(out + 9, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); } } }
`)
		for _, c := range []struct {
			kernel string
			groups uint32
			check  Check
			want   func(i int) uint32
			n      int
			fails  string
		}{
			{"handed", 40, CheckRace, func(i int) uint32 { return uint32(39 - i) }, 40, ""},
			{"counted", 8, CheckRace, func(i int) uint32 { return 9 * bit32(i > 0) }, 8, ""},
			{"initial", 1, 0, func(int) uint32 { return 1 }, 1, ""},
			{"released", 2, 0, func(int) uint32 { return 0 }, 1, ""},
			{"waits", 1, 0, nil, 0, "budget"},
		} {
			po, out := alloc(t, m, 256)
			_, err := m.Launch(t.Context(), c.kernel, Dim3{c.groups, 1, 1}, Dim3{64, 1, 1}, [][]byte{u64arg(uint64(po))}, Options{Budget: 2e6, Check: c.check})
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("%s %s: %v, want %q", arch, c.kernel, err, c.fails)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s %s: %v", arch, c.kernel, err)
			}
			for i := range c.n {
				if got := load32(out, uint64(4*i)); got != c.want(i) {
					t.Errorf("%s %s: %d: %d, want %d", arch, c.kernel, i, got, c.want(i))
				}
			}
		}
	}
}
