package emulator

import (
	"math"
	"math/bits"
	"regexp"
)

// element is a format of numbers that scaled conversions read and write.
type element struct {
	bits, mantissa uint
	value          func(v uint32) float64
	encode         func(v float64, noise uint32, random, saturate bool) uint32
}

// elements lists the formats by what V_CVT_SCALEF32 calls them. Those of 8 bits are
// always the OCP's: only processors that have them have these conversions.
func elements() map[string]element {
	narrow := func(f minifloat) element {
		return element{f.bits(), f.mantissa, f.value, f.convert}
	}
	brain := brainFloat()
	return map[string]element{
		"fp8": narrow(fp8OCP()), "bf8": narrow(bf8OCP()), "fp6": narrow(fp6()), "bf6": narrow(bf6()), "fp4": narrow(fp4()),
		"f32": {32, 23, func(v uint32) float64 { return float64(f32(v)) }, func(v float64, _ uint32, _, _ bool) uint32 { return u32(float32(v)) }},
		"f16": {16, 10, func(v uint32) float64 { return fromHalf(uint16(v)) }, func(v float64, _ uint32, _, _ bool) uint32 { return uint32(toHalf(v)) }},
		"bf16": {16, 7, func(v uint32) float64 { return float64(fromBrain(v & 0xffff)) }, func(v float64, _ uint32, _, _ bool) uint32 {
			return brain.convert(v, 0, false, false) // once: what is right in f32 may not be here
		}},
	}
}

// brainFloat is bf16 as the others of few bits are described.
func brainFloat() minifloat { return minifloat{8, 7, 127, ieee, 3.3895313892515355e38} }

// scaling is one of the conversions.
type scaling struct {
	to, from    element
	count       int  // of numbers
	interleaved bool // of two sources: the numbers of the first are the even ones
	random      bool // rounds with noise
}

// scaledConversions are V_CVT_SCALEF32 of gfx950 ("CDNA 4" ISA; the formats of 4, 6
// and 8 bits and E8M0 are those of the OCP Microscaling Formats Specification). The
// exponent of the last source is the scale: numbers of few bits are multiplied by
// it, others divided before they become such. What is too large for them becomes the
// largest number, in the formats that have infinity or NaN one of these unless
// FP16_OVFL is set; a scale that is NaN makes all NaN, the largest number in formats
// without one.
func scaledConversions(names []string) map[string]*operation {
	form := regexp.MustCompile(`^v_cvt_scalef32_(sr_)?(pk_|pk32_|2xpk16_)?(f32|f16|bf16|fp8|bf8|fp6|bf6|fp4)_(f32|f16|bf16|fp8|bf8|fp6|bf6|fp4)$`)
	counts := map[string]int{"": 1, "pk_": 2, "pk32_": 32, "2xpk16_": 32}
	formats := elements()
	ops := map[string]*operation{}
	for _, name := range names {
		p := form.FindStringSubmatch(name)
		if p == nil {
			continue
		}
		s := scaling{to: formats[p[3]], from: formats[p[4]], count: counts[p[2]], interleaved: p[2] == "2xpk16_", random: p[1] != ""}
		ops[name] = &operation{results: 1, float: 32, run: func(w *wave, i *instr) { w.scaled(i, s) }}
	}
	return ops
}

// scaled converts the numbers of each lane. The sources are the numbers, the seed
// where there is noise, and the scale.
func (w *wave) scaled(i *instr, s scaling) {
	n := 0
	for n < len(i.src) && i.src[n].kind != srcNone {
		n++
	}
	last := n - 1
	scale, seed := w.vector(&i.src[last], &w.tmp[last]), &w.tmp[7]
	if s.random {
		last--
		seed = w.vector(&i.src[last], &w.tmp[last])
	}
	var in [32]*vec
	words := 0
	for k := range last {
		src := &i.src[k]
		if src.width > 1 && src.kind != srcVector {
			w.fail(i, "numbers that are not in vector registers are not supported here")
			return
		}
		for r := range uint16(max(src.width, 1)) {
			in[words] = &w.v[(src.reg+r)%vregs]
			if src.width <= 1 {
				in[words] = w.signedPart(i, k, s.from.bits)
			}
			words++
		}
	}
	sel := i.inst.OpSel()
	size := uint(s.count) * s.from.bits
	first := uint(0) // where the numbers begin
	switch size {
	case 8:
		first = 8 * uint(sel&3)
	case 16:
		first = 16 * uint(sel&1)
	}
	room := uint(s.count) * s.to.bits
	at := uint(0) // where the results do
	switch room {
	case 8:
		at = 8 * uint(sel>>2&3)
	case 16:
		at = 16 * uint(sel>>3)
	}
	saturate := w.mode&modeSaturates != 0
	noiseMask := uint32(0) // as many bits from the top as the mantissa loses
	if s.random {
		noiseMask = ^uint32(1<<(32-(s.from.mantissa-s.to.mantissa)) - 1)
	}
	for m := w.exec(); m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m) & 63
		factor := scaleOf(scale[l] >> 23 & 255)
		if s.to.bits < s.from.bits {
			factor = 1 / factor
		}
		noise := seed[l]
		var out [33]uint32 // one more, for what shifts leave over
		for e := range s.count {
			from := e
			if s.interleaved {
				from = e/2 + e%2*s.count/2
			}
			pos := first + uint(from)*s.from.bits
			v := uint64(in[pos/32][l]) >> (pos % 32)
			if pos%32+s.from.bits > 32 {
				v |= uint64(in[pos/32+1][l]) << (32 - pos%32)
			}
			x := s.from.value(uint32(v&(1<<s.from.bits-1))) * factor
			if x != x && v>>(s.from.bits-1)&1 != 0 {
				x = math.Copysign(x, -1)
			} else if x != x {
				x = math.Abs(x)
			}
			r := uint64(s.to.encode(x, noise&noiseMask, s.random, saturate)) << ((at + uint(e)*s.to.bits) % 32)
			d := (at + uint(e)*s.to.bits) / 32
			out[d] |= uint32(r)
			out[d+1] |= uint32(r >> 32)
			noise = prng(noise)
		}
		for r := range max(room/32, 1) {
			d := &w.v[(uint(i.dst)+r)%vregs]
			if room < 32 {
				out[r] |= d[l] &^ ((1<<room - 1) << at)
			}
			d[l] = out[r]
		}
	}
}

// scaleOf is the value of an E8M0: a power of two, or NaN.
func scaleOf(v uint32) float64 {
	if v == 255 {
		return math.NaN()
	}
	return math.Ldexp(1, int(v)-127)
}

// prng is V_PRNG_B32: what gives each number of an instruction noise of its own.
func prng(v uint32) uint32 { return v<<1 ^ -(v>>31)&197 }

// signedPart returns a source of 32 bits with the signs of the numbers in it as the
// instruction turns them.
func (w *wave) signedPart(i *instr, n int, size uint) *vec {
	s, t := &i.src[n], &w.tmp[n]
	v := w.vector(s, t)
	if !s.abs && !s.neg || size < 16 {
		return v
	}
	*t = *v
	mask := uint32(1 << 31)
	if size == 16 {
		mask |= 1 << 15
	}
	for l := range t {
		if s.abs {
			t[l] &^= mask
		}
		if s.neg {
			t[l] ^= mask
		}
	}
	return t
}
