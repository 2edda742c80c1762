package emulator

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// tileCase is a matrix instruction, by the registers that a lane has of each matrix
// in waves of 32 lanes; those of 64 have half of them, on gfx11 of C alone.
type tileCase struct {
	name     string
	k        int
	in       string // f16, bf16, iu8, iu4, fp8
	a, b, c  int
	out      string
	modifier string
}

func tileSource(cases []tileCase, arch string, wide bool) string {
	var src strings.Builder
	for n, c := range cases {
		a, b, d := c.registers(arch, wide)
		operands, third := "%0, %1, %2, %0", ""
		if c.sparse() {
			operands, third = "%0, %1, %2, %3", `, "v"(idx[TID])`
		}
		read := func(name string, n int) string {
			if n == 1 {
				return fmt.Sprintf("u32 %s_ = %s[TID]; ", name, name)
			}
			return fmt.Sprintf("typedef u32 %s_t __attribute__((ext_vector_type(%d))); %s_t %s_; for (int k = 0; k < %d; k++) %s_[k] = %s[TID * %d + k]; ", name, n, name, name, n, name, name, n)
		}
		fmt.Fprintf(&src, `KERNEL tile%d(const u32 *a, const u32 *b, u32 *c, const u32 *idx) { %s%s%sasm volatile("s_nop 0\n%s %s %s\ns_nop 0" : "+v"(c_) : "v"(a_), "v"(b_)%s); for (int k = 0; k < %d; k++) c[TID * %d + k] = ((u32 *)&c_)[k]; }
`, n, read("a", a), read("b", b), read("c", d), c.name, operands, c.modifier, third, d, d)
	}
	return src.String()
}

func (c tileCase) sparse() bool { return strings.HasPrefix(c.name, "v_swmmac") }

func (c tileCase) registers(arch string, wide bool) (a, b, d int) {
	a, b, d = c.a, c.b, c.c
	if wide {
		d /= 2
		if arch == "gfx1201" {
			a, b = max(a/2, 1), max(b/2, 1)
		}
	}
	return a, b, d
}

func (c tileCase) bits() int {
	return map[string]int{"f16": 16, "bf16": 16, "iu8": 8, "iu4": 4, "fp8": 8}[c.in]
}

// encode gives a small whole number in the format of an element.
func (c tileCase) encode(v int) uint32 {
	switch c.in {
	case "f16":
		return uint32(toHalf(float64(v)))
	case "bf16":
		return u32(float32(v)) >> 16
	case "fp8": // one sign, four bits of exponent with bias 7, three of mantissa
		m := uint32(math.Abs(float64(v)))
		e := map[uint32]uint32{0: 0, 1: 0x38, 2: 0x40, 3: 0x44}[m]
		if v < 0 {
			e |= 0x80
		}
		return e
	}
	return uint32(v) & (1<<c.bits() - 1)
}

// Each wave multiplies one tile whose elements lie where the documents say; small
// whole numbers keep all sums exact.
func TestTiles(t *testing.T) {
	signed := "neg_lo:[1,1,0]"
	for arch, cases := range map[string][]tileCase{
		"gfx1100": {
			{"v_wmma_f32_16x16x16_f16", 16, "f16", 8, 8, 8, "f32", ""}, {"v_wmma_f32_16x16x16_bf16", 16, "bf16", 8, 8, 8, "f32", ""},
			{"v_wmma_f16_16x16x16_f16", 16, "f16", 8, 8, 8, "f16", ""}, {"v_wmma_f16_16x16x16_f16", 16, "f16", 8, 8, 8, "f16", "op_sel:[0,0,1]"},
			{"v_wmma_bf16_16x16x16_bf16", 16, "bf16", 8, 8, 8, "bf16", ""},
			{"v_wmma_i32_16x16x16_iu8", 16, "iu8", 4, 4, 8, "i32", signed}, {"v_wmma_i32_16x16x16_iu4", 16, "iu4", 2, 2, 8, "i32", signed},
		},
		"gfx1201": {
			{"v_wmma_f32_16x16x16_f16", 16, "f16", 4, 4, 8, "f32", ""}, {"v_wmma_f32_16x16x16_bf16", 16, "bf16", 4, 4, 8, "f32", ""},
			{"v_wmma_f16_16x16x16_f16", 16, "f16", 4, 4, 4, "f16", ""}, {"v_wmma_bf16_16x16x16_bf16", 16, "bf16", 4, 4, 4, "bf16", ""},
			{"v_wmma_i32_16x16x16_iu8", 16, "iu8", 2, 2, 8, "i32", signed}, {"v_wmma_i32_16x16x16_iu4", 16, "iu4", 1, 1, 8, "i32", signed},
			{"v_wmma_i32_16x16x32_iu4", 32, "iu4", 2, 2, 8, "i32", signed}, {"v_wmma_f32_16x16x16_fp8_fp8", 16, "fp8", 2, 2, 8, "f32", ""},
			{"v_swmmac_f32_16x16x32_f16", 32, "f16", 4, 8, 8, "f32", ""}, {"v_swmmac_f32_16x16x32_bf16", 32, "bf16", 4, 8, 8, "f32", "index_key:1"},
			{"v_swmmac_f16_16x16x32_f16", 32, "f16", 4, 8, 4, "f16", ""}, {"v_swmmac_i32_16x16x32_iu8", 32, "iu8", 2, 4, 8, "i32", signed},
			{"v_swmmac_i32_16x16x64_iu4", 64, "iu4", 2, 4, 8, "i32", signed}, {"v_swmmac_f32_16x16x32_fp8_fp8", 32, "fp8", 2, 4, 8, "f32", ""},
		},
	} {
		for _, wide := range []bool{false, true} {
			size, flags := 32, []string(nil)
			if wide {
				size, flags = 64, []string{"-mwavefrontsize64"}
				cases = append(cases, wideTiles(arch)...)
			}
			m := loadHIP(t, arch, "-O1", tileSource(cases, arch, wide), flags...)
			for n, c := range cases {
				t.Run(fmt.Sprintf("%s/%d/%s%s", arch, size, c.name, c.modifier), func(t *testing.T) {
					testTile(t, m, arch, size, n, c)
				})
			}
		}
	}
}

// wideTiles are those that waves of 64 lanes alone have: a register holds the
// indices of more of them.
func wideTiles(arch string) []tileCase {
	if arch != "gfx1201" {
		return nil
	}
	return []tileCase{
		{"v_swmmac_f32_16x16x32_f16", 32, "f16", 4, 8, 8, "f32", "index_key:2"}, {"v_swmmac_f16_16x16x32_f16", 32, "f16", 4, 8, 4, "f16", "index_key:3"},
		{"v_swmmac_f32_16x16x32_fp8_fp8", 32, "fp8", 2, 4, 8, "f32", "index_key:3"}, {"v_swmmac_i32_16x16x32_iu8", 32, "iu8", 2, 4, 8, "i32", "index_key:2 neg_lo:[1,1,0]"},
		{"v_swmmac_i32_16x16x64_iu4", 64, "iu4", 2, 4, 8, "i32", "index_key:1 neg_lo:[1,1,0]"},
	}
}

func testTile(t *testing.T, m *Module, arch string, size, number int, c tileCase) {
	rng := rand.New(rand.NewPCG(1, 2))
	ra, rb, rc := c.registers(arch, size == 64)
	pa, a := alloc(t, m, 4*64*8)
	pb, b := alloc(t, m, 4*64*8)
	pc, d := alloc(t, m, 4*64*8)
	pi, index := alloc(t, m, 4*64)
	le, bits := binary.LittleEndian, c.bits()
	put := func(mem []byte, regs, l, e, v int) {
		word := mem[4*(l*regs+e*bits/32):]
		le.PutUint32(word, le.Uint32(word)|c.encode(v)<<(e*bits%32))
	}
	var A, B [16][64]int
	chance := func() int { return rng.IntN(7) - 3 }
	perA, perB := ra*32/bits, rb*32/bits
	for l := range size {
		row, group := l%16, l/16
		switch {
		case arch == "gfx1100":
			for k := range 16 {
				if group == 0 {
					A[row][k], B[row][k] = chance(), chance()
				}
				put(a, ra, l, k, A[row][k])
				put(b, rb, l, k, B[row][k])
			}
			continue
		case c.sparse():
			idx := uint32(0)
			for e := 0; e < perA; e += 2 {
				first := rng.IntN(3)
				second := first + 1 + rng.IntN(3-first)
				idx |= uint32(first|second<<2) << (2 * e)
				x, y := chance(), chance()
				put(a, ra, l, e, x)
				put(a, ra, l, e+1, y)
				A[row][group*2*perA+e*2+first], A[row][group*2*perA+e*2+second] = x, y
			}
			parts := 16 / perA // of 32 bits
			key := 0
			if _, v, ok := strings.Cut(c.modifier, "index_key:"); ok {
				key = int(v[0] - '0')
			}
			width := 32 / parts
			le.PutUint32(index[4*l:], idx<<(key*width)|0x5a5a5a5a&^((1<<width-1)<<(key*width)))
		default:
			for e := 0; e < perA && group*perA < c.k; e++ {
				A[row][group*perA+e] = chance()
				put(a, ra, l, e, A[row][group*perA+e])
			}
		}
		for e := 0; e < perB && group*perB < c.k; e++ {
			B[row][group*perB+e] = chance()
			put(b, rb, l, e, B[row][group*perB+e])
		}
	}
	halves := c.out == "f16" || c.out == "bf16"
	old := make([]uint32, size*rc)
	for i := range old {
		old[i] = rng.Uint32()
		switch c.out {
		case "f32":
			old[i] = u32(float32(rng.IntN(9)))
		case "f16", "bf16":
			f := tileCase{in: c.out}
			old[i] = f.encode(rng.IntN(9)) | f.encode(rng.IntN(9))<<16
		}
		le.PutUint32(d[4*i:], old[i])
	}
	if _, err := m.Launch(t.Context(), fmt.Sprint("tile", number), Dim3{1, 1, 1}, Dim3{uint32(size), 1, 1},
		[][]byte{u64arg(uint64(pa)), u64arg(uint64(pb)), u64arg(uint64(pc)), u64arg(uint64(pi))}, Options{}); err != nil {
		t.Fatal(err)
	}
	for l := range size {
		for r := range 256 / size {
			reg, shift, row := r, 0, l/16*(256/size)+r
			switch {
			case arch == "gfx1100":
				row = r*(size/16) + l/16
				if c.modifier == "op_sel:[0,0,1]" {
					shift = 16
				}
			case halves:
				reg, shift = r/2, r%2*16
			}
			sum := 0
			for k := range c.k {
				sum += A[row][k] * B[l%16][k]
			}
			at := l*rc + reg
			before, got := old[at]>>shift, le.Uint32(d[4*at:])>>shift
			var want uint32
			switch c.out {
			case "i32":
				want = before + uint32(sum)
			case "f32":
				want = u32(f32(before) + float32(sum))
			case "f16":
				want, got = uint32(toHalf(fromHalf(uint16(before))+float64(sum))), got&0xffff
			case "bf16":
				want, got = toBrain(fromBrain(before&0xffff)+float32(sum)), got&0xffff
			}
			if got != want {
				t.Fatalf("row %d, column %d (register %d of lane %d): 0x%x, want 0x%x", row, l%16, reg, l, got, want)
			}
			if other := uint32(0xffff0000) >> shift; halves && arch == "gfx1100" && (le.Uint32(d[4*at:])^old[at])&other != 0 {
				t.Fatalf("the other half of register %d of lane %d has changed", reg, l)
			}
		}
	}
}
