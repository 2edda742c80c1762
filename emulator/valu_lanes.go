package emulator

import "math"

// vectorBits are the operations on integers of 16 and 64 bits, a lane at a time.
func vectorBits() map[string]*operation {
	ops := map[string]*operation{}
	lane := func(name string, f func(a, b, c uint64) uint64) { ops[name] = &operation{results: 1, lane: f} }
	lane("v_lshlrev_b64", func(a, b, _ uint64) uint64 { return b << (a & 63) })
	lane("v_lshrrev_b64", func(a, b, _ uint64) uint64 { return b >> (a & 63) })
	lane("v_ashrrev_i64", func(a, b, _ uint64) uint64 { return uint64(int64(b) >> (a & 63)) })
	ops["v_lshl_add_u64"] = &operation{results: 1, run: shiftAdd64}
	lane("v_mov_b64", func(a, _, _ uint64) uint64 { return a })
	half := func(name string, f func(a, b, c uint16) uint16) {
		ops[name] = &operation{results: 1, half: true, lane: func(a, b, c uint64) uint64 { return uint64(f(uint16(a), uint16(b), uint16(c))) }}
	}
	half("v_add_u16", func(a, b, _ uint16) uint16 { return a + b })
	half("v_sub_u16", func(a, b, _ uint16) uint16 { return a - b })
	half("v_subrev_u16", func(a, b, _ uint16) uint16 { return b - a })
	half("v_mul_lo_u16", func(a, b, _ uint16) uint16 { return a * b })
	half("v_lshlrev_b16", func(a, b, _ uint16) uint16 { return b << (a & 15) })
	half("v_lshrrev_b16", func(a, b, _ uint16) uint16 { return b >> (a & 15) })
	half("v_ashrrev_i16", func(a, b, _ uint16) uint16 { return uint16(int16(b) >> (a & 15)) })
	half("v_min_u16", func(a, b, _ uint16) uint16 { return min(a, b) })
	half("v_max_u16", func(a, b, _ uint16) uint16 { return max(a, b) })
	half("v_min_i16", func(a, b, _ uint16) uint16 { return uint16(min(int16(a), int16(b))) })
	half("v_max_i16", func(a, b, _ uint16) uint16 { return uint16(max(int16(a), int16(b))) })
	half("v_min3_u16", func(a, b, c uint16) uint16 { return min(a, b, c) })
	half("v_max3_u16", func(a, b, c uint16) uint16 { return max(a, b, c) })
	half("v_med3_u16", middle[uint16])
	half("v_min3_i16", func(a, b, c uint16) uint16 { return uint16(min(int16(a), int16(b), int16(c))) })
	half("v_max3_i16", func(a, b, c uint16) uint16 { return uint16(max(int16(a), int16(b), int16(c))) })
	half("v_med3_i16", func(a, b, c uint16) uint16 { return uint16(middle(int16(a), int16(b), int16(c))) })
	half("v_add_i16", func(a, b, _ uint16) uint16 { return a + b })
	half("v_sub_i16", func(a, b, _ uint16) uint16 { return a - b })
	lane("v_mad_u32_u16", func(a, b, c uint64) uint64 { return uint64(uint16(a))*uint64(uint16(b)) + c })
	lane("v_mad_i32_i16", func(a, b, c uint64) uint64 { return uint64(uint32(int32(int16(a))*int32(int16(b)) + int32(c))) })
	lane("v_add_i32", func(a, b, _ uint64) uint64 { return uint64(uint32(a) + uint32(b)) })
	lane("v_sub_i32", func(a, b, _ uint64) uint64 { return uint64(uint32(a) - uint32(b)) })
	lane("v_mul_hi_i32_i24", func(a, b, _ uint64) uint64 {
		return uint64(uint32(int64(int32(a)<<8>>8) * int64(int32(b)<<8>>8) >> 32))
	})
	dots(ops)
	half("v_mad_u16", func(a, b, c uint16) uint16 { return a*b + c })
	half("v_mad_legacy_u16", func(a, b, c uint16) uint16 { return a*b + c })
	half("v_mad_legacy_i16", func(a, b, c uint16) uint16 { return a*b + c })
	half("v_mad_i16", func(a, b, c uint16) uint16 { return a*b + c })
	return ops
}

// shiftAdd64 computes addresses, so it is worth a loop of its own.
func shiftAdd64(w *wave, i *instr) {
	alo, ahi := w.wide(&i.src[0], &w.tmp[0], &w.tmp[1])
	shift := w.vector(&i.src[1], &w.tmp[2])
	clo, chi := w.wide(&i.src[2], &w.tmp[3], &w.tmp[4])
	lo, hi := &w.tmp[5], &w.tmp[6]
	for l := range lo {
		v := (uint64(alo[l])|uint64(ahi[l])<<32)<<(shift[l]&7) + uint64(clo[l]) + uint64(chi[l])<<32
		lo[l], hi[l] = uint32(v), uint32(v>>32)
	}
	merge(&w.v[i.dst%vregs], lo, w.exec())
	merge(&w.v[(i.dst+1)%vregs], hi, w.exec())
}

// dots are the sums of products of small integers ("Vega 7nm" ISA, V_DOT).
func dots(ops map[string]*operation) {
	for _, d := range []struct {
		name   string
		bits   uint
		signed bool
		tied   bool
	}{
		{"v_dot2_i32_i16", 16, true, false}, {"v_dot2_u32_u16", 16, false, false}, {"v_dot4_i32_i8", 8, true, false}, {"v_dot4_u32_u8", 8, false, false},
		{"v_dot8_i32_i4", 4, true, false}, {"v_dot8_u32_u4", 4, false, false},
		{"v_dot2c_i32_i16", 16, true, true}, {"v_dot4c_i32_i8", 8, true, true}, {"v_dot8c_i32_i4", 4, true, true},
	} {
		ops[d.name] = &operation{results: 1, tied: d.tied, lane: func(a, b, c uint64) uint64 {
			return uint64(uint32(dotOf(a, b, d.bits, d.signed) + int64(int32(c))))
		}}
	}
}

// vectorDouble are the operations on f64.
func vectorDouble() map[string]*operation {
	ops := map[string]*operation{}
	one := func(name string, f func(a float64) float64) {
		ops[name] = &operation{results: 1, float: 64, lane: func(a, _, _ uint64) uint64 { return u64(f(f64(a))) }}
	}
	two := func(name string, f func(a, b float64) float64) {
		ops[name] = &operation{results: 1, float: 64, lane: func(a, b, _ uint64) uint64 { return u64(f(f64(a), f64(b))) }}
	}
	two("v_add_f64", func(a, b float64) float64 { return a + b })
	two("v_mul_f64", func(a, b float64) float64 { return a * b })
	two("v_min_f64", math.Min)
	two("v_max_f64", math.Max)
	ops["v_min_f64"].lane = func(a, b, _ uint64) uint64 { return pickNumber(a, b, math.Min) }
	ops["v_max_f64"].lane = func(a, b, _ uint64) uint64 { return pickNumber(a, b, math.Max) }
	one("v_rcp_f64", func(a float64) float64 { return 1 / a })
	one("v_rsq_f64", func(a float64) float64 { return 1 / math.Sqrt(a) })
	one("v_sqrt_f64", math.Sqrt)
	one("v_trunc_f64", math.Trunc)
	one("v_ceil_f64", math.Ceil)
	one("v_floor_f64", math.Floor)
	one("v_rndne_f64", math.RoundToEven)
	one("v_fract_f64", func(a float64) float64 { return min(a-math.Floor(a), math.Float64frombits(0x3fefffffffffffff)) })
	one("v_frexp_mant_f64", mantissa)
	fma := func(a, b, c uint64) uint64 { return u64(math.FMA(f64(a), f64(b), f64(c))) }
	ops["v_fma_f64"] = &operation{results: 1, float: 64, lane: fma}
	ops["v_fmac_f64"] = &operation{results: 1, float: 64, lane: fma, tied: true}
	ops["v_frexp_exp_i32_f64"] = &operation{results: 1, float: 64, lane: func(a, _, _ uint64) uint64 { return uint64(uint32(exponent(f64(a)))) }}
	ops["v_trig_preop_f64"] = &operation{results: 1, float: 64, lane: func(a, b, _ uint64) uint64 { return trigPreop(a, b) }}
	ops["v_ldexp_f64"] = &operation{results: 1, float: 64, lane: func(a, b, _ uint64) uint64 { return u64(ldexp(f64(a), int32(b), 64)) }}
	ops["v_div_fixup_f64"] = &operation{results: 1, float: 64, lane: func(a, b, c uint64) uint64 { return divFixup(double(), a, b, c) }}
	return ops
}

func pickNumber(a, b uint64, f func(a, b float64) float64) uint64 {
	switch x, y := f64(a), f64(b); {
	case x != x:
		return b
	case y != y:
		return a
	default:
		return u64(f(x, y))
	}
}

// vectorHalf are the operations on f16; what they compute in float64 is exact
// enough to be rounded once.
func vectorHalf() map[string]*operation {
	ops := map[string]*operation{}
	set := func(name string, f func(a, b, c float64) float64) {
		ops[name] = &operation{results: 1, float: 16, half: true, lane: func(a, b, c uint64) uint64 {
			return uint64(toHalf(f(fromHalf(uint16(a)), fromHalf(uint16(b)), fromHalf(uint16(c)))))
		}}
	}
	set("v_add_f16", func(a, b, _ float64) float64 { return a + b })
	set("v_sub_f16", func(a, b, _ float64) float64 { return a - b })
	set("v_subrev_f16", func(a, b, _ float64) float64 { return b - a })
	set("v_mul_f16", func(a, b, _ float64) float64 { return a * b })
	set("v_fma_f16", func(a, b, c float64) float64 { return math.FMA(a, b, c) })
	mad := func(a, b, c float64) float64 { return fromHalf(toHalf(a*b)) + c }
	for _, name := range []string{"v_mad_f16", "v_mad_legacy_f16", "v_madak_f16", "v_madmk_f16", "v_mac_f16"} {
		set(name, mad)
	}
	ops["v_mac_f16"].tied = true
	set("v_fma_legacy_f16", math.FMA)
	set("v_fract_f16", func(a, _, _ float64) float64 { return min(a-math.Floor(a), 1-1.0/2048) })
	set("v_frexp_mant_f16", func(a, _, _ float64) float64 { return mantissa(a) })
	set("v_sin_f16", func(a, _, _ float64) float64 { return turns(math.Sin, a) })
	set("v_cos_f16", func(a, _, _ float64) float64 { return turns(math.Cos, a) })
	number := func(f func(a, b float64) float64) func(a, b float64) float64 {
		return func(a, b float64) float64 { return f64(pickNumber(u64(a), u64(b), f)) }
	}
	least, most := number(math.Min), number(math.Max)
	set("v_min3_f16", func(a, b, c float64) float64 { return least(least(a, b), c) })
	set("v_max3_f16", func(a, b, c float64) float64 { return most(most(a, b), c) })
	set("v_med3_f16", func(a, b, c float64) float64 {
		if a != a || b != b || c != c { // the least then, as of f32
			return least(least(a, b), c)
		}
		return most(least(a, b), least(most(a, b), c))
	})
	ops["v_frexp_exp_i16_f16"] = &operation{results: 1, float: 16, lane: func(a, _, _ uint64) uint64 { return uint64(uint16(exponent(fromHalf(uint16(a))))) }}
	ops["v_ldexp_f16"] = &operation{results: 1, float: 16, lane: func(a, b, _ uint64) uint64 {
		return uint64(toHalf(math.Ldexp(fromHalf(uint16(a)), int(int16(b)))))
	}}
	fixup := func(a, b, c uint64) uint64 { return divFixup(halfFormat(), a&0xffff, b&0xffff, c&0xffff) }
	ops["v_div_fixup_f16"] = &operation{results: 1, float: 16, lane: fixup}
	ops["v_div_fixup_legacy_f16"] = ops["v_div_fixup_f16"]
	set("v_min_f16", func(a, b, _ float64) float64 { return f64(pickNumber(u64(a), u64(b), math.Min)) })
	set("v_max_f16", func(a, b, _ float64) float64 { return f64(pickNumber(u64(a), u64(b), math.Max)) })
	set("v_rcp_f16", func(a, _, _ float64) float64 { return 1 / a })
	set("v_rsq_f16", func(a, _, _ float64) float64 { return 1 / math.Sqrt(a) })
	set("v_sqrt_f16", func(a, _, _ float64) float64 { return math.Sqrt(a) })
	set("v_exp_f16", func(a, _, _ float64) float64 { return math.Exp2(a) })
	set("v_log_f16", func(a, _, _ float64) float64 { return math.Log2(a) })
	set("v_trunc_f16", func(a, _, _ float64) float64 { return math.Trunc(a) })
	set("v_ceil_f16", func(a, _, _ float64) float64 { return math.Ceil(a) })
	set("v_floor_f16", func(a, _, _ float64) float64 { return math.Floor(a) })
	set("v_rndne_f16", func(a, _, _ float64) float64 { return math.RoundToEven(a) })
	return ops
}

// conversions between formats, a lane at a time.
func conversions() map[string]*operation {
	ops := map[string]*operation{}
	set := func(name string, float int, f func(a uint64) uint64) {
		ops[name] = &operation{results: 1, float: float, lane: func(a, _, _ uint64) uint64 { return f(a) }}
	}
	set("v_cvt_f64_f32", 32, func(a uint64) uint64 { return u64(float64(f32(uint32(a)))) })
	set("v_cvt_f32_f64", 64, func(a uint64) uint64 { return uint64(u32(float32(f64(a)))) })
	set("v_cvt_f64_i32", 0, func(a uint64) uint64 { return u64(float64(int32(a))) })
	set("v_cvt_f64_u32", 0, func(a uint64) uint64 { return u64(float64(uint32(a))) })
	set("v_cvt_i32_f64", 64, func(a uint64) uint64 { return uint64(uint32(int32(saturate(f64(a), -1<<31, 1<<31-1)))) })
	set("v_cvt_u32_f64", 64, func(a uint64) uint64 { return uint64(uint32(saturate(f64(a), 0, 1<<32-1))) })
	set("v_cvt_f32_f16", 16, func(a uint64) uint64 { return uint64(u32(float32(fromHalf(uint16(a))))) })
	set("v_cvt_f16_f32", 32, func(a uint64) uint64 { return uint64(toHalf(float64(f32(uint32(a))))) })
	set("v_cvt_f16_u16", 0, func(a uint64) uint64 { return uint64(toHalf(float64(uint16(a)))) })
	set("v_cvt_f16_i16", 0, func(a uint64) uint64 { return uint64(toHalf(float64(int16(a)))) })
	set("v_cvt_u16_f16", 16, func(a uint64) uint64 { return uint64(saturate(fromHalf(uint16(a)), 0, 65535)) })
	set("v_cvt_i16_f16", 16, func(a uint64) uint64 { return uint64(uint16(saturate(fromHalf(uint16(a)), -32768, 32767))) })
	ops["v_cvt_pkrtz_f16_f32"] = &operation{results: 1, float: 32, lane: func(a, b, _ uint64) uint64 {
		return uint64(toHalfZero(float64(f32(uint32(a))))) | uint64(toHalfZero(float64(f32(uint32(b)))))<<16
	}}
	return ops
}

// carries are the operations with a carry or another mask of the wave beside
// their result.
func carries() map[string]*operation {
	ops := map[string]*operation{}
	// f returns the result and the carry; in is the carry in.
	set := func(name string, in bool, f func(a, b uint32, c uint64) (uint32, bool)) {
		ops[name] = &operation{results: 2, run: func(w *wave, i *instr) {
			mask := w.exec()
			a, b := w.modified(i, 0, &mask), w.modified(i, 1, &mask)
			var before, out uint64
			if in {
				before = w.scalar64(&i.src[2])
			}
			d := &w.tmp[6]
			for l := range d {
				v, c := f(a[l], b[l], before>>l&1)
				d[l] = v
				out |= bit(c) << l
			}
			w.store(i, d, mask)
			w.setMask(i.dst2, out&mask)
		}}
	}
	add := func(a, b uint32, c uint64) (uint32, bool) {
		s := uint64(a) + uint64(b) + c
		return uint32(s), s>>32 != 0
	}
	sub := func(a, b uint32, c uint64) (uint32, bool) { return a - b - uint32(c), uint64(b)+c > uint64(a) }
	rev := func(a, b uint32, c uint64) (uint32, bool) { return sub(b, a, c) }
	set("v_add_co_u32", false, add)
	set("v_sub_co_u32", false, sub)
	set("v_subrev_co_u32", false, rev)
	set("v_addc_co_u32", true, add)
	set("v_subb_co_u32", true, sub)
	set("v_subbrev_co_u32", true, rev)

	wide := func(name string, f func(a, b, c uint64) (uint64, bool)) {
		ops[name] = &operation{results: 2, run: func(w *wave, i *instr) {
			mask := w.exec()
			a, b := w.vector(&i.src[0], &w.tmp[0]), w.vector(&i.src[1], &w.tmp[1])
			lo, hi := w.wide(&i.src[2], &w.tmp[2], &w.tmp[3])
			var out uint64
			r0, r1 := &w.tmp[4], &w.tmp[5]
			for l := range r0 {
				v, c := f(uint64(a[l]), uint64(b[l]), uint64(lo[l])|uint64(hi[l])<<32)
				r0[l], r1[l] = uint32(v), uint32(v>>32)
				out |= bit(c) << l
			}
			merge(&w.v[i.dst%vregs], r0, mask)
			merge(&w.v[(i.dst+1)%vregs], r1, mask)
			w.setMask(i.dst2, out&mask)
		}}
	}
	wide("v_mad_u64_u32", func(a, b, c uint64) (uint64, bool) { return a*b + c, a*b+c < c })
	wide("v_mad_i64_i32", func(a, b, c uint64) (uint64, bool) {
		p := int64(int32(a)) * int64(int32(b))
		s := p + int64(c)
		return uint64(s), (s < p) != (int64(c) < 0)
	})

	scale := func(name string, f format) {
		ops[name] = &operation{results: 2, float: int(f.bits), run: func(w *wave, i *instr) {
			mask := w.exec()
			var lo, hi [3]*vec
			for n := range lo {
				lo[n], hi[n] = w.wide(&i.src[n], &w.tmp[2*n], &w.tmp[2*n+1])
			}
			read := func(n, l int) uint64 {
				v := uint64(lo[n][l])
				if f.bits == 64 {
					v |= uint64(hi[n][l]) << 32
				}
				return v ^ bit(i.src[n].neg)<<(f.bits-1)
			}
			old := w.mask(i.dst2)
			den, num := lo[1], lo[2]
			if f.bits == 64 {
				den, num = hi[1], hi[2]
			}
			if !i.src[0].neg && f.ordinaryLanes(den, num, mask) {
				merge(&w.v[i.dst%vregs], lo[0], mask)
				if f.bits == 64 {
					merge(&w.v[(i.dst+1)%vregs], hi[0], mask)
				}
				w.setMask(i.dst2, old&^mask)
				return
			}
			r0, r1 := vec{}, vec{}
			var out uint64
			for l := range r0 {
				v, c := divScale(f, read(0, l), read(1, l), read(2, l))
				r0[l], r1[l] = uint32(v), uint32(v>>32)
				out |= bit(c) << l
			}
			merge(&w.v[i.dst%vregs], &r0, mask)
			if f.bits == 64 {
				merge(&w.v[(i.dst+1)%vregs], &r1, mask)
			}
			w.setMask(i.dst2, out&mask|old&^mask)
		}}
	}
	scale("v_div_scale_f32", single())
	scale("v_div_scale_f64", double())
	fmas := func(name string, f format) {
		ops[name] = &operation{results: 1, float: int(f.bits), run: func(w *wave, i *instr) {
			mask, vcc := w.exec(), w.pair(106)
			var lo, hi [3]*vec
			for n := range lo {
				lo[n], hi[n] = w.wide(&i.src[n], &w.tmp[2*n], &w.tmp[2*n+1])
			}
			r0, r1 := vec{}, vec{}
			for l := range r0 {
				var in [3]uint64
				for n := range in {
					in[n] = uint64(lo[n][l])
					if f.bits == 64 {
						in[n] |= uint64(hi[n][l]) << 32
					}
					in[n] ^= bit(i.src[n].neg) << (f.bits - 1)
				}
				u := divFmas(f, in, vcc>>l&1 != 0)
				r0[l], r1[l] = uint32(u), uint32(u>>32)
			}
			merge(&w.v[i.dst%vregs], &r0, mask)
			if f.bits == 64 {
				merge(&w.v[(i.dst+1)%vregs], &r1, mask)
			}
		}}
	}
	fmas("v_div_fmas_f32", single())
	fmas("v_div_fmas_f64", double())

	ops["v_cndmask_b32"] = &operation{results: 1, run: func(w *wave, i *instr) {
		mask := w.exec()
		sel := w.scalar64(&i.src[2])
		if i.plain {
			a, b := w.vector(&i.src[0], &w.tmp[0]), w.vector(&i.src[1], &w.tmp[1])
			d := &w.tmp[3]
			if mask == allLanes {
				d = &w.v[i.dst%vregs]
			}
			for l := range d {
				d[l] = a[l] ^ (a[l]^b[l])&-uint32(sel>>l&1)
			}
			if mask != allLanes {
				merge(&w.v[i.dst%vregs], d, mask)
			}
			return
		}
		a, b := w.modified(i, 0, &mask), w.modified(i, 1, &mask)
		d := &w.tmp[6]
		for l := range d {
			v := a[l]
			if sel>>l&1 != 0 {
				v = b[l]
			}
			d[l] = v
		}
		w.store(i, d, mask)
	}}
	return ops
}
