package layout

// GFX9 returns the encodings of GFX9 (Vega and CDNA), special ones before the
// general ones that their bits would match too. Those of graphics alone
// (VINTRP, MIMG, MTBUF, EXP) are left out.
func GFX9() []Encoding {
	var (
		vdst8  = Field{"vdst", 17, 8, VGPR}
		src0   = Field{"src0", 0, 9, Source}
		vsrc1  = Field{"src1", 9, 8, VGPR}
		sdst   = Field{"sdst", 16, 7, Scalar}
		ssrc0  = Field{"ssrc0", 0, 8, Scalar}
		ssrc1  = Field{"ssrc1", 8, 8, Scalar}
		simm   = Field{"simm16", 0, 16, Imm}
		k      = Field{"k", 32, 32, K}
		dpp0   = Field{"src0", 32, 8, VGPR}
		sdwa0  = Field{"src0", 32, 8, SDWA}
		sdwa1  = Field{"src1", 9, 8, SDWA}
		scalar = []Piece{{Lo: 55, Width: 1}, {Lo: 63, Width: 1}} // SDWA: S0, S1
	)

	vop3 := []Field{
		{"vdst", 0, 8, VGPR}, {"sdst", 8, 7, Scalar},
		{"src0", 32, 9, Source}, {"src1", 41, 9, Source}, {"src2", 50, 9, Source},
	}
	packed := []Field{{"vdst", 0, 8, VGPR}, vop3[2], vop3[3], vop3[4]}
	vop1, vop2, vopc := Piece{Lo: 9, Width: 8}, Piece{Lo: 25, Width: 6}, Piece{Lo: 17, Width: 8}
	return []Encoding{
		{Name: "sop1", Mask: 0xff800000, Match: 0xbe800000, Size: 4, Index: index(Piece{Lo: 8, Width: 8}), Fields: []Field{sdst, ssrc0}},
		{Name: "sopc", Mask: 0xff800000, Match: 0xbf000000, Size: 4, Index: index(Piece{Lo: 16, Width: 7}), Fields: []Field{ssrc0, ssrc1}},
		{Name: "sopp", Mask: 0xff800000, Match: 0xbf800000, Size: 4, Index: index(Piece{Lo: 16, Width: 7}), Fields: []Field{simm}},
		{Name: "sopk", Mask: 0xf0000000, Match: 0xb0000000, Size: 4, Index: index(Piece{Lo: 23, Width: 5}), Fields: []Field{sdst, simm, k}},
		{Name: "sop2", Mask: 0xc0000000, Match: 0x80000000, Size: 4, Index: index(Piece{Lo: 23, Width: 7}), Fields: []Field{sdst, ssrc0, ssrc1}},

		{Name: "sdwa1", Mask: 0xfe0001ff, Match: 0x7e000000 | SrcSDWA, Size: 8, Index: index(vop1, scalar[0]), Fields: []Field{vdst8, sdwa0}},
		{Name: "sdwac", Mask: 0xfe0001ff, Match: 0x7c000000 | SrcSDWA, Size: 8, Index: index(vopc, scalar[0], scalar[1], Piece{Lo: 47, Width: 1}),
			Fields: []Field{{"sdst", 40, 7, Scalar}, sdwa0, sdwa1}},
		{Name: "sdwa2", Mask: 0x800001ff, Match: SrcSDWA, Size: 8, Index: index(vop2, scalar...), Fields: []Field{vdst8, sdwa0, sdwa1}},
		{Name: "dpp1", Mask: 0xfe0001ff, Match: 0x7e000000 | SrcDPP, Size: 8, Index: index(vop1), Fields: []Field{vdst8, dpp0}},
		{Name: "dppc", Mask: 0xfe0001ff, Match: 0x7c000000 | SrcDPP, Size: 8, Index: index(vopc), Fields: []Field{dpp0, vsrc1}},
		{Name: "dpp2", Mask: 0x800001ff, Match: SrcDPP, Size: 8, Index: index(vop2), Fields: []Field{vdst8, dpp0, vsrc1}},
		{Name: "vop1", Mask: 0xfe000000, Match: 0x7e000000, Size: 4, Index: index(vop1), Fields: []Field{vdst8, src0}},
		{Name: "vopc", Mask: 0xfe000000, Match: 0x7c000000, Size: 4, Index: index(vopc), Fields: []Field{src0, vsrc1}},
		{Name: "vop2", Mask: 0x80000000, Match: 0x00000000, Size: 4, Index: index(vop2), Fields: []Field{vdst8, src0, vsrc1, k}},

		// Matrix instructions are VOP3P with other meanings for the modifiers:
		// accumulation registers for sources (ACC) and destination (ACC_CD).
		// Those of xf32, and of gfx950, lie apart.
		// With scales they are 16 bytes long: what V_MFMA_LD_SCALE_B32 is in the
		// first half, the matrix instruction in the second, the lowest bit of ABID
		// set.
		{Name: "maiscale", Mask: 0xffff0000, Match: 0xd3ac0000, Behind: &Behind{Mask: 0xff807800, Match: 0xd3800800}, Size: 16,
			Only:  []uint8{0x2d, 0x2e},
			Index: index(Piece{Lo: 80, Width: 7}, Piece{Lo: 79, Width: 1}, Piece{Lo: 123, Width: 2}),
			Fields: []Field{{"vdst", 64, 8, VGPR}, {"src0", 96, 9, Source}, {"src1", 105, 9, Source}, {"src2", 114, 9, Source},
				{"scale0", 32, 9, Source}, {"scale1", 41, 9, Source}}},
		{Name: "mai", Mask: 0xffc00000, Match: 0xd3c00000, Size: 8,
			Index: index(Piece{Lo: 16, Width: 6}, Piece{Lo: 15, Width: 1}, Piece{Lo: 59, Width: 2}), Fields: packed},
		{Name: "maix", Mask: 0xff800000, Match: 0xd3800000, Size: 8,
			Only:  []uint8{0x2d, 0x2e, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3a, 0x3b, 0x3c, 0x3d, 0x3e, 0x3f},
			Index: index(Piece{Lo: 16, Width: 7}, Piece{Lo: 15, Width: 1}, Piece{Lo: 59, Width: 2}), Fields: packed},
		{Name: "vop3p", Mask: 0xff800000, Match: 0xd3800000, Size: 8, Index: index(Piece{Lo: 16, Width: 7}), Fields: packed},
		{Name: "vop3", Mask: 0xfc000000, Match: 0xd0000000, Size: 8, Index: index(Piece{Lo: 16, Width: 10}), Fields: vop3},

		{Name: "smem", Mask: 0xfc000000, Match: 0xc0000000, Size: 8,
			Index:  index(Piece{Lo: 18, Width: 8}, Piece{Lo: 17, Width: 1}, Piece{Lo: 14, Width: 1}),
			Fields: []Field{{"sdata", 6, 7, Scalar}, {"sbase", 0, 6, Pair}, {"offset", 32, 21, Imm}, {"soffset", 57, 7, Scalar}, {"sgpr", 32, 7, Scalar}}},
		{Name: "ds", Mask: 0xfc000000, Match: 0xd8000000, Size: 8,
			Index: index(Piece{Lo: 17, Width: 8}, Piece{Lo: 25, Width: 1}),
			Fields: []Field{{"addr", 32, 8, VGPR}, {"data0", 40, 8, VGPR}, {"data1", 48, 8, VGPR}, {"vdst", 56, 8, VGPR},
				{"offset0", 0, 8, Imm}, {"offset1", 8, 8, Imm}}},
		// Variants: segment, GLC (an atomic returns the old value), no scalar
		// address, bit 13 (LDS, or a vector address of scratch), ACC.
		{Name: "flat", Mask: 0xfc000000, Match: 0xdc000000, Size: 8,
			Index: index(Piece{Lo: 18, Width: 7}, Piece{Lo: 14, Width: 2}, Piece{Lo: 16, Width: 1},
				Piece{Lo: 48, Width: 7, Values: []uint32{NoAddress}}, Piece{Lo: 13, Width: 1}, Piece{Lo: 55, Width: 1}),
			Fields: []Field{{"vaddr", 32, 8, VGPR}, {"vdata", 40, 8, VGPR}, {"saddr", 48, 7, Scalar}, {"vdst", 56, 8, VGPR}, {"offset", 0, 13, Imm}}},
		// Variants: OFFEN, IDXEN, GLC, LDS, TFE or ACC.
		{Name: "mubuf", Mask: 0xfc000000, Match: 0xe0000000, Size: 8,
			Index:  index(Piece{Lo: 18, Width: 7}, Piece{Lo: 12, Width: 2}, Piece{Lo: 14, Width: 1}, Piece{Lo: 16, Width: 1}, Piece{Lo: 55, Width: 1}),
			Fields: []Field{{"vaddr", 32, 8, VGPR}, {"vdata", 40, 8, VGPR}, {"srsrc", 48, 5, Quad}, {"soffset", 56, 8, Scalar}, {"offset", 0, 12, Imm}}},
	}
}
