package emulator

import "testing"

// Kernels read the clocks of each RDNA, which go on.
func TestRDNAClocks(t *testing.T) {
	for _, arch := range []string{"gfx1030", "gfx1100", "gfx1201"} {
		m := loadHIP(t, arch, "-O2", `
KERNEL clocks(u64 *out) { u64 a = __builtin_readcyclecounter(), c = __builtin_readsteadycounter(); __builtin_amdgcn_s_sleep(1);
  out[0] = __builtin_readcyclecounter() - a; out[1] = __builtin_readsteadycounter() - c; out[2] = a; out[3] = c; }
`)
		po, out := alloc(t, m, 64)
		if _, err := m.Launch(t.Context(), "clocks", Dim3{1, 1, 1}, Dim3{1, 1, 1}, [][]byte{u64arg(uint64(po))}, Options{Deterministic: true, Check: CheckWait}); err != nil {
			t.Fatal(err)
		}
		for n, name := range []string{"cycles between", "ticks between", "cycles", "ticks"} {
			if v := *word64(out, uint64(8*n)); v == 0 || n < 2 && v > 1<<20 {
				t.Errorf("%s: %d %s", arch, v, name)
			}
		}
	}
}
