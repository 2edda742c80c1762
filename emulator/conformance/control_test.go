package conformance

import (
	"math"
	"math/bits"
)

func f32bits(f float32) uint32 { return math.Float32bits(f) }

// flow is branches, loops and calls, in which lanes part.
func flow(c *corpus) {
	type u = uint32
	c.body("flow", own+"u32 v = i + 1, k = 0; while (v != 1) { v = v & 1 ? 3 * v + 1 : v >> 1; k++; } out[i] = k;", func(a, b, o []u) {
		each(func(i int) {
			for v := u(i + 1); v != 1; o[i]++ {
				v = pick(v&1 != 0, 3*v+1, v>>1)
			}
		})
	})
	c.body("flow", own+"u32 s = 0; for (u32 k = 0; k < (a[i] & 31); k++) { if (k == (b[i] & 15)) continue; for (u32 m = 0; m < k; m++) { if (m * k > 50) break; s += m ^ k; } if (s > 900) break; } out[i] = s;", func(a, b, o []u) {
		each(func(i int) {
			s := u(0)
			for k := u(0); k < a[i]&31; k++ {
				if k == b[i]&15 {
					continue
				}
				for m := u(0); m < k && m*k <= 50; m++ {
					s += m ^ k
				}
				if s > 900 {
					break
				}
			}
			o[i] = s
		})
	})
	c.body("flow", own+"u32 r; switch (a[i] % 11) { case 0: r = 5; break; case 1: r = b[i] * 3; break; case 2: case 3: r = b[i] ^ 7; break; case 5: r = 1; /* on */ case 6: r = b[i] + 2; break; case 9: out[i] = 77; return; default: r = ~b[i]; } out[i] = r;", func(a, b, o []u) {
		each(func(i int) {
			o[i] = []u{5, b[i] * 3, b[i] ^ 7, b[i] ^ 7, ^b[i], b[i] + 2, b[i] + 2, ^b[i], ^b[i], 77, ^b[i]}[a[i]%11]
		})
	})
	first := len(c.list)
	c.body("call", own+"u32 depth = 0; out[i] = fib(i % 9, &depth) * 1000 + depth;", func(a, b, o []u) {
		var fib func(n u, depth *u) u
		fib = func(n u, depth *u) u {
			*depth++
			if n < 2 {
				return n
			}
			return fib(n-1, depth) + fib(n-2, depth)
		}
		each(func(i int) { d := u(0); f := fib(u(i%9), &d); o[i] = f*1000 + d })
	})
	c.list[first].code = `NOINLINE u32 fib(u32 n, u32 *depth) { ++*depth; return n < 2 ? n : fib(n - 1, depth) + fib(n - 2, depth); }
NOINLINE u32 one(u32 x) { return x + 1; }
NOINLINE u32 two(u32 x) { return x * 2; }
NOINLINE u32 three(u32 x) { return x ^ 3; }
struct Shape { __device__ virtual u32 area(u32 x) { return x; } };
struct Square : Shape { __device__ u32 area(u32 x) override { return x * x; } };
NOINLINE u32 areaOf(Shape *s, u32 x) { return s->area(x); }
struct big { u64 v[6]; };
NOINLINE big twist(big x, u32 k) { x.v[k % 6] ^= x.v[(k + 1) % 6]; return x; }
` + c.list[first].code
	c.body("call", own+"typedef u32 (*fn)(u32); fn f = a[i] % 3 == 0 ? one : a[i] % 3 == 1 ? two : three; out[i] = f(b[i]);", func(a, b, o []u) {
		each(func(i int) { o[i] = []u{b[i] + 1, b[i] * 2, b[i] ^ 3}[a[i]%3] })
	})
	c.body("call", own+"Shape plain; Square square; out[i] = areaOf(a[i] & 1 ? &square : &plain, b[i]);", func(a, b, o []u) {
		each(func(i int) { o[i] = pick(a[i]&1 != 0, b[i]*b[i], b[i]) })
	})
	c.body("call", own+"big x; for (u32 k = 0; k < 6; k++) x.v[k] = (u64)a[i] * (k + 1); x = twist(x, b[i]); u64 s = 0; for (u32 k = 0; k < 6; k++) s = s * 3 + x.v[k]; out[i] = (u32)(s >> 5);", func(a, b, o []u) {
		each(func(i int) {
			var x [6]uint64
			for k := range x {
				x[k] = uint64(a[i]) * uint64(k+1)
			}
			x[b[i]%6] ^= x[(b[i]+1)%6]
			s := uint64(0)
			for _, v := range x {
				s = s*3 + v
			}
			o[i] = u(s >> 5)
		})
	})
	c.body("flow", own+"u32 s = a[i]; again: s = s * 5 + 1; if (s % 13 == b[i] % 13) goto done; if (s & 64) goto again; s ^= 0x55; done: out[i] = s;", func(a, b, o []u) {
		each(func(i int) {
			s := a[i]
			for {
				if s = s*5 + 1; s%13 == b[i]%13 {
					break
				}
				if s&64 == 0 {
					s ^= 0x55
					break
				}
			}
			o[i] = s
		})
	})
	c.body("flow", own+"u32 s = 0; for (u32 k = 0; k < n; k += 101) s = s * 7 + a[k]; out[i] = s ^ i;", func(a, b, o []u) {
		s := u(0)
		for k := 0; k < items; k += 101 {
			s = s*7 + a[k]
		}
		each(func(i int) { o[i] = s ^ u(i) })
	})
	c.body("flow", own+"if (i % 5 == 2) return; if (i & 8) { if (a[i] > b[i]) { out[i] = 1; return; } out[i] = 2; } else if (i & 16) out[i] = a[i] > 100 && b[i] < 1u << 20 || i == 3 ? 3 : 4;", func(a, b, o []u) {
		each(func(i int) {
			switch {
			case i%5 == 2:
			case i&8 != 0:
				o[i] = pick[u](a[i] > b[i], 1, 2)
			case i&16 != 0:
				o[i] = pick[u](a[i] > 100 && b[i] < 1<<20 || i == 3, 3, 4)
			}
		})
	})
}

// lanes is what passes between the lanes of a wave, of which it has size.
func lanes(c *corpus, size int) {
	type u = uint32
	last := size - 1
	wave := func(f func(v []u, lane int) u) func(a, b, o []u) {
		return func(a, b, o []u) {
			for g := range 1024 {
				o[g] = f(a[g&^last:g&^last+size], g&last)
			}
		}
	}
	v := "u32 v = a[GID], lane = TID % LANES; (void)lane; "
	c.body("lanes", v+"out[GID] = __builtin_amdgcn_readfirstlane(v) ^ __builtin_amdgcn_readlane(v, 37 % LANES);", wave(func(v []u, _ int) u { return v[0] ^ v[37%size] }))
	c.body("lanes", v+"u64 odd = BALLOT(v & 1); out[GID] = (u32)odd ^ (u32)(odd >> 32) ^ __builtin_amdgcn_mbcnt_hi((u32)(odd >> 32), __builtin_amdgcn_mbcnt_lo((u32)odd, 5));", wave(func(v []u, lane int) u {
		var m uint64
		for l, x := range v {
			m |= uint64(x&1) << l
		}
		return u(m) ^ u(m>>32) ^ u(5+bits.OnesCount64(m&(1<<lane-1)))
	}))
	// gfx10 and gfx11 stay within 32 lanes.
	c.body("lanes", v+"out[GID] = __builtin_amdgcn_ds_bpermute(((lane * 5 + 3) % LANES) << 2, v);", wave(func(v []u, lane int) u { return v[(lane*5+3)&last] })).not("gfx10*/64", "gfx11*/64")
	c.body("lanes", v+"out[GID] = __builtin_amdgcn_ds_permute(((lane * 5 + 3) % LANES) << 2, v);", func(a, b, o []u) {
		for g := range 1024 {
			o[g&^last+(g&last*5+3)&last] = a[g]
		}
	}).not("gfx10*/64", "gfx11*/64")
	c.body("lanes", v+"out[GID] = __builtin_amdgcn_ds_bpermute(((lane & 32) | ((lane * 5 + 3) & 31)) << 2, v);", wave(func(v []u, lane int) u { return v[lane&32|(lane*5+3)&31] }))
	c.body("lanes", v+"out[GID] = __builtin_amdgcn_ds_bpermute((lane * 3 + 64) << 2, v);", wave(func(v []u, lane int) u { return v[lane&32|lane*3&31] })).from("gfx10*", "gfx10*/64", "gfx11*", "gfx11*/64", "gfx12*")
	c.body("lanes", v+"out[GID] = __builtin_amdgcn_ds_swizzle(v, 0x041f);", wave(func(v []u, lane int) u { return v[lane^1] }))
	c.body("lanes", v+"out[GID] = __builtin_amdgcn_mov_dpp(v, 0x1b, 0xf, 0xf, true);", wave(func(v []u, lane int) u { return v[lane^3] }))
	c.body("lanes", v+"out[GID] = __builtin_amdgcn_update_dpp(7, v, 0x112, 0xf, 0xf, false);", wave(func(v []u, lane int) u { return pick(lane&15 >= 2, v[max(lane-2, 0)], 7) }))
	c.body("lanes", v+"out[GID] = __builtin_amdgcn_update_dpp(7, v, 0x103, 0xf, 0xf, true);", wave(func(v []u, lane int) u { return pick(lane&15 < 13, v[min(lane+3, last)], 0) }))
	c.body("lanes", v+"out[GID] = __builtin_amdgcn_update_dpp(7, v, 0x125, 0x5, 0xf, false);", wave(func(v []u, lane int) u {
		return pick(lane>>4&1 == 0, v[lane&^15|(lane-5)&15], 7)
	}))
	c.body("lanes", v+"out[GID] = __builtin_amdgcn_update_dpp(7, v, 0x140, 0xf, 0x3, false) ^ __builtin_amdgcn_mov_dpp(v, 0x141, 0xf, 0xf, false);", wave(func(v []u, lane int) u {
		return pick(lane>>2&3 < 2, v[lane^15], 7) ^ v[lane^7]
	}))
	c.body("lanes", v+"out[GID] = __builtin_amdgcn_update_dpp(9, v, 0x138, 0xf, 0xf, false) + __builtin_amdgcn_update_dpp(3, v, 0x142, 0xa, 0xf, false) + __builtin_amdgcn_update_dpp(4, v, 0x143, 0xc, 0xf, false);", wave(func(v []u, lane int) u {
		shifted := u(9)
		if lane > 0 {
			shifted = v[lane-1]
		}
		row, half := u(3), u(4)
		if lane>>4&1 == 1 {
			row = v[lane&^15-1]
		}
		if lane >= 32 {
			half = v[31]
		}
		return shifted + row + half
	})).not("gfx1*", "gfx1*/64")
	c.body("lanes", v+"u32 s = v; for (u32 d = LANES / 2; d; d >>= 1) s += __builtin_amdgcn_ds_bpermute((lane ^ d) << 2, s); out[GID] = s;", wave(func(v []u, _ int) u {
		s := u(0)
		for _, x := range v {
			s += x
		}
		return s
	})).not("gfx10*/64", "gfx11*/64")
	c.body("lanes", v+"u32 r = 0; if (v & 2) r = (u32)BALLOT(true) + __builtin_amdgcn_readfirstlane(v); out[GID] = r;", wave(func(v []u, lane int) u {
		m, first := u(0), -1
		for l, x := range v {
			if x&2 == 0 {
				continue
			}
			if l < 32 {
				m |= 1 << l
			}
			if first < 0 {
				first = l
			}
		}
		return pick(v[lane]&2 != 0, m+v[max(first, 0)], 0)
	}))
	// What RDNA has beside.
	c.body("lanes", v+"out[GID] = __builtin_amdgcn_update_dpp(7, v, 0x155, 0xf, 0xf, false) + 3 * __builtin_amdgcn_update_dpp(7, v, 0x16b, 0x1, 0xf, false);", wave(func(v []u, lane int) u {
		return v[lane&^15|5] + 3*pick(lane < 16, v[lane^11], 7)
	})).from("gfx1*", "gfx1*/64")
	c.body("lanes", v+"out[GID] = __builtin_amdgcn_mov_dpp8(v, 0x6f5a31) * 3 - v;", wave(func(v []u, lane int) u {
		return v[lane&^7|0x6f5a31>>(3*(lane&7))&7]*3 - v[lane]
	})).from("gfx1*", "gfx1*/64")
	c.body("lanes", v+"u32 r = 1; if (v & 4) { r = __builtin_amdgcn_mov_dpp8(v, 0x6f5a31); r += __builtin_amdgcn_permlane16(5, v, 0x13570246, 0xfdb98ace, false, true); } out[GID] = r;", wave(func(v []u, lane int) u {
		on := func(l int) u { return pick(v[l]&4 != 0, v[l], 0) }
		row := []int{6, 4, 2, 0, 7, 5, 3, 1, 14, 12, 10, 8, 9, 11, 13, 15}
		return pick(v[lane]&4 != 0, on(lane&^7|0x6f5a31>>(3*(lane&7))&7)+on(lane&^15|row[lane&15]), 1)
	})).from("gfx1*", "gfx1*/64")
	c.body("lanes", v+"u32 r = 1; if (v & 4) r = __builtin_amdgcn_permlanex16(5, v, 0x13570246, 0xfdb98ace, false, false) + __builtin_amdgcn_permlane16(5, v, 0x76543210, 0xfedcba98, true, false); out[GID] = r;", wave(func(v []u, lane int) u {
		row := []int{6, 4, 2, 0, 7, 5, 3, 1, 14, 12, 10, 8, 9, 11, 13, 15}
		at := (lane^16)&^15 | row[lane&15]
		return pick(v[lane]&4 != 0, pick(v[at]&4 != 0, v[at], 5)+v[lane], 1)
	})).from("gfx1*", "gfx1*/64")
	c.body("lanes", v+"out[GID] = __builtin_amdgcn_permlane64(v) - v;", wave(func(v []u, lane int) u { return v[lane^32] - v[lane] })).from("gfx11*/64", "gfx12*/64")
	c.body("lanes", v+"out[GID] = __builtin_amdgcn_permlane16_var(9, v, b[GID], false, false) - __builtin_amdgcn_permlanex16_var(9, v, b[GID] >> 4, false, false);", func(a, b, o []u) {
		for g := range 1024 {
			o[g] = a[g&^15|int(b[g]&15)] - a[(g^16)&^15|int(b[g]>>4&15)]
		}
	}).from("gfx12*", "gfx12*/64")
	c.body("lanes", v+"u32 r[6] = {v, v + 1, v * 3, v ^ 9, ~v, 7}; u32 k = (u32)__builtin_amdgcn_readfirstlane(v) % 6; r[k] += 5; out[GID] = r[(k + 2) % 6] * 31 + r[k];", wave(func(v []u, lane int) u {
		x := v[lane]
		r, k := []u{x, x + 1, x * 3, x ^ 9, ^x, 7}, v[0]%6
		r[k] += 5
		return r[(k+2)%6]*31 + r[k]
	}))
}

// groups is what the waves of a work-group do together.
func groups(c *corpus) {
	type u = uint32
	c.body("group", "__shared__ u32 t[256]; t[TID] = a[GID]; for (u32 s = 128; s; s >>= 1) { SYNC; if (TID < s) t[TID] += t[TID + s]; } if (TID == 0) out[BID] = t[0];", func(a, b, o []u) {
		for g := range 1024 {
			o[g/256] += a[g]
		}
	})
	c.body("group", "__shared__ u32 t[2][256]; u32 p = 0; t[0][TID] = a[GID]; for (u32 d = 1; d < 256; d <<= 1) { SYNC; t[!p][TID] = TID >= d ? t[p][TID] + t[p][TID - d] : t[p][TID]; p = !p; } out[GID] = t[p][TID];", func(a, b, o []u) {
		for g := range 1024 {
			o[g] = a[g]
			if g&255 > 0 {
				o[g] += o[g-1]
			}
		}
	})
	c.body("group", "__shared__ u32 t[16][17]; u32 x = TID & 15, y = TID >> 4; t[y][x] = a[GID]; SYNC; out[GID] = t[x][y];", func(a, b, o []u) {
		for g := range 1024 {
			o[g] = a[g&^255+g&15*16+g>>4&15]
		}
	})
	c.body("group", "out[GID] = BID * 100000 + BDIM * 100 + (TID >> 6) + __builtin_amdgcn_grid_size_x();", func(a, b, o []u) {
		for g := range 1024 {
			o[g] = u(g/256*100000 + 25600 + g&255>>6 + 1024)
		}
	})
	c.body("group", "__shared__ u32 v; if (TID == 0) { u32 s = 0; for (u32 k = 0; k < 500; k++) s = s * 3 + a[k & 511]; v = s; } SYNC; out[GID] = v + TID;", func(a, b, o []u) {
		s := u(0)
		for k := range 500 {
			s = s*3 + a[k]
		}
		for g := range 1024 {
			o[g] = s + u(g&255)
		}
	})
}
