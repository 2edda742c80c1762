package isa

import (
	"strings"
	"sync"

	"github.com/stonemason-hip/stonemason/emulator/isa/internal/layout"
)

// Op is an operation, such as v_add_f32: a small number that is the same on all
// targets. Zero is none.
type Op uint16

// Kind says what an operand is.
type Kind uint8

// The kinds of operands.
const (
	None      Kind = iota
	SGPR           // Value is the number of the first scalar register, special ones included
	VGPR           // Value is the number of the first vector register
	AGPR           // Value is the number of the first accumulation register
	Const          // an inline constant or a read-only scalar: Value is its encoding, 128..254
	Literal        // Value is the 32 bits behind the instruction
	Literal64      // the 64 bits behind the first four bytes; Value is the lower 32
	Imm            // Value is a number of the instruction
	Off            // no address
)

// Numbers of scalar registers with a meaning.
const (
	FlatScratch = 102 // and 103; from gfx10 on an ordinary register
	XnackMask   = 104 // and 105; the same
	VCC         = 106 // and 107
	TTMP0       = 108 // to 123
	M0          = 124 // on gfx11 and later encoded as 125
	Null        = 125 // reads as zero; from gfx10 on, on gfx11 and later encoded as 124
	Exec        = 126 // and 127
)

// Encodings of constants that stand for something of the wave.
const (
	ConstZero          = 128 // 128..192: 0..64
	ConstMinusOne      = 193 // 193..208: -1..-16
	ConstScratchBaseLo = 230 // on gfx1250
	ConstScratchBaseHi = 231
	ConstSharedBase    = 235
	ConstSharedLimit   = 236
	ConstPrivateBase   = 237
	ConstPrivateLimit  = 238
	ConstPopsExiting   = 239
	ConstHalf          = 240 // 240..247: ±0.5, ±1, ±2, ±4
	ConstInv2Pi        = 248
	ConstVCCZ          = 251
	ConstExecZ         = 252
	ConstSCC           = 253
	ConstLDSDirect     = 254
)

// Role says which field of the encoding an operand comes from, for modifiers
// that belong to one.
type Role uint8

// The roles of operands.
const (
	RoleFixed Role = iota // always the same, in no field
	RoleDst
	RoleSDst
	RoleSrc0
	RoleSrc1
	RoleSrc2
	RoleAddr
	RoleData0
	RoleData1
	RoleBase
	RoleOffset
	RoleImm
	RoleScale0 // of a matrix instruction: for A
	RoleScale1 // and for B
)

// Form says how the value of an operand is written, and what type a literal or
// inline constant has.
type Form byte

// The forms of operands.
const (
	FormB32      Form = 'd' // f32 or 32 bits
	FormF16      Form = 'h'
	FormB16      Form = 'w'
	FormBF16     Form = 'b'
	FormF64      Form = 'q'
	FormB64      Form = 'l'
	FormPairF16  Form = 'p'
	FormPairBF16 Form = 'r'
	FormHex      Form = 'x'
	FormDecimal  Form = 'D'
	FormImm      Form = 'i' // as the constant of 32 bits it is
	FormHWReg    Form = 'H'
	FormMessage  Form = 'm'
	FormWait     Form = 'W'
	FormIndex    Form = 'g'
	FormEnd      Form = 'e' // written unless zero
	FormBranch   Form = 'j' // in words, from the next instruction
	FormSplatF16 Form = 's' // the same f16 twice
	FormDepCtr   Form = 'c'
	FormDelay    Form = 'y'
	FormUnsaid   Form = 'u' // not written, but there
	FormWide     Form = 'k' // the 64 bits behind the first four bytes
	FormBits     Form = 'o' // 32 bits that are no number: in hexadecimal, unless small
)

// Operand is one operand of an instruction, resolved.
type Operand struct {
	Value uint32
	Kind  Kind
	Width uint8 // in registers of 32 bits; 0 for numbers
	Role  Role
	Form  Form
	Half  Half
}

// Half says which 16 bits of a vector register an operand is. Only from gfx11
// on there are such operands.
type Half uint8

// The halves.
const (
	Whole Half = iota
	Lower      // written .l
	Upper      // written .h
)

// Signed returns a number of the instruction with the sign of its 16 bits.
func (o Operand) Signed() int32 { return int32(int16(o.Value)) }

// MaxOperands is the most that an instruction has.
const MaxOperands = 6

// Inst is a decoded instruction. It shares its description with all others of
// its opcode and is a value without further allocations, except for Dual.
type Inst struct {
	Op       Op
	Enc      Encoding
	Size     uint8 // in bytes, a literal included
	N        uint8 // operands
	Target   Target
	traits   traits
	Operands [MaxOperands]Operand
	Word     uint64 // the first eight bytes; see the methods for the modifiers
	Tail     uint64 // the next ones, where there are as many
	Dual     *Inst  // the second operation of an instruction of two (VOPD)
	row      *row
	family   *family
}

// Args returns the operands.
func (i *Inst) Args() []Operand { return i.Operands[:i.N] }

// Encoding is an instruction format.
type Encoding uint8

// The formats.
const (
	SOP1 Encoding = iota
	SOPC
	SOPP
	SOPK
	SOP2
	SDWA1
	SDWAC
	SDWA2
	DPP1
	DPPC
	DPP2
	VOP1
	VOPC
	VOP2
	MAI
	MAIX     // matrix instructions of xf32, and of gfx950
	MAIScale // the same with scales
	VOP3P
	VOP3
	SMEM
	DS
	FLAT
	MUBUF

	// From gfx10 on: src0 from any of 8 lanes.
	DPP81
	DPP8C
	DPP82

	// From gfx11 on: two operations in one, and lanes for the wide formats.
	VOPD
	VOP3DPP
	VOP3DPP8
	VOP3PDPP
	VOP3PDPP8

	// From gfx1250 on: two operations of three sources each, and matrices with scales.
	VOPD3
	WMMAScale
)

// encodings says what the layout calls the formats.
var encodings = sync.OnceValue(func() map[string]Encoding {
	return map[string]Encoding{
		"sop1": SOP1, "sopc": SOPC, "sopp": SOPP, "sopk": SOPK, "sop2": SOP2,
		"sdwa1": SDWA1, "sdwac": SDWAC, "sdwa2": SDWA2, "dpp1": DPP1, "dppc": DPPC, "dpp2": DPP2,
		"vop1": VOP1, "vopc": VOPC, "vop2": VOP2, "vop2k64": VOP2, "mai": MAI, "maix": MAIX, "maiscale": MAIScale, "vop3p": VOP3P, "vop3": VOP3,
		"smem": SMEM, "ds": DS, "flat": FLAT, "mubuf": MUBUF,
		"dpp8_1": DPP81, "dpp8_c": DPP8C, "dpp8_2": DPP82, "vopdx": VOPD, "vopdy": VOPD,
		"vopd3x": VOPD3, "vopd3y": VOPD3, "wmmascale": WMMAScale, "wmmascale16": WMMAScale,
		"vop3dpp": VOP3DPP, "vop3dpp8": VOP3DPP8, "vop3pdpp": VOP3PDPP, "vop3pdpp8": VOP3PDPP8,
	}
})

// Generation returns the number of the processor's generation: 9 to 12.
func (i *Inst) Generation() int { return i.family.Generation }

// code is the instruction as a set of bits.
func (i *Inst) code() layout.Code { return layout.Code{Lo: i.Word, Hi: i.Tail} }

func (i *Inst) bits(lo, width uint) uint32 { return i.code().Bits(uint8(lo), uint8(width)) }

// mod returns bits of the word that the opcode knows as modifiers; others read
// as zero, as they do to the hardware.
func (i *Inst) mod(lo, width uint) uint32 {
	return i.code().And(i.row.mods).Bits(uint8(lo), uint8(width))
}

// wide reports the vector formats of 8 bytes: VOP3, packed reports VOP3P.
func (i *Inst) wide() bool { return i.Enc == VOP3 || i.Enc == VOP3DPP || i.Enc == VOP3DPP8 }

func (i *Inst) packed() bool { return i.Enc == VOP3P || i.Enc == VOP3PDPP || i.Enc == VOP3PDPP8 }

// IsSDWA reports sub-dword addressing, IsDPP data-parallel primitives.
func (i *Inst) IsSDWA() bool { return i.Enc >= SDWA1 && i.Enc <= SDWA2 }

// IsDPP reports data-parallel primitives: src0 comes from other lanes of a row.
func (i *Inst) IsDPP() bool {
	return i.Enc >= DPP1 && i.Enc <= DPP2 || i.Enc == VOP3DPP || i.Enc == VOP3PDPP
}

// IsDPP8 reports that src0 comes from any of 8 lanes.
func (i *Inst) IsDPP8() bool {
	return i.Enc >= DPP81 && i.Enc <= DPP82 || i.Enc == VOP3DPP8 || i.Enc == VOP3PDPP8
}

// Abs, Neg and Sext return bit sets of the sources 0, 1 and 2 whose sign is
// dropped, turned, or extended (SDWA). For VOP3P, Neg is NEG_LO.
func (i *Inst) Abs() uint32 {
	switch {
	case i.wide() && !i.bitop(), i.mix():
		return i.mod(8, 3)
	case i.IsSDWA():
		return i.mod(53, 1) | i.mod(61, 1)<<1
	case i.IsDPP() && !i.packed():
		return i.mod(53, 1) | i.mod(55, 1)<<1
	}
	return 0
}

// Neg is described at Abs.
func (i *Inst) Neg() uint32 {
	switch {
	case i.wide() && !i.bitop(), i.packed():
		return i.mod(61, 3)
	case i.Enc == VOPD3 && i.Dual != nil:
		return i.mod(41, 3)
	case i.Enc == VOPD3:
		return i.mod(44, 3)
	case i.IsSDWA():
		return i.mod(52, 1) | i.mod(60, 1)<<1
	case i.IsDPP():
		return i.mod(52, 1) | i.mod(54, 1)<<1
	}
	return 0
}

// Sext is described at Abs.
func (i *Inst) Sext() uint32 {
	if i.IsSDWA() {
		return i.mod(51, 1) | i.mod(59, 1)<<1
	}
	return 0
}

// mix reports the VOP3P instructions that mix precisions: NEG_HI is ABS there,
// and OP_SEL_HI says which sources are f16.
func (i *Inst) mix() bool {
	return i.packed() && strings.Contains(i.row.mnemonic, "_mix")
}

// bitop reports the instructions whose modifiers are a truth table.
func (i *Inst) bitop() bool {
	return strings.HasPrefix(i.row.mnemonic, "v_bitop3_") || i.row.mnemonic == "v_dual_bitop2_b32"
}

// BitOp returns the truth table of v_bitop3: bit n is the result where n is made
// of the bits of src0 (4), src1 (2) and src2 (1).
func (i *Inst) BitOp() uint32 {
	switch {
	case i.Enc == VOPD3 && i.Dual != nil:
		return i.bits(56, 8)
	case i.Enc == VOPD3:
		return i.bits(80, 8)
	}
	return i.bits(61, 3) | i.bits(8, 3)<<3 | i.bits(59, 2)<<6
}

// Clamp reports that the result is clamped.
func (i *Inst) Clamp() bool {
	switch {
	case i.wide() || i.packed():
		return i.mod(15, 1) != 0
	case i.Enc == SDWA1 || i.Enc == SDWA2:
		return i.mod(45, 1) != 0
	}
	return false
}

// OMod returns the output modifier: 0 none, 1 times 2, 2 times 4, 3 half.
func (i *Inst) OMod() uint32 {
	switch {
	case i.wide() && !i.bitop():
		return i.mod(59, 2)
	case i.Enc == SDWA1 || i.Enc == SDWA2:
		return i.mod(46, 2)
	}
	return 0
}

// OpSel returns the halves that VOP3 and VOP3P choose: bits 0 to 2 for the
// sources, bit 3 for the result (VOP3 only).
func (i *Inst) OpSel() uint32 {
	switch {
	case i.wide():
		return i.mod(11, 4)
	case i.packed():
		return i.mod(11, 3)
	}
	return 0
}

// OpSelHi returns the same for the upper result of VOP3P. Without the modifier
// it is 7: upper halves.
func (i *Inst) OpSelHi() uint32 {
	const mask = 3<<59 | 1<<14
	w := i.Word | ^i.row.mods.Lo&mask
	return uint32(w>>59)&3 | uint32(w>>14)&1<<2
}

// NegHi returns the sources whose upper halves change sign (VOP3P).
func (i *Inst) NegHi() uint32 {
	if i.packed() && !i.mix() {
		return i.mod(8, 3)
	}
	return 0
}

// Selection of a part of a register (SDWA).
const (
	SelByte0 = iota
	SelByte1
	SelByte2
	SelByte3
	SelWord0
	SelWord1
	SelDword
)

// SDWA returns what sub-dword addressing selects: parts of the sources and of
// the result, and what becomes of the rest of the result: 0 zero, 1 the sign,
// 2 what was there.
func (i *Inst) SDWA() (dst, unused, src0, src1 uint32) {
	return i.bits(40, 3), i.bits(43, 2), i.bits(48, 3), i.bits(56, 3)
}

// DPP returns the control word, the masks of rows and banks that are written,
// and whether lanes without a source read zero (BOUND_CTRL).
func (i *Inst) DPP() (ctrl, rows, banks uint32, zero bool) {
	at := i.lanes()
	return i.bits(at+8, 9), i.bits(at+28, 4), i.bits(at+24, 4), i.bits(at+19, 1) != 0
}

// DPP8 returns which of its 8 lanes each lane reads, 3 bits for each.
func (i *Inst) DPP8() uint32 { return i.bits(i.lanes()+8, 24) }

// FetchInactive reports that DPP reads lanes that are off too (FI).
func (i *Inst) FetchInactive() bool {
	switch at := i.lanes(); {
	case i.Generation() == 9:
		return false
	case i.IsDPP():
		return i.bits(at+18, 1) != 0
	case i.IsDPP8() && at == 32:
		return i.bits(0, 9) == layout.SrcDPP8FI
	case i.IsDPP8():
		return i.bits(32, 9) == layout.SrcDPP8FI
	}
	return false
}

// lanes is where the word of DPP begins.
func (i *Inst) lanes() uint {
	if i.wide() || i.packed() {
		return 64
	}
	return 32
}

// Offset returns the immediate offset of a memory instruction in bytes. For DS
// instructions with two offsets see Offsets.
func (i *Inst) Offset() int32 {
	switch gen := i.Generation(); i.Enc {
	case SMEM:
		switch {
		case gen == 9 && i.bits(17, 1) == 0:
			return 0
		case gen == 12:
			return signed(i.bits(32, 24), 24)
		}
		return signed(i.bits(32, 21), 21)
	case DS:
		return int32(i.mod(0, 16))
	case FLAT:
		width := [...]uint{9: 13, 10: 12, 11: 13, 12: 24}[gen]
		switch {
		case gen == 12:
			return signed(i.mod(72, width), width)
		case i.Segment() == 0:
			return int32(i.mod(0, width))
		}
		return signed(i.mod(0, width), width)
	case MUBUF:
		if gen == 12 {
			return signed(i.mod(72, 24), 24)
		}
		return int32(i.mod(0, 12))
	}
	return 0
}

func signed(v uint32, width uint) int32 { return int32(v<<(32-width)) >> (32 - width) }

// Offsets returns the two offsets of a DS instruction, in elements.
func (i *Inst) Offsets() (uint32, uint32) { return i.bits(0, 8), i.bits(8, 8) }

// Segment returns what a FLAT instruction addresses: 0 flat, 1 scratch, 2 global.
func (i *Inst) Segment() uint32 {
	switch i.Generation() {
	case 11:
		return i.bits(16, 2)
	case 12:
		return i.bits(24, 2)
	}
	return i.bits(14, 2)
}

// GLC reports that an atomic returns the value before; for other memory
// instructions it is a hint to the caches.
func (i *Inst) GLC() bool {
	at := [...][3]uint{9: {14, 16, 16}, 10: {14, 16, 16}, 11: {14, 14, 14}, 12: {52, 23, 52}}[i.Generation()]
	switch i.Enc {
	case MUBUF:
		return i.bits(at[0], 1) != 0
	case SMEM:
		return i.mod(at[1], 1) != 0
	}
	return i.bits(at[2], 1) != 0
}

// OffEn and IdxEn report what the vector address of a MUBUF instruction has, LDS
// that it loads into local memory.
func (i *Inst) OffEn() bool {
	return i.bits([...]uint{9: 12, 10: 12, 11: 54, 12: 62}[i.Generation()], 1) != 0
}

// IdxEn is described at OffEn.
func (i *Inst) IdxEn() bool {
	return i.bits([...]uint{9: 13, 10: 13, 11: 55, 12: 63}[i.Generation()], 1) != 0
}

// LDS is described at OffEn.
func (i *Inst) LDS() bool { return i.Generation() <= 10 && i.bits(16, 1) != 0 }

// GDS reports that a DS instruction means the global data share.
func (i *Inst) GDS() bool {
	switch i.Generation() {
	case 9:
		return i.mod(16, 1) != 0
	case 10, 11:
		return i.mod(17, 1) != 0
	}
	return false
}

// Matrix returns the modifiers of a matrix instruction: broadcast size and
// block of A, and the pattern of B.
func (i *Inst) Matrix() (cbsz, abid, blgp uint32) {
	if i.Enc == MAIScale {
		return i.mod(72, 3), 0, i.mod(125, 3)
	}
	return i.mod(8, 3), i.mod(11, 4), i.mod(61, 3)
}

// Scales returns which byte of the registers with the scales is meant, of A and of
// B, in the matrix instructions that have them and in V_MFMA_LD_SCALE_B32.
func (i *Inst) Scales() (a, b uint32) {
	return i.bits(11, 1) | i.bits(59, 1)<<1, i.bits(12, 1) | i.bits(60, 1)<<1
}
