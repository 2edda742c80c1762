package emulator

import (
	"strings"

	"github.com/stonemason-hip/stonemason/emulator/isa"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
)

// RDNA's waves have 32 lanes or 64: the kernel's descriptor says which, and the
// code is decoded for that. Where they have 32, a mask of lanes is one scalar
// register.

// programOf returns the place of the program that a kernel runs in.
func programOf(d codeobj.Descriptor) int {
	if d.Properties.WavefrontSize() < lanes {
		return 1
	}
	return 0
}

// decode decodes the code for all sizes of waves that the kernels have.
func (m *Module) decode() (err error) {
	var wanted [2]bool
	for n := range m.obj.Kernels {
		wanted[programOf(m.obj.Kernels[n].Descriptor)] = true
	}
	for n, d := range [2]*isa.Decoder{m.dev.decoder, m.dev.narrow} {
		if d == nil || !wanted[n] && len(m.obj.Kernels) > 0 {
			continue
		}
		if m.programs[n], err = newProgram(d, m); err != nil {
			return err
		}
	}
	return nil
}

// waves returns how many a work-group has.
func (l *launch) waves() uint64 { return l.wavesOf(l.block) }

func (l *launch) wavesOf(block Dim3) uint64 {
	size := uint64(l.program.decoder.WaveSize())
	return (block.count() + size - 1) / size
}

// mask reads a mask of lanes.
func (w *wave) mask(reg uint16) uint64 {
	if w.small {
		return uint64(w.s[reg&127])
	}
	return w.pair(reg)
}

func (w *wave) setMask(reg uint16, v uint64) {
	if w.small {
		w.s[reg&127] = uint32(v)
		return
	}
	w.setPair(reg, v)
}

// laneWithin returns the lane that lane l reaches by a number: in waves of 64 lanes
// gfx10 and gfx11 stay within a half of the wave (LLVM, supportsWaveWideBPermute).
func (w *wave) laneWithin(l int, n uint32) int {
	if number := w.group.launch.module.dev.gen.number; w.small || number == 10 || number == 11 {
		return l&32 | int(n&31)
	}
	return int(n & 63)
}

// nowhere and the register behind it take what is written to null. They are
// registers of trap handlers, which no kernel reads.
const nowhere = isa.TTMP0 + 14

// destination is the register of a result.
func destination(o isa.Operand) uint16 {
	if o.Kind == isa.SGPR && o.Value == isa.Null {
		return nowhere
	}
	return register(o)
}

// keepExec clears the upper half of EXEC behind an instruction that may write it:
// in waves of 32 lanes it means nothing, and has to stay zero.
func keepExec(i *instr) {
	for n, o := range i.inst.Args() {
		written := i.op != nil && n < i.op.results || o.Role == isa.RoleSDst || o.Role == isa.RoleData0
		if o.Kind != isa.SGPR || !written || o.Value > isa.Exec+1 || o.Value+max(uint32(o.Width), 1) <= isa.Exec+1 {
			continue
		}
		run := i.run
		i.run = func(w *wave, i *instr) {
			run(w, i)
			w.s[isa.Exec+1] = 0
		}
		return
	}
}

// halvesOf tells which operands of 16 bits lie in the upper halves of their
// registers. From gfx10 on a result of 16 bits leaves the other half alone.
func halvesOf(inst *isa.Inst) (upper uint8, keeps bool) {
	switch inst.Enc {
	case isa.VOP3, isa.VOP3DPP, isa.VOP3DPP8:
		upper = uint8(inst.OpSel())
	}
	if inst.Generation() == 9 || inst.IsSDWA() {
		return upper, false
	}
	for _, o := range inst.Args() {
		bit := map[isa.Role]uint8{isa.RoleSrc0: 1, isa.RoleSrc1: 2, isa.RoleSrc2: 4, isa.RoleDst: 8}[o.Role]
		if o.Half == isa.Upper {
			upper |= bit
		}
		if o.Half != isa.Whole && o.Role == isa.RoleDst {
			keeps = true
		}
	}
	return upper, keeps || resultOf16(inst.Name())
}

// resultOf16 reports the vector operations whose result is one number of 16 bits,
// by their names: the first type there is the result's.
func resultOf16(name string) bool {
	rest, ok := strings.CutPrefix(name, "v_")
	if !ok {
		return false
	}
	for _, other := range []string{"cmp", "pk_", "cvt_pk", "pack_", "fma_mix", "mad_mix", "dot2", "sad_", "qsad_", "mqsad_"} {
		if strings.HasPrefix(rest, other) {
			return false
		}
	}
	for _, word := range strings.Split(rest, "_") {
		switch word {
		case "f16", "u16", "i16", "b16":
			return true
		case "f32", "u32", "i32", "b32", "f64":
			return false
		}
	}
	return false
}

// bind chooses the function that runs the instruction. What RDNA has beside is put
// around it: lanes that are moved before, and a second operation.
func (i *instr) bind() {
	i.op.bind(i)
	switch {
	case i.inst.Generation() == 9:
	case i.inst.IsDPP(), i.inst.IsDPP8():
		if run := i.quickMoved(); run != nil {
			i.run = run
			return
		}
		inner := *i
		inner.cross = false
		inner.src[0].kind, inner.src[0].reg = srcVector, permuted
		inner.op.bind(&inner)
		i.inner, i.run = &inner, runPermuted
	case i.inst.Dual != nil:
		first, second := *i, *i.second
		if second.op == nil {
			i.run = unsupported
			return
		}
		if i.careful {
			second.look()
			second.bind()
		}
		second.inner = &first
		i.inner, i.run = &second, runDual
		for n := range second.src {
			if s := &second.src[n]; s.kind == srcVector && s.reg == i.dst {
				i.run = runDualApart
			}
		}
	}
}

// permuted is the vector register that holds a source whose lanes have moved: one of
// those that are accumulation registers elsewhere.
const permuted = vregs - 1

// runPermuted runs an instruction whose first source comes from other lanes. Lanes
// that DPP does not write are switched off meanwhile.
func runPermuted(w *wave, i *instr) {
	exec := w.exec()
	mask := exec
	t := &w.v[permuted]
	if v := w.vector(&i.src[0], t); v != t {
		*t = *v
	}
	if i.inst.IsDPP8() {
		w.permute8(i, t)
	} else {
		w.permute16(i, t, &mask)
	}
	w.setPair(isa.Exec, mask)
	i.inner.run(w, i.inner)
	if !i.op.exec {
		w.setPair(isa.Exec, exec)
	}
}

// permute16 is permute as RDNA has it ("RDNA 3" ISA, "Data Parallel Processing"):
// FI reads lanes that are off too.
func (w *wave) permute16(i *instr, t *vec, mask *uint64) {
	ctrl, rows, banks, zero := i.inst.DPP()
	in, readable := *t, w.exec()
	if i.inst.FetchInactive() {
		readable = allLanes
	}
	for l := range int(w.size) {
		from := dppSource(ctrl, l)
		if ctrl >= isa.DPPRowXMask && ctrl < isa.DPPRowXMask+16 {
			from = l ^ int(ctrl&15)
		}
		switch {
		case rows>>(l/16)&1 == 0 || banks>>(l%16/4)&1 == 0:
			*mask &^= 1 << l
		case from >= 0 && readable>>(from&63)&1 != 0:
			t[l] = in[from&63]
		case zero:
			t[l] = 0
		default:
			*mask &^= 1 << l
		}
	}
}

// permute8 reads any of the eight lanes beside; zero from one that is off.
func (w *wave) permute8(i *instr, t *vec) {
	sel, in, readable := i.inst.DPP8(), *t, w.exec()
	if i.inst.FetchInactive() {
		readable = allLanes
	}
	for l := range t {
		from := l&^7 | int(sel>>(3*(l&7)))&7
		t[l] = in[from] & -uint32(readable>>from&1)
	}
}

// runDual runs two operations as one. The first writes nothing that the second reads.
func runDual(w *wave, i *instr) {
	second := i.inner
	first := second.inner
	first.run(w, first)
	second.run(w, second)
}

// runDualApart is runDual where it does: both read before either writes.
func runDualApart(w *wave, i *instr) {
	second := i.inner
	first := second.inner
	d := &w.v[i.dst%vregs]
	before := *d
	first.run(w, first)
	after := *d
	*d = before
	second.run(w, second)
	*d = after
}

// vectorName is what the vector unit calls an operation on floats of the scalar
// one, which rounds in the same way.
func vectorName(name string) string {
	if rest, ok := strings.CutPrefix(name, "s_"); ok && strings.Contains(name, "_f") {
		return "v_" + rest
	}
	return name
}
