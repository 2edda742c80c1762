//go:build amd64 || arm64

package emulator

import "unsafe"

//go:generate go run ./internal/neongen

// vectorLoops are the loops that every vector unit has here: each processor brings
// them in assembly, with these names.
func vectorLoops(move movers) *loops {
	return &loops{
		narrow: map[string]loop{
			"v_mov_b32": loopMove, "v_accvgpr_read_b32": loopMove, "v_accvgpr_write_b32": loopMove, "v_accvgpr_mov_b32": loopMove, "v_not_b32": loopNot,
			"v_add_u32": loopAdd, "v_sub_u32": loopSub, "v_subrev_u32": loopSubrev, "v_mul_lo_u32": loopMul, "v_mul_hi_u32": loopMulHiU,
			"v_mul_hi_i32": loopMulHiI, "v_mul_u32_u24": loopMulU24, "v_mul_i32_i24": loopMulI24, "v_lshlrev_b32": loopShl, "v_lshrrev_b32": loopShr,
			"v_ashrrev_i32": loopSar, "v_and_b32": loopAnd, "v_or_b32": loopOr, "v_xor_b32": loopXor, "v_xnor_b32": loopXnor, "v_min_u32": loopMinU,
			"v_max_u32": loopMaxU, "v_min_i32": loopMinI, "v_max_i32": loopMaxI, "v_bfm_b32": loopBfm, "v_bfe_u32": loopBfeU, "v_bfe_i32": loopBfeI,
			"v_bfi_b32": loopBfi, "v_alignbit_b32": loopAlignBit, "v_add3_u32": loopAdd3, "v_lshl_add_u32": loopShlAdd, "v_add_lshl_u32": loopAddShl,
			"v_lshl_or_b32": loopShlOr, "v_and_or_b32": loopAndOr, "v_or3_b32": loopOr3, "v_xad_u32": loopXad, "v_mad_u32_u24": loopMadU24,
			"v_mad_i32_i24": loopMadI24, "v_min3_u32": loopMin3U, "v_max3_u32": loopMax3U, "v_min3_i32": loopMin3I, "v_max3_i32": loopMax3I,
			"v_med3_u32": loopMed3U, "v_med3_i32": loopMed3I, "v_sad_u32": loopSad, "v_add_f32": loopFAdd, "v_sub_f32": loopFSub, "v_subrev_f32": loopFSubrev,
			"v_mul_f32": loopFMul, "v_min_f32": loopFMin, "v_max_f32": loopFMax, "v_fma_f32": loopFMA, "v_fmamk_f32": loopFMA, "v_fmaak_f32": loopFMA,
			"v_fmac_f32": loopFMA, "v_mad_f32": loopFMad, "v_madmk_f32": loopFMad, "v_madak_f32": loopFMad, "v_mac_f32": loopFMad, "v_min3_f32": loopFMin3,
			"v_max3_f32": loopFMax3, "v_med3_f32": loopFMed3, "v_rcp_f32": loopRcp, "v_rcp_iflag_f32": loopRcp, "v_sqrt_f32": loopSqrt, "v_rsq_f32": loopRsq,
			"v_rndne_f32": loopRndne, "v_floor_f32": loopFloor, "v_ceil_f32": loopCeil, "v_trunc_f32": loopTrunc, "v_cvt_f32_i32": loopFromI,
			"v_cvt_f32_u32": loopFromU, "v_cvt_f32_ubyte0": loopFromByte0, "v_cvt_f32_ubyte1": loopFromByte1, "v_cvt_f32_ubyte2": loopFromByte2,
			"v_cvt_f32_ubyte3": loopFromByte3, "v_cvt_i32_f32": loopToI, "v_cvt_u32_f32": loopToU,
		},
		wide: map[string]wideLoop{
			"v_mov_b64": {loopMove64, "d", 2}, "v_lshlrev_b64": {loopShl64, "sd", 2}, "v_lshrrev_b64": {loopShr64, "sd", 2},
			"v_ashrrev_i64": {loopSar64, "sd", 2}, "v_lshl_add_u64": {loopShlAdd64, "dsd", 2}, "v_add_f64": {loopDAdd, "dd", 2},
			"v_mul_f64": {loopDMul, "dd", 2}, "v_fma_f64": {loopDFMA, "ddd", 2}, "v_fmac_f64": {loopDFMA, "dd", 2}, "v_min_f64": {loopDMin, "dd", 2},
			"v_max_f64": {loopDMax, "dd", 2}, "v_rcp_f64": {loopDRcp, "d", 2}, "v_sqrt_f64": {loopDSqrt, "d", 2}, "v_rsq_f64": {loopDRsq, "d", 2},
			"v_rndne_f64": {loopDRndne, "d", 2}, "v_floor_f64": {loopDFloor, "d", 2}, "v_ceil_f64": {loopDCeil, "d", 2}, "v_trunc_f64": {loopDTrunc, "d", 2},
			"v_ldexp_f64": {ldexpLanes, "ds", 2}, "v_cvt_f64_f32": {loopDFromF, "s", 2}, "v_cvt_f64_i32": {loopDFromI, "s", 2}, "v_cvt_f32_f64": {loopFFromD, "d", 1},
		},
		half: map[string]wideLoop{
			"v_add_f16": {loopHAdd, "ss", 1}, "v_sub_f16": {loopHSub, "ss", 1}, "v_subrev_f16": {loopHSubrev, "ss", 1}, "v_mul_f16": {loopHMul, "ss", 1},
			"v_min_f16": {loopHMin, "ss", 1}, "v_max_f16": {loopHMax, "ss", 1}, "v_fma_f16": {loopHFMA, "sss", 1}, "v_mad_f16": {loopHMad, "sss", 1},
			"v_madak_f16": {loopHMad, "sss", 1}, "v_madmk_f16": {loopHMad, "sss", 1}, "v_mac_f16": {loopHMad, "ss", 1}, "v_fmac_f16": {loopHFMA, "ss", 1},
			"v_fmaak_f16": {loopHFMA, "sss", 1}, "v_fmamk_f16": {loopHFMA, "sss", 1}, "v_cvt_f32_f16": {loopFromHalf, "s", 1},
			"v_cvt_f16_f32": {loopToHalf, "s", 1},
		},
		compare: map[string][3]func(a, b *vec) uint64{
			"f32": {compareFLT, compareFLE, compareFEQ}, "i32": {compareILT, nil, compareIEQ}, "u32": {compareULT, nil, compareIEQ},
			"f64": {compareDLT, compareDLE, compareDEQ}, "i64": {compareLLT, nil, compareLEQ}, "u64": {compareULLT, nil, compareLEQ},
		},
		spread: loopSpread, sign: loopSign, choose: loopSelect, add: loopAddCarry, sub: loopSubBorrow, mulAdd: loopMulAdd64,
		move: move,
	}
}

// ldexpLanes is V_LDEXP_F64 as a loop over pairs of registers.
func ldexpLanes(d, a, b, _ *vec, n uint64) {
	hi, dh := &(*[2]vec)(unsafe.Pointer(a))[1], &(*[2]vec)(unsafe.Pointer(d))[1]
	for l := range d[:n&127] {
		u := u64(ldexp(f64(uint64(a[l])|uint64(hi[l])<<32), int32(b[l]), 64))
		d[l], dh[l] = uint32(u), uint32(u>>32)
	}
}

//go:noescape
func loopMove(d, a, b, c *vec, n uint64)

//go:noescape
func loopNot(d, a, b, c *vec, n uint64)

//go:noescape
func loopAdd(d, a, b, c *vec, n uint64)

//go:noescape
func loopSub(d, a, b, c *vec, n uint64)

//go:noescape
func loopSubrev(d, a, b, c *vec, n uint64)

//go:noescape
func loopMul(d, a, b, c *vec, n uint64)

//go:noescape
func loopMulHiU(d, a, b, c *vec, n uint64)

//go:noescape
func loopMulHiI(d, a, b, c *vec, n uint64)

//go:noescape
func loopMulU24(d, a, b, c *vec, n uint64)

//go:noescape
func loopMulI24(d, a, b, c *vec, n uint64)

//go:noescape
func loopShl(d, a, b, c *vec, n uint64)

//go:noescape
func loopShr(d, a, b, c *vec, n uint64)

//go:noescape
func loopSar(d, a, b, c *vec, n uint64)

//go:noescape
func loopAnd(d, a, b, c *vec, n uint64)

//go:noescape
func loopOr(d, a, b, c *vec, n uint64)

//go:noescape
func loopXor(d, a, b, c *vec, n uint64)

//go:noescape
func loopXnor(d, a, b, c *vec, n uint64)

//go:noescape
func loopMinU(d, a, b, c *vec, n uint64)

//go:noescape
func loopMaxU(d, a, b, c *vec, n uint64)

//go:noescape
func loopMinI(d, a, b, c *vec, n uint64)

//go:noescape
func loopMaxI(d, a, b, c *vec, n uint64)

//go:noescape
func loopBfm(d, a, b, c *vec, n uint64)

//go:noescape
func loopBfeU(d, a, b, c *vec, n uint64)

//go:noescape
func loopBfeI(d, a, b, c *vec, n uint64)

//go:noescape
func loopBfi(d, a, b, c *vec, n uint64)

//go:noescape
func loopAlignBit(d, a, b, c *vec, n uint64)

//go:noescape
func loopAdd3(d, a, b, c *vec, n uint64)

//go:noescape
func loopShlAdd(d, a, b, c *vec, n uint64)

//go:noescape
func loopAddShl(d, a, b, c *vec, n uint64)

//go:noescape
func loopShlOr(d, a, b, c *vec, n uint64)

//go:noescape
func loopAndOr(d, a, b, c *vec, n uint64)

//go:noescape
func loopOr3(d, a, b, c *vec, n uint64)

//go:noescape
func loopXad(d, a, b, c *vec, n uint64)

//go:noescape
func loopMadU24(d, a, b, c *vec, n uint64)

//go:noescape
func loopMadI24(d, a, b, c *vec, n uint64)

//go:noescape
func loopMin3U(d, a, b, c *vec, n uint64)

//go:noescape
func loopMax3U(d, a, b, c *vec, n uint64)

//go:noescape
func loopMin3I(d, a, b, c *vec, n uint64)

//go:noescape
func loopMax3I(d, a, b, c *vec, n uint64)

//go:noescape
func loopMed3U(d, a, b, c *vec, n uint64)

//go:noescape
func loopMed3I(d, a, b, c *vec, n uint64)

//go:noescape
func loopSad(d, a, b, c *vec, n uint64)

//go:noescape
func loopFAdd(d, a, b, c *vec, n uint64)

//go:noescape
func loopFSub(d, a, b, c *vec, n uint64)

//go:noescape
func loopFSubrev(d, a, b, c *vec, n uint64)

//go:noescape
func loopFMul(d, a, b, c *vec, n uint64)

//go:noescape
func loopFMin(d, a, b, c *vec, n uint64)

//go:noescape
func loopFMax(d, a, b, c *vec, n uint64)

//go:noescape
func loopFMA(d, a, b, c *vec, n uint64)

//go:noescape
func loopFMad(d, a, b, c *vec, n uint64)

//go:noescape
func loopFMin3(d, a, b, c *vec, n uint64)

//go:noescape
func loopFMax3(d, a, b, c *vec, n uint64)

//go:noescape
func loopFMed3(d, a, b, c *vec, n uint64)

//go:noescape
func loopRcp(d, a, b, c *vec, n uint64)

//go:noescape
func loopSqrt(d, a, b, c *vec, n uint64)

//go:noescape
func loopRsq(d, a, b, c *vec, n uint64)

//go:noescape
func loopRndne(d, a, b, c *vec, n uint64)

//go:noescape
func loopFloor(d, a, b, c *vec, n uint64)

//go:noescape
func loopCeil(d, a, b, c *vec, n uint64)

//go:noescape
func loopTrunc(d, a, b, c *vec, n uint64)

//go:noescape
func loopFromI(d, a, b, c *vec, n uint64)

//go:noescape
func loopFromU(d, a, b, c *vec, n uint64)

//go:noescape
func loopFromByte0(d, a, b, c *vec, n uint64)

//go:noescape
func loopFromByte1(d, a, b, c *vec, n uint64)

//go:noescape
func loopFromByte2(d, a, b, c *vec, n uint64)

//go:noescape
func loopFromByte3(d, a, b, c *vec, n uint64)

//go:noescape
func loopToI(d, a, b, c *vec, n uint64)

//go:noescape
func loopToU(d, a, b, c *vec, n uint64)

//go:noescape
func loopMove64(d, a, b, c *vec, n uint64)

//go:noescape
func loopShl64(d, a, b, c *vec, n uint64)

//go:noescape
func loopShr64(d, a, b, c *vec, n uint64)

//go:noescape
func loopSar64(d, a, b, c *vec, n uint64)

//go:noescape
func loopShlAdd64(d, a, b, c *vec, n uint64)

//go:noescape
func loopDAdd(d, a, b, c *vec, n uint64)

//go:noescape
func loopDMul(d, a, b, c *vec, n uint64)

//go:noescape
func loopDFMA(d, a, b, c *vec, n uint64)

//go:noescape
func loopDMin(d, a, b, c *vec, n uint64)

//go:noescape
func loopDMax(d, a, b, c *vec, n uint64)

//go:noescape
func loopDRcp(d, a, b, c *vec, n uint64)

//go:noescape
func loopDSqrt(d, a, b, c *vec, n uint64)

//go:noescape
func loopDRsq(d, a, b, c *vec, n uint64)

//go:noescape
func loopDRndne(d, a, b, c *vec, n uint64)

//go:noescape
func loopDFloor(d, a, b, c *vec, n uint64)

//go:noescape
func loopDCeil(d, a, b, c *vec, n uint64)

//go:noescape
func loopDTrunc(d, a, b, c *vec, n uint64)

//go:noescape
func loopDFromF(d, a, b, c *vec, n uint64)

//go:noescape
func loopDFromI(d, a, b, c *vec, n uint64)

//go:noescape
func loopFFromD(d, a, b, c *vec, n uint64)

//go:noescape
func loopHAdd(d, a, b, c *vec, n uint64)

//go:noescape
func loopHSub(d, a, b, c *vec, n uint64)

//go:noescape
func loopHSubrev(d, a, b, c *vec, n uint64)

//go:noescape
func loopHMul(d, a, b, c *vec, n uint64)

//go:noescape
func loopHMin(d, a, b, c *vec, n uint64)

//go:noescape
func loopHMax(d, a, b, c *vec, n uint64)

//go:noescape
func loopHFMA(d, a, b, c *vec, n uint64)

//go:noescape
func loopHMad(d, a, b, c *vec, n uint64)

//go:noescape
func loopFromHalf(d, a, b, c *vec, n uint64)

//go:noescape
func loopToHalf(d, a, b, c *vec, n uint64)

//go:noescape
func loopSpread(d *vec, v uint32)

//go:noescape
func loopSign(d, a *vec, keep, flip uint32)

//go:noescape
func loopSelect(d, a, b *vec, mask uint64)

//go:noescape
func loopAddCarry(d, a, b *vec, in uint64) (out uint64)

//go:noescape
func loopSubBorrow(d, a, b *vec, in uint64) (out uint64)

//go:noescape
func loopMulAdd64(d, a, b, c *vec) (out uint64)

//go:noescape
func compareFLT(a, b *vec) uint64

//go:noescape
func compareFLE(a, b *vec) uint64

//go:noescape
func compareFEQ(a, b *vec) uint64

//go:noescape
func compareILT(a, b *vec) uint64

//go:noescape
func compareIEQ(a, b *vec) uint64

//go:noescape
func compareULT(a, b *vec) uint64

//go:noescape
func compareDLT(a, b *vec) uint64

//go:noescape
func compareDLE(a, b *vec) uint64

//go:noescape
func compareDEQ(a, b *vec) uint64

//go:noescape
func compareLLT(a, b *vec) uint64

//go:noescape
func compareLEQ(a, b *vec) uint64

//go:noescape
func compareULLT(a, b *vec) uint64

//go:noescape
func loadWords(d *vec, data *byte, at *[lanes]uint64, mask uint64)

//go:noescape
func storeWords(data *byte, at *[lanes]uint64, v *vec, mask, count uint64)
