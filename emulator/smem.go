package emulator

import (
	"strings"
	"sync/atomic"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// scalarPlace is where a scalar memory operation acts.
type scalarPlace struct {
	data  int    // first scalar register
	addr  uint64 // aligned to words
	exact uint64 // not aligned: of loads of 8 and 16 bits
	limit uint64 // bytes of a buffer from addr on
}

// scalarPlaceOf computes it from the operands: a base of 64 bits, or a buffer's
// descriptor of four words, and an offset of a register, a number, or both.
func (w *wave) scalarPlaceOf(inst *isa.Inst) scalarPlace {
	p := scalarPlace{limit: ^uint64(0)}
	off := uint64(int64(inst.Offset()))
	for _, o := range inst.Args() {
		switch o.Role {
		case isa.RoleData0, isa.RoleSDst:
			p.data = int(o.Value)
		case isa.RoleBase:
			reg := uint16(o.Value)
			p.addr = w.pair(reg)
			if o.Width == 4 { // "Vega" ISA, "Scalar Buffer Load": clamped to the buffer's size
				stride := uint64(w.s[(reg+1)&127]>>16) & 0x3fff
				p.addr &= 1<<48 - 1
				p.limit = uint64(w.s[(reg+2)&127]) * max(stride, 1)
			}
		case isa.RoleOffset:
			if o.Kind == isa.SGPR {
				off += uint64(w.s[o.Value&127])
			}
		}
	}
	p.exact = p.addr + off
	off &^= 3
	p.addr = p.addr&^3 + off
	if p.limit != ^uint64(0) {
		p.limit -= min(off, p.limit)
	}
	return p
}

// scalarStores are the operations through the scalar cache beside the loads.
func scalarStores() map[string]*operation {
	ops := map[string]*operation{}
	for name, n := range map[string]int{"dword": 1, "dwordx2": 2, "dwordx4": 4, "dwordx8": 8, "dwordx16": 16} {
		ops["s_buffer_load_"+name] = &operation{run: func(w *wave, i *instr) {
			p := w.scalarPlaceOf(i.inst)
			for k := range n {
				v := uint32(0) // beyond the buffer
				if uint64(k)*4+4 <= p.limit {
					r, off := w.global(i, -1, p.addr+uint64(k)*4, 4, false)
					if r == nil {
						return
					}
					v = atomic.LoadUint32(word32(r.data, off))
				}
				w.s[(p.data+k)&127] = v
			}
		}}
		if n > 4 {
			continue
		}
		for _, prefix := range []string{"s_store_", "s_buffer_store_"} {
			ops[prefix+name] = &operation{run: func(w *wave, i *instr) {
				p := w.scalarPlaceOf(i.inst)
				for k := range n {
					if uint64(k)*4+4 > p.limit {
						return
					}
					r, off := w.global(i, -1, p.addr+uint64(k)*4, 4, true)
					if r == nil {
						return
					}
					atomic.StoreUint32(word32(r.data, off), w.s[(p.data+k)&127])
				}
			}}
		}
	}
	set := func(name string, n uint64, f func(old, v uint64) uint64) {
		swap := strings.HasPrefix(name, "cmpswap")
		for _, prefix := range []string{"s_atomic_", "s_buffer_atomic_"} {
			ops[prefix+name] = &operation{run: func(w *wave, i *instr) { w.scalarAtomic(i, n, swap, f) }}
		}
	}
	for name, f := range atomics32() {
		if !strings.Contains(name, "f32") && !strings.Contains(name, "f16") {
			set(name, 4, f)
		}
	}
	for name, f := range atomics64() {
		if strings.HasSuffix(name, "_x2") {
			set(name, 8, f)
		}
	}
	return ops
}

func (w *wave) scalarAtomic(i *instr, n uint64, swap bool, f func(old, v uint64) uint64) {
	p := w.scalarPlaceOf(i.inst)
	read := func(reg int) uint64 {
		if n == 8 {
			return w.pair(uint16(reg))
		}
		return uint64(w.s[reg&127])
	}
	var old uint64
	if n <= p.limit {
		r, off := w.global(i, -1, p.addr, n, true)
		switch {
		case r == nil:
			return
		case off%n != 0:
			w.fail(i, "an atomic operation at 0x%x, which is not aligned to %d bytes", p.addr, n)
			return
		}
		cmp := uint64(0)
		if swap {
			cmp = read(p.data + int(n/4))
		}
		old = update(r.data, off, n, swap, read(p.data), cmp, f)
	}
	if !i.inst.GLC() {
		return
	}
	w.s[p.data&127] = uint32(old)
	if n == 8 {
		w.s[(p.data+1)&127] = uint32(old >> 32)
	}
}
