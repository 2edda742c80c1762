package emulator

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// swizzleSource takes whole descriptors, but for one that clang makes.
func swizzleSource(arch string) string {
	words := []string{"LOAD4", "buffer_load_b128", "LOAD", "buffer_load_b32", "STORE", "buffer_store_b32", "ADD", "buffer_atomic_add_u32", "FORMAT", "buffer_load_format_xyzw", "PUT", "buffer_store_format_xyzw", "WAIT", "s_waitcnt vmcnt(0)"}
	switch arch {
	case "gfx900", "gfx1030":
		words[1], words[3], words[5], words[7] = "buffer_load_dwordx4", "buffer_load_dword", "buffer_store_dword", "buffer_atomic_add"
	case "gfx1201":
		words[13] = "s_wait_loadcnt 0"
	}
	return strings.NewReplacer(words...).Replace(`
typedef u32 u32x4 __attribute__((ext_vector_type(4))); typedef u32 u32x2 __attribute__((ext_vector_type(2)));
KERNEL load(u32x4 d, u32 *out, u32 so, u32 mul) { u32 v, i = TID * mul; asm volatile("LOAD %0, %1, %2, %3 idxen offset:8\nWAIT" : "=v"(v) : "v"(i), "s"(d), "s"(so)); out[TID] = v; }
KERNEL both(u32x4 d, u32 *out, u32 so, u32 mul) { u32 v; u32x2 i = {TID * mul, TID % 3 * 4}; asm volatile("LOAD %0, %1, %2, %3 idxen offen\nWAIT" : "=v"(v) : "v"(i), "s"(d), "s"(so)); out[TID] = v; }
KERNEL quads(u32x4 d, u32x4 *out, u32 so, u32 mul) { u32x4 v; u32 i = TID * mul; asm volatile("LOAD4 %0, %1, %2, %3 idxen offset:16\nWAIT" : "=v"(v) : "v"(i), "s"(d), "s"(so)); out[TID] = v; }
KERNEL store(u32x4 d, u32 *out, u32 so, u32 mul) { u32 v = 70000 + TID, i = TID * mul; asm volatile("STORE %0, %1, %2, %3 idxen offset:8" :: "v"(v), "v"(i), "s"(d), "s"(so) : "memory"); }
KERNEL add(u32x4 d, u32 *out, u32 so, u32 mul) { u32 v = 70000, i = TID * mul; asm volatile("ADD %0, %1, %2, %3 idxen offset:8" :: "v"(v), "v"(i), "s"(d), "s"(so) : "memory"); }
KERNEL format(u32x4 d, u32x4 *out, u32 so, u32 mul) { u32x4 v; u32 i = TID * mul; asm volatile("FORMAT %0, %1, %2, %3 idxen\nWAIT" : "=v"(v) : "v"(i), "s"(d), "s"(so)); out[TID] = v; }
KERNEL put(u32x4 d, u32x4 *out, u32 so, u32 mul) { u32x4 v = out[TID]; u32 i = TID * mul; asm volatile("PUT %0, %1, %2, %3 idxen" :: "v"(v), "v"(i), "s"(d), "s"(so) : "memory"); }
KERNEL builtin(u32 *p, u32 *out, u32 stride, u32 records, u32 flags) { out[TID] = __builtin_amdgcn_raw_buffer_load_b32(__builtin_amdgcn_make_buffer_rsrc(p, (short)stride, records, flags), 4, 0, 0); }
`)
}

// swizzledLayout lays records out as the documents' picture has them: side indices of the
// first element, the same of the second, and so on, then the next indices.
func swizzledLayout(stride, element, side, records int) func(index, offset int) int {
	at, next := map[[2]int]int{}, 0
	for first := 0; first < records; first += side {
		for off := 0; off < stride; off += element {
			for index := first; index < first+side; index++ {
				at[[2]int{index, off}] = next
				next += element
			}
		}
	}
	return func(index, offset int) int {
		return at[[2]int{index, offset / element * element}] + offset%element
	}
}

func TestSwizzledBuffers(t *testing.T) {
	const words = 1 << 14
	for _, arch := range []string{"gfx1030", "gfx1100", "gfx1201"} {
		m := loadHIP(t, arch, "-O2", swizzleSource(arch))
		swizzle := map[bool]uint32{true: 2 << 14, false: 1 << 14}[arch == "gfx1030"] // elements of 4 bytes
		const elements16 = 3 << 14
		late := arch == "gfx1201"
		type buffer struct {
			stride, records, word3, soffset, mul uint32
		}
		run := func(t *testing.T, kernel string, b buffer) (p, out []byte, err error) {
			pp, p := alloc(t, m, 4*words)
			po, out := alloc(t, m, 1024)
			for i := range words {
				putWord(p, i, uint32(100000+i))
			}
			d := binary.LittleEndian.AppendUint64(nil, uint64(pp)|uint64(b.stride)<<48)
			d = append(append(d, u32arg(b.records)...), u32arg(b.word3)...)
			args := [][]byte{d, u64arg(uint64(po)), u32arg(b.soffset), u32arg(b.mul)}
			_, err = m.Launch(t.Context(), kernel, Dim3{1, 1, 1}, Dim3{32, 1, 1}, args, Options{Check: CheckWait})
			return p, out, err
		}
		at := func(i int) uint32 { return uint32(100000 + i/4) }
		const unchecked = 2 << 28
		type swizzleCase struct {
			kernel string
			buffer
			want func(i int) uint32 // of out, by word
		}
		var cases []swizzleCase
		for n, side := range []int{8, 16, 32, 64} {
			layout := swizzledLayout(12, 4, side, 256)
			side3 := uint32(n) << 21
			cases = append(cases,
				swizzleCase{"load", buffer{12 | swizzle, 9, side3 | unchecked, 0, 3}, func(i int) uint32 { return at(layout(3*i, 8)) }},
				swizzleCase{"both", buffer{12 | swizzle, 9, side3 | unchecked, 0, 5}, func(i int) uint32 { return at(layout(5*i, i%3*4)) }},
				swizzleCase{"load", buffer{12 | swizzle, 40, side3, 0, 3}, func(i int) uint32 { return at(layout(3*i, 8)) * bit32(3*i < 40) }},
				swizzleCase{"load", buffer{12 | swizzle, 40, side3 | 3<<28, 0, 2}, func(i int) uint32 { return at(layout(2*i, 8)) * bit32(2*i < 40) }},
				swizzleCase{"load", buffer{8 | swizzle, 40, side3, 0, 1}, func(int) uint32 { return 0 }}, // the record ends there
				swizzleCase{"load", buffer{8 | swizzle, 0, side3 | unchecked, 0, 1}, func(int) uint32 { return 0 }},
				// The lane is added to the index, which the compiler's descriptor does not have.
				swizzleCase{"load", buffer{12 | swizzle, 40, side3 | 1<<28 | 1<<23, 0, 3}, func(i int) uint32 { return at(layout(4*i, 8)) * bit32(4*i < 40) }},
				// Where the scalar offset is added differs.
				swizzleCase{"load", buffer{12 | swizzle, 99, side3 | unchecked, 64, 3}, func(i int) uint32 {
					if late {
						return at(swizzledLayout(12, 4, side, 256)(3*i, 8) + 64*side)
					}
					return at(layout(3*i, 8) + 64)
				}},
			)
			if arch == "gfx1030" {
				continue
			}
			wide := swizzledLayout(48, 16, side, 256)
			cases = append(cases,
				swizzleCase{"load", buffer{48 | elements16, 99, side3, 0, 2}, func(i int) uint32 { return at(wide(2*i, 8)) }},
				swizzleCase{"quads", buffer{48 | elements16, 20, side3 | 3<<28, 0, 2}, func(i int) uint32 { return at(wide(i/4*2, 16+i%4*4)) * bit32(i/4*2 < 20) }},
			)
		}
		if late {
			for n, scale := range []uint32{1, 4, 8, 32} {
				layout := swizzledLayout(int(12*scale), 4, 8, 32)
				cases = append(cases,
					swizzleCase{"load", buffer{12, 99, uint32(n)<<18 | unchecked, 0, 1}, func(i int) uint32 { return at(i*int(12*scale) + 8) }},
					swizzleCase{"load", buffer{12 | swizzle, 99, uint32(n)<<18 | unchecked, 0, 1}, func(i int) uint32 { return at(layout(i, 8)) }})
			}
		}
		for n, c := range cases {
			t.Run(fmt.Sprint(arch, c.kernel, n), func(t *testing.T) {
				_, out, err := run(t, c.kernel, c.buffer)
				if err != nil {
					t.Fatal(err)
				}
				words := 32
				if c.kernel == "quads" {
					words *= 4
				}
				for i := range words {
					if got := load32(out, uint64(4*i)); got != c.want(i) {
						t.Fatalf("%+v: %d: %d, want %d", c.buffer, i, got, c.want(i))
					}
				}
			})
		}

		t.Run(arch+"stores", func(t *testing.T) {
			layout := swizzledLayout(12, 4, 16, 256)
			b := buffer{12 | swizzle, 50, 1 << 21, 0, 3}
			for kernel, old := range map[string]uint32{"store": 0, "add": 1} {
				p, _, err := run(t, kernel, b)
				if err != nil {
					t.Fatal(err)
				}
				want := map[int]uint32{}
				for i := range 32 {
					if 3*i < 50 {
						w := layout(3*i, 8)
						want[w/4] = 70000 + uint32(i)*(1-old) + at(w)*old
					}
				}
				for i := range words {
					v, ok := want[i]
					if !ok {
						v = uint32(100000 + i)
					}
					if got := load32(p, uint64(4*i)); got != v {
						t.Fatalf("%s: word %d: %d, want %d", kernel, i, got, v)
					}
				}
			}
		})

		t.Run(arch+"builtin", func(t *testing.T) {
			pp, p := alloc(t, m, 4*words)
			po, out := alloc(t, m, 256)
			for i := range words {
				putWord(p, i, uint32(100000+i))
			}
			args := [][]byte{u64arg(uint64(pp)), u64arg(uint64(po)), u32arg(16 | swizzle), u32arg(100), u32arg(1<<23 | 1<<21)}
			if _, err := m.Launch(t.Context(), "builtin", Dim3{1, 1, 1}, Dim3{32, 1, 1}, args, Options{}); err != nil {
				t.Fatal(err)
			}
			layout := swizzledLayout(16, 4, 16, 64)
			for i := range 32 {
				if got, want := load32(out, uint64(4*i)), at(layout(i, 4)); got != want {
					t.Fatalf("%d: %d, want %d", i, got, want)
				}
			}
		})

		// What the documents forbid. On gfx10 one bit says it all: the other swizzles the cache.
		for _, c := range []struct {
			kernel string
			buffer
			fails, gfx10 string
		}{
			{"quads", buffer{48 | swizzle, 9, 0, 0, 1}, "16 bytes of a swizzled buffer with elements of 4", "elements of 4"},
			{"load", buffer{10 | swizzle, 9, 0, 0, 1}, "stride of 10", "stride of 10"},
			{"load", buffer{24 | elements16, 9, 0, 0, 1}, "elements of 16, and a stride of 24", ""},
			{"load", buffer{48 | 2<<14, 9, 0, 0, 1}, "means nothing", ""},
		} {
			_, _, err := run(t, c.kernel, c.buffer)
			want := c.fails
			if arch == "gfx1030" {
				want = c.gfx10
			}
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s: %+v: %v, want %q", arch, c.buffer, err, want)
			}
		}
	}
}

// Formats whose fields differ in size: their names begin with the highest bits.
func TestUnevenFormats(t *testing.T) {
	for _, arch := range []string{"gfx900", "gfx1030", "gfx1100", "gfx1201"} {
		t.Run(arch, func(t *testing.T) {
			m := loadHIP(t, arch, "-O2", swizzleSource(arch))
			type form struct {
				number uint32
				kind   int
				fields [][2]uint // first bit and size, of x, y, ...
			}
			forms := []form{{30, numFloat, [][2]uint{{0, 11}, {11, 11}, {22, 10}}}, {31, numFloat, [][2]uint{{0, 10}, {10, 11}, {21, 11}}},
				{32, numUnorm, [][2]uint{{0, 2}, {2, 10}, {12, 10}, {22, 10}}}, {34, numUint, [][2]uint{{0, 2}, {2, 10}, {12, 10}, {22, 10}}}}
			if arch == "gfx1030" {
				for n, number := range []uint32{36, 43, 44, 48} {
					forms[n].number = number
				}
				forms = append(forms, form{34, numUint, [][2]uint{{0, 11}, {11, 11}, {22, 10}}}, form{37, numUnorm, [][2]uint{{0, 10}, {10, 11}, {21, 11}}})
			}
			if arch == "gfx900" { // the format of data, and that of numbers
				for n, data := range []uint32{6, 7, 8, 8} {
					forms[n].number = data<<3 | uint32(forms[n].kind)
				}
			}
			for _, f := range forms {
				const stride, records = 4, 64
				word3 := 4 | 5<<3 | 6<<6 | 7<<9 | f.number<<12
				pattern := func(i int) uint32 { return uint32(100000+i) * 2654435761 }
				pp, p := alloc(t, m, 256)
				po, out := alloc(t, m, 1024)
				for i := range 64 {
					putWord(p, i, pattern(i))
				}
				d := binary.LittleEndian.AppendUint64(nil, uint64(pp)|uint64(stride)<<48)
				args := [][]byte{append(append(d, u32arg(records)...), u32arg(word3)...), u64arg(uint64(po)), u32arg(0), u32arg(1)}
				if _, err := m.Launch(t.Context(), "format", Dim3{1, 1, 1}, Dim3{32, 1, 1}, args, Options{}); err != nil {
					t.Fatal(err)
				}
				for i := range 128 {
					want := map[bool]uint32{true: 1, false: math.Float32bits(1)}[f.kind == numUint]
					if i%4 < len(f.fields) {
						at, size := f.fields[i%4][0], f.fields[i%4][1]
						v := pattern(i/4) >> at & (1<<size - 1)
						switch f.kind {
						case numUnorm:
							want = math.Float32bits(float32(float64(v) / float64(uint32(1)<<size-1)))
						case numUint:
							want = v
						default: // five bits of exponent with bias 15, the others mantissa
							m := size - 5
							e, fraction := int(v>>m), float64(v&(1<<m-1))/float64(uint32(1)<<m)
							x := math.Ldexp(1+fraction, e-15)
							if e == 0 {
								x = math.Ldexp(fraction, -14)
							}
							if e == 31 {
								x = map[bool]float64{true: math.Inf(1), false: math.NaN()}[fraction == 0]
							}
							want = math.Float32bits(float32(x))
						}
					}
					got := load32(out, uint64(4*i))
					if x := math.Float32frombits(want); f.kind == numFloat && x != x {
						if y := math.Float32frombits(got); y == y {
							t.Fatalf("format %d of 0x%x: component %d: 0x%x, want NaN", f.number, pattern(i/4), i%4, got)
						}
						continue
					}
					if got != want {
						t.Fatalf("format %d of 0x%x: component %d: 0x%x, want 0x%x", f.number, pattern(i/4), i%4, got, want)
					}
				}
				// What was loaded is stored as it was.
				before := slices.Clone(p)
				clear(p[:128])
				_, err := m.Launch(t.Context(), "put", Dim3{1, 1, 1}, Dim3{32, 1, 1}, args, Options{})
				if f.kind == numFloat {
					if err == nil || !strings.Contains(err.Error(), "rounded") {
						t.Errorf("format %d is stored: %v", f.number, err)
					}
					continue
				}
				if err != nil || !slices.Equal(p[:128], before[:128]) {
					t.Errorf("format %d is stored: %v: %x, want %x", f.number, err, p[:16], before[:16])
				}
			}
		})
	}
}
