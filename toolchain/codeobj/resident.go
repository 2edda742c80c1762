package codeobj

import "github.com/stonemason-hip/stonemason/toolchain/gpu"

// Resident returns how many work-groups a GPU of a processor with that many compute
// units holds at once, when work-groups have that many work-items and that many bytes
// of local memory beside what the kernel declares: at least one.
func (k *LoadedKernel) Resident(p gpu.Processor, units, items, dynamicLDS int) int {
	wave, wgp := max(int(k.WavefrontSize), 1), k.Descriptor.Rsrc1.WGPMode()
	s := supplyOf(p, wave, wgp)
	if major, _, _ := version(p.Name); major >= 10 && wgp {
		units /= 2 // what supply calls one are two
	}
	inGroup := (max(items, 1) + wave - 1) / wave
	groups := k.Occupancy(p, items, dynamicLDS).Waves * s.simds / inGroup
	if inGroup > 1 {
		groups = min(groups, s.groups)
	}
	local := int(min(k.GroupSegmentFixedSize, 1<<30)) + dynamicLDS
	if local = (local + s.ldsGranule - 1) / s.ldsGranule * s.ldsGranule; local > 0 {
		groups = min(groups, s.lds/local)
	}
	return max(groups*units, 1)
}
