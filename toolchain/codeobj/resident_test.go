package codeobj

import (
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/gpu"
)

// What a whole GPU holds at once: gfx942 has 304 compute units of 4 SIMDs with 8 waves
// each, 16 work-groups of several waves and 64 KiB of local memory.
func TestResident(t *testing.T) {
	table, err := gpu.Load()
	if err != nil {
		t.Fatal(err)
	}
	gfx942, _ := table.Processor("gfx942")
	gfx1100, _ := table.Processor("gfx1100")
	for _, c := range []struct {
		p               gpu.Processor
		wave            uint64
		registers, lds  uint64
		units, items, n int
	}{
		{gfx942, 64, 8, 0, 304, 64, 304 * 32}, {gfx942, 64, 8, 0, 304, 128, 304 * 16}, {gfx942, 64, 8, 0, 304, 1024, 304 * 2}, {gfx942, 64, 8, 64 << 10, 304, 64, 304}, {gfx942, 64, 8, 16<<10 + 1, 304, 64, 304 * 3},
		{gfx942, 64, 256, 0, 304, 256, 304 * 2}, {gfx942, 64, 512, 0, 1, 1024, 1}, {gfx1100, 32, 24, 0, 96, 32, 96 * 32},
	} {
		k := &LoadedKernel{Kernel: &Kernel{WavefrontSize: c.wave, VGPRCount: c.registers, GroupSegmentFixedSize: c.lds}}
		if got := k.Resident(c.p, c.units, c.items, 0); got != c.n {
			t.Errorf("%s, %+v: %d work-groups, want %d", c.p.Name, c, got, c.n)
		}
	}
}
