package emulator

import "golang.org/x/sys/cpu"

// vectorUnit returns the loops of loops_amd64.s, where the CPU has AVX2 and FMA.
// Every such CPU has F16C (x86-64-v3 is all three).
func vectorUnit() *loops {
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA {
		return portableLoops()
	}
	load := func(d *vec, data []byte, at *[lanes]uint64, mask uint64) { loadWords(d, &data[0], at, mask) }
	store := func(data []byte, at *[lanes]uint64, v *vec, mask, count uint64) {
		storeWords(&data[0], at, v, mask, count)
	}
	return vectorLoops(movers{
		offsets: laneOffsets, local: localOffsets,
		row: copyWords, publish: fence,
		load: load, store: store, loadLocal: load, storeLocal: store,
	})
}

//go:noescape
func laneOffsets(at *[lanes]uint64, lo, hi *vec, base, limit, step, n uint64) (bad, apart uint64)

//go:noescape
func localOffsets(at *[lanes]uint64, addr *vec, off, limit uint32, n uint64) (bad uint64)

//go:noescape
func copyWords(to, from *uint32, n uint64)

func fence()
