package emulator

import (
	"fmt"
	"math"
	"sync"

	"github.com/stonemason-hip/stonemason/emulator/isa"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
)

// program is the code of a module, resolved: a slot for each word, so that an
// address is an index.
type program struct {
	decoder *isa.Decoder
	base    uint64 // address of the first word, relative to the object
	code    []instr

	once  sync.Once
	other []instr // see careful

	watchOnce sync.Once
	watch     []notes // see watched
}

// instr is one instruction, ready to run.
type instr struct {
	run    func(*wave, *instr)
	op     *operation
	src    [4]source
	dst    uint16 // register; AGPRs begin at firstAGPR
	dst2   uint16 // scalar result beside it: a carry
	upper  uint8  // halves of 16 bits that lie in the upper half: of sources 0 to 2, and of the result (8)
	keeps  bool   // the result is 16 bits, and the other half of the register stays
	size   uint8  // in words
	width  uint8  // of the result, or of what is moved, in words
	clamp  bool
	omod   uint8
	cross  bool  // DPP or SDWA
	plain  bool  // no modifiers
	target int32 // of a branch
	imm    int64 // an offset, or the number of the instruction
	inst   *isa.Inst
	inner  *instr // see runPermuted and runDual
	second *instr // of an instruction of two operations
	result int    // bits of a result that is a float

	// Of the copy of the code that looks at MODE.
	careful  bool
	rounds   bool    // the result is rounded
	directed exactly // nil: it rounds to nearest even alone
}

const maxCode = 1 << 26 // bytes

func newProgram(d *isa.Decoder, m *Module) (*program, error) {
	for _, s := range m.obj.Segments {
		if s.Type != codeobj.SegmentLoad || s.Flags&codeobj.SegmentExec == 0 || len(s.Data) == 0 {
			continue
		}
		if len(s.Data) > maxCode {
			return nil, fmt.Errorf("code object: %d bytes of code: at most %d", len(s.Data), maxCode)
		}
		p := &program{decoder: d, base: s.Addr, code: make([]instr, len(s.Data)/4)}
		at := 0
		decode := func(end int) {
			for at < end {
				n := p.decode(s.Data, at)
				at += n
			}
		}
		for _, f := range m.functions() {
			if f.Value < s.Addr || (f.Value-s.Addr)/4 >= uint64(len(p.code)) {
				continue
			}
			start := int(f.Value-s.Addr) / 4
			decode(start)
			at = start // whatever lay before it has ended here
		}
		decode(len(p.code))
		for i := range p.code {
			if p.code[i].run == nil {
				p.illegal(i, "within an instruction")
			}
		}
		return p, nil
	}
	return nil, fmt.Errorf("code object: no code")
}

// decode resolves the instruction at a word and returns its size.
func (p *program) decode(code []byte, at int) int {
	inst, err := p.decoder.Decode(code[at*4:])
	if err != nil {
		p.illegal(at, explained(err, p.decoder.Generation(), code[at*4:]))
		return 1
	}
	i := &p.code[at]
	i.inst = &inst
	i.size = inst.Size / 4
	resolve(i, at)
	if p.decoder.WaveSize() < lanes {
		keepExec(i)
	}
	return int(i.size)
}

func (p *program) illegal(at int, why string) {
	p.code[at] = instr{size: 1, inst: &isa.Inst{}, run: func(w *wave, _ *instr) { w.fail(nil, "no instruction: %s", why) }}
}

func unsupported(w *wave, i *instr) { w.fail(i, "this instruction is not supported yet") }

// resolve finds the operation and lays the operands out for it.
func resolve(i *instr, at int) {
	inst := i.inst
	i.run = unsupported
	i.clamp, i.omod, i.cross = inst.Clamp(), uint8(inst.OMod()), inst.IsSDWA() || inst.IsDPP()
	i.upper, i.keeps = halvesOf(inst)
	op := operations()[inst.Name()]
	if op == nil {
		return
	}
	i.op, i.result = op, resultFloat(vectorName(inst.Name()), op.float)
	n := 0
	args := inst.Args()
	for k, o := range args {
		if k < op.results {
			if o.Kind == isa.SGPR || o.Kind == isa.VGPR || o.Kind == isa.AGPR {
				reg := destination(o)
				if k == 0 {
					i.dst, i.width = reg, o.Width
				} else {
					i.dst2 = reg
				}
			}
			continue
		}
		if n < len(i.src) {
			i.src[n] = sourceOf(inst, o, op)
			n++
		}
	}
	for ; n < len(i.src); n++ {
		i.src[n].kind = srcNone
	}
	if len(args) > 0 {
		if last := args[len(args)-1]; last.Kind == isa.Imm {
			i.imm = int64(last.Signed())
			i.target = int32(at) + int32(i.size) + last.Signed()
		}
	}
	if inst.Dual != nil {
		i.second = &instr{inst: inst.Dual, size: i.size}
		resolve(i.second, at)
	}
	i.bind()
}

func register(o isa.Operand) uint16 {
	if o.Kind == isa.AGPR {
		return uint16(o.Value) + firstAGPR
	}
	return uint16(o.Value)
}

func sourceOf(inst *isa.Inst, o isa.Operand, op *operation) source {
	s := source{width: o.Width, form: o.Form, reg: register(o)}
	if n := uint32(1) << (o.Role - isa.RoleSrc0); o.Role >= isa.RoleSrc0 && o.Role <= isa.RoleSrc2 {
		s.abs, s.neg, s.sext = inst.Abs()&n != 0, inst.Neg()&n != 0, inst.Sext()&n != 0
		if inst.Enc == isa.VOP3P {
			s.abs, s.neg = false, false
		}
	}
	s.sel = isa.SelDword
	if inst.IsSDWA() {
		_, _, s0, s1 := inst.SDWA()
		switch o.Role {
		case isa.RoleSrc0:
			s.sel = uint8(s0)
		case isa.RoleSrc1:
			s.sel = uint8(s1)
		}
	}
	switch o.Kind {
	case isa.SGPR:
		s.kind = srcScalar
		if o.Value == isa.Null && inst.Generation() > 9 {
			s.kind = srcConst
		}
	case isa.VGPR, isa.AGPR:
		s.kind = srcVector
	case isa.Literal:
		s.value = uint64(o.Value)
		if op.float == 64 && o.Width == 2 {
			s.value <<= 32
		}
	case isa.Imm:
		s.value = uint64(o.Value)
	case isa.Const:
		value, ok := constant(o, op)
		if !ok {
			s.kind, s.value = srcSpecial, uint64(o.Value)
			return s
		}
		s.value = value
	default:
		s.kind = srcNone
	}
	if s.kind == srcConst {
		s.vec = new(vec)
		for l := range s.vec {
			s.vec[l] = uint32(s.value)
		}
	}
	return s
}

// constant returns the value of an inline constant: numbers with their sign in
// 64 bits, fractions in the format of the operand.
func constant(o isa.Operand, op *operation) (uint64, bool) {
	switch v := o.Value; {
	case v >= isa.ConstZero && v < isa.ConstMinusOne:
		return uint64(v - isa.ConstZero), true
	case v >= isa.ConstMinusOne && v <= 208:
		return uint64(-int64(v - isa.ConstMinusOne + 1)), true
	case v >= isa.ConstHalf && v <= isa.ConstInv2Pi:
		f := [...]float64{0.5, -0.5, 1, -1, 2, -2, 4, -4, 0.15915494309189532}[v-isa.ConstHalf]
		switch {
		case o.Width == 2 && op.float != 32, op.float == 64 && o.Width == 2:
			return math.Float64bits(f), true
		case op.float == 16 || o.Form == isa.FormB16 || o.Form == isa.FormF16:
			return uint64(toHalf(f)), true
		}
		return uint64(math.Float32bits(float32(f))), true
	}
	return 0, false
}
