package emulator

import (
	"encoding/binary"
	"testing"
)

// Managed variables are reached by kernels and by the host, with what they begin with.
func TestManagedVariables(t *testing.T) {
	const source = `
__attribute__((managed)) u32 total = 5;
__attribute__((managed)) u32 table[64];
KERNEL add(u32 n) { if (TID == 0) total += n; table[TID] = TID * n; }
`
	for _, arch := range []string{"gfx900", "gfx942", "gfx1100"} {
		m := loadHIP(t, arch, "-O1", source)
		bytes := func(name string, size uint64) []byte {
			p, n, err := m.Symbol(name)
			if err != nil || n != size {
				t.Fatalf("%s: %s has %d bytes, want %d: %v", arch, name, n, size, err)
			}
			b, err := m.dev.Bytes(p, n)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		total, table := bytes("total", 4), bytes("table", 256)
		binary.LittleEndian.PutUint32(total, binary.LittleEndian.Uint32(total)+100)
		if _, err := m.Launch(t.Context(), "add", Dim3{1, 1, 1}, Dim3{64, 1, 1}, [][]byte{u32arg(7)}, Options{}); err != nil {
			t.Fatal(err)
		}
		if got := binary.LittleEndian.Uint32(total); got != 112 {
			t.Errorf("%s: the sum is %d, want 112", arch, got)
		}
		for i := range 64 {
			if got := binary.LittleEndian.Uint32(table[4*i:]); got != uint32(7*i) {
				t.Errorf("%s: table[%d] is %d, want %d", arch, i, got, 7*i)
			}
		}
	}
}
