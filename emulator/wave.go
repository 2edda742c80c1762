package emulator

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// lanes is the most that a wave has. Where it has 32, the upper half of EXEC is
// zero, and what lies in the upper lanes means nothing.
const lanes = 64

// vec is one vector register.
type vec = [lanes]uint32

const (
	firstAGPR = 256 // AGPRs follow the VGPRs
	vregs     = 512
	allLanes  = ^uint64(0)

	narrowLanes = 1<<32 - 1 // of a wave of 32
)

// state says what a wave waits for.
type state uint8

const (
	running state = iota
	atBarrier
	ended
	faulted
	asleep   // runs on when its turn comes again
	awaiting // a barrier of two steps
)

// wave is 64 work-items, or 32, that run in step. Only its worker touches it.
type wave struct {
	s      [128]uint32 // scalar registers, special ones included, numbered as encoded
	scc    uint32      // 0 or 1
	pc     int32       // in words from the start of the program
	mode   uint32      // hwreg MODE
	state  state
	small  bool   // of 32 lanes: masks are one register wide
	size   uint32 // lanes: 32 or 64
	passed bool   // the barrier that it has signalled is open
	joined uint8  // the barrier with a name that it waits at, and one; 0: none
	// That barrier is open; the wave waits there, not at the work-group's.
	passedNamed, atNamed bool
	v                    *[vregs]vec
	tmp                  [8]vec // of one instruction; the last is always zero
	spare                [2]vec
	places               places // of one memory instruction

	group   *group
	code    []instr
	mem     *memory
	last    *region // the region that was used last
	scratch []byte  // private memory of all lanes: dword 0 of each lane, then dword 1
	number  int     // within the group
	fault   *Fault
	left    int64 // instructions of this turn
	count   *Counters

	spins bool  // it stands still, or did when somebody looked
	still still // how
	turns int   // since somebody looked whether it does
	every int   // turns from one look to the next

	trace   *tracer   // nil, unless somebody follows this wave
	pending []pending // of a launch that is checked
	list    []touch
}

func (w *wave) pair(reg uint16) uint64 {
	return *(*uint64)(unsafe.Pointer(&w.s[reg&126]))
}

func (w *wave) setPair(reg uint16, v uint64) { *(*uint64)(unsafe.Pointer(&w.s[reg&126])) = v }

func (w *wave) exec() uint64 { return w.pair(isa.Exec) }

// Kinds of sources, once resolved.
type sourceKind uint8

const (
	srcConst sourceKind = iota
	srcScalar
	srcVector
	srcSpecial // value is the encoding
	srcNone
)

// source is a resolved operand that is read.
type source struct {
	kind  sourceKind
	width uint8
	form  isa.Form
	reg   uint16
	value uint64
	vec   *vec // a constant in all lanes
	neg   bool
	abs   bool
	sext  bool
	sel   uint8 // SDWA
}

// scalar32 reads a source of a scalar operation.
func (w *wave) scalar32(s *source) uint32 {
	switch s.kind {
	case srcScalar:
		return w.s[s.reg&127]
	case srcConst:
		return uint32(s.value)
	}
	return uint32(w.special(s))
}

func (w *wave) scalar64(s *source) uint64 {
	switch s.kind {
	case srcScalar:
		if s.width == 1 {
			return uint64(w.s[s.reg&127])
		}
		return w.pair(s.reg)
	case srcConst:
		return s.value
	}
	return w.special(s)
}

// special reads what the state of the wave or the machine says.
func (w *wave) special(s *source) uint64 {
	aperture := func(v uint64) uint64 {
		if s.width == 1 {
			return v >> 32 // LLVM reads pairs alone, and takes the upper half
		}
		return v
	}
	switch s.value {
	case isa.ConstSharedBase:
		return aperture(sharedAperture)
	case isa.ConstSharedLimit:
		return aperture(sharedAperture + apertureSize - 1)
	case isa.ConstPrivateBase:
		return aperture(privateAperture)
	case isa.ConstPrivateLimit:
		return aperture(privateAperture + apertureSize - 1)
	case isa.ConstVCCZ:
		return bit(w.mask(isa.VCC) == 0)
	case isa.ConstExecZ:
		return bit(w.exec() == 0)
	case isa.ConstSCC:
		return uint64(w.scc)
	}
	return 0
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func bit32(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// vector returns a source of 32 bits in all lanes. t is where to spread a
// scalar.
func (w *wave) vector(s *source, t *vec) *vec {
	switch s.kind {
	case srcVector:
		return &w.v[s.reg%vregs]
	case srcConst:
		return s.vec
	}
	v := w.scalar32(s)
	for l := range t {
		t[l] = v
	}
	return t
}

// wide returns the halves of a source of 64 bits; for one of 32 bits the upper
// half is zero.
func (w *wave) wide(s *source, lo, hi *vec) (*vec, *vec) {
	if s.kind == srcVector {
		if s.width < 2 {
			*hi = vec{}
			return &w.v[s.reg%vregs], hi
		}
		return &w.v[s.reg%vregs], &w.v[(s.reg+1)%vregs]
	}
	var v uint64
	if s.width < 2 {
		v = uint64(w.scalar32(s))
	} else {
		v = w.scalar64(s)
	}
	for l := range lo {
		lo[l], hi[l] = uint32(v), uint32(v>>32)
	}
	return lo, hi
}

// merge stores the lanes of the mask.
func merge(d, t *vec, mask uint64) {
	switch mask {
	case allLanes:
		*d = *t
		return
	case narrowLanes:
		*(*[lanes / 2]uint32)(d[:]) = *(*[lanes / 2]uint32)(t[:])
		return
	}
	for m := mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m) & 63
		d[l] = t[l]
	}
}

// step runs the wave until it ends, waits, or its turn is over.
func (w *wave) step(turn int64) {
	code := w.code
	w.left = turn
	for n := turn; n > 0; n-- {
		if uint(w.pc) >= uint(len(code)) {
			w.fail(nil, "the program counter left the code")
			w.left = n
			return
		}
		i := &code[w.pc]
		w.pc += int32(i.size)
		i.run(w, i)
		if w.state != running {
			w.left = n - 1
			return
		}
	}
	w.left = 0
}

func f32(v uint32) float32 { return math.Float32frombits(v) }
func u32(v float32) uint32 { return math.Float32bits(v) }
func f64(v uint64) float64 { return math.Float64frombits(v) }
func u64(v float64) uint64 { return math.Float64bits(v) }
