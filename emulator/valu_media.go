package emulator

import (
	"math"
	"math/bits"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// media are the operations on bytes, on the faces of cubes and on normalised
// numbers ("Vega" ISA, "VOP3 instructions"), a lane at a time.
func media() map[string]*operation {
	ops := map[string]*operation{}
	lane := func(name string, f func(a, b, c uint64) uint64) { ops[name] = &operation{results: 1, lane: f} }
	lane("v_lerp_u8", func(a, b, c uint64) (out uint64) {
		for n := 0; n < 32; n += 8 {
			out |= (a>>n&255 + b>>n&255 + c>>n&1) >> 1 << n
		}
		return out
	})
	lane("v_sad_u8", func(a, b, c uint64) uint64 { return uint64(uint32(distance(a, b, 8, false) + c)) })
	lane("v_sad_hi_u8", func(a, b, c uint64) uint64 { return uint64(uint32(distance(a, b, 8, false)<<16 + c)) })
	lane("v_sad_u16", func(a, b, c uint64) uint64 { return uint64(uint32(distance(a, b, 16, false) + c)) })
	lane("v_msad_u8", func(a, b, c uint64) uint64 { return uint64(uint32(distance(a, b, 8, true) + c)) })
	for name, masked := range map[string]bool{"v_qsad_pk_u16_u8": false, "v_mqsad_pk_u16_u8": true} {
		lane(name, func(a, b, c uint64) (out uint64) {
			for n := range 4 {
				out |= (distance(a>>(8*n)&0xffffffff, b, 8, masked) + c>>(16*n)) & 0xffff << (16 * n)
			}
			return out
		})
	}
	ops["v_mqsad_u32_u8"] = &operation{results: 1, run: sumOfFour}
	lane("v_sat_pk_u8_i16", func(a, _, _ uint64) uint64 {
		return clampTo(int64(int16(a)), 0, 255) | clampTo(int64(int16(a>>16)), 0, 255)<<8
	})
	lane("v_cvt_pk_i16_i32", func(a, b, _ uint64) uint64 {
		return clampTo(int64(int32(a)), -32768, 32767)&0xffff | clampTo(int64(int32(b)), -32768, 32767)&0xffff<<16
	})
	lane("v_ashr_pk_i8_i32", func(a, b, c uint64) uint64 {
		return clampTo(int64(int32(a)>>(c&31)), -128, 127)&255 | clampTo(int64(int32(b)>>(c&31)), -128, 127)&255<<8
	})
	lane("v_ashr_pk_u8_i32", func(a, b, c uint64) uint64 {
		return clampTo(int64(int32(a)>>(c&31)), 0, 255) | clampTo(int64(int32(b)>>(c&31)), 0, 255)<<8
	})
	// How these round no document says: on gfx9 and gfx10 processors people have found the
	// nearest number, even between two, and 0 for NaN.
	bytes := func(v, at, into uint64) uint64 {
		at = 8 * (at & 3)
		return into&^(255<<at) | uint64(saturate(math.RoundToEven(float64(f32(uint32(v)))), 0, 255))<<at
	}
	ops["v_cvt_pk_u8_f32"] = &operation{results: 1, float: 32, lane: bytes}
	ops["v_cvt_pkaccum_u8_f32"] = &operation{results: 1, float: 32, tied: true, lane: bytes}
	lane("v_cvt_off_f32_i4", func(a, _, _ uint64) uint64 { return uint64(u32(float32(int32(a)<<28>>28) / 16)) })
	lane("v_prng_b32", func(a, _, _ uint64) uint64 { return uint64(uint32(a)<<1 ^ uint32(int32(a)>>31)&0xc5) })
	for suffix, unsigned := range map[string]bool{"i16": false, "u16": true} {
		norm := func(v float64) uint64 {
			low, high := -1.0, 32767.0
			if unsigned {
				low, high = 0, 65535
			}
			if v != v {
				return 0
			}
			return uint64(int64(math.RoundToEven(max(low, min(v, 1))*high))) & 0xffff
		}
		ops["v_cvt_pknorm_"+suffix+"_f32"] = &operation{results: 1, float: 32, lane: func(a, b, _ uint64) uint64 {
			return norm(float64(f32(uint32(a)))) | norm(float64(f32(uint32(b))))<<16
		}}
		ops["v_cvt_pknorm_"+suffix+"_f16"] = &operation{results: 1, float: 16, lane: func(a, b, _ uint64) uint64 {
			return norm(fromHalf(uint16(a))) | norm(fromHalf(uint16(b)))<<16
		}}
		ops["v_cvt_norm_"+suffix+"_f16"] = &operation{results: 1, float: 16, lane: func(a, _, _ uint64) uint64 { return norm(fromHalf(uint16(a))) }}
	}
	for n, name := range []string{"v_cubeid_f32", "v_cubesc_f32", "v_cubetc_f32", "v_cubema_f32"} {
		ops[name] = &operation{results: 1, float: 32, lane: func(a, b, c uint64) uint64 {
			return uint64(u32(cube(f32(uint32(a)), f32(uint32(b)), f32(uint32(c)))[n]))
		}}
	}
	ops["v_exp_legacy_f32"], ops["v_log_legacy_f32"] = vectorFloat()["v_exp_f32"], vectorFloat()["v_log_f32"]
	ops["v_mad_legacy_f32"] = &operation{results: 1, float: 32, lane: func(a, b, c uint64) uint64 {
		return uint64(u32(legacy(f32(uint32(a)), f32(uint32(b))) + f32(uint32(c))))
	}}
	extreme := func(f func(a, b float64) float64) func(a, b, c float64) float64 {
		return func(a, b, c float64) float64 { return f(f(a, b), c) } // Go's min and max give NaN where one is
	}
	for name, f := range map[string]func(a, b, c float64) float64{"minimum3": extreme(math.Min), "maximum3": extreme(math.Max)} {
		ops["v_"+name+"_f32"] = &operation{results: 1, float: 32, lane: func(a, b, c uint64) uint64 {
			return uint64(u32(float32(f(float64(f32(uint32(a))), float64(f32(uint32(b))), float64(f32(uint32(c)))))))
		}}
		ops["v_pk_"+name+"_f16"] = &operation{results: 1, float: 16, run: func(w *wave, i *instr) {
			w.packed16(i, true, func(a, b, c uint16) uint16 { return toHalf(f(fromHalf(a), fromHalf(b), fromHalf(c))) })
		}}
	}
	ops["v_bitop3_b16"] = &operation{results: 1, run: bitOp16}
	ops["v_clrexcp"] = &operation{run: func(*wave, *instr) {}}
	return ops
}

// clampTo saturates.
func clampTo(v, low, high int64) uint64 { return uint64(max(low, min(v, high))) }

// distance sums the differences of bytes or halves up; masked leaves those out
// where b is zero.
func distance(a, b uint64, size int, masked bool) (sum uint64) {
	mask := uint64(1)<<size - 1
	for n := 0; n < 32; n += size {
		x, y := a>>n&mask, b>>n&mask
		if !masked || y != 0 {
			sum += max(x, y) - min(x, y)
		}
	}
	return sum
}

// sumOfFour is V_MQSAD_U32_U8: four sums of 32 bits.
func sumOfFour(w *wave, i *instr) {
	lo, hi := w.wide(&i.src[0], &w.tmp[0], &w.tmp[1])
	b := w.vector(&i.src[1], &w.tmp[2])
	if i.src[2].kind != srcVector {
		unsupported(w, i)
		return
	}
	var out [4]vec
	for n := range out {
		c := &w.v[(int(i.src[2].reg)+n)%vregs]
		for l := range lanes {
			a := uint64(lo[l]) | uint64(hi[l])<<32
			out[n][l] = uint32(distance(a>>(8*n)&0xffffffff, uint64(b[l]), 8, true)) + c[l]
		}
	}
	for n := range out {
		merge(&w.v[(int(i.dst)+n)%vregs], &out[n], w.exec())
	}
}

// cube returns the face of a cube that a direction hits, the place there, and
// twice the major axis ("Vega" ISA, V_CUBEID_F32).
func cube(x, y, z float32) (out [4]float32) {
	abs := func(v float32) float32 { return float32(math.Abs(float64(v))) }
	face := func(v, id, s, t float32) [4]float32 {
		if v < 0 {
			id++
		}
		return [4]float32{id, s, t, 2 * v}
	}
	turn := func(v, s float32) float32 {
		if v < 0 {
			return -s
		}
		return s
	}
	switch {
	case abs(z) >= abs(x) && abs(z) >= abs(y):
		return face(z, 4, turn(z, x), -y)
	case abs(y) >= abs(x):
		return face(y, 2, x, turn(y, z))
	}
	return face(x, 0, -turn(x, z), -y)
}

func bitOp16(w *wave, i *instr) {
	mask := w.exec()
	var in [3]*vec
	for n := range in {
		in[n] = w.modified(i, n, &mask)
	}
	d := &w.tmp[3]
	for l := range d {
		d[l] = bitOp(i.inst, in[0][l], in[1][l], in[2][l]) & 0xffff
	}
	w.store(i, d, mask)
}

// scalarMedia are the scalar operations on bit masks that are seldom used, and
// those that say something to machinery that is not here.
func scalarMedia() map[string]*operation {
	ops := map[string]*operation{}
	nothing := &operation{run: func(*wave, *instr) {}}
	for _, name := range []string{"s_incperflevel", "s_decperflevel", "s_atc_probe", "s_atc_probe_buffer", "s_dcache_discard", "s_dcache_discard_x2",
		"s_cbranch_cdbgsys", "s_cbranch_cdbguser", "s_cbranch_cdbgsys_or_user", "s_cbranch_cdbgsys_and_user"} { // no debugger is there
		ops[name] = nothing
	}
	ops["s_endpgm_saved"] = &operation{run: func(w *wave, _ *instr) { w.state = ended }}
	ops["s_bitreplicate_b64_b32"] = &operation{results: 1, run: func(w *wave, i *instr) {
		v, out := w.scalar32(&i.src[0]), uint64(0)
		for ; v != 0; v &= v - 1 {
			out |= 3 << (2 * bits.TrailingZeros32(v))
		}
		w.setPair(i.dst, out)
	}}
	ops["s_quadmask_b32"] = &operation{results: 1, run: func(w *wave, i *instr) {
		v := uint32(quads(uint64(w.scalar32(&i.src[0]))))
		w.s[i.dst&127], w.scc = v, bit32(v != 0)
	}}
	ops["s_quadmask_b64"] = &operation{results: 1, run: func(w *wave, i *instr) {
		v := quads(w.scalar64(&i.src[0]))
		w.setPair(i.dst, v)
		w.scc = bit32(v != 0)
	}}
	// M0 is added to the number of a scalar register.
	relative := func(words uint16, source bool) *operation {
		return &operation{results: 1, run: func(w *wave, i *instr) {
			from, to := i.src[0], i.dst
			if source {
				if from.kind != srcScalar {
					unsupported(w, i)
					return
				}
				from.reg += uint16(w.s[isa.M0])
			} else {
				to += uint16(w.s[isa.M0])
			}
			if from.kind == srcScalar && from.reg+words > isa.FlatScratch || to+words > isa.FlatScratch && to != i.dst {
				w.fail(i, "s%d with what M0 adds is no register", max(from.reg, to))
				return
			}
			if words == 1 {
				w.s[to&127] = w.scalar32(&from)
			} else {
				w.setPair(to, w.scalar64(&from))
			}
		}}
	}
	ops["s_movrels_b32"], ops["s_movreld_b32"] = relative(1, true), relative(1, false)
	ops["s_movrels_b64"], ops["s_movreld_b64"] = relative(2, true), relative(2, false)
	return ops
}

// quads tells which groups of four bits have one.
func quads(v uint64) (out uint64) {
	for n := range 16 {
		out |= bit(v>>(4*n)&15 != 0) << n
	}
	return out
}
