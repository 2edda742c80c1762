package isa

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/emulator/isa/internal/layout"
	"github.com/stonemason-hip/stonemason/emulator/isa/internal/oracle"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

// Every row of the tables, with operands, modifiers and literals at random, must
// be what llvm-objdump says: the same text and size where LLVM accepts it, and
// an error where it does not.
func TestCorpusAgreesWithLLVM(t *testing.T) {
	tab, err := load()
	if err != nil {
		t.Fatal(err)
	}
	for n, target := range tab.targets {
		t.Run(target, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, uint64(n)))
			probes := corpus(tab, n, rng)
			llvm := oracle.Disassembler{MC: llvmtest.Tool(t, "llvm-mc"), Objdump: llvmtest.Tool(t, "llvm-objdump"), Target: target}
			answers, err := llvm.Ask(t.Context(), probes)
			if err != nil {
				t.Fatal(err)
			}
			d, err := NewDecoder(target)
			if err != nil {
				t.Fatal(err)
			}
			valid, bad := 0, 0
			shown := map[string]bool{}
			for i, a := range answers {
				inst, err := d.Decode(bytesOf(probes[i]))
				text := inst.String()
				if err != nil {
					text = ""
				}
				if lenient(a.Text) || a.Size > 8 {
					continue
				}
				if a.Text != "" {
					valid++
				}
				if text == a.Text && (text == "" || int(inst.Size) == a.Size) {
					continue
				}
				bad++
				if name, _, _ := strings.Cut(a.Text+" ", " "); !shown[name] && len(shown) < 40 {
					shown[name] = true
					t.Errorf("%08x: %q (%d bytes, %v)\nwant %q (%d bytes)", probes[i], text, inst.Size, err, a.Text, a.Size)
				}
			}
			if bad > 0 || valid < 20000 {
				t.Errorf("%d of %d differ; LLVM accepts %d", bad, len(answers), valid)
			}
			t.Logf("%d probes, %d valid", len(answers), valid)
		})
	}
}

// lenient reports what LLVM shows although no GFX9 has it: what it complains of
// itself, literals of VOP3, register 125, results in constants, and registers beyond the last.
func lenient(text string) bool {
	_, first, _ := strings.Cut(text, " ")
	for _, m := range regexp.MustCompile(`:(\d+)\]`).FindAllStringSubmatch(text, -1) {
		if n, _ := strconv.Atoi(m[1]); n > 255 {
			return true
		}
	}
	return strings.Contains(text, "/*") || strings.Contains(text, "null") || strings.Contains(text, "xnack_mask") ||
		strings.Contains(text, "src_flat_scratch") || strings.HasPrefix(first, "src_")
}

// corpus makes instructions of every row of one target.
func corpus(tab *table, target int, rng *rand.Rand) [][]uint32 {
	var list [][]uint32
	for e, rows := range tab.rows {
		enc := &tab.encodings[e]
		var indexes []uint32
		for index := range rows {
			indexes = append(indexes, index)
		}
		slices.Sort(indexes)
		for _, index := range indexes {
			for _, r := range rows[index] {
				if r.targets>>target&1 == 0 {
					continue
				}
				for n := range 8 {
					list = append(list, instance(enc, r, index, rng, n))
				}
			}
		}
	}
	return list
}

// instance makes one instruction of a row. The first has no modifiers, the next
// ones have one, the others several.
func instance(e *layout.Encoding, r *row, index uint32, rng *rand.Rand, n int) []uint32 {
	word := e.Word(index)
	lit := false
	for _, o := range r.operands {
		if o.field < 0 {
			continue
		}
		f := e.Fields[o.field]
		v := value(f, o, e, rng)
		lit = lit || e.Size == 4 && f.Kind != layout.VGPR && f.Kind != layout.Imm && v == layout.SrcLiteral
		if f.Kind != layout.K {
			word |= f.Put(v)
		}
	}
	switch {
	case e.Name[0] == 'd' && e.Name[1] == 'p':
		word |= dppWord(rng) << 32
	case n == 0:
	case n < 4:
		bits := []uint{}
		for b := range uint(64) {
			if r.mods>>b&1 != 0 {
				bits = append(bits, b)
			}
		}
		if len(bits) > 0 {
			word |= 1 << bits[rng.IntN(len(bits))]
		}
	default:
		word |= rng.Uint64() & r.mods
	}
	if n == 7 && e.Size == 8 && e.Name != "dpp1" && e.Name != "dpp2" {
		word |= 1 << rng.IntN(64) // one that must be zero, perhaps
		if found := layout.Find(layout.GFX9(), uint32(word)); found == nil || found.Name != e.Name || e.RowOf(word) != index {
			word = e.Word(index)
		}
	}
	if strings.HasPrefix(e.Name, "sdwa") {
		word = sane(word)
	}
	words := []uint32{uint32(word), uint32(word >> 32)}
	if r.size == 4 {
		words = words[:1]
	}
	if lit || r.size == 8 && e.Size == 4 {
		interesting := []uint32{0, 5, 64, 65, 0xfffffff0, 0x3f800000, 0xbf000000, 0x3c00, 0xb800, 0x3ff00000, 0x3f80, 0x3e22f983, 0xffff, rng.Uint32(), rng.Uint32() & 0xffff}
		words = append(words[:1], interesting[rng.IntN(len(interesting))])
	}
	return words
}

// sane keeps from llvm-objdump the selections of SDWA that it crashes on.
func sane(word uint64) uint64 {
	for _, lo := range []uint{40, 48, 56} {
		if word>>lo&7 == 7 {
			word &^= 1 << lo
		}
	}
	if word>>43&3 == 3 {
		word &^= 1 << 43
	}
	return word
}

func dppWord(rng *rand.Rand) uint64 {
	ctrls := []uint64{0xe4, 0x1b, 0x101, 0x10f, 0x111, 0x11f, 0x121, 0x130, 0x134, 0x138, 0x13c, 0x140, 0x141, 0x142, 0x143, 0x150, 0x15f}
	return ctrls[rng.IntN(len(ctrls))]<<8 | rng.Uint64()&0xfff80000
}

// value chooses a value for a field that the operand allows.
func value(f layout.Field, o operand, e *layout.Encoding, rng *rand.Rand) uint32 {
	align := uint32(1)
	if o.width > 1 {
		align = 2
	}
	scalar := func() uint32 {
		if o.width <= 2 && rng.IntN(4) == 0 {
			special := []uint32{FlatScratch, VCC, TTMP0, TTMP0 + 6, M0, Exec}
			return special[rng.IntN(len(special))]
		}
		if o.width > 2 {
			align = 4
		}
		return rng.Uint32N(100) / align * align
	}
	switch f.Kind {
	case layout.VGPR:
		if o.classes == "s" {
			return scalar()
		}
		return rng.Uint32N(257-uint32(o.width)) / align * align
	case layout.SDWA:
		if strings.Contains(o.classes, "v") {
			return rng.Uint32N(256)
		}
		return scalar()
	case layout.Pair:
		return rng.Uint32N(50) / max(1, uint32(o.width)/2) * max(1, uint32(o.width)/2)
	case layout.Quad:
		return rng.Uint32N(25)
	case layout.Imm:
		if rng.IntN(2) == 0 {
			return rng.Uint32N(64)
		}
		return rng.Uint32() & (1<<f.Width - 1)
	}
	if o.classes == "i" {
		return rng.Uint32() & (1<<f.Width - 1)
	}
	for {
		switch class := o.classes[rng.IntN(len(o.classes))]; class {
		case 'v', 'a':
			return 256 + rng.Uint32N(257-uint32(o.width))/align*align
		case 's':
			return scalar()
		default:
			constants := []uint32{128, 129, 192, 193, 208, 235, 236, 237, 238, 240, 241, 243, 247, 248, 251, 252, 253}
			if e.Size == 4 {
				constants = append(constants, 255, 255, 255)
			}
			return constants[rng.IntN(len(constants))]
		}
	}
}

func bytesOf(words []uint32) []byte {
	var b []byte
	for _, w := range words {
		b = append(b, byte(w), byte(w>>8), byte(w>>16), byte(w>>24))
	}
	return append(b, 0, 0, 0x80, 0xbf, 0, 0, 0x80, 0xbf)
}
