package emulator

import (
	"cmp"
	"math/bits"
)

// vectorInt are the operations on integers of 32 bits ("Vega" ISA, "VOP1, VOP2
// and VOP3 instructions"), all lanes at once.
func vectorInt() map[string]*operation {
	return map[string]*operation{
		"v_mov_b32": {results: 1, v1: func(d, a *vec) {
			for l := range d {
				d[l] = a[l]
			}
		}},
		"v_not_b32": {results: 1, v1: func(d, a *vec) {
			for l := range d {
				d[l] = ^a[l]
			}
		}},
		"v_add_u32": {results: 1, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = a[l] + b[l]
			}
		}},
		"v_sub_u32": {results: 1, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = a[l] - b[l]
			}
		}},
		"v_subrev_u32": {results: 1, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = b[l] - a[l]
			}
		}},
		"v_mul_lo_u32": {results: 1, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = a[l] * b[l]
			}
		}},
		"v_mul_hi_u32": {results: 1, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = uint32(uint64(a[l]) * uint64(b[l]) >> 32)
			}
		}},
		"v_mul_hi_i32": {results: 1, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = uint32(uint64(int64(int32(a[l]))*int64(int32(b[l]))) >> 32)
			}
		}},
		"v_mul_u32_u24": {results: 1, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = (a[l] & 0xffffff) * (b[l] & 0xffffff)
			}
		}},
		"v_mul_i32_i24": {results: 1, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = uint32((int32(a[l]) << 8 >> 8) * (int32(b[l]) << 8 >> 8))
			}
		}},
		"v_mul_hi_u32_u24": {results: 1, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = uint32(uint64(a[l]&0xffffff) * uint64(b[l]&0xffffff) >> 32)
			}
		}},
		"v_lshlrev_b32": {results: 1, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = b[l] << (a[l] & 31)
			}
		}},
		"v_lshrrev_b32": {results: 1, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = b[l] >> (a[l] & 31)
			}
		}},
		"v_ashrrev_i32": {results: 1, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = uint32(int32(b[l]) >> (a[l] & 31))
			}
		}},
		"v_and_b32": {results: 1, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = a[l] & b[l]
			}
		}},
		"v_or_b32": {results: 1, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = a[l] | b[l]
			}
		}},
		"v_xor_b32": {results: 1, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = a[l] ^ b[l]
			}
		}},
		"v_xnor_b32": {results: 1, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = ^(a[l] ^ b[l])
			}
		}},
		"v_min_u32": {results: 1, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = min(a[l], b[l])
			}
		}},
		"v_max_u32": {results: 1, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = max(a[l], b[l])
			}
		}},
		"v_min_i32": {results: 1, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = uint32(min(int32(a[l]), int32(b[l])))
			}
		}},
		"v_max_i32": {results: 1, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = uint32(max(int32(a[l]), int32(b[l])))
			}
		}},
		"v_bfe_u32": {results: 1, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = uint32(field(uint64(a[l]), b[l]&31|c[l]&31<<16, false, 32))
			}
		}},
		"v_bfe_i32": {results: 1, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = uint32(field(uint64(a[l]), b[l]&31|c[l]&31<<16, true, 32))
			}
		}},
		"v_bfi_b32": {results: 1, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = a[l]&b[l] | ^a[l]&c[l]
			}
		}},
		"v_bfm_b32": {results: 1, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = (1<<(a[l]&31) - 1) << (b[l] & 31)
			}
		}},
		"v_alignbit_b32": {results: 1, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = uint32((uint64(a[l])<<32 | uint64(b[l])) >> (c[l] & 31))
			}
		}},
		"v_alignbyte_b32": {results: 1, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = uint32((uint64(a[l])<<32 | uint64(b[l])) >> (c[l] & 3 * 8))
			}
		}},
		"v_add3_u32": {results: 1, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = a[l] + b[l] + c[l]
			}
		}},
		"v_lshl_add_u32": {results: 1, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = a[l]<<(b[l]&31) + c[l]
			}
		}},
		"v_add_lshl_u32": {results: 1, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = (a[l] + b[l]) << (c[l] & 31)
			}
		}},
		"v_lshl_or_b32": {results: 1, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = a[l]<<(b[l]&31) | c[l]
			}
		}},
		"v_and_or_b32": {results: 1, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = a[l]&b[l] | c[l]
			}
		}},
		"v_or3_b32": {results: 1, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = a[l] | b[l] | c[l]
			}
		}},
		"v_xad_u32": {results: 1, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = (a[l] ^ b[l]) + c[l]
			}
		}},
		"v_mad_u32_u24": {results: 1, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = (a[l]&0xffffff)*(b[l]&0xffffff) + c[l]
			}
		}},
		"v_mad_i32_i24": {results: 1, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = uint32((int32(a[l])<<8>>8)*(int32(b[l])<<8>>8)) + c[l]
			}
		}},
		"v_min3_u32": {results: 1, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = min(a[l], b[l], c[l])
			}
		}},
		"v_max3_u32": {results: 1, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = max(a[l], b[l], c[l])
			}
		}},
		"v_min3_i32": {results: 1, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = uint32(min(int32(a[l]), int32(b[l]), int32(c[l])))
			}
		}},
		"v_max3_i32": {results: 1, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = uint32(max(int32(a[l]), int32(b[l]), int32(c[l])))
			}
		}},
		"v_med3_i32": {results: 1, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = uint32(middle(int32(a[l]), int32(b[l]), int32(c[l])))
			}
		}},
		"v_med3_u32": {results: 1, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = middle(a[l], b[l], c[l])
			}
		}},
		"v_bcnt_u32_b32": {results: 1, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = uint32(bits.OnesCount32(a[l])) + b[l]
			}
		}},
		"v_ffbh_u32": {results: 1, v1: func(d, a *vec) {
			for l := range d {
				d[l] = lastOne(a[l])
			}
		}},
		"v_ffbl_b32": {results: 1, v1: func(d, a *vec) {
			for l := range d {
				d[l] = firstOne(a[l])
			}
		}},
		"v_ffbh_i32": {results: 1, v1: func(d, a *vec) {
			for l := range d {
				d[l] = signBits(a[l])
			}
		}},
		"v_bfrev_b32": {results: 1, v1: func(d, a *vec) {
			for l := range d {
				d[l] = bits.Reverse32(a[l])
			}
		}},
		"v_perm_b32": {results: 1, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = permuteBytes(a[l], b[l], c[l])
			}
		}},
		"v_sad_u32": {results: 1, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = max(a[l], b[l]) - min(a[l], b[l]) + c[l]
			}
		}},
		"v_cvt_pk_u16_u32": {results: 1, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = min(a[l], 0xffff) | min(b[l], 0xffff)<<16
			}
		}},
		"v_pack_b32_f16": {results: 1, float: 16, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = a[l]&0xffff | b[l]<<16
			}
		}},
	}
}

func middle[T cmp.Ordered](a, b, c T) T { return max(min(a, b), min(max(a, b), c)) }

// permuteBytes is V_PERM_B32: each byte of sel chooses one of the eight bytes of a
// and b, a sign, or a constant.
func permuteBytes(a, b, sel uint32) uint32 {
	data := uint64(a)<<32 | uint64(b)
	var out uint32
	for n := range uint(4) {
		var v uint32
		switch s := sel >> (8 * n) & 255; {
		case s < 8:
			v = uint32(data>>(8*s)) & 255
		case s < 12: // the sign of a half
			v = uint32(int32(data>>(16*(s-8))<<16>>16)<<16>>31) & 255
		case s == 12:
		default:
			v = 255
		}
		out |= v << (8 * n)
	}
	return out
}
