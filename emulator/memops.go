package emulator

import (
	"math/bits"
	"strings"
	"sync/atomic"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// global finds n bytes of global memory for a lane, or ends the wave.
func (w *wave) global(i *instr, lane int, addr uint64, n uint64, write bool) (*region, uint64) {
	r := w.last
	if r == nil || addr-r.base > r.size || n > r.size-(addr-r.base) {
		r = w.mem.find(addr)
		switch {
		case r == nil:
			w.failLane(i, lane, "%s of %d bytes at 0x%x: nothing is allocated there%s", verb(write), n, addr, w.mem.near(addr))
			return nil, 0
		case n > r.size-(addr-r.base):
			w.failLane(i, lane, "%s of %d bytes at 0x%x: %s ends at 0x%x", verb(write), n, addr, r.name, r.base+r.size)
			return nil, 0
		}
		w.last = r
	}
	if write && !r.write {
		w.failLane(i, lane, "store at 0x%x: %s cannot be written", addr, r.name)
		return nil, 0
	}
	return r, addr - r.base
}

func verb(write bool) string {
	if write {
		return "store"
	}
	return "load"
}

// scalarMemory are the loads into scalar registers ("Vega" ISA, "Scalar Memory
// Operations").
func scalarMemory() map[string]*operation {
	ops := map[string]*operation{}
	for name, n := range map[string]int{"dword": 1, "dwordx2": 2, "dwordx4": 4, "dwordx8": 8, "dwordx16": 16} {
		ops["s_load_"+name] = &operation{results: 1, run: func(w *wave, i *instr) {
			addr := w.pair(i.src[0].reg) + w.scalarOffset(i)
			r, off := w.global(i, -1, addr&^3, uint64(n)*4, false)
			if r == nil {
				return
			}
			for k := range n {
				w.s[(int(i.dst)+k)&127] = atomic.LoadUint32(word32(r.data, off+uint64(k)*4))
			}
		}}
	}
	return ops
}

func (w *wave) scalarOffset(i *instr) uint64 {
	off := uint64(int64(i.inst.Offset()))
	if s := &i.src[1]; s.kind == srcScalar {
		off += uint64(w.s[s.reg&127])
	}
	return off
}

// access is what a memory operation does with each lane.
type access struct {
	bytes  uint64 // 1, 2 or a multiple of 4
	store  bool
	signed bool
	lds    bool  // into local memory
	half   uint8 // D16: 1 the lower half of the register, 2 the upper; stores take it from there
}

func accesses(load, store string) map[string]access {
	list := map[string]access{
		load + "ubyte": {bytes: 1}, load + "sbyte": {bytes: 1, signed: true}, load + "ushort": {bytes: 2}, load + "sshort": {bytes: 2, signed: true},
		load + "ubyte_d16": {bytes: 1, half: 1}, load + "ubyte_d16_hi": {bytes: 1, half: 2}, load + "sbyte_d16": {bytes: 1, signed: true, half: 1},
		load + "sbyte_d16_hi": {bytes: 1, signed: true, half: 2}, load + "short_d16": {bytes: 2, half: 1}, load + "short_d16_hi": {bytes: 2, half: 2},
		load + "dword": {bytes: 4}, load + "dwordx2": {bytes: 8}, load + "dwordx3": {bytes: 12}, load + "dwordx4": {bytes: 16},
		store + "byte": {bytes: 1, store: true}, store + "short": {bytes: 2, store: true}, store + "byte_d16_hi": {bytes: 1, store: true, half: 2},
		store + "short_d16_hi": {bytes: 2, store: true, half: 2},
		store + "dword":        {bytes: 4, store: true}, store + "dwordx2": {bytes: 8, store: true}, store + "dwordx3": {bytes: 12, store: true}, store + "dwordx4": {bytes: 16, store: true},
	}
	return list
}

// vectorMemory are FLAT, GLOBAL, SCRATCH and MUBUF.
func vectorMemory() map[string]*operation {
	ops := map[string]*operation{}
	for _, prefix := range []string{"flat_", "global_", "scratch_", "buffer_"} {
		for name, a := range accesses(prefix+"load_", prefix+"store_") {
			ops[name] = &operation{run: func(w *wave, i *instr) { w.access(i, a) }}
		}
		for name, a := range accesses(prefix+"load_lds_", "") {
			a.lds = true
			known := prefix == "global_" && a.bytes != 8 || prefix == "scratch_" && a.bytes <= 4
			if known && !a.store && a.half == 0 {
				ops[name] = &operation{run: func(w *wave, i *instr) { w.access(i, a) }}
			}
		}
		if prefix == "scratch_" {
			continue
		}
		for name, f := range atomics32() {
			ops[prefix+"atomic_"+name] = &operation{run: func(w *wave, i *instr) { w.atomic(i, 4, name == "cmpswap", f) }}
		}
		for name, f := range atomics64() {
			ops[prefix+"atomic_"+name] = &operation{run: func(w *wave, i *instr) { w.atomic(i, 8, strings.HasPrefix(name, "cmpswap"), f) }}
		}
	}
	return ops
}

// lanesOf computes the address of each lane. Private ones come without the
// aperture, as offsets.
func (w *wave) lanesOf(i *instr, addr *[lanes]uint64) (private bool) {
	inst := i.inst
	var va, sa isa.Operand
	for _, o := range inst.Args() {
		switch o.Role {
		case isa.RoleAddr:
			va = o
		case isa.RoleBase:
			sa = o
		}
	}
	base := uint64(int64(inst.Offset()))
	if sa.Kind == isa.SGPR {
		if sa.Width == 2 {
			base += w.pair(uint16(sa.Value))
		} else {
			base += uint64(w.s[sa.Value&127])
		}
	}
	switch {
	case va.Kind != isa.VGPR:
		for l := range addr {
			addr[l] = base
		}
	case va.Width == 2:
		lo, hi := &w.v[va.Value], &w.v[(va.Value+1)%vregs]
		for l := range addr {
			addr[l] = uint64(lo[l]) + uint64(hi[l])<<32 + base
		}
	default:
		lo := &w.v[va.Value]
		for l := range addr {
			addr[l] = uint64(lo[l]) + base
		}
	}
	if inst.Segment() == 1 {
		for l := range addr {
			addr[l] = uint64(uint32(addr[l]))
		}
		return true
	}
	return false
}

// lanesOfAny is lanesOf for MUBUF as well. It is nil when the wave has failed.
func (w *wave) lanesOfAny(i *instr) *places {
	p := &w.places
	if i.inst.Enc == isa.MUBUF {
		var ok bool
		if *p, ok = w.bufferLanes(i); !ok {
			return nil
		}
		return p
	}
	p.private, p.bounded = w.lanesOf(i, &p.addr), false
	return p
}

// scratchDescriptor is the last word of the buffer descriptor of private memory:
// ADD_TID_ENABLE with an index stride of 64 and elements of 4 bytes.
const scratchDescriptor = 1<<23 | 3<<21 | 1<<19

// places are the addresses of all lanes, or their offsets in private memory.
type places struct {
	addr    [lanes]uint64
	room    [lanes]uint64 // bytes from there on that a buffer allows
	private bool
	bounded bool // room counts
	words   [4]uint32
}

// bufferLanes are the addresses of MUBUF ("Vega" ISA, "Buffer Addressing"): of
// private memory, by the descriptor that start gives a wave, or of a buffer.
func (w *wave) bufferLanes(i *instr) (p places, ok bool) {
	inst := i.inst
	var va, rsrc, so isa.Operand
	for _, o := range inst.Args() {
		switch o.Role {
		case isa.RoleAddr:
			va = o
		case isa.RoleBase:
			rsrc = o
		case isa.RoleOffset:
			so = o
		}
	}
	d := w.bufferWords(rsrc.Value)
	p.words, p.private, p.bounded = d, d[3]&(1<<23) != 0 && d[0] == 0 && d[3] == scratchDescriptor, true
	soffset := uint64(0)
	switch {
	case so.Kind == isa.SGPR:
		soffset = uint64(w.s[so.Value&127])
	case so.Kind == isa.Const:
		v, _ := constant(so, &operation{})
		soffset = v
	}
	base := uint64(d[0]) | uint64(d[1]&0xffff)<<32
	for l := range p.addr {
		off, index, reg := uint64(inst.Offset()), uint64(0), va.Value
		if inst.IdxEn() {
			index = uint64(w.v[reg%vregs][l])
			reg++
		}
		if inst.OffEn() {
			off += uint64(w.v[reg%vregs][l])
		}
		if p.private {
			p.addr[l] = uint64(uint32(off + soffset/uint64(w.size)))
			continue
		}
		if d[3]&(1<<23) != 0 { // ADD_TID_ENABLE
			index += uint64(l)
		}
		at, room := bufferPlace(d, index, off, soffset)
		if number := inst.Generation(); number > 9 {
			if at, room, ok = rdnaPlace(d, number, index, off, soffset); !ok {
				w.fail(i, "a swizzled buffer is not supported")
				return p, false
			}
		}
		p.addr[l], p.room[l] = base+at, room
	}
	if p.private && inst.IdxEn() {
		w.fail(i, "private memory with an index is not supported")
		return p, false
	}
	p.bounded = !p.private
	return p, true
}

// privateAt returns where a dword of a lane's private memory lies: dword 0 of
// all lanes, then dword 1, as the swizzled buffer has it.
func privateAt(addr uint64, lane int) uint64 { return (addr>>2*lanes+uint64(lane))*4 + addr&3 }

func (w *wave) readPrivate(i *instr, lane int, addr, n uint64) (v [4]uint32, ok bool) {
	if limit := uint64(w.group.launch.private); addr > limit || n > limit-addr {
		w.failLane(i, lane, "load of %d private bytes at 0x%x: there are %d", n, addr, limit)
		return v, false
	}
	if addr&3 == 0 && n >= 4 {
		for k := range n / 4 {
			v[k] = load32(w.scratch, privateAt(addr+4*k, lane))
		}
		return v, true
	}
	for k := range n {
		v[k/4] |= uint32(w.scratch[privateAt(addr+k, lane)]) << (8 * (k & 3))
	}
	return v, true
}

func (w *wave) writePrivate(i *instr, lane int, addr, n uint64, v [4]uint32) bool {
	if limit := uint64(w.group.launch.private); addr > limit || n > limit-addr {
		w.failLane(i, lane, "store of %d private bytes at 0x%x: there are %d", n, addr, limit)
		return false
	}
	for k := range n {
		w.scratch[privateAt(addr+k, lane)] = byte(v[k/4] >> (8 * (k & 3)))
	}
	return true
}

// shared returns where n bytes of local memory lie.
func (w *wave) shared(i *instr, lane int, addr, n uint64, write bool) ([]byte, bool) {
	if limit := uint64(w.group.size); addr > limit || n > limit-addr {
		w.failLane(i, lane, "%s of %d local bytes at 0x%x: there are %d", verb(write), n, addr, limit)
		return nil, false
	}
	return w.group.lds[addr:], true
}

func (w *wave) access(i *instr, a access) {
	p := w.lanesOfAny(i)
	if p == nil {
		return
	}
	addr, private := &p.addr, p.private
	local, lds := w.intoLocal(i, a)
	reg := dataRegister(i.inst)
	flat := i.inst.Enc == isa.FLAT && i.inst.Segment() == 0
	for m := w.exec(); m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m) & 63
		at := addr[l]
		inPrivate := private || flat && at>>32 == privateAperture>>32
		var v [4]uint32
		if a.store {
			for k := range (a.bytes + 3) / 4 {
				v[k] = w.v[(reg+int(k))%vregs][l]
			}
			if a.half == 2 {
				v[0] >>= 16
			}
		}
		switch {
		case inPrivate && a.store:
			if !w.writePrivate(i, l, uint64(uint32(at)), a.bytes, v) {
				return
			}
			continue
		case flat && at>>32 == sharedAperture>>32:
			data, ok := w.shared(i, l, uint64(uint32(at)), a.bytes, a.store)
			if !ok {
				return
			}
			if a.store {
				putBytes(data, 0, a.bytes, &v)
				continue
			}
			getBytes(data, 0, a.bytes, &v)
		case inPrivate:
			var ok bool
			if v, ok = w.readPrivate(i, l, uint64(uint32(at)), a.bytes); !ok {
				return
			}
		case p.bounded && p.room[l] < a.bytes: // a buffer gives zero beyond its end, and takes nothing
			n := p.room[l] &^ 3
			if n == 0 {
				break
			}
			r, off := w.global(i, l, at, n, a.store)
			if r == nil {
				return
			}
			if a.store {
				storeShared(r.data, off, n, &v)
			} else {
				loadShared(r.data, off, n, &v)
			}
		default:
			r, off := w.global(i, l, at, a.bytes, a.store)
			if r == nil {
				return
			}
			if a.store {
				storeShared(r.data, off, a.bytes, &v)
				continue
			}
			loadShared(r.data, off, a.bytes, &v)
		}
		switch {
		case a.store: // beyond the end of a buffer
		case lds:
			n := max(a.bytes, 4)
			mem, ok := w.shared(i, l, local+n*uint64(l), n, true)
			if !ok {
				return
			}
			if a.signed {
				shift := 32 - 8*uint(a.bytes)
				v[0] = uint32(int32(v[0]<<shift) >> shift)
			}
			putBytes(mem, 0, n, &v)
		default:
			w.loaded(reg, l, a, &v)
		}
	}
}

func putBytes(data []byte, off, n uint64, v *[4]uint32) {
	switch n {
	case 1:
		data[off] = byte(v[0])
	case 2:
		store16(data, off, v[0])
	default:
		for k := range n / 4 {
			store32(data, off+4*k, v[k])
		}
	}
}

func getBytes(data []byte, off, n uint64, v *[4]uint32) {
	switch n {
	case 1:
		v[0] = uint32(data[off])
	case 2:
		v[0] = load16(data, off)
	default:
		for k := range n / 4 {
			v[k] = load32(data, off+4*k)
		}
	}
}

// loaded puts what a lane has loaded into its registers.
func (w *wave) loaded(reg, l int, a access, v *[4]uint32) {
	if a.signed {
		shift := 32 - 8*uint(a.bytes)
		v[0] = uint32(int32(v[0]<<shift) >> shift)
	}
	d := &w.v[reg%vregs]
	switch a.half {
	case 1:
		d[l] = d[l]&0xffff0000 | v[0]&0xffff
		return
	case 2:
		d[l] = d[l]&0xffff | v[0]<<16
		return
	}
	d[l] = v[0]
	for k := 1; k < int(a.bytes+3)/4; k++ {
		w.v[(reg+k)%vregs][l] = v[k]
	}
}

// dataRegister returns the first register that is loaded or stored.
func dataRegister(inst *isa.Inst) int {
	for _, o := range inst.Args() {
		if o.Role == isa.RoleDst || o.Role == isa.RoleData0 {
			return int(register(o))
		}
	}
	return 0
}

func atomics32() map[string]func(old, v uint64) uint64 {
	return map[string]func(old, v uint64) uint64{
		"swap": func(_, v uint64) uint64 { return v }, "add": func(o, v uint64) uint64 { return o + v }, "sub": func(o, v uint64) uint64 { return o - v },
		"smin": func(o, v uint64) uint64 { return uint64(uint32(min(int32(o), int32(v)))) }, "umin": func(o, v uint64) uint64 { return min(o, v) },
		"smax": func(o, v uint64) uint64 { return uint64(uint32(max(int32(o), int32(v)))) }, "umax": func(o, v uint64) uint64 { return max(o, v) },
		"and": func(o, v uint64) uint64 { return o & v }, "or": func(o, v uint64) uint64 { return o | v }, "xor": func(o, v uint64) uint64 { return o ^ v },
		"inc": func(o, v uint64) uint64 {
			if o >= v {
				return 0
			}
			return o + 1
		},
		"dec": func(o, v uint64) uint64 {
			if o == 0 || o > v {
				return v
			}
			return o - 1
		},
		"add_f32": func(o, v uint64) uint64 { return uint64(u32(f32(uint32(o)) + f32(uint32(v)))) }, "cmpswap": nil,
		"pk_add_f16": func(o, v uint64) uint64 {
			return halves(o, v, func(a, b uint32) uint32 { return uint32(toHalf(fromHalf(uint16(a)) + fromHalf(uint16(b)))) })
		},
		"pk_add_bf16": func(o, v uint64) uint64 {
			return halves(o, v, func(a, b uint32) uint32 { return toBrain(fromBrain(a) + fromBrain(b)) })
		},
	}
}

// halves does f to both halves of a word.
func halves(o, v uint64, f func(a, b uint32) uint32) uint64 {
	return uint64(f(uint32(o)&0xffff, uint32(v)&0xffff) | f(uint32(o>>16)&0xffff, uint32(v>>16)&0xffff)<<16)
}

func atomics64() map[string]func(old, v uint64) uint64 {
	list := map[string]func(old, v uint64) uint64{
		"smin_x2": func(o, v uint64) uint64 { return uint64(min(int64(o), int64(v))) }, "smax_x2": func(o, v uint64) uint64 { return uint64(max(int64(o), int64(v))) },
		"add_f64": func(o, v uint64) uint64 { return u64(f64(o) + f64(v)) }, "cmpswap_x2": nil,
		"min_f64": func(o, v uint64) uint64 { return pickNumber(o, v, func(a, b float64) float64 { return min(a, b) }) },
		"max_f64": func(o, v uint64) uint64 { return pickNumber(o, v, func(a, b float64) float64 { return max(a, b) }) },
	}
	for _, name := range []string{"swap", "add", "sub", "umin", "umax", "and", "or", "xor", "inc", "dec"} {
		list[name+"_x2"] = atomics32()[name]
	}
	return list
}

// atomic does f to the memory of each lane. For a comparison the data is the new
// value, then the one compared with.
func (w *wave) atomic(i *instr, n uint64, swap bool, f func(old, v uint64) uint64) {
	p := w.lanesOfAny(i)
	if p == nil {
		return
	}
	addr := &p.addr
	if p.private {
		w.fail(i, "an atomic operation on private memory")
		return
	}
	inst := i.inst
	var data, dst isa.Operand
	for _, o := range inst.Args() {
		switch o.Role {
		case isa.RoleData0:
			data = o
		case isa.RoleDst:
			dst = o
		}
	}
	result := dst.Kind != isa.None
	if inst.Enc == isa.MUBUF {
		dst, result = data, inst.GLC()
	}
	from, to := int(register(data)), int(register(dst))
	flat := inst.Enc == isa.FLAT && inst.Segment() == 0
	for m := w.exec(); m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m) & 63
		read := func(k int) uint64 {
			if n == 8 {
				return uint64(w.v[(from+2*k)%vregs][l]) | uint64(w.v[(from+2*k+1)%vregs][l])<<32
			}
			return uint64(w.v[(from+k)%vregs][l])
		}
		var mem []byte
		var off uint64
		if p.bounded && p.room[l] < n { // nothing is there
			if result {
				w.setLane(to, l, n, 0)
			}
			continue
		}
		switch {
		case addr[l]%n != 0:
			w.failLane(i, l, "an atomic operation at 0x%x, which is not aligned to %d bytes", addr[l], n)
			return
		case flat && addr[l]>>32 == sharedAperture>>32:
			var ok bool
			if mem, ok = w.shared(i, l, uint64(uint32(addr[l])), n, true); !ok {
				return
			}
		case flat && addr[l]>>32 == privateAperture>>32:
			w.failLane(i, l, "an atomic operation on private memory")
			return
		default:
			r, o := w.global(i, l, addr[l], n, true)
			if r == nil {
				return
			}
			mem, off = r.data, o
		}
		v, cmp := read(0), uint64(0)
		if swap {
			cmp = read(1)
		}
		old := update(mem, off, n, swap, v, cmp, f)
		if result {
			w.v[to%vregs][l] = uint32(old)
			if n == 8 {
				w.v[(to+1)%vregs][l] = uint32(old >> 32)
			}
		}
	}
}

// update changes memory in one step and returns what was there. Other cores may
// do the same meanwhile.
func update(mem []byte, off, n uint64, swap bool, v, cmp uint64, f func(old, v uint64) uint64) uint64 {
	for {
		var old uint64
		if n == 4 {
			old = uint64(atomic.LoadUint32(word32(mem, off)))
		} else {
			old = atomic.LoadUint64(word64(mem, off))
		}
		next := v
		switch {
		case swap && old != cmp:
			return old
		case !swap:
			next = f(old, v)
		}
		if n == 4 {
			if atomic.CompareAndSwapUint32(word32(mem, off), uint32(old), uint32(next)) {
				return old
			}
			continue
		}
		if atomic.CompareAndSwapUint64(word64(mem, off), old, next) {
			return old
		}
	}
}
