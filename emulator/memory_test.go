package emulator

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"
)

// What only inline assembly and builtins reach: buffers with strides and formats,
// stores through the scalar cache, rarer operations of local memory, loads that
// go there, and the lanes' order in them.
func TestRareMemory(t *testing.T) {
	const source = `
typedef u32 u32x4 __attribute__((ext_vector_type(4))); typedef float f4 __attribute__((ext_vector_type(4))); typedef u32 u32x2 __attribute__((ext_vector_type(2)));
#define DESC(p, stride, records, flags) u32x4 d = {(u32)(u64)(p), (u32)((u64)(p) >> 32) | (stride) << 16, records, flags}
KERNEL raw(u32 *p, u32 *out, u32 records) { DESC(p, 0, records, 0x00020000);
  u32 v = 9; u32x2 w; asm volatile("buffer_load_dword %0, %2, %3, 0 offen offset:4\nbuffer_load_dwordx2 %1, %2, %3, 0 offen\ns_waitcnt vmcnt(0)" : "=&v"(v), "=&v"(w) : "v"(TID * 4), "s"(d));
  out[TID * 3] = v; out[TID * 3 + 1] = w.x; out[TID * 3 + 2] = w.y; }
KERNEL strided(u32 *p, u32 *out, u32 records) { DESC(p, 12, records, 0x00020000);
  u32 v; asm volatile("buffer_load_dword %0, %1, %2, 0 idxen offset:8\ns_waitcnt vmcnt(0)" : "=v"(v) : "v"(TID), "s"(d)); out[TID] = v;
  asm volatile("buffer_store_dword %0, %1, %2, 0 idxen offset:4\ns_waitcnt vmcnt(0)" :: "v"(v + 1), "v"(TID), "s"(d)); }
KERNEL swizzled(u32 *p, u32 *out, u32 records) { DESC(p, 16 | 0x8000, records, 0x00020000 | 0 << 21); /* elements of 4 bytes, 8 indices beside each other */
  u32 v; asm volatile("buffer_load_dword %0, %1, %2, 0 idxen offset:8\ns_waitcnt vmcnt(0)" : "=v"(v) : "v"(TID), "s"(d)); out[TID] = v; }
KERNEL unorm(u32 *p, float *out, u32 records) { DESC(p, 4, records, 4 | 5 << 3 | 6 << 6 | 7 << 9 | 0 << 12 | 10 << 15); /* 8_8_8_8 */
  f4 v; asm volatile("buffer_load_format_xyzw %0, %1, %2, 0 idxen\ns_waitcnt vmcnt(0)" : "=v"(v) : "v"(TID), "s"(d));
  for (int k = 0; k < 4; k++) out[TID * 4 + k] = v[k];
  v = v.wzyx; asm volatile("buffer_store_format_xyzw %0, %1, %2, 0 idxen\ns_waitcnt vmcnt(0)" :: "v"(v), "v"(TID), "s"(d)); }
KERNEL into(u32 *p, u32 *out) { __shared__ u32 t[128];
  u32 m = (u32)(u64)(__attribute__((address_space(3))) u32 *)t; u32 *q = p + (63 - TID);
  asm volatile("s_mov_b32 m0, %0\ns_nop 0\nglobal_load_lds_dword %1, off offset:16\ns_waitcnt vmcnt(0)" :: "s"(m), "v"(q) : "m0", "memory");
  out[TID] = t[TID + 4]; }
KERNEL count(u32 *out) { __shared__ u32 n; if (TID == 0) n = 100; SYNC; u32 m = (u32)(u64)(__attribute__((address_space(3))) u32 *)&n, v = 0;
  if (TID % 3 == 0) { asm volatile("s_mov_b32 m0, %1\ns_nop 0\nds_append %0\ns_waitcnt lgkmcnt(0)" : "=v"(v) : "s"(m) : "m0", "memory"); }
  SYNC; out[TID] = v; out[64] = n; }
KERNEL local(const u32 *a, u32 *out) { __shared__ u32 t[128]; __shared__ float f; t[TID] = a[TID]; t[64 + TID] = ~a[TID]; if (TID == 0) f = 1e30f; SYNC;
  u32 at = (u32)(u64)(__attribute__((address_space(3))) u32 *)&t[TID], fat = (u32)(u64)(__attribute__((address_space(3))) float *)&f, v, s; u32x2 w; float x = (float)(int)(TID * 7 % 64) - 20.0f;
  asm volatile("ds_mskor_rtn_b32 %0, %3, %4, %5\nds_rsub_rtn_u32 %1, %3, %4\nds_wrxchg2_rtn_b32 %2, %3, %4, %5 offset0:0 offset1:64\nds_min_f32 %6, %7\ns_waitcnt lgkmcnt(0)" : "=&v"(v), "=&v"(s), "=&v"(w) : "v"(at), "v"(0xff00u), "v"(0x1234u), "v"(fat), "v"(x) : "memory");
  SYNC; out[TID * 6] = v; out[TID * 6 + 1] = s; out[TID * 6 + 2] = w.x; out[TID * 6 + 3] = w.y; out[TID * 6 + 4] = t[TID] + t[TID + 64]; out[TID * 6 + 5] = *(u32 *)&f; }
KERNEL halves(u32 *out) { typedef _Float16 h2 __attribute__((ext_vector_type(2))); h2 v = {(_Float16)1.5f, (_Float16)-2.0f}; asm volatile("global_atomic_pk_add_f16 %0, %1, off\ns_waitcnt vmcnt(0)" :: "v"(out), "v"(v) : "memory"); }
`
	const scalars = `
KERNEL scalars(u32 *p, u32 *out) { u32 old; u64 q = (u64)p;
  asm volatile("s_store_dword %1, %2, 0x4\ns_waitcnt lgkmcnt(0)\ns_mov_b32 %0, 7\ns_atomic_add %0, %2, 0x4 glc\ns_waitcnt lgkmcnt(0)\ns_dcache_wb" : "=&s"(old) : "s"(1000), "s"(q) : "memory"); out[0] = old;
  asm volatile("s_mov_b32 s6, %1\ns_mov_b32 s7, 1007\ns_atomic_cmpswap s[6:7], %2, 0x4 glc\ns_waitcnt lgkmcnt(0)\ns_mov_b32 %0, s6" : "=&s"(old) : "s"(55), "s"(q) : "s6", "s7", "memory"); out[1] = old;
  u64 m; asm volatile("s_bitreplicate_b64_b32 %0, %1" : "=s"(m) : "s"(0x8001)); out[2] = (u32)m; asm volatile("s_quadmask_b32 %0, %1" : "=s"(old) : "s"(0x00f01008)); out[3] = old; }
`
	for _, arch := range []string{"gfx942", "gfx950"} {
		testRare(t, loadHIP(t, arch, "-O2", source))
	}
	m := loadHIP(t, "gfx900", "-O2", scalars)
	p, mem := alloc(t, m, 64)
	po, out := alloc(t, m, 64)
	if _, err := m.Launch(t.Context(), "scalars", Dim3{1, 1, 1}, Dim3{1, 1, 1}, [][]byte{u64arg(uint64(p)), u64arg(uint64(po))}, Options{}); err != nil {
		t.Fatal(err)
	}
	got := []uint32{}
	for i := range 4 {
		got = append(got, binary.LittleEndian.Uint32(out[4*i:]))
	}
	if s := fmt.Sprint(got, binary.LittleEndian.Uint32(mem[4:])); s != "[1000 1007 3221225475 41] 55" {
		t.Errorf("scalar stores and atomics: %s", s)
	}
}

func testRare(t *testing.T, m *Module) {
	t.Helper()
	launch := func(kernel string, size uint64, extra ...[]byte) (mem, out []byte) {
		t.Helper()
		p, mem := alloc(t, m, 4096)
		for i := range len(mem) / 4 {
			binary.LittleEndian.PutUint32(mem[4*i:], uint32(1000+i))
		}
		po, out := alloc(t, m, size)
		args := [][]byte{u64arg(uint64(p)), u64arg(uint64(po))}
		if kernel == "count" || kernel == "halves" {
			args = args[1:]
		}
		if _, err := m.Launch(t.Context(), kernel, Dim3{1, 1, 1}, Dim3{64, 1, 1}, append(args, extra...), Options{}); err != nil {
			t.Fatalf("%s: %v", kernel, err)
		}
		return mem, out
	}
	check := func(what string, out []byte, n int, want func(i int) uint32) {
		t.Helper()
		for i := range n {
			if got := binary.LittleEndian.Uint32(out[4*i:]); got != want(i) {
				t.Fatalf("%s, %d: %d (0x%x), want %d", what, i, got, got, want(i))
			}
		}
	}
	_, out := launch("raw", 64*12, u32arg(100)) // 25 words
	check("a buffer of 100 bytes", out, 64*3, func(i int) uint32 {
		word := i/3 + [3]int{1, 0, 1}[i%3]
		if word >= 25 {
			return 0
		}
		return uint32(1000 + word)
	})
	mem, out := launch("strided", 256, u32arg(50))
	check("a stride of 12", out, 64, func(i int) uint32 { return uint32(1002+3*i) * bit32(i < 50) })
	check("stores with a stride of 12", mem, 192, func(i int) uint32 {
		if i%3 == 1 && i/3 < 50 {
			return uint32(1002 + i)
		}
		return uint32(1000 + i)
	})
	_, out = launch("swizzled", 256, u32arg(64))
	check("swizzled", out, 64, func(i int) uint32 { return uint32(1000 + i/8*32 + 2*8 + i%8) })
	mem, out = launch("unorm", 64*16, u32arg(64))
	check("unorm", out, 256, func(i int) uint32 { return u32(float32(float64(uint32(1000+i/4)>>(8*(i%4))&255) / 255)) })
	check("unorm stored", mem, 64, func(i int) uint32 { v := uint32(1000 + i); return v>>24 | v>>8&0xff00 | v<<8&0xff0000 | v<<24 })
	_, out = launch("into", 256)
	check("into local memory", out, 64, func(i int) uint32 { return uint32(1000 + 63 - i + 4) })
	_, out = launch("count", 260)
	check("ds_append", out, 65, func(i int) uint32 {
		switch {
		case i == 64:
			return 122
		case i%3 == 0:
			return 100
		}
		return 0
	})
	_, out = launch("local", 64*24)
	check("local memory", out, 64*6, func(i int) uint32 {
		a := uint32(1000 + i/6)
		masked := a&^0xff00 | 0x1234
		switch i % 6 {
		case 0:
			return a
		case 1:
			return masked
		case 2:
			return 0xff00 - masked
		case 3:
			return ^a
		case 4:
			return 0xff00 + 0x1234
		}
		return u32(-20)
	})
	_, out = launch("halves", 256)
	if lo, hi := fromHalf(binary.LittleEndian.Uint16(out)), fromHalf(binary.LittleEndian.Uint16(out[2:])); lo != 96 || hi != -128 {
		t.Errorf("64 times 1.5 and -2: %g and %g", lo, hi)
	}
}

// Sparse matrices, matrices of 8 bits and fewer, and patterns of B.
func TestMoreMatrix(t *testing.T) {
	const source = `
typedef float v4 __attribute__((ext_vector_type(4))); typedef _Float16 h4 __attribute__((ext_vector_type(4))); typedef _Float16 h8 __attribute__((ext_vector_type(8))); typedef int i4 __attribute__((ext_vector_type(4))); typedef int i2 __attribute__((ext_vector_type(2))); typedef int i8 __attribute__((ext_vector_type(8)));
KERNEL fp8(const long *a, const long *b, float *o) { v4 c = {1, 1, 1, 1}; c = __builtin_amdgcn_mfma_f32_16x16x32_fp8_bf8(a[TID], b[TID], c, 0, 0, 0); for (int i = 0; i < 4; i++) o[TID * 4 + i] = c[i]; }
KERNEL sparse(const int *a, const int *b, float *o) { v4 c = {1, 1, 1, 1}; h4 x; h8 y; for (int i = 0; i < 4; i++) x[i] = (_Float16)((a[TID * 4 + i] & 7) - 3); for (int i = 0; i < 8; i++) y[i] = (_Float16)((b[TID * 8 + i] & 15) - 7);
  int index = 0; for (int i = 0; i < 4; i++) index |= (a[TID] >> (8 + i) & 1 ? (i & 1) * 2 + 1 : (i & 1) * 3) << 2 * i; c = __builtin_amdgcn_smfmac_f32_16x16x32_f16(x, y, c, index << 8, 0, 1); for (int i = 0; i < 4; i++) o[TID * 4 + i] = c[i]; }
KERNEL one(const float *a, const float *b, float *o) { typedef float v16 __attribute__((ext_vector_type(16))); v16 c = {}; c = __builtin_amdgcn_mfma_f32_16x16x1f32(a[TID], b[TID], c, 2, 3, 0); for (int i = 0; i < 4; i++) o[TID * 4 + i] = c[i * 4 + i]; }
KERNEL turned(const float *a, const float *b, float *o) { v4 c = {1, 1, 1, 1}; c = __builtin_amdgcn_mfma_f32_16x16x4f32(a[TID], b[TID], c, 0, 0, 3); for (int i = 0; i < 4; i++) o[TID * 4 + i] = c[i]; }
`
	m := loadHIP(t, "gfx942", "-O2", source)
	run := func(kernel string, fill func(a, b []byte)) (a, b []byte, got func(l, r int) float64) {
		t.Helper()
		pa, a := alloc(t, m, 4096)
		pb, b := alloc(t, m, 4096)
		po, out := alloc(t, m, 1024)
		fill(a, b)
		if _, err := m.Launch(t.Context(), kernel, Dim3{1, 1, 1}, Dim3{64, 1, 1}, [][]byte{u64arg(uint64(pa)), u64arg(uint64(pb)), u64arg(uint64(po))}, Options{}); err != nil {
			t.Fatal(err)
		}
		return a, b, func(l, r int) float64 { return float64(f32(binary.LittleEndian.Uint32(out[4*(4*l+r):]))) }
	}
	compare := func(name string, depth int, got func(l, r int) float64, a, b func(row, k int) float64) {
		t.Helper()
		for l := range 64 {
			for r := range 4 {
				want := 1.0
				for k := range depth {
					want += a(l/16*4+r, k) * b(l%16, k)
				}
				if got(l, r) != want {
					t.Fatalf("%s, lane %d, register %d: %g, want %g", name, l, r, got(l, r), want)
				}
			}
		}
	}
	a, b, got := run("fp8", func(a, b []byte) {
		random(a, b)
		for i := range a {
			a[i], b[i] = a[i]&0x87|0x40, b[i]&0x83|0x40 // near ±1
		}
	})
	compare("fp8 and bf8", 32, got, func(row, k int) float64 { return wantEight(a[8*(row+k/8*16)+k%8], false, false) },
		func(col, k int) float64 { return wantEight(b[8*(col+k/8*16)+k%8], false, true) })

	a, b, got = run("sparse", random)
	word := func(s []byte, i int) int { return int(int32(binary.LittleEndian.Uint32(s[4*i:]))) }
	compare("sparse", 32, got, func(row, k int) float64 {
		l, at := row+k/8*16, k%8
		for i := range 4 {
			place := i & 1 * 3
			if word(a, l)>>(8+i)&1 != 0 {
				place = i&1*2 + 1
			}
			if i/2*4+place == at {
				return float64(word(a, 4*l+i)&7 - 3)
			}
		}
		return 0
	}, func(col, k int) float64 { return float64(word(b, 8*(col+k/8*16)+k%8)&15 - 7) })

	small := func(a, b []byte) {
		for i := range 64 {
			binary.LittleEndian.PutUint32(a[4*i:], math.Float32bits(float32(i*7%23-11)))
			binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(float32(i*5%19-9)))
		}
	}
	at := func(s []byte, l int) float64 { return float64(f32(binary.LittleEndian.Uint32(s[4*l:]))) }
	a, b, got = run("one", small) // four blocks, all with the A of the last
	for l := range 64 {
		for block := range 4 {
			if want := at(a, 3*16+l/16*4+block) * at(b, block*16+l%16); got(l, block) != want {
				t.Fatalf("A of one block, lane %d, block %d: %g, want %g", l, block, got(l, block), want)
			}
		}
	}

	a, b, got = run("turned", small)
	compare("B of the next quarter", 4, got, func(row, k int) float64 { return at(a, row+16*k) }, func(col, k int) float64 { return at(b, (col+16*k+16)&63) })
}
