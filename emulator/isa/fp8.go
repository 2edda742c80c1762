package isa

import (
	"slices"

	"github.com/stonemason-hip/stonemason/emulator/isa/internal/layout"
)

// The conversions of fp8 and bf8 to f32 with sub-dword addressing have no result
// to select: the bits for it must say the whole register, so that the tables,
// which begin with zeros, have not learned them.
const (
	fp8First, fp8Last = 0x54, 0x57 // opcodes of VOP1
	fp8Mods           = 0x3f << 48 // what is selected of the source, and its sign
	fp8Ignored        = 0xff<<40 | 1<<54 | 1<<62
	fp8Whole          = 6 << 40
)

// fp8Row makes the row of such a conversion, or nil.
func (d *Decoder) fp8Row(at int, e *layout.Encoding, word uint64) *row {
	op := uint32(word>>9) & 255
	if d.Generation() != 9 || d.formats[at] != SDWA1 || op < fp8First || op > fp8Last || word&(7<<40) != fp8Whole {
		return nil
	}
	var plain *row
	for n, r := range d.rows[slices.Index(d.formats, VOP1)] {
		if uint32(n) == op {
			plain = r
		}
	}
	if plain == nil || len(plain.operands) != 2 {
		return nil
	}
	f := &format{size: e.Size, mods: layout.Code{Lo: fp8Mods}, ignored: layout.Code{Lo: fp8Ignored}, operands: []operand{plain.operands[0], plain.operands[1]}}
	f.operands[0].field, f.operands[1].field = e.Field("vdst"), e.Field("src0")
	f.operands[1].classes = "v"
	if word>>55&1 != 0 {
		f.operands[1].classes = "sc"
	}
	return &row{op: plain.op, mnemonic: base(plain.mnemonic) + "_sdwa", format: f}
}

// sourceAlone reports those conversions.
func (i *Inst) sourceAlone() bool { return i.Enc == SDWA1 && i.row.mods == (layout.Code{Lo: fp8Mods}) }
