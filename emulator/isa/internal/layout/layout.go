// Package layout says where the fields of each instruction encoding lie. The
// decoder and the generator of its tables both read it, so they cannot differ.
//
// Origin: AMD, "Vega" Instruction Set Architecture, chapter 13 "Microcode
// Formats", the same chapter of the "CDNA 3" document for what changed, and of
// the "RDNA 2", "RDNA 3" and "RDNA 4" documents for the families after GFX9.
package layout

import (
	"math/bits"
	"slices"
	"strings"
)

// Kind is what the number in a field of an instruction means.
type Kind uint8

// The kinds of fields.
const (
	VGPR   Kind = iota // 8 bits: a vector register
	Source             // 9 bits: scalar register, constant, literal or vector register
	Scalar             // 7 or 8 bits: scalar register, constant or literal
	Pair               // 6 bits: scalar register, in units of two
	Quad               // 5 bits: scalar register, in units of four
	Imm                // a number
	SDWA               // 8 bits: vector register, or scalar source where the variant says so
	K                  // the 32 bits behind an instruction that always has them
	DstY               // 7 bits: the upper bits of a vector register; the lowest is the reverse of field vdstx's
)

// Code is the first sixteen bytes of an instruction: a set of 128 bits.
type Code struct{ Lo, Hi uint64 }

// Bits returns bits from lo on; they do not cross bit 64.
func (c Code) Bits(lo, width uint8) uint32 {
	if lo >= 64 {
		return uint32(c.Hi >> (lo - 64) & (1<<width - 1))
	}
	return uint32(c.Lo >> lo & (1<<width - 1))
}

// At returns a code with this value in the bits from lo on, and no others.
func At(lo, width uint8, v uint32) Code {
	bits := uint64(v) & (1<<width - 1)
	if lo >= 64 {
		return Code{Hi: bits << (lo - 64)}
	}
	return Code{Lo: bits << lo}
}

// Or is the union of two sets of bits.
func (c Code) Or(d Code) Code { return Code{c.Lo | d.Lo, c.Hi | d.Hi} }

// And is what two sets of bits have in common.
func (c Code) And(d Code) Code { return Code{c.Lo & d.Lo, c.Hi & d.Hi} }

// Without is the set less another's bits.
func (c Code) Without(d Code) Code { return Code{c.Lo &^ d.Lo, c.Hi &^ d.Hi} }

// Flip turns one bit.
func (c Code) Flip(bit uint8) Code {
	b := At(bit, 1, 1)
	return Code{c.Lo ^ b.Lo, c.Hi ^ b.Hi}
}

// Has reports one bit.
func (c Code) Has(bit uint8) bool { return c.Bits(bit, 1) != 0 }

// Count is the number of bits that are set.
func (c Code) Count() int { return bits.OnesCount64(c.Lo) + bits.OnesCount64(c.Hi) }

// Field is a field of an encoding that can be an operand.
type Field struct {
	Name      string
	Lo, Width uint8
	Kind      Kind
}

// Get takes the field out of an instruction.
func (f Field) Get(c Code) uint32 { return c.Bits(f.Lo, f.Width) }

// Put returns the field with this value, to be or-ed into an instruction.
func (f Field) Put(v uint32) Code { return At(f.Lo, f.Width, v) }

// Piece is some bits that choose the row of the table: the opcode, and the
// bits that change which operands there are. Where Values is set, the piece is
// the number of the value that the bits have, counted from one, or zero.
type Piece struct {
	Lo, Width uint8
	Values    []uint32
}

func (p Piece) width() uint8 {
	if p.Values == nil {
		return p.Width
	}
	return uint8(bits.Len(uint(len(p.Values))))
}

func (p Piece) get(c Code) uint32 {
	v := c.Bits(p.Lo, p.Width)
	if p.Values == nil {
		return v
	}
	return uint32(slices.Index(p.Values, v) + 1)
}

// Known returns the bits of an instruction that the row says all about.
func (p Piece) Known(c Code) Code {
	if p.Values != nil && p.get(c) == 0 {
		return Code{}
	}
	return At(p.Lo, p.Width, ^uint32(0))
}

// Marker is a field of nine bits whose values tell the encoding from others.
type Marker struct {
	Lo     uint8
	Values []uint32
}

// Behind is what the four bytes must be that begin the second half of an instruction
// of 16 bytes.
type Behind struct{ Mask, Match uint32 }

// behindAt is the place of those bytes, in bits.
const behindAt = 64

// Encoding is one instruction format.
type Encoding struct {
	Name        string
	Mask, Match uint32  // of the first four bytes
	Behind      *Behind // when not nil: and of four more
	Marker      *Marker // when not nil: of the bits that it names, one of these values alone
	Size        uint8   // in bytes, without a literal: 4, 8, 12 or 16
	Literal     bool    // one may follow, although there are more than 4 bytes
	Only        []uint8 // when not empty: of the opcodes, these alone
	Index       []Piece // opcode first
	Fields      []Field

	// An instruction that does two things at once is described by two halves. Of
	// these, the second is never found by its bits. Fill is an instruction of
	// the other half, for probes, and Other its bits.
	Second      bool
	Fill, Other Code
}

// HasLiteral reports that 32 bits may follow.
func (e *Encoding) HasLiteral() bool { return e.Size == 4 || e.Literal }

// RowOf returns the index into the encoding's part of the table.
func (e *Encoding) RowOf(c Code) uint32 {
	var row uint32
	var at uint8
	for _, p := range e.Index {
		row |= p.get(c) << at
		at += p.width()
	}
	return row
}

// Rows is one more than the greatest index.
func (e *Encoding) Rows() int {
	n := 0
	for _, p := range e.Index {
		n += int(p.width())
	}
	return 1 << n
}

// Word is the reverse of RowOf: an instruction of that row whose other bits are
// zero. For a piece with values that has none of them, the bits are zero.
func (e *Encoding) Word(row uint32) Code {
	c := Code{Lo: uint64(e.Match)}.Or(e.Fill)
	if e.Behind != nil {
		c = c.Or(At(behindAt, 32, e.Behind.Match))
	}
	if e.Marker != nil {
		c = c.Or(At(e.Marker.Lo, 9, e.Marker.Values[0]))
	}
	for _, p := range e.Index {
		n := p.width()
		v := row & (1<<n - 1)
		row >>= n
		if p.Values != nil {
			if v == 0 || int(v) > len(p.Values) {
				continue
			}
			v = p.Values[v-1]
		}
		c = c.Or(At(p.Lo, p.Width, v))
	}
	return c
}

// Fixed returns the bits that tell this encoding and row from others, and those
// that are no business of the encoding.
func (e *Encoding) Fixed(c Code) Code {
	f := Code{Lo: uint64(e.Mask)}.Or(e.Other)
	if e.Behind != nil {
		f = f.Or(At(behindAt, 32, e.Behind.Mask))
	}
	if e.Marker != nil {
		f = f.Or(At(e.Marker.Lo, 9, ^uint32(0)))
	}
	for _, p := range e.Index {
		f = f.Or(p.Known(c))
	}
	return f
}

func (e *Encoding) matches(c Code) bool {
	if e.Second || uint32(c.Lo)&e.Mask != e.Match {
		return false
	}
	if e.Behind != nil && c.Bits(behindAt, 32)&e.Behind.Mask != e.Behind.Match {
		return false
	}
	if e.Marker != nil && !slices.Contains(e.Marker.Values, c.Bits(e.Marker.Lo, 9)) {
		return false
	}
	return e.Only == nil || slices.Contains(e.Only, uint8(c.Bits(e.Index[0].Lo, e.Index[0].Width)))
}

// Find returns the place of the encoding of an instruction in the list, or -1.
func Find(list []Encoding, c Code) int {
	for i := range list {
		if list[i].matches(c) {
			return i
		}
	}
	return -1
}

// Field returns the index of the field of that name, or -1.
func (e *Encoding) Field(name string) int {
	return slices.IndexFunc(e.Fields, func(f Field) bool { return f.Name == name })
}

// Special numbers in source fields.
const (
	SrcDPP8      = 0xe9
	SrcDPP8FI    = 0xea // the same, and lanes that are off are read
	SrcSDWA      = 0xf9
	SrcDPP       = 0xfa
	SrcLiteral   = 0xff
	SrcLiteral64 = 0xfe // of the families that have literals of 64 bits
	NoAddress    = 0x7f // SADDR: there is none
)

// Family is a generation whose processors have the same encodings.
type Family struct {
	Name       string
	Generation int    // 9 to 12
	Null       uint32 // the scalar register that reads as zero; 0 where there is none
	Wave64     bool   // waves have 32 lanes or 64; else there is one size
	Literal64  bool   // 64 bits may follow formats of 4 bytes
	Encodings  []Encoding
}

// Families returns them all, oldest first.
func Families() []Family {
	return []Family{
		{"gfx9", 9, 0, false, false, GFX9()},
		{"gfx10", 10, 125, true, false, GFX10()},
		{"gfx11", 11, 124, true, false, GFX11()},
		{"gfx12", 12, 124, true, false, GFX12()},
		{"gfx125", 12, 124, false, true, GFX125()},
	}
}

// FamilyOf returns the place of a processor's family among Families, or -1. Generic
// processors (gfx9-4-generic) belong to the family of those that they cover.
func FamilyOf(processor string) int {
	if strings.HasPrefix(processor, "gfx125") {
		return slices.IndexFunc(Families(), func(f Family) bool { return f.Name == "gfx125" })
	}
	for i, f := range Families() {
		rest, ok := strings.CutPrefix(processor, f.Name)
		if ok && (len(rest) == 2 || strings.HasPrefix(rest, "-") && strings.HasSuffix(rest, "-generic")) {
			return i
		}
	}
	return -1
}
