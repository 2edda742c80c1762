package emulator

import (
	"fmt"
	"strings"
)

// Fault is why a launch ended before its time.
type Fault struct {
	Kernel      string
	Instruction string // as llvm-objdump writes it; empty when there is none
	Target      string
	PC          uint64 // relative to the code object
	Other       uint64 // of a race: where the other access is; else 0
	Group       Dim3
	Wave        int // within the work-group
	Lane        int // -1 when the whole wave is meant
	Reason      string
}

// Error names all of it.
func (f *Fault) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "kernel %s: at 0x%x", f.Kernel, f.PC)
	if f.Instruction != "" {
		fmt.Fprintf(&b, ": %s", f.Instruction)
	}
	fmt.Fprintf(&b, ": %s (%s, work-group %d,%d,%d, wave %d", f.Reason, f.Target, f.Group.X, f.Group.Y, f.Group.Z, f.Wave)
	if f.Lane >= 0 {
		fmt.Fprintf(&b, ", lane %d", f.Lane)
	}
	b.WriteString(")")
	return b.String()
}

// fail ends the wave because of an instruction.
func (w *wave) fail(i *instr, format string, args ...any) { w.failLane(i, -1, format, args...) }

func (w *wave) failLane(i *instr, lane int, format string, args ...any) {
	if w.state == faulted {
		return
	}
	l := w.group.launch
	f := &Fault{Kernel: l.kernel.Name, Target: l.module.dev.target.String(), Group: w.group.id, Wave: w.number, Lane: lane, Reason: fmt.Sprintf(format, args...)}
	pc := w.pc
	if i != nil {
		pc -= int32(i.size)
		f.Instruction = i.inst.String()
	}
	f.PC = l.program.base + uint64(pc)*4
	w.state, w.fault = faulted, f
}
