package emulator

import (
	"math"
	"math/bits"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// localMore are the operations of local memory that are rarer.
func localMore() map[string]*operation {
	ops := map[string]*operation{}
	both := func(stem, tail string, n uint64, swap bool, f func(old, v uint64) uint64) {
		ops["ds_"+stem+"_"+tail] = &operation{run: func(w *wave, i *instr) { w.localAtomic(i, n, swap, false, f) }}
		ops["ds_"+stem+"_rtn_"+tail] = &operation{run: func(w *wave, i *instr) { w.localAtomic(i, n, swap, true, f) }}
	}
	number := func(f func(a, b float64) float64) func(o, v uint64) uint64 {
		return func(o, v uint64) uint64 {
			return uint64(u32(float32(f64(pickNumber(u64(float64(f32(uint32(o)))), u64(float64(f32(uint32(v)))), f)))))
		}
	}
	both("min", "f32", 4, false, number(math.Min))
	both("max", "f32", 4, false, number(math.Max))
	both("min", "f64", 8, false, atomics64()["min_f64"])
	both("max", "f64", 8, false, atomics64()["max_f64"])
	both("rsub", "u32", 4, false, func(o, v uint64) uint64 { return v - o })
	both("rsub", "u64", 8, false, func(o, v uint64) uint64 { return v - o })
	both("pk_add", "f16", 4, false, atomics32()["pk_add_f16"])
	both("pk_add", "bf16", 4, false, atomics32()["pk_add_bf16"])
	// Those with two values: f has the one of data0 and that of data1.
	two := func(stem, tail string, n uint64, f func(old, a, b uint64) uint64) {
		for _, rtn := range []bool{false, true} {
			name := "ds_" + stem + map[bool]string{true: "_rtn"}[rtn] + "_" + tail
			ops[name] = &operation{run: func(w *wave, i *instr) {
				_, data0, data1, _ := dsOperands(i.inst)
				w.localEach(i, n, func(l int, old func(f func(old uint64) uint64) uint64) (uint64, bool) {
					a, b := w.laneValue(data0, l, n), w.laneValue(data1, l, n)
					return old(func(o uint64) uint64 { return f(o, a, b) }), rtn
				})
			}}
		}
	}
	masked := func(o, a, b uint64) uint64 { return o&^a | b }
	two("mskor", "b32", 4, masked)
	two("mskor", "b64", 8, masked)
	two("cmpst", "f32", 4, func(o, a, b uint64) uint64 {
		if f32(uint32(o)) == f32(uint32(a)) {
			return b
		}
		return o
	})
	two("cmpst", "f64", 8, func(o, a, b uint64) uint64 {
		if f64(o) == f64(a) {
			return b
		}
		return o
	})
	two("wrap", "b32", 4, func(o, a, b uint64) uint64 {
		if o >= a {
			return o - a
		}
		return o + b
	})
	delete(ops, "ds_wrap_b32") // it always returns
	for name, unit := range map[string]uint64{"ds_wrxchg2_rtn_b": 1, "ds_wrxchg2st64_rtn_b": 64} {
		ops[name+"32"] = &operation{run: func(w *wave, i *instr) { w.exchange2(i, 4, unit*4) }}
		ops[name+"64"] = &operation{run: func(w *wave, i *instr) { w.exchange2(i, 8, unit*8) }}
	}
	ops["ds_append"] = &operation{run: func(w *wave, i *instr) { w.countLanes(i, 1) }}
	ops["ds_consume"] = &operation{run: func(w *wave, i *instr) { w.countLanes(i, -1) }}
	ops["ds_read_addtid_b32"] = &operation{run: func(w *wave, i *instr) { w.byLane(i, false) }}
	ops["ds_write_addtid_b32"] = &operation{run: func(w *wave, i *instr) { w.byLane(i, true) }}
	return ops
}

func (w *wave) laneValue(reg, l int, n uint64) uint64 {
	v := uint64(w.v[reg%vregs][l])
	if n == 8 {
		v |= uint64(w.v[(reg+1)%vregs][l]) << 32
	}
	return v
}

func (w *wave) setLane(reg, l int, n, v uint64) {
	w.v[reg%vregs][l] = uint32(v)
	if n == 8 {
		w.v[(reg+1)%vregs][l] = uint32(v >> 32)
	}
}

// localEach finds the word of each lane. f changes it through the function that
// it gets, and says whether what was there is a result.
func (w *wave) localEach(i *instr, n uint64, f func(l int, old func(func(uint64) uint64) uint64) (uint64, bool)) {
	va, _, _, dst := dsOperands(i.inst)
	off := uint32(i.inst.Offset())
	for m := w.exec(); m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m) & 63
		at := uint64(w.v[va%vregs][l] + off)
		mem, ok := w.localWord(i, l, at, n)
		if !ok {
			return
		}
		v, result := f(l, func(g func(uint64) uint64) uint64 {
			return update(mem, 0, n, false, 0, 0, func(old, _ uint64) uint64 { return g(old) })
		})
		if result {
			w.setLane(dst, l, n, v)
		}
	}
}

func (w *wave) localWord(i *instr, l int, at, n uint64) ([]byte, bool) {
	if at%n != 0 {
		w.failLane(i, l, "an atomic operation at local address 0x%x, which is not aligned to %d bytes", at, n)
		return nil, false
	}
	return w.shared(i, l, at, n, true)
}

// exchange2 writes two values and returns what was there.
func (w *wave) exchange2(i *instr, n, unit uint64) {
	va, data0, data1, dst := dsOperands(i.inst)
	o0, o1 := i.inst.Offsets()
	for m := w.exec(); m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m) & 63
		var old [2]uint64
		for k, reg := range []int{data0, data1} {
			at := uint64(uint32(uint64(w.v[va%vregs][l]) + uint64([2]uint32{o0, o1}[k])*unit))
			mem, ok := w.localWord(i, l, at, n)
			if !ok {
				return
			}
			old[k] = update(mem, 0, n, false, w.laneValue(reg, l, n), 0, func(_, v uint64) uint64 { return v })
		}
		w.setLane(dst, l, n, old[0])
		w.setLane(dst+int(n/4), l, n, old[1])
	}
}

// countLanes adds the number of active lanes to a counter, where M0 says as LLVM
// sets it, and returns what was there.
func (w *wave) countLanes(i *instr, sign int) {
	_, _, _, dst := dsOperands(i.inst)
	mem, ok := w.localWord(i, -1, uint64(w.s[isa.M0]&0xffff)+uint64(i.inst.Offset()), 4)
	if !ok {
		return
	}
	n := uint64(sign * bits.OnesCount64(w.exec()))
	old := update(mem, 0, 4, false, n, 0, func(o, v uint64) uint64 { return o + v })
	d := &w.tmp[0]
	for l := range d {
		d[l] = uint32(old)
	}
	merge(&w.v[dst%vregs], d, w.exec())
}

// byLane reads or writes a word for each lane, one beside the other.
func (w *wave) byLane(i *instr, write bool) {
	_, data0, _, dst := dsOperands(i.inst)
	base := uint64(w.s[isa.M0]&0xffff) + uint64(i.inst.Offset())
	for m := w.exec(); m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m) & 63
		mem, ok := w.shared(i, l, base+4*uint64(l), 4, write)
		if !ok {
			return
		}
		if write {
			store32(mem, 0, w.v[data0%vregs][l])
		} else {
			w.v[dst%vregs][l] = load32(mem, 0)
		}
	}
}
