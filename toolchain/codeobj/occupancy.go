package codeobj

import (
	"strconv"
	"strings"

	"github.com/stonemason-hip/stonemason/toolchain/gpu"
)

// Occupancy is how many waves of a kernel a SIMD holds at once, and what keeps it
// from holding more.
type Occupancy struct {
	GPU   string `json:"gpu"`
	Waves int    `json:"waves"`           // 0: the kernel does not fit
	Most  int    `json:"most"`            // of the GPU
	Limit string `json:"limit,omitempty"` // VGPRs, SGPRs, LDS or work-groups; empty when Waves is Most
}

// supply is what a compute unit has (LLVM 22, AMDGPU/Utils/AMDGPUBaseInfo.cpp,
// namespace IsaInfo: getMaxWavesPerEU, getTotalNumVGPRs, getVGPRAllocGranule,
// getEUsPerCU, getMaxWorkGroupsPerCU, getOccupancyWithNumSGPRs; the granule of LDS
// is getLdsDwGranularity). For GFX10 and later a compute unit is what the waves of a
// work-group share: two of them in WGP mode.
type supply struct {
	waves       int // of a SIMD
	simds       int // of a compute unit
	vgprs       int // of a SIMD, for a lane
	vgprGranule int
	lds         int // bytes of a compute unit
	ldsGranule  int
	groups      int // work-groups of more than one wave
	sgprLimit   bool
	unified     bool // AGPRs come out of the VGPRs
}

// version takes the name of a processor apart: gfx90a is 9, 0, 0xa; gfx9-4-generic
// is 9, 4, 0.
func version(name string) (major, minor, step int) {
	digits := strings.TrimPrefix(name, "gfx")
	if cut, generic := strings.CutSuffix(digits, "-generic"); generic {
		first, second, _ := strings.Cut(cut, "-")
		major, _ = strconv.Atoi(first)
		minor, _ = strconv.Atoi(second) // none is 0
		return major, minor, 0
	}
	if len(digits) < 3 {
		return 0, 0, 0
	}
	hex := func(s string) int {
		n, _ := strconv.ParseUint(s, 16, 8)
		return int(n)
	}
	n := len(digits)
	major, _ = strconv.Atoi(digits[:n-2])
	return major, hex(digits[n-2 : n-1]), hex(digits[n-1:])
}

func supplyOf(p gpu.Processor, wave int, wgp bool) supply {
	major, minor, step := version(p.Name)
	s := supply{waves: 10, simds: 4, vgprs: 256, vgprGranule: 4, lds: p.LDS, ldsGranule: 512, groups: 16, sgprLimit: major < 10}
	if major == 9 && (minor == 0 && step == 0xa || minor >= 4) {
		s.waves, s.vgprs, s.vgprGranule, s.unified = 8, 512, 8, true
	}
	if major == 9 && minor == 5 {
		s.ldsGranule = 1280
	}
	if major < 10 {
		return s
	}
	s.waves, s.vgprs, s.vgprGranule = 16, 1024, 16
	switch {
	case major == 12 && minor == 5: // CU mode alone, of four SIMDs
	case wgp:
		s.lds, s.groups = s.lds*2, 32
	default:
		s.simds = 2
	}
	switch {
	case major == 12 && minor == 5:
	case major == 10 && minor < 3:
		s.waves, s.vgprGranule = 20, 8
	case major == 11 && minor == 0 && step < 2 && !p.Generic(), major == 11 && minor == 5 && step == 1, major == 12:
		s.vgprs, s.vgprGranule = 1536, 24
	}
	if wave == 64 {
		s.vgprs, s.vgprGranule = s.vgprs/2, s.vgprGranule/2
	}
	return s
}

// Occupancy returns the waves that a SIMD of a processor holds when work-groups
// have that many work-items, and that many bytes of local memory beside what the
// kernel declares.
func (k *LoadedKernel) Occupancy(p gpu.Processor, items, dynamicLDS int) Occupancy {
	wave := int(k.WavefrontSize)
	s := supplyOf(p, wave, k.Descriptor.Rsrc1.WGPMode())
	o := Occupancy{GPU: p.Name, Waves: s.waves, Most: s.waves}
	lower := func(to int, limit string) {
		if to < o.Waves {
			o.Waves, o.Limit = to, limit
		}
	}
	registers := int(min(k.VGPRCount, 1<<12))
	if !s.unified {
		registers = max(registers, int(min(k.AGPRCount, 1<<12)))
	}
	if registers > 0 {
		lower(s.vgprs/((registers+s.vgprGranule-1)/s.vgprGranule*s.vgprGranule), "VGPRs")
	}
	if n := k.SGPRCount; s.sgprLimit {
		switch major, _, _ := version(p.Name); {
		case major < 8 && n > 80:
			lower(5, "SGPRs")
		case major < 8 && n > 48:
			lower(10-int(n-41)/8, "SGPRs")
		case major >= 8 && n > 100:
			lower(7, "SGPRs")
		case major >= 8 && n > 88:
			lower(8, "SGPRs")
		case major >= 8 && n > 80:
			lower(9, "SGPRs")
		}
	}
	local := int(min(k.GroupSegmentFixedSize, 1<<30)) + dynamicLDS
	local = (local + s.ldsGranule - 1) / s.ldsGranule * s.ldsGranule
	if items <= 0 {
		return o
	}
	inGroup := (items + wave - 1) / wave
	waves := func(groups int) int { return (groups*inGroup + s.simds - 1) / s.simds }
	if local > 0 {
		lower(waves(s.lds/local), "LDS")
	}
	if inGroup > 1 { // a single wave needs no barrier
		lower(waves(s.groups), "work-groups")
	}
	return o
}
