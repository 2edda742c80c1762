package emulator

// rdnaTiles are the loads of RDNA 4 that turn a matrix of 16 by 16 ("RDNA 4" ISA, "WMMA
// Matrix Load Ops with Transpose").
func rdnaTiles() map[string]*operation {
	ops := map[string]*operation{}
	for name, m := range map[string]struct {
		bytes uint64 // that a lane loads
		bits  uint   // of an element
	}{"global_load_tr_b128": {16, 16}, "global_load_tr_b64": {8, 8}} {
		ops[name] = &operation{run: func(w *wave, i *instr) { w.loadTile(i, m.bytes, m.bits) }}
	}
	return ops
}

// tileLanes are the lanes whose addresses count: as many in waves of 64 lanes.
const tileLanes = 32

// loadTile gives each lane one element of eight others. Which of which the document
// does not say; it is as measured on gfx1201: eight lanes load eight rows of eight
// elements of 16 bits, and get their columns; of 8 bits sixteen lanes load eight rows
// of sixteen. In waves of 64 lanes the upper half gets the second half of what a lane
// of 32 does: with that the elements lie where V_WMMA wants them in both.
func (w *wave) loadTile(i *instr, bytes uint64, size uint) {
	switch exec := w.exec(); {
	case exec == 0:
		return
	case exec != allLanes>>(lanes-w.size):
		w.fail(i, "lanes are off: a transposing load needs all")
		return
	}
	var addr [lanes]uint64
	w.lanesOf(i, &addr)
	var loaded [tileLanes][4]uint32
	for l := range loaded {
		r, off := w.global(i, l, addr[l], bytes, false)
		if r == nil {
			return
		}
		loadShared(r.data, off, bytes, &loaded[l])
	}
	const elements = 8
	each := elements * tileLanes / int(w.size)
	reg := dataRegister(i.inst)
	for l := range int(w.size) {
		var out [4]uint32
		for e := range each {
			from := tileLane(size, l%tileLanes, e+l/tileLanes*each)
			in, to := uint(l%elements)*size, uint(e)*size
			out[to/32] |= loaded[from][in/32] >> (in % 32) & (1<<size - 1) << (to % 32)
		}
		for k := range each * int(size) / 32 {
			w.v[(reg+k)%vregs][l] = out[k]
		}
	}
}

// tileLane is the lane that loads element e of lane l.
func tileLane(size uint, l, e int) int {
	if size == 16 {
		return l&^7 | e
	}
	return l&^15 | e&4<<1 | l&8>>1 | e&3
}
