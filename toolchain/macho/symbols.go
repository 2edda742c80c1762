package macho

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// nlistSize is the size of a struct nlist_64 (mach-o/nlist.h).
const nlistSize = 16

// Parts of n_type and n_desc (mach-o/nlist.h).
const (
	nStab = 0xe0
	nPext = 0x10
	nType = 0x0e
	nExt  = 0x01

	nUndef = 0x0
	nAbs   = 0x2
	nSect  = 0xe
	nPbud  = 0xc
	nIndr  = 0xa

	nWeakRef = 0x40
	nWeakDef = 0x80
)

// Types of stabs that name files (mach-o/stab.h).
const (
	stabSO  = 0x64
	stabOSO = 0x66
	stabSOL = 0x84
)

// Symbol is one entry of the symbol table, stabs among them.
type Symbol struct {
	Name string
	// Type, Section, Desc and Value are n_type, n_sect, n_desc and n_value.
	Type    uint8
	Section uint8
	Desc    uint16
	Value   uint64
}

// Stab reports whether the entry is for debuggers and means nothing to dyld.
func (s *Symbol) Stab() bool { return s.Type&nStab != 0 }

// Undefined reports whether the image wants the symbol of somebody else.
// Common symbols of object files, which have a size for a value, count too.
func (s *Symbol) Undefined() bool {
	return !s.Stab() && (s.Type&nType == nUndef || s.Type&nType == nPbud)
}

// Exported reports whether other images see the definition.
func (s *Symbol) Exported() bool {
	return !s.Stab() && s.Type&(nExt|nPext) == nExt && !s.Undefined()
}

// WeakReference reports whether an undefined symbol may be missing.
func (s *Symbol) WeakReference() bool { return s.Undefined() && s.Desc&nWeakRef != 0 }

// WeakDefinition reports whether a definition yields to others of its name.
func (s *Symbol) WeakDefinition() bool {
	return !s.Stab() && !s.Undefined() && s.Desc&nWeakDef != 0
}

// Ordinal is the number of the library that an undefined symbol is bound to,
// with the special ones of Import. It means something in images that have
// FlagTwoLevel only.
func (s *Symbol) Ordinal() int {
	switch n := int(s.Desc >> 8); n {
	case 0xfe: // DYNAMIC_LOOKUP_ORDINAL
		return OrdinalFlatLookup
	case 0xff: // EXECUTABLE_ORDINAL
		return OrdinalMainExecutable
	default:
		return n
	}
}

// Symbols reads the symbol table in file order. The names share the string
// table's memory.
func (i *Image) Symbols() ([]Symbol, error) {
	table, err := i.bytes("symbol table", i.data.symbols.off, i.data.symbols.size)
	if err != nil || len(table) == 0 {
		return nil, err
	}
	raw, err := i.bytes("string table", i.data.strings.off, i.data.strings.size)
	if err != nil {
		return nil, err
	}
	strings := string(raw)
	// Names may end in one another's tails, so that a hostile table can make
	// every symbol walk the same long string.
	budget := 64<<20 + 16*len(raw)
	le := binary.LittleEndian
	out := make([]Symbol, 0, len(table)/nlistSize)
	for ; len(table) >= nlistSize; table = table[nlistSize:] {
		s := Symbol{Type: table[4], Section: table[5], Desc: le.Uint16(table[6:]), Value: le.Uint64(table[8:])}
		if index := le.Uint32(table); index != 0 {
			if uint64(index) >= uint64(len(raw)) {
				return nil, damaged("symbol %d: its name at %#x lies beyond the string table (%d bytes)", len(out), index, len(raw))
			}
			end := bytes.IndexByte(raw[index:], 0)
			if end < 0 {
				return nil, damaged("symbol %d: its name has no end", len(out))
			}
			if budget -= end; budget < 0 {
				return nil, damaged("symbols share more of the string table than real ones do")
			}
			s.Name = strings[index : int(index)+end]
		}
		out = append(out, s)
	}
	return out, nil
}

// SourceFiles are the paths that stabs name: N_SO and N_SOL, sources and their
// folders, and N_OSO, object files and members of archives ("lib.a(x.o)"), in
// file order and each once.
func (i *Image) SourceFiles() ([]string, error) {
	symbols, err := i.Symbols()
	if err != nil {
		return nil, err
	}
	var out []string
	seen := map[string]bool{}
	for k := range symbols {
		s := &symbols[k]
		switch s.Type {
		case stabSO, stabOSO, stabSOL:
			if s.Name != "" && !seen[s.Name] {
				seen[s.Name] = true
				out = append(out, s.Name)
			}
		}
	}
	return out, nil
}

// FunctionStarts are the addresses of the functions in rising order, by
// LC_FUNCTION_STARTS: distances in ULEB128, the first from __TEXT.
func (i *Image) FunctionStarts() ([]uint64, error) {
	b, err := i.bytes("function starts", i.data.functionStarts.off, i.data.functionStarts.size)
	if err != nil || len(b) == 0 {
		return nil, err
	}
	var addr uint64
	if text := i.Segment("__TEXT"); text != nil {
		addr = text.Addr
	}
	var out []uint64
	for d := (decoder{b: b}); d.more(); {
		step := d.uleb()
		if d.err != nil {
			return nil, damaged("function starts: %w", d.err)
		}
		if step == 0 { // The rest pads the table.
			break
		}
		addr += step
		out = append(out, addr)
	}
	return out, nil
}

// DataRange is a stretch of data among the instructions, such as a jump table.
type DataRange struct {
	// Offset counts from the beginning of the image.
	Offset uint32
	Length uint16
	// Kind is DICE_KIND: 1 data, 2 to 4 jump tables of 8, 16 and 32 bits.
	Kind uint16
}

// DataInCode are the entries of LC_DATA_IN_CODE, in file order.
func (i *Image) DataInCode() ([]DataRange, error) {
	b, err := i.bytes("data in code", i.data.dataInCode.off, i.data.dataInCode.size)
	if err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	var out []DataRange
	for ; len(b) >= 8; b = b[8:] {
		out = append(out, DataRange{le.Uint32(b), le.Uint16(b[4:]), le.Uint16(b[6:])})
	}
	return out, nil
}

// decoder reads LEB128 numbers and strings and remembers the first error.
type decoder struct {
	b   []byte
	off int
	err error
}

func (d *decoder) more() bool { return d.err == nil && d.off < len(d.b) }

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
}

func (d *decoder) byte() byte {
	if d.err != nil || d.off >= len(d.b) {
		d.fail("it ends within an entry")
		return 0
	}
	d.off++
	return d.b[d.off-1]
}

func (d *decoder) uleb() uint64 {
	var v uint64
	for shift := 0; ; shift += 7 {
		c := d.byte()
		if d.err != nil {
			return 0
		}
		if shift > 63 || shift == 63 && c&0x7e != 0 {
			d.fail("the number at %#x has more than 64 bits", d.off)
			return 0
		}
		v |= uint64(c&0x7f) << shift
		if c&0x80 == 0 {
			return v
		}
	}
}

func (d *decoder) sleb() int64 {
	var v int64
	for shift := 0; ; shift += 7 {
		c := d.byte()
		if d.err != nil {
			return 0
		}
		if shift > 63 {
			d.fail("the number at %#x has more than 64 bits", d.off)
			return 0
		}
		v |= int64(c&0x7f) << shift
		if c&0x80 == 0 {
			if shift < 57 && c&0x40 != 0 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
}

func (d *decoder) string() []byte {
	if d.err != nil {
		return nil
	}
	end := bytes.IndexByte(d.b[min(d.off, len(d.b)):], 0)
	if end < 0 {
		d.fail("a string without an end")
		return nil
	}
	s := d.b[d.off : d.off+end]
	d.off += end + 1
	return s
}
