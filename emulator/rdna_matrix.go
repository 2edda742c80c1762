package emulator

import (
	"math"
)

// tile is a matrix instruction of RDNA: D = A·B + C of 16×K by K×16.
type tile struct {
	k      int
	out    string    // f32, f16, bf16, i32
	in     [2]string // of A and B: f16, bf16, iu8, iu4, fp8, bf8
	bits   int       // of an element of A and B
	sparse bool      // of four elements of a row of A two are there
}

// rdnaMatrix are V_WMMA and V_SWMMAC ("RDNA 3" and "RDNA 4" ISA, "Wave Matrix
// Multiply Accumulate"; the places of the elements are those of AMD's Matrix
// Instruction Calculator). Sums are made in the order of k in f32, a fused
// multiply-add at a time: the hardware's order is not published.
func rdnaMatrix() map[string]*operation {
	ops := map[string]*operation{}
	add := func(name string, t tile) {
		float := map[string]int{"f32": 32, "f16": 16, "bf16": 32}[t.out]
		op := &operation{results: 1, float: float, run: func(w *wave, i *instr) { w.tile(i, t) }}
		op.saturated = op // the sums of integers do so themselves
		ops[name] = op
	}
	pairs := map[string]int{"f16": 16, "bf16": 16}
	for in, bits := range pairs {
		both := [2]string{in, in}
		for _, out := range []string{"f32", in} {
			add("v_wmma_"+out+"_16x16x16_"+in, tile{k: 16, out: out, in: both, bits: bits})
			add("v_swmmac_"+out+"_16x16x32_"+in, tile{k: 32, out: out, in: both, bits: bits, sparse: true})
		}
	}
	for _, a := range []string{"fp8", "bf8"} {
		for _, b := range []string{"fp8", "bf8"} {
			add("v_wmma_f32_16x16x16_"+a+"_"+b, tile{k: 16, out: "f32", in: [2]string{a, b}, bits: 8})
			add("v_swmmac_f32_16x16x32_"+a+"_"+b, tile{k: 32, out: "f32", in: [2]string{a, b}, bits: 8, sparse: true})
		}
	}
	for in, bits := range map[string]int{"iu8": 8, "iu4": 4} {
		both := [2]string{in, in}
		add("v_wmma_i32_16x16x16_"+in, tile{k: 16, out: "i32", in: both, bits: bits})
		add("v_swmmac_i32_16x16x32_"+in, tile{k: 32, out: "i32", in: both, bits: bits, sparse: true})
	}
	add("v_wmma_i32_16x16x32_iu4", tile{k: 32, out: "i32", in: [2]string{"iu4", "iu4"}, bits: 4})
	add("v_swmmac_i32_16x16x64_iu4", tile{k: 64, out: "i32", in: [2]string{"iu4", "iu4"}, bits: 4, sparse: true})
	return ops
}

const side = 16 // rows and columns of a tile

// tile multiplies. It does not look at EXEC.
func (w *wave) tile(i *instr, t tile) {
	if i.src[0].kind != srcVector || i.src[1].kind != srcVector || t.sparse && i.src[2].kind != srcVector {
		w.fail(i, "this form of a matrix instruction is not supported yet")
		return
	}
	a, b := w.tileSide(i, t, 0), w.tileSide(i, t, 1)
	acc := &i.src[2]
	if t.sparse {
		acc = &source{kind: srcVector, reg: i.dst, width: i.width}
	}
	size := int(w.size)
	halves := t.out == "f16" || t.out == "bf16"
	number := i.inst.Generation()
	high := i.inst.OpSel() >> 2 & 1 // gfx11: the half of C and of D
	result := make([]uint32, int(i.width)*size)
	for r := range result {
		result[r] = w.v[(int(i.dst)+r/size)%vregs][r%size]
	}
	each := side * side / size // elements of D in a lane
	for r := range each {
		for l := range size {
			row := l/side*each + r
			reg, shift := r, uint32(0)
			switch {
			case number == 11:
				row = r*(size/side) + l/side
				shift = 16 * high
			case halves:
				reg, shift = r/2, uint32(r%2)*16
			}
			c := uint32(acc.value)
			switch {
			case acc.kind == srcVector:
				c = w.v[(int(acc.reg)+reg)%vregs][l]
				if halves {
					c >>= shift
				}
			case t.out == "bf16":
				c = toBrain(f32(c))
			}
			v := t.sum(i, c, a[row*t.k:(row+1)*t.k], b[l%side*t.k:(l%side+1)*t.k])
			if halves {
				v = result[reg*size+l]&^(0xffff<<shift) | v&0xffff<<shift
			}
			result[reg*size+l] = v
		}
	}
	for r := range result {
		w.v[(int(i.dst)+r/size)%vregs][r%size] = result[r]
	}
}

// tileSide returns the rows of A, or the columns of B, each with its k elements: as
// f32, or as whole numbers.
func (w *wave) tileSide(i *instr, t tile, n int) []uint32 {
	src := &i.src[n]
	perLane := int(src.width) * 32 / t.bits
	out := make([]uint32, side*t.k)
	if i.inst.Generation() == 11 { // lanes 16 on repeat those before
		for at := range out {
			out[at] = t.value(i, n, at%t.k, w.element(src, t.bits, at/t.k, at%t.k))
		}
		return out
	}
	stored := perLane
	if t.sparse && n == 0 {
		perLane *= 2
	}
	groups := min(t.k/perLane, int(w.size)/side)
	for l := range groups * side {
		index := w.sparseIndex(i, t, stored, l)
		for e := range stored {
			at := e
			if t.sparse && n == 0 {
				at = e/2*4 + int(index>>(2*e)&3)
			}
			out[l%side*t.k+t.place(l/side, at, groups)] = t.value(i, n, e, w.element(src, t.bits, l, e))
		}
	}
	return out
}

// place says which k an element has in a group of 16 lanes.
func (t tile) place(group, e, groups int) int {
	perLane := t.k / groups
	switch {
	case groups == 2 && t.bits == 16:
		chunk := perLane / 2
		return (e/chunk*2+group)*chunk + e%chunk
	case groups == 4 && t.bits < 16 && (group == 1 || group == 2):
		group = 3 - group
	}
	return group*perLane + e
}

// sparseIndex returns two bits for each element of a lane: which of four it is.
// Where a register has more, OP_SEL says which part.
func (w *wave) sparseIndex(i *instr, t tile, stored, l int) uint32 {
	if !t.sparse {
		return 0
	}
	v := w.v[i.src[2].reg%vregs][l]
	if size := uint32(2 * stored); size < 32 {
		v >>= i.inst.OpSel() % (32 / size) * size
	}
	return v
}

// value is an element with its sign: NEG_LO and NEG_HI turn those of floats, and say
// which integers have one.
func (t tile) value(i *instr, n, e int, v uint64) uint32 {
	neg := i.inst.Neg()
	if e%2 == 1 {
		neg = i.inst.NegHi()
	}
	sign := neg >> n & 1 << 31
	switch in := t.in[n]; in {
	case "f16":
		return u32(float32(fromHalf(uint16(v)))) ^ sign
	case "bf16":
		return uint32(v)<<16 ^ sign
	case "fp8", "bf8":
		return u32(float32(eight(true, in == "bf8").value(uint32(v))))
	}
	if i.inst.Neg()>>n&1 != 0 {
		return uint32(int64(v) << (64 - t.bits) >> (64 - t.bits))
	}
	return uint32(v)
}

// sum adds the products of two rows to c.
func (t tile) sum(i *instr, c uint32, a, b []uint32) uint32 {
	if t.out == "i32" {
		sum := int64(int32(c))
		for k := range a {
			sum += int64(int32(a[k])) * int64(int32(b[k]))
		}
		if i.inst.Clamp() {
			sum = max(math.MinInt32, min(sum, math.MaxInt32))
		}
		return uint32(sum)
	}
	var acc float32
	switch t.out {
	case "f16":
		acc = float32(fromHalf(uint16(c)))
	case "bf16":
		acc = fromBrain(c & 0xffff)
	default:
		acc = f32(c)
	}
	if i.inst.NegHi()>>2&1 != 0 && !t.sparse {
		acc = float32(math.Abs(float64(acc)))
	}
	if i.inst.Neg()>>2&1 != 0 && !t.sparse {
		acc = -acc
	}
	for k := range a {
		acc = fma32(f32(a[k]), f32(b[k]), acc)
	}
	switch t.out {
	case "f16":
		return uint32(toHalf(float64(acc)))
	case "bf16":
		return toBrain(acc)
	}
	return u32(acc)
}
