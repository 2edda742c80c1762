package emulator

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// Whatever the bytes are, a kernel of them ends: well, or with an error. Each
// instruction that decodes stands alone in front of the end of a kernel.
func TestAnyInstructionEnds(t *testing.T) {
	for _, arch := range []string{"gfx942", "gfx1030", "gfx1100", "gfx1201"} {
		for n, flags := range [][]string{{"-mwavefrontsize64"}, {"-mno-wavefrontsize64"}} {
			if arch == "gfx942" {
				if n == 1 {
					continue
				}
				flags = nil
			}
			m := loadHIP(t, arch, "-O2", `KERNEL any(u32 *p) { asm volatile("s_nop 0\ns_nop 0\ns_nop 0"); }`, flags...)
			program := m.programs[n]
			k, ok := m.obj.Kernel("any")
			if !ok {
				t.Fatal("no kernel")
			}
			entry := int(k.Entry-program.base) / 4
			rng := rand.New(rand.NewPCG(1, uint64(n)))
			p, _ := alloc(t, m, 4096)
			tried, faults := 0, 0
			for tried < 1500 {
				var code [12]byte
				binary.LittleEndian.PutUint32(code[:], rng.Uint32())
				binary.LittleEndian.PutUint64(code[4:], rng.Uint64()&rng.Uint64()&rng.Uint64())
				inst, err := program.decoder.Decode(code[:])
				if err != nil || operations()[inst.Name()] == nil {
					continue
				}
				i := &program.code[entry]
				*i = instr{inst: &inst, size: inst.Size / 4}
				resolve(i, entry)
				if n == 1 {
					keepExec(i)
				}
				tried++
				if _, err := m.Launch(context.Background(), "any", Dim3{1, 1, 1}, Dim3{70, 1, 1}, [][]byte{u64arg(uint64(p))}, Options{Budget: 20000, Workers: 1}); err != nil {
					faults++
				}
			}
			t.Logf("%s %v: %d instructions, %d errors", arch, flags, tried, faults)
		}
	}
}
