package emulator

import (
	"sync/atomic"
	"time"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// scalarFlow are branches, calls and what else SOPP and SOPK have.
func scalarFlow() map[string]*operation {
	ops := map[string]*operation{}
	set := func(results int, run func(*wave, *instr), names ...string) {
		for _, name := range names {
			ops[name] = &operation{results: results, run: run}
		}
	}
	branch := func(name string, taken func(*wave) bool) {
		set(0, func(w *wave, i *instr) {
			if taken(w) {
				w.pc = i.target
			}
		}, name)
	}
	branch("s_branch", func(*wave) bool { return true })
	branch("s_cbranch_scc0", func(w *wave) bool { return w.scc == 0 })
	branch("s_cbranch_scc1", func(w *wave) bool { return w.scc != 0 })
	branch("s_cbranch_vccz", func(w *wave) bool { return w.mask(isa.VCC) == 0 })
	branch("s_cbranch_vccnz", func(w *wave) bool { return w.mask(isa.VCC) != 0 })
	branch("s_cbranch_execz", func(w *wave) bool { return w.exec() == 0 })
	branch("s_cbranch_execnz", func(w *wave) bool { return w.exec() != 0 })
	set(0, func(*wave, *instr) {}, "s_nop", "s_waitcnt", "s_setprio", "s_icache_inv", "s_dcache_inv", "s_dcache_wb",
		"s_ttracedata", "s_wakeup", "s_dcache_inv_vol", "s_dcache_wb_vol",
		"buffer_wbinvl1", "buffer_wbinvl1_vol", "buffer_wbl2", "buffer_invl2", "buffer_inv")
	set(0, func(w *wave, _ *instr) { w.state = ended }, "s_endpgm")
	set(0, func(w *wave, _ *instr) { w.state = asleep }, "s_sleep") // it waits for somebody, whose turn it now is
	set(0, func(w *wave, _ *instr) { w.state = atBarrier }, "s_barrier")
	set(0, trap, "s_trap")
	set(0, func(w *wave, i *instr) {
		if i.imm&1 != 0 { // zero lets the wave go on, and it does
			w.fail(i, "the wave halts itself, and there is no debugger to go on with it")
		}
	}, "s_sethalt")
	set(0, func(w *wave, i *instr) {
		w.fail(i, "the wave sends a message and halts itself, and there is nobody to go on with it")
	}, "s_sendmsghalt")

	address := func(w *wave, pc int32) uint64 {
		m := w.group.launch.module
		return m.image.base - m.low + w.group.launch.program.base + uint64(pc)*4
	}
	jump := func(w *wave, i *instr, to uint64) {
		m := w.group.launch.module
		at := to - (m.image.base - m.low + w.group.launch.program.base)
		if at%4 != 0 || at/4 >= uint64(len(w.code)) {
			w.fail(i, "a jump to 0x%x, where no code is", to)
			return
		}
		w.pc = int32(at / 4)
	}
	set(1, func(w *wave, i *instr) { w.setPair(i.dst, address(w, w.pc)) }, "s_getpc_b64")
	set(0, func(w *wave, i *instr) { jump(w, i, w.scalar64(&i.src[0])) }, "s_setpc_b64")
	set(1, func(w *wave, i *instr) {
		to := w.scalar64(&i.src[0])
		w.setPair(i.dst, address(w, w.pc))
		jump(w, i, to)
	}, "s_swappc_b64")
	set(1, func(w *wave, i *instr) {
		w.setPair(i.dst, address(w, w.pc))
		w.pc = i.target
	}, "s_call_b64")

	set(1, func(w *wave, i *instr) {
		id, off, width := isa.HWReg(uint32(uint16(i.imm)))
		if v, ok := w.hwreg(i, id, uint32(1<<width-1)<<off); ok {
			w.s[i.dst&127] = v >> off & (1<<width - 1)
		}
	}, "s_getreg_b32")
	setreg := func(w *wave, i *instr, where, v uint32) {
		id, off, width := isa.HWReg(where)
		if w.ignores(id) {
			return
		}
		if id != hwMode {
			w.fail(i, "hardware register %d cannot be written", id)
			return
		}
		mask := uint32(1<<width-1) << off
		mode := w.mode&^mask | v<<off&mask
		if w.group.launch.module.dev.gen.number < 12 && mode&modeExceptions != 0 { // later they are in a register of traps
			w.fail(i, exceptionsRefused)
			return
		}
		w.setMode(mode)
	}
	set(0, func(w *wave, i *instr) { setreg(w, i, uint32(i.src[0].value), w.scalar32(&i.src[1])) }, "s_setreg_b32")
	set(0, func(w *wave, i *instr) { setreg(w, i, uint32(i.src[0].value), uint32(i.src[1].value)) }, "s_setreg_imm32_b32")
	set(1, func(w *wave, i *instr) { w.setPair(i.dst, w.group.launch.clock.now(w)) }, "s_memtime")
	set(1, func(w *wave, i *instr) { w.setPair(i.dst, w.group.launch.clock.now(w)/realtimeTick) }, "s_memrealtime")
	return ops
}

// realtimeTick is what s_memrealtime counts, in nanoseconds: 100 MHz.
const realtimeTick = 10

// clock is the time that kernels see, in nanoseconds. Where a launch must be the
// same each time it is not the machine's: it goes on whenever somebody looks.
type clock struct{ ticks atomic.Uint64 }

func (c *clock) now(w *wave) uint64 {
	const look, begin = 200, 1 << 30
	if w.group.launch.opts.Deterministic {
		return begin + c.ticks.Add(look) + uint64(w.count.Instructions)
	}
	return uint64(time.Now().UnixNano())
}
