package emulator

import (
	"math"
	"math/bits"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// rdnaMemory are the operations on memory that GFX9 does not have: atomics on
// floats and those that stop at zero, and words of the lanes side by side.
func rdnaMemory() map[string]*operation {
	ops := map[string]*operation{}
	for _, prefix := range []string{"flat_", "global_", "buffer_"} {
		for name, f := range map[string]func(old, v uint64) uint64{
			"fmin": numberOf(single(), math.Min), "fmax": numberOf(single(), math.Max), "csub": subClamp, "cond_sub_u32": condSub,
		} {
			ops[prefix+"atomic_"+name] = &operation{run: func(w *wave, i *instr) { w.atomic(i, 4, false, f) }}
		}
		ops[prefix+"atomic_fmin_x2"] = &operation{run: func(w *wave, i *instr) { w.atomic(i, 8, false, numberOf(double(), math.Min)) }}
		ops[prefix+"atomic_fmax_x2"] = &operation{run: func(w *wave, i *instr) { w.atomic(i, 8, false, numberOf(double(), math.Max)) }}
	}
	ops["flat_atomic_sub_clamp_u32"] = ops["flat_atomic_csub"]
	delete(ops, "flat_atomic_csub") // there is none
	for name, n := range map[string]uint64{"b32": 4, "b64": 8} {
		for _, rtn := range []bool{false, true} {
			stem := "ds_cmpstore_" + map[bool]string{true: "rtn_"}[rtn]
			ops[stem+name] = &operation{run: func(w *wave, i *instr) { w.compareStore(i, n, rtn, func(old, cmp uint64) bool { return old == cmp }) }}
			f := map[uint64]format{4: single(), 8: double()}[n]
			ops[stem+"f"+name[1:]] = &operation{run: func(w *wave, i *instr) {
				w.compareStore(i, n, rtn, func(old, cmp uint64) bool { return f.value(old) == f.value(cmp) })
			}}
		}
	}
	for name, f := range map[string]func(old, v uint64) uint64{"sub_clamp": subClamp, "cond_sub": condSub} {
		ops["ds_"+name+"_u32"] = &operation{run: func(w *wave, i *instr) { w.localAtomic(i, 4, false, false, f) }}
		ops["ds_"+name+"_rtn_u32"] = &operation{run: func(w *wave, i *instr) { w.localAtomic(i, 4, false, true, f) }}
	}
	for name, store := range map[string]bool{"global_load_dword_addtid": false, "global_store_dword_addtid": true} {
		ops[name] = &operation{run: func(w *wave, i *instr) { w.globalByLane(i, store) }}
	}
	return ops
}

// subClamp and condSub subtract what fits: the one stops at zero, the other leaves
// what is less.
func subClamp(o, v uint64) uint64 { return o - min(o, v) }

func condSub(o, v uint64) uint64 {
	if o >= v {
		return o - v
	}
	return o
}

// numberOf chooses one of two floats, a number before NaN.
func numberOf(f format, choose func(a, b float64) float64) func(old, v uint64) uint64 {
	return func(o, v uint64) uint64 { return f.bitsOf(f64(pickNumber(u64(f.value(o)), u64(f.value(v)), choose))) }
}

// compareStore stores data0 where local memory holds data1: the other way round than
// ds_cmpst.
func (w *wave) compareStore(i *instr, n uint64, result bool, equal func(old, cmp uint64) bool) {
	_, data0, data1, _ := dsOperands(i.inst)
	w.localEach(i, n, func(l int, change func(func(uint64) uint64) uint64) (uint64, bool) {
		v, cmp := w.laneValue(data0, l, n), w.laneValue(data1, l, n)
		return change(func(old uint64) uint64 {
			if equal(old, cmp) {
				return v
			}
			return old
		}), result
	})
}

// globalByLane loads or stores a word for each lane, one beside the other.
func (w *wave) globalByLane(i *instr, store bool) {
	base := uint64(int64(i.inst.Offset()))
	for _, o := range i.inst.Args() {
		if o.Role == isa.RoleBase && o.Kind == isa.SGPR {
			base += w.pair(uint16(o.Value))
		}
	}
	reg := &w.v[dataRegister(i.inst)%vregs]
	for m := w.exec(); m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m) & 63
		r, off := w.global(i, l, base+4*uint64(l), 4, store)
		if r == nil {
			return
		}
		v := [4]uint32{reg[l]}
		if store {
			storeShared(r.data, off, 4, &v)
			continue
		}
		loadShared(r.data, off, 4, &v)
		reg[l] = v[0]
	}
}
