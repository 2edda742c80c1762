package emulator

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"
)

// A transposing load is what makes the columns of a matrix that lies row by row the
// operand of V_WMMA, with the same addresses in both sizes of waves.
const tileLoadSource = `
typedef _Float16 half; typedef half hv __attribute__((ext_vector_type(N))); typedef short sv __attribute__((ext_vector_type(N))); typedef float fv __attribute__((ext_vector_type(N)));
typedef int iv __attribute__((ext_vector_type(N)));
#define GLOBAL __attribute__((address_space(1)))
#define K16(l, e) (((e) / 4 * 2 + (l) / 16) * 4 + (e) % 4) // of a wave of 32 lanes
KERNEL raw16(const half *b, sv *out, u32 ld, u32 step) { u32 l = TID; out[l] = TR16((GLOBAL sv *)(l < 32 ? b + l * step : 0)); }
KERNEL upper(const half *b, sv *out, const half *other) { u32 l = TID; out[l] = TR16((GLOBAL sv *)(l < 32 ? b + l * 8 : other)); }
KERNEL raw8(const char *b, raw8_t *out, u32 ld, u32 step) { u32 l = TID; out[l] = TR8((GLOBAL raw8_t *)(l < 32 ? b + l * step : 0)); }
KERNEL product16(const half *a, const half *b, float *c, u32 ld) { u32 l = TID; hv x; fv sum = 0;
  for (u32 e = 0; e < N; e++) x[e] = a[l % 16 * 16 + (N == 8 ? K16(l, e) : l / 16 * 4 + e)];
  sv y = TR16((GLOBAL sv *)(l < 32 ? b + K16(l, l % 8) * ld + l / 8 % 2 * 8 : 0));
  sum = WMMA16(x, __builtin_bit_cast(hv, y), sum);
  for (u32 r = 0; r < N; r++) c[(l / 16 * N + r) * 16 + l % 16] = sum[r]; }
KERNEL product8(const char *a, const char *b, int *c, u32 ld) { u32 l = TID; iv sum = 0; union { char bytes[N]; raw8_t all; } x;
  u32 g = l / 16; if (N == 4 && (g == 1 || g == 2)) g = 3 - g;
  for (u32 e = 0; e < N; e++) x.bytes[e] = a[l % 16 * 16 + g * N + e];
  raw8_t y = TR8((GLOBAL raw8_t *)(l < 32 ? b + (l / 16 * 8 + l / 8 % 2 * 4 + l % 4) * ld + l / 4 % 2 * 8 : 0));
  sum = WMMA8(true, x.all, true, y, sum, false);
  for (u32 r = 0; r < N; r++) c[(l / 16 * N + r) * 16 + l % 16] = sum[r]; }
KERNEL off(const half *b, sv *out) { if (TID != 3) out[TID] = TR16((GLOBAL sv *)(b + TID * 8)); }
KERNEL none(const half *b, sv *out) { asm volatile("s_mov_b64 s[20:21], exec\ns_mov_b64 exec, 0\nglobal_load_tr_b128 v[10:REG], v[10:11], off\ns_wait_loadcnt 0\ns_mov_b64 exec, s[20:21]" ::: "v10", "v11", "v12", "v13", "s20", "s21"); out[TID] = (short)TID; }
`

func tileModule(t *testing.T, wide bool) *Module {
	words := []string{"TR16", "__builtin_amdgcn_global_load_tr_b128_v8i16", "TR8", "__builtin_amdgcn_global_load_tr_b64_v2i32",
		"WMMA16", "__builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12", "WMMA8", "__builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12", "REG", "13"}
	head, flags := "#define N 8\ntypedef int raw8_t __attribute__((ext_vector_type(2)));", []string(nil)
	if wide {
		words = []string{"TR16", "__builtin_amdgcn_global_load_tr_b128_v4i16", "TR8", "__builtin_amdgcn_global_load_tr_b64_i32",
			"WMMA16", "__builtin_amdgcn_wmma_f32_16x16x16_f16_w64_gfx12", "WMMA8", "__builtin_amdgcn_wmma_i32_16x16x16_iu8_w64_gfx12", "REG", "11"}
		head, flags = "#define N 4\ntypedef int raw8_t;", []string{"-mwavefrontsize64"}
	}
	return loadHIP(t, "gfx1201", "-O2", head+strings.NewReplacer(words...).Replace(tileLoadSource), flags...)
}

func TestTransposingLoadsOfRDNA(t *testing.T) {
	for _, wide := range []bool{false, true} {
		t.Run(fmt.Sprint("wide=", wide), func(t *testing.T) {
			m, size := tileModule(t, wide), uint32(32)
			if wide {
				size = 64
			}
			launch := func(kernel string, args ...[]byte) error {
				t.Helper()
				_, err := m.Launch(t.Context(), kernel, Dim3{1, 1, 1}, Dim3{size, 1, 1}, args, Options{Count: true, Check: CheckWait | CheckRace | CheckInit, Budget: 1e6})
				return err
			}
			must := func(kernel string, args ...[]byte) {
				t.Helper()
				if err := launch(kernel, args...); err != nil {
					t.Fatal(err)
				}
			}
			elements := 8 * 32 / int(size)

			// What was measured on gfx1201, with the rows of a lane apart and close: which
			// element of memory each lane gets.
			for _, step := range []int{8, 24} {
				pb, b := alloc(t, m, 4096)
				po, out := alloc(t, m, 1024)
				for i := range len(b) / 2 {
					binary.LittleEndian.PutUint16(b[2*i:], uint16(i))
				}
				must("raw16", u64arg(uint64(pb)), u64arg(uint64(po)), u32arg(0), u32arg(uint32(step)))
				for l := range int(size) {
					for e := range elements {
						at := e + l/32*elements
						want := (l%32/8*8+at)*step + l%8
						if got := int(binary.LittleEndian.Uint16(out[2*(l*elements+e):])); got != want {
							t.Fatalf("16 bits, step %d: lane %d, element %d: %d, want %d", step, l, e, got, want)
						}
					}
				}
				for i := range b {
					b[i] = byte(i)
				}
				must("raw8", u64arg(uint64(pb)), u64arg(uint64(po)), u32arg(0), u32arg(uint32(step)))
				for l := range int(size) {
					for e := range elements {
						L, s := l%32, e+l/32*elements
						from := L/8%2*4 + L/16*16 + s%4 + s/4*8
						if got, want := out[l*elements+e], byte(from*step+L%8); got != want {
							t.Fatalf("8 bits, step %d: lane %d, element %d: %d, want %d", step, l, e, got, want)
						}
					}
				}
			}

			// The product, row by row, with rows of 24 elements.
			const ld = 24
			pa, a := alloc(t, m, 512)
			pb, b := alloc(t, m, 16*ld*2)
			pc, c := alloc(t, m, 1024)
			value := func(n, i int) int { return (i*7+n*5+i/16*3)%13 - 6 }
			for i := range 256 {
				binary.LittleEndian.PutUint16(a[2*i:], toHalf(float64(value(0, i))))
			}
			for i := range 16 * ld {
				binary.LittleEndian.PutUint16(b[2*i:], toHalf(float64(value(1, i))))
			}
			must("product16", u64arg(uint64(pa)), u64arg(uint64(pb)), u64arg(uint64(pc)), u32arg(ld))
			product := func(i int) (sum int) {
				for k := range 16 {
					sum += value(0, i/16*16+k) * value(1, k*ld+i%16)
				}
				return sum
			}
			for i := range 256 {
				if got := f32(load32(c, uint64(4*i))); got != float32(product(i)) {
					t.Fatalf("f16: element %d: %g, want %d", i, got, product(i))
				}
			}
			for i := range 256 {
				a[i] = byte(value(0, i))
			}
			for i := range 16 * ld {
				b[i] = byte(value(1, i))
			}
			must("product8", u64arg(uint64(pa)), u64arg(uint64(pb)), u64arg(uint64(pc)), u32arg(ld))
			for i := range 256 {
				if got := int32(load32(c, uint64(4*i))); int(got) != product(i) {
					t.Fatalf("iu8: element %d: %d, want %d", i, got, product(i))
				}
			}

			if err := launch("off", u64arg(uint64(pb)), u64arg(uint64(pc))); err == nil || !strings.Contains(err.Error(), "lanes are off") {
				t.Errorf("with a lane off: %v", err)
			}
			must("none", u64arg(uint64(pb)), u64arg(uint64(pc)))
			if err := launch("raw16", u64arg(uint64(pb)), u64arg(uint64(pc)), u32arg(0), u32arg(math.MaxInt32)); err == nil || !strings.Contains(err.Error(), "load of 16 bytes") {
				t.Errorf("beyond the buffer: %v", err)
			}

			// Nobody has written there: the lanes of 16 bytes are looked at, and those alone.
			pu, err := m.dev.Alloc(4096)
			if err != nil {
				t.Fatal(err)
			}
			must("upper", u64arg(uint64(pb)), u64arg(uint64(pc)), u64arg(uint64(pu)))
			if err := launch("raw16", u64arg(uint64(pu)), u64arg(uint64(pc)), u32arg(0), u32arg(8)); err == nil || !strings.Contains(err.Error(), "load of 16 bytes") || !strings.Contains(err.Error(), "nobody has written") {
				t.Errorf("of what nobody wrote: %v", err)
			}
		})
	}
}
