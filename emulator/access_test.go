package emulator

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

const accessSource = `
typedef unsigned char u8; typedef unsigned short u16; typedef u32 u32x3 __attribute__((ext_vector_type(3), aligned(1))); typedef u32 u32x4 __attribute__((ext_vector_type(4), aligned(1)));
typedef u32 l32 __attribute__((aligned(1))); typedef u64 l64 __attribute__((aligned(1))); typedef u16 l16 __attribute__((aligned(1)));
#define BOTH(name, type) \
  KERNEL load_##name(char *p, u64 at, u32 *out) { if (TID == 5) { type v = *(volatile type *)(p + at); __builtin_memcpy(out, &v, 4 < sizeof v ? 4 : sizeof v); } } \
  KERNEL store_##name(char *p, u64 at, u32 *out) { if (TID == 5) { type v = {}; *(volatile type *)(p + at) = v; } } \
  KERNEL lds_load_##name(char *p, u64 at, u32 *out) { __shared__ char t[64]; t[TID] = 1; SYNC; if (TID == 5) { type v = *(volatile __attribute__((address_space(3))) type *)((__attribute__((address_space(3))) char *)t + at); __builtin_memcpy(out, &v, 4 < sizeof v ? 4 : sizeof v); } } \
  KERNEL lds_store_##name(char *p, u64 at, u32 *out) { __shared__ char t[64]; t[TID] = 1; SYNC; if (TID == 5) { type v = {}; *(volatile __attribute__((address_space(3))) type *)((__attribute__((address_space(3))) char *)t + at) = v; } *out = t[0]; }
BOTH(1, u8) BOTH(2, l16) BOTH(4, l32) BOTH(8, l64) BOTH(12, u32x3) BOTH(16, u32x4)
KERNEL add_4(char *p, u64 at, u32 *out) { if (TID == 5) __hip_atomic_fetch_add((u32 *)(p + at), 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
KERNEL add_8(char *p, u64 at, u32 *out) { if (TID == 5) __hip_atomic_fetch_add((u64 *)(p + at), 1ull, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
KERNEL lds_add_4(char *p, u64 at, u32 *out) { __shared__ u32 t[16]; if (TID == 5) __hip_atomic_fetch_add((__attribute__((address_space(3))) u32 *)((u32)(__attribute__((address_space(3))) char *)t + (u32)at), 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP); *out = t[3]; }
KERNEL scalar(const u32 *p, u64 at, u32 *out) { out[0] = *(const u32 *)((const char *)p + at); }
KERNEL stack(char *p, u64 at, u32 *out) { volatile char v[32]; for (u32 k = 0; k < 32; k++) v[k] = k; if (TID == 5) v[at] = 1; out[0] = v[(TID ^ 5) & 31]; }
__device__ u32 variable = 1; __constant__ u32 constant[4] = {1, 2, 3, 4};
KERNEL writes(char *p, u64 at, u32 *out) { if (TID != 5) return; if (at == 0) *(volatile u32 *)&variable = 2; else if (at == 1) *(volatile u32 *)(u32 *)&constant[2] = 2; else *(volatile u32 *)(void *)&writes = 2; }
`

// Every access is inside of what it is for, to the byte, whatever its width and wherever
// it begins; where it is not, the fault says which lane wanted what.
func TestAccesses(t *testing.T) {
	for _, arch := range []string{"gfx900", "gfx942", "gfx1030", "gfx1201"} {
		m := loadHIP(t, arch, "-O2", accessSource)
		const size = 101 // its last word is no whole one
		launch := func(kernel string, at int64, p Pointer) error {
			po, _ := alloc(t, m, 4)
			_, err := m.Launch(t.Context(), kernel, Dim3{1, 1, 1}, Dim3{64, 1, 1}, [][]byte{u64arg(uint64(p)), u64arg(uint64(at)), u64arg(uint64(po))}, Options{})
			return err
		}
		expect := func(kernel string, at int64, p Pointer, lane int, want string) {
			t.Helper()
			err := launch(kernel, at, p)
			var f *Fault
			switch {
			case want == "" && err != nil:
				t.Errorf("%s: %s at %d: %v", arch, kernel, at, err)
			case want != "" && (!errors.As(err, &f) || !strings.Contains(f.Reason, want) || f.Lane != lane || f.Instruction == "" || f.Kernel != kernel):
				t.Errorf("%s: %s at %d: %v, want %q in lane %d", arch, kernel, at, err, want, lane)
			}
		}
		for _, n := range []int64{1, 2, 4, 8, 12, 16} {
			for _, verb := range []string{"load", "store"} {
				p, _ := alloc(t, m, size)
				kernel := fmt.Sprintf("%s_%d", verb, n)
				reaches := fmt.Sprintf("%s of %d bytes at 0x", verb, n)
				for at := int64(0); at < 8 && n <= 16; at++ { // all are allowed where they are not aligned
					expect(kernel, at, p, 5, "")
				}
				expect(kernel, size-n, p, 5, "")
				expect(kernel, size-n+1, p, 5, reaches)
				expect(kernel, -1, p, 5, ", 1 bytes before allocation of 101 bytes")
				expect(kernel, size+7, p, 5, ", 7 bytes behind the end of allocation of 101 bytes")
				expect(kernel, 8, 0, 5, "a null pointer")
				expect(kernel, 1<<40, p, 5, "nothing is allocated there")
				local := "lds_" + kernel
				expect(local, 64-n, p, 5, "")
				expect(local, 64-n+1, p, 5, "local bytes at 0x")
				expect(local, 1<<16, p, 5, "local bytes at 0x")
				if err := m.dev.Free(p); err != nil {
					t.Fatal(err)
				}
				expect(kernel, 3, p, 5, "nothing is allocated there any more: allocation of 101 bytes was given back")
			}
		}
		p, _ := alloc(t, m, 128)
		for _, c := range []struct {
			kernel string
			at     int64
			lane   int
			want   string
		}{
			{"add_4", 4, 5, ""}, {"add_4", 2, 5, "not aligned to 4 bytes"}, {"add_4", 127, 5, "not aligned"}, {"add_4", 128, 5, "nothing is allocated"},
			{"add_8", 8, 5, ""}, {"add_8", 4, 5, "not aligned to 8 bytes"},
			{"lds_add_4", 12, 5, ""}, {"lds_add_4", 6, 5, "not aligned to 4 bytes"}, {"lds_add_4", 64, 5, "local bytes"},
			{"scalar", 124, -1, ""}, {"scalar", 126, -1, "not aligned to 4 bytes"}, {"scalar", 128, -1, "directly behind"}, {"scalar", -4, -1, "4 bytes before"},
			{"stack", 31, 5, ""}, {"stack", 1 << 12, 5, "private bytes at 0x"},
			{"writes", 0, 5, ""}, {"writes", 1, 5, "constants of the code object cannot be written"}, {"writes", 2, 5, "code of the code object cannot be written"},
		} {
			expect(c.kernel, c.at, p, c.lane, c.want)
		}
	}
}
