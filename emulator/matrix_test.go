package emulator

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"
)

// Each wave multiplies matrices of one shape, with every lane's part put where
// the documents say; small integers keep all sums exact.
func TestMatrix(t *testing.T) {
	const source = `
typedef float v4 __attribute__((ext_vector_type(4))); typedef float v16 __attribute__((ext_vector_type(16))); typedef float v32 __attribute__((ext_vector_type(32)));
typedef _Float16 h4 __attribute__((ext_vector_type(4))); typedef double d4 __attribute__((ext_vector_type(4)));
KERNEL f16x16x4(const float *a, const float *b, float *o) { v4 c = {1, 1, 1, 1}; c = __builtin_amdgcn_mfma_f32_16x16x4f32(a[TID], b[TID], c, 0, 0, 0); for (int i = 0; i < 4; i++) o[TID * 4 + i] = c[i]; }
KERNEL f32x32x2(const float *a, const float *b, float *o) { v16 c = {}; for (int i = 0; i < 16; i++) c[i] = 1; c = __builtin_amdgcn_mfma_f32_32x32x2f32(a[TID], b[TID], c, 0, 0, 0); for (int i = 0; i < 16; i++) o[TID * 16 + i] = c[i]; }
KERNEL f32x32x1(const float *a, const float *b, float *o) { v32 c = {}; for (int i = 0; i < 32; i++) c[i] = 1; c = __builtin_amdgcn_mfma_f32_32x32x1f32(a[TID], b[TID], c, 0, 0, 0); for (int i = 0; i < 32; i++) o[TID * 32 + i] = c[i]; }
KERNEL f4x4x1(const float *a, const float *b, float *o) { v4 c = {1, 1, 1, 1}; c = __builtin_amdgcn_mfma_f32_4x4x1f32(a[TID], b[TID], c, 0, 0, 0); for (int i = 0; i < 4; i++) o[TID * 4 + i] = c[i]; }
KERNEL h16x16x16(const float *a, const float *b, float *o) { v4 c = {1, 1, 1, 1}; h4 x, y; for (int i = 0; i < 4; i++) { x[i] = (_Float16)a[TID * 4 + i]; y[i] = (_Float16)b[TID * 4 + i]; } c = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, c, 0, 0, 0); for (int i = 0; i < 4; i++) o[TID * 4 + i] = c[i]; }
`
	for _, arch := range []string{"gfx908", "gfx942"} {
		for _, opt := range []string{"-O0", "-O3"} {
			m := loadHIP(t, arch, opt, source)
			for _, c := range []struct {
				kernel             string
				m, k, blocks, each int // each: elements of A of a lane
				place              func(r, l int) (block, row, col int)
			}{
				{"f16x16x4", 16, 4, 1, 1, func(r, l int) (int, int, int) { return 0, l/16*4 + r, l % 16 }},
				{"f32x32x2", 32, 2, 1, 1, func(r, l int) (int, int, int) { return 0, r/4*8 + l/32*4 + r%4, l % 32 }},
				{"f32x32x1", 32, 1, 2, 1, func(r, l int) (int, int, int) { return r / 16, r%16/4*8 + l/32*4 + r%4, l % 32 }},
				{"f4x4x1", 4, 1, 16, 1, func(r, l int) (int, int, int) { return l / 4, r, l % 4 }},
				{"h16x16x16", 16, 16, 1, 4, func(r, l int) (int, int, int) { return 0, l/16*4 + r, l % 16 }},
			} {
				t.Run(fmt.Sprint(arch, opt, c.kernel), func(t *testing.T) {
					pa, a := alloc(t, m, 64*4*4)
					pb, b := alloc(t, m, 64*4*4)
					po, out := alloc(t, m, 64*32*4)
					for i := range 64 * c.each {
						binary.LittleEndian.PutUint32(a[4*i:], math.Float32bits(float32(i*7%23-11)))
						binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(float32(i*5%19-9)))
					}
					_, err := m.Launch(t.Context(), c.kernel, Dim3{1, 1, 1}, Dim3{64, 1, 1}, [][]byte{u64arg(uint64(pa)), u64arg(uint64(pb)), u64arg(uint64(po))}, Options{})
					if err != nil {
						t.Fatal(err)
					}
					at := func(s []byte, block, row, k int) float32 {
						lane := row + c.m*(block+c.blocks*(k/c.each))
						return f32(binary.LittleEndian.Uint32(s[4*(lane*c.each+k%c.each):]))
					}
					regs := c.m * c.m * c.blocks / 64
					for l := range 64 {
						for r := range regs {
							block, row, col := c.place(r, l)
							want := float32(1)
							for k := range c.k {
								want += at(a, block, row, k) * at(b, block, col, k)
							}
							if got := f32(binary.LittleEndian.Uint32(out[4*(l*regs+r):])); got != want {
								t.Fatalf("register %d of lane %d: %g, want %g", r, l, got, want)
							}
						}
					}
				})
			}
		}
	}
}
