package devicelib

import (
	"slices"
	"strings"
)

// Within returns the functions of a list that a processor runs as they are meant, in
// waves of 64 lanes, and the names of the others: gfx10 and gfx11 keep ds_bpermute_b32
// within 32 lanes (LLVM, supportsWaveWideBPermute), with which these reach all 64.
func Within(processor string, list []Exact) (there []Exact, others []string) {
	narrow := strings.HasPrefix(processor, "gfx10") || strings.HasPrefix(processor, "gfx11")
	for _, e := range list {
		if narrow && slices.Contains([]string{"__ockl_alisa_u32", "__ockl_readuplane_i32", "__ockl_readuplane_i64"}, e.Name) {
			others = append(others, e.Name)
		} else {
			there = append(there, e)
		}
	}
	return there, others
}
