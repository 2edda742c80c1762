package emulator

import (
	"encoding/binary"
	"fmt"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
)

// Relocations that a linked code object has (AMDGPUUsage, "Relocation Records"): lld
// leaves these two alone (lld/ELF/Arch/AMDGPU.cpp, getDynRel), all else it resolves.
const (
	relAbs64      = 3
	relRelative64 = 13
)

// relocate applies the dynamic relocations (sections of type SHT_RELA, 24 bytes
// an entry: offset, info, addend).
func (m *Module) relocate() error {
	const rela, rel, relr, absolute = 4, 9, 19, 0xfff1
	le := binary.LittleEndian
	for _, s := range m.obj.Sections {
		switch {
		case s.Type == relr:
			if err := m.relocatePacked(s); err != nil {
				return err
			}
			continue
		case s.Type == rel && len(s.Data) > 0:
			return fmt.Errorf("%s: relocations without addends (section type %d) are not of AMDGPU", s.Name, rel)
		case s.Type != rela:
			continue
		}
		for at := 0; at+24 <= len(s.Data); at += 24 {
			offset, info, addend := le.Uint64(s.Data[at:]), le.Uint64(s.Data[at+8:]), le.Uint64(s.Data[at+16:])
			var value uint64
			switch kind := uint32(info); kind {
			case relRelative64:
				value = m.image.base - m.low + addend
			case relAbs64:
				sym := int(info>>32) - 1 // the table here begins behind the empty symbol
				if sym < 0 || sym >= len(m.obj.Dynamic) || !m.obj.Dynamic[sym].Defined() {
					return fmt.Errorf("%s: the relocation at 0x%x needs a symbol that is not there", s.Name, offset)
				}
				value = m.obj.Dynamic[sym].Value + addend
				if m.obj.Dynamic[sym].Section != absolute {
					value += m.image.base - m.low
				}
			default:
				return fmt.Errorf("%s: relocation type %d at 0x%x is not known", s.Name, kind, offset)
			}
			at, err := m.place(s, offset)
			if err != nil {
				return err
			}
			le.PutUint64(at, value)
		}
	}
	return nil
}

// place returns the word of 64 bits that a relocation is for.
func (m *Module) place(s codeobj.Section, offset uint64) ([]byte, error) {
	if offset < m.low || m.image.size < 8 || offset-m.low > m.image.size-8 {
		return nil, fmt.Errorf("%s: the relocation at 0x%x is outside of the image", s.Name, offset)
	}
	return m.image.data[offset-m.low:][:8], nil
}

// relocatePacked adds the address of the object to the words that a section of type
// SHT_RELR names (System V ABI, "Relative Relocation Table"): an even word is the address of
// one, an odd one has a bit for each of the 63 that follow what was named before.
func (m *Module) relocatePacked(s codeobj.Section) error {
	le := binary.LittleEndian
	next := uint64(0)
	move := func(offset uint64) error {
		at, err := m.place(s, offset)
		if err == nil {
			le.PutUint64(at, le.Uint64(at)+m.image.base-m.low)
		}
		return err
	}
	for at := 0; at+8 <= len(s.Data); at += 8 {
		entry := le.Uint64(s.Data[at:])
		if entry&1 == 0 {
			if err := move(entry); err != nil {
				return err
			}
			next = entry + 8
			continue
		}
		for n := range uint64(63) {
			if entry>>(n+1)&1 == 0 {
				continue
			}
			if err := move(next + 8*n); err != nil {
				return err
			}
		}
		next += 63 * 8
	}
	return nil
}

// protect makes parts of the image: kernels write its variables, not its constants and
// its code, and touch nothing between its segments.
func (m *Module) protect() {
	const relro = 0x6474e552 // PT_GNU_RELRO: nobody writes it once it is relocated
	final := map[uint64]uint64{}
	for _, s := range m.obj.Segments {
		if s.Type == relro {
			final[s.Addr] = s.MemSize
		}
	}
	var parts []*region
	end := uint64(0) // of the part before, within the image
	for _, s := range m.obj.Segments {
		if s.Type != codeobj.SegmentLoad || s.MemSize == 0 {
			continue
		}
		name, write := "constants of the code object", s.Flags&codeobj.SegmentWrite != 0 && final[s.Addr] < s.MemSize
		switch {
		case write:
			name = "variables of the code object"
		case s.Flags&codeobj.SegmentExec != 0:
			name = "code of the code object"
		}
		at := (s.Addr - m.low) &^ 7 // words lie as in the image
		if at < end {
			return // they share a word: the image stays whole
		}
		end = s.Addr - m.low + s.MemSize
		part := &region{base: m.image.base + at, size: end - at, data: m.image.data[at:], name: name, write: write}
		part.known.Store(true)
		parts = append(parts, part)
	}
	// Compilers load a little more than there is where alignment says that the rest is
	// there as well: three words of sixteen bytes as four.
	for n, part := range parts {
		limit := m.image.base + m.image.size
		if n+1 < len(parts) {
			limit = parts[n+1].base
		}
		part.size = min((part.size+tail-1)&^(tail-1), limit-part.base)
	}
	m.dev.mem.split(m.image, parts)
}

// tail is what may be loaded behind the end of a segment, up to a multiple of it.
const tail = 64
