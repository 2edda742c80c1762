package emulator

import (
	"sync/atomic"
	"unsafe"
)

// movers are what loads and stores of whole words are made of. at are places of
// lanes in memory, in bytes from its beginning.
type movers struct {
	// offsets computes at = lo + hi<<32 + base for the n lanes of a wave, 64 or 32. bad has
	// the lanes beyond limit, and those that are no multiple of 4; apart is 0 where each
	// lane is step behind the one before. Neither says anything of other lanes.
	offsets func(at *[lanes]uint64, lo, hi *vec, base, limit, step, n uint64) (bad, apart uint64)
	// local computes at = addr + off in 32 bits for the n lanes of a wave. bad has the lanes
	// beyond limit, and others that load and store cannot serve.
	local func(at *[lanes]uint64, addr *vec, off, limit uint32, n uint64) (bad uint64)
	// row moves n aligned words, a multiple of 16, that lie side by side to where they do so
	// again, each at once. Nil: load and store serve.
	row func(to, from *uint32, n uint64)
	// load moves a word to each lane of the mask, store count words of each, from
	// registers that follow each other, in the order of the lanes: the last one wins.
	// Words of global memory must be aligned; each is moved at once. What has local in
	// its name is for memory that the waves of one work-group see, in turns.
	load, loadLocal   func(d *vec, data []byte, at *[lanes]uint64, mask uint64)
	store, storeLocal func(data []byte, at *[lanes]uint64, v *vec, mask, count uint64)
	// publish makes what was stored seen before anything that is loaded later.
	publish func()
}

// portable are movers in Go, with atomic words.
func portable() movers {
	mv := movers{
		offsets: func(at *[lanes]uint64, lo, hi *vec, base, limit, step, n uint64) (bad, apart uint64) {
			next := uint64(lo[0]) + uint64(hi[0])<<32 + base
			for l := range at[:n] {
				v := uint64(lo[l]) + uint64(hi[l])<<32 + base
				at[l] = v
				bad |= bit(v > limit || v&3 != 0) << l
				apart |= v ^ next
				next += step
			}
			return bad, apart
		},
		local: func(at *[lanes]uint64, addr *vec, off, limit uint32, n uint64) (bad uint64) {
			for l := range at[:n] {
				v := addr[l] + off
				at[l] = uint64(v)
				bad |= bit(v > limit || v&3 != 0) << l // atomic words are aligned
			}
			return bad
		},
		load: func(d *vec, data []byte, at *[lanes]uint64, mask uint64) {
			for l := range d {
				if mask>>l&1 != 0 {
					d[l] = atomic.LoadUint32(word32(data, at[l]))
				}
			}
		},
		store: func(data []byte, at *[lanes]uint64, v *vec, mask, count uint64) {
			regs := unsafe.Slice(v, count)
			for l := range v {
				if mask>>l&1 == 0 {
					continue
				}
				for k := range count {
					atomic.StoreUint32(word32(data, at[l]+4*k), regs[k][l])
				}
			}
		},
		publish: func() {},
	}
	mv.loadLocal, mv.storeLocal = mv.load, mv.store
	return mv
}
