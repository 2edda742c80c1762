package emulator

import (
	"fmt"
	"math"
	"regexp"
	"strconv"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// shape is a matrix instruction: D = A·B + C for blocks of M×K by K×N.
type shape struct {
	m, n, k int
	out     string    // f32, i32, f64
	in      [2]string // of A and B: f32, f16, bf16, i8, f64, xf32, fp8, bf8
	bits    int       // of an element of A and B
	sparse  bool      // of four elements of a row of A, two are there
}

// matrixOps are V_MFMA ("CDNA 3" ISA, "Matrix Arithmetic Instructions"; the
// places of the elements are those of its section "Matrix data layouts"). They
// do not look at EXEC. Each result is summed up in the order of k, a fused
// multiply-add at a time; the hardware's order is not published, nor how it makes
// xf32 of f32: here to nearest even.
func matrixOps(names []string) map[string]*operation {
	form := regexp.MustCompile(`^v_(s?mfma)c?_(f32|i32|f64)_(\d+)x(\d+)x(\d+)(?:_\d+b)?_?(xf32|f32|f16|bf16|i8|f64|fp8|bf8)(?:_(fp8|bf8))?(?:_1k)?$`)
	widths := map[string]int{"f32": 32, "xf32": 32, "f16": 16, "bf16": 16, "i8": 8, "f64": 64, "fp8": 8, "bf8": 8}
	ops := map[string]*operation{}
	for _, name := range names {
		p := form.FindStringSubmatch(name)
		if p == nil {
			continue
		}
		number := func(s string) int { n, _ := strconv.Atoi(s); return n } // the pattern allows digits alone
		s := shape{m: number(p[3]), n: number(p[4]), k: number(p[5]), out: p[2], in: [2]string{p[6], p[6]}, bits: widths[p[6]], sparse: p[1] == "smfma"}
		if p[7] != "" {
			s.in[1] = p[7]
		}
		float := 32
		if s.out == "f64" {
			float = 64
		}
		ops[name] = &operation{results: 1, float: float, run: func(w *wave, i *instr) { w.matrix(i, s) }}
	}
	for _, s := range []shape{{m: 16, n: 16, k: 128, out: "f32"}, {m: 32, n: 32, k: 64, out: "f32"}} {
		op := &operation{results: 1, float: 32, run: func(w *wave, i *instr) { w.matrixMixed(i, s) }}
		for _, stem := range []string{"v_mfma", "v_mfma_scale"} {
			ops[fmt.Sprintf("%s_f32_%dx%dx%d_f8f6f4", stem, s.m, s.n, s.k)] = op
		}
	}
	return ops
}

// matrix multiplies all blocks. Lane l holds row l%m of A (column of B) of the
// block and the group of columns that l/m says.
func (w *wave) matrix(i *instr, s shape) {
	cbsz, abid, blgp := i.inst.Matrix()
	if i.src[0].kind != srcVector || i.src[1].kind != srcVector {
		w.fail(i, "this form of a matrix instruction is not supported yet")
		return
	}
	perLane := int(i.src[1].width) * 32 / s.bits
	groups := s.k / perLane
	blocks := lanes / (s.m * groups)
	var a []uint64
	third := &i.src[2]
	if s.sparse {
		if third.kind != srcVector {
			w.fail(i, "this form of a matrix instruction is not supported yet")
			return
		}
		dense := w.spread(i, s, perLane, cbsz, abid)
		a = gather(s, perLane, groups, blocks, func(l, e int) uint64 { return dense[l*perLane+e] })
		cbsz = 0
		third = &source{kind: srcVector, reg: i.dst, width: i.width}
	} else {
		a = gather(s, perLane, groups, blocks, func(l, e int) uint64 { return w.element(&i.src[0], s.bits, l, e) })
	}
	b := gather(s, perLane, groups, blocks, func(l, e int) uint64 { return w.element(&i.src[1], s.bits, w.pattern(i, s, blgp, l), e) })
	from := func(block int) int { return block }
	if cbsz > 0 {
		from = func(block int) int { return block>>cbsz<<cbsz | int(abid)&(1<<cbsz-1) }
	}
	if s.out == "f64" && blgp != 0 { // it turns signs there
		turn := func(list []uint64, n uint) {
			for k := range list {
				list[k] ^= uint64(blgp>>n&1) << 63
			}
		}
		turn(a, 0)
		turn(b, 1)
	}
	ocp := w.ocp()
	product := s.product(ocp)
	w.multiply(i, s, third, blgp, blocks, func(c uint64, block, row, col int) uint64 {
		x := a[((from(block)*s.m+row)*s.k)%len(a):]
		y := b[((block*s.n+col)*s.k)%len(b):]
		return product(c, x[:s.k], y[:s.k])
	})
}

// pattern returns the lane whose B lane l uses: BLGP broadcasts or turns parts of
// a wave ("CDNA 3" ISA, "BLGP").
func (w *wave) pattern(i *instr, s shape, blgp uint32, l int) int {
	if s.out == "f64" {
		return l
	}
	switch blgp {
	case 1: // the first half for both
		return l & 31
	case 2: // the second
		return l&31 | 32
	case 3: // a quarter on
		return (l + 16) & 63
	case 4, 5, 6, 7: // one quarter for all
		return l&15 | int(blgp-4)*16
	}
	return l
}

// multiply gives each element of the result to f.
func (w *wave) multiply(i *instr, s shape, acc *source, blgp uint32, blocks int, f func(c uint64, block, row, col int) uint64) {
	words := 1
	if s.out == "f64" {
		words = 2
	}
	result := make([]uint32, int(i.width)*lanes)
	for r := range int(i.width) / words {
		for l := range lanes {
			block, row, col := s.place(r, l, blocks)
			c := w.accumulator(acc, r*words, l, words)
			if words == 2 && blgp>>2&1 != 0 {
				c ^= 1 << 63
			}
			v := f(c, block, row, col)
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

// element takes element e of a lane out of the registers of a source.
func (w *wave) element(src *source, size, l, e int) uint64 {
	at := e * size
	word := func(n int) uint64 { return uint64(w.v[(int(src.reg)+n)%vregs][l]) }
	v := word(at / 32)
	if at%32+size > 32 { // of 64 bits, or of 6 and across two registers
		v |= word(at/32+1) << 32
	}
	v >>= at % 32
	if size == 64 {
		return v
	}
	return v & (1<<size - 1)
}

// gather puts the elements of a source in the order [block][row][k].
func gather(s shape, perLane, groups, blocks int, element func(l, e int) uint64) []uint64 {
	out := make([]uint64, blocks*s.m*groups*perLane)
	for l := range lanes {
		row, g := l%s.m, l/s.m
		block, group := g%blocks, g/blocks
		for e := range perLane {
			out[(block*s.m+row)*s.k+group*perLane+e] = element(l, e)
		}
	}
	return out
}

// spread puts the elements of a sparse A where its indices say: two bits for each,
// two elements of every four. Where a register has the indices of several
// instructions, ABID chooses unless CBSZ is set.
func (w *wave) spread(i *instr, s shape, perLane int, cbsz, abid uint32) []uint64 {
	out := make([]uint64, lanes*perLane)
	stored := perLane / 2
	shift := uint32(0)
	if size := uint32(2 * stored); cbsz == 0 && size < 32 {
		shift = abid % (32 / size) * size
	}
	for l := range lanes {
		index := w.v[i.src[2].reg%vregs][l] >> shift
		for e := range stored {
			out[l*perLane+e/2*4+int(index>>(2*e)&3)] = w.element(&i.src[0], s.bits, l, e)
		}
	}
	return out
}

// matrixMixed is V_MFMA_F32_..._F8F6F4 and V_MFMA_SCALE_F32_..._F8F6F4: CBSZ and BLGP
// name the formats of A and B. Both have 32 elements of a row in each lane, those of 4
// and 6 bits beside each other, those of 8 bits in two runs of 16 that are half a row
// apart. Each run of 32 in a row has a scale, in the lane of that row and run.
func (w *wave) matrixMixed(i *instr, s shape) {
	cbsz, _, blgp := i.inst.Matrix()
	formats := [...]minifloat{fp8OCP(), bf8OCP(), fp6(), bf6(), fp4()}
	if int(cbsz) >= len(formats) || int(blgp) >= len(formats) || i.src[0].kind != srcVector || i.src[1].kind != srcVector {
		w.fail(i, "this form of a matrix instruction is not supported yet")
		return
	}
	part := func(n int, f minifloat) []float64 {
		const perLane = 32
		out := make([]float64, s.m*s.k)
		for l := range lanes {
			row, group := l%s.m, l/s.m
			for e := range perLane {
				k := group*perLane + e
				if f.bits() == 8 {
					k = e/16*s.k/2 + group*16 + e%16
				}
				out[row*s.k+k] = f.value(uint32(w.element(&i.src[n], int(f.bits()), l, e)))
			}
		}
		return out
	}
	a, b := part(0, formats[cbsz]), part(1, formats[blgp])
	if i.inst.Enc == isa.MAIScale {
		selA, selB := i.inst.Scales()
		for _, o := range i.inst.Args() {
			switch reg := &w.v[register(o)%vregs]; o.Role {
			case isa.RoleScale0:
				s.scale(a, reg, selA)
			case isa.RoleScale1:
				s.scale(b, reg, selB)
			}
		}
	}
	w.multiply(i, s, &i.src[2], 0, 1, func(c uint64, _, row, col int) uint64 {
		sum := f32(uint32(c))
		for k := range s.k {
			p := a[row*s.k+k] * b[col*s.k+k] // exact
			sum = fmaSlow(p, float64(sum), p+float64(sum))
		}
		return uint64(u32(sum))
	})
}

// scale multiplies the rows of a matrix by the scales that a byte of a register has.
func (s shape) scale(rows []float64, reg *vec, sel uint32) {
	const run = 32
	for at := range rows {
		row, k := at/s.k, at%s.k
		rows[at] *= scaleOf(reg[row+k/run*s.m] >> (8 * sel) & 255)
	}
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

// product returns the function that adds the products of two rows to c.
func (s shape) product(ocp bool) func(c uint64, a, b []uint64) uint64 {
	switch s.out {
	case "f64":
		return func(c uint64, a, b []uint64) uint64 {
			for k := range a {
				c = u64(math.FMA(f64(a[k]), f64(b[k]), f64(c)))
			}
			return c
		}
	case "i32":
		return func(c uint64, a, b []uint64) uint64 {
			sum := int32(c)
			for k := range a {
				sum += int32(int8(a[k])) * int32(int8(b[k]))
			}
			return uint64(uint32(sum))
		}
	}
	value := func(in string) func(v uint64) float32 {
		switch in {
		case "f16":
			return func(v uint64) float32 { return float32(fromHalf(uint16(v))) }
		case "bf16":
			return func(v uint64) float32 { return f32(uint32(v) << 16) }
		case "xf32":
			return func(v uint64) float32 {
				u := uint32(v)
				if u<<1 < 0xff<<24 { // no infinity, no NaN
					u += 0xfff + u>>13&1
				}
				return f32(u &^ 0x1fff)
			}
		case "fp8", "bf8":
			f := eight(ocp, in == "bf8")
			return func(v uint64) float32 { return float32(f.value(uint32(v))) }
		}
		return func(v uint64) float32 { return f32(uint32(v)) }
	}
	x, y := value(s.in[0]), value(s.in[1])
	return func(c uint64, a, b []uint64) uint64 {
		sum := f32(uint32(c))
		for k := range a {
			sum = fma32(x(a[k]), y(b[k]), sum)
		}
		return uint64(u32(sum))
	}
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
