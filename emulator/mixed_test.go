package emulator

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// putBits writes bits into words; they do not lie in more than two.
func putBits(words []uint32, at, size uint, v uint32) {
	both := uint64(v) << (at % 32)
	words[at/32] |= uint32(both)
	if at%32+size > 32 {
		words[at/32+1] |= uint32(both >> 32)
	}
}

// Matrices of mixed formats, with scales and without, every pair of formats and every
// byte of the registers with the scales. The elements are numbers that all formats
// have and the scales small powers of two, so that all sums are exact.
func TestMixedMatrix(t *testing.T) {
	names := []string{"fp8", "bf8", "fp6", "bf6", "fp4"}
	formats := references()
	shapes := []struct {
		name    string
		m, k    int
		regs    int
		builtin string
	}{{"small", 16, 128, 4, "__builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4"}, {"large", 32, 64, 16, "__builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4"}}
	var src strings.Builder
	src.WriteString(`
typedef float v4 __attribute__((ext_vector_type(4))); typedef float v16 __attribute__((ext_vector_type(16))); typedef int i8 __attribute__((ext_vector_type(8)));
template <class C, class F> static __device__ void run(const int *p, float *o, F f) { p += TID * 18; i8 a, b; C c; const int n = sizeof c / 4;
  for (int i = 0; i < 8; i++) { a[i] = p[i]; b[i] = p[8 + i]; } for (int i = 0; i < n; i++) c[i] = (float)((int)TID - i); c = f(a, b, c, p[16], p[17]); for (int i = 0; i < n; i++) o[TID * n + i] = c[i]; }
`)
	for _, s := range shapes {
		for a := range names {
			for b := range names {
				for scaled, scales := range []string{"0, 0, 0, 0", fmt.Sprintf("%d, x, %d, y", (a+b)%4, (3*a+b+1)%4)} {
					fmt.Fprintf(&src, "KERNEL %s%d%d%d(const int *p, float *o) { run<v%d>(p, o, [](i8 a, i8 b, v%d c, int x, int y) { (void)x; (void)y; return %s(a, b, c, %d, %d, %s); }); }\n",
						s.name, a, b, scaled, s.regs, s.regs, s.builtin, a, b, scales)
				}
			}
		}
	}
	values := formats["fp4"].values
	rng := rand.New(rand.NewPCG(16, 128))
	for _, opt := range []string{"-O0", "-O2"} {
		m := loadHIP(t, "gfx950", opt, src.String())
		scaledCode := 0
		for k := range m.programs[0].code {
			if i := &m.programs[0].code[k]; i.inst != nil && strings.HasPrefix(i.inst.Name(), "v_mfma_scale_") && i.size == 4 {
				scaledCode++
			}
		}
		if scaledCode != 50 {
			t.Errorf("%s: %d scaled matrix instructions were compiled, want 50", opt, scaledCode)
		}
		for _, s := range shapes {
			pin, in := alloc(t, m, 64*18*4)
			po, out := alloc(t, m, uint64(64*s.regs*4))
			for a := range names {
				for b := range names {
					for scaled := range 2 {
						var rows [2][32][128]float64
						var words [64][18]uint32
						for side, format := range []string{names[a], names[b]} {
							f := formats[format]
							for l := range words {
								row, group := l%s.m, l/s.m
								for e := range 32 {
									k := group*32 + e
									if f.size() == 8 { // two runs of 16, half a row apart
										k = e/16*s.k/2 + group*16 + e%16
									}
									v := values[rng.IntN(len(values))]
									code := uint32(slices.Index(f.values, v))
									if rng.IntN(2) == 0 {
										v, code = -v, code|1<<(f.size()-1)
									}
									rows[side][row][k] = v
									putBits(words[l][8*side:8*side+8], uint(e)*f.size(), f.size(), code)
								}
								for n := range 4 {
									words[l][16+side] |= uint32(126+rng.IntN(3)) << (8 * n)
								}
							}
						}
						if scaled == 1 {
							for side, sel := range []int{(a + b) % 4, (3*a + b + 1) % 4} {
								for row := range s.m {
									for k := range s.k {
										rows[side][row][k] *= math.Pow(2, float64(words[row+s.m*(k/32)][16+side]>>(8*sel)&255)-127)
									}
								}
							}
						}
						for l, w := range words {
							for n, v := range w {
								binary.LittleEndian.PutUint32(in[4*(l*18+n):], v)
							}
						}
						kernel := fmt.Sprintf("%s%d%d%d", s.name, a, b, scaled)
						if _, err := m.Launch(t.Context(), kernel, Dim3{1, 1, 1}, Dim3{64, 1, 1}, [][]byte{u64arg(uint64(pin)), u64arg(uint64(po))}, Options{}); err != nil {
							t.Fatal(err)
						}
						for l := range 64 {
							for r := range s.regs {
								row, col := l/16*4+r, l%16
								if s.m == 32 {
									row, col = r/4*8+l/32*4+r%4, l%32
								}
								want := float64(l - r)
								for k := range s.k {
									want += rows[0][row][k] * rows[1][col][k]
								}
								if got := f32(binary.LittleEndian.Uint32(out[4*(l*s.regs+r):])); float64(got) != want {
									t.Fatalf("%s, %s by %s, %s: register %d of lane %d: %g, want %g", opt, names[a], names[b], kernel, r, l, got, want)
								}
							}
						}
					}
				}
			}
		}
	}
}

// A scale that is NaN makes NaN of the rows that it is for, scales at the ends do not
// run over before the sum does, and scales that are for no matrix instruction end the
// launch.
func TestScalesAtTheEnds(t *testing.T) {
	m := loadHIP(t, "gfx950", "-O2", `
typedef float v4 __attribute__((ext_vector_type(4))); typedef int i8 __attribute__((ext_vector_type(8)));
KERNEL ends(const int *p, float *o) { i8 a, b; v4 c = {0, 0, 0, 0}; for (int i = 0; i < 8; i++) a[i] = b[i] = 0x38383838; /* ones */
  c = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(a, b, c, 0, 0, 0, p[TID], 0, p[64 + TID]); for (int i = 0; i < 4; i++) o[TID * 4 + i] = c[i]; }
KERNEL alone(float *o) { asm volatile("v_mfma_ld_scale_b32 v0, v1"); o[0] = 1; }
`)
	pin, in := alloc(t, m, 512)
	po, out := alloc(t, m, 1024)
	for l := range 64 {
		a, b := uint32(127), uint32(127)
		switch l % 16 { // the row of A, the column of B
		case 3:
			a, b = 254, 0
		case 5:
			a = 254
		case 7:
			a, b = 0, 254
		}
		if l == 16+9 { // the second run of row 9
			a = 255
		}
		binary.LittleEndian.PutUint32(in[4*l:], a)
		binary.LittleEndian.PutUint32(in[256+4*l:], b)
	}
	if _, err := m.Launch(t.Context(), "ends", Dim3{1, 1, 1}, Dim3{64, 1, 1}, [][]byte{u64arg(uint64(pin)), u64arg(uint64(po))}, Options{}); err != nil {
		t.Fatal(err)
	}
	for l := range 64 {
		for r := range 4 {
			row, col := l/16*4+r, l%16
			want := 128.0
			want *= map[int]float64{3: 0x1p127, 5: 0x1p127, 7: 0x1p-127}[row] + bool64(row != 3 && row != 5 && row != 7)
			want *= map[int]float64{3: 0x1p-127, 7: 0x1p127}[col] + bool64(col != 3 && col != 7)
			got := f32(binary.LittleEndian.Uint32(out[4*(l*4+r):]))
			if row == 9 {
				if got == got {
					t.Errorf("row 9, column %d: %g, want NaN", col, got)
				}
			} else if got != float32(want) {
				t.Errorf("row %d, column %d: %g, want %g", row, col, got, float32(want))
			}
		}
	}
	_, err := m.Launch(t.Context(), "alone", Dim3{1, 1, 1}, Dim3{64, 1, 1}, [][]byte{u64arg(uint64(po))}, Options{})
	if err == nil || !strings.Contains(err.Error(), "v_mfma_ld_scale_b32 v0, v1: this instruction is not supported yet") {
		t.Errorf("scales for nothing: %v", err)
	}
}

func bool64(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Transposing loads: each of sixteen lanes gets one column of what they all load, as
// was measured on hardware for elements of 4, 8 and 16 bits. Loads of 12 and 16 bytes
// into local memory put the lanes' beside each other.
func TestTransposingLoads(t *testing.T) {
	const source = `
typedef int i2 __attribute__((ext_vector_type(2))); typedef int i3 __attribute__((ext_vector_type(3))); typedef short s4 __attribute__((ext_vector_type(4)));
#define LDS(T) (__attribute__((address_space(3))) T *)
#define FILL __shared__ u32 t[64 * 3]; for (int k = 0; k < 3; k++) t[TID * 3 + k] = in[TID * 3 + k]; SYNC
KERNEL b4(const u32 *in, u32 *o) { FILL; i2 v = __builtin_amdgcn_ds_read_tr4_b64_v2i32(LDS(i2)(t + (TID ^ 5) * 2)); o[TID * 3] = v.x; o[TID * 3 + 1] = v.y; }
KERNEL b6(const u32 *in, u32 *o) { FILL; i3 v = __builtin_amdgcn_ds_read_tr6_b96_v3i32(LDS(i3)(t + (TID ^ 5) * 3)); o[TID * 3] = v.x; o[TID * 3 + 1] = v.y; o[TID * 3 + 2] = v.z; }
KERNEL b8(const u32 *in, u32 *o) { FILL; i2 v = __builtin_amdgcn_ds_read_tr8_b64_v2i32(LDS(i2)(t + (TID ^ 5) * 2)); o[TID * 3] = v.x; o[TID * 3 + 1] = v.y; }
KERNEL b16(const u32 *in, u32 *o) { FILL; s4 w = __builtin_amdgcn_ds_read_tr16_b64_v4i16(LDS(s4)(t + (TID ^ 5) * 2)); i2 v = __builtin_bit_cast(i2, w); o[TID * 3] = v.x; o[TID * 3 + 1] = v.y; }
KERNEL some(const u32 *in, u32 *o) { FILL; if (TID < 40) { i2 v = __builtin_amdgcn_ds_read_tr8_b64_v2i32(LDS(i2)(t + TID * 2)); o[TID] = v.x; } }
KERNEL beyond(const u32 *in, u32 *o) { FILL; i2 v = __builtin_amdgcn_ds_read_tr8_b64_v2i32(LDS(i2)(t + TID * 4)); o[TID] = v.x; }
#define INTO(N) __shared__ u32 t[64 * N + 4]; \
  __builtin_amdgcn_global_load_lds((__attribute__((address_space(1))) void *)(in + (63 - TID) * 3), LDS(void) t, N * 4, 16, 0); __builtin_amdgcn_s_waitcnt(0x0f70); \
  for (int k = 0; k < 3; k++) o[TID * 3 + k] = t[TID * N + k + 4]
KERNEL into3(const u32 *in, u32 *o) { INTO(3); }
KERNEL into4(const u32 *in, u32 *o) { INTO(4); }
`
	for _, opt := range []string{"-O0", "-O2"} {
		m := loadHIP(t, "gfx950", opt, source)
		pin, in := alloc(t, m, 64*3*4+32)
		po, out := alloc(t, m, 64*3*4)
		random(in, nil)
		launch := func(kernel string) error {
			clear(out)
			_, err := m.Launch(t.Context(), kernel, Dim3{1, 1, 1}, Dim3{64, 1, 1}, [][]byte{u64arg(uint64(pin)), u64arg(uint64(po))}, Options{Check: CheckRace | CheckWait})
			return err
		}
		word := func(b []byte, n int) uint32 { return binary.LittleEndian.Uint32(b[4*n:]) }
		for _, c := range []struct {
			kernel     string
			words      int // of each lane
			bits, each int // of an element, and elements of a lane
			lanes      int // that hold a row of sixteen
		}{{"b4", 2, 4, 16, 1}, {"b6", 3, 6, 16, 1}, {"b8", 2, 8, 8, 2}, {"b16", 2, 16, 4, 4}} {
			if err := launch(c.kernel); err != nil {
				t.Fatalf("%s %s: %v", opt, c.kernel, err)
			}
			for l := range 64 {
				for e := range c.each {
					from := l&^15 | e*c.lanes + l%16/c.each
					var data []uint32
					for k := range c.words {
						data = append(data, word(in, (from^5)*c.words+k))
					}
					got := bitsAt([]uint32{word(out, 3*l), word(out, 3*l+1), word(out, 3*l+2)}, uint(e*c.bits), uint(c.bits))
					if want := bitsAt(data, uint(l%c.each*c.bits), uint(c.bits)); got != want {
						t.Fatalf("%s %s: element %d of lane %d: 0x%x, want 0x%x", opt, c.kernel, e, l, got, want)
					}
				}
			}
		}
		for _, kernel := range []string{"into3", "into4"} {
			if err := launch(kernel); err != nil {
				t.Fatalf("%s %s: %v", opt, kernel, err)
			}
			for n := range 64 * 3 {
				if got, want := word(out, n), word(in, (63-n/3)*3+4+n%3); got != want {
					t.Fatalf("%s %s: word %d of lane %d: 0x%x, want 0x%x", opt, kernel, n%3, n/3, got, want)
				}
			}
		}
		for kernel, why := range map[string]string{"some": "lanes are off: a transposing load needs all", "beyond": "load of 8 local bytes at 0x300: there are 768"} {
			if err := launch(kernel); err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%s %s: %v, want %q", opt, kernel, err, why)
			}
		}
	}
}
