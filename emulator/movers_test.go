package emulator

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// Places of lanes come out the same on the vector unit and in Go.
func TestMovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	unit, plain := vectorUnit().move, portable()
	for n := range 200 {
		var lo, hi vec
		first, step, odd := rng.Uint64N(1<<40), uint64(4*rng.IntN(5)), rng.IntN(lanes)
		for l := range lo {
			at := first + step*uint64(l)
			if n%4 == 1 && l == odd {
				at += rng.Uint64() >> rng.IntN(64)
			}
			lo[l], hi[l] = uint32(at), uint32(at>>32)
		}
		base, limit := -first+rng.Uint64N(64)*uint64(n%3), 4*rng.Uint64N(300)
		for _, size := range []uint64{lanes, lanes / 2} {
			var a, b [lanes]uint64
			all := allLanes >> (lanes - size)
			badA, apartA := unit.offsets(&a, &lo, &hi, base, limit, step, size)
			badB, apartB := plain.offsets(&b, &lo, &hi, base, limit, step, size)
			if a != b || badA&all != badB || (apartA == 0) != (apartB == 0) {
				t.Fatalf("%d, %d lanes: bad lanes 0x%x, want 0x%x; apart 0x%x, want 0x%x", n, size, badA, badB, apartA, apartB)
			}
		}
		off, most := 4*rng.Uint32N(1<<14), 4*rng.Uint32N(1<<14)|rng.Uint32()<<31
		for l := range lo {
			lo[l] = 4 * rng.Uint32N(1<<rng.IntN(31)) // words: of others one may say that they are bad
		}
		for _, size := range []uint64{lanes, lanes / 2} {
			var a, b [lanes]uint64
			badA, badB := unit.local(&a, &lo, off, most, size), plain.local(&b, &lo, off, most, size)
			if a != b || badA&(allLanes>>(lanes-size)) != badB {
				t.Fatalf("%d, %d lanes: bad lanes of local memory 0x%x, want 0x%x", n, size, badA, badB)
			}
		}
	}
}

// Words are moved as they are in Go: between memory and all lanes, the lower half of them,
// some and none, one register or more, and from row to row.
func TestMovedWords(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	unit, plain := vectorUnit().move, portable()
	const size = 4096
	random := func(words []uint32) {
		for k := range words {
			words[k] = rng.Uint32()
		}
	}
	bytesOf := func(words []uint32) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 4*len(words)) }
	masks := []uint64{allLanes, lowLanes, lowLanes << 1, 1, 1 << 63, 0, allLanes - 1, lowLanes - 1}
	for n := range 100 {
		mask := rng.Uint64() & rng.Uint64()
		if n < len(masks) {
			mask = masks[n]
		}
		var at [lanes]uint64
		for l := range at {
			at[l] = 4 * rng.Uint64N(size/4-8)
		}
		memory, regs := make([]uint32, size/4), make([]vec, 4)
		random(memory)
		for k := range regs {
			random(regs[k][:])
		}
		for name, f := range map[string][2]func(*vec, []byte, *[lanes]uint64, uint64){"load": {unit.load, plain.load}, "loadLocal": {unit.loadLocal, plain.loadLocal}} {
			a, b := regs[0], regs[0]
			f[0](&a, bytesOf(memory), &at, mask)
			f[1](&b, bytesOf(memory), &at, mask)
			if a != b {
				t.Fatalf("%d: %s of lanes 0x%x differs", n, name, mask)
			}
		}
		for name, f := range map[string][2]func([]byte, *[lanes]uint64, *vec, uint64, uint64){"store": {unit.store, plain.store}, "storeLocal": {unit.storeLocal, plain.storeLocal}} {
			for count := uint64(1); count <= 4; count++ {
				a, b := slices.Clone(memory), slices.Clone(memory)
				f[0](bytesOf(a), &at, &regs[0], mask, count)
				f[1](bytesOf(b), &at, &regs[0], mask, count)
				if !slices.Equal(a, b) {
					t.Fatalf("%d: %s of %d words of lanes 0x%x differs", n, name, count, mask)
				}
			}
		}
		if unit.row != nil {
			from, words := rng.IntN(len(memory)-lanes), lanes/(1+n%2)
			to := make([]uint32, lanes+2)
			random(to)
			want := slices.Concat(to[:1], memory[from:from+words], to[1+words:])
			if unit.row(&to[1], &memory[from], uint64(words)); !slices.Equal(to, want) {
				t.Fatalf("%d: a row of %d words differs", n, words)
			}
		}
	}
}
