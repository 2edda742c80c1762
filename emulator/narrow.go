package emulator

import "math"

// minifloat is a format of 8 bits or fewer, a sign in front. What its largest
// numbers mean differs (OCP 8-bit Floating Point Specification; "CDNA 3" ISA for
// the formats without a negative zero).
type minifloat struct {
	exponent, mantissa uint
	bias               int
	special            special
	most               float64
}

type special uint8

const (
	noSpecial special = iota // all are numbers
	oneNaN                   // negative zero is NaN
	lastNaN                  // all ones but the sign are NaN, and nothing is infinite
	ieee                     // infinity and NaN as of IEEE 754
)

// The formats of the matrix instructions and conversions.
func fp8OCP() minifloat  { return minifloat{4, 3, 7, lastNaN, 448} }
func bf8OCP() minifloat  { return minifloat{5, 2, 15, ieee, 57344} }
func fp8FNUZ() minifloat { return minifloat{4, 3, 8, oneNaN, 240} }
func bf8FNUZ() minifloat { return minifloat{5, 2, 16, oneNaN, 57344} }
func fp6() minifloat     { return minifloat{2, 3, 1, noSpecial, 7.5} }
func bf6() minifloat     { return minifloat{3, 2, 3, noSpecial, 28} }
func fp4() minifloat     { return minifloat{2, 1, 1, noSpecial, 6} }

// eight returns the format of fp8 or bf8 on a processor.
func eight(ocp, wide bool) minifloat {
	switch {
	case ocp && wide:
		return bf8OCP()
	case ocp:
		return fp8OCP()
	case wide:
		return bf8FNUZ()
	}
	return fp8FNUZ()
}

func (f minifloat) bits() uint { return 1 + f.exponent + f.mantissa }

func (f minifloat) nan() uint32 {
	if f.special == oneNaN {
		return 1 << (f.bits() - 1)
	}
	return 1<<(f.bits()-1) - 1
}

// value is exact.
func (f minifloat) value(v uint32) float64 {
	v &= 1<<f.bits() - 1
	magnitude := v & (1<<(f.bits()-1) - 1)
	e, m := int(magnitude>>f.mantissa), magnitude&(1<<f.mantissa-1)
	top := 1<<f.exponent - 1
	switch {
	case f.special == oneNaN && v == f.nan(), f.special == lastNaN && magnitude == f.nan(), f.special == ieee && e == top && m != 0:
		return math.NaN()
	case f.special == ieee && e == top:
		return math.Copysign(math.Inf(1), -float64(v>>(f.bits()-1))+0.5)
	}
	r := math.Ldexp(float64(m|1<<f.mantissa), e-f.bias-int(f.mantissa))
	if e == 0 {
		r = math.Ldexp(float64(m), 1-f.bias-int(f.mantissa))
	}
	if v>>(f.bits()-1) != 0 {
		r = -r
	}
	return r
}

// convert rounds to nearest even; with noise the bits that are lost decide with
// it: where their sum carries, the magnitude grows. What is too large becomes the
// largest number where it saturates, else infinity or NaN, where there are some.
func (f minifloat) convert(v float64, noise uint32, random, saturate bool) uint32 {
	sign := uint32(0)
	if math.Signbit(v) {
		sign, v = 1<<(f.bits()-1), -v
	}
	switch {
	case v != v:
		if f.special == noSpecial {
			return sign | f.encode(f.most) // as AMD's conversions on the host do
		}
		if f.special == oneNaN {
			sign = 0
		}
		return sign | f.nan()
	case math.IsInf(v, 0):
		if saturate || f.special == noSpecial {
			return sign | f.encode(f.most)
		}
		return f.overflow(sign)
	}
	_, e := math.Frexp(v)
	unit := max(e-1, 1-f.bias) - int(f.mantissa) // of the last bit
	n := math.Ldexp(v, -unit)
	whole := math.Floor(n)
	switch {
	case !random:
		whole = math.RoundToEven(n)
	case (n-whole)+float64(noise)/(1<<32) >= 1:
		whole++
	}
	r := math.Ldexp(whole, unit)
	if r > f.most {
		if saturate || f.special == noSpecial {
			return sign | f.encode(f.most)
		}
		return f.overflow(sign)
	}
	if r == 0 && f.special == oneNaN {
		return 0
	}
	return sign | f.encode(r)
}

func (f minifloat) overflow(sign uint32) uint32 {
	switch f.special {
	case ieee:
		return sign | (1<<f.exponent-1)<<f.mantissa
	case oneNaN:
		return f.nan()
	}
	return sign | f.nan()
}

// encode gives the bits of a number that the format has, without a sign.
func (f minifloat) encode(v float64) uint32 {
	if v == 0 {
		return 0
	}
	_, e := math.Frexp(v)
	e = max(e-1, 1-f.bias)
	n := uint32(math.Ldexp(v, int(f.mantissa)-e))
	return uint32(e+f.bias-1)<<f.mantissa + n // the leading bit of a normal number counts in the exponent
}

// toBrain rounds f32 to bf16, to nearest even.
func toBrain(v float32) uint32 {
	u := u32(v)
	if v != v {
		return u>>16 | 0x40
	}
	return (u + 0x7fff + u>>16&1) >> 16
}

func fromBrain(v uint32) float32 { return f32(v << 16) }

// ocp reports the processors whose formats of 8 bits are those of the OCP.
func (w *wave) ocp() bool { return w.group.launch.module.dev.gen.ocp }

// modeSaturates is FP16_OVFL: conversions to few bits saturate.
const modeSaturates = 1 << 23

// narrowFloats are the conversions between f32 and formats of 8 bits, and those
// of bf16, and what else gfx950 rounds ("CDNA 3" and "CDNA 4" ISA, V_CVT).
func narrowFloats() map[string]*operation {
	ops := map[string]*operation{}
	for name, wide := range map[string]bool{"fp8": false, "bf8": true} {
		ops["v_cvt_f32_"+name] = &operation{results: 1, run: func(w *wave, i *instr) {
			mask, f := w.exec(), eight(w.ocp(), wide)
			in, d := w.modified(i, 0, &mask), &w.tmp[3]
			next := 8 * (i.inst.OpSel() >> 1 & 1) // gfx12: OP_SEL names the byte, its upper bit first
			for l := range d {
				d[l] = u32(float32(f.value(in[l] >> next)))
			}
			w.floatOutput(i, d)
			merge(&w.v[i.dst%vregs], d, mask)
		}}
		ops["v_cvt_pk_f32_"+name] = &operation{results: 1, run: func(w *wave, i *instr) {
			mask, f := w.exec(), eight(w.ocp(), wide)
			in := w.modified(i, 0, &mask)
			for n := range uint32(2) {
				d := &w.tmp[3+n]
				for l := range d {
					d[l] = u32(float32(f.value(in[l] >> (8 * n))))
				}
				w.floatOutput(i, d)
			}
			merge(&w.v[i.dst%vregs], &w.tmp[3], mask)
			merge(&w.v[(i.dst+1)%vregs], &w.tmp[4], mask)
		}}
		ops["v_cvt_pk_"+name+"_f32"] = &operation{results: 1, float: 32, run: func(w *wave, i *instr) {
			f, saturate := eight(w.ocp(), wide), w.mode&modeSaturates != 0
			a, b := w.signed32(i, 0), w.signed32(i, 1)
			shift := 16 * (i.inst.OpSel() >> 3)
			if i.inst.OpSel()&4 != 0 { // LLVM writes the half as that of the third source
				shift = 16
			}
			d := &w.tmp[3]
			for l := range d {
				v := f.convert(float64(f32(a[l])), 0, false, saturate) | f.convert(float64(f32(b[l])), 0, false, saturate)<<8
				d[l] = w.v[i.dst%vregs][l]&^(0xffff<<shift) | v<<shift
			}
			merge(&w.v[i.dst%vregs], d, w.exec())
		}}
		ops["v_cvt_sr_"+name+"_f32"] = &operation{results: 1, float: 32, run: func(w *wave, i *instr) {
			f, saturate := eight(w.ocp(), wide), w.mode&modeSaturates != 0
			a, noise := w.signed32(i, 0), w.vector(&i.src[1], &w.tmp[1])
			shift := 8 * (i.inst.OpSel() >> 2 & 3)
			d := &w.tmp[3]
			for l := range d {
				// As many bits of the noise count, from the top, as the mantissa loses.
				n := noise[l] &^ (1<<(32-(23-f.mantissa)) - 1)
				d[l] = w.v[i.dst%vregs][l]&^(255<<shift) | f.convert(float64(f32(a[l])), n, true, saturate)<<shift
			}
			merge(&w.v[i.dst%vregs], d, w.exec())
		}}
	}
	ops["v_cvt_f32_bf16"] = &operation{results: 1, lane: func(a, _, _ uint64) uint64 { return a << 16 & 0xffffffff }}
	ops["v_cvt_pk_bf16_f32"] = &operation{results: 1, float: 32, lane: func(a, b, _ uint64) uint64 {
		return uint64(toBrain(f32(uint32(a))) | toBrain(f32(uint32(b)))<<16)
	}}
	ops["v_cvt_pk_f16_f32"] = &operation{results: 1, float: 32, lane: func(a, b, _ uint64) uint64 {
		return uint64(toHalf(float64(f32(uint32(a))))) | uint64(toHalf(float64(f32(uint32(b)))))<<16
	}}
	return ops
}

// floatOutput applies the output modifiers of f32 to what is no operation on f32.
func (w *wave) floatOutput(i *instr, d *vec) {
	if i.omod == 0 && !i.clamp {
		return
	}
	for l := range d {
		d[l] = uint32(outputAs(i, 32, uint64(d[l])))
	}
}

// signed32 returns a source of f32 in all lanes with its signs as the
// instruction turns them; OP_SEL means the result.
func (w *wave) signed32(i *instr, n int) *vec {
	s, t := &i.src[n], &w.tmp[n]
	if v := w.vector(s, t); v != t {
		*t = *v
	}
	sign(t, s, 32)
	return t
}
