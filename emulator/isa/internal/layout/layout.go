// Package layout says where the fields of each instruction encoding lie. The
// decoder and the generator of its tables both read it, so they cannot differ.
//
// Origin: AMD, "Vega" Instruction Set Architecture, chapter 13 "Microcode
// Formats", and the same chapter of the "CDNA 3" document for what changed.
package layout

import "slices"

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
	K                  // the 32 bits behind a 4-byte instruction that always has them
)

// Field is a field of an encoding that can be an operand.
type Field struct {
	Name      string
	Lo, Width uint8
	Kind      Kind
}

// Get takes the field out of the first eight bytes of an instruction.
func (f Field) Get(word uint64) uint32 { return uint32(word>>f.Lo) & (1<<f.Width - 1) }

// Put returns the field with this value, to be or-ed into an instruction.
func (f Field) Put(v uint32) uint64 { return uint64(v&(1<<f.Width-1)) << f.Lo }

// Piece is some bits that choose the row of the table: the opcode, and the
// bits that change which operands there are. Where Equals is set, the piece is
// the one bit "these bits are all ones".
type Piece struct {
	Lo, Width uint8
	AllOnes   bool
}

func (p Piece) get(word uint64) (uint32, uint8) {
	v := uint32(word>>p.Lo) & (1<<p.Width - 1)
	if !p.AllOnes {
		return v, p.Width
	}
	if v == 1<<p.Width-1 {
		return 1, 1
	}
	return 0, 1
}

// Encoding is one instruction format.
type Encoding struct {
	Name        string
	Mask, Match uint32  // of the first four bytes
	Size        uint8   // in bytes, without a literal: 4 or 8
	Only        []uint8 // when not empty: of the opcodes, these alone
	Index       []Piece // opcode first
	Fields      []Field
}

// RowOf returns the index into the encoding's part of the table.
func (e *Encoding) RowOf(word uint64) uint32 {
	var row uint32
	var at uint8
	for _, p := range e.Index {
		v, n := p.get(word)
		row |= v << at
		at += n
	}
	return row
}

// Rows is one more than the greatest index.
func (e *Encoding) Rows() int {
	n := 0
	for _, p := range e.Index {
		if p.AllOnes {
			n++
		} else {
			n += int(p.Width)
		}
	}
	return 1 << n
}

// Word is the reverse of RowOf: an instruction of that row whose other bits are
// zero. For an AllOnes piece whose bit is clear, the bits are zero.
func (e *Encoding) Word(row uint32) uint64 {
	word := uint64(e.Match)
	for _, p := range e.Index {
		if p.AllOnes {
			if row&1 != 0 {
				word |= (1<<p.Width - 1) << p.Lo
			}
			row >>= 1
			continue
		}
		word |= uint64(row&(1<<p.Width-1)) << p.Lo
		row >>= p.Width
	}
	return word
}

// Find returns the encoding of an instruction by its first four bytes, or nil.
func Find(list []Encoding, first uint32) *Encoding {
	for i := range list {
		e := &list[i]
		if first&e.Mask != e.Match {
			continue
		}
		if op, _ := e.Index[0].get(uint64(first)); e.Only == nil || slices.Contains(e.Only, uint8(op)) {
			return e
		}
	}
	return nil
}

// Field returns the index of the field of that name, or -1.
func (e *Encoding) Field(name string) int {
	for i, f := range e.Fields {
		if f.Name == name {
			return i
		}
	}
	return -1
}

// Special numbers in source fields.
const (
	SrcSDWA    = 0xf9
	SrcDPP     = 0xfa
	SrcLiteral = 0xff
	NoAddress  = 0x7f // SADDR: there is none
)
