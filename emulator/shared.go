package emulator

import "sync/atomic"

// Work-groups run on several cores, and nothing keeps their kernels from
// touching the same memory. Each word of global memory is therefore loaded and
// stored atomically: what a racing kernel sees is one of the values that were
// there, as on a GPU, and the emulator itself has no data race. On the vector unit
// of amd64 whole words are moved by MOVL, which is atomic where they are aligned, and
// a store ends with a fence, which XCHG, as Go has it, would be for each word.

// loadShared loads n bytes of global memory: 1, 2 or a multiple of 4.
func loadShared(data []byte, off, n uint64, v *[4]uint32) {
	at := off & 3
	switch {
	case at == 0 && n >= 4:
		for k := range n / 4 {
			v[k] = atomic.LoadUint32(word32(data, off+4*k))
		}
	case at+n <= 4:
		v[0] = atomic.LoadUint32(word32(data, off-at)) >> (8 * at) & (1<<(8*n) - 1)
	default:
		for k := range n {
			at := (off + k) & 3
			b := atomic.LoadUint32(word32(data, off+k-at)) >> (8 * at) & 255
			v[k/4] |= b << (8 * (k & 3))
		}
	}
}

// storeShared is the reverse of loadShared.
func storeShared(data []byte, off, n uint64, v *[4]uint32) {
	at := off & 3
	switch {
	case at == 0 && n >= 4:
		for k := range n / 4 {
			atomic.StoreUint32(word32(data, off+4*k), v[k])
		}
	case at+n <= 4:
		storePart(data, off-at, v[0]<<(8*at), (1<<(8*n)-1)<<(8*at))
	default:
		for k := range n {
			at := (off + k) & 3
			storePart(data, off+k-at, v[k/4]>>(8*(k&3))<<(8*at), 255<<(8*at))
		}
	}
}

// storePart changes the bits of a mask in a word.
func storePart(data []byte, off uint64, v, mask uint32) {
	word := word32(data, off)
	for {
		old := atomic.LoadUint32(word)
		if atomic.CompareAndSwapUint32(word, old, old&^mask|v&mask) {
			return
		}
	}
}
