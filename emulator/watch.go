package emulator

import (
	"math/bits"
	"strings"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// Check is a set of what a launch looks for beside its work. A checked launch
// takes a path of its own, which is slower; others do not pay for it.
type Check uint8

// The checks. Whatever is found ends the launch with a *Fault.
const (
	// CheckRace finds accesses to the same memory by different waves, at least one
	// of them a store, that nothing orders: no barrier, no atomic operation.
	CheckRace Check = 1 << iota
	// CheckInit finds loads of what nobody has written: of local and private
	// memory, and of allocations that the host has not asked for with Bytes.
	CheckInit
	// CheckWait finds registers that are used before the s_waitcnt for their load.
	CheckWait
)

// kind is what an instruction does to memory.
type kind uint8

const (
	noAccess kind = iota
	loads
	stores
	updates // atomic
)

// String is the word for it in a fault.
func (k kind) String() string { return [...]string{"", "load", "store", "atomic operation"}[k] }

// notes are what a watched launch wants to know of an instruction.
type notes struct {
	kind     kind
	bytes    uint64
	coherent bool // it looks past the caches of a core, as an atomic load does
	vm, lgkm bool // counted by s_waitcnt
	km       bool // scalar loads of gfx12 have a counter of their own
	block    bool // of its registers those alone count that M0 names
	result   [2]span
	uses     []span // all registers that it names
	class    category
}

// span is a run of registers: scalar ones are numbered below zero.
type span struct{ from, to int }

func (s span) meets(o span) bool { return s.from < o.to && o.from < s.to }

func spanOf(o isa.Operand) span {
	n := max(int(o.Width), 1)
	switch o.Kind {
	case isa.SGPR:
		return span{int(o.Value) - 1<<10, int(o.Value) - 1<<10 + n}
	case isa.VGPR, isa.AGPR:
		from := int(register(o))
		return span{from, from + n}
	}
	return span{}
}

// watched returns the notes of all instructions of the program.
func (p *program) watched() []notes {
	p.watchOnce.Do(func() {
		p.watch = make([]notes, len(p.code))
		for n := range p.code {
			if i := &p.code[n]; i.op != nil {
				p.watch[n] = noteOf(i)
			}
		}
	})
	return p.watch
}

func noteOf(i *instr) (n notes) {
	inst, name := i.inst, i.inst.Name()
	for _, o := range inst.Args() {
		if s := spanOf(o); s.to > s.from {
			n.uses = append(n.uses, s)
			returns := inst.Enc == isa.MUBUF && (strings.Contains(name, "load") && !inst.LDS() || inst.GLC() && strings.Contains(name, "atomic")) ||
				inst.Enc == isa.SMEM && (strings.Contains(name, "load") || inst.GLC() && strings.Contains(name, "atomic"))
			if o.Role == isa.RoleDst || o.Role == isa.RoleSDst || o.Role == isa.RoleData0 && returns {
				n.result[0] = s
			}
		}
	}
	n.class = classOf(i)
	switch inst.Enc {
	case isa.FLAT, isa.MUBUF:
		// Neither the caches nor LLVM's count have these.
		n.vm = !strings.HasPrefix(name, "buffer_wb") && !strings.HasPrefix(name, "buffer_inv") && !strings.HasPrefix(name, "buffer_gl") && !strings.HasPrefix(name, "global_inv") && !strings.HasPrefix(name, "global_wb")
		n.lgkm = inst.Enc == isa.FLAT && inst.Segment() == 0
		n.coherent = inst.GLC() || inst.Enc == isa.FLAT && inst.Word>>25&1 != 0 || inst.Enc == isa.MUBUF && inst.Word>>15&1 != 0
	case isa.DS, isa.SMEM:
		n.lgkm = true
	}
	counted := n.vm || n.lgkm
	if inst.Generation() > 9 {
		n.rdna(inst, name)
	}
	switch {
	case !counted, strings.Contains(name, "_format_"), strings.Contains(name, "permute"), strings.Contains(name, "addtid"), strings.Contains(name, "swizzle"), strings.Contains(name, "cache"), strings.Contains(name, "time"):
	case strings.Contains(name, "atomic"), inst.Enc == isa.DS && !strings.HasPrefix(name, "ds_read") && !strings.HasPrefix(name, "ds_write"):
		n.kind, n.bytes = updates, 4
		if strings.HasSuffix(name, "_x2") || strings.HasSuffix(name, "64") {
			n.bytes = 8
		}
	case strings.Contains(name, "load"), strings.HasPrefix(name, "ds_read"):
		n.kind, n.bytes = loads, sizeOf(name)
	case strings.Contains(name, "store"), strings.HasPrefix(name, "ds_write"):
		n.kind, n.bytes = stores, sizeOf(name)
	}
	return n
}

// sizeOf says how many bytes of memory a load or store moves for a lane.
func sizeOf(name string) uint64 {
	name = strings.TrimSuffix(strings.TrimSuffix(name, "_hi"), "_d16")
	name, _, _ = strings.Cut(name, "_tr_") // the elements of a transposing load
	for _, s := range []struct {
		tail string
		size uint64
	}{
		{"dwordx16", 64}, {"dwordx8", 32}, {"dwordx4", 16}, {"dwordx3", 12}, {"dwordx2", 8}, {"dword", 4}, {"short", 2}, {"byte", 1},
		{"b128", 16}, {"b96", 12}, {"b64", 8}, {"b32", 4}, {"16", 2}, {"8", 1},
	} {
		if strings.HasSuffix(name, s.tail) {
			return s.size
		}
	}
	return 4
}

// touch is one access of a lane.
type touch struct {
	lane   int // -1: of the whole wave
	region *region
	addr   uint64 // in the address space that region says; local and private without the aperture
	bytes  uint64
	space  space
	value  uint32 // the first word of a store
}

type space uint8

const (
	inGlobal space = iota
	inLocal
	inPrivate
)

// String is the word for it in a fault, before "memory"; empty for global memory.
func (s space) String() string { return [...]string{"", "local ", "private "}[s] }

// touches lists what an instruction is about to access. What lies nowhere is
// left out: the instruction itself fails.
func (w *wave) touches(i *instr, n *notes) []touch {
	list := w.list[:0]
	inst := i.inst
	add := func(l int, s space, addr, bytes uint64, reg int) {
		t := touch{lane: l, addr: addr, bytes: bytes, space: s}
		switch s {
		case inGlobal:
			if t.region = w.mem.find(addr); t.region == nil || bytes > t.region.size-(addr-t.region.base) {
				return
			}
		case inLocal:
			if addr > uint64(w.group.size) || bytes > uint64(w.group.size)-addr {
				return
			}
		case inPrivate:
			if limit := uint64(w.group.launch.private); addr > limit || bytes > limit-addr {
				return
			}
		}
		if reg >= 0 && l >= 0 {
			t.value = w.v[reg%vregs][l]
		}
		list = append(list, t)
	}
	switch inst.Enc {
	case isa.SMEM:
		p := w.scalarPlaceOf(inst)
		bytes := min(n.bytes, p.limit&^3)
		if n.bytes < 4 {
			p.addr, bytes = p.exact, min(n.bytes, p.limit)
		}
		add(-1, inGlobal, p.addr, bytes, -1)
	case isa.DS:
		va, data0, data1, _ := dsOperands(inst)
		if va < 0 {
			break
		}
		name := inst.Name()
		for m := w.exec(); m != 0; m &= m - 1 {
			l := bits.TrailingZeros64(m) & 63
			at := w.v[va%vregs][l]
			if !strings.Contains(name, "2_") && !strings.Contains(name, "2st64") {
				add(l, inLocal, uint64(at+uint32(inst.Offset())), n.bytes, data0)
				continue
			}
			o0, o1 := inst.Offsets()
			unit := uint32(n.bytes)
			if strings.Contains(name, "st64") {
				unit *= 64
			}
			add(l, inLocal, uint64(at+o0*unit), n.bytes, data0)
			add(l, inLocal, uint64(at+o1*unit), n.bytes, data1)
		}
	default:
		if w.touchesMany(i, add) {
			break
		}
		p := w.lanesOfAny(i)
		if p == nil {
			break
		}
		reg := dataRegister(inst)
		for m := w.exec(); m != 0; m &= m - 1 {
			l := bits.TrailingZeros64(m) & 63
			at := p.addr[l]
			flat := inst.Enc == isa.FLAT && inst.Segment() == 0
			switch {
			case p.bounded && p.room[l] < n.bytes:
			case p.private, flat && at>>32 == privateAperture>>32:
				add(l, inPrivate, uint64(uint32(at)), n.bytes, reg)
			case flat && at>>32 == sharedAperture>>32:
				add(l, inLocal, uint64(uint32(at)), n.bytes, reg)
			default:
				add(l, inGlobal, at, n.bytes, reg)
			}
		}
	}
	w.list = list
	return list
}

// stepWatched is step for a launch that is checked or counted.
func (w *wave) stepWatched(turn int64) {
	l := w.group.launch
	all := l.program.watched()
	w.left = turn
	for n := turn; n > 0; n-- {
		if uint(w.pc) >= uint(len(w.code)) {
			w.fail(nil, "the program counter left the code")
			w.left = n
			return
		}
		i, note := &w.code[w.pc], &all[w.pc]
		w.pc += int32(i.size)
		if l.opts.Check&CheckWait != 0 {
			w.checkWaits(i, note)
		}
		var list []touch
		if note.kind != noAccess {
			list = w.touches(i, note)
		}
		if l.opts.Count {
			w.tally(i, note, list)
		}
		if len(list) > 0 && l.opts.Check&(CheckInit|CheckRace) != 0 {
			l.watch.run(w, i, note, list)
		} else if w.state == running {
			i.run(w, i)
		}
		if w.state != running {
			w.left = n - 1
			return
		}
	}
	w.left = 0
}
