package emulator

import (
	"math"
	"regexp"
	"strconv"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// shape is a matrix instruction: D = A·B + C for blocks of M×K by K×N.
type shape struct {
	m, n, k int
	out, in string // f32, i32, f64; f32, f16, bf16, i8, f64
	bits    int    // of an element of A and B
}

// matrixOps are V_MFMA ("CDNA 3" ISA, "Matrix Arithmetic Instructions"; the
// places of the elements are those of its section "Matrix data layouts"). They
// do not look at EXEC. Each result is summed up in the order of k, a fused
// multiply-add at a time; the hardware's order is not published.
func matrixOps(names []string) map[string]*operation {
	form := regexp.MustCompile(`^v_mfma_(f32|i32|f64)_(\d+)x(\d+)x(\d+)(?:_\d+b)?_?(f32|f16|bf16|i8|f64)(?:_1k)?$`)
	ops := map[string]*operation{}
	for _, name := range names {
		p := form.FindStringSubmatch(name)
		if p == nil {
			continue
		}
		number := func(s string) int { n, _ := strconv.Atoi(s); return n } // the pattern allows digits alone
		s := shape{m: number(p[2]), n: number(p[3]), k: number(p[4]), out: p[1], in: p[5]}
		s.bits = map[string]int{"f32": 32, "f16": 16, "bf16": 16, "i8": 8, "f64": 64}[s.in]
		float := 32
		if s.out == "f64" {
			float = 64
		}
		ops[name] = &operation{results: 1, float: float, run: func(w *wave, i *instr) { w.matrix(i, s) }}
	}
	return ops
}

// matrix multiplies all blocks. Lane l holds row l%m of A (column of B) of the
// block and the group of columns that l/m says.
func (w *wave) matrix(i *instr, s shape) {
	cbsz, abid, blgp := i.inst.Matrix()
	if blgp != 0 || i.src[0].kind != srcVector || i.src[1].kind != srcVector {
		w.fail(i, "this form of a matrix instruction is not supported yet")
		return
	}
	perLane := int(i.src[0].width) * 32 / s.bits
	groups := s.k / perLane
	blocks := lanes / (s.m * groups)
	a := w.elements(&i.src[0], s, perLane, groups, blocks)
	b := w.elements(&i.src[1], s, perLane, groups, blocks)
	words := 1
	if s.out == "f64" {
		words = 2
	}
	result := make([]uint32, int(i.width)*lanes)
	for r := range int(i.width) / words {
		for l := range lanes {
			block, row, col := s.place(r, l, blocks)
			from := block
			if cbsz > 0 {
				from = block>>cbsz<<cbsz | int(abid)&(1<<cbsz-1)
			}
			c := w.accumulator(&i.src[2], r*words, l, words)
			x := a[((from*s.m+row)*s.k)%len(a):]
			y := b[((block*s.n+col)*s.k)%len(b):]
			v := s.dot(c, x[:s.k], y[:s.k])
			result[r*words*lanes+l] = uint32(v)
			if words == 2 {
				result[(r*2+1)*lanes+l] = uint32(v >> 32)
			}
		}
	}
	for r := range int(i.width) {
		copy(w.v[(int(i.dst)+r)%vregs][:], result[r*lanes:])
	}
}

// elements gathers a source as [block][row][k], the bits of each element.
func (w *wave) elements(src *source, s shape, perLane, groups, blocks int) []uint64 {
	out := make([]uint64, blocks*s.m*groups*perLane)
	for l := range lanes {
		row, g := l%s.m, l/s.m
		block, group := g%blocks, g/blocks
		for e := range perLane {
			at := e * s.bits
			v := uint64(w.v[(int(src.reg)+at/32)%vregs][l]) >> (at % 32)
			if s.bits == 64 {
				v |= uint64(w.v[(int(src.reg)+2*e+1)%vregs][l]) << 32
			} else {
				v &= 1<<s.bits - 1
			}
			out[(block*s.m+row)*s.k+group*perLane+e] = v
		}
	}
	return out
}

// place says which element register r of lane l holds.
func (s shape) place(r, l, blocks int) (block, row, col int) {
	switch {
	case s.out == "f64" && s.m == 16:
		return 0, l/16 + 4*r, l % 16
	case s.out == "f64":
		return l / 4 % blocks, l / 16, l % 4
	case s.m == 32:
		return r / 16, r%16/4*8 + l/32*4 + r%4, l % 32
	case s.m == 16:
		return r / 4, l/16*4 + r%4, l % 16
	}
	return l / 4, r, l % 4
}

func (w *wave) accumulator(s *source, r, l, words int) uint64 {
	if s.kind != srcVector {
		return w.scalar64(&source{kind: s.kind, value: s.value, width: 2})
	}
	v := uint64(w.v[(int(s.reg)+r)%vregs][l])
	if words == 2 {
		v |= uint64(w.v[(int(s.reg)+r+1)%vregs][l]) << 32
	}
	return v
}

func (s shape) dot(c uint64, a, b []uint64) uint64 {
	switch s.out {
	case "f64":
		sum := c
		for k := range a {
			sum = u64(math.FMA(f64(a[k]), f64(b[k]), f64(sum)))
		}
		return sum
	case "i32":
		sum := int32(c)
		for k := range a {
			sum += int32(int8(a[k])) * int32(int8(b[k]))
		}
		return uint64(uint32(sum))
	}
	value := func(v uint64) float32 {
		switch s.in {
		case "f16":
			return float32(fromHalf(uint16(v)))
		case "bf16":
			return f32(uint32(v) << 16)
		}
		return f32(uint32(v))
	}
	sum := f32(uint32(c))
	for k := range a {
		sum = fma32(value(a[k]), value(b[k]), sum)
	}
	return uint64(u32(sum))
}

// indexing are the operations that add a register's number to those of the
// vector instructions behind them ("Vega" ISA, "VGPR Indexing").
func indexing() map[string]*operation {
	set := func(w *wave, index, mode uint32) {
		w.s[isa.M0] = w.s[isa.M0]&^0xf0ff | index&255 | mode<<12
	}
	return map[string]*operation{
		"s_set_gpr_idx_on": {run: func(w *wave, i *instr) {
			set(w, w.scalar32(&i.src[0]), uint32(i.src[1].value))
			w.indexed(i)
		}},
		"s_set_gpr_idx_off": {run: func(*wave, *instr) {}},
	}
}

// indexed runs what stands between s_set_gpr_idx_on and s_set_gpr_idx_off. The
// compiler puts nothing but a few moves there.
func (w *wave) indexed(on *instr) {
	const most = 256
	for range most {
		if uint(w.pc) >= uint(len(w.code)) {
			break
		}
		i := w.code[w.pc]
		w.pc += int32(i.size)
		if i.op != nil && i.inst.Name() == "s_set_gpr_idx_off" {
			return
		}
		index, mode := uint16(w.s[isa.M0]&255), w.s[isa.M0]>>12
		if enc := i.inst.Enc; enc >= isa.SDWA1 && enc <= isa.VOP3 {
			for n := range 3 {
				if i.src[n].kind == srcVector && mode>>n&1 != 0 {
					i.src[n].reg += index
				}
			}
			if args := i.inst.Args(); mode>>3 != 0 && len(args) > 0 && args[0].Kind == isa.VGPR {
				i.dst += index
			}
		}
		i.run(w, &i)
		if w.state != running {
			return
		}
	}
	w.fail(on, "registers stay indexed for more than %d instructions", most)
}
