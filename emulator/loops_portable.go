package emulator

// portableLoops are those in Go that are quicker than the way of their operations.
func portableLoops() *loops {
	return &loops{
		narrow: fusedLoops(), move: portable(),
		spread: func(d *vec, v uint32) {
			for l := range d {
				d[l] = v
			}
		},
		sign: func(d, a *vec, keep, flip uint32) {
			for l := range d {
				d[l] = a[l]&keep ^ flip
			}
		},
		choose: func(d, a, b *vec, mask uint64) {
			for l := range d {
				d[l] = a[l] ^ (a[l]^b[l])&-uint32(mask>>l&1)
			}
		},
	}
}

// fusedLoops are the fused multiply-adds where Go makes one instruction of a product
// and a sum: on arm64 it does. The language allows it and does not promise it, so
// that the loop itself is asked.
func fusedLoops() map[string]loop {
	const x = 1 + 0x1p-12 // its square needs 25 bits
	var a, c, d vec
	for l := range a {
		a[l], c[l] = u32(x), u32(-(1 + 0x1p-11))
	}
	for _, n := range []uint64{32, 64} {
		fusedMulAdd(&d, &a, &a, &c, n)
		for l := range n {
			if f32(d[l]) != 0x1p-24 {
				return nil
			}
		}
	}
	list := map[string]loop{}
	for _, name := range []string{"v_fma_f32", "v_fmamk_f32", "v_fmaak_f32", "v_fmac_f32"} {
		list[name] = fusedMulAdd
	}
	return list
}

func fusedMulAdd(d, a, b, c *vec, n uint64) {
	if n == lanes {
		for l := range d {
			d[l] = u32(f32(a[l])*f32(b[l]) + f32(c[l]))
		}
		return
	}
	for l := range lanes / 2 {
		d[l] = u32(f32(a[l])*f32(b[l]) + f32(c[l]))
	}
}
