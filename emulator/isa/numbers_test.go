package isa

import (
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/emulator/isa/internal/oracle"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

// What has names is called as LLVM does on every processor: all hardware registers,
// messages, and counters that are waited for, of which the corpus has few.
func TestNamedNumbersAgreeWithLLVM(t *testing.T) {
	tab, err := load()
	if err != nil {
		t.Fatal(err)
	}
	for _, col := range tab.columns {
		if col.wave64 && col.family.Generation > 9 {
			continue // as in waves of 32 lanes
		}
		var probes [][]uint32
		for _, op := range []struct {
			mnemonic string
			numbers  []uint32
		}{
			{"s_getreg_b32", numbers(64, 0xf800, 0x0940)}, {"s_setreg_b32", numbers(64, 0xf800)},
			{"s_sendmsg", append(numbers(256, 0), numbers(64, 0x100, 0x200, 0x300, 0x400)...)},
			{"s_waitcnt", numbers(64, 0, 0x40, 0x0f80, 0xc07f, 0xffc0, 0x3f00)},
			{"s_waitcnt_depctr", numbers(256, 0, 0x0f00, 0xf000, 0xff00, 0x1200)}, {"s_wait_alu", numbers(256, 0, 0x0f00, 0xf000, 0xff00, 0x1200)},
			{"s_delay_alu", numbers(256, 0, 0x100, 0x380, 0x500)},
		} {
			for e, rows := range col.family.rows {
				for index, list := range rows {
					if !slices.ContainsFunc(list, func(r *row) bool {
						return r.mnemonic == op.mnemonic && r.targets>>slices.IndexFunc(tab.columns, func(c column) bool { return c.processors[0] == col.processors[0] })&1 != 0
					}) {
						continue
					}
					for _, n := range op.numbers {
						probes = append(probes, []uint32{uint32(col.family.Encodings[e].Word(index).Lo) | n})
					}
				}
			}
		}
		llvm := oracle.Disassembler{MC: llvmtest.Tool(t, "llvm-mc"), Objdump: llvmtest.Tool(t, "llvm-objdump"), Target: col.processors[0]}
		answers, err := llvm.Ask(t.Context(), probes)
		if err != nil {
			t.Fatal(err)
		}
		d, err := newDecoder(col.processors[0], col.wave64)
		if err != nil {
			t.Fatal(err)
		}
		if len(probes) < 1000 {
			t.Errorf("%s: only %d numbers", col.processors[0], len(probes))
		}
		wrong := 0
		for i, a := range answers {
			inst, err := d.Decode(bytesOf(probes[i]))
			if wrong < 20 && (err != nil || inst.String() != a.Text) && !strings.Contains(a.Text, "/*") {
				wrong++
				t.Errorf("%s: %08x: %q (%v), want %q", col.processors[0], probes[i], inst.String(), err, a.Text)
			}
		}
	}
}

// numbers counts from each base up to most.
func numbers(most uint32, bases ...uint32) []uint32 {
	var list []uint32
	for _, base := range bases {
		for n := range most {
			list = append(list, base|n)
		}
	}
	return list
}
