package isa

import (
	"testing"

	"github.com/stonemason-hip/stonemason/emulator/isa/internal/oracle"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

// What the corpus meets by chance alone is as LLVM has it: all formats of matrices
// and of their scales, literals of 64 bits that have a name or could be shorter, and
// constants that both halves of an instruction of two have.
func TestRareFormsAgreeWithLLVM(t *testing.T) {
	var matrices, literals, duals [][]uint32
	for a := range uint32(8) {
		for b := range uint32(8) {
			formats := [2]uint32{0xcc330068 | a<<11 | b>>2<<14, 0x04a23108 | b&3<<27}
			matrices = append(matrices, formats[:],
				[]uint32{0xcc350000 | a<<11&0x800 | b<<8&0x300, 0x04020501 | a<<28&0x60000000 | b<<25&0x08000000, formats[0], formats[1]},
				[]uint32{0xcc3a0000 | a<<13&0x6000, 0x04020902 | a<<28&0x60000000, formats[0], formats[1] | b<<29})
		}
	}
	for _, v := range []uint64{0, 5, 0x41, 0x80000000, 1 << 32, 0xfffffffffffffff0, 0xffffffffffffffef, 0xffffffff80000000, 0x3fe << 52, 0xbff << 52,
		0x400 << 52, 0xc01 << 52, 0x3ff8 << 48, 0x3ff<<52 | 1, 0x3fc45f306dc9c882, 0xbfc45f306dc9c882, 0x123456789abcdef0, 0x3f80000000000000} {
		for _, word := range []uint32{0xbe8001fe, 0x7e043afe, 0x040404fe, 0x48040440, 0x7c4204fe, 0xa98000fe} {
			literals = append(literals, []uint32{word, uint32(v), uint32(v >> 32)})
		}
	}
	for _, v := range []uint32{0x40, 0x41, 0xfffffff0, 0x3f800000, 0xbf000000, 0x3e22f983, 0x3c00} {
		duals = append(duals, []uint32{0xc88396eb, 0x057344ff, v}, []uint32{0xc88396ff, 0x057344ff, v}, []uint32{0xc84396ff, 0x05104480, v})
	}
	for _, c := range []struct {
		processor string
		probes    [][]uint32
	}{{"gfx1250", matrices}, {"gfx1251", literals}, {"gfx1250", duals}, {"gfx1200", duals}, {"gfx1150", duals}} {
		llvm := oracle.Disassembler{MC: llvmtest.Tool(t, "llvm-mc"), Objdump: llvmtest.Tool(t, "llvm-objdump"), Target: c.processor}
		answers, err := llvm.Ask(t.Context(), c.probes)
		if err != nil {
			t.Fatal(err)
		}
		d, err := NewDecoder(c.processor)
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range answers {
			inst, err := d.Decode(bytesOf(c.probes[i]))
			if err != nil || inst.String() != a.Text || int(inst.Size) != a.Size {
				t.Errorf("%s: %08x: %q (%d bytes, %v), want %q (%d bytes)", c.processor, c.probes[i], inst.String(), inst.Size, err, a.Text, a.Size)
			}
		}
	}
}
