package emulator

import (
	"math"
	"math/bits"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// bufferWords returns the descriptor of a MUBUF instruction.
func (w *wave) bufferWords(reg uint32) (d [4]uint32) {
	copy(d[:], w.s[reg&124:reg&124+4])
	return d
}

// bufferPlace is where a lane's element of a buffer lies: at base+offset when it
// is in range ("Vega" ISA, "Buffer Addressing" and "Range checking"). room is how
// many bytes are left there.
func bufferPlace(d [4]uint32, index, offset, soffset uint64) (at, room uint64) {
	stride, records := uint64(d[1]>>16)&0x3fff, uint64(d[2])
	swizzled := d[1]>>31 != 0
	if stride == 0 {
		at = soffset + offset
		return at, records - min(at, records)
	}
	if index >= records || swizzled && offset >= stride {
		return 0, 0
	}
	room = ^uint64(0)
	if !swizzled {
		return soffset + stride*index + offset, room
	}
	const elementSize = 4 // before GFX9 the descriptor said
	indexStride := uint64(8) << (d[3] >> 21 & 3)
	at = (index/indexStride*stride+offset/elementSize*elementSize)*indexStride + index%indexStride*elementSize + offset%elementSize
	return soffset + at, room
}

// component is one part of a formatted element.
type component struct{ at, bits uint }

// dataFormat returns the components of BUF_DATA_FORMAT, whose names begin with the
// highest bits; nil where there is none.
func dataFormat(n uint32) []component {
	same := func(size uint, count int) (list []component) {
		for k := range count {
			list = append(list, component{uint(k) * size, size})
		}
		return list
	}
	switch n {
	case 1:
		return same(8, 1)
	case 2:
		return same(16, 1)
	case 3:
		return same(8, 2)
	case 4:
		return same(32, 1)
	case 5:
		return same(16, 2)
	case 6:
		return []component{{0, 11}, {11, 11}, {22, 10}}
	case 7:
		return []component{{0, 10}, {10, 11}, {21, 11}}
	case 8:
		return []component{{0, 2}, {2, 10}, {12, 10}, {22, 10}}
	case 9:
		return []component{{0, 10}, {10, 10}, {20, 10}, {30, 2}}
	case 10:
		return same(8, 4)
	case 11:
		return same(32, 2)
	case 12:
		return same(16, 4)
	case 13:
		return same(32, 3)
	case 14:
		return same(32, 4)
	}
	return nil
}

// sizeOfFields is how many bytes an element has.
func sizeOfFields(fields []component) uint64 {
	if len(fields) == 0 {
		return 0
	}
	last := fields[len(fields)-1]
	return uint64(last.at+last.bits) / 8
}

// smallFloat makes an f32 of 10 or 11 bits: five of them exponent, none a sign.
func smallFloat(v uint32, size uint) uint32 {
	return u32(float32(fromHalf(uint16(v << (15 - size)))))
}

// The number formats of a buffer.
const (
	numUnorm = iota
	numSnorm
	numUscaled
	numSscaled
	numUint
	numSint
	_
	numFloat
)

// decodeNumber makes the f32 or the integer that a component means.
func decodeNumber(format uint32, v uint32, size uint) uint32 {
	signed := int32(v<<(32-size)) >> (32 - size)
	most := float64(uint64(1)<<size - 1)
	switch format {
	case numUnorm:
		return u32(float32(float64(v) / most))
	case numSnorm:
		return u32(float32(max(float64(signed)/math.Floor(most/2), -1)))
	case numUscaled:
		return u32(float32(v))
	case numSscaled:
		return u32(float32(signed))
	case numSint:
		return uint32(signed)
	case numFloat:
		switch size {
		case 16:
			return u32(float32(fromHalf(uint16(v))))
		case 10, 11:
			return smallFloat(v, size)
		}
	}
	return v
}

// encodeNumber is the reverse.
func encodeNumber(format uint32, v uint32, size uint) uint32 {
	x := float64(f32(v))
	if x != x {
		x = 0
	}
	most := float64(uint64(1)<<size - 1)
	half := math.Floor(most / 2)
	switch format {
	case numUnorm:
		return uint32(math.RoundToEven(max(0, min(x, 1)) * most))
	case numSnorm:
		return uint32(int64(math.RoundToEven(max(-1, min(x, 1))*half))) & uint32(most)
	case numUscaled:
		return uint32(saturate(x, 0, most))
	case numSscaled:
		return uint32(saturate(x, -half-1, half)) & uint32(most)
	case numUint:
		return min(v, uint32(most))
	case numSint:
		return uint32(max(min(int64(int32(v)), int64(half)), -int64(half)-1)) & uint32(most)
	case numFloat:
		if size == 16 {
			return uint32(toHalf(float64(f32(v))))
		}
	}
	return v
}

// formatted are the loads and stores that convert.
func formatted() map[string]*operation {
	ops := map[string]*operation{}
	for n, tail := range []string{"x", "xy", "xyz", "xyzw"} {
		for _, store := range []bool{false, true} {
			stem := map[bool]string{false: "buffer_load_format_", true: "buffer_store_format_"}[store]
			ops[stem+tail] = &operation{run: func(w *wave, i *instr) { w.formatted(i, n+1, store, 0) }}
			ops[stem+"d16_"+tail] = &operation{run: func(w *wave, i *instr) { w.formatted(i, n+1, store, 1) }}
			ops[stem+"d16_hi_x"] = &operation{run: func(w *wave, i *instr) { w.formatted(i, 1, store, 2) }}
		}
	}
	return ops
}

// formatted moves count components of each lane. half says where they lie in
// registers: 0 one in each, 1 two in each as 16 bits, 2 in the upper half.
func (w *wave) formatted(i *instr, count int, store bool, half int) {
	lanesAt, ok := w.bufferLanes(i)
	if !ok {
		return
	}
	d := lanesAt.words
	format, kind := w.format(d)
	fields := dataFormat(format)
	if fields == nil || lanesAt.private {
		w.fail(i, "the data format of a buffer whose descriptor ends in 0x%x is not supported", d[3])
		return
	}
	if store && kind == numFloat && fields[0].bits < 16 {
		w.fail(i, "how floats of 10 and 11 bits are rounded is not documented")
		return
	}
	size := sizeOfFields(fields)
	float := kind != numUint && kind != numSint
	reg := dataRegister(i.inst)
	get := func(n, l int) uint32 {
		if half == 0 {
			return w.v[(reg+n)%vregs][l]
		}
		v := w.v[(reg+n/2)%vregs][l] >> (16 * (n & 1))
		if half == 2 {
			v = w.v[reg%vregs][l] >> 16
		}
		switch {
		case float:
			return u32(float32(fromHalf(uint16(v))))
		case kind == numSint:
			return uint32(int32(int16(v)))
		}
		return v & 0xffff
	}
	put := func(n, l int, v uint32) {
		if half == 0 {
			w.v[(reg+n)%vregs][l] = v
			return
		}
		if float {
			v = uint32(toHalf(float64(f32(v))))
		}
		t, shift := &w.v[(reg+n/2)%vregs], uint(16*(n&1))
		if half == 2 {
			shift = 16
		}
		t[l] = t[l]&^(0xffff<<shift) | v&0xffff<<shift
	}
	one := uint32(1)
	if float {
		one = u32(1)
	}
	for m := w.exec(); m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m) & 63
		inside := lanesAt.room[l] >= size
		var raw [4]uint32
		if inside {
			r, off := w.global(i, l, lanesAt.addr[l], size, store)
			if r == nil {
				return
			}
			if store {
				for n := range min(count, len(fields)) {
					c := fields[n]
					raw[c.at/32] |= encodeNumber(kind, get(n, l), c.bits) << (c.at % 32)
				}
				storeShared(r.data, off, size, &raw)
				continue
			}
			loadShared(r.data, off, size, &raw)
		}
		if store {
			continue
		}
		for n := range count {
			v := uint32(0)
			switch sel := d[3] >> (3 * n) & 7; {
			case sel == 1:
				v = one
			case sel >= 4 && int(sel-4) < len(fields) && inside:
				c := fields[sel-4]
				v = decodeNumber(kind, raw[c.at/32]>>(c.at%32)&uint32(1<<c.bits-1), c.bits)
			case sel == 7: // a component that is not there is the last one of a colour
				v = one
			}
			put(n, l, v)
		}
	}
}

// intoLocal reports a load that goes into local memory, and where: M0 and the
// offset of the instruction say where the wave's part begins, the lanes follow
// each other.
func (w *wave) intoLocal(i *instr, a access) (base uint64, ok bool) {
	if !a.lds && (i.inst.Enc != isa.MUBUF || !i.inst.LDS()) {
		return 0, false
	}
	return uint64(w.s[isa.M0]&0xffff) + uint64(int64(i.inst.Offset())), true
}
