package macho

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Import formats (mach-o/fixup-chains.h, DYLD_CHAINED_IMPORT*).
const (
	importPlain    = 1
	importAddend   = 2
	importAddend64 = 3
)

// Pointer formats (mach-o/fixup-chains.h, DYLD_CHAINED_PTR_*): those of 64-bit
// images on macOS. The others are of kernels, firmware and 32-bit machines.
const (
	ptrARM64E           = 1
	ptr64               = 2
	ptr64Offset         = 6
	ptrARM64EUserland   = 9
	ptrARM64EUserland24 = 12
)

const (
	pageStartNone = 0xffff
	maxImports    = 1 << 24
)

// chained is the table of chained fixups: a header of seven words, the starts
// of the chains by segment, the imports, and their names.
type chained struct {
	b                       []byte
	startsOff, importsOff   uint32
	symbolsOff, importCount uint32
	importFormat            uint32
}

func (i *Image) chainedHeader() (*chained, error) {
	b, err := i.bytes("chained fixups", i.data.chained.off, i.data.chained.size)
	if err != nil {
		return nil, err
	}
	if len(b) < 28 {
		return nil, damaged("chained fixups: %d bytes are too few", len(b))
	}
	le := binary.LittleEndian
	c := &chained{b: b, startsOff: le.Uint32(b[4:]), importsOff: le.Uint32(b[8:]), symbolsOff: le.Uint32(b[12:]),
		importCount: le.Uint32(b[16:]), importFormat: le.Uint32(b[20:])}
	if version := le.Uint32(b); version != 0 {
		return nil, damaged("chained fixups: version %d, only 0 is known", version)
	}
	if format := le.Uint32(b[24:]); format != 0 {
		return nil, fmt.Errorf("%w: the names of its chained fixups are compressed (format %d)", ErrUnsupported, format)
	}
	return c, nil
}

func (c *chained) imports() ([]Import, error) {
	sizes := map[uint32]uint64{importPlain: 4, importAddend: 8, importAddend64: 16}
	size := sizes[c.importFormat]
	if size == 0 {
		return nil, damaged("chained fixups: import format %d is not known", c.importFormat)
	}
	n := uint64(c.importCount)
	if uint64(c.importsOff) > uint64(len(c.b)) || n*size > uint64(len(c.b))-uint64(c.importsOff) || n > maxImports {
		return nil, damaged("chained fixups: %d imports at %#x do not fit their %d bytes", n, c.importsOff, len(c.b))
	}
	if uint64(c.symbolsOff) > uint64(len(c.b)) {
		return nil, damaged("chained fixups: the names at %#x lie outside their %d bytes", c.symbolsOff, len(c.b))
	}
	names := c.b[c.symbolsOff:]
	budget := 64<<20 + 16*len(names)
	le := binary.LittleEndian
	out := make([]Import, 0, n)
	for b := c.b[c.importsOff:][:n*size]; len(b) > 0; b = b[size:] {
		var imp Import
		var name uint64
		switch c.importFormat {
		case importPlain, importAddend:
			// lib_ordinal 8, weak_import 1, name_offset 23; then the addend.
			v := le.Uint32(b)
			imp.Ordinal, imp.Weak, name = ordinal8(uint8(v)), v>>8&1 != 0, uint64(v>>9)
			if c.importFormat == importAddend {
				imp.Addend = int64(int32(le.Uint32(b[4:])))
			}
		case importAddend64:
			// lib_ordinal 16, weak_import 1, reserved 15, name_offset 32.
			v := le.Uint64(b)
			imp.Ordinal, imp.Weak, name = ordinal16(uint16(v)), v>>16&1 != 0, v>>32
			imp.Addend = int64(le.Uint64(b[8:]))
		}
		if name >= uint64(len(names)) {
			return nil, damaged("chained fixups: the name of import %d at %#x lies outside (%d bytes)", len(out), name, len(names))
		}
		end := bytes.IndexByte(names[name:], 0)
		if end < 0 {
			return nil, damaged("chained fixups: the name of import %d has no end", len(out))
		}
		if budget -= end; budget < 0 {
			return nil, damaged("chained fixups: the names of imports are longer than real ones are")
		}
		imp.Name = string(names[name:][:end])
		out = append(out, imp)
	}
	return out, nil
}

// ordinal8 reads the ordinals near the top as negative, as dyld does.
func ordinal8(v uint8) int {
	if v > 0xf0 {
		return int(int8(v))
	}
	return int(v)
}

func ordinal16(v uint16) int {
	if v > 0xfff0 {
		return int(int16(v))
	}
	return int(v)
}

func (i *Image) chainedFixups() (*Fixups, error) {
	c, err := i.chainedHeader()
	if err != nil {
		return nil, err
	}
	f := &Fixups{}
	if f.Imports, err = c.imports(); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	if c.startsOff > uint32(len(c.b)) || len(c.b)-int(c.startsOff) < 4 {
		return nil, damaged("chained fixups: the starts at %#x lie outside (%d bytes)", c.startsOff, len(c.b))
	}
	starts := c.b[c.startsOff:]
	n := uint64(le.Uint32(starts))
	if n > uint64(len(i.Segments)) || 4+4*n > uint64(len(starts)) {
		return nil, damaged("chained fixups: starts of %d segments, the image has %d", n, len(i.Segments))
	}
	walk := chainWalk{image: i, out: f, budget: i.Size / 4}
	for k := range int(n) {
		off := le.Uint32(starts[4+4*k:])
		if off == 0 { // Nothing to fix up in this segment.
			continue
		}
		if uint64(off)+22 > uint64(len(starts)) {
			return nil, damaged("chained fixups: the starts of segment %d at %#x lie outside", k, off)
		}
		if err := walk.segment(&i.Segments[k], starts[off:]); err != nil {
			return nil, damaged("chained fixups: segment %s: %w", i.Segments[k].Name, err)
		}
	}
	return f, nil
}

type chainWalk struct {
	image  *Image
	out    *Fixups
	budget int64
}

// segment reads a dyld_chained_starts_in_segment (size 4, page_size 2,
// pointer_format 2, segment_offset 8, max_valid_pointer 4, page_count 2, then
// two bytes a page) and follows each page's chain.
func (w *chainWalk) segment(seg *Segment, starts []byte) error {
	le := binary.LittleEndian
	pageSize, format, pages := uint64(le.Uint16(starts[4:])), le.Uint16(starts[6:]), int(le.Uint16(starts[20:]))
	if pageSize != 0x1000 && pageSize != 0x4000 {
		return fmt.Errorf("a page size of %d", pageSize)
	}
	if 22+2*pages > len(starts) {
		return fmt.Errorf("%d pages do not fit", pages)
	}
	base := uint64(0) // Of the image: where the header is.
	if text := w.image.Segment("__TEXT"); text != nil {
		base = text.Addr
	}
	data, err := w.image.bytes("segment "+seg.Name, seg.Offset, seg.FileSize)
	if err != nil {
		return err
	}
	for page := range pages {
		start := uint64(le.Uint16(starts[22+2*page:]))
		if start == pageStartNone {
			continue
		}
		if start >= pageSize {
			return fmt.Errorf("page %d starts at %#x", page, start)
		}
		for at := start; ; {
			off := uint64(page)*pageSize + at
			if off+8 > uint64(len(data)) {
				return fmt.Errorf("a chain leaves the segment at %#x", off)
			}
			if w.budget--; w.budget < 0 {
				return fmt.Errorf("more fixups than the image has room for")
			}
			step, err := w.pointer(format, le.Uint64(data[off:]), seg.Addr+off, base)
			if err != nil {
				return err
			}
			if step == 0 {
				break
			}
			if at += step; at >= pageSize {
				return fmt.Errorf("a chain leaves page %d", page)
			}
		}
	}
	return nil
}

// pointer takes one link of a chain and returns the distance to the next.
func (w *chainWalk) pointer(format uint16, v, addr, base uint64) (uint64, error) {
	bind := func(ordinal, addend uint64) error {
		if ordinal >= uint64(len(w.out.Imports)) {
			return fmt.Errorf("a bind to import %d of %d", ordinal, len(w.out.Imports))
		}
		w.out.Binds = append(w.out.Binds, Bind{addr, int(ordinal), int64(addend) + w.out.Imports[ordinal].Addend, sourceChained})
		return nil
	}
	rebase := func(target uint64) { w.out.Rebases = append(w.out.Rebases, Rebase{addr, target}) }
	bits := func(low, n uint) uint64 { return v >> low & (1<<n - 1) }
	switch format {
	case ptr64, ptr64Offset:
		// bind: ordinal 24, addend 8, reserved 19, next 12, bind 1;
		// rebase: target 36, high8 8, reserved 7, next 12, bind 0.
		step := bits(51, 12) * 4
		if bits(63, 1) != 0 {
			return step, bind(bits(0, 24), bits(24, 8))
		}
		target := bits(0, 36)
		if format == ptr64Offset {
			target += base
		}
		rebase(target | bits(36, 8)<<56)
		return step, nil
	case ptrARM64E, ptrARM64EUserland, ptrARM64EUserland24:
		// next 11, bind 1, auth 1 at the top; an authenticated rebase has 32
		// bits of target, a plain one 43 and high8; a bind has an ordinal of
		// 16 or 24 bits and, unless it is authenticated, an addend of 19.
		step := bits(51, 11) * 8
		auth := bits(63, 1) != 0
		if bits(62, 1) != 0 {
			ordinal, addend := bits(0, 16), uint64(0)
			if format == ptrARM64EUserland24 {
				ordinal = bits(0, 24)
			}
			if !auth {
				addend = uint64(int64(bits(32, 19)<<45) >> 45)
			}
			return step, bind(ordinal, addend)
		}
		switch {
		case auth:
			rebase(base + bits(0, 32))
		case format == ptrARM64E:
			rebase(bits(0, 43) | bits(43, 8)<<56)
		default:
			rebase(base + bits(0, 43) | bits(43, 8)<<56)
		}
		return step, nil
	}
	return 0, fmt.Errorf("%w: pointer format %d", ErrUnsupported, format)
}
