package emulator

// Buffers as RDNA's descriptors have them ("RDNA 2" and "RDNA 3" ISA, "Buffer
// Resource"): the last word says how the range is checked, and has one number for the
// format of data and numbers.

// rdnaPlace is bufferPlace for RDNA. It is false where the elements are swizzled, which
// the compiler does for private memory alone.
func rdnaPlace(d [4]uint32, number int, index, offset, soffset uint64) (at, room uint64, ok bool) {
	stride, records := uint64(d[1]>>16)&0x3fff, uint64(d[2])
	swizzled := d[1]>>31 != 0
	if number > 10 {
		swizzled = d[1]>>30 != 0
	}
	if swizzled {
		return 0, 0, false
	}
	const unlimited = ^uint64(0)
	at = soffset + stride*index + offset
	switch d[3] >> 28 & 3 { // OOB_SELECT
	case 0: // structured: elements, and no more than one
		if index < records && offset < stride {
			room = stride - offset
		}
	case 1: // elements
		if index < records {
			room = unlimited
		}
	case 2:
		if records > 0 {
			room = unlimited
		}
	default: // raw: bytes
		room = records - min(at, records)
	}
	return at, room, true
}

// rdnaFormat returns the data format and the number format, as GFX9 has them, of a
// format of RDNA; 0 for those of graphics alone.
func rdnaFormat(number int, format uint32) (data, kind uint32) {
	ints := []uint32{numUint, numSint, numFloat}
	six := []uint32{numUnorm, numSnorm, numUscaled, numSscaled, numUint, numSint}
	all := append(six[:6:6], numFloat)
	small, packed := 1, 4 // formats of 11 bits twice, and of 10_10_10_2
	if number == 10 {
		small, packed = 7, 6
	}
	at := uint32(1)
	for _, run := range []struct {
		data  uint32
		kinds []uint32
	}{
		{1, six}, {2, all}, {3, six}, {4, ints}, {5, all}, {0, all[:small]}, {0, all[:small]}, {0, six[:packed]},
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
