package emulator

import "math"

// vectorFloat are the operations on f32, all lanes at once. Division, roots,
// powers and angles are more exact here than in hardware: their results are
// rounded from those of float64.
func vectorFloat() map[string]*operation {
	return map[string]*operation{
		"v_add_f32": {results: 1, float: 32, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = u32(f32(a[l]) + f32(b[l]))
			}
		}},
		"v_sub_f32": {results: 1, float: 32, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = u32(f32(a[l]) - f32(b[l]))
			}
		}},
		"v_subrev_f32": {results: 1, float: 32, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = u32(f32(b[l]) - f32(a[l]))
			}
		}},
		"v_mul_f32": {results: 1, float: 32, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = u32(f32(a[l]) * f32(b[l]))
			}
		}},
		"v_mul_legacy_f32": {results: 1, float: 32, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = u32(legacy(f32(a[l]), f32(b[l])))
			}
		}},
		"v_min_f32": {results: 1, float: 32, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = u32(minNum(f32(a[l]), f32(b[l])))
			}
		}},
		"v_max_f32": {results: 1, float: 32, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = u32(maxNum(f32(a[l]), f32(b[l])))
			}
		}},
		"v_fma_f32": {results: 1, float: 32, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = u32(fma32(f32(a[l]), f32(b[l]), f32(c[l])))
			}
		}},
		"v_mad_f32": {results: 1, float: 32, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = u32(product(f32(a[l]), f32(b[l])) + f32(c[l]))
			}
		}},
		"v_fmamk_f32": {results: 1, float: 32, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = u32(fma32(f32(a[l]), f32(b[l]), f32(c[l])))
			}
		}},
		"v_fmaak_f32": {results: 1, float: 32, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = u32(fma32(f32(a[l]), f32(b[l]), f32(c[l])))
			}
		}},
		"v_madmk_f32": {results: 1, float: 32, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = u32(product(f32(a[l]), f32(b[l])) + f32(c[l]))
			}
		}},
		"v_madak_f32": {results: 1, float: 32, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = u32(product(f32(a[l]), f32(b[l])) + f32(c[l]))
			}
		}},
		"v_fmac_f32": {results: 1, float: 32, vt: func(d, a, b *vec) {
			for l := range d {
				d[l] = u32(fma32(f32(a[l]), f32(b[l]), f32(d[l])))
			}
		}},
		"v_mac_f32": {results: 1, float: 32, vt: func(d, a, b *vec) {
			for l := range d {
				d[l] = u32(product(f32(a[l]), f32(b[l])) + f32(d[l]))
			}
		}},
		"v_min3_f32": {results: 1, float: 32, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = u32(minNum(minNum(f32(a[l]), f32(b[l])), f32(c[l])))
			}
		}},
		"v_max3_f32": {results: 1, float: 32, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = u32(maxNum(maxNum(f32(a[l]), f32(b[l])), f32(c[l])))
			}
		}},
		"v_med3_f32": {results: 1, float: 32, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = u32(middle32(f32(a[l]), f32(b[l]), f32(c[l])))
			}
		}},
		"v_rcp_f32": {results: 1, float: 32, v1: func(d, a *vec) {
			for l := range d {
				d[l] = u32(float32(1 / float64(f32(a[l]))))
			}
		}},
		"v_rcp_iflag_f32": {results: 1, float: 32, v1: func(d, a *vec) {
			for l := range d {
				d[l] = u32(float32(1 / float64(f32(a[l]))))
			}
		}},
		"v_rsq_f32": {results: 1, float: 32, v1: func(d, a *vec) {
			for l := range d {
				d[l] = u32(float32(1 / math.Sqrt(float64(f32(a[l])))))
			}
		}},
		"v_sqrt_f32": {results: 1, float: 32, v1: func(d, a *vec) {
			for l := range d {
				d[l] = u32(float32(math.Sqrt(float64(f32(a[l])))))
			}
		}},
		"v_exp_f32": {results: 1, float: 32, v1: func(d, a *vec) {
			for l := range d {
				d[l] = u32(float32(math.Exp2(float64(f32(a[l])))))
			}
		}},
		"v_log_f32": {results: 1, float: 32, v1: func(d, a *vec) {
			for l := range d {
				d[l] = u32(float32(math.Log2(float64(f32(a[l])))))
			}
		}},
		"v_sin_f32": {results: 1, float: 32, v1: func(d, a *vec) {
			for l := range d {
				d[l] = u32(float32(turns(math.Sin, float64(f32(a[l])))))
			}
		}},
		"v_cos_f32": {results: 1, float: 32, v1: func(d, a *vec) {
			for l := range d {
				d[l] = u32(float32(turns(math.Cos, float64(f32(a[l])))))
			}
		}},
		"v_trunc_f32": {results: 1, float: 32, v1: func(d, a *vec) {
			for l := range d {
				d[l] = u32(float32(math.Trunc(float64(f32(a[l])))))
			}
		}},
		"v_ceil_f32": {results: 1, float: 32, v1: func(d, a *vec) {
			for l := range d {
				d[l] = u32(float32(math.Ceil(float64(f32(a[l])))))
			}
		}},
		"v_floor_f32": {results: 1, float: 32, v1: func(d, a *vec) {
			for l := range d {
				d[l] = u32(float32(math.Floor(float64(f32(a[l])))))
			}
		}},
		"v_rndne_f32": {results: 1, float: 32, v1: func(d, a *vec) {
			for l := range d {
				d[l] = u32(float32(math.RoundToEven(float64(f32(a[l])))))
			}
		}},
		"v_fract_f32": {results: 1, float: 32, v1: func(d, a *vec) {
			for l := range d {
				d[l] = u32(fraction(f32(a[l])))
			}
		}},
		"v_frexp_mant_f32": {results: 1, float: 32, v1: func(d, a *vec) {
			for l := range d {
				d[l] = u32(float32(mantissa(float64(f32(a[l])))))
			}
		}},
		"v_frexp_exp_i32_f32": {results: 1, float: 32, v1: func(d, a *vec) {
			for l := range d {
				d[l] = uint32(exponent(float64(f32(a[l]))))
			}
		}},
		"v_ldexp_f32": {results: 1, float: 32, v2: func(d, a, b *vec) {
			for l := range d {
				d[l] = u32(float32(ldexp(float64(f32(a[l])), int32(b[l]), 32)))
			}
		}},
		"v_div_fixup_f32": {results: 1, float: 32, v3: func(d, a, b, c *vec) {
			for l := range d {
				d[l] = uint32(divFixup(single(), uint64(a[l]), uint64(b[l]), uint64(c[l])))
			}
		}},
		"v_cvt_f32_i32": {results: 1, v1: func(d, a *vec) {
			for l := range d {
				d[l] = u32(float32(int32(a[l])))
			}
		}},
		"v_cvt_f32_u32": {results: 1, v1: func(d, a *vec) {
			for l := range d {
				d[l] = u32(float32(a[l]))
			}
		}},
		"v_cvt_i32_f32": {results: 1, float: 32, v1: func(d, a *vec) {
			for l := range d {
				d[l] = uint32(int32(saturate(float64(f32(a[l])), -1<<31, 1<<31-1)))
			}
		}},
		"v_cvt_u32_f32": {results: 1, float: 32, v1: func(d, a *vec) {
			for l := range d {
				d[l] = uint32(saturate(float64(f32(a[l])), 0, 1<<32-1))
			}
		}},
		"v_cvt_rpi_i32_f32": {results: 1, float: 32, v1: func(d, a *vec) {
			for l := range d {
				d[l] = uint32(int32(saturate(math.Floor(float64(f32(a[l]))+0.5), -1<<31, 1<<31-1)))
			}
		}},
		"v_cvt_flr_i32_f32": {results: 1, float: 32, v1: func(d, a *vec) {
			for l := range d {
				d[l] = uint32(int32(saturate(math.Floor(float64(f32(a[l]))), -1<<31, 1<<31-1)))
			}
		}},
		"v_cvt_f32_ubyte0": {results: 1, v1: func(d, a *vec) {
			for l := range d {
				d[l] = u32(float32(a[l] & 255))
			}
		}},
		"v_cvt_f32_ubyte1": {results: 1, v1: func(d, a *vec) {
			for l := range d {
				d[l] = u32(float32(a[l] >> 8 & 255))
			}
		}},
		"v_cvt_f32_ubyte2": {results: 1, v1: func(d, a *vec) {
			for l := range d {
				d[l] = u32(float32(a[l] >> 16 & 255))
			}
		}},
		"v_cvt_f32_ubyte3": {results: 1, v1: func(d, a *vec) {
			for l := range d {
				d[l] = u32(float32(a[l] >> 24))
			}
		}},
	}
}
