package emulator

import "strings"

// saturating are the operations on integers that CLAMP bounds to the range of
// their result instead of wrapping around. c is the third source, or the result
// before where it is tied.
func saturating() map[string]func(a, b, c uint64) uint64 {
	list := map[string]func(a, b, c uint64) uint64{}
	signed := func(size int, f func(a, b, c int64) int64, names ...string) {
		low, high, shift := -int64(1)<<(size-1), int64(1)<<(size-1)-1, 64-size
		for _, name := range names {
			list[name] = func(a, b, c uint64) uint64 {
				v := f(int64(a<<shift)>>shift, int64(b<<shift)>>shift, int64(c<<shift)>>shift)
				return clampTo(v, low, high) << shift >> shift
			}
		}
	}
	unsigned := func(size int, f func(a, b, c int64) int64, names ...string) {
		high, shift := int64(1)<<size-1, 64-size
		for _, name := range names {
			list[name] = func(a, b, c uint64) uint64 {
				return clampTo(f(int64(a<<shift>>shift), int64(b<<shift>>shift), int64(c<<shift>>shift)), 0, high)
			}
		}
	}
	add := func(a, b, _ int64) int64 { return a + b }
	sub := func(a, b, _ int64) int64 { return a - b }
	rev := func(a, b, _ int64) int64 { return b - a }
	mad := func(a, b, c int64) int64 { return a*b + c }
	unsigned(32, add, "v_add_u32")
	unsigned(32, sub, "v_sub_u32")
	unsigned(32, rev, "v_subrev_u32")
	unsigned(16, add, "v_add_u16", "v_pk_add_u16")
	unsigned(16, sub, "v_sub_u16", "v_pk_sub_u16")
	unsigned(16, rev, "v_subrev_u16")
	unsigned(16, mad, "v_mad_u16", "v_mad_legacy_u16", "v_pk_mad_u16")
	unsigned(16, func(a, b, _ int64) int64 { return a * b }, "v_mul_lo_u16", "v_pk_mul_lo_u16")
	signed(32, add, "v_add_i32")
	signed(32, sub, "v_sub_i32")
	signed(16, add, "v_add_i16", "v_pk_add_i16")
	signed(16, sub, "v_sub_i16", "v_pk_sub_i16")
	signed(16, mad, "v_mad_i16", "v_mad_legacy_i16", "v_pk_mad_i16")
	unsigned(32, func(a, b, c int64) int64 { return a&0xffffff*(b&0xffffff) + c }, "v_mad_u32_u24")
	unsigned(32, func(a, b, c int64) int64 { return a&0xffff*(b&0xffff) + c }, "v_mad_u32_u16")
	signed(32, func(a, b, c int64) int64 { return a<<40>>40*(b<<40>>40) + c }, "v_mad_i32_i24")
	signed(32, func(a, b, c int64) int64 { return a<<48>>48*(b<<48>>48) + c }, "v_mad_i32_i16")
	signed(32, func(a, b, c int64) int64 { return dotOf(uint64(a), uint64(b), 16, true) + c }, "v_dot2_i32_i16")
	signed(32, func(a, b, c int64) int64 { return dotOf(uint64(a), uint64(b), 8, true) + c }, "v_dot4_i32_i8")
	signed(32, func(a, b, c int64) int64 { return dotOf(uint64(a), uint64(b), 4, true) + c }, "v_dot8_i32_i4")
	unsigned(32, func(a, b, c int64) int64 { return dotOf(uint64(a), uint64(b), 16, false) + c }, "v_dot2_u32_u16")
	unsigned(32, func(a, b, c int64) int64 { return dotOf(uint64(a), uint64(b), 8, false) + c }, "v_dot4_u32_u8")
	unsigned(32, func(a, b, c int64) int64 { return dotOf(uint64(a), uint64(b), 4, false) + c }, "v_dot8_u32_u4")
	unsigned(32, func(a, b, c int64) int64 { return int64(distance(uint64(a), uint64(b), 8, false)) + c }, "v_sad_u8")
	unsigned(32, func(a, b, c int64) int64 { return int64(distance(uint64(a), uint64(b), 8, false))<<16 + c }, "v_sad_hi_u8")
	unsigned(32, func(a, b, c int64) int64 { return int64(distance(uint64(a), uint64(b), 16, false)) + c }, "v_sad_u16")
	unsigned(32, func(a, b, c int64) int64 { return max(a, b) - min(a, b) + c }, "v_sad_u32")
	unsigned(32, func(a, b, c int64) int64 { return int64(distance(uint64(a), uint64(b), 8, true)) + c }, "v_msad_u8")
	return list
}

// dotOf sums the products of the numbers in two registers up.
func dotOf(a, b uint64, size uint, signed bool) (sum int64) {
	for n := uint(0); n < 32; n += size {
		x, y := uint32(a>>n)<<(32-size), uint32(b>>n)<<(32-size)
		if signed {
			sum += int64(int32(x)>>(32-size)) * int64(int32(y)>>(32-size))
		} else {
			sum += int64(x>>(32-size)) * int64(y>>(32-size))
		}
	}
	return sum
}

// saturateOps gives the operations that can saturate another one for CLAMP.
func saturateOps(all map[string]*operation) {
	for name, f := range saturating() {
		op := all[name]
		if op == nil {
			continue
		}
		other := *op
		other.v1, other.v2, other.v3, other.vt, other.run = nil, nil, nil, nil, nil
		other.lane = f
		if strings.HasPrefix(name, "v_pk_") {
			other.lane = nil
			other.run = func(w *wave, i *instr) {
				w.packed16(i, false, func(a, b, c uint16) uint16 { return uint16(f(uint64(a), uint64(b), uint64(c))) })
			}
		}
		op.saturated = &other
	}
}
