package emulator

// variants are the operations that some processors of a family alone have: RDNA's
// first generation ("RDNA 1" Instruction Set Architecture, chapter 12 "Instructions").
func variants() map[string]*operation {
	return map[string]*operation{
		"v_mac_legacy_f32": {results: 1, float: 32, tied: true, lane: func(a, b, c uint64) uint64 {
			return uint64(u32(legacy(f32(uint32(a)), f32(uint32(b))) + f32(uint32(c))))
		}},
		"v_mul_lo_i32": {results: 1, lane: func(a, b, _ uint64) uint64 { return uint64(uint32(a) * uint32(b)) }},
		// The number of a wave among those of its work-group.
		"s_get_waveid_in_workgroup": {results: 1, run: func(w *wave, i *instr) {
			w.s[i.dst&127] = uint32(w.number)
		}},
	}
}
