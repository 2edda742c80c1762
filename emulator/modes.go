package emulator

import (
	"math"
	"math/big"
	"slices"
	"strings"
)

// The first byte of MODE: rounding of f32, rounding of f16 and f64, denormals of
// f32, denormals of f16 and f64, two bits each ("Vega" ISA, "MODE register").
// What the fast functions do is nearest even, with denormals.
const modeUsual = 0xf0

// careful returns the code of the program with functions that look at MODE: a
// wave that changes it goes over to this copy, so that nobody else pays for it.
func (p *program) careful() []instr {
	p.once.Do(func() {
		p.other = slices.Clone(p.code)
		for n := range p.other {
			i := &p.other[n]
			if i.op == nil || i.op.float == 0 && directed(vectorName(i.inst.Name())) == nil && i.inst.Dual == nil {
				continue
			}
			i.look()
			i.bind()
		}
	})
	return p.other
}

// look makes an instruction look at MODE, once it is bound again.
func (i *instr) look() {
	name := vectorName(i.inst.Name())
	i.careful = true
	i.directed = directed(name)
	i.rounds = i.result != 0 && !roundless(name)
}

// setMode changes MODE. The wave goes on with the code for it in its next turn.
func (w *wave) setMode(mode uint32) {
	usual := w.mode&0xff == modeUsual
	w.mode = mode
	if now := mode&0xff == modeUsual; now != usual {
		w.chooseCode()
		w.state = asleep
	}
}

func (w *wave) chooseCode() {
	p := w.group.launch.program
	w.code = p.code
	if w.mode&0xff != modeUsual {
		w.code = p.careful()
	}
}

// resultFloat says how many bits a result has that is a float; 0 when it is none.
func resultFloat(name string, float int) int {
	switch {
	case strings.HasPrefix(name, "v_cvt_f32_"):
		return 32
	case strings.HasPrefix(name, "v_cvt_f64_"):
		return 64
	case strings.HasPrefix(name, "v_cvt_f16_"):
		return 16
	case strings.HasPrefix(name, "v_cvt_"), strings.HasPrefix(name, "v_frexp_exp"), strings.HasPrefix(name, "v_cmp"), strings.HasPrefix(name, "v_mfma"), strings.HasPrefix(name, "v_smfmac"), name == "v_pack_b32_f16":
		return 0
	}
	return float
}

// roundless reports the operations whose result needs no rounding, and those that
// are approximations anyway.
func roundless(name string) bool {
	for _, part := range []string{"_min", "_max", "_med3", "_frexp", "_fract", "_floor", "_ceil", "_trunc", "_rndne", "_div_fixup", "_div_scale",
		"_rcp", "_rsq", "_sqrt", "_exp", "_log", "_sin", "_cos", "_ldexp", "_trig", "_cube", "_cvt_f64_f32", "_cvt_f64_i32", "_cvt_f64_u32", "_cvt_f32_f16", "_cvt_f32_ubyte"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// flushes tells what MODE does to the denormal numbers of a format: those that
// are read, those that result.
func (w *wave) flushes(float int) (in, out bool) {
	field := w.mode >> 4 & 3
	if float != 32 {
		field = w.mode >> 6 & 3
	}
	return field&1 == 0, field&2 == 0
}

// rounding is 0 for nearest even, 1 up, 2 down, 3 towards zero.
func (w *wave) rounding(float int) uint32 {
	if float == 32 {
		return w.mode & 3
	}
	return w.mode >> 2 & 3
}

func formatOf(float int) format {
	switch float {
	case 16:
		return halfFormat()
	case 32:
		return single()
	}
	return double()
}

// flushed makes zero of a denormal number.
func flushed(f format, v uint64) uint64 {
	if f.exponent(v) == 0 {
		return v & (1 << (f.bits - 1))
	}
	return v
}

// flushInput makes zeros of the denormal numbers that an operation reads.
func (w *wave) flushInput(t *vec, float int) {
	if in, _ := w.flushes(float); !in || float == 64 || float == 0 {
		return
	}
	f := formatOf(float)
	for l, v := range t {
		u := uint64(v)
		if float == 16 {
			u &= 0xffff
		}
		t[l] = v&^uint32(1<<f.bits-1) | uint32(flushed(f, u))
	}
}

// settle brings a result that was rounded to nearest even to what MODE wants. in
// are the sources as they were computed with.
func (w *wave) settle(i *instr, v uint64, in [3]uint64) uint64 {
	if i.result == 0 {
		return v
	}
	f := formatOf(i.result)
	high := v &^ (1<<(f.bits-1)<<1 - 1)
	v &^= high
	if mode := w.rounding(i.result); mode != 0 && i.rounds {
		if i.directed == nil {
			w.fail(i, "rounding other than to nearest even is not supported here")
			return v
		}
		v = direct(f, v, mode, i.directed, in)
	}
	if _, out := w.flushes(i.result); out {
		v = flushed(f, v)
	}
	return v | high
}

// exactly computes a result without rounding; it is nil where that has no
// number, as of infinities.
type exactly func(in [3]uint64) *big.Float

// enough bits for the sum of the largest and the smallest product of f64.
const enough = 4400

func number(f format, v uint64) *big.Float {
	x := f.value(v)
	if x != x || math.IsInf(x, 0) {
		return nil
	}
	return new(big.Float).SetPrec(enough).SetFloat64(x)
}

// directed returns the exact form of an operation that rounds, or nil.
func directed(name string) exactly {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "v_"), "pk_")
	if strings.HasPrefix(name, "fma_mix_") {
		name = "fma_f32"
	}
	whole := func(signed bool) exactly {
		return func(in [3]uint64) *big.Float {
			v := int64(uint32(in[0]))
			if signed {
				v = int64(int32(in[0]))
			}
			return new(big.Float).SetPrec(enough).SetInt64(v)
		}
	}
	switch name {
	case "cvt_f32_i32":
		return whole(true)
	case "cvt_f32_u32":
		return whole(false)
	case "cvt_f32_f64":
		return func(in [3]uint64) *big.Float { return number(double(), in[0]) }
	case "cvt_f16_f32":
		return func(in [3]uint64) *big.Float { return number(single(), in[0]) }
	}
	kind, bits, ok := strings.Cut(name, "_f")
	f, known := map[string]format{"16": halfFormat(), "32": single(), "64": double()}[bits]
	if !ok || !known {
		return nil
	}
	with := func(n int, g func(x, y, z *big.Float) *big.Float) exactly {
		return func(in [3]uint64) *big.Float {
			var v [3]*big.Float
			for k := range n {
				if v[k] = number(f, in[k]); v[k] == nil {
					return nil
				}
			}
			return g(v[0], v[1], v[2])
		}
	}
	switch kind {
	case "add":
		return with(2, func(x, y, _ *big.Float) *big.Float { return sumDown(x, y) })
	case "sub":
		return with(2, func(x, y, _ *big.Float) *big.Float { return sumDown(x, y.Neg(y)) })
	case "subrev":
		return with(2, func(x, y, _ *big.Float) *big.Float { return sumDown(y, x.Neg(x)) })
	case "mul":
		return with(2, func(x, y, _ *big.Float) *big.Float { return x.Mul(x, y) })
	case "fma", "fmac", "fmamk", "fmaak":
		return with(3, func(x, y, z *big.Float) *big.Float { return sumDown(x.Mul(x, y), z) })
	}
	return nil
}

// sumDown adds to x. A sum of different signs that is zero is -0, as it is where
// results are rounded down.
func sumDown(x, y *big.Float) *big.Float {
	differ := x.Signbit() != y.Signbit()
	if x.Add(x, y); x.Sign() == 0 && differ && !x.Signbit() {
		x.Neg(x)
	}
	return x
}

// direct moves a result to its neighbour where the exact one lies beyond it.
func direct(f format, v uint64, mode uint32, exact exactly, in [3]uint64) uint64 {
	x := exact(in)
	near := f.value(v)
	if x == nil || near != near {
		return v
	}
	sign := uint64(1) << (f.bits - 1)
	if x.Sign() == 0 && v&^sign == 0 {
		if mode == 2 && x.Signbit() {
			return sign
		}
		return v
	}
	c := x.Cmp(new(big.Float).SetFloat64(near)) // -1: the exact one is smaller
	if c == 0 {
		return v
	}
	up := c > 0
	switch {
	case mode == 1 && !up, mode == 2 && up, mode == 3 && (up == (x.Sign() > 0)):
		return v
	}
	switch {
	case v&^sign == 0: // away from zero
		if up {
			return 1
		}
		return sign | 1
	case up == (v&sign == 0):
		return v + 1
	}
	return v - 1
}
