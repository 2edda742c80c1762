package emulator

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"
)

// edges64 are those with which operations on f64 go wrong: signed zeros, numbers
// halfway between two that a narrower format has, and the ends of each.
func edges64() (list []uint64) {
	for _, f := range []float64{0, 1, 0.5, 1.5, 2.5, 3, 0x1p-1022, 0x1p-1074, 0x1.fffffffffffffp-1023, math.MaxFloat64, math.Inf(1), 0x1p52, 0x1p52 + 1, 0x1p51 + 0.5, 0x1p51 + 1.5,
		1 + 0x1p-52, 1 + 0x1p-24, 1 + 0x1p-24 + 0x1p-52, 1 + 0x1p-23 + 0x1p-24, math.MaxFloat32, 0x1.ffffffp127, 0x1.fffffefffffffp127, 0x1p-149, 0x1p-150, 0x1.8p-149, 0x1.0000000000001p-150, 0x1p-126,
		1<<31 - 1, 1<<31 - 0.5, 1 << 31, 1<<31 + 0.5, 1<<31 + 1, 1<<32 - 1, 1<<32 - 0.5, 1 << 32, 1 << 63, 0.1, math.Pi, 1e-300, 1e300} {
		list = append(list, u64(f), u64(-f))
	}
	return append(list, 0x7ff8000000000000, 0xfff8000000000001, 0x7ff0000000000001, 0x7ff4000000012345, 1, 63, 64, 1<<32-1, 1<<63-1, ^uint64(0), 1<<63+1)
}

// loopNumbers makes a register, or a pair, for a loop to work on.
type loopNumbers struct {
	rng     *rand.Rand
	doubles []uint64
}

func (n *loopNumbers) single() uint32 {
	switch n.rng.IntN(8) {
	case 0: // halfway between two f16, or beside that
		h := uint16(n.rng.Uint32N(0x7c00))
		mid := (fromHalf(h) + fromHalf(h+1)) / 2
		if h == 0x7bff {
			mid = 65520
		}
		return u32(float32(mid)) + n.rng.Uint32N(3) - 1 | n.rng.Uint32N(2)<<31
	case 1: // halfway between two integers
		return u32(float32(n.rng.IntN(2000)-1000) + 0.5)
	case 2: // two f16
		return n.rng.Uint32()
	case 3, 4:
		return numbers[n.rng.IntN(len(numbers))]
	}
	return randomWord(n.rng)
}

func (n *loopNumbers) double() uint64 {
	switch n.rng.IntN(4) {
	case 0:
		return u64(n.rng.NormFloat64() * math.Ldexp(1, n.rng.IntN(80)-40))
	case 1:
		return n.rng.Uint64()
	}
	return n.doubles[n.rng.IntN(len(n.doubles))]
}

// registers are a few, in which pairs begin at even ones. A loop may write any.
type registers [8]vec

func (r *registers) pair(n, l int) uint64 { return uint64(r[n][l]) | uint64(r[n+1][l])<<32 }

// fill makes numbers of the shapes of three sources, as wideLoop's.
func (n *loopNumbers) fill(r *registers, shape string) {
	for k := range r {
		for l := range r[k] {
			r[k][l] = n.single()
		}
	}
	for k := range shape {
		for l := range lanes {
			if shape[k] == 'd' {
				v := n.double()
				r[2*k][l], r[2*k+1][l] = uint32(v), uint32(v>>32)
			}
		}
	}
	if n.rng.IntN(4) > 0 || len(shape) < 3 {
		return
	}
	for l := range lanes { // a sum that cancels
		if shape[2] == 'd' {
			v := u64(-(f64(r.pair(0, l)) * f64(r.pair(2, l))))
			r[4][l], r[5][l] = uint32(v), uint32(v>>32)
		} else {
			r[4][l] = u32(-(f32(r[0][l]) * f32(r[2][l])))
		}
	}
}

// exponents makes some lanes numbers and powers of two that scale them to something.
func (n *loopNumbers) exponents(r *registers) {
	for l := range lanes {
		e := n.rng.IntN(4400) - 2200
		switch n.rng.IntN(4) {
		case 0:
			continue
		case 1: // a bit less than halfway between two denormal numbers, which a step in between must not round
			e = -1025 - n.rng.IntN(1025)
			v := u64(math.Ldexp(math.Nextafter(float64(2*n.rng.IntN(1<<20)+1)+0.5, 0), -1074-e))
			r[0][l], r[1][l] = uint32(v), uint32(v>>32)
		case 2:
			e /= 40
		}
		r[2][l] = uint32(e)
	}
}

// sameNumber compares results of an operation on floats of 16, 32 or 64 bits as alike
// does, or on integers where float is 0.
func sameNumber(float int, x, y uint64) bool {
	nan := func(v uint64) bool { return f64(v) != f64(v) }
	switch float {
	case 16:
		nan = func(v uint64) bool { return fromHalf(uint16(v)) != fromHalf(uint16(v)) }
	case 32:
		nan = func(v uint64) bool { return f32(uint32(v)) != f32(uint32(v)) }
	}
	return x == y || float != 0 && nan(x) && nan(y) && (float > 16 || x>>16 == y>>16)
}

// one computes an operation on one lane in Go.
func (op *operation) one(a, b, c uint64) uint64 {
	if op.lane != nil {
		return op.lane(a, b, c)
	}
	d, x, y, z := vec{uint32(c)}, vec{uint32(a)}, vec{uint32(b)}, vec{uint32(c)}
	switch {
	case op.v1 != nil:
		op.v1(&d, &x)
	case op.v2 != nil:
		op.v2(&d, &x, &y)
	case op.v3 != nil:
		op.v3(&d, &x, &y, &z)
	default:
		op.vt(&d, &x, &y)
	}
	return uint64(d[0])
}

// Every loop has the results of its operation, for 32 lanes and for 64, also where
// it replaces a source; other lanes and registers are left alone.
func TestLoops(t *testing.T) {
	unit, all := vectorUnit(), operations()
	n := &loopNumbers{rand.New(rand.NewPCG(11, 12)), edges64()}
	list := map[string]wideLoop{}
	for name, f := range unit.narrow {
		list[name] = wideLoop{f, "sss", 1}
	}
	for _, more := range []map[string]wideLoop{unit.wide, unit.half} {
		for name, f := range more {
			list[name] = f
		}
	}
	for name, f := range list {
		op := all[name]
		compute := op.one
		switch { // those that have a loop of their own, which takes registers
		case name == "v_lshl_add_u64":
			compute = func(a, b, c uint64) uint64 { return a<<(b&7) + c }
		case strings.HasPrefix(name, "v_accvgpr"):
			compute = func(a, _, _ uint64) uint64 { return a }
		}
		shape := f.shape
		if op.tied {
			shape += map[uint8]string{1: "s", 2: "d"}[f.result]
		}
		for range 100 {
			var in registers
			n.fill(&in, shape)
			if name == "v_ldexp_f64" {
				n.exponents(&in)
			}
			out, d, count := in, n.rng.IntN(7), uint64(32+32*n.rng.IntN(2))
			f.loop(&out[d], &out[0], &out[2], &out[4], count)
			for l := range lanes {
				var v [3]uint64
				for k := range shape {
					v[k] = uint64(in[2*k][l])
					if shape[k] == 'd' {
						v[k] = in.pair(2*k, l)
					}
				}
				got := uint64(out[d][l])
				if f.result == 2 {
					got = out.pair(d, l)
				}
				if want := compute(v[0], v[1], v[2]); l < int(count) && !sameNumber(resultFloat(name, op.float), got, want) {
					t.Fatalf("%s of 0x%x in lane %d of %d: 0x%x, want 0x%x", name, v[:len(shape)], l, count, got, want)
				}
				for r := range out {
					if (l >= int(count) || r < d || r >= d+int(f.result)) && out[r][l] != in[r][l] {
						t.Fatalf("%s to register %d, %d lanes: lane %d of register %d is 0x%x, and was 0x%x", name, d, count, l, r, out[r][l], in[r][l])
					}
				}
			}
		}
	}
	t.Logf("%d loops", len(list)) // none where the CPU has no vector unit that is known here
}

// So have those whose results are bits of lanes.
func TestLoopsOfMasks(t *testing.T) {
	unit := vectorUnit()
	n := &loopNumbers{rand.New(rand.NewPCG(13, 14)), edges64()}
	of := func(f func(l int) bool) (mask uint64) {
		for l := range lanes {
			mask |= bit(f(l)) << l
		}
		return mask
	}
	for range 200 {
		var r registers
		n.fill(&r, "ddd")
		if n.rng.IntN(2) == 0 {
			n.fill(&r, "sss")
		}
		for l := range lanes { // a quarter of them equal, or almost
			switch n.rng.IntN(8) {
			case 0:
				r[2][l], r[3][l] = r[0][l], r[1][l]
			case 1:
				r[3][l] = r[1][l]
			}
		}
		less := map[string]func(l int) (lt, le, eq bool){
			"f32": func(l int) (bool, bool, bool) { return related(f32(r[0][l]), f32(r[2][l])) },
			"i32": func(l int) (bool, bool, bool) { return related(int32(r[0][l]), int32(r[2][l])) },
			"u32": func(l int) (bool, bool, bool) { return related(r[0][l], r[2][l]) },
			"f64": func(l int) (bool, bool, bool) { return related(f64(r.pair(0, l)), f64(r.pair(2, l))) },
			"i64": func(l int) (bool, bool, bool) { return related(int64(r.pair(0, l)), int64(r.pair(2, l))) },
			"u64": func(l int) (bool, bool, bool) { return related(r.pair(0, l), r.pair(2, l)) },
		}
		for typ, f := range unit.compare {
			for k := range f {
				want := of(func(l int) bool {
					lt, le, eq := less[typ](l)
					return [...]bool{lt, le, eq}[k]
				})
				if f[k] == nil {
					continue
				}
				if got := f[k](&r[0], &r[2]); got != want {
					t.Fatalf("comparison %d of %s: 0x%x, want 0x%x", k, typ, got, want)
				}
			}
		}
		mask := randomMask(n.rng)
		var d, sum, difference vec
		unit.choose(&d, &r[0], &r[2], mask)
		var carries, borrows uint64
		for l := range lanes {
			if want := [2]uint32{r[0][l], r[2][l]}[mask>>l&1]; d[l] != want {
				t.Fatalf("lane %d chosen by 0x%x: 0x%x, want 0x%x", l, mask, d[l], want)
			}
			var c uint32
			in := uint32(mask >> l & 1)
			sum[l], c = bits.Add32(r[0][l], r[2][l], in)
			carries |= uint64(c) << l
			difference[l], c = bits.Sub32(r[0][l], r[2][l], in)
			borrows |= uint64(c) << l
		}
		keep, flip, v := n.rng.Uint32(), n.rng.Uint32(), n.rng.Uint32()
		unit.sign(&d, &r[0], keep, flip)
		for l := range lanes {
			if want := r[0][l]&keep ^ flip; d[l] != want {
				t.Fatalf("sign of 0x%x: 0x%x, want 0x%x", r[0][l], d[l], want)
			}
		}
		if unit.spread(&d, v); d != every(v) {
			t.Fatalf("0x%x in all lanes: %x", v, d)
		}
		if unit.add == nil {
			continue
		}
		if out := unit.add(&d, &r[0], &r[2], mask); d != sum || out != carries {
			t.Fatalf("sum with carries 0x%x: carries 0x%x, want 0x%x; %x, want %x", mask, out, carries, d, sum)
		}
		if out := unit.sub(&d, &r[0], &r[2], mask); d != difference || out != borrows {
			t.Fatalf("difference with borrows 0x%x: borrows 0x%x, want 0x%x; %x, want %x", mask, out, borrows, d, difference)
		}
		// Every second time the result replaces the third source.
		in, at := r, 4+2*n.rng.IntN(2)
		out := unit.mulAdd(&r[at], &r[0], &r[2], &r[4])
		for l := range lanes {
			hi, lo := bits.Mul64(uint64(in[0][l]), uint64(in[2][l]))
			want, c := bits.Add64(lo, in.pair(4, l), hi)
			if got := r.pair(at, l); got != want || out>>l&1 != c {
				t.Fatalf("0x%x * 0x%x + 0x%x: 0x%x and %d, want 0x%x and %d", in[0][l], in[2][l], in.pair(4, l), got, out>>l&1, want, c)
			}
		}
	}
}

func related[T cmp.Ordered](a, b T) (lt, le, eq bool) { return a < b, a <= b, a == b }

func every(v uint32) (d vec) {
	for l := range d {
		d[l] = v
	}
	return d
}

// All f16, and the fused multiply-add of some against the exact sum.
func TestLoopsOfHalves(t *testing.T) {
	unit := vectorUnit()
	if unit.half == nil {
		return
	}
	rng := rand.New(rand.NewPCG(15, 16))
	for first := uint32(0); first < 1<<16; first += lanes {
		var a, b, c, d, back vec
		for l := range a {
			a[l], b[l], c[l] = first+uint32(l)|rng.Uint32()<<16, rng.Uint32(), rng.Uint32()
		}
		unit.half["v_cvt_f32_f16"].loop(&d, &a, nil, nil, lanes)
		unit.half["v_cvt_f16_f32"].loop(&back, &d, nil, nil, lanes)
		for l := range d {
			h := uint16(a[l])
			if want := float32(fromHalf(h)); !sameNumber(32, uint64(d[l]), uint64(u32(want))) || !sameNumber(16, uint64(back[l]), uint64(h)) {
				t.Fatalf("f16 0x%04x is 0x%x, want 0x%x; back 0x%x", h, d[l], u32(want), back[l])
			}
		}
		unit.half["v_fma_f16"].loop(&d, &a, &b, &c, lanes)
		for l := range d {
			x, y, z := fromHalf(uint16(a[l])), fromHalf(uint16(b[l])), fromHalf(uint16(c[l]))
			if math.IsNaN(x+y+z) || math.IsInf(x+y+z, 0) || x*y+z == 0 {
				continue
			}
			exact := new(big.Float).SetPrec(200).Mul(big.NewFloat(x), big.NewFloat(y))
			exact.Add(exact, big.NewFloat(z))
			if want := halfOf(exact); uint16(d[l]) != want {
				t.Fatalf("%g * %g + %g: 0x%x, want 0x%x", x, y, z, d[l], want)
			}
		}
	}
}

// halfOf rounds once: what is cut off is kept as one bit far below.
func halfOf(v *big.Float) uint16 {
	odd := new(big.Float).SetPrec(40).SetMode(big.ToZero).Set(v)
	f, _ := odd.Float64()
	if odd.Cmp(v) != 0 {
		f = math.Float64frombits(math.Float64bits(f) | 1)
	}
	return toHalf(f)
}
