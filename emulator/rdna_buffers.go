package emulator

import "strings"

// Buffers as RDNA's descriptors have them ("RDNA 2" and "RDNA 3" ISA, "Buffer
// Resource"): the last word says how the range is checked, and has one number for the
// format of data and numbers.

// rdnaBuffer is such a descriptor, taken apart.
type rdnaBuffer struct {
	stride, records uint64
	bounds          uint32 // how the range is checked: OOB_SELECT
	element         uint64 // bytes of a row of a swizzled buffer; 0: it is not swizzled
	side            uint64 // how many elements with the same offset lie side by side
	late            bool   // the scalar offset is part of what is swizzled
}

// bufferOf takes a descriptor apart. The elements of swizzled buffers have 4 bytes on
// gfx10, whose descriptors do not say; 16 are for gfx11 and later. It is false for a
// number that means nothing.
func bufferOf(d [4]uint32, number int) (b rdnaBuffer, ok bool) {
	b = rdnaBuffer{stride: uint64(d[1]>>16) & 0x3fff, records: uint64(d[2]), bounds: d[3] >> 28 & 3, side: 8 << (d[3] >> 21 & 3), late: number > 11}
	enabled := d[1] >> 30
	if number == 10 {
		enabled >>= 1 // the other bit swizzles the cache
	}
	if number > 11 {
		b.stride <<= [4]uint{0, 2, 3, 5}[d[3]>>18&3]
	}
	b.element = [4]uint64{0, 4, 0, 16}[enabled]
	return b, enabled != 2
}

// place is bufferPlace for RDNA.
func (b *rdnaBuffer) place(index, offset, soffset uint64) (at, room uint64) {
	structured := b.bounds == 0 || b.bounds == 3 && b.element != 0 && b.stride != 0
	switch linear := soffset + b.stride*index + offset; {
	case structured: // elements, and no more than one
		if index < b.records && offset < b.stride {
			room = b.stride - offset
		}
	case b.bounds == 1: // elements
		if index < b.records {
			room = ^uint64(0)
		}
	case b.bounds == 2:
		if b.records > 0 {
			room = ^uint64(0)
		}
	default: // raw: bytes
		room = b.records - min(linear, b.records)
	}
	switch {
	case b.element == 0:
		return soffset + b.stride*index + offset, room
	case b.late:
		offset, soffset = uint64(uint32(offset+soffset)), 0
	}
	row, column := index/b.side, index%b.side
	return soffset + (row*b.stride+offset/b.element*b.element)*b.side + column*b.element + offset%b.element, room
}

// rdnaBuffer is the buffer of an instruction. The wave fails where it is swizzled in a
// way that the documents forbid.
func (w *wave) rdnaBuffer(i *instr, d [4]uint32) (b rdnaBuffer, ok bool) {
	if b, ok = bufferOf(d, i.inst.Generation()); !ok {
		w.fail(i, "a buffer swizzled in a way that means nothing (2)")
		return b, false
	}
	if b.element == 0 {
		return b, true
	}
	if n := w.payload(i, d); n > b.element || b.stride%b.element != 0 {
		w.fail(i, "%d bytes of a swizzled buffer with elements of %d, and a stride of %d", n, b.element, b.stride)
		return b, false
	}
	return b, true
}

// payload is how many bytes a buffer instruction moves for a lane.
func (w *wave) payload(i *instr, d [4]uint32) uint64 {
	name := i.inst.Name()
	switch {
	case strings.Contains(name, "_format_"):
		format, _ := w.format(d)
		return sizeOfFields(dataFormat(format))
	case strings.HasSuffix(name, "_x2"), strings.HasSuffix(name, "_f64"):
		return 8
	}
	return sizeOf(name)
}

// rdnaFormat returns the data format and the number format, as GFX9 has them, of a
// format of RDNA; 0 for those of graphics alone.
func rdnaFormat(number int, format uint32) (data, kind uint32) {
	ints := []uint32{numUint, numSint, numFloat}
	six := []uint32{numUnorm, numSnorm, numUscaled, numSscaled, numUint, numSint}
	all := append(six[:6:6], numFloat)
	small, packed := all, six // formats of 11 bits twice, and of 10_10_10_2
	if number > 10 {
		small, packed = all[6:], []uint32{numUnorm, numSnorm, numUint, numSint}
	}
	at := uint32(1)
	for _, run := range []struct {
		data  uint32
		kinds []uint32
	}{
		{1, six}, {2, all}, {3, six}, {4, ints}, {5, all}, {6, small}, {7, small}, {8, packed},
		{9, six}, {10, six}, {11, ints}, {12, all}, {13, ints}, {14, ints},
	} {
		n := uint32(len(run.kinds))
		if format >= at && format < at+n {
			return run.data, run.kinds[format-at]
		}
		at += n
	}
	return 0, 0
}

// format returns the number of the data format of a buffer, and that of its numbers.
func (w *wave) format(d [4]uint32) (data, kind uint32) {
	switch number := w.group.launch.module.dev.gen.number; {
	case number == 10:
		return rdnaFormat(number, d[3]>>12&127)
	case number > 10:
		return rdnaFormat(number, d[3]>>12&63)
	}
	return d[3] >> 15 & 15, d[3] >> 12 & 7
}
