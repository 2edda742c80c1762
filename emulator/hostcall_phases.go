package emulator

import (
	"debug/elf"
	"encoding/binary"
	"math/bits"
	"strings"
	"sync/atomic"
)

// Device libraries after those of ROCm 7.0 have packets of another kind: a wave
// claims one by a bit, fills it and turns its phase over; the host has answered when
// its own phase of the packet is the same again (ockl/src/hostcall_impl.cl of the
// later ROCm device libraries). The requests are the same. Nothing that the host is
// told says which of both a kernel has: a variable of the later libraries does.
const (
	phasesSymbol     = "last_signal_time"
	phasesHeaderSize = 16 // active lanes u64, service u32
)

// The buffer begins with six addresses and the number of packets.
const (
	phasesDevice = 8 * iota
	phasesHost
	phasesOccupied
	phasesHeaders
	phasesPayloads
	phasesDoorbell
	phasesPackets
	phasesFixed
)

// usesPhases reports the later protocol. What is linked twice gets a number behind.
func (m *Module) usesPhases() bool {
	for _, s := range m.obj.Symbols {
		if name, _, _ := strings.Cut(s.Name, "."); name == phasesSymbol && s.Bind == uint8(elf.STB_LOCAL) {
			return true
		}
	}
	return false
}

// phases is where the parts of such a buffer lie, as offsets.
type phases struct{ device, host uint64 }

// layPhases lays out a buffer of the later protocol.
func (h *host) layPhases() (err error) {
	at := uint64(phasesFixed + hostSignalSize)
	part := func(size uint64) uint64 {
		from := at
		at = (at + size + 63) &^ 63
		return from
	}
	n := h.packets
	h.phases = &phases{device: part(4 * n), host: part(4 * n)}
	occupied := part(4 * ((n + 31) / 32))
	h.headers, h.payloads = part(n*phasesHeaderSize), part(n*hostPayloadSize)
	if h.buffer, err = h.mem.alloc(at, "hostcall buffer", true); err != nil {
		return err
	}
	h.buffer.quiet = true
	for off, to := range map[int]uint64{phasesDevice: h.phases.device, phasesHost: h.phases.host, phasesOccupied: occupied,
		phasesHeaders: h.headers, phasesPayloads: h.payloads, phasesDoorbell: phasesFixed} {
		binary.LittleEndian.PutUint64(h.buffer.data[off:], h.buffer.base+to)
	}
	binary.LittleEndian.PutUint64(h.buffer.data[phasesPackets:], n)
	return nil
}

// servePhases handles all packets whose phase was turned, as serve does.
func (h *host) servePhases() (served bool, err error) {
	turned := func(n uint64) (uint32, bool) {
		phase := atomic.LoadUint32(word32(h.buffer.data, h.phases.device+4*n))
		return phase, phase != atomic.LoadUint32(word32(h.buffer.data, h.phases.host+4*n))
	}
	for n := range h.packets {
		if _, yes := turned(n); !yes {
			continue
		}
		if !served {
			h.mu.Lock()
			defer h.mu.Unlock()
			served = true
		}
		phase, yes := turned(n) // another worker may have been faster
		if !yes || h.err != nil {
			continue
		}
		header := h.headers + n*phasesHeaderSize
		service := uint32(atomic.LoadUint64(h.word(header + 8)))
		for m := atomic.LoadUint64(h.word(header)); m != 0 && h.err == nil; m &= m - 1 {
			h.err = h.request(service, h.payloads+n*hostPayloadSize+uint64(bits.TrailingZeros64(m))*64)
		}
		atomic.StoreUint32(word32(h.buffer.data, h.phases.host+4*n), phase)
	}
	if !served {
		return false, nil
	}
	return true, h.err
}
