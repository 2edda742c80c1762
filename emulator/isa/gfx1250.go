package isa

import (
	"fmt"
	"strconv"
	"strings"
)

// What gfx1250 and gfx1251 write otherwise than RDNA 4 (LLVM 22, AMDGPUInstPrinter.cpp
// and VOP3PInstructions.td).

// tile reports their matrix instructions. RDNA 4's are there too, with its modifiers,
// which the one of FP4 has as well.
func (i *Inst) tile() bool {
	if !i.gfx1250() || i.Enc != WMMAScale && !i.packed() {
		return false
	}
	name := i.row.mnemonic
	before := strings.Contains(name, "_16x16x16_") || strings.HasPrefix(name, "v_swmmac_") && strings.Contains(name, "_16x16x32_") || strings.HasSuffix(name, "_iu4") || i.Enc != WMMAScale && strings.HasSuffix(name, "_f4")
	return strings.Contains(name, "mma") && !before
}

// loadsScales reports the first half of a matrix instruction with scales, by itself.
func (i *Inst) loadsScales() bool {
	return i.packed() && strings.HasPrefix(i.row.mnemonic, "v_wmma_ld_scale")
}

// tileFormats returns the formats of A and B in matrices of mixed formats.
func (i *Inst) tileFormats() (a, b uint32) {
	at := i.tileAt()
	return i.bits(at+11, 3), i.bits(at+59, 2) | i.bits(at+14, 1)<<2
}

// tileAt is where the matrix instruction begins, in bits.
func (i *Inst) tileAt() uint {
	if i.Enc == WMMAScale {
		return 64
	}
	return 0
}

// tileText writes the modifiers of a matrix instruction.
func (i *Inst) tileText(b *strings.Builder) {
	at, name := i.tileAt(), i.row.mnemonic
	named := func(what string, v uint32, names ...string) {
		switch {
		case v == 0:
		case int(v) < len(names):
			b.WriteString(" " + what + ":" + names[v])
		default:
			fmt.Fprintf(b, " %s:%d", what, v)
		}
	}
	if strings.HasPrefix(name, "v_swmmac_") {
		named("index_key", i.mod(11, 2))
	}
	formats := []string{"", "MATRIX_FMT_BF8", "MATRIX_FMT_FP6", "MATRIX_FMT_BF6", "MATRIX_FMT_FP4"}
	mixed := strings.HasSuffix(name, "_f8f6f4")
	if mixed {
		first, second := i.tileFormats()
		named("matrix_a_fmt", first, formats...)
		named("matrix_b_fmt", second, formats...)
	}
	if i.Enc == WMMAScale || i.loadsScales() {
		rows, scales := []string{"", "MATRIX_SCALE_ROW1"}, []string{"", "MATRIX_SCALE_FMT_E5M3", "MATRIX_SCALE_FMT_E4M3"}
		named("matrix_a_scale", i.mod(11, 1), rows...)
		named("matrix_b_scale", i.mod(59, 1), rows...)
		named("matrix_a_scale_fmt", i.mod(61, 2), scales...)
		named("matrix_b_scale_fmt", i.mod(8, 2), scales...)
	}
	if !mixed || i.Enc == WMMAScale {
		for n, side := range []string{"a", "b"} {
			if i.mod(13+uint(n), 1) != 0 {
				b.WriteString(" matrix_" + side + "_reuse")
			}
		}
	}
	if i.loadsScales() {
		return
	}
	if neg := i.mod(at+61, 3); neg != 0 {
		list(b, "neg_lo", neg, 3)
	}
	if neg := i.mod(at+8, 3); neg != 0 {
		list(b, "neg_hi", neg, 3)
	}
	if i.mod(at+15, 1) != 0 {
		b.WriteString(" clamp")
	}
}

// opSel1250 writes OP_SEL where it has another meaning: which byte, or which scale. It
// is false where it has not.
func (i *Inst) opSel1250(b *strings.Builder, sel uint32) bool {
	half := func(names ...uint32) {
		var list []string
		for _, v := range names {
			list = append(list, strconv.Itoa(int(v)))
		}
		b.WriteString(" op_sel:[" + strings.Join(list, ",") + "]")
	}
	switch name := i.Name(); {
	case strings.HasPrefix(name, "v_cvt_scale_pk"):
		fmt.Fprintf(b, " scale_sel:%d", sel)
		return true
	case name == "v_cvt_f16_fp8", name == "v_cvt_f16_bf8":
		if sel&8 != 0 {
			half(0, 1)
		}
		if sel&3 != 0 {
			fmt.Fprintf(b, " byte_sel:%d", sel>>1&1|sel&1<<1)
		}
		return true
	case name == "v_cvt_sr_fp8_f16", name == "v_cvt_sr_bf8_f16":
		if sel&3 != 0 {
			half(sel&1, sel>>1&1, 0)
		}
		if sel>>2 != 0 {
			fmt.Fprintf(b, " byte_sel:%d", sel>>2)
		}
		return true
	}
	return false
}
