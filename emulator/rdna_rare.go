package emulator

import (
	"math"
	"math/bits"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// rdnaRare are what compilers do not write of themselves, and the documents of "RDNA 2"
// to "RDNA 4" describe: in assembly, and behind a builtin, they are met all the same.
func rdnaRare() map[string]*operation {
	ops := map[string]*operation{}
	for _, prefix := range []string{"flat_", "global_", "buffer_"} {
		for name, f := range map[string]format{"fcmpswap": single(), "cmpswap_f32": single(), "fcmpswap_x2": double()} {
			equal := func(old, cmp uint64) uint64 { return bit(f.value(old) == f.value(cmp)) }
			ops[prefix+"atomic_"+name] = &operation{run: func(w *wave, i *instr) { w.atomic(i, uint64(f.bits/8), true, equal) }}
		}
	}
	ops["ds_condxchg32_rtn_b64"] = &operation{run: (*wave).conditionalExchange}
	ops["s_movrelsd_2_b32"] = &operation{results: 1, run: func(w *wave, i *instr) {
		from, to := i.src[0].reg+uint16(w.s[isa.M0]&1023), i.dst+uint16(w.s[isa.M0]>>16&1023)
		if i.src[0].kind != srcScalar || from >= isa.VCC || to >= isa.VCC {
			w.fail(i, "s%d or s%d, with what M0 adds, is no register", from, to)
			return
		}
		w.s[to&127] = w.s[from&127]
	}}
	ops["v_swaprel_b32"] = &operation{results: 1, run: func(w *wave, i *instr) {
		from, to := i.src[0].reg+uint16(w.s[isa.M0]&1023), i.dst+uint16(w.s[isa.M0]>>16&1023)
		if max(from, to) >= firstAGPR {
			w.fail(i, "v%d, with what M0 adds, is no register", max(from, to))
			return
		}
		a, b := &w.v[from], &w.v[to]
		for m := w.exec(); m != 0; m &= m - 1 {
			l := bits.TrailingZeros64(m) & 63
			a[l], b[l] = b[l], a[l]
		}
	}}
	ops["v_mullit_f32"] = &operation{results: 1, float: 32, lane: func(a, b, c uint64) uint64 {
		x, y, z := f32(uint32(a)), f32(uint32(b)), f32(uint32(c))
		if !(y > -math.MaxFloat32) || !(z > 0) {
			return uint64(u32(-math.MaxFloat32))
		}
		return uint64(u32(x * y))
	}}
	// The halves of a wave of 64 lanes one after the other, the first result register
	// keeps the mask of the half that waits.
	ops["s_subvector_loop_begin"] = &operation{results: 1, run: func(w *wave, i *instr) {
		low, high := &w.s[isa.Exec], &w.s[isa.Exec+1]
		switch {
		case *low|*high == 0:
			w.pc = i.target
		case *low == 0:
			w.s[i.dst&127] = 0
		default:
			w.s[i.dst&127], *high = *high, 0
		}
	}}
	ops["s_subvector_loop_end"] = &operation{results: 1, run: func(w *wave, i *instr) {
		low, high, kept := &w.s[isa.Exec], &w.s[isa.Exec+1], &w.s[i.dst&127]
		switch {
		case *high != 0:
			*low = *kept
		case *kept != 0:
			*high, *kept, *low = *kept, *low, 0
			w.pc = i.target
		}
	}}
	// Only a wave that was launched with registers by request may ask for more, or give
	// some back: elsewhere the instruction is ignored. All 256 are always there.
	ops["s_alloc_vgpr"] = &operation{run: func(w *wave, i *instr) {
		const most, byRequest = 256, 6 // LLVM, AMDHSAKernelDescriptor.h, ENABLE_DYNAMIC_VGPR
		if uint32(w.group.launch.kernel.Descriptor.Rsrc2)>>byRequest&1 != 0 {
			w.scc = bit32(w.scalar32(&i.src[0])&511 <= most)
		}
	}}
	return ops
}

// matches compares for an atomic exchange: by f, or all bits where it is nil.
func matches(f func(old, cmp uint64) uint64, old, cmp uint64) bool {
	if f != nil {
		return f(old, cmp) != 0
	}
	return old == cmp
}

// conditionalExchange stores each word of data whose highest bit is set, without that
// bit, and returns what was there.
func (w *wave) conditionalExchange(i *instr) {
	va, data, _, dst := dsOperands(i.inst)
	off := uint32(i.inst.Offset())
	for m := w.exec(); m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m) & 63
		mem, ok := w.shared(i, l, uint64((w.v[va%vregs][l]+off)&0xfff8), 8, true)
		if !ok {
			return
		}
		v := [2]uint32{w.v[data%vregs][l], w.v[(data+1)%vregs][l]}
		for k := range v {
			at := uint64(4 * k)
			w.v[(dst+k)%vregs][l] = load32(mem, at)
			if v[k]>>31 != 0 {
				store32(mem, at, v[k]&^(1<<31))
			}
		}
	}
}
