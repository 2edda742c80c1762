package codeobj

import (
	"encoding/binary"
	"fmt"
)

// DescriptorSize is the size of a kernel descriptor in bytes.
const DescriptorSize = 64

// Descriptor is a kernel descriptor: what the hardware and the loader need to
// start a kernel (AMDGPUUsage, "Kernel Descriptor";
// llvm/Support/AMDHSAKernelDescriptor.h). Sizes are in bytes.
type Descriptor struct {
	GroupSegmentFixedSize   uint32 // static LDS of a work-group
	PrivateSegmentFixedSize uint32 // scratch of a work-item
	KernargSize             uint32 // 0 when the compiler did not say
	EntryOffset             int64  // of the code, from the descriptor's own address
	Rsrc1                   Rsrc1  // COMPUTE_PGM_RSRC1
	Rsrc2                   Rsrc2  // COMPUTE_PGM_RSRC2
	Rsrc3                   uint32 // COMPUTE_PGM_RSRC3, GFX90A, GFX942 and GFX10 on
	Properties              KernelProperties
	KernargPreload          uint16 // see KernargPreloadLength and KernargPreloadOffset
}

// ParseDescriptor reads the 64 bytes of a kernel descriptor. Bytes that are
// reserved must be zero.
func ParseDescriptor(b []byte) (Descriptor, error) {
	if len(b) != DescriptorSize {
		return Descriptor{}, fmt.Errorf("kernel descriptor: %d bytes, want %d", len(b), DescriptorSize)
	}
	for _, r := range [][2]int{{12, 16}, {24, 44}, {60, 64}} {
		for i := r[0]; i < r[1]; i++ {
			if b[i] != 0 {
				return Descriptor{}, fmt.Errorf("kernel descriptor: byte %d is reserved and not zero", i)
			}
		}
	}
	le := binary.LittleEndian
	return Descriptor{
		GroupSegmentFixedSize:   le.Uint32(b),
		PrivateSegmentFixedSize: le.Uint32(b[4:]),
		KernargSize:             le.Uint32(b[8:]),
		EntryOffset:             int64(le.Uint64(b[16:])),
		Rsrc3:                   le.Uint32(b[44:]),
		Rsrc1:                   Rsrc1(le.Uint32(b[48:])),
		Rsrc2:                   Rsrc2(le.Uint32(b[52:])),
		Properties:              KernelProperties(le.Uint16(b[56:])),
		KernargPreload:          le.Uint16(b[58:]),
	}, nil
}

// KernargPreloadLength is the number of SGPRs that are filled with arguments
// before the kernel starts (GFX90A, GFX942 and later).
func (d Descriptor) KernargPreloadLength() int { return int(d.KernargPreload & 0x7f) }

// KernargPreloadOffset is where in the kernarg segment they come from, in
// units of four bytes.
func (d Descriptor) KernargPreloadOffset() int { return int(d.KernargPreload >> 7) }

// AccumOffset is the first AGPR within the unified registers: GFX90A, GFX942
// and GFX950 only.
func (d Descriptor) AccumOffset() int { return (int(d.Rsrc3&0x3f) + 1) * 4 }

// TGSplit lets the waves of a work-group run on several compute units: GFX90A, GFX942
// and GFX950 only.
func (d Descriptor) TGSplit() bool { return bits(d.Rsrc3, 16, 1) != 0 }

// SharedVGPRs are those that both halves of a wave of 64 lanes share, in units of 8:
// GFX10 and GFX11 only.
func (d Descriptor) SharedVGPRs() int { return int(bits(d.Rsrc3, 0, 4)) }

// InstructionPrefetch is how many cache lines of code are fetched before a kernel
// starts: generation 11 has six bits of it, 12 eight, others none.
func (d Descriptor) InstructionPrefetch(generation int) int {
	switch generation {
	case 11:
		return int(bits(d.Rsrc3, 4, 6))
	case 12:
		return int(bits(d.Rsrc3, 4, 8))
	}
	return 0
}

func bits(word uint32, low, width uint) uint32 { return word >> low & (1<<width - 1) }

// Rsrc1 is COMPUTE_PGM_RSRC1: registers and floating-point modes.
type Rsrc1 uint32

// GranulatedVGPRs is the number of VGPRs in granules, less one; what a granule
// is depends on the processor and the wavefront size.
func (r Rsrc1) GranulatedVGPRs() int { return int(bits(uint32(r), 0, 6)) }

// GranulatedSGPRs is the number of SGPRs in granules of 8, less one, up to
// GFX9; later processors always have all of them.
func (r Rsrc1) GranulatedSGPRs() int { return int(bits(uint32(r), 6, 4)) }

// FloatRound32 is the rounding mode of f32: 0 to nearest even, 1 up, 2 down,
// 3 to zero.
func (r Rsrc1) FloatRound32() int { return int(bits(uint32(r), 12, 2)) }

// FloatRound1664 is the rounding mode of f16 and f64, numbered as FloatRound32.
func (r Rsrc1) FloatRound1664() int { return int(bits(uint32(r), 14, 2)) }

// FloatDenorm32 says what happens to denormal f32: 0 flush source and result,
// 1 flush the result, 2 flush the source, 3 keep.
func (r Rsrc1) FloatDenorm32() int { return int(bits(uint32(r), 16, 2)) }

// FloatDenorm1664 is the same of f16 and f64.
func (r Rsrc1) FloatDenorm1664() int { return int(bits(uint32(r), 18, 2)) }

// DX10Clamp makes a clamped NaN zero, up to GFX11. (GFX12: work-groups take
// turns.)
func (r Rsrc1) DX10Clamp() bool { return bits(uint32(r), 21, 1) != 0 }

// IEEEMode quiets signalling NaNs, up to GFX11.
func (r Rsrc1) IEEEMode() bool { return bits(uint32(r), 23, 1) != 0 }

// FP16Overflow clamps f16 overflow to the largest number, from GFX9 on.
func (r Rsrc1) FP16Overflow() bool { return bits(uint32(r), 26, 1) != 0 }

// Priority is the one of the waves, 0 to 3. It, Privileged, DebugMode, Bulky and
// CdbgUser are set by whoever starts a kernel: compilers leave them at zero.
func (r Rsrc1) Priority() int { return int(bits(uint32(r), 10, 2)) }

// Privileged starts waves that may do what trap handlers do.
func (r Rsrc1) Privileged() bool { return bits(uint32(r), 20, 1) != 0 }

// DebugMode is ENABLE_DEBUG_MODE, up to GFX11.
func (r Rsrc1) DebugMode() bool { return bits(uint32(r), 22, 1) != 0 }

// Bulky lets one such work-group alone run on a compute unit.
func (r Rsrc1) Bulky() bool { return bits(uint32(r), 24, 1) != 0 }

// CdbgUser is for debuggers.
func (r Rsrc1) CdbgUser() bool { return bits(uint32(r), 25, 1) != 0 }

// WGPMode spreads a work-group over both compute units, from GFX10 on.
func (r Rsrc1) WGPMode() bool { return bits(uint32(r), 29, 1) != 0 }

// MemOrdered returns loads in order, from GFX10 on.
func (r Rsrc1) MemOrdered() bool { return bits(uint32(r), 30, 1) != 0 }

// ForwardProgress schedules the oldest wave first, from GFX10 on.
func (r Rsrc1) ForwardProgress() bool { return bits(uint32(r), 31, 1) != 0 }

// Rsrc2 is COMPUTE_PGM_RSRC2: which registers are set up before a kernel starts.
type Rsrc2 uint32

// PrivateSegment sets up scratch memory.
func (r Rsrc2) PrivateSegment() bool { return bits(uint32(r), 0, 1) != 0 }

// UserSGPRs is the number of SGPRs that the launch fills, up to GFX12.0;
// GFX12.5 has a sixth bit.
func (r Rsrc2) UserSGPRs() int { return int(bits(uint32(r), 1, 5)) }

// WorkgroupIDX, Y and Z put the coordinates of the work-group into SGPRs.
func (r Rsrc2) WorkgroupIDX() bool { return bits(uint32(r), 7, 1) != 0 }

// WorkgroupIDY is like WorkgroupIDX.
func (r Rsrc2) WorkgroupIDY() bool { return bits(uint32(r), 8, 1) != 0 }

// WorkgroupIDZ is like WorkgroupIDX.
func (r Rsrc2) WorkgroupIDZ() bool { return bits(uint32(r), 9, 1) != 0 }

// WorkgroupInfo puts the work-group's information word into an SGPR.
func (r Rsrc2) WorkgroupInfo() bool { return bits(uint32(r), 10, 1) != 0 }

// WorkitemID says which coordinates of the work-item are in VGPRs: 0 x, 1 x and
// y, 2 all three.
func (r Rsrc2) WorkitemID() int { return int(bits(uint32(r), 11, 2)) }

// TrapHandler, AddressWatch and GranulatedLDS are set by whoever starts a kernel.
func (r Rsrc2) TrapHandler() bool { return bits(uint32(r), 6, 1) != 0 }

// AddressWatch lets waves trap at an address that is watched, and MemoryViolation at
// one that is not there.
func (r Rsrc2) AddressWatch() bool { return bits(uint32(r), 13, 1) != 0 }

// MemoryViolation is like AddressWatch.
func (r Rsrc2) MemoryViolation() bool { return bits(uint32(r), 14, 1) != 0 }

// GranulatedLDS is the local memory of a work-group in granules of the processor.
func (r Rsrc2) GranulatedLDS() int { return int(bits(uint32(r), 15, 9)) }

// FloatExceptions says which exceptions trap: bit 0 an invalid operation, 1 a source
// that is denormal, 2 a division by zero, 3 overflow, 4 underflow, 5 an inexact
// result, 6 a division of integers by zero.
func (r Rsrc2) FloatExceptions() uint8 { return uint8(bits(uint32(r), 24, 7)) }

// KernelProperties are the kernel code properties: which user SGPRs there are,
// in the order of their bits, and how the kernel runs.
type KernelProperties uint16

// The bits of KernelProperties. The first seven say that these user SGPRs are
// there, in this order.
const (
	PropPrivateSegmentBuffer KernelProperties = 1 << 0 // 4 SGPRs
	PropDispatchPtr          KernelProperties = 1 << 1 // 2 SGPRs
	PropQueuePtr             KernelProperties = 1 << 2 // 2 SGPRs
	PropKernargSegmentPtr    KernelProperties = 1 << 3 // 2 SGPRs
	PropDispatchID           KernelProperties = 1 << 4 // 2 SGPRs
	PropFlatScratchInit      KernelProperties = 1 << 5 // 2 SGPRs
	PropPrivateSegmentSize   KernelProperties = 1 << 6 // 1 SGPR
	PropWavefront32          KernelProperties = 1 << 10
	PropDynamicStack         KernelProperties = 1 << 11
)

// Has reports whether all of these bits are set.
func (p KernelProperties) Has(bits KernelProperties) bool { return p&bits == bits }

// WavefrontSize is 32 or 64.
func (p KernelProperties) WavefrontSize() int {
	if p.Has(PropWavefront32) {
		return 32
	}
	return 64
}
