package emulator

import (
	"math"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// rdnaVector are the vector operations that came with RDNA ("RDNA 2", "RDNA 3" and
// "RDNA 4" ISA, "VOP1, VOP2, VOP3 instructions").
func rdnaVector() map[string]*operation {
	ops := map[string]*operation{}
	ops["v_xor3_b32"] = &operation{results: 1, v3: func(d, a, b, c *vec) {
		for l := range d {
			d[l] = a[l] ^ b[l] ^ c[l]
		}
	}}
	lane := func(name string, f func(a, b, c uint64) uint64) { ops[name] = &operation{results: 1, lane: f} }
	lane("v_and_b16", func(a, b, _ uint64) uint64 { return a & b })
	lane("v_or_b16", func(a, b, _ uint64) uint64 { return a | b })
	lane("v_xor_b16", func(a, b, _ uint64) uint64 { return a ^ b })
	lane("v_not_b16", func(a, _, _ uint64) uint64 { return ^a })
	lane("v_mov_b16", func(a, _, _ uint64) uint64 { return a })
	lane("v_cvt_i32_i16", func(a, _, _ uint64) uint64 { return uint64(uint32(int32(int16(a)))) })
	lane("v_cvt_u32_u16", func(a, _, _ uint64) uint64 { return a & 0xffff })
	lane("v_maxmin_i32", func(a, b, c uint64) uint64 { return uint64(uint32(min(max(int32(a), int32(b)), int32(c)))) })
	lane("v_minmax_i32", func(a, b, c uint64) uint64 { return uint64(uint32(max(min(int32(a), int32(b)), int32(c)))) })
	lane("v_maxmin_u32", func(a, b, c uint64) uint64 { return uint64(min(max(uint32(a), uint32(b)), uint32(c))) })
	lane("v_minmax_u32", func(a, b, c uint64) uint64 { return uint64(max(min(uint32(a), uint32(b)), uint32(c))) })

	// Floats of all sizes. The number wins against NaN in what is called num and in
	// what has no such word; the others give NaN, as IEEE 754-2019 says.
	for bits, f := range map[int]format{16: halfFormat(), 32: single(), 64: double()} {
		tail := map[int]string{16: "_f16", 32: "_f32", 64: "_f64"}[bits]
		set := func(name string, g func(a, b, c float64) float64) {
			ops["v_"+name+tail] = &operation{results: 1, float: bits, lane: func(a, b, c uint64) uint64 {
				return f.bitsOf(g(f.value(a), f.value(b), f.value(c)))
			}}
		}
		least := func(a, b float64) float64 { return f64(pickNumber(u64(a), u64(b), math.Min)) }
		most := func(a, b float64) float64 { return f64(pickNumber(u64(a), u64(b), math.Max)) }
		set("minimum", func(a, b, _ float64) float64 { return min(a, b) })
		set("maximum", func(a, b, _ float64) float64 { return max(a, b) })
		if bits == 64 {
			continue
		}
		set("minimummaximum", func(a, b, c float64) float64 { return max(min(a, b), c) })
		set("maximumminimum", func(a, b, c float64) float64 { return min(max(a, b), c) })
		set("minmax", func(a, b, c float64) float64 { return most(least(a, b), c) })
		set("maxmin", func(a, b, c float64) float64 { return least(most(a, b), c) })
		if bits == 16 {
			set("minimum3", func(a, b, c float64) float64 { return min(a, b, c) })
			set("maximum3", func(a, b, c float64) float64 { return max(a, b, c) })
			for name, g := range map[string]func(a, b float64) float64{"minimum": func(a, b float64) float64 { return min(a, b) }, "maximum": func(a, b float64) float64 { return max(a, b) }} {
				ops["v_pk_"+name+"_f16"] = &operation{results: 1, float: 16, run: func(w *wave, i *instr) {
					w.packed16(i, true, func(a, b, _ uint16) uint16 { return toHalf(g(fromHalf(a), fromHalf(b))) })
				}}
			}
			set("fmac", math.FMA)
			set("fmaak", math.FMA)
			set("fmamk", math.FMA)
			ops["v_fmac_f16"].tied = true
		}
	}
	for _, name := range []string{"v_fma_legacy_f32", "v_fmac_legacy_f32"} {
		ops[name] = &operation{results: 1, float: 32, tied: name == "v_fmac_legacy_f32", lane: func(a, b, c uint64) uint64 {
			x, y, z := f32(uint32(a)), f32(uint32(b)), f32(uint32(c))
			if x == 0 || y == 0 {
				return uint64(u32(0 + z))
			}
			return uint64(u32(fma32(x, y, z)))
		}}
	}
	for name, bounds := range map[string][2]float64{"v_cvt_pk_i16_f32": {-32768, 32767}, "v_cvt_pk_u16_f32": {0, 65535}} {
		ops[name] = &operation{results: 1, float: 32, lane: func(a, b, _ uint64) uint64 {
			part := func(v uint64) uint64 { return uint64(saturate(float64(f32(uint32(v))), bounds[0], bounds[1])) & 0xffff }
			return part(a) | part(b)<<16
		}}
	}
	ops["v_cndmask_b16"] = &operation{results: 1, float: 16, run: func(w *wave, i *instr) {
		mask, sel := w.exec(), w.scalar64(&i.src[2])
		a, b, d := w.modified(i, 0, &mask), w.modified(i, 1, &mask), &w.tmp[6]
		for l := range d {
			d[l] = a[l]
			if sel>>l&1 != 0 {
				d[l] = b[l]
			}
		}
		w.store(i, d, mask)
	}}
	ops["v_swap_b16"] = &operation{results: 1, run: func(w *wave, i *instr) {
		a, b := &w.v[i.dst%vregs], &w.v[i.src[0].reg%vregs]
		to, from := uint(i.upper&8)*2, uint(i.upper&1)*16
		for m, l := w.exec(), 0; m != 0; m, l = m>>1, l+1 {
			if m&1 == 0 {
				continue
			}
			x, y := a[l]>>to&0xffff, b[l]>>from&0xffff
			a[l] = a[l]&^(0xffff<<to) | y<<to
			b[l] = b[l]&^(0xffff<<from) | x<<from
		}
	}}
	return ops
}

// rdnaLanes are the operations that move data between the lanes of a wave, or take
// the number of a register from M0.
func rdnaLanes() map[string]*operation {
	ops := map[string]*operation{}
	// OP_SEL is not what it says: bit 0 reads lanes that are off too, bit 1 makes
	// zero of those that may not be read, which else leave the result alone.
	rows := func(other int, choose func(w *wave, i *instr) func(l int) uint32) *operation {
		return &operation{results: 1, run: func(w *wave, i *instr) {
			mask, sel := w.exec(), i.inst.OpSel()
			readable := mask
			if sel&1 != 0 {
				readable = allLanes
			}
			in := *w.vector(&i.src[0], &w.tmp[0])
			from := choose(w, i)
			d := &w.tmp[3]
			for l := range int(w.size) {
				at := (l^other)&^15 | int(from(l)&15)
				switch {
				case readable>>at&1 != 0:
					d[l] = in[at]
				case sel&2 != 0:
					d[l] = 0
				default:
					mask &^= 1 << l
				}
			}
			merge(&w.v[i.dst%vregs], d, mask)
		}}
	}
	nibbles := func(w *wave, i *instr) func(l int) uint32 {
		all := uint64(w.scalar32(&i.src[1])) | uint64(w.scalar32(&i.src[2]))<<32
		return func(l int) uint32 { return uint32(all >> (4 * (l & 15))) }
	}
	each := func(w *wave, i *instr) func(l int) uint32 {
		sel := *w.vector(&i.src[1], &w.tmp[1])
		return func(l int) uint32 { return sel[l] }
	}
	ops["v_permlane16_b32"], ops["v_permlanex16_b32"] = rows(0, nibbles), rows(16, nibbles)
	ops["v_permlane16_var_b32"], ops["v_permlanex16_var_b32"] = rows(0, each), rows(16, each)
	ops["v_permlane64_b32"] = &operation{results: 1, run: func(w *wave, i *instr) {
		if w.small {
			return
		}
		in, d := *w.vector(&i.src[0], &w.tmp[0]), &w.tmp[3]
		for l := range d {
			d[l] = in[l^32]
		}
		merge(&w.v[i.dst%vregs], d, w.exec())
	}}
	ops["ds_bpermute_fi_b32"] = &operation{run: func(w *wave, i *instr) {
		exec := w.exec()
		va, data, _, dst := dsOperands(i.inst)
		d, addr, from, off := &w.tmp[0], &w.v[va%vregs], &w.v[data%vregs], uint32(i.inst.Offset())
		for l := range d {
			d[l] = from[w.laneWithin(l, (addr[l]+off)>>2)]
		}
		merge(&w.v[dst%vregs], d, exec)
	}}
	move := func(source, result uint) *operation {
		return &operation{results: 1, run: func(w *wave, i *instr) {
			from, to := i.src[0], i.dst
			if source < 32 && from.kind != srcVector {
				unsupported(w, i)
				return
			}
			index := func(shift uint) uint16 {
				if shift == 0 && source != result {
					return uint16(w.s[isa.M0] & 255)
				}
				return uint16(w.s[isa.M0] >> shift & 255)
			}
			if source < 32 {
				from.reg += index(source)
			}
			if result < 32 {
				to += index(result)
			}
			if from.kind == srcVector && from.reg >= permuted || to >= permuted {
				w.fail(i, "a vector register beyond the last, with %d that M0 adds", w.s[isa.M0])
				return
			}
			merge(&w.v[to], w.vector(&from, &w.tmp[0]), w.exec())
		}}
	}
	const none = 32
	ops["v_movrels_b32"], ops["v_movreld_b32"] = move(0, none), move(none, 0)
	ops["v_movrelsd_b32"], ops["v_movrelsd_2_b32"] = move(0, 0), move(0, 16)
	return ops
}

// rdnaDots are the sums of products of RDNA 3 and 4.
func rdnaDots() map[string]*operation {
	ops := map[string]*operation{}
	for name, size := range map[string]uint{"v_dot4_i32_iu8": 8, "v_dot8_i32_iu4": 4} {
		ops[name] = &operation{results: 1, run: func(w *wave, i *instr) {
			neg := i.inst.Neg() // which sources have signs
			a, b, c := w.vector(&i.src[0], &w.tmp[0]), w.vector(&i.src[1], &w.tmp[1]), w.vector(&i.src[2], &w.tmp[2])
			d := &w.tmp[3]
			for l := range d {
				sum := mixedDot(a[l], b[l], size, neg&1 != 0, neg&2 != 0) + int64(int32(c[l]))
				if i.inst.Clamp() {
					sum = max(math.MinInt32, min(sum, math.MaxInt32))
				}
				d[l] = uint32(sum)
			}
			merge(&w.v[i.dst%vregs], d, w.exec())
		}}
		ops[name].saturated = ops[name]
	}
	half := map[string]func(v uint32) float32{
		"f16":  func(v uint32) float32 { return float32(fromHalf(uint16(v))) },
		"bf16": func(v uint32) float32 { return fromBrain(v & 0xffff) },
	}
	round := map[string]func(v float32) uint32{"f16": func(v float32) uint32 { return uint32(toHalf(float64(v))) }, "bf16": toBrain}
	for t, value := range half {
		ops["v_dot2_"+t+"_"+t] = &operation{results: 1, float: 16, lane: func(a, b, c uint64) uint64 {
			sum := fma32(value(uint32(a)), value(uint32(b)), value(uint32(c)))
			return uint64(round[t](fma32(value(uint32(a>>16)), value(uint32(b>>16)), sum)))
		}}
	}
	for _, x := range []string{"fp8", "bf8"} {
		for _, y := range []string{"fp8", "bf8"} {
			f, g := eight(true, x == "bf8"), eight(true, y == "bf8")
			ops["v_dot4_f32_"+x+"_"+y] = &operation{results: 1, float: 32, lane: func(a, b, c uint64) uint64 {
				sum := f32(uint32(c))
				for n := 0; n < 32; n += 8 {
					sum = fma32(float32(f.value(uint32(a)>>n)), float32(g.value(uint32(b)>>n)), sum)
				}
				return uint64(u32(sum))
			}}
		}
	}
	return ops
}

// mixedDot sums products up of numbers that may have signs on one side alone.
func mixedDot(a, b uint32, size uint, signedA, signedB bool) (sum int64) {
	part := func(v uint32, n uint, signed bool) int64 {
		v = v >> n << (32 - size)
		if signed {
			return int64(int32(v) >> (32 - size))
		}
		return int64(v >> (32 - size))
	}
	for n := uint(0); n < 32; n += size {
		sum += part(a, n, signedA) * part(b, n, signedB)
	}
	return sum
}
