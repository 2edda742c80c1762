package conformance

import "fmt"

func each(want func(i int)) {
	for i := range items {
		want(i)
	}
}

const own = "u32 i = GID; if (i >= n) return; "

func bytesOf(a []uint32, at int) uint32  { return a[at/4] >> (8 * (at % 4)) & 255 }
func shortsOf(a []uint32, at int) uint32 { return a[at/2] >> (16 * (at % 2)) & 0xffff }

// memory is loads and stores of all widths, signs and places.
func memory(c *corpus) {
	type u = uint32
	c.body("global", own+"out[i] = ((const u8 *)a)[i * 3] + ((const i8 *)b)[i * 5] * 256;", func(a, b, o []u) {
		each(func(i int) { o[i] = bytesOf(a, 3*i) + u(int32(int8(bytesOf(b, 5*i))))*256 })
	})
	c.body("global", own+"out[i] = ((const u16 *)a)[i * 3] + ((const i16 *)b)[n - i] * 3;", func(a, b, o []u) {
		each(func(i int) { o[i] = shortsOf(a, 3*i) + u(int32(int16(shortsOf(b, items-i))))*3 })
	})
	c.body("global", own+"struct __attribute__((packed)) p { u32 v; }; out[i] = ((const p *)((const char *)a + 3 * i + 1))->v;", func(a, b, o []u) {
		each(func(i int) {
			for n := range 4 {
				o[i] |= bytesOf(a, 3*i+1+n) << (8 * n)
			}
		})
	})
	c.body("global", "typedef u32 x4 __attribute__((ext_vector_type(4))); u32 i = GID; if (i >= n / 4) return; x4 v = ((const x4 *)a)[i]; ((x4 *)out)[i] = v.wzyx + ((const x4 *)b)[i];", func(a, b, o []u) {
		each(func(i int) { o[i] = a[i^3] + b[i] })
	})
	c.body("global", "struct x3 { u32 v[3]; }; u32 i = GID; if (i >= n / 3) return; x3 v = ((const x3 *)a)[i]; v.v[1] ^= v.v[2]; ((x3 *)out)[i] = v;", func(a, b, o []u) {
		for i := range items / 3 {
			o[3*i], o[3*i+1], o[3*i+2] = a[3*i], a[3*i+1]^a[3*i+2], a[3*i+2]
		}
	})
	c.body("global", "u32 i = GID; if (i >= n / 2) return; u64 v = ((const u64 *)a)[i]; ((u64 *)out)[i] = v << 7 | v >> 57;", func(a, b, o []u) {
		for i := range items / 2 {
			v := uint64(a[2*i]) | uint64(a[2*i+1])<<32
			v = v<<7 | v>>57
			o[2*i], o[2*i+1] = u(v), u(v>>32)
		}
	})
	c.body("global", own+"((u8 *)out)[i] = a[i]; ((u16 *)(out + 512))[i] = b[i] >> 9;", func(a, b, o []u) {
		each(func(i int) { o[i/4] |= a[i] & 255 << (8 * (i % 4)); o[512+i/2] |= b[i] >> 9 & 0xffff << (16 * (i % 2)) })
	})
	c.body("global", own+"out[i * 2] = a[i]; out[(n - 1 - i) * 2 + 1] = b[i];", func(a, b, o []u) {
		each(func(i int) { o[2*i], o[2*(items-1-i)+1] = a[i], b[i] })
	})
	c.body("private", own+"volatile u32 v[24]; for (u32 k = 0; k < 24; k++) v[k] = a[i] + k * k; out[i] = v[b[i] % 24] ^ v[i % 7];", func(a, b, o []u) {
		each(func(i int) { k, l := b[i]%24, u(i%7); o[i] = (a[i] + k*k) ^ (a[i] + l*l) })
	})
	c.body("private", own+"volatile u8 v[64]; for (u32 k = 0; k < 64; k++) v[k] = a[i] >> (k & 15); u32 s = 0; for (u32 k = 0; k < 64; k += 5) s = s * 31 + v[(k + b[i]) & 63]; out[i] = s;", func(a, b, o []u) {
		each(func(i int) {
			s := u(0)
			for k := u(0); k < 64; k += 5 {
				s = s*31 + a[i]>>((k+b[i])&63&15)&255
			}
			o[i] = s
		})
	})
	c.body("private", own+"volatile u64 v[9]; for (int k = 0; k < 9; k++) v[k] = (u64)a[i] * k; volatile short *h = (volatile short *)v; out[i] = (u32)(v[b[i] % 9] >> 3) + h[i % 36];", func(a, b, o []u) {
		each(func(i int) {
			at := i % 36
			o[i] = u(uint64(a[i])*uint64(b[i]%9)>>3) + u(int32(int16(uint64(a[i])*uint64(at/4)>>(16*(at%4)))))
		})
	})
	before := len(c.list)
	c.body("constant", own+"out[i] = constants[a[i] % 5] * squares[b[i] & 7];", func(a, b, o []u) {
		t := []u{3, 5, 7, 11, 13}
		each(func(i int) { o[i] = t[a[i]%5] * (b[i] & 7) * (b[i] & 7) })
	})
	c.list[before].code = "__constant__ u32 constants[5] = {3, 5, 7, 11, 13};\n__device__ u32 squares[8] = {0, 1, 4, 9, 16, 25, 36, 49};\n__device__ u32 *where[2] = {squares + 3, squares};\n" + c.list[before].code
	c.body("constant", own+"out[i] = where[i & 1][a[i] & 3];", func(a, b, o []u) {
		each(func(i int) { k := a[i]&3 + pick[u](i&1 == 0, 3, 0); o[i] = k * k })
	})
	// Local memory of all widths: each work-group of 256 has its own.
	for _, w := range []struct {
		c string
		n uint
	}{{"u8", 8}, {"u16", 16}, {"u32", 32}} {
		c.body("local", fmt.Sprintf("__shared__ %s t[256]; t[TID] = a[GID]; SYNC; out[GID] = t[255 - TID] + t[(TID * 7) & 255];", w.c), func(a, b, o []u) {
			mask := u(1<<w.n - 1)
			for g := range 1024 {
				base, t := g&^255, g&255
				o[g] = a[base+255-t]&mask + a[base+(t*7)&255]&mask
			}
		})
	}
	c.body("local", "__shared__ u64 t[256]; t[TID] = (u64)a[GID] << 20 | b[GID]; SYNC; out[GID] = (u32)(t[TID ^ 129] >> 11);", func(a, b, o []u) {
		for g := range 1024 {
			o[g] = u((uint64(a[g^129])<<20 | uint64(b[g^129])) >> 11)
		}
	})
	c.body("local", "typedef u32 x4 __attribute__((ext_vector_type(4))); __shared__ x4 t[256]; t[TID] = (x4){a[GID], b[GID], TID, 5}; SYNC; x4 v = t[TID ^ 3]; out[GID] = v.x ^ v.y * 3 ^ v.z << 4 ^ v.w;", func(a, b, o []u) {
		for g := range 1024 {
			o[g] = a[g^3] ^ b[g^3]*3 ^ u(g&255^3)<<4 ^ 5
		}
	})
	c.body("local", "__shared__ signed char t[512]; t[TID * 2] = a[GID]; t[TID * 2 + 1] = b[GID]; SYNC; out[GID] = ((short *)t)[TID ^ 1] + t[TID];", func(a, b, o []u) {
		for g := range 1024 {
			base, t := g&^255, g&255
			v := pick(t&1 == 0, a[base+t/2], b[base+t/2])
			o[g] = u(int32(int16(a[g^1]&255|b[g^1]<<8))) + u(int32(int8(v)))
		}
	})
	// A pointer that may be to any memory.
	c.body("generic", "__shared__ u32 t[256]; volatile u32 mine = b[GID]; t[TID] = a[GID]; SYNC; const u32 *p = TID % 3 == 0 ? t + 255 - TID : TID % 3 == 1 ? a + TID : (const u32 *)&mine; out[GID] = *(const volatile u32 *)p;", func(a, b, o []u) {
		for g := range 1024 {
			base, t := g&^255, g&255
			o[g] = []u{a[base+255-t], a[t], b[g]}[t%3]
		}
	})
}

// atomics end the same in every order.
func atomics(c *corpus) {
	type u = uint32
	one := func(statement string, start u, f func(old, v u) u) {
		c.body("atomic", "if (GID == 0) {} "+statement, func(a, b, o []u) {
			for k := range 16 {
				o[k] = start
			}
			for g := range 1024 {
				o[g&15] = f(o[g&15], a[g])
			}
		})
	}
	for _, op := range []struct {
		name string
		f    func(old, v u) u
	}{
		{"fetch_add", func(x, v u) u { return x + v }}, {"fetch_sub", func(x, v u) u { return x - v }}, {"fetch_xor", func(x, v u) u { return x ^ v }},
		{"fetch_or", func(x, v u) u { return x | v }}, {"fetch_max", func(x, v u) u { return max(x, v) }},
	} {
		one("__hip_atomic_"+op.name+"(&out[TID & 15], a[GID], AGENT);", 0, op.f)
	}
	one("__hip_atomic_fetch_max((i32 *)&out[TID & 15], (i32)a[GID], AGENT);", 0, func(x, v u) u { return u(max(int32(x), int32(v))) })
	one("__hip_atomic_fetch_min((i32 *)&out[TID & 15], (i32)a[GID], AGENT);", 0, func(x, v u) u { return u(min(int32(x), int32(v))) })
	c.body("atomic", "__hip_atomic_fetch_add((u64 *)out + (TID & 7), (u64)a[GID] << 9, AGENT); __hip_atomic_fetch_max((u64 *)out + 8 + (TID & 7), (u64)a[GID] << 9, AGENT);", func(a, b, o []u) {
		var s, m [8]uint64
		for g := range 1024 {
			s[g&7] += uint64(a[g]) << 9
			m[g&7] = max(m[g&7], uint64(a[g])<<9)
		}
		for k := range 8 {
			o[2*k], o[2*k+1], o[16+2*k], o[17+2*k] = u(s[k]), u(s[k]>>32), u(m[k]), u(m[k]>>32)
		}
	})
	c.body("atomic", "u32 seen = out[0]; while (!__hip_atomic_compare_exchange_strong(&out[0], &seen, seen * 1 + 2, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) {}", func(a, b, o []u) { o[0] = 2048 })
	c.body("atomic", "__hip_atomic_fetch_add((float *)out + (TID & 3), (float)(a[GID] & 255), AGENT);", func(a, b, o []u) {
		var s [4]u
		for g := range 1024 {
			s[g&3] += a[g] & 255
		}
		for k := range 4 {
			o[k] = f32bits(float32(s[k]))
		}
	})
	c.body("atomic", "u32 k = __hip_atomic_fetch_add(&out[2047], 1u, AGENT); out[k] = 9;", func(a, b, o []u) {
		for g := range 1024 {
			o[g] = 9
		}
		o[2047] = 1024
	})
	c.body("atomic", "__shared__ u32 t[16]; if (TID < 16) t[TID] = 0; SYNC; __hip_atomic_fetch_add(&t[a[GID] & 15], b[GID], GROUP); SYNC; if (TID < 16) out[BID * 16 + TID] = t[TID];", func(a, b, o []u) {
		for g := range 1024 {
			o[g/256*16+int(a[g]&15)] += b[g]
		}
	})
	c.body("atomic", "__shared__ u64 t; __shared__ i32 low; if (TID == 0) { t = 0; low = 0; } SYNC; __hip_atomic_fetch_xor(&t, (u64)a[GID] << (TID & 31), GROUP); __hip_atomic_fetch_min(&low, (i32)b[GID], GROUP); SYNC; if (TID == 0) { out[BID * 3] = t; out[BID * 3 + 1] = t >> 32; out[BID * 3 + 2] = low; }", func(a, b, o []u) {
		for g := range 1024 {
			v, at := uint64(a[g])<<(g&31), g/256*3
			o[at] ^= u(v)
			o[at+1] ^= u(v >> 32)
			o[at+2] = u(min(int32(o[at+2]), int32(b[g])))
		}
	})
}
