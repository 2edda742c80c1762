package codeobj

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Limits of the ELF reader. The largest real files known (the kernel libraries
// of BLAS and FFT) stay far below.
const (
	maxSections = 1 << 16
	maxSegments = 1 << 10
	maxSymbols  = 1 << 20
)

// Sizes and numbers of the ELF64 format (System V ABI).
const (
	ehdrSize = 64
	shdrSize = 64
	phdrSize = 56
	symSize  = 24

	elfClass64 = 2
	elfLSB     = 1

	shtSymtab  = 2
	shtNote    = 7
	shtNobits  = 8
	shtDynsym  = 11
	shnXIndex  = 0xffff
	shnUndef   = 0
	shnReserve = 0xff00
)

// Segment types (p_type) and flags (p_flags) that matter to a loader.
const (
	SegmentLoad uint32 = 1 // PT_LOAD
	SegmentNote uint32 = 4 // PT_NOTE

	SegmentExec  uint32 = 1 // PF_X
	SegmentWrite uint32 = 2 // PF_W
	SegmentRead  uint32 = 4 // PF_R
)

// Segment is a program header. Data is the part of it that the file holds.
type Segment struct {
	Type    uint32
	Flags   uint32
	Offset  uint64 // where Data starts in the file
	Addr    uint64 // virtual address, relative to where the object is loaded
	MemSize uint64 // bytes in memory, at least len(Data); the rest is zero
	Align   uint64
	Data    []byte
}

// Section is a section header. Data is nil for a section without file content.
type Section struct {
	Name    string
	Type    uint32
	Flags   uint64
	Addr    uint64
	Offset  uint64
	Size    uint64
	Link    uint32
	Info    uint32
	Align   uint64
	EntSize uint64
	Data    []byte
}

// Symbol types (the low four bits of st_info) that matter here.
const (
	SymbolNone   uint8 = 0 // STT_NOTYPE
	SymbolObject uint8 = 1 // STT_OBJECT: data, kernel descriptors included
	SymbolFunc   uint8 = 2 // STT_FUNC: code
)

// Symbol is an entry of a symbol table.
type Symbol struct {
	Name    string
	Type    uint8  // STT_*
	Bind    uint8  // STB_*
	Visible uint8  // STV_*
	Section uint16 // index of the section, 0 when undefined
	Value   uint64 // address, relative to where the object is loaded
	Size    uint64
}

// Defined reports whether the symbol is of this file.
func (s Symbol) Defined() bool { return s.Section != shnUndef }

// elfFile is an ELF64 little-endian file taken apart.
type elfFile struct {
	data     []byte
	osabi    uint8
	abi      uint8
	kind     uint16 // e_type
	machine  uint16
	entry    uint64
	flags    uint32
	segments []Segment
	sections []Section
}

var errNotELF = errors.New("not an ELF file: the magic number is missing")

func isELF(data []byte) bool { return bytes.HasPrefix(data, []byte("\x7fELF")) }

// slice returns n bytes at off, or an error that names what was looked for.
func slice(data []byte, off, n uint64, what string) ([]byte, error) {
	size := uint64(len(data))
	if off > size || n > size-off {
		return nil, fmt.Errorf("%s: %d bytes at offset 0x%x do not lie in the %d bytes there are", what, n, off, size)
	}
	return data[off : off+n : off+n], nil
}

func parseELF(data []byte) (*elfFile, error) {
	if !isELF(data) {
		return nil, errNotELF
	}
	if len(data) < ehdrSize {
		return nil, fmt.Errorf("elf header: %d bytes are cut short of %d", len(data), ehdrSize)
	}
	if data[4] != elfClass64 || data[5] != elfLSB {
		return nil, fmt.Errorf("elf header: class %d, byte order %d: only 64-bit little-endian files are read", data[4], data[5])
	}
	le := binary.LittleEndian
	f := &elfFile{
		data:    data,
		osabi:   data[7],
		abi:     data[8],
		kind:    le.Uint16(data[16:]),
		machine: le.Uint16(data[18:]),
		entry:   le.Uint64(data[24:]),
		flags:   le.Uint32(data[48:]),
	}
	if err := f.readSegments(le.Uint64(data[32:]), le.Uint16(data[54:]), le.Uint16(data[56:])); err != nil {
		return nil, err
	}
	if err := f.readSections(le.Uint64(data[40:]), le.Uint16(data[58:]), le.Uint16(data[60:]), le.Uint16(data[62:])); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *elfFile) readSegments(off uint64, entry, count uint16) error {
	if count == 0 {
		return nil
	}
	if entry != phdrSize || count > maxSegments {
		return fmt.Errorf("program headers: %d of %d bytes each: at most %d of %d are read", count, entry, maxSegments, phdrSize)
	}
	table, err := slice(f.data, off, uint64(count)*phdrSize, "program headers")
	if err != nil {
		return err
	}
	le := binary.LittleEndian
	f.segments = make([]Segment, 0, count)
	for i := range int(count) {
		h := table[i*phdrSize:]
		s := Segment{
			Type:    le.Uint32(h),
			Flags:   le.Uint32(h[4:]),
			Offset:  le.Uint64(h[8:]),
			Addr:    le.Uint64(h[16:]),
			MemSize: le.Uint64(h[40:]),
			Align:   le.Uint64(h[48:]),
		}
		size := le.Uint64(h[32:])
		if s.Type == SegmentLoad && (size > s.MemSize || s.Addr > math.MaxUint64-s.MemSize) {
			return fmt.Errorf("program header %d: %d bytes of the file for %d bytes of memory at 0x%x", i, size, s.MemSize, s.Addr)
		}
		// PT_GNU_STACK and its like describe no bytes and may lie anywhere.
		if size > 0 {
			if s.Data, err = slice(f.data, s.Offset, size, fmt.Sprintf("program header %d", i)); err != nil {
				return err
			}
		}
		f.segments = append(f.segments, s)
	}
	return nil
}

func (f *elfFile) readSections(off uint64, entry, count, strings uint16) error {
	if off == 0 {
		return nil
	}
	le := binary.LittleEndian
	number, names := uint64(count), uint32(strings)
	if entry != shdrSize {
		return fmt.Errorf("section headers: %d bytes each, want %d", entry, shdrSize)
	}
	if count == 0 || strings == shnXIndex {
		// Too many for 16 bits: the first section header has the numbers.
		first, err := slice(f.data, off, shdrSize, "first section header")
		if err != nil {
			return err
		}
		if count == 0 {
			number = le.Uint64(first[32:])
		}
		if strings == shnXIndex {
			names = le.Uint32(first[40:])
		}
	}
	if number > maxSections {
		return fmt.Errorf("section headers: %d: at most %d are read", number, maxSections)
	}
	table, err := slice(f.data, off, number*shdrSize, "section headers")
	if err != nil {
		return err
	}
	f.sections = make([]Section, number)
	nameAt := make([]uint32, number)
	for i := range f.sections {
		h := table[i*shdrSize:]
		s := &f.sections[i]
		nameAt[i] = le.Uint32(h)
		s.Type = le.Uint32(h[4:])
		s.Flags = le.Uint64(h[8:])
		s.Addr = le.Uint64(h[16:])
		s.Offset = le.Uint64(h[24:])
		s.Size = le.Uint64(h[32:])
		s.Link = le.Uint32(h[40:])
		s.Info = le.Uint32(h[44:])
		s.Align = le.Uint64(h[48:])
		s.EntSize = le.Uint64(h[56:])
		if i == 0 || s.Type == shtNobits || s.Size == 0 {
			continue
		}
		if s.Data, err = slice(f.data, s.Offset, s.Size, fmt.Sprintf("section %d", i)); err != nil {
			return err
		}
	}
	if number == 0 || names == 0 {
		return nil
	}
	if uint64(names) >= number {
		return fmt.Errorf("section names: section %d of %d", names, number)
	}
	table2 := newStrings(f.sections[names].Data)
	for i := range f.sections {
		if f.sections[i].Name, err = table2.at(nameAt[i]); err != nil {
			return fmt.Errorf("name of section %d: %w", i, err)
		}
	}
	return nil
}

// symbols reads the first symbol table of that type; none gives none.
func (f *elfFile) symbols(kind uint32) ([]Symbol, error) {
	for i := range f.sections {
		if s := &f.sections[i]; s.Type == kind {
			list, err := f.symbolsOf(s)
			if err != nil {
				return nil, fmt.Errorf("symbol table %q: %w", s.Name, err)
			}
			return list, nil
		}
	}
	return nil, nil
}

func (f *elfFile) symbolsOf(s *Section) ([]Symbol, error) {
	if s.EntSize != symSize || s.Size%symSize != 0 {
		return nil, fmt.Errorf("%d bytes in entries of %d, want %d", s.Size, s.EntSize, symSize)
	}
	count := len(s.Data) / symSize
	if count > maxSymbols {
		return nil, fmt.Errorf("%d symbols: at most %d are read", count, maxSymbols)
	}
	if uint64(s.Link) >= uint64(len(f.sections)) {
		return nil, fmt.Errorf("its names are in section %d of %d", s.Link, len(f.sections))
	}
	names := newStrings(f.sections[s.Link].Data)
	le := binary.LittleEndian
	list := make([]Symbol, 0, count)
	for i := 1; i < count; i++ { // the first entry is reserved
		h := s.Data[i*symSize:]
		name, err := names.at(le.Uint32(h))
		if err != nil {
			return nil, fmt.Errorf("name of symbol %d: %w", i, err)
		}
		sym := Symbol{
			Name:    name,
			Type:    h[4] & 15,
			Bind:    h[4] >> 4,
			Visible: h[5] & 3,
			Section: le.Uint16(h[6:]),
			Value:   le.Uint64(h[8:]),
			Size:    le.Uint64(h[16:]),
		}
		if sym.Section < shnReserve && int(sym.Section) >= len(f.sections) {
			return nil, fmt.Errorf("symbol %q is of section %d of %d", sym.Name, sym.Section, len(f.sections))
		}
		list = append(list, sym)
	}
	return list, nil
}

// stringTable hands out names of a string table without copying them, and
// stops when the names together are far longer than the table: many symbols
// that share one enormous name would otherwise cost their product in time.
type stringTable struct {
	text   string
	budget int
}

func newStrings(data []byte) *stringTable {
	return &stringTable{text: string(data), budget: 16*len(data) + 1<<16}
}

func (t *stringTable) at(off uint32) (string, error) {
	if off == 0 && t.text == "" {
		return "", nil
	}
	if uint64(off) >= uint64(len(t.text)) {
		return "", fmt.Errorf("offset 0x%x is outside of the %d bytes of names", off, len(t.text))
	}
	rest := t.text[off:]
	for i := range len(rest) {
		if rest[i] == 0 {
			return rest[:i], nil
		}
		if t.budget--; t.budget < 0 {
			return "", errors.New("the names overlap beyond reason")
		}
	}
	return "", fmt.Errorf("the name at 0x%x has no end", off)
}
