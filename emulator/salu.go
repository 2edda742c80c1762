package emulator

import (
	"math/bits"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// scalarOps are the operations on scalar registers ("Vega" ISA, "SOP1, SOP2,
// SOPC and SOPK instructions").
func scalarOps() map[string]*operation {
	ops := map[string]*operation{}
	set := func(name string, results int, run func(*wave, *instr)) {
		ops[name] = &operation{results: results, run: run}
	}

	// One and two sources, 32 bits. scc says what becomes of SCC.
	nonzero := func(w *wave, v uint32) { w.scc = bit32(v != 0) }
	one := func(name string, scc bool, f func(uint32) uint32) {
		set(name, 1, func(w *wave, i *instr) {
			v := f(w.scalar32(&i.src[0]))
			w.s[i.dst&127] = v
			if scc {
				nonzero(w, v)
			}
		})
	}
	one64 := func(name string, scc bool, f func(uint64) uint64) {
		set(name, 1, func(w *wave, i *instr) {
			v := f(w.scalar64(&i.src[0]))
			w.setPair(i.dst, v)
			if scc {
				w.scc = bit32(v != 0)
			}
		})
	}
	to32 := func(name string, scc bool, f func(uint64) uint32) {
		set(name, 1, func(w *wave, i *instr) {
			v := f(w.scalar64(&i.src[0]))
			w.s[i.dst&127] = v
			if scc {
				nonzero(w, v)
			}
		})
	}
	two := func(name string, scc bool, f func(a, b uint32) uint32) {
		set(name, 1, func(w *wave, i *instr) {
			v := f(w.scalar32(&i.src[0]), w.scalar32(&i.src[1]))
			w.s[i.dst&127] = v
			if scc {
				nonzero(w, v)
			}
		})
	}
	two64 := func(name string, scc bool, f func(a, b uint64) uint64) {
		set(name, 1, func(w *wave, i *instr) {
			v := f(w.scalar64(&i.src[0]), w.scalar64(&i.src[1]))
			w.setPair(i.dst, v)
			if scc {
				w.scc = bit32(v != 0)
			}
		})
	}
	// carry gives SCC itself.
	carry := func(name string, f func(a, b, scc uint32) (uint32, bool)) {
		set(name, 1, func(w *wave, i *instr) {
			v, c := f(w.scalar32(&i.src[0]), w.scalar32(&i.src[1]), w.scc)
			w.s[i.dst&127], w.scc = v, bit32(c)
		})
	}
	compare := func(name string, f func(a, b uint64) bool) {
		set(name, 0, func(w *wave, i *instr) { w.scc = bit32(f(w.scalar64(&i.src[0]), w.scalar64(&i.src[1]))) })
	}
	compare32 := func(name string, f func(a, b uint32) bool) {
		set(name, 0, func(w *wave, i *instr) { w.scc = bit32(f(w.scalar32(&i.src[0]), w.scalar32(&i.src[1]))) })
	}

	one("s_mov_b32", false, func(a uint32) uint32 { return a })
	one("s_not_b32", true, func(a uint32) uint32 { return ^a })
	one("s_brev_b32", false, bits.Reverse32)
	one("s_sext_i32_i8", false, func(a uint32) uint32 { return uint32(int32(int8(a))) })
	one("s_sext_i32_i16", false, func(a uint32) uint32 { return uint32(int32(int16(a))) })
	one("s_bcnt1_i32_b32", true, func(a uint32) uint32 { return uint32(bits.OnesCount32(a)) })
	one("s_bcnt0_i32_b32", true, func(a uint32) uint32 { return uint32(bits.OnesCount32(^a)) })
	one("s_ff1_i32_b32", false, firstOne)
	one("s_ff0_i32_b32", false, func(a uint32) uint32 { return firstOne(^a) })
	one("s_flbit_i32_b32", false, lastOne)
	one("s_flbit_i32", false, signBits)
	one("s_abs_i32", true, func(a uint32) uint32 { return uint32(max(int32(a), -int32(a))) })
	one("s_wqm_b32", true, func(a uint32) uint32 { return uint32(wholeQuad(uint64(a))) })
	one64("s_mov_b64", false, func(a uint64) uint64 { return a })
	one64("s_not_b64", true, func(a uint64) uint64 { return ^a })
	one64("s_brev_b64", false, bits.Reverse64)
	one64("s_wqm_b64", true, wholeQuad)
	to32("s_bcnt1_i32_b64", true, func(a uint64) uint32 { return uint32(bits.OnesCount64(a)) })
	to32("s_bcnt0_i32_b64", true, func(a uint64) uint32 { return uint32(bits.OnesCount64(^a)) })
	to32("s_ff1_i32_b64", false, firstOne64)
	to32("s_ff0_i32_b64", false, func(a uint64) uint32 { return firstOne64(^a) })
	to32("s_flbit_i32_i64", false, func(a uint64) uint32 {
		if int64(a) < 0 {
			a = ^a
		}
		if a == 0 {
			return ^uint32(0)
		}
		return uint32(bits.LeadingZeros64(a))
	})
	to32("s_flbit_i32_b64", false, func(a uint64) uint32 {
		if a == 0 {
			return ^uint32(0)
		}
		return uint32(bits.LeadingZeros64(a))
	})

	two("s_and_b32", true, func(a, b uint32) uint32 { return a & b })
	two("s_or_b32", true, func(a, b uint32) uint32 { return a | b })
	two("s_xor_b32", true, func(a, b uint32) uint32 { return a ^ b })
	two("s_andn2_b32", true, func(a, b uint32) uint32 { return a &^ b })
	two("s_orn2_b32", true, func(a, b uint32) uint32 { return a | ^b })
	two("s_nand_b32", true, func(a, b uint32) uint32 { return ^(a & b) })
	two("s_nor_b32", true, func(a, b uint32) uint32 { return ^(a | b) })
	two("s_xnor_b32", true, func(a, b uint32) uint32 { return ^(a ^ b) })
	two("s_lshl_b32", true, func(a, b uint32) uint32 { return a << (b & 31) })
	two("s_lshr_b32", true, func(a, b uint32) uint32 { return a >> (b & 31) })
	two("s_ashr_i32", true, func(a, b uint32) uint32 { return uint32(int32(a) >> (b & 31)) })
	two("s_bfm_b32", false, func(a, b uint32) uint32 { return (1<<(a&31) - 1) << (b & 31) })
	two("s_mul_i32", false, func(a, b uint32) uint32 { return a * b })
	two("s_mul_hi_u32", false, func(a, b uint32) uint32 { return uint32(uint64(a) * uint64(b) >> 32) })
	two("s_mul_hi_i32", false, func(a, b uint32) uint32 { return uint32(uint64(int64(int32(a))*int64(int32(b))) >> 32) })
	two("s_bfe_u32", true, func(a, b uint32) uint32 { return uint32(field(uint64(a), b, false, 32)) })
	two("s_bfe_i32", true, func(a, b uint32) uint32 { return uint32(field(uint64(a), b, true, 32)) })
	two("s_absdiff_i32", true, func(a, b uint32) uint32 { d := int32(a) - int32(b); return uint32(max(d, -d)) })
	two("s_pack_ll_b32_b16", false, func(a, b uint32) uint32 { return a&0xffff | b<<16 })
	two("s_pack_lh_b32_b16", false, func(a, b uint32) uint32 { return a&0xffff | b&0xffff0000 })
	two("s_pack_hh_b32_b16", false, func(a, b uint32) uint32 { return a>>16 | b&0xffff0000 })
	two64("s_and_b64", true, func(a, b uint64) uint64 { return a & b })
	two64("s_or_b64", true, func(a, b uint64) uint64 { return a | b })
	two64("s_xor_b64", true, func(a, b uint64) uint64 { return a ^ b })
	two64("s_andn2_b64", true, func(a, b uint64) uint64 { return a &^ b })
	two64("s_orn2_b64", true, func(a, b uint64) uint64 { return a | ^b })
	two64("s_nand_b64", true, func(a, b uint64) uint64 { return ^(a & b) })
	two64("s_nor_b64", true, func(a, b uint64) uint64 { return ^(a | b) })
	two64("s_xnor_b64", true, func(a, b uint64) uint64 { return ^(a ^ b) })
	two64("s_lshl_b64", true, func(a, b uint64) uint64 { return a << (b & 63) })
	two64("s_lshr_b64", true, func(a, b uint64) uint64 { return a >> (b & 63) })
	two64("s_ashr_i64", true, func(a, b uint64) uint64 { return uint64(int64(a) >> (b & 63)) })
	two64("s_bfm_b64", false, func(a, b uint64) uint64 { return (1<<(a&63) - 1) << (b & 63) })
	two64("s_bfe_u64", true, func(a, b uint64) uint64 { return field(a, uint32(b), false, 64) })
	two64("s_bfe_i64", true, func(a, b uint64) uint64 { return field(a, uint32(b), true, 64) })

	carry("s_add_u32", func(a, b, _ uint32) (uint32, bool) { return a + b, a+b < a })
	carry("s_sub_u32", func(a, b, _ uint32) (uint32, bool) { return a - b, b > a })
	carry("s_addc_u32", func(a, b, c uint32) (uint32, bool) {
		s := uint64(a) + uint64(b) + uint64(c)
		return uint32(s), s>>32 != 0
	})
	carry("s_subb_u32", func(a, b, c uint32) (uint32, bool) { return a - b - c, uint64(b)+uint64(c) > uint64(a) })
	carry("s_add_i32", func(a, b, _ uint32) (uint32, bool) { return a + b, int32((a+b)^a)&int32((a+b)^b) < 0 })
	carry("s_sub_i32", func(a, b, _ uint32) (uint32, bool) { return a - b, int32(a^b)&int32((a-b)^a) < 0 })
	carry("s_min_i32", func(a, b, _ uint32) (uint32, bool) { return uint32(min(int32(a), int32(b))), int32(a) < int32(b) })
	carry("s_max_i32", func(a, b, _ uint32) (uint32, bool) { return uint32(max(int32(a), int32(b))), int32(a) > int32(b) })
	carry("s_min_u32", func(a, b, _ uint32) (uint32, bool) { return min(a, b), a < b })
	carry("s_max_u32", func(a, b, _ uint32) (uint32, bool) { return max(a, b), a > b })
	for n := range uint32(4) {
		carry("s_lshl"+string(rune('1'+n))+"_add_u32", func(a, b, _ uint32) (uint32, bool) {
			s := uint64(a)<<(n+1) + uint64(b)
			return uint32(s), s>>32 != 0
		})
	}
	set("s_cselect_b32", 1, func(w *wave, i *instr) { w.s[i.dst&127] = w.scalar32(&i.src[1-w.scc&1]) })
	set("s_cselect_b64", 1, func(w *wave, i *instr) { w.setPair(i.dst, w.scalar64(&i.src[1-w.scc&1])) })
	set("s_cmov_b32", 1, func(w *wave, i *instr) {
		if w.scc != 0 {
			w.s[i.dst&127] = w.scalar32(&i.src[0])
		}
	})
	set("s_cmov_b64", 1, func(w *wave, i *instr) {
		if w.scc != 0 {
			w.setPair(i.dst, w.scalar64(&i.src[0]))
		}
	})
	set("s_bitset0_b32", 1, func(w *wave, i *instr) { w.s[i.dst&127] &^= 1 << (w.scalar32(&i.src[0]) & 31) })
	set("s_bitset0_b64", 1, func(w *wave, i *instr) { w.setPair(i.dst, w.pair(i.dst)&^(1<<(w.scalar32(&i.src[0])&63))) })
	set("s_bitset1_b64", 1, func(w *wave, i *instr) { w.setPair(i.dst, w.pair(i.dst)|1<<(w.scalar32(&i.src[0])&63)) })
	set("s_bitset1_b32", 1, func(w *wave, i *instr) { w.s[i.dst&127] |= 1 << (w.scalar32(&i.src[0]) & 31) })

	for name, f := range map[string]func(a, b int32) bool{
		"eq": func(a, b int32) bool { return a == b }, "lg": func(a, b int32) bool { return a != b },
		"gt": func(a, b int32) bool { return a > b }, "ge": func(a, b int32) bool { return a >= b },
		"lt": func(a, b int32) bool { return a < b }, "le": func(a, b int32) bool { return a <= b },
	} {
		signed := func(a, b uint32) bool { return f(int32(a), int32(b)) }
		unsigned := func(a, b uint32) bool { return f(int32(a^1<<31), int32(b^1<<31)) }
		compare32("s_cmp_"+name+"_i32", signed)
		compare32("s_cmp_"+name+"_u32", unsigned)
		ops["s_cmpk_"+name+"_i32"] = &operation{results: 0, run: func(w *wave, i *instr) {
			w.scc = bit32(f(int32(w.scalar32(&i.src[0])), int32(i.imm)))
		}}
		ops["s_cmpk_"+name+"_u32"] = &operation{results: 0, run: func(w *wave, i *instr) {
			w.scc = bit32(unsigned(w.scalar32(&i.src[0]), uint32(uint16(i.imm))))
		}}
	}
	compare("s_cmp_eq_u64", func(a, b uint64) bool { return a == b })
	compare("s_cmp_lg_u64", func(a, b uint64) bool { return a != b })
	compare("s_bitcmp0_b32", func(a, b uint64) bool { return a>>(b&31)&1 == 0 })
	compare("s_bitcmp1_b32", func(a, b uint64) bool { return a>>(b&31)&1 != 0 })
	compare("s_bitcmp0_b64", func(a, b uint64) bool { return a>>(b&63)&1 == 0 })
	compare("s_bitcmp1_b64", func(a, b uint64) bool { return a>>(b&63)&1 != 0 })

	set("s_movk_i32", 1, func(w *wave, i *instr) { w.s[i.dst&127] = uint32(int32(i.imm)) })
	set("s_cmovk_i32", 1, func(w *wave, i *instr) {
		if w.scc != 0 {
			w.s[i.dst&127] = uint32(int32(i.imm))
		}
	})
	set("s_addk_i32", 1, func(w *wave, i *instr) {
		a, b := w.s[i.dst&127], uint32(int32(i.imm))
		w.s[i.dst&127], w.scc = a+b, bit32(int32((a+b)^a)&int32((a+b)^b) < 0)
	})
	set("s_mulk_i32", 1, func(w *wave, i *instr) { w.s[i.dst&127] *= uint32(int32(i.imm)) })

	// EXEC and a source, EXEC before into the result.
	for name, f := range map[string]func(s, e uint64) uint64{
		"and": func(s, e uint64) uint64 { return s & e }, "or": func(s, e uint64) uint64 { return s | e },
		"xor": func(s, e uint64) uint64 { return s ^ e }, "andn2": func(s, e uint64) uint64 { return s &^ e },
		"orn2": func(s, e uint64) uint64 { return s | ^e }, "nand": func(s, e uint64) uint64 { return ^(s & e) },
		"nor": func(s, e uint64) uint64 { return ^(s | e) }, "xnor": func(s, e uint64) uint64 { return ^(s ^ e) },
		"andn1": func(s, e uint64) uint64 { return ^s & e }, "orn1": func(s, e uint64) uint64 { return ^s | e },
	} {
		save := func(wrote bool) func(*wave, *instr) {
			return func(w *wave, i *instr) {
				e := w.exec()
				v := f(w.scalar64(&i.src[0]), e)
				if wrote {
					w.setPair(i.dst, v)
				} else {
					w.setPair(i.dst, e)
				}
				w.setPair(isa.Exec, v)
				w.scc = bit32(v != 0)
			}
		}
		set("s_"+name+"_saveexec_b64", 1, save(false))
		if name == "andn1" || name == "andn2" {
			set("s_"+name+"_wrexec_b64", 1, save(true))
		}
	}
	return ops
}

func firstOne(a uint32) uint32 {
	if a == 0 {
		return ^uint32(0)
	}
	return uint32(bits.TrailingZeros32(a))
}

func firstOne64(a uint64) uint32 {
	if a == 0 {
		return ^uint32(0)
	}
	return uint32(bits.TrailingZeros64(a))
}

func lastOne(a uint32) uint32 {
	if a == 0 {
		return ^uint32(0)
	}
	return uint32(bits.LeadingZeros32(a))
}

// signBits counts the bits below the sign that equal it, from the top; -1 when
// all do.
func signBits(a uint32) uint32 {
	if int32(a) < 0 {
		a = ^a
	}
	return lastOne(a)
}

func wholeQuad(a uint64) uint64 {
	a |= a >> 1
	a |= a >> 2
	a &= 0x1111111111111111
	return a * 15
}

// field takes bits out: the offset lies in the low bits of where, the width in
// bits 16 to 22.
func field(v uint64, where uint32, signed bool, size uint) uint64 {
	off, width := uint(where)&(size-1), uint(where>>16)&127
	if width == 0 {
		return 0
	}
	v = v << (64 - size) >> (64 - size) >> off
	if width >= 64 || off+width >= size && !signed {
		return v
	}
	width = min(width, size-off)
	v <<= 64 - width
	if signed {
		return uint64(int64(v) >> (64 - width))
	}
	return v >> (64 - width)
}
