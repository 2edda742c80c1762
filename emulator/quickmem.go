package emulator

import (
	"math/bits"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// place is where the addresses of a load or store come from, and which registers
// it moves.
type place struct {
	addr   uint16 // vector register, or none where wide is 0
	words  uint8  // of the address: 0, 1 or 2
	base   uint16 // scalar register
	scalar uint8  // words of base: 0, 1 or 2
	offset uint64
	data   uint16 // the first register
	count  int    // of registers
}

func placeOf(i *instr, a access) (p place, ok bool) {
	inst := i.inst
	p = place{offset: uint64(int64(inst.Offset())), data: uint16(dataRegister(inst)), count: int(a.bytes / 4)}
	for _, o := range inst.Args() {
		switch {
		case o.Role == isa.RoleAddr && o.Kind == isa.VGPR:
			p.addr, p.words = register(o), o.Width
		case o.Role == isa.RoleBase && o.Kind == isa.SGPR:
			p.base, p.scalar = uint16(o.Value), o.Width
		}
	}
	return p, p.words <= 2 && p.scalar <= 2 && int(p.data)+p.count <= vregs
}

// quickAccess is access for whole words of global memory, where all lanes find
// them in one region. Whatever is special goes the long way,
// and has its error there.
func (mv movers) quickAccess(i *instr, a access) func(*wave, *instr) {
	p, ok := placeOf(i, a)
	if !ok || a.bytes%4 != 0 || a.half != 0 || a.signed || a.lds || i.inst.Enc != isa.FLAT || i.inst.Segment() == 1 {
		return nil
	}
	return func(w *wave, i *instr) {
		e := w.exec()
		if e == 0 {
			return
		}
		base := p.offset
		switch p.scalar {
		case 1:
			base += uint64(w.s[p.base&127])
		case 2:
			base += w.pair(p.base)
		}
		lo, hi := &w.tmp[7], &w.tmp[7] // zero
		switch p.words {
		case 2:
			hi = &w.v[(p.addr+1)%vregs]
			fallthrough
		case 1:
			lo = &w.v[p.addr%vregs]
		}
		r, first := w.last, bits.TrailingZeros64(e)&63
		if addr := base + uint64(lo[first]) + uint64(hi[first])<<32; r == nil || addr-r.base >= r.size {
			r = w.mem.find(addr)
		}
		if r == nil || r.size < a.bytes || a.store && !r.write {
			w.access(i, a)
			return
		}
		w.last = r
		base -= r.base
		at, size := &w.places.addr, uint64(w.size)
		bad, apart := mv.offsets(at, lo, hi, base, r.size-a.bytes, a.bytes, size)
		row := apart == 0 && a.bytes == 4 && e == allLanes>>(lanes-size) && mv.row != nil
		switch {
		case bad&e != 0:
			w.access(i, a)
		case row && a.store:
			mv.row(word32(r.data[:at[0]+4*size], at[0]), &w.v[p.data][0], size)
			mv.publish()
		case row:
			mv.row(&w.v[p.data][0], word32(r.data[:at[0]+4*size], at[0]), size)
		case a.store:
			mv.store(r.data, at, &w.v[p.data], e, uint64(p.count))
			mv.publish()
		default:
			for k := range p.count {
				mv.load(&w.v[int(p.data)+k], r.data[4*k:], at, e)
			}
		}
	}
}

// quickLocal is local for whole words.
func (mv movers) quickLocal(i *instr, a access) func(*wave, *instr) {
	va, data, _, dst := dsOperands(i.inst)
	if a.bytes%4 != 0 || a.half != 0 || a.signed || i.inst.GDS() {
		return nil
	}
	reg, off, count := dst, uint32(i.inst.Offset()), int(a.bytes/4)
	if a.store {
		reg = data
	}
	if reg < 0 || va < 0 || reg+count > vregs {
		return nil
	}
	return func(w *wave, i *instr) {
		e, size := w.exec(), uint64(w.group.size)
		if size < a.bytes {
			w.local(i, a)
			return
		}
		at := &w.places.addr
		if bad := mv.local(at, &w.v[va%vregs], off, uint32(size-a.bytes), uint64(w.size)); bad&e != 0 {
			w.local(i, a)
			return
		}
		if a.store {
			mv.storeLocal(w.group.lds, at, &w.v[reg], e, uint64(count))
			return
		}
		for k := range count {
			mv.loadLocal(&w.v[reg+k], w.group.lds[4*k:], at, e)
		}
	}
}

// pairAccess is a load or store of two places in local memory, unit bytes times one
// of two offsets from one address.
type pairAccess struct {
	bytes, unit uint64
	store       bool
}

func pairAccesses() map[string]pairAccess {
	list := map[string]pairAccess{}
	for name, n := range map[string]uint64{"b32": 4, "b64": 8} {
		list["ds_read2_"+name], list["ds_write2_"+name] = pairAccess{n, n, false}, pairAccess{n, n, true}
		list["ds_read2st64_"+name], list["ds_write2st64_"+name] = pairAccess{n, 64 * n, false}, pairAccess{n, 64 * n, true}
	}
	return list
}

// quickLocal2 is local2.
func (mv movers) quickLocal2(i *instr, a pairAccess) func(*wave, *instr) {
	va, data0, data1, dst := dsOperands(i.inst)
	if i.inst.GDS() || va < 0 {
		return nil
	}
	count := int(a.bytes / 4)
	reg := [2]int{dst, dst + count}
	if a.store {
		reg = [2]int{data0, data1}
	}
	if reg[0] < 0 || reg[1] < 0 || max(reg[0], reg[1])+count > vregs {
		return nil
	}
	o0, o1 := i.inst.Offsets()
	off := [2]uint32{o0 * uint32(a.unit), o1 * uint32(a.unit)}
	return func(w *wave, i *instr) {
		e, size := w.exec(), uint64(w.group.size)
		// Both before any is loaded: the address may be among the results.
		at := [2]*[lanes]uint64{&w.places.addr, &w.places.room}
		for k := range at {
			if size < a.bytes || mv.local(at[k], &w.v[va%vregs], off[k], uint32(size-a.bytes), uint64(w.size))&e != 0 {
				w.local2(i, a.bytes, a.unit, a.store)
				return
			}
		}
		for m := e; a.store && m != 0; m &= m - 1 { // in the order of the lanes: the last one wins
			l := bits.TrailingZeros64(m) & 63
			for k := range at {
				for n := range count {
					store32(w.group.lds, at[k][l]+4*uint64(n), w.v[(reg[k]+n)%vregs][l])
				}
			}
		}
		if a.store {
			return
		}
		for k := range at {
			for n := range count {
				mv.loadLocal(&w.v[reg[k]+n], w.group.lds[4*n:], at[k], e)
			}
		}
	}
}
