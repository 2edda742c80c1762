package layout

import (
	"slices"
	"strings"
)

// What the encodings of RDNA have in common, from gfx10 on.

var dpp8 = []uint32{SrcDPP8, SrcDPP8FI}

func index(op Piece, variants ...Piece) []Piece { return append([]Piece{op}, variants...) }

// scalar are the formats of the scalar unit, except memory.
func scalar() []Encoding {
	var (
		sdst  = Field{"sdst", 16, 7, Scalar}
		ssrc0 = Field{"ssrc0", 0, 8, Scalar}
		ssrc1 = Field{"ssrc1", 8, 8, Scalar}
		simm  = Field{"simm16", 0, 16, Imm}
	)
	return []Encoding{
		{Name: "sop1", Mask: 0xff800000, Match: 0xbe800000, Size: 4, Index: index(Piece{Lo: 8, Width: 8}), Fields: []Field{sdst, ssrc0}},
		{Name: "sopc", Mask: 0xff800000, Match: 0xbf000000, Size: 4, Index: index(Piece{Lo: 16, Width: 7}), Fields: []Field{ssrc0, ssrc1}},
		{Name: "sopp", Mask: 0xff800000, Match: 0xbf800000, Size: 4, Index: index(Piece{Lo: 16, Width: 7}), Fields: []Field{simm}},
		{Name: "sopk", Mask: 0xf0000000, Match: 0xb0000000, Size: 4, Index: index(Piece{Lo: 23, Width: 5}), Fields: []Field{sdst, simm, {"k", 32, 32, K}}},
		{Name: "sop2", Mask: 0xc0000000, Match: 0x80000000, Size: 4, Index: index(Piece{Lo: 23, Width: 7}), Fields: []Field{sdst, ssrc0, ssrc1, {"k", 32, 32, K}}},
	}
}

// vector are the formats of the vector unit of 4 bytes, with DPP and DPP8, and
// with SDWA on gfx10.
func vector(sdwa bool) []Encoding {
	var (
		vdst  = Field{"vdst", 17, 8, VGPR}
		src0  = Field{"src0", 0, 9, Source}
		src1  = Field{"src1", 9, 8, VGPR}
		k     = Field{"k", 32, 32, K}
		dpp0  = Field{"src0", 32, 8, VGPR}
		sdwa0 = Field{"src0", 32, 8, SDWA}
		sdwa1 = Field{"src1", 9, 8, SDWA}
		s0    = Piece{Lo: 55, Width: 1} // SDWA: src0 is scalar
		s1    = Piece{Lo: 63, Width: 1}

		vop1, vop2, vopc = Piece{Lo: 9, Width: 8}, Piece{Lo: 25, Width: 6}, Piece{Lo: 17, Width: 8}
	)
	var list []Encoding
	if sdwa {
		list = append(list,
			Encoding{Name: "sdwa1", Mask: 0xfe0001ff, Match: 0x7e000000 | SrcSDWA, Size: 8, Index: index(vop1, s0), Fields: []Field{vdst, sdwa0}},
			Encoding{Name: "sdwac", Mask: 0xfe0001ff, Match: 0x7c000000 | SrcSDWA, Size: 8, Index: index(vopc, s0, s1, Piece{Lo: 47, Width: 1}),
				Fields: []Field{{"sdst", 40, 7, Scalar}, sdwa0, sdwa1}},
			Encoding{Name: "sdwa2", Mask: 0x800001ff, Match: SrcSDWA, Size: 8, Index: index(vop2, s0, s1), Fields: []Field{vdst, sdwa0, sdwa1}})
	}
	// The fields of a carry lie where the literal of others does.
	list = append(list,
		Encoding{Name: "dpp1", Mask: 0xfe0001ff, Match: 0x7e000000 | SrcDPP, Size: 8, Index: index(vop1), Fields: []Field{vdst, dpp0}},
		Encoding{Name: "dppc", Mask: 0xfe0001ff, Match: 0x7c000000 | SrcDPP, Size: 8, Index: index(vopc), Fields: []Field{dpp0, src1}},
		Encoding{Name: "dpp2", Mask: 0x800001ff, Match: SrcDPP, Size: 8, Index: index(vop2), Fields: []Field{vdst, dpp0, src1}},
		Encoding{Name: "dpp8_1", Mask: 0xfe000000, Match: 0x7e000000, Marker: &Marker{0, dpp8}, Size: 8, Index: index(vop1), Fields: []Field{vdst, dpp0}},
		Encoding{Name: "dpp8_c", Mask: 0xfe000000, Match: 0x7c000000, Marker: &Marker{0, dpp8}, Size: 8, Index: index(vopc), Fields: []Field{dpp0, src1}},
		Encoding{Name: "dpp8_2", Mask: 0x80000000, Match: 0x00000000, Marker: &Marker{0, dpp8}, Size: 8, Index: index(vop2), Fields: []Field{vdst, dpp0, src1}},
		Encoding{Name: "vop1", Mask: 0xfe000000, Match: 0x7e000000, Size: 4, Index: index(vop1), Fields: []Field{vdst, src0}},
		Encoding{Name: "vopc", Mask: 0xfe000000, Match: 0x7c000000, Size: 4, Index: index(vopc), Fields: []Field{src0, src1}},
		Encoding{Name: "vop2", Mask: 0x80000000, Match: 0x00000000, Size: 4, Index: index(vop2), Fields: []Field{vdst, src0, src1, k}})
	return list
}

// wide are the formats of the vector unit of 8 bytes, with DPP from gfx11 on:
// then src0 says so, and lies in a third word.
func wide(dpp bool) []Encoding {
	var (
		src0 = Field{"src0", 32, 9, Source}
		dpp0 = Field{"src0", 64, 8, VGPR}
		rest = []Field{{"src1", 41, 9, Source}, {"src2", 50, 9, Source}}
		dst  = []Field{{"vdst", 0, 8, VGPR}}
		both = []Field{{"vdst", 0, 8, VGPR}, {"sdst", 8, 7, Scalar}}
		op   = index(Piece{Lo: 16, Width: 10})
		opp  = index(Piece{Lo: 16, Width: 7})
	)
	fields := func(dst []Field, src0 Field) []Field { return slices.Concat(dst, []Field{src0}, rest) }
	var list []Encoding
	if dpp {
		for _, m := range []struct {
			suffix string
			*Marker
		}{{"dpp", &Marker{32, []uint32{SrcDPP}}}, {"dpp8", &Marker{32, dpp8}}} {
			list = append(list,
				Encoding{Name: "vop3p" + m.suffix, Mask: 0xff800000, Match: 0xcc000000, Marker: m.Marker, Size: 12, Index: opp, Fields: fields(dst, dpp0)},
				Encoding{Name: "vop3" + m.suffix, Mask: 0xfc000000, Match: 0xd4000000, Marker: m.Marker, Size: 12, Index: op, Fields: fields(both, dpp0)})
		}
	}
	return append(list,
		Encoding{Name: "vop3p", Mask: 0xff800000, Match: 0xcc000000, Size: 8, Literal: true, Index: opp, Fields: fields(dst, src0)},
		Encoding{Name: "vop3", Mask: 0xfc000000, Match: 0xd4000000, Size: 8, Literal: true, Index: op, Fields: fields(both, src0)})
}

// dual is VOPD: two operations in one instruction, each with its own table.
func dual() []Encoding {
	var (
		x   = Piece{Lo: 22, Width: 4}
		y   = Piece{Lo: 17, Width: 5}
		mov = uint32(8)
		k   = Field{"k", 64, 32, K}
		fx  = []Field{{"vdstx", 56, 8, VGPR}, {"src0", 0, 9, Source}, {"src1", 9, 8, VGPR}, k}
		fy  = []Field{{"vdsty", 49, 7, DstY}, {"src0", 32, 9, Source}, {"src1", 41, 8, VGPR}, k}
	)
	bits := func(op Piece, fields []Field) Code {
		c := At(op.Lo, op.Width, ^uint32(0))
		for _, f := range fields {
			if f.Kind != K {
				c = c.Or(f.Put(^uint32(0)))
			}
		}
		return c
	}
	return []Encoding{
		{Name: "vopdx", Mask: 0xfc000000, Match: 0xc8000000, Size: 8, Literal: true, Index: index(x), Fields: fx,
			Fill: At(y.Lo, y.Width, mov).Or(fy[1].Put(256 + 1)).Or(fy[0].Put(3)), Other: bits(y, fy)},
		{Name: "vopdy", Mask: 0xfc000000, Match: 0xc8000000, Size: 8, Literal: true, Index: index(y), Fields: fy, Second: true,
			Fill: At(x.Lo, x.Width, mov).Or(fx[1].Put(256 + 1)).Or(fx[0].Put(6)), Other: bits(x, fx)},
	}
}

// GFX10 returns the encodings of RDNA and RDNA 2, special ones before the general
// ones that their bits would match too.
func GFX10() []Encoding {
	return slices.Concat(scalar(), vector(true), wide(false), []Encoding{
		// Variant: no scalar offset.
		{Name: "smem", Mask: 0xfc000000, Match: 0xf4000000, Size: 8,
			Index:  index(Piece{Lo: 18, Width: 8}, Piece{Lo: 57, Width: 7, Values: []uint32{125}}),
			Fields: []Field{{"sdata", 6, 7, Scalar}, {"sbase", 0, 6, Pair}, {"soffset", 57, 7, Scalar}, {"offset", 32, 21, Imm}}},
		{Name: "ds", Mask: 0xfc000000, Match: 0xd8000000, Size: 8,
			Index: index(Piece{Lo: 18, Width: 8}), Fields: ds()},
		// Variants: segment, GLC (an atomic returns the old value), no scalar
		// address or none at all, LDS.
		{Name: "flat", Mask: 0xfc000000, Match: 0xdc000000, Size: 8,
			Index: index(Piece{Lo: 18, Width: 7}, Piece{Lo: 14, Width: 2}, Piece{Lo: 16, Width: 1},
				Piece{Lo: 48, Width: 7, Values: []uint32{125, NoAddress}}, Piece{Lo: 13, Width: 1}),
			Fields: flat()},
		// Variants: OFFEN, IDXEN, GLC, LDS, TFE.
		{Name: "mubuf", Mask: 0xfc000000, Match: 0xe0000000, Size: 8,
			Index:  index(Piece{Lo: 18, Width: 8}, Piece{Lo: 12, Width: 2}, Piece{Lo: 14, Width: 1}, Piece{Lo: 16, Width: 1}, Piece{Lo: 55, Width: 1}),
			Fields: mubuf()},
	})
}

func ds() []Field {
	return []Field{{"addr", 32, 8, VGPR}, {"data0", 40, 8, VGPR}, {"data1", 48, 8, VGPR}, {"vdst", 56, 8, VGPR},
		{"offset0", 0, 8, Imm}, {"offset1", 8, 8, Imm}}
}

func flat() []Field {
	return []Field{{"vaddr", 32, 8, VGPR}, {"vdata", 40, 8, VGPR}, {"saddr", 48, 7, Scalar}, {"vdst", 56, 8, VGPR}, {"offset", 0, 13, Imm}}
}

func mubuf() []Field {
	return []Field{{"vaddr", 32, 8, VGPR}, {"vdata", 40, 8, VGPR}, {"srsrc", 48, 5, Quad}, {"soffset", 56, 8, Scalar}, {"offset", 0, 12, Imm}}
}

// GFX11 returns the encodings of RDNA 3 and 3.5.
func GFX11() []Encoding {
	return slices.Concat(scalar(), vector(false), dual(), wide(true), []Encoding{
		// Variant: no scalar offset.
		{Name: "smem", Mask: 0xfc000000, Match: 0xf4000000, Size: 8,
			Index:  index(Piece{Lo: 18, Width: 8}, Piece{Lo: 57, Width: 7, Values: []uint32{124}}),
			Fields: []Field{{"sdata", 6, 7, Scalar}, {"sbase", 0, 6, Pair}, {"soffset", 57, 7, Scalar}, {"offset", 32, 21, Imm}}},
		{Name: "ds", Mask: 0xfc000000, Match: 0xd8000000, Size: 8,
			Index: index(Piece{Lo: 18, Width: 8}), Fields: ds()},
		// Variants: segment, GLC, no scalar address, a vector address of scratch.
		{Name: "flat", Mask: 0xfc000000, Match: 0xdc000000, Size: 8,
			Index: index(Piece{Lo: 18, Width: 7}, Piece{Lo: 16, Width: 2}, Piece{Lo: 14, Width: 1},
				Piece{Lo: 48, Width: 7, Values: []uint32{124}}, Piece{Lo: 55, Width: 1}),
			Fields: flat()},
		// Variants: OFFEN, IDXEN, GLC, TFE.
		{Name: "mubuf", Mask: 0xfc000000, Match: 0xe0000000, Size: 8,
			Index:  index(Piece{Lo: 18, Width: 8}, Piece{Lo: 54, Width: 2}, Piece{Lo: 14, Width: 1}, Piece{Lo: 53, Width: 1}),
			Fields: mubuf()},
	})
}

// GFX12 returns the encodings of RDNA 4.
func GFX12() []Encoding {
	return slices.Concat(scalar(), vector(false), dual(), wide(true), []Encoding{
		// Variant: no scalar offset.
		{Name: "smem", Mask: 0xfc000000, Match: 0xf4000000, Size: 8,
			Index:  index(Piece{Lo: 13, Width: 6}, Piece{Lo: 57, Width: 7, Values: []uint32{124}}),
			Fields: []Field{{"sdata", 6, 7, Scalar}, {"sbase", 0, 6, Pair}, {"soffset", 57, 7, Scalar}, {"offset", 32, 24, Imm}}},
		{Name: "ds", Mask: 0xfc000000, Match: 0xd8000000, Size: 8,
			Index: index(Piece{Lo: 18, Width: 8}), Fields: ds()},
		// Variants: segment, an atomic returns the old value (TH), no scalar
		// address, a vector address of scratch.
		{Name: "flat", Mask: 0xfc000000, Match: 0xec000000, Size: 12,
			Index: index(Piece{Lo: 14, Width: 8}, Piece{Lo: 24, Width: 2}, Piece{Lo: 52, Width: 1},
				Piece{Lo: 0, Width: 7, Values: []uint32{124}}, Piece{Lo: 49, Width: 1}),
			Fields: []Field{{"vaddr", 64, 8, VGPR}, {"vdata", 55, 8, VGPR}, {"saddr", 0, 7, Scalar}, {"vdst", 32, 8, VGPR}, {"offset", 72, 24, Imm}}},
		// Variants: OFFEN, IDXEN, an atomic returns, TFE.
		{Name: "mubuf", Mask: 0xfc000000, Match: 0xc4000000, Size: 12,
			Index:  index(Piece{Lo: 14, Width: 8}, Piece{Lo: 62, Width: 2}, Piece{Lo: 52, Width: 1}, Piece{Lo: 22, Width: 1}),
			Fields: []Field{{"vaddr", 64, 8, VGPR}, {"vdata", 32, 8, VGPR}, {"srsrc", 41, 9, Scalar}, {"soffset", 0, 7, Scalar}, {"offset", 72, 24, Imm}}},
	})
}

// GFX125 returns the encodings of gfx1250 and gfx1251: those of RDNA 4, with three
// sources for each of two operations in one, and literals of 64 bits.
func GFX125() []Encoding {
	list := slices.Concat(dual3(), scaledTiles(), GFX12())
	for i := range list {
		if strings.HasPrefix(list[i].Name, "vop3p") { // their opcodes have one bit more
			list[i].Mask, list[i].Index = 0xff000000, index(Piece{Lo: 16, Width: 8})
		}
	}
	at := slices.IndexFunc(list, func(e Encoding) bool { return e.Name == "vop2" })
	special := list[at]
	special.Name, special.Only = "vop2k64", []uint8{0x23, 0x24} // v_fmamk_f64, v_fmaak_f64
	special.Fields = append(slices.Clone(special.Fields[:3]), Field{"k64", 32, 32, K})
	return slices.Insert(list, at, special)
}

// scaledTiles are matrix instructions with scales, 16 bytes long: what
// V_WMMA_LD_SCALE_PAIRED_B32 or its double for 16 elements is in the first half, the
// matrix instruction in the second.
func scaledTiles() []Encoding {
	one := Encoding{Name: "wmmascale", Mask: 0xffff0000, Match: 0xcc350000, Behind: &Behind{Mask: 0xff000000, Match: 0xcc000000}, Size: 16,
		Only:  []uint8{0x33, 0x88},
		Index: index(Piece{Lo: 80, Width: 8}),
		Fields: []Field{{"vdst", 64, 8, VGPR}, {"src0", 96, 9, Source}, {"src1", 105, 9, Source}, {"src2", 114, 9, Source},
			{"scale0", 32, 9, Source}, {"scale1", 41, 9, Source}}}
	two := one
	two.Name, two.Match = "wmmascale16", 0xcc3a0000
	return []Encoding{one, two}
}

// dual3 is VOPD3, as dual.
func dual3() []Encoding {
	var (
		x   = Piece{Lo: 18, Width: 6}
		y   = Piece{Lo: 12, Width: 6}
		mov = uint32(8)
		// What is turned of each: bits 41 to 43, and 44 to 46.
		negx, negy = At(41, 3, 7), At(44, 3, 7)

		fx = []Field{{"vdstx", 64, 8, VGPR}, {"src0", 0, 9, Source}, {"src1", 48, 8, VGPR}, {"src2", 56, 8, VGPR}}
		fy = []Field{{"vdsty", 88, 8, VGPR}, {"src0", 32, 9, Source}, {"src1", 72, 8, VGPR}, {"src2", 80, 8, VGPR}}
	)
	bits := func(op Piece, fields []Field) Code {
		c := At(op.Lo, op.Width, ^uint32(0))
		for _, f := range fields {
			c = c.Or(f.Put(^uint32(0)))
		}
		return c
	}
	return []Encoding{
		{Name: "vopd3x", Mask: 0xff000000, Match: 0xcf000000, Size: 12, Index: index(x), Fields: fx,
			Fill: At(y.Lo, y.Width, mov).Or(fy[1].Put(256 + 1)).Or(fy[0].Put(3)), Other: bits(y, fy).Or(negy)},
		{Name: "vopd3y", Mask: 0xff000000, Match: 0xcf000000, Size: 12, Index: index(y), Fields: fy, Second: true,
			Fill: At(x.Lo, x.Width, mov).Or(fx[1].Put(256 + 1)).Or(fx[0].Put(6)), Other: bits(x, fx).Or(negx)},
	}
}
