package emulator

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

// Matrices of f32 whose elements lose 13 bits, to nearest even.
func TestReducedMatrix(t *testing.T) {
	const source = `
typedef float v2 __attribute__((ext_vector_type(2))); typedef float v4 __attribute__((ext_vector_type(4))); typedef float v16 __attribute__((ext_vector_type(16)));
KERNEL small(const v2 *a, const v2 *b, float *o) { v4 c = {1, 1, 1, 1}; c = __builtin_amdgcn_mfma_f32_16x16x8_xf32(a[TID], b[TID], c, 0, 0, 0); for (int i = 0; i < 4; i++) o[TID * 4 + i] = c[i]; }
KERNEL large(const v2 *a, const v2 *b, float *o) { v16 c = {}; for (int i = 0; i < 16; i++) c[i] = 1; c = __builtin_amdgcn_mfma_f32_32x32x4_xf32(a[TID], b[TID], c, 0, 0, 0); for (int i = 0; i < 16; i++) o[TID * 16 + i] = c[i]; }
`
	// Ten bits behind the point are kept; each element is a multiple of 2^-12 below 8.
	round := func(v float64) float64 {
		if v == 0 {
			return 0
		}
		unit := math.Pow(2, math.Floor(math.Log2(math.Abs(v)))-10)
		return math.RoundToEven(v/unit) * unit
	}
	for _, opt := range []string{"-O0", "-O3"} {
		m := loadHIP(t, "gfx942", opt, source)
		for _, s := range []struct {
			kernel     string
			m, k, regs int
		}{{"small", 16, 8, 4}, {"large", 32, 4, 16}} {
			pa, a := alloc(t, m, 512)
			pb, b := alloc(t, m, 512)
			po, out := alloc(t, m, 64*64)
			rng := rand.New(rand.NewPCG(3, 2))
			var rows [2][32][8]float64
			lost := 0
			for side, mem := range [][]byte{a, b} {
				for l := range 64 {
					for e := range 2 {
						v := float64(rng.IntN(1<<16)-1<<15) / (1 << 12)
						if side == 1 {
							v = float64(rng.IntN(9) - 4) // so that sums are exact
						}
						binary.LittleEndian.PutUint32(mem[4*(2*l+e):], u32(float32(v)))
						if round(v) != v {
							lost++
						}
						rows[side][l%s.m][l/s.m*2+e] = round(v)
					}
				}
			}
			if lost < 30 {
				t.Fatalf("only %d elements lose bits", lost)
			}
			if _, err := m.Launch(t.Context(), s.kernel, Dim3{1, 1, 1}, Dim3{64, 1, 1}, [][]byte{u64arg(uint64(pa)), u64arg(uint64(pb)), u64arg(uint64(po))}, Options{}); err != nil {
				t.Fatal(err)
			}
			for l := range 64 {
				for r := range s.regs {
					row, col := l/16*4+r, l%16
					if s.m == 32 {
						row, col = r/4*8+l/32*4+r%4, l%32
					}
					want := 1.0
					for k := range s.k {
						want += rows[0][row][k] * rows[1][col][k]
					}
					if got := f32(binary.LittleEndian.Uint32(out[4*(l*s.regs+r):])); float64(got) != want {
						t.Fatalf("%s %s: register %d of lane %d: %g, want %g", opt, s.kernel, r, l, got, want)
					}
				}
			}
		}
	}
}

// Halves of registers that change places between lanes.
func TestSwappedRows(t *testing.T) {
	m := loadHIP(t, "gfx950", "-O2", `
typedef u32 u2 __attribute__((ext_vector_type(2)));
KERNEL rows(u32 *o) { u2 v = __builtin_amdgcn_permlane16_swap(TID, 100 + TID, false, false), w = __builtin_amdgcn_permlane32_swap(TID, 100 + TID, false, false);
  o[TID * 4] = v.x; o[TID * 4 + 1] = v.y; o[TID * 4 + 2] = w.x; o[TID * 4 + 3] = w.y; }
`)
	po, out := alloc(t, m, 1024)
	if _, err := m.Launch(t.Context(), "rows", Dim3{1, 1, 1}, Dim3{64, 1, 1}, [][]byte{u64arg(uint64(po))}, Options{}); err != nil {
		t.Fatal(err)
	}
	for l := range uint32(64) {
		// The upper rows of the first go where the lower ones of the second were.
		want := [4]uint32{l, 100 + l, l, 100 + l}
		if l&16 != 0 {
			want[0] = 100 + l - 16
		} else {
			want[1] = l + 16
		}
		if l&32 != 0 {
			want[2] = 100 + l - 32
		} else {
			want[3] = l + 32
		}
		for n := range want {
			if got := binary.LittleEndian.Uint32(out[4*(4*int(l)+n):]); got != want[n] {
				t.Errorf("lane %d, %d: %d, want %d", l, n, got, want[n])
			}
		}
	}
}

// Rounding with noise, into each part of a register, on all processors that have it.
func TestRoundingWithNoise(t *testing.T) {
	formats := references()
	formats["fp8fnuz"], formats["bf8fnuz"] = &reference{exponent: 4, mantissa: 3, bias: 8}, &reference{exponent: 5, mantissa: 2, bias: 16}
	for _, name := range []string{"fp8fnuz", "bf8fnuz"} {
		r := formats[name]
		for code := range uint32(128) {
			r.values = append(r.values, r.value(code))
		}
	}
	for _, arch := range []string{"gfx942", "gfx950"} {
		type kernel struct {
			body, format string
			at           uint
		}
		var kernels []kernel
		for b := range uint(4) {
			for _, f := range []string{"fp8", "bf8"} {
				kernels = append(kernels, kernel{fmt.Sprintf("__builtin_amdgcn_cvt_sr_%s_f32(x, seed, 0x5aa55aa5, %d)", f, b), f + map[string]string{"gfx942": "fnuz"}[arch], 8 * b})
			}
		}
		if arch == "gfx950" {
			for b := range uint(2) {
				kernels = append(kernels, kernel{fmt.Sprintf("__builtin_bit_cast(u32, __builtin_amdgcn_cvt_sr_bf16_f32(__builtin_bit_cast(b2, 0x5aa55aa5), x, seed, %d))", b), "bf16", 16 * b},
					kernel{fmt.Sprintf("__builtin_bit_cast(u32, __builtin_amdgcn_cvt_sr_f16_f32(__builtin_bit_cast(h2, 0x5aa55aa5), x, seed, %d))", b), "f16", 16 * b})
			}
		}
		var src strings.Builder
		src.WriteString("typedef __bf16 b2 __attribute__((ext_vector_type(2))); typedef _Float16 h2 __attribute__((ext_vector_type(2)));\n")
		for n, k := range kernels {
			fmt.Fprintf(&src, "KERNEL c%d(const float *a, const u32 *b, u32 *out, u32 n) { u32 i = GID; if (i >= n) return; float x = a[i]; u32 seed = b[i]; out[i] = %s; }\n", n, k.body)
		}
		m := loadHIP(t, arch, "-O2", src.String())
		for n, k := range kernels {
			f := formats[k.format]
			r := launchTest(t, m, fmt.Sprint("c", n), func(a, b []byte) {
				random(a, b)
				rng := rand.New(rand.NewPCG(1, uint64(n)))
				for i := 0; i+4 <= len(a); i += 4 { // from below the smallest number to the largest
					low, high := 127-f.bias-int(f.mantissa)-1, 127-f.bias+1<<f.exponent-3
					e := uint32(min(max(low+rng.IntN(high-low), 1), 254))
					binary.LittleEndian.PutUint32(a[i:], e<<23|rng.Uint32()&0x807fffff)
				}
			})
			for i := range r.n {
				x, seed := float64(f32(r.inA(i))), r.inB(i)
				want, _ := f.code(x, seed, 23-f.mantissa)
				if strings.HasSuffix(k.format, "fnuz") && want == 0x80 {
					want = 0 // there is one zero
				}
				size := f.size()
				got := r.got(i) >> k.at & (1<<size - 1)
				rest := ^(uint32(1<<size-1) << k.at)
				if got != want || r.got(i)&rest != 0x5aa55aa5&rest {
					t.Fatalf("%s %s: %g with 0x%08x: 0x%x of 0x%08x, want 0x%x", arch, k.body, x, seed, got, r.got(i), want)
				}
			}
		}
	}
}

// Faces of a cube, as of the documents' pseudocode.
func TestCubes(t *testing.T) {
	abs := func(v float32) float32 { return float32(math.Abs(float64(v))) }
	major := func(f func(x, y, z float32, axis int, negative bool) float32) func(x, y, z uint32) uint32 {
		return func(a, b, c uint32) uint32 {
			x, y, z := f32(a), f32(b), f32(c)
			switch {
			case abs(z) >= abs(x) && abs(z) >= abs(y):
				return u32(f(x, y, z, 2, z < 0))
			case abs(y) >= abs(x):
				return u32(f(x, y, z, 1, y < 0))
			}
			return u32(f(x, y, z, 0, x < 0))
		}
	}
	cases := []asmCase{
		{"v_cubeid_f32 %0, %1, %2, %3", major(func(_, _, _ float32, axis int, negative bool) float32 {
			return map[bool][]float32{false: {0, 2, 4}, true: {1, 3, 5}}[negative][axis]
		})},
		{"v_cubesc_f32 %0, %1, %2, %3", major(func(x, _, z float32, axis int, negative bool) float32 {
			return map[bool][]float32{false: {-z, x, x}, true: {z, x, -x}}[negative][axis]
		})},
		{"v_cubetc_f32 %0, %1, %2, %3", major(func(_, y, z float32, axis int, negative bool) float32 {
			return map[bool][]float32{false: {-y, z, -y}, true: {-y, -z, -y}}[negative][axis]
		})},
		{"v_cubema_f32 %0, %1, %2, %3", major(func(x, y, z float32, axis int, _ bool) float32 { return []float32{2 * x, 2 * y, 2 * z}[axis] })},
	}
	finite := func(a, b []byte) { // z is made of the bits of x and y: all three between 2^-64 and 2^64
		random(a, b)
		for i := range a {
			if i%4 == 3 {
				a[i], b[i] = a[i]&0x80|0x30+a[i]&0x1f, b[i]&0x80
			}
		}
	}
	testAsm(t, "gfx900", finite, cases)
}

// Every data format of buffers that is supported with every number format it has,
// loaded and stored, as f32 and as 16 bits.
func TestBufferFormats(t *testing.T) {
	const source = `
typedef u32 u4 __attribute__((ext_vector_type(4))); typedef u32 u2 __attribute__((ext_vector_type(2)));
KERNEL format(const u32 *p, u32 *o, u32 stride, u32 flags) {
  u4 d = {(u32)(u64)p, (u32)((u64)p >> 32) | stride << 16, 64, flags}, e = {(u32)(u64)(o + 64 * 6), (u32)((u64)(o + 64 * 6) >> 32) | stride << 16, 64, flags}, v; u2 h;
  asm volatile("buffer_load_format_xyzw %0, %2, %3, 0 idxen\nbuffer_load_format_d16_xyzw %1, %2, %3, 0 idxen\ns_waitcnt vmcnt(0)\nbuffer_store_format_xyzw %0, %2, %4, 0 idxen\ns_waitcnt vmcnt(0)" : "=&v"(v), "=&v"(h) : "v"(TID), "s"(d), "s"(e) : "memory");
  for (int k = 0; k < 4; k++) o[TID * 6 + k] = v[k]; o[TID * 6 + 4] = h.x; o[TID * 6 + 5] = h.y; }
`
	m := loadHIP(t, "gfx900", "-O2", source)
	formats := map[uint32][]uint{1: {8}, 2: {16}, 3: {8, 8}, 4: {32}, 5: {16, 16}, 9: {10, 10, 10, 2}, 10: {8, 8, 8, 8}, 11: {32, 32}, 12: {16, 16, 16, 16}, 13: {32, 32, 32}, 14: {32, 32, 32, 32}}
	half := references()["f16"]
	for data, fields := range formats {
		bytes := 0
		for _, size := range fields {
			bytes += int(size)
		}
		bytes /= 8
		for number, name := range []string{"unorm", "snorm", "uscaled", "sscaled", "uint", "sint", "", "float"} {
			if name == "" || name == "float" && fields[0] < 16 || fields[0] == 32 && number < 4 {
				continue
			}
			pin, in := alloc(t, m, 1024)
			po, out := alloc(t, m, 64*24+1024)
			random(in, nil)
			if name == "float" { // finite numbers
				for i := range in {
					if i%int(fields[0]/8) == int(fields[0]/8)-1 {
						in[i] = in[i]&0x80 | 0x38 + in[i]&7
					}
				}
			}
			args := [][]byte{u64arg(uint64(pin)), u64arg(uint64(po)), u32arg(uint32(bytes)), u32arg(4 | 5<<3 | 6<<6 | 7<<9 | uint32(number)<<12 | data<<15)}
			if _, err := m.Launch(t.Context(), "format", Dim3{1, 1, 1}, Dim3{64, 1, 1}, args, Options{}); err != nil {
				t.Fatalf("format %d, %s: %v", data, name, err)
			}
			for i := range 64 {
				var raw [4]uint32
				for k := range bytes {
					raw[k/4] |= uint32(in[i*bytes+k]) << (8 * (k % 4))
				}
				at := uint(0)
				for k := range 4 {
					integer := name == "uint" || name == "sint"
					var value float64
					want := uint32(0)
					switch {
					case k < len(fields):
						size := fields[k]
						v := bitsAt(raw[:], at, size)
						at += size
						signed := int64(v)
						if v>>(size-1) != 0 {
							signed -= 1 << size
						}
						most := float64(uint64(1)<<(size-1) - 1)
						switch name {
						case "unorm":
							value = float64(v) / (2*most + 1)
						case "snorm":
							value = math.Max(float64(signed)/most, -1)
						case "uscaled":
							value = float64(v)
						case "sscaled", "sint":
							value = float64(signed)
						case "uint":
							want = v
						case "float":
							value = float64(math.Float32frombits(v))
							if size == 16 {
								value = half.value(v)
							}
						}
						if name == "sint" {
							want = uint32(signed)
						}
					case k == 3:
						value, want = 1, 1
					}
					low := want & 0xffff
					if !integer {
						want = math.Float32bits(float32(value))
						low, _ = half.code(float64(float32(value)), 0, 0)
					}
					if got := binary.LittleEndian.Uint32(out[4*(i*6+k):]); got != want {
						t.Fatalf("format %d, %s: component %d of %d is 0x%x, want 0x%x", data, name, k, i, got, want)
					}
					if got := uint32(binary.LittleEndian.Uint16(out[4*(i*6+4)+2*k:])); got != low {
						t.Fatalf("format %d, %s: component %d of %d in 16 bits is 0x%x, want 0x%x", data, name, k, i, got, low)
					}
				}
			}
			// What was loaded and stored again is what was there, but for the lowest of
			// signed numbers, which is as much as the next one.
			for i := range 64 {
				var want, got [4]uint32
				at := uint(0)
				for k := range bytes {
					want[k/4] |= uint32(in[i*bytes+k]) << (8 * (k % 4))
					got[k/4] |= uint32(out[64*24+i*bytes+k]) << (8 * (k % 4))
				}
				for _, size := range fields {
					if name == "snorm" && bitsAt(want[:], at, size) == 1<<(size-1) {
						want[at/32] |= 1 << (at % 32)
					}
					at += size
				}
				if got != want {
					t.Fatalf("format %d, %s: element %d became 0x%x, want 0x%x", data, name, i, got, want)
				}
			}
		}
	}
}

// A barrier of all work-groups, as the device libraries have it for a cooperative
// grid: nobody goes on before all are there, and the checks know what it orders.
func TestGlobalSync(t *testing.T) {
	const source = `
#define GRID_SYNC __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); __builtin_amdgcn_s_barrier(); if (TID == 0) __builtin_amdgcn_ds_gws_barrier(groups - 1, 0); __builtin_amdgcn_s_barrier()
KERNEL turns(u32 *p, u32 groups) { for (u32 k = 0; k < 5; k++) { u32 v = p[k % 2 * groups + (BID + 1) % groups]; GRID_SYNC; if (TID == 0) p[(k + 1) % 2 * groups + BID] = v + 1; GRID_SYNC; } }
KERNEL set(u32 *p, u32 groups) { if (BID == 0 && TID == 0) __builtin_amdgcn_ds_gws_init(groups - 1, 7); if (BID == 0) p[TID] = TID; if (TID == 0) __builtin_amdgcn_ds_gws_barrier(groups - 1, 5); GRID_SYNC; if (BID == 1) p[256 + TID] = p[TID] + 1; }
`
	for _, arch := range []string{"gfx900", "gfx90a"} {
		m := loadHIP(t, arch, "-O2", source)
		for _, opts := range []Options{{}, {Deterministic: true, Seed: 3}, {Check: CheckRace, Budget: 50e6}} {
			const groups = 20
			p, mem := alloc(t, m, 8*256)
			for i := range groups {
				binary.LittleEndian.PutUint32(mem[4*i:], uint32(100*i))
			}
			if _, err := m.Launch(t.Context(), "turns", Dim3{groups, 1, 1}, Dim3{128, 1, 1}, [][]byte{u64arg(uint64(p)), u32arg(groups)}, opts); err != nil {
				t.Fatalf("%s: %v", arch, err)
			}
			for i := range groups {
				if got, want := binary.LittleEndian.Uint32(mem[4*(groups+i):]), uint32(100*((i+5)%groups)+5); got != want {
					t.Errorf("%s, %+v: work-group %d: %d, want %d", arch, opts, i, got, want)
				}
			}
			if _, err := m.Launch(t.Context(), "set", Dim3{2, 1, 1}, Dim3{256, 1, 1}, [][]byte{u64arg(uint64(p)), u32arg(2)}, opts); err != nil {
				t.Fatalf("%s: %v", arch, err)
			}
			if got := binary.LittleEndian.Uint32(mem[4*(256+77):]); got != 78 {
				t.Errorf("%s: behind the barrier %d is read, want 78", arch, got)
			}
		}
		p, _ := alloc(t, m, 8*5000)
		if _, err := m.Launch(t.Context(), "turns", Dim3{300, 1, 1}, Dim3{64, 1, 1}, [][]byte{u64arg(uint64(p)), u32arg(300)}, Options{Workers: 2, Budget: 50e6}); err != nil {
			t.Errorf("%s: 300 work-groups: %v", arch, err)
		}
		holds := map[string]string{"gfx900": "2560", "gfx90a": "3520"}[arch]
		_, err := m.Launch(t.Context(), "turns", Dim3{5000, 1, 1}, Dim3{64, 1, 1}, [][]byte{u64arg(uint64(p)), u32arg(5000)}, Options{Workers: 2})
		if err == nil || !strings.Contains(err.Error(), "a barrier of the whole grid: of 5000 work-groups the largest "+arch+" holds "+holds+" at a time") {
			t.Errorf("%s: a grid that is too large: %v", arch, err)
		}
	}
}

// Semaphores between work-groups: who waits goes on when somebody lets him, one at a
// time, several or all, whoever comes first.
func TestSemaphores(t *testing.T) {
	const source = `
#define DONE(n) if (TID == 0) __hip_atomic_fetch_add(p + n, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT)
#define UNTIL(n, v) while (__hip_atomic_load(p + n, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) < v) __builtin_amdgcn_s_sleep(1)
KERNEL one(u32 *p) { if (BID == 0) { p[8] = 5; __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent"); __builtin_amdgcn_ds_gws_sema_v(3); } if (BID == 1) { __builtin_amdgcn_ds_gws_sema_p(3); p[9] = p[8] + 1; } }
KERNEL several(u32 *p) { if (BID < 3) { __builtin_amdgcn_ds_gws_sema_p(3); DONE(0); } else if (BID == 3) { __builtin_amdgcn_ds_gws_sema_br(2, 3); UNTIL(0, 2u); p[1] = p[0]; __builtin_amdgcn_ds_gws_sema_v(3); } }
KERNEL all(u32 *p) { if (BID < 3) { DONE(1); __builtin_amdgcn_ds_gws_sema_p(3); DONE(0); } else if (BID == 3) { UNTIL(1, 3u); for (u32 k = 0; k < 100; k++) __builtin_amdgcn_s_sleep(9); __builtin_amdgcn_ds_gws_sema_release_all(3); UNTIL(0, 3u); } }
KERNEL begun(u32 *p) { if (BID == 0) __builtin_amdgcn_ds_gws_init(2, 3); __builtin_amdgcn_ds_gws_barrier(3, 9); if (BID < 2) { __builtin_amdgcn_ds_gws_sema_p(3); DONE(0); } }
KERNEL never(u32 *p) { __builtin_amdgcn_ds_gws_sema_p(4); }
`
	for _, arch := range []string{"gfx900", "gfx90a"} {
		m := loadHIP(t, arch, "-O2", source)
		for kernel, want := range map[string]map[int]uint32{"one": {8: 5, 9: 6}, "several": {0: 3, 1: 2}, "all": {0: 3}, "begun": {0: 2}} {
			for _, opts := range []Options{{Budget: 1e7}, {Deterministic: true, Seed: 5, Budget: 1e7}, {Check: CheckRace, Workers: 2, Budget: 1e7}} {
				p, mem := alloc(t, m, 64)
				if _, err := m.Launch(t.Context(), kernel, Dim3{4, 1, 1}, Dim3{64, 1, 1}, [][]byte{u64arg(uint64(p))}, opts); err != nil && kernel != "several" {
					t.Errorf("%s: %s, %+v: %v", arch, kernel, opts, err)
				}
				for at, v := range want {
					if got := load32(mem, uint64(4*at)); got != v {
						t.Errorf("%s: %s, %+v: word %d is %d, want %d", arch, kernel, opts, at, got, v)
					}
				}
			}
		}
		p, _ := alloc(t, m, 64)
		if _, err := m.Launch(t.Context(), "never", Dim3{1, 1, 1}, Dim3{64, 1, 1}, [][]byte{u64arg(uint64(p))}, Options{Budget: 1e5}); !errors.Is(err, ErrBudget) {
			t.Errorf("%s: a semaphore that nobody opens: %v", arch, err)
		}
	}
}

// Textures and other graphics are named as what they are.
func TestImagesAreRefused(t *testing.T) {
	const source = `
typedef float f4 __attribute__((ext_vector_type(4)));
KERNEL image(f4 *out, __amdgpu_texture_t t) { out[0] = __builtin_amdgcn_image_load_2d_v4f32_i32(15, 0, 0, t, 0, 0); }
`
	for _, arch := range []string{"gfx900", "gfx1030", "gfx1100", "gfx1201"} {
		d, err := NewDevice(arch)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(llvmtest.HIP(t, prelude+source, arch, "-Wno-everything"))
		if err != nil {
			t.Fatal(err)
		}
		m, err := d.Load(data)
		if err != nil {
			t.Fatal(err)
		}
		p, _ := alloc(t, m, 64)
		_, err = m.Launch(t.Context(), "image", Dim3{1, 1, 1}, Dim3{1, 1, 1}, [][]byte{u64arg(uint64(p)), u64arg(uint64(p))}, Options{})
		if err == nil || !strings.Contains(err.Error(), ofImages) || !strings.Contains(err.Error(), arch) {
			t.Errorf("%s: %v", arch, err)
		}
	}
}

// Quotients below the normal numbers are rounded once, as everywhere.
func TestDenormalQuotients(t *testing.T) {
	const source = `
KERNEL single(const float *a, const float *b, float *o, u32 n) { u32 i = GID; if (i < n) o[i] = a[i] / b[i]; }
KERNEL twice(const double *a, const double *b, double *o, u32 n) { u32 i = GID; if (i < n) o[i] = a[i] / b[i]; }
`
	modes(t, func(t *testing.T, arch, opt string) {
		m := loadHIP(t, arch, opt, source, "-fhip-fp32-correctly-rounded-divide-sqrt")
		rng := rand.New(rand.NewPCG(2, 7))
		r := launchTest(t, m, "single", func(a, b []byte) {
			for i := 0; i+4 <= len(a); i += 4 {
				e := 20 + rng.Uint32N(80)
				binary.LittleEndian.PutUint32(a[i:], e<<23|rng.Uint32()&0x807fffff)
				binary.LittleEndian.PutUint32(b[i:], (e+126+rng.Uint32N(25))<<23|rng.Uint32()&0x807fffff)
			}
		})
		for i := range r.n {
			if got, want := f32(r.got(i)), f32(r.inA(i))/f32(r.inB(i)); got != want {
				t.Fatalf("%g / %g: %b, want %b", f32(r.inA(i)), f32(r.inB(i)), got, want)
			}
		}
		r = launchTest(t, m, "twice", func(a, b []byte) {
			for i := 0; i+8 <= len(a); i += 8 {
				e := 100 + rng.Uint64N(800)
				binary.LittleEndian.PutUint64(a[i:], e<<52|rng.Uint64()&(1<<63|1<<52-1))
				binary.LittleEndian.PutUint64(b[i:], (e+1022+rng.Uint64N(53))<<52|rng.Uint64()&(1<<63|1<<52-1))
			}
		})
		for i := range r.n {
			if got, want := f64(r.got64(i)), f64(r.inA64(i))/f64(r.inB64(i)); got != want {
				t.Fatalf("%g / %g: %b, want %b", f64(r.inA64(i)), f64(r.inB64(i)), got, want)
			}
		}
	})
}

// What a descriptor asks for is bounded.
func TestTooManyArguments(t *testing.T) {
	m := loadHIP(t, "gfx900", "-O2", "KERNEL k(u32 *p) { *p = 1; }")
	k, _ := m.obj.Kernel("k")
	k.Descriptor.KernargSize = 0xfffa0008
	_, err := m.Launch(t.Context(), "k", Dim3{1, 1, 1}, Dim3{1, 1, 1}, [][]byte{u64arg(0)}, Options{})
	if err == nil || !strings.Contains(err.Error(), "4294574088 bytes of arguments: at most 1048576") {
		t.Errorf("4 GB of arguments: %v", err)
	}
}
