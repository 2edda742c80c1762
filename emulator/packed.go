package emulator

import (
	"math"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// packed are the operations on two numbers at once, and those that mix f16 with
// f32 ("Vega" ISA, "Packed Math"; "CDNA 3" ISA, V_PK_FMA_F32 and its like).
func packed() map[string]*operation {
	ops := map[string]*operation{}
	half := func(name string, float bool, f func(a, b, c uint16) uint16) {
		ops[name] = &operation{results: 1, float: map[bool]int{true: 16}[float], run: func(w *wave, i *instr) { w.packed16(i, float, f) }}
	}
	ints := map[string]func(a, b, c uint16) uint16{
		"v_pk_add_u16": func(a, b, _ uint16) uint16 { return a + b }, "v_pk_add_i16": func(a, b, _ uint16) uint16 { return a + b },
		"v_pk_sub_u16": func(a, b, _ uint16) uint16 { return a - b }, "v_pk_sub_i16": func(a, b, _ uint16) uint16 { return a - b },
		"v_pk_mul_lo_u16": func(a, b, _ uint16) uint16 { return a * b }, "v_pk_mad_u16": func(a, b, c uint16) uint16 { return a*b + c },
		"v_pk_mad_i16": func(a, b, c uint16) uint16 { return a*b + c },
		"v_pk_min_u16": func(a, b, _ uint16) uint16 { return min(a, b) }, "v_pk_max_u16": func(a, b, _ uint16) uint16 { return max(a, b) },
		"v_pk_min_i16":     func(a, b, _ uint16) uint16 { return uint16(min(int16(a), int16(b))) },
		"v_pk_max_i16":     func(a, b, _ uint16) uint16 { return uint16(max(int16(a), int16(b))) },
		"v_pk_lshlrev_b16": func(a, b, _ uint16) uint16 { return b << (a & 15) }, "v_pk_lshrrev_b16": func(a, b, _ uint16) uint16 { return b >> (a & 15) },
		"v_pk_ashrrev_i16": func(a, b, _ uint16) uint16 { return uint16(int16(b) >> (a & 15)) },
	}
	for name, f := range ints {
		half(name, false, f)
	}
	floats := map[string]func(a, b, c float64) float64{
		"v_pk_add_f16": func(a, b, _ float64) float64 { return a + b }, "v_pk_mul_f16": func(a, b, _ float64) float64 { return a * b },
		"v_pk_fma_f16": math.FMA,
		"v_pk_min_f16": func(a, b, _ float64) float64 { return f64(pickNumber(u64(a), u64(b), math.Min)) },
		"v_pk_max_f16": func(a, b, _ float64) float64 { return f64(pickNumber(u64(a), u64(b), math.Max)) },
	}
	for name, f := range floats {
		half(name, true, func(a, b, c uint16) uint16 { return toHalf(f(fromHalf(a), fromHalf(b), fromHalf(c))) })
	}
	for name, f := range map[string]func(d, a, b, c *vec){
		"v_pk_fma_f32": func(d, a, b, c *vec) {
			for l := range d {
				d[l] = u32(fma32(f32(a[l]), f32(b[l]), f32(c[l])))
			}
		},
		"v_pk_mul_f32": func(d, a, b, _ *vec) {
			for l := range d {
				d[l] = u32(f32(a[l]) * f32(b[l]))
			}
		},
		"v_pk_add_f32": func(d, a, b, _ *vec) {
			for l := range d {
				d[l] = u32(f32(a[l]) + f32(b[l]))
			}
		},
	} {
		ops[name] = &operation{results: 1, float: 32, run: func(w *wave, i *instr) { w.packed32(i, f) }}
	}
	ops["v_pk_mov_b32"] = &operation{results: 1, run: func(w *wave, i *instr) {
		var in [2][2]*vec
		for n := range in {
			in[n][0], in[n][1] = w.wide(&i.src[n], &w.tmp[2*n], &w.tmp[2*n+1])
		}
		sel := i.inst.OpSel()
		lo, hi := *in[0][sel&1], *in[1][sel>>1&1]
		merge(&w.v[i.dst%vregs], &lo, w.exec())
		merge(&w.v[(i.dst+1)%vregs], &hi, w.exec())
	}}
	for name, part := range map[string]int{"f32": 0, "lo_f16": 1, "hi_f16": 2} {
		op := &operation{results: 1, float: 32, run: func(w *wave, i *instr) { w.mix(i, part) }}
		sep := "_"
		if part > 0 {
			sep = ""
		}
		ops["v_fma_mix"+sep+name], ops["v_mad_mix"+sep+name] = op, op
	}
	ops["v_bitop3_b32"] = &operation{results: 1, run: func(w *wave, i *instr) {
		a, b, c := w.vector(&i.src[0], &w.tmp[0]), w.vector(&i.src[1], &w.tmp[1]), w.vector(&i.src[2], &w.tmp[2])
		d := &w.tmp[3]
		for l := range d {
			d[l] = bitOp(i.inst, a[l], b[l], c[l])
		}
		merge(&w.v[i.dst%vregs], d, w.exec())
	}}
	return ops
}

// packed16 does f to the lower and the upper halves that OP_SEL and OP_SEL_HI
// choose.
func (w *wave) packed16(i *instr, float bool, f func(a, b, c uint16) uint16) {
	inst := i.inst
	sel := [2]uint32{inst.OpSel(), inst.OpSelHi()}
	neg := [2]uint32{inst.Neg(), inst.NegHi()}
	var in [3]*vec
	for n := range in {
		in[n] = &w.tmp[7]
		if i.src[n].kind != srcNone {
			in[n] = w.vector(&i.src[n], &w.tmp[n])
		}
	}
	d := &w.tmp[3]
	for l := range d {
		var out [2]uint16
		for h := range out {
			var v [3]uint16
			for n := range v {
				v[n] = uint16(in[n][l] >> (16 * (sel[h] >> n & 1)))
				if float && neg[h]>>n&1 != 0 {
					v[n] ^= 1 << 15
				}
			}
			if i.careful {
				for n := range v {
					if in, _ := w.flushes(16); in {
						v[n] = uint16(flushed(halfFormat(), uint64(v[n])))
					}
				}
			}
			out[h] = f(v[0], v[1], v[2])
			if i.careful {
				out[h] = uint16(w.settle(i, uint64(out[h]), [3]uint64{uint64(v[0]), uint64(v[1]), uint64(v[2])}))
			}
			if i.clamp {
				out[h] = toHalf(min(max(fromHalf(out[h]), 0), 1))
			}
		}
		d[l] = uint32(out[0]) | uint32(out[1])<<16
	}
	merge(&w.v[i.dst%vregs], d, w.exec())
}

// packed32 does f to two f32 of each lane, the words of each source that OP_SEL
// and OP_SEL_HI choose. A constant gives the same to both.
func (w *wave) packed32(i *instr, f func(d, a, b, c *vec)) {
	inst := i.inst
	sel := [2]uint32{inst.OpSel(), inst.OpSelHi()}
	neg := [2]uint32{inst.Neg(), inst.NegHi()}
	t := &w.spare
	for h := range 2 {
		var v [3]*vec
		for n := range v {
			s := &i.src[n]
			word := uint16(sel[h] >> n & 1)
			switch s.kind {
			case srcNone:
				v[n] = &w.tmp[7]
			case srcConst:
				v[n] = s.vec
			case srcVector:
				v[n] = &w.v[(s.reg+word)%vregs]
			default:
				value := w.s[(s.reg+word)&127]
				v[n] = &w.tmp[n]
				for l := range v[n] {
					v[n][l] = value
				}
			}
			if neg[h]>>n&1 != 0 {
				w.tmp[3+n] = *v[n]
				v[n] = &w.tmp[3+n]
				for l := range v[n] {
					v[n][l] ^= 1 << 31
				}
			}
		}
		if i.careful {
			for n := range v {
				w.tmp[3+n] = *v[n]
				v[n] = &w.tmp[3+n]
				w.flushInput(v[n], 32)
			}
		}
		f(&t[h], v[0], v[1], v[2])
		if i.careful {
			for l := range t[h] {
				t[h][l] = uint32(w.settle(i, uint64(t[h][l]), [3]uint64{uint64(v[0][l]), uint64(v[1][l]), uint64(v[2][l])}))
			}
		}
		w.output(i, &t[h])
	}
	merge(&w.v[i.dst%vregs], &t[0], w.exec())
	merge(&w.v[(i.dst+1)%vregs], &t[1], w.exec())
}

// mix is a fused multiply-add whose sources are f32, or f16 where OP_SEL_HI says
// so, from the half that OP_SEL names. part is where the result goes: 0 all, 1
// the lower half, 2 the upper.
func (w *wave) mix(i *instr, part int) {
	inst := i.inst
	sel, hi := inst.OpSel(), inst.OpSelHi()
	abs, neg := inst.Abs(), inst.Neg()
	var in [3]*vec
	for n := range in {
		in[n] = w.vector(&i.src[n], &w.tmp[n])
	}
	d, old := &w.tmp[3], &w.v[i.dst%vregs]
	for l := range d {
		var v [3]float32
		for n := range v {
			if hi>>n&1 != 0 {
				v[n] = float32(fromHalf(uint16(in[n][l] >> (16 * (sel >> n & 1)))))
			} else {
				v[n] = f32(in[n][l])
			}
			if abs>>n&1 != 0 {
				v[n] = float32(math.Abs(float64(v[n])))
			}
			if neg>>n&1 != 0 {
				v[n] = -v[n]
			}
		}
		if i.careful {
			if in, _ := w.flushes(32); in {
				for n := range v {
					v[n] = f32(uint32(flushed(single(), uint64(u32(v[n])))))
				}
			}
		}
		r := fma32(v[0], v[1], v[2])
		if i.careful {
			r = f32(uint32(w.settle(i, uint64(u32(r)), [3]uint64{uint64(u32(v[0])), uint64(u32(v[1])), uint64(u32(v[2]))})))
		}
		if i.clamp {
			r = min(max(r, 0), 1)
		}
		switch part {
		case 0:
			d[l] = u32(r)
		case 1:
			d[l] = old[l]&0xffff0000 | uint32(toHalf(float64(r)))
		default:
			d[l] = old[l]&0xffff | uint32(toHalf(float64(r)))<<16
		}
	}
	merge(old, d, w.exec())
}

// bitOp is V_BITOP3: each bit of the sources looks its result up.
func bitOp(i *isa.Inst, a, b, c uint32) (out uint32) {
	table := i.BitOp()
	for n := range uint32(8) {
		if table>>n&1 == 0 {
			continue
		}
		x, y, z := a, b, c
		if n&4 == 0 {
			x = ^x
		}
		if n&2 == 0 {
			y = ^y
		}
		if n&1 == 0 {
			z = ^z
		}
		out |= x & y & z
	}
	return out
}
