package emulator

import (
	"math/bits"
	"strings"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// rdnaBlocks move up to 32 registers of each lane at once ("RDNA 4" ISA, "Block VGPR
// Load & Store"): those that M0 has a bit for. A register that is left out leaves its
// word in memory out as well.
func rdnaBlocks() map[string]*operation {
	ops := map[string]*operation{}
	for _, prefix := range []string{"global_", "scratch_"} {
		ops[prefix+"load_block"] = &operation{run: func(w *wave, i *instr) { w.block(i, false) }}
		ops[prefix+"store_block"] = &operation{run: func(w *wave, i *instr) { w.block(i, true) }}
	}
	return ops
}

func isBlock(name string) bool { return strings.HasSuffix(name, "_block") }

func (w *wave) block(i *instr, store bool) {
	var addr [lanes]uint64
	private := w.lanesOf(i, &addr)
	reg := dataRegister(i.inst)
	for m := w.exec(); m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m) & 63
		for b := w.s[isa.M0]; b != 0; b &= b - 1 {
			n := bits.TrailingZeros32(b)
			d, at := &w.v[(reg+n)%vregs][l], addr[l]+4*uint64(n)
			v, ok := [4]uint32{*d}, true
			switch {
			case private && store:
				ok = w.writePrivate(i, l, at, 4, v)
			case private:
				v, ok = w.readPrivate(i, l, at, 4)
			default:
				r, off := w.global(i, l, at, 4, store)
				switch {
				case r == nil:
					ok = false
				case store:
					storeShared(r.data, off, 4, &v)
				default:
					loadShared(r.data, off, 4, &v)
				}
			}
			if !ok {
				return
			}
			*d = v[0]
		}
	}
}

// touchesMany lists what the instructions access that do more with a lane than
// others, or less: it is false where an instruction is none of them.
func (w *wave) touchesMany(i *instr, add func(l int, s space, addr, bytes uint64, reg int)) bool {
	name := i.inst.Name()
	tile := strings.HasPrefix(name, "global_load_tr_")
	if !tile && !isBlock(name) {
		return false
	}
	var addr [lanes]uint64
	where := inGlobal
	if w.lanesOf(i, &addr) {
		where = inPrivate
	}
	reg := dataRegister(i.inst)
	for m := w.exec(); m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m) & 63
		if tile {
			if l < tileLanes {
				add(l, where, addr[l], sizeOf(strings.Replace(name, "_tr_", "_", 1)), -1)
			}
			continue
		}
		for b := w.s[isa.M0]; b != 0; b &= b - 1 {
			n := bits.TrailingZeros32(b)
			add(l, where, addr[l]+4*uint64(n), 4, reg+n)
		}
	}
	return true
}

// blockUses are the registers that a block names: those of M0 where it is stored, and
// the address.
func (w *wave) blockUses(i *instr) (uses []span) {
	for _, o := range i.inst.Args() {
		s := spanOf(o)
		if o.Role != isa.RoleData0 {
			if o.Role != isa.RoleDst {
				uses = append(uses, s)
			}
			continue
		}
		for b := w.s[isa.M0]; b != 0; b &= b - 1 {
			n := bits.TrailingZeros32(b)
			uses = append(uses, span{s.from + n, s.from + n + 1})
		}
	}
	return uses
}

// meets reports that a register is still being loaded. Of a block those alone are that
// M0 had a bit for.
func (p *pending) meets(use span) bool {
	if !p.block || !p.result.meets(use) {
		return p.result.meets(use)
	}
	for r := max(use.from, p.result.from); r < min(use.to, p.result.to); r++ {
		if p.mask>>(r-p.result.from)&1 != 0 {
			return true
		}
	}
	return false
}
