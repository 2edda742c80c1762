package emulator

import (
	"math/bits"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// localMemory are the DS instructions ("Vega" ISA, "Data Share Operations").
// Only the waves of a work-group share local memory, and they run in turns on
// one worker: nothing here needs to be atomic.
func localMemory() map[string]*operation {
	ops := map[string]*operation{}
	set := func(name string, run func(*wave, *instr)) { ops[name] = &operation{run: run} }
	for name, a := range localAccesses() {
		set(name, func(w *wave, i *instr) { w.local(i, a) })
	}
	for _, stride := range []uint64{1, 64} {
		suffix := map[uint64]string{1: "", 64: "st64"}[stride]
		for name, n := range map[string]uint64{"b32": 4, "b64": 8} {
			set("ds_read2"+suffix+"_"+name, func(w *wave, i *instr) { w.local2(i, n, n*stride, false) })
			set("ds_write2"+suffix+"_"+name, func(w *wave, i *instr) { w.local2(i, n, n*stride, true) })
		}
	}
	for name, f := range map[string]string{
		"add": "add", "sub": "sub", "inc": "inc", "dec": "dec", "min_i": "smin", "max_i": "smax", "min_u": "umin", "max_u": "umax", "and_b": "and", "or_b": "or", "xor_b": "xor",
	} {
		kind := map[bool]string{true: "", false: "_u"}[len(name) > 3 && name[len(name)-2] == '_' || name == "or_b"]
		for _, rtn := range []string{"", "_rtn"} {
			base := name
			tail := ""
			if kind == "" {
				base, tail = name[:len(name)-2], name[len(name)-2:]
			}
			g, h := atomics32()[f], atomics64()[f+"_x2"]
			set("ds_"+base+rtn+kind+tail+"32", func(w *wave, i *instr) { w.localAtomic(i, 4, false, rtn != "", g) })
			set("ds_"+base+rtn+kind+tail+"64", func(w *wave, i *instr) { w.localAtomic(i, 8, false, rtn != "", h) })
		}
	}
	for _, n := range []uint64{4, 8} {
		size := map[uint64]string{4: "32", 8: "64"}[n]
		set("ds_wrxchg_rtn_b"+size, func(w *wave, i *instr) { w.localAtomic(i, n, false, true, func(_, v uint64) uint64 { return v }) })
		set("ds_cmpst_b"+size, func(w *wave, i *instr) { w.localAtomic(i, n, true, false, nil) })
		set("ds_cmpst_rtn_b"+size, func(w *wave, i *instr) { w.localAtomic(i, n, true, true, nil) })
	}
	set("ds_add_f32", func(w *wave, i *instr) { w.localAtomic(i, 4, false, false, atomics32()["add_f32"]) })
	set("ds_add_rtn_f32", func(w *wave, i *instr) { w.localAtomic(i, 4, false, true, atomics32()["add_f32"]) })
	set("ds_add_f64", func(w *wave, i *instr) { w.localAtomic(i, 8, false, false, atomics64()["add_f64"]) })
	set("ds_add_rtn_f64", func(w *wave, i *instr) { w.localAtomic(i, 8, false, true, atomics64()["add_f64"]) })
	set("ds_nop", func(*wave, *instr) {})
	set("ds_bpermute_b32", bpermute)
	set("ds_permute_b32", permuteForward)
	set("ds_swizzle_b32", swizzle)
	return ops
}

// localAccesses are the plain loads and stores of local memory.
func localAccesses() map[string]access {
	return map[string]access{
		"ds_read_u8": {bytes: 1}, "ds_read_i8": {bytes: 1, signed: true}, "ds_read_u16": {bytes: 2}, "ds_read_i16": {bytes: 2, signed: true},
		"ds_read_u8_d16": {bytes: 1, half: 1}, "ds_read_u8_d16_hi": {bytes: 1, half: 2}, "ds_read_u16_d16": {bytes: 2, half: 1}, "ds_read_u16_d16_hi": {bytes: 2, half: 2},
		"ds_read_i8_d16": {bytes: 1, signed: true, half: 1}, "ds_read_i8_d16_hi": {bytes: 1, signed: true, half: 2},
		"ds_read_b32": {bytes: 4}, "ds_read_b64": {bytes: 8}, "ds_read_b96": {bytes: 12}, "ds_read_b128": {bytes: 16},
		"ds_write_b8": {bytes: 1, store: true}, "ds_write_b16": {bytes: 2, store: true}, "ds_write_b8_d16_hi": {bytes: 1, store: true, half: 2}, "ds_write_b16_d16_hi": {bytes: 2, store: true, half: 2},
		"ds_write_b32": {bytes: 4, store: true}, "ds_write_b64": {bytes: 8, store: true}, "ds_write_b96": {bytes: 12, store: true}, "ds_write_b128": {bytes: 16, store: true},
	}
}

// dsOperands returns the registers of a DS instruction; -1 is none.
func dsOperands(inst *isa.Inst) (addr, data0, data1, dst int) {
	addr, data0, data1, dst = -1, -1, -1, -1
	for _, o := range inst.Args() {
		reg := int(register(o))
		switch o.Role {
		case isa.RoleAddr:
			addr = reg
		case isa.RoleData0:
			data0 = reg
		case isa.RoleData1:
			data1 = reg
		case isa.RoleDst:
			dst = reg
		}
	}
	return addr, data0, data1, dst
}

func (w *wave) local(i *instr, a access) {
	va, data, _, dst := dsOperands(i.inst)
	off := uint32(i.inst.Offset()) // sums are of 32 bits: a base may be negative
	addr := &w.v[va%vregs]
	for m := w.exec(); m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m) & 63
		mem, ok := w.shared(i, l, uint64(addr[l]+off), a.bytes, a.store)
		if !ok {
			return
		}
		var v [4]uint32
		if !a.store {
			getBytes(mem, 0, a.bytes, &v)
			w.loaded(dst, l, a, &v)
			continue
		}
		for k := range int(a.bytes+3) / 4 {
			v[k] = w.v[(data+k)%vregs][l]
		}
		if a.half == 2 {
			v[0] >>= 16
		}
		putBytes(mem, 0, a.bytes, &v)
	}
}

func (w *wave) local2(i *instr, n, unit uint64, write bool) {
	va, data0, data1, dst := dsOperands(i.inst)
	o0, o1 := i.inst.Offsets()
	words := int(n / 4)
	for m := w.exec(); m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m) & 63
		base := uint64(w.v[va%vregs][l])
		var both [2][4]uint32
		for k, off := range []uint64{uint64(o0), uint64(o1)} {
			mem, ok := w.shared(i, l, uint64(uint32(base+off*unit)), n, write)
			if !ok {
				return
			}
			if write {
				reg := data0
				if k == 1 {
					reg = data1
				}
				v := [4]uint32{w.v[reg%vregs][l], w.v[(reg+words-1)%vregs][l]}
				putBytes(mem, 0, n, &v)
				continue
			}
			getBytes(mem, 0, n, &both[k])
		}
		if !write {
			for k := range 2 * words {
				w.v[(dst+k)%vregs][l] = both[k/words][k%words]
			}
		}
	}
}

// localAtomic: for a comparison data0 is compared with and data1 is the new
// value, other than in global memory.
func (w *wave) localAtomic(i *instr, n uint64, swap, result bool, f func(old, v uint64) uint64) {
	va, data0, data1, dst := dsOperands(i.inst)
	off := uint32(i.inst.Offset()) // sums are of 32 bits: a base may be negative
	for m := w.exec(); m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m) & 63
		read := func(reg int) uint64 {
			v := uint64(w.v[reg%vregs][l])
			if n == 8 {
				v |= uint64(w.v[(reg+1)%vregs][l]) << 32
			}
			return v
		}
		at := uint64(w.v[va%vregs][l] + off)
		if at%n != 0 {
			w.failLane(i, l, "an atomic operation at local address 0x%x, which is not aligned to %d bytes", at, n)
			return
		}
		mem, ok := w.shared(i, l, at, n, true)
		if !ok {
			return
		}
		v, cmp := read(data0), uint64(0)
		if swap {
			v, cmp = read(data1), v
		}
		old := update(mem, 0, n, swap, v, cmp, f)
		if result {
			w.v[dst%vregs][l] = uint32(old)
			if n == 8 {
				w.v[(dst+1)%vregs][l] = uint32(old >> 32)
			}
		}
	}
}

// bpermute: each lane reads the data of the lane that its address, in bytes,
// names; a lane that is switched off gives zero.
func bpermute(w *wave, i *instr) {
	va, data, _, dst := dsOperands(i.inst)
	e, off := w.exec(), uint32(i.inst.Offset())
	d, addr, from := &w.tmp[0], &w.v[va%vregs], &w.v[data%vregs]
	for l := range d {
		n := w.laneWithin(l, (addr[l]+off)>>2)
		d[l] = from[n] & -uint32(e>>n&1)
	}
	merge(&w.v[dst%vregs], d, e)
}

// permuteForward: each lane writes its data to the lane that its address names;
// the highest lane wins.
func permuteForward(w *wave, i *instr) {
	va, data, _, dst := dsOperands(i.inst)
	e, off := w.exec(), uint32(i.inst.Offset())
	d := &w.tmp[0]
	*d = vec{}
	for m := e; m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m) & 63
		d[w.laneWithin(l, (w.v[va%vregs][l]+off)>>2)] = w.v[data%vregs][l]
	}
	merge(&w.v[dst%vregs], d, e)
}

func swizzle(w *wave, i *instr) {
	va, _, _, dst := dsOperands(i.inst)
	pattern, e := uint32(i.inst.Offset()), w.exec()
	d, from := &w.tmp[0], w.v[va%vregs]
	for l := range uint32(lanes) {
		n := l &^ 31
		if pattern&0x8000 != 0 {
			n = l&^3 | pattern>>(2*(l&3))&3
		} else {
			n |= (l&31&(pattern&31) | pattern>>5&31) ^ pattern>>10&31
		}
		d[l] = from[n&63] & -uint32(e>>(n&63)&1)
	}
	if pattern&0x8000 != 0 && pattern >= 0xc000 {
		w.fail(i, "this swizzle is not supported yet")
		return
	}
	merge(&w.v[dst%vregs], d, e)
}
