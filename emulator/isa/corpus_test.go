package isa

import (
	"cmp"
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
// an error where it does not: on every processor, those that share a column too. So
// must opcodes that the tables do not have: a row that was never learned shows there.
func TestCorpusAgreesWithLLVM(t *testing.T) {
	tab, err := load()
	if err != nil {
		t.Fatal(err)
	}
	for n, col := range tab.columns {
		rng := rand.New(rand.NewPCG(1, uint64(n)))
		probes := corpus(col.family, n, rng)
		for _, processor := range col.processors {
			name := processor
			if col.wave64 && col.family.Generation > 9 {
				name += "/64"
			}
			t.Run(name, func(t *testing.T) { agrees(t, col, processor, probes) })
		}
	}
}

// agrees compares the decoder of a processor with llvm-objdump.
func agrees(t *testing.T, col column, processor string, probes [][]uint32) {
	llvm := oracle.Disassembler{MC: llvmtest.Tool(t, "llvm-mc"), Objdump: llvmtest.Tool(t, "llvm-objdump"),
		Target: processor, Wave64: col.wave64 && col.family.Generation > 9}
	answers, err := llvm.Ask(t.Context(), probes)
	if err != nil {
		t.Fatal(err)
	}
	d, err := newDecoder(processor, col.wave64)
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
		if lenient(a.Text, col.family) || fallback(a.Text, err) ||
			a.Size == 12 && (col.family.Generation == 9 || strings.Contains(a.Text, "mma")) { // matrices have no literals
			continue
		}
		if a.Text != "" {
			valid++
		}
		if text == a.Text && (text == "" || int(inst.Size) == a.Size) {
			continue
		}
		bad++
		if name, _, _ := strings.Cut(cmp.Or(a.Text, text)+" ", " "); !shown[name] && len(shown) < 40 {
			shown[name] = true
			t.Errorf("%08x: %q (%d bytes, %v)\nwant %q (%d bytes)", probes[i], text, inst.Size, err, a.Text, a.Size)
		}
	}
	if bad > 0 || valid < 10000 {
		t.Errorf("%d of %d differ; LLVM accepts %d", bad, len(answers), valid)
	}
	t.Logf("%d probes, %d valid", len(answers), valid)
}

// lenient reports what LLVM shows although the processor does not have it: what
// it complains of itself, registers beyond the last, the scratch base of later
// processors, results in constants, literals of buffer instructions and, for
// GFX9, of VOP3, and register 125. The bits of v_nop that do not matter may be
// those of another format. The names of versions
// are not known here, and no sign is ever that of vcc.
func lenient(text string, f *family) bool {
	for _, m := range beyond.FindAllStringSubmatch(text, -1) {
		if n, _ := strconv.Atoi(m[1]); n > 255 {
			return true
		}
	}
	if strings.HasPrefix(text, "v_interp_") {
		return true // of graphics
	}
	_, first, _ := strings.Cut(text, " ")
	if strings.Contains(text, "/*") || strings.Contains(text, "src_flat_scratch") && f.Name != "gfx125" || strings.HasPrefix(first, "src_") {
		return true
	}
	if f.Generation > 9 {
		return strings.HasPrefix(text, "v_nop") || strings.HasPrefix(text, "s_version") || strings.Contains(text, ", vcc_lo|") || strings.Contains(text, ", vcc|") || strings.HasPrefix(text, "buffer_") && strings.Contains(text, "lit(")
	}
	return strings.Contains(text, "null") || strings.Contains(text, "xnack_mask")
}

// fallback reports what LLVM decodes by another table because bits that must be zero
// are not: that for assemblers without halves of registers, or a v_nop of four bytes
// instead of GFX9's with DPP.
func fallback(text string, err error) bool {
	return err != nil && strings.Contains(err.Error(), "must be zero") &&
		(text == "v_nop" || strings.Contains(text, "16") && !strings.Contains(text, ".l") && !strings.Contains(text, ".h"))
}

var beyond = regexp.MustCompile(`:(\d+)\]`)

// corpus makes instructions of every row of one target.
func corpus(f *family, target int, rng *rand.Rand) [][]uint32 {
	var list [][]uint32
	samples := 8
	if f.Generation > 9 {
		samples = 4 // each is there twice, for both sizes of waves
	}
	each := func(e int, do func(index uint32, r *row)) {
		var indexes []uint32
		for index := range f.rows[e] {
			indexes = append(indexes, index)
		}
		slices.Sort(indexes)
		for _, index := range indexes {
			for _, r := range f.rows[e][index] {
				if r.targets>>target&1 != 0 {
					do(index, r)
				}
			}
		}
	}
	for e := range f.rows {
		enc := &f.Encodings[e]
		each(e, func(index uint32, r *row) {
			switch {
			case enc.Second:
			case enc.Name == "vopdx", enc.Name == "vopd3x":
				each(e+1, func(second uint32, s *row) { list = append(list, dual(f, e, index, second, r, s, rng)) })
			default:
				for n := range samples {
					list = append(list, instance(f, enc, r, index, rng, n*8/samples))
				}
			}
		})
	}
	for e := range f.rows {
		enc, there := &f.Encodings[e], map[uint32]bool{}
		if len(enc.Index) > 1 || enc.Behind != nil || enc.Other != (layout.Code{}) {
			continue // variants: most of them are of nothing
		}
		each(e, func(index uint32, _ *row) { there[index] = true })
		unknown := &row{format: &format{size: enc.Size, operands: plain(enc)}}
		for index := range uint32(enc.Rows()) {
			if at := layout.Find(f.Encodings, enc.Word(index)); !there[index] && at == e {
				list = append(list, instance(f, enc, unknown, index, rng, 0))
			}
		}
	}
	return list
}

// plain are operands that nobody has described: a register in every field.
func plain(e *layout.Encoding) []operand {
	var list []operand
	for n, f := range e.Fields {
		class := "v"
		switch f.Kind {
		case layout.Scalar, layout.Pair, layout.Quad:
			class = "s"
		case layout.K:
			class = "i"
		}
		list = append(list, operand{field: n, classes: class, widths: [2]uint8{1, 1}})
	}
	return list
}

// fields chooses operands for a row: an instruction, and how many words follow.
func fields(f *family, e *layout.Encoding, r *row, index uint32, rng *rand.Rand) (c layout.Code, lit int) {
	c = e.Word(index).Without(e.Fill)
	if m := e.Marker; m != nil {
		c = c.Without(layout.At(m.Lo, 9, ^uint32(0))).Or(layout.At(m.Lo, 9, m.Values[rng.IntN(len(m.Values))]))
	}
	for _, o := range r.operands {
		if o.field < 0 {
			continue
		}
		field := e.Fields[o.field]
		v := value(f, field, o, e, rng)
		isSource := field.Kind == layout.Source || field.Kind == layout.Scalar
		switch {
		case field.Name == "k64", isSource && f.Literal64 && e.Size == 4 && o.classes != "i" && v == layout.SrcLiteral64:
			lit = 2
		case isSource && e.HasLiteral() && o.classes != "i" && v == layout.SrcLiteral, field.Kind == layout.K:
			lit = max(lit, 1)
		}
		if field.Kind != layout.K {
			c = c.Or(field.Put(v))
		}
	}
	return c, lit
}

// dual makes an instruction of two operations.
func dual(f *family, e int, first, second uint32, r, s *row, rng *rand.Rand) []uint32 {
	c, lit := fields(f, &f.Encodings[e], r, first, rng)
	d, lit2 := fields(f, &f.Encodings[e+1], s, second, rng)
	some := layout.Code{Lo: rng.Uint64(), Hi: rng.Uint64()}
	c, d = c.Or(some.And(r.mods)), d.Or(some.And(s.mods))
	return finish(c.Or(d), f.Encodings[e].Size, max(lit, lit2), rng)
}

// finish makes words of an instruction.
func finish(c layout.Code, size uint8, lit int, rng *rand.Rand) []uint32 {
	words := []uint32{uint32(c.Lo), uint32(c.Lo >> 32), uint32(c.Hi), uint32(c.Hi >> 32)}[:size/4]
	for range lit {
		interesting := []uint32{0, 5, 64, 65, 0xfffffff0, 0x3f800000, 0xbf000000, 0x3c00, 0xb800, 0x3ff00000, 0x3f80, 0x3e22f983, 0xffff, 0x3c003c00,
			rng.Uint32(), rng.Uint32() & 0xffff}
		words = append(words, interesting[rng.IntN(len(interesting))])
	}
	return words
}

// instance makes one instruction of a row. The first has no modifiers, the next
// ones have one, the others several.
func instance(f *family, e *layout.Encoding, r *row, index uint32, rng *rand.Rand, n int) []uint32 {
	c, wide := fields(f, e, r, index, rng)
	switch {
	case strings.HasPrefix(e.Name, "dpp"):
		c = c.Or(layout.Code{Lo: dppWord(f, e, rng) << 32})
	case strings.HasSuffix(e.Name, "dpp"), strings.HasSuffix(e.Name, "dpp8"):
		c = c.Or(layout.Code{Hi: dppWord(f, e, rng) & 0xffffffff})
	}
	switch {
	case strings.HasPrefix(e.Name, "dpp"):
	case n == 0:
	case n < 4:
		bits := []uint8{}
		for b := range max(64, e.Size*8) {
			if r.mods.Has(b) {
				bits = append(bits, b)
			}
		}
		if len(bits) > 0 {
			c = c.Or(layout.At(bits[rng.IntN(len(bits))], 1, 1))
		}
	case e.Size >= 12 && !strings.Contains(e.Name, "dpp"):
		c = c.Or(layout.Code{Lo: rng.Uint64(), Hi: rng.Uint64()}.And(r.mods))
	default:
		c.Lo |= rng.Uint64() & r.mods.Lo
	}
	if n >= 6 && e.Size >= 8 && !strings.Contains(e.Name, "dpp") {
		c = c.Or(layout.At(uint8(rng.IntN(int(max(64, e.Size*8)))), 1, 1)) // one that must be zero, perhaps
		if at := layout.Find(f.Encodings, c); at < 0 || f.Encodings[at].Name != e.Name || e.RowOf(c) != index {
			c, wide = e.Word(index), 0
		}
	}
	if strings.HasPrefix(e.Name, "sdwa") {
		c.Lo = sane(c.Lo)
	}
	for _, field := range e.Fields { // llvm-objdump crashes on a literal where none can be
		if field.Kind != layout.Source && field.Kind != layout.Scalar {
			continue
		}
		none := !e.HasLiteral() || strings.Contains(r.mnemonic, "_barrier_")
		if v := field.Get(c); none && v == layout.SrcLiteral || f.Literal64 && v == layout.SrcLiteral64 && (none || wide < 2) {
			c = c.Without(layout.At(field.Lo, 2, 3))
		}
	}
	if ssrc0, ssrc1 := e.Field("ssrc0"), e.Field("ssrc1"); f.Literal64 && ssrc1 >= 0 && ssrc0 >= 0 && e.Fields[ssrc0].Get(c)+e.Fields[ssrc1].Get(c) == layout.SrcLiteral+layout.SrcLiteral64 {
		c = c.Without(e.Fields[ssrc1].Put(127)) // literals of two sizes
	}
	return finish(c, e.Size, wide, rng)
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

func dppWord(f *family, e *layout.Encoding, rng *rand.Rand) uint64 {
	ctrls := []uint64{0xe4, 0x1b, 0x101, 0x10f, 0x111, 0x11f, 0x121, 0x130, 0x134, 0x138, 0x13c, 0x140, 0x141, 0x142, 0x143, 0x150, 0x15f}
	switch {
	case strings.Contains(e.Name, "dpp8"):
		return rng.Uint64() & 0xffffff00
	case f.Generation > 9 && strings.HasPrefix(e.Name, "dpp"):
		ctrls = append(ctrls, 0x160, 0x16f)
		return ctrls[rng.IntN(len(ctrls))]<<8 | rng.Uint64()&0xfffc0000
	case f.Generation > 9:
		return ctrls[rng.IntN(len(ctrls))]<<8 | rng.Uint64()&0xff0c0000
	}
	return ctrls[rng.IntN(len(ctrls))]<<8 | rng.Uint64()&0xfff80000
}

// value chooses a value for a field that the operand allows.
func value(fam *family, f layout.Field, o operand, e *layout.Encoding, rng *rand.Rand) uint32 {
	width, gfx9 := o.widths[0], fam.Generation == 9
	align := uint32(1)
	if width > 1 && gfx9 {
		align = 2
	}
	scalar := func() uint32 {
		if width <= 2 && rng.IntN(4) == 0 {
			special := []uint32{FlatScratch, VCC, TTMP0, TTMP0 + 6, M0, Exec}
			if !gfx9 {
				special = append(special, 104, Null)
			}
			return special[rng.IntN(len(special))]
		}
		if width > 1 || o.widths[1] > 1 {
			align = 2
		}
		if width > 2 {
			align = 4
		}
		return rng.Uint32N(100) / align * align
	}
	switch f.Kind {
	case layout.VGPR:
		switch o.classes {
		case "s":
			return scalar()
		case "l":
			return rng.Uint32N(130) // perhaps one too many
		}
		return rng.Uint32N(257-uint32(width)) / align * align
	case layout.SDWA:
		if strings.Contains(o.classes, "v") {
			return rng.Uint32N(256)
		}
		return scalar()
	case layout.Pair:
		return rng.Uint32N(50) / max(1, uint32(width)/2) * max(1, uint32(width)/2)
	case layout.Quad:
		return rng.Uint32N(25)
	case layout.DstY:
		return rng.Uint32N(128)
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
		case 'l':
			return 256 + rng.Uint32N(128)
		case 'v', 'a', 't':
			return 256 + rng.Uint32N(257-uint32(width))/align*align
		case 's':
			return scalar()
		default:
			constants := []uint32{128, 129, 192, 193, 208, 235, 236, 237, 238, 240, 241, 243, 247, 248, 251, 252, 253}
			if fam.Name == "gfx125" {
				constants = append(constants, 230, 231)
			}
			if e.HasLiteral() {
				constants = append(constants, 255, 255, 255)
			}
			if fam.Literal64 && e.Size == 4 && width == 2 {
				constants = append(constants, 254, 254, 254)
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
