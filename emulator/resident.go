package emulator

// computeUnits are those of the largest product with each processor (LLVM's
// AMDGPUUsage, "Processors", names the products; their sizes are on AMD's pages). Of
// gfx90a it is one of the two dies.
func computeUnits(processor string) int {
	units := map[string]int{
		"gfx900": 64, "gfx904": 20, "gfx906": 64, "gfx908": 120, "gfx90a": 110, "gfx942": 304, "gfx950": 256,
		"gfx1010": 40, "gfx1011": 40, "gfx1012": 24, "gfx1030": 80, "gfx1031": 40, "gfx1032": 32, "gfx1034": 16, "gfx1035": 12,
		"gfx1100": 96, "gfx1101": 60, "gfx1102": 32, "gfx1103": 12, "gfx1150": 16, "gfx1151": 40, "gfx1200": 32, "gfx1201": 64,
	}
	if n, ok := units[processor]; ok {
		return n
	}
	return 64
}

// findResident sets how many work-groups run beside each other, where they wait for
// each other: as many as the largest GPU of this processor holds.
func (l *launch) findResident() {
	p, _ := l.module.dev.table.Processor(l.module.dev.target.Processor)
	l.resident = uint64(l.kernel.Resident(p, computeUnits(p.Name), int(l.block.count()), int(l.opts.DynamicLDS)))
}
