package emulator

import "golang.org/x/sys/cpu"

// vectorUnit returns the loops of loops_arm64.s and the files beside it. All their
// instructions are in the first version of the architecture, whose NEON no processor
// that Go runs on lacks: the question is there for GODEBUG=cpu.asimd=off.
func vectorUnit() *loops {
	if !cpu.ARM64.HasASIMD {
		return portableLoops()
	}
	l := vectorLoops(movers{
		offsets: laneOffsets, local: localOffsets,
		row:  copyWords,
		load: func(d *vec, data []byte, at *[lanes]uint64, mask uint64) { loadWords(d, &data[0], at, mask) },
		store: func(data []byte, at *[lanes]uint64, v *vec, mask, count uint64) {
			storeWords(&data[0], at, v, mask, count)
		},
		loadLocal: func(d *vec, data []byte, at *[lanes]uint64, mask uint64) { loadLocal(d, &data[0], at, mask) },
		storeLocal: func(data []byte, at *[lanes]uint64, v *vec, mask, count uint64) {
			storeLocal(&data[0], at, v, mask, count)
		},
		publish: func() {}, // loads and stores are those of sync/atomic
	})
	// What NEON has in an instruction or a few.
	for name, f := range map[string]loop{
		"v_alignbyte_b32": loopAlignByte, "v_bcnt_u32_b32": loopBitCount, "v_bfrev_b32": loopReverse, "v_ffbh_u32": loopLastOne, "v_ffbl_b32": loopFirstOne,
		"v_ffbh_i32": loopSignBits, "v_mul_hi_u32_u24": loopMulHiU24, "v_cvt_pk_u16_u32": loopPackU16, "v_pack_b32_f16": loopPackHalves,
		"v_fract_f32": loopFract, "v_cvt_flr_i32_f32": loopFloorToI,
	} {
		l.narrow[name] = f
	}
	for name, f := range map[string]wideLoop{
		"v_fract_f64": {loopDFract, "d", 2}, "v_cvt_f64_u32": {loopDFromU, "s", 2}, "v_cvt_i32_f64": {loopDToI, "d", 1}, "v_cvt_u32_f64": {loopDToU, "d", 1},
		"v_ldexp_f64": {loopLdexp, "ds", 2},
	} {
		l.wide[name] = f
	}
	return l
}

//go:noescape
func loopAlignByte(d, a, b, c *vec, n uint64)

//go:noescape
func loopBitCount(d, a, b, c *vec, n uint64)

//go:noescape
func loopReverse(d, a, b, c *vec, n uint64)

//go:noescape
func loopLastOne(d, a, b, c *vec, n uint64)

//go:noescape
func loopFirstOne(d, a, b, c *vec, n uint64)

//go:noescape
func loopSignBits(d, a, b, c *vec, n uint64)

//go:noescape
func loopMulHiU24(d, a, b, c *vec, n uint64)

//go:noescape
func loopPackU16(d, a, b, c *vec, n uint64)

//go:noescape
func loopPackHalves(d, a, b, c *vec, n uint64)

//go:noescape
func loopFract(d, a, b, c *vec, n uint64)

//go:noescape
func loopFloorToI(d, a, b, c *vec, n uint64)

//go:noescape
func loopDFract(d, a, b, c *vec, n uint64)

//go:noescape
func loopDFromU(d, a, b, c *vec, n uint64)

//go:noescape
func loopDToI(d, a, b, c *vec, n uint64)

//go:noescape
func loopDToU(d, a, b, c *vec, n uint64)

//go:noescape
func loopLdexp(d, a, b, c *vec, n uint64)

//go:noescape
func loadLocal(d *vec, data *byte, at *[lanes]uint64, mask uint64)

//go:noescape
func storeLocal(data *byte, at *[lanes]uint64, v *vec, mask, count uint64)

//go:noescape
func laneOffsets(at *[lanes]uint64, lo, hi *vec, base, limit, step, n uint64) (bad, apart uint64)

//go:noescape
func localOffsets(at *[lanes]uint64, addr *vec, off, limit uint32, n uint64) (bad uint64)

//go:noescape
func copyWords(to, from *uint32, n uint64)
