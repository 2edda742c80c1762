package app

import (
	"testing"

	"github.com/stonemason-hip/stonemason/emulator"
)

// Whatever a wave's length is, the first and the last of its instructions are kept, in
// order, and the others are counted.
func TestTracingKeepsBothEnds(t *testing.T) {
	for _, limit := range []int{2, 3, 7, 10} {
		for length := range int64(40) {
			follow, err := newTracing("1:2:3,4,5", &limit)
			if err != nil || follow.group != (emulator.Dim3{X: 1, Y: 2, Z: 3}) || follow.wave != 4 || follow.lane != 5 {
				t.Fatalf("%+v, %v", follow, err)
			}
			for launch := range 2 { // of two launches each has a trace
				follow.step(emulator.TraceStep{Kernel: "k"})
				for n := range length {
					follow.step(emulator.TraceStep{Number: n + 1, PC: uint64(launch)})
				}
			}
			list := follow.finished()
			if len(list) != 2 {
				t.Fatalf("%d traces", len(list))
			}
			for launch, k := range list {
				kept := min(length, int64(limit))
				if k.total != length || int64(len(k.Steps)) != kept+1 || k.LeftOut != length-kept {
					t.Fatalf("%d of %d: %d steps, %d left out", length, limit, len(k.Steps), k.LeftOut)
				}
				want := int64(0)
				for n, s := range k.Steps {
					if n == k.first {
						want += k.LeftOut
					}
					if s.Number != want || n > 0 && s.PC != uint64(launch) {
						t.Fatalf("%d of %d: step %d is instruction %d, want %d", length, limit, n, s.Number, want)
					}
					want++
				}
				if k.LeftOut > 0 && k.first != limit/2+1 {
					t.Errorf("%d of %d: %d before those left out", length, limit, k.first-1)
				}
			}
		}
	}
}
