package emulator

import (
	"github.com/stonemason-hip/stonemason/emulator/isa"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
)

// Hardware registers, by number (llvm/lib/Target/AMDGPU/SIDefines.h; "Vega" ISA,
// "Hardware registers", and those of the later documents). RDNA's others stand in
// rdna_scalar.go.
const (
	hwMode      = 1
	hwStatus    = 2
	hwTraps     = 3 // before gfx12
	hwPlace     = 4 // HW_ID; on gfx12 the state that traps keep
	hwRegisters = 5 // GPR_ALLOC
	hwLocal     = 6 // LDS_ALLOC
	hwCounts    = 7 // IB_STS: what s_waitcnt waits for
	hwBases     = 15
	hwTrapFirst = 16 // addresses of the trap handler and its memory, up to 19
	hwTrapLast  = 19
	hwChip      = 20 // XCC_ID, gfx942 and gfx950
	hwPlace1    = 23 // HW_ID1 and HW_ID2, RDNA
	hwPlace2    = 24

	// gfx12 has others at the numbers of traps.
	hwPrivFlags = 17
	hwUserFlags = 18
	hwTrapCtrl  = 19
)

// modeExceptions are the bits of MODE that let exceptions of floats end in the trap
// handler ("Vega" ISA, "MODE register", EXCP_EN).
const modeExceptions = 0x1ff << 12

const exceptionsRefused = "exceptions of floats are not supported: no operation raises one here"

// hwreg reads those bits of a hardware register that the mask has. It is false where
// the wave has failed: of a register that nobody knows, and of what is not kept.
func (w *wave) hwreg(i *instr, id, mask uint32) (v uint32, ok bool) {
	g := w.group
	gen := g.launch.module.dev.gen
	rdna, gfx12 := gen.number > 9, gen.number >= 12
	switch {
	case id == hwMode:
		return w.mode, true
	case id == hwStatus && !gfx12:
		return w.status(), true
	case id == hwStatus:
		return w.status() &^ 1, true // SCC is among what traps keep
	case id == hwTraps && !gfx12, id == hwUserFlags && gfx12:
		const flags = 0x1ff
		if mask&flags != 0 {
			w.fail(i, "which exceptions floats have raised is not recorded")
			return 0, false
		}
		return 0, true
	case id == hwPlace && gfx12:
		return w.scc << 9, true
	case id == hwPlace && !rdna:
		return uint32(w.number)>>2&15 | uint32(w.number)&3<<4, true // the wave's slot and its SIMD; of the rest there is one
	case id == hwPlace1 && rdna:
		return uint32(w.number)>>2&31 | uint32(w.number)&3<<8, true
	case id == hwPlace2 && rdna, id == hwChip && gen.archScratch && !rdna:
		return 0, true
	case id == hwRegisters:
		r := g.launch.kernel.Descriptor.Rsrc1
		return uint32(r.GranulatedVGPRs())<<8 | uint32(r.GranulatedSGPRs())<<24, true
	case id == hwLocal:
		const granule = 512 // bytes
		return (g.size + granule - 1) / granule << 12, true
	case id == hwCounts: // loads are back when they are done
		return 0, true
	case id == hwBases && !rdna:
		return privateAperture>>48 | sharedAperture>>48<<16, true
	case id >= hwTrapFirst && id <= hwTrapLast && !gfx12, (id == hwPrivFlags || id == hwTrapCtrl) && gfx12:
		return 0, true
	case w.ignores(id), id == hwCycles && rdna, id == hwCyclesHigh && gfx12, (id == hwScratchLo || id == hwScratchHi) && rdna:
		return w.hardware(id), true
	}
	w.fail(i, "hardware register %d is not known on %s", id, g.launch.module.dev.target.Processor)
	return 0, false
}

// status is what a wave sees of its own state: SCC, EXECZ, VCCZ, whether its
// work-group has several waves, and that it is there.
func (w *wave) status() uint32 {
	return w.scc | bit32(w.exec() == 0)<<9 | bit32(w.mask(isa.VCC) == 0)<<10 | bit32(len(w.group.waves) > 1)<<11 | 1<<16
}

// trap is s_trap (AMDGPUUsage, "Trap Handler ABI"): 2 is llvm.trap, 3 llvm.debugtrap,
// which does nothing where no debugger is.
func trap(w *wave, i *instr) {
	const debug = 3
	if i.imm&255 != debug {
		w.fail(i, "the kernel stopped itself (trap %d)", i.imm)
	}
}

// modeAtStart is MODE as the descriptor of a kernel has it: rounding, denormals, and up to
// gfx11 how NaN is clamped and quieted; the largest number in place of infinity in f16.
func modeAtStart(r codeobj.Rsrc1, gen generation) uint32 {
	mode := uint32(r) >> 12 & 0xff
	if gen.number < 12 {
		mode |= bit32(r.DX10Clamp())<<8 | bit32(r.IEEEMode())<<9
	}
	return mode | bit32(r.FP16Overflow())*modeSaturates
}
