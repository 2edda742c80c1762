package emulator

import (
	"math"
	"strings"
	"sync/atomic"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// rdnaScalar are the scalar operations that came with RDNA: masks of 32 lanes
// ("RDNA 2" ISA), and floats, 64 bits and narrow loads ("RDNA 4" ISA, "SOP1, SOP2,
// SOPC instructions", "Scalar Memory Operations").
func rdnaScalar() map[string]*operation {
	ops := map[string]*operation{}
	// EXEC and a source, as those of 64 lanes.
	for name, f := range map[string]func(s, e uint32) uint32{
		"and": func(s, e uint32) uint32 { return s & e }, "or": func(s, e uint32) uint32 { return s | e },
		"xor": func(s, e uint32) uint32 { return s ^ e }, "andn2": func(s, e uint32) uint32 { return s &^ e },
		"orn2": func(s, e uint32) uint32 { return s | ^e }, "nand": func(s, e uint32) uint32 { return ^(s & e) },
		"nor": func(s, e uint32) uint32 { return ^(s | e) }, "xnor": func(s, e uint32) uint32 { return ^(s ^ e) },
		"andn1": func(s, e uint32) uint32 { return ^s & e }, "orn1": func(s, e uint32) uint32 { return ^s | e },
	} {
		save := func(wrote bool) *operation {
			return &operation{results: 1, run: func(w *wave, i *instr) {
				e := w.s[isa.Exec]
				v := f(w.scalar32(&i.src[0]), e)
				if wrote {
					w.s[i.dst&127] = v
				} else {
					w.s[i.dst&127] = e
				}
				w.s[isa.Exec], w.scc = v, bit32(v != 0)
			}}
		}
		ops["s_"+name+"_saveexec_b32"] = save(false)
		if name == "andn1" || name == "andn2" {
			ops["s_"+name+"_wrexec_b32"] = save(true)
		}
	}
	ops["s_pack_hl_b32_b16"] = &operation{results: 1, run: func(w *wave, i *instr) {
		w.s[i.dst&127] = w.scalar32(&i.src[0])>>16 | w.scalar32(&i.src[1])<<16
	}}
	for name, f := range map[string]func(a, b uint64) uint64{
		"s_add_nc_u64": func(a, b uint64) uint64 { return a + b },
		"s_sub_nc_u64": func(a, b uint64) uint64 { return a - b },
		"s_mul_u64":    func(a, b uint64) uint64 { return a * b },
	} {
		ops[name] = &operation{results: 1, run: func(w *wave, i *instr) { w.setPair(i.dst, f(w.scalar64(&i.src[0]), w.scalar64(&i.src[1]))) }}
	}
	for name, a := range map[string]access{"u8": {bytes: 1}, "i8": {bytes: 1, signed: true}, "u16": {bytes: 2}, "i16": {bytes: 2, signed: true}, "b96": {bytes: 12}} {
		ops["s_load_"+name] = &operation{run: func(w *wave, i *instr) { w.scalarLoad(i, a) }}
		ops["s_buffer_load_"+name] = ops["s_load_"+name]
	}
	scalarFloats(ops)
	return ops
}

// scalarLoad loads less than a register, or three.
func (w *wave) scalarLoad(i *instr, a access) {
	p := w.scalarPlaceOf(i.inst)
	if a.bytes < 4 {
		p.limit -= min(p.exact-p.addr, p.limit)
		p.addr = p.exact
	}
	var v [4]uint32
	if a.bytes <= p.limit { // beyond a buffer is zero
		r, off := w.global(i, -1, p.addr, a.bytes, false)
		if r == nil {
			return
		}
		if a.bytes == 12 {
			for k := range v[:3] {
				v[k] = atomic.LoadUint32(word32(r.data, off+4*uint64(k)))
			}
		} else {
			loadShared(r.data, off, a.bytes, &v)
		}
	}
	if a.signed {
		shift := 32 - 8*uint(a.bytes)
		v[0] = uint32(int32(v[0]<<shift) >> shift)
	}
	for k := range (a.bytes + 3) / 4 {
		w.s[(uint64(p.data)+k)&127] = v[k]
	}
}

// scalarFloats are the floats of the scalar unit, from gfx11.5 on, and what the
// vector unit approximates for one number.
func scalarFloats(ops map[string]*operation) {
	for bits, f := range map[int]format{32: single(), 16: halfFormat()} {
		tail := map[int]string{32: "_f32", 16: "_f16"}[bits]
		set := func(name string, g func(a, b, c float64) float64) {
			op := &operation{results: 1, float: bits, run: func(w *wave, i *instr) {
				w.scalarFloat(i, f, func(in [3]uint64) uint64 { return f.bitsOf(g(f.value(in[0]), f.value(in[1]), f.value(in[2]))) })
			}}
			ops["s_"+name+tail] = op
		}
		pick := func(f func(a, b float64) float64) func(a, b, c float64) float64 {
			return func(a, b, _ float64) float64 { return f64(pickNumber(u64(a), u64(b), f)) }
		}
		// The sum or product of two numbers of 32 bits is rounded twice, which makes
		// no difference: float64 has more than twice as many bits and two.
		set("add", func(a, b, _ float64) float64 { return a + b })
		set("sub", func(a, b, _ float64) float64 { return a - b })
		set("mul", func(a, b, _ float64) float64 { return a * b })
		set("min", pick(math.Min))
		set("max", pick(math.Max))
		set("minimum", func(a, b, _ float64) float64 { return min(a, b) })
		set("maximum", func(a, b, _ float64) float64 { return max(a, b) })
		for name, g := range map[string]func(float64) float64{"ceil": math.Ceil, "floor": math.Floor, "trunc": math.Trunc, "rndne": math.RoundToEven} {
			set(name, func(a, _, _ float64) float64 { return g(a) })
		}
		for _, name := range []string{"fmac", "fmaak", "fmamk"} {
			if bits == 16 && name != "fmac" {
				continue
			}
			op := &operation{results: 1, float: bits, tied: name == "fmac"}
			op.run = func(w *wave, i *instr) {
				w.scalarFloat(i, f, func(in [3]uint64) uint64 {
					if bits == 32 {
						return uint64(u32(fma32(f32(uint32(in[0])), f32(uint32(in[1])), f32(uint32(in[2])))))
					}
					return uint64(toHalf(math.FMA(f.value(in[0]), f.value(in[1]), f.value(in[2]))))
				})
			}
			ops["s_"+name+tail] = op
		}
		for name, g := range map[string]func(a, b float64) bool{
			"eq": func(a, b float64) bool { return a == b }, "lt": func(a, b float64) bool { return a < b }, "le": func(a, b float64) bool { return a <= b },
			"gt": func(a, b float64) bool { return a > b }, "ge": func(a, b float64) bool { return a >= b }, "lg": func(a, b float64) bool { return a < b || a > b },
			"o": func(a, b float64) bool { return a == a && b == b },
		} {
			test := func(negated bool) *operation {
				return &operation{float: bits, run: func(w *wave, i *instr) {
					in := w.scalarInputs(i, f)
					w.scc = bit32(g(f.value(in[0]), f.value(in[1])) != negated)
				}}
			}
			opposite := map[string]string{"eq": "neq", "o": "u"}[name]
			if opposite == "" {
				opposite = "n" + name
			}
			ops["s_cmp_"+name+tail], ops["s_cmp_"+opposite+tail] = test(false), test(true)
		}
		for name, g := range map[string]func(float64) float64{
			"exp": math.Exp2, "log": math.Log2, "rcp": func(a float64) float64 { return 1 / a }, "rsq": func(a float64) float64 { return 1 / math.Sqrt(a) }, "sqrt": math.Sqrt,
		} {
			ops["v_s_"+name+tail] = &operation{results: 1, float: bits, run: func(w *wave, i *instr) {
				w.scalarFloat(i, f, func(in [3]uint64) uint64 { return f.bitsOf(g(f.value(in[0]))) })
			}}
		}
	}
	convert := func(name string, float int, g func(a, b uint32) uint32) {
		ops["s_cvt_"+name] = &operation{results: 1, float: float, run: func(w *wave, i *instr) {
			in := [3]uint64{uint64(w.scalar32(&i.src[0]))}
			if i.src[1].kind != srcNone {
				in[1] = uint64(w.scalar32(&i.src[1]))
			}
			v := g(uint32(in[0]), uint32(in[1]))
			if i.careful {
				v = uint32(w.settle(i, uint64(v), in))
			}
			w.s[i.dst&127] = v
		}}
	}
	convert("f32_i32", 0, func(a, _ uint32) uint32 { return u32(float32(int32(a))) })
	convert("f32_u32", 0, func(a, _ uint32) uint32 { return u32(float32(a)) })
	convert("i32_f32", 32, func(a, _ uint32) uint32 { return uint32(int32(saturate(float64(f32(a)), -1<<31, 1<<31-1))) })
	convert("u32_f32", 32, func(a, _ uint32) uint32 { return uint32(saturate(float64(f32(a)), 0, 1<<32-1)) })
	convert("f16_f32", 32, func(a, _ uint32) uint32 { return uint32(toHalf(float64(f32(a)))) })
	convert("f32_f16", 16, func(a, _ uint32) uint32 { return u32(float32(fromHalf(uint16(a)))) })
	convert("hi_f32_f16", 16, func(a, _ uint32) uint32 { return u32(float32(fromHalf(uint16(a >> 16)))) })
	convert("pk_rtz_f16_f32", 32, func(a, b uint32) uint32 {
		return uint32(toHalfZero(float64(f32(a)))) | uint32(toHalfZero(float64(f32(b))))<<16
	})
}

// scalarInputs are the sources of an operation on floats, with the signs that the
// wide formats give them.
func (w *wave) scalarInputs(i *instr, f format) (in [3]uint64) {
	for n := range in {
		s := &i.src[n]
		switch {
		case s.kind != srcNone:
			v := uint64(w.scalar32(s)) & (1<<f.bits - 1)
			if s.abs {
				v &^= 1 << (f.bits - 1)
			}
			in[n] = v ^ bit(s.neg)<<(f.bits-1)
		case n == 2 && i.op.tied:
			in[n] = uint64(w.s[i.dst&127]) & (1<<f.bits - 1)
		}
		if flush, _ := w.flushes(int(f.bits)); i.careful && flush {
			in[n] = flushed(f, in[n])
		}
	}
	return in
}

func (w *wave) scalarFloat(i *instr, f format, g func(in [3]uint64) uint64) {
	in := w.scalarInputs(i, f)
	v := g(in)
	if i.careful {
		v = w.settle(i, v, in)
	}
	if i.clamp || i.omod != 0 {
		v = outputLane(i, v)
	}
	w.s[i.dst&127] = uint32(v)
}

// rdnaFlow is what the program control of RDNA has beside: hints and waits that do
// nothing here, modes, messages, and barriers in two steps.
func rdnaFlow() map[string]*operation {
	ops := map[string]*operation{}
	for _, name := range strings.Fields(`s_clause s_delay_alu s_version s_inst_prefetch s_ttracedata_imm s_wait_event s_wait_idle s_wait_alu v_pipeflush
		s_waitcnt_vscnt s_waitcnt_vmcnt s_waitcnt_expcnt s_waitcnt_lgkmcnt s_waitcnt_depctr
		s_wait_loadcnt s_wait_storecnt s_wait_dscnt s_wait_kmcnt s_wait_expcnt s_wait_samplecnt s_wait_bvhcnt s_wait_loadcnt_dscnt s_wait_storecnt_dscnt
		s_gl1_inv buffer_gl0_inv buffer_gl1_inv global_inv global_wb global_wbinv
		s_prefetch_data s_prefetch_data_pc_rel s_prefetch_inst s_prefetch_inst_pc_rel s_buffer_prefetch_data`) {
		ops[name] = &operation{run: func(*wave, *instr) {}}
	}
	ops["s_sleep_var"] = &operation{run: func(w *wave, _ *instr) { w.state = asleep }}
	ops["s_round_mode"] = &operation{run: func(w *wave, i *instr) { w.setMode(w.mode&^15 | uint32(i.imm)&15) }}
	ops["s_denorm_mode"] = &operation{run: func(w *wave, i *instr) { w.setMode(w.mode&^0xf0 | uint32(i.imm)&15<<4) }}
	ops["s_sendmsg"] = &operation{run: func(w *wave, i *instr) {
		const deallocVGPRs = 3 // sent before the end, from gfx11 on
		const interrupt = 1    // says that a signal has changed: whoever waits here looks anyway
		if i.imm != interrupt && (i.inst.Generation() < 11 || i.imm != deallocVGPRs) {
			unsupported(w, i)
		}
	}}
	for _, tail := range []string{"b32", "b64"} {
		ops["s_sendmsg_rtn_"+tail] = &operation{results: 1, run: func(w *wave, i *instr) {
			const doorbell, realtime = 128, 131
			var v uint64
			switch i.imm {
			case doorbell:
			case realtime:
				v = w.group.launch.clock.now(w) / realtimeTick
			default:
				unsupported(w, i)
				return
			}
			w.s[i.dst&127] = uint32(v)
			if i.width == 2 {
				w.s[(i.dst+1)&127] = uint32(v >> 32)
			}
		}}
	}
	barriers(ops)
	return ops
}

// Hardware registers that RDNA's kernels read or write.
const (
	hwSchedMode  = 26 // gfx12
	hwScratchLo  = 20 // gfx10 and gfx11: where private memory lies, which is where it is
	hwScratchHi  = 21
	hwCycles     = 29
	hwCyclesHigh = 30 // gfx12; before, the counter has 20 bits
)

// hardware reads a hardware register.
func (w *wave) hardware(id uint32) uint32 {
	number := w.group.launch.module.dev.gen.number
	switch {
	case id == hwCycles && number >= 12:
		return uint32(w.group.launch.clock.now(w))
	case id == hwCycles && number >= 10:
		return uint32(w.group.launch.clock.now(w)) & (1<<20 - 1)
	case id == hwCyclesHigh && number >= 12:
		return uint32(w.group.launch.clock.now(w) >> 32)
	}
	return 0
}

// ignores reports the hardware registers that may be written, and make no
// difference here.
func (w *wave) ignores(id uint32) bool {
	switch number := w.group.launch.module.dev.gen.number; id {
	case hwScratchLo, hwScratchHi:
		return number == 10
	case hwSchedMode:
		return number == 12
	}
	return false
}
