package emulator

// transposed are the loads of local memory that turn a matrix ("CDNA 4" ISA,
// DS_READ_B64_TR and DS_READ_B96_TR). Sixteen lanes after each other load one with
// sixteen columns, row by row; each of them gets one column.
func transposed() map[string]*operation {
	ops := map[string]*operation{}
	for name, m := range map[string]struct {
		bytes uint64 // of each lane
		bits  uint   // of an element
	}{"ds_read_b64_tr_b4": {8, 4}, "ds_read_b96_tr_b6": {12, 6}, "ds_read_b64_tr_b8": {8, 8}, "ds_read_b64_tr_b16": {8, 16}} {
		ops[name] = &operation{run: func(w *wave, i *instr) { w.loadColumns(i, m.bytes, m.bits) }}
	}
	return ops
}

func (w *wave) loadColumns(i *instr, bytes uint64, size uint) {
	const columns = 16
	if w.exec() != allLanes {
		w.fail(i, "lanes are off: a transposing load needs all")
		return
	}
	va, _, _, dst := dsOperands(i.inst)
	off := uint32(i.inst.Offset())
	var loaded [lanes][4]uint32
	for l := range lanes {
		mem, ok := w.shared(i, l, uint64(w.v[va%vregs][l]+off), bytes, false)
		if !ok {
			return
		}
		getBytes(mem, 0, bytes, &loaded[l])
	}
	each := int(bytes) * 8 / int(size)
	for l := range lanes {
		var out [5]uint32 // one more, for what shifts leave over
		for e := range each {
			from := e*columns + l%columns
			row := &loaded[l&^(columns-1)+from/each]
			pos := uint(from%each) * size
			v := uint64(row[pos/32]) >> (pos % 32)
			if pos%32+size > 32 {
				v |= uint64(row[pos/32+1]) << (32 - pos%32)
			}
			to := uint(e) * size
			v = v & (1<<size - 1) << (to % 32)
			out[to/32] |= uint32(v)
			out[to/32+1] |= uint32(v >> 32)
		}
		for k := range int(bytes / 4) {
			w.v[(dst+k)%vregs][l] = out[k]
		}
	}
}
