package emulator

import (
	"sync"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// operation is what an opcode does. Exactly one of its functions is set; bind
// chooses how it is run for the operands that an instruction has.
type operation struct {
	results int  // operands that are written, before those that are read
	float   int  // 16, 32 or 64: what signs and constants mean; 0 for integers
	half    bool // the result is 16 bits: the upper half becomes zero

	run func(*wave, *instr) // all by itself

	// 32 bits, all lanes at once, for what is used most.
	v1 func(d, a *vec)
	v2 func(d, a, b *vec)
	v3 func(d, a, b, c *vec)
	vt func(d, a, b *vec) // d is also read

	lane    func(a, b, c uint64) uint64 // one lane, as wide as the operands are
	tied    bool                        // the third source of lane is the result before
	compare func(a, b *vec) uint64
	relate  func(a, b uint64) bool
	exec    bool // a comparison that writes EXEC as well

	saturated *operation // integers: what CLAMP makes of it

	quick func(i *instr) func(*wave, *instr) // a quicker way for these operands, or nil; see quicken
	moved func(i *instr) func(*wave, *instr) // the same where DPP moves the lanes of the first source
}

// operations lists what is supported, by mnemonic.
var operations = sync.OnceValue(func() map[string]*operation {
	all := map[string]*operation{}
	names, err := isa.Ops()
	if err != nil {
		return all // nothing could be decoded either
	}
	for _, list := range []map[string]*operation{
		scalarOps(), scalarFlow(), scalarMedia(), media(), scalarStores(), localMore(), formatted(), floatDots(), narrowFloats(), vectorInt(), vectorBits(), vectorFloat(), vectorDouble(), vectorHalf(),
		conversions(), comparisons(), crossLane(), scalarMemory(), vectorMemory(), localMemory(), carries(), packed(), indexing(), matrixOps(names), scaledConversions(names), transposed(), globalSyncOps(),
		rdnaScalar(), rdnaFlow(), rdnaVector(), rdnaLanes(), rdnaDots(), rdnaMemory(), rdnaMatrix(), rdnaTiles(), rdnaBlocks(), rdnaRare(), variants(),
	} {
		for name, op := range list {
			all[name] = op
		}
	}
	saturateOps(all)
	quicken(all, vectorUnit())
	return all
})

// Supported returns the mnemonics that can be run, in no order.
func Supported() []string {
	var names []string
	for name := range operations() {
		names = append(names, name)
	}
	return names
}

// bind chooses the function that runs an instruction.
func (op *operation) bind(i *instr) {
	plain := !i.careful && !i.cross && !i.clamp && i.omod == 0 && i.inst.OpSel() == 0 && i.upper == 0 && !i.keeps
	for n := range i.src {
		s := &i.src[n]
		plain = plain && !s.neg && !s.abs && !s.sext
	}
	i.plain = plain
	if i.clamp && op.float == 0 && i.result == 0 && op.compare == nil && op.relate == nil { // a comparison signals
		if op.saturated == nil {
			i.run = unsupported
			return
		}
		i.clamp, i.op = false, op.saturated
		op.saturated.bind(i)
		return
	}
	switch {
	case op.run != nil:
		i.run = op.run
	case op.compare != nil && plain:
		i.run = runCompare
	case op.compare != nil || op.relate != nil:
		i.run = runRelate
	case op.v1 != nil && plain:
		i.run = run1
	case op.v2 != nil && plain:
		i.run = run2
	case op.v3 != nil && plain:
		i.run = run3
	case op.vt != nil && plain:
		i.run = runTied
	case op.v1 != nil, op.v2 != nil, op.v3 != nil, op.vt != nil:
		i.run = runModified
	case op.lane != nil:
		i.run = runLanes
	}
	if op.quick != nil && !i.careful {
		if run := op.quick(i); run != nil {
			i.run = run
		}
	}
}
