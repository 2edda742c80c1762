package emulator

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"sync"
	"sync/atomic"
)

// A kernel asks the host for what it cannot do itself through packets in memory
// that both share: each wave takes one off the free stack, fills it, pushes it on
// the ready stack and waits until its flag is gone (ROCm device libraries,
// ockl/src/hostcall_impl.cl and services.cl of ROCm 5.3 to 7.0; the host's side is
// devhostcall.cpp and devhcmessages.cpp of ROCclr). Here the host is whichever
// worker ends a turn next. Later libraries have packets of another kind: see phases.
const (
	hostHeaderSize  = 24 // next u64, active lanes u64, service u32, control u32
	hostPayloadSize = 64 * 8 * 8
	hostSignalSize  = 64 // amd_signal_t: its mailbox is zero, so nobody sends a message

	serviceFunction = 1
	servicePrintf   = 2
	serviceDevmem   = 3

	maxMessages    = 1 << 16 // that are open at a time, one for each lane
	maxMessageSize = 1 << 20
)

// host serves the hostcalls of one launch.
type host struct {
	launch   *launch
	mem      *memory
	buffer   *region
	packets  uint64
	headers  uint64 // offsets in the buffer
	payloads uint64
	phases   *phases // of the later protocol; else nil

	mu       sync.Mutex
	messages map[uint64]*message
	next     uint64
	err      error
	out      [2]io.Writer // standard output, standard error
}

// message is text in the making: a printf takes several packets.
type message struct{ data []byte }

// The buffer begins with six words of 64 bits.
const (
	hostHeaders = 8 * iota
	hostPayloads
	hostDoorbell
	hostFree
	hostReady
	hostIndexMask
	hostFixed
)

// newHost lays out a buffer with a packet for each wave that may be running.
func newHost(l *launch, waves uint64) (*host, error) {
	n := uint64(2)
	for n < waves {
		n *= 2
	}
	h := &host{launch: l, mem: &l.module.dev.mem, packets: n, messages: map[uint64]*message{}, out: [2]io.Writer{l.opts.Output, l.opts.ErrorOutput}}
	if h.out[1] == nil {
		h.out[1] = h.out[0]
	}
	if l.module.usesPhases() {
		return h, h.layPhases()
	}
	h.headers = hostFixed + hostSignalSize
	h.payloads = (h.headers + n*hostHeaderSize + 63) &^ 63
	var err error
	if h.buffer, err = h.mem.alloc(h.payloads+n*hostPayloadSize, "hostcall buffer", true); err != nil {
		return nil, err
	}
	h.buffer.quiet = true
	put := func(off, v uint64) { binary.LittleEndian.PutUint64(h.buffer.data[off:], v) }
	put(hostHeaders, h.buffer.base+h.headers)
	put(hostPayloads, h.buffer.base+h.payloads)
	put(hostDoorbell, h.buffer.base+hostFixed)
	put(hostIndexMask, n-1)
	// Packet 0 has a tag: a pointer of zero is the end of the stack.
	next := n
	for i := uint64(1); i < n; i++ {
		put(h.headers+i*hostHeaderSize, next)
		next = i
	}
	put(hostFree, next)
	return h, nil
}

func (h *host) word(off uint64) *uint64 { return word64(h.buffer.data, off) }

// serve handles all packets that are ready, and reports whether there were some.
func (h *host) serve() (bool, error) {
	if h.phases != nil {
		return h.servePhases()
	}
	if atomic.LoadUint64(h.word(hostReady)) == 0 {
		return false, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	at := atomic.SwapUint64(h.word(hostReady), 0)
	for range h.packets { // a kernel may have written a ring
		if at == 0 || h.err != nil {
			break
		}
		n := at & (h.packets - 1)
		header, payload := h.headers+n*hostHeaderSize, h.payloads+n*hostPayloadSize
		at = atomic.LoadUint64(h.word(header))
		service := uint32(atomic.LoadUint64(h.word(header + 16)))
		for m := atomic.LoadUint64(h.word(header + 8)); m != 0 && h.err == nil; m &= m - 1 {
			h.err = h.request(service, payload+uint64(bits.TrailingZeros64(m))*64)
		}
		control := word32(h.buffer.data, header+20)
		atomic.StoreUint32(control, atomic.LoadUint32(control)&^1)
	}
	return true, h.err
}

// request handles what one lane asks for.
func (h *host) request(service uint32, slot uint64) error {
	var args [8]uint64
	for k := range args {
		args[k] = atomic.LoadUint64(h.word(slot + 8*uint64(k)))
	}
	var result uint64
	var err error
	switch service {
	case servicePrintf:
		result, err = h.append(args)
	case serviceDevmem:
		result = h.devmem(args[0], args[1])
	case serviceFunction:
		err = fmt.Errorf("it calls a function of the host at 0x%x, which the emulator does not have", args[0])
	default:
		err = fmt.Errorf("it asks the host for service %d, which is not known", service)
	}
	if err != nil {
		return fmt.Errorf("kernel %s: %w", h.launch.kernel.Name, err)
	}
	atomic.StoreUint64(h.word(slot), result)
	return nil
}

// devmem frees what lies at an address, or allocates where there is none.
func (h *host) devmem(addr, size uint64) uint64 {
	if addr != 0 {
		h.mem.mfree(addr)
		return addr
	}
	return h.mem.malloc(size)
}

// append adds to a message and prints it when it is complete. The descriptor has
// flags for the first and the last packet, the number of words in bits 5 to 7,
// and from bit 8 on the number of the message, which the host chooses.
func (h *host) append(args [8]uint64) (uint64, error) {
	const first, last = 1, 2
	desc := args[0]
	id := desc >> 8
	if desc&first != 0 {
		if len(h.messages) >= maxMessages {
			return 0, fmt.Errorf("more than %d messages for printf at a time", maxMessages)
		}
		h.next++
		id = h.next
		h.messages[id] = &message{}
		desc = desc&0xff&^first | id<<8
	}
	m := h.messages[id]
	if m == nil {
		return 0, fmt.Errorf("there is no message %d for printf", id)
	}
	for _, v := range args[1 : 1+desc>>5&7] {
		m.data = binary.LittleEndian.AppendUint64(m.data, v)
	}
	if len(m.data) > maxMessageSize {
		return 0, fmt.Errorf("a message of more than %d bytes for printf", maxMessageSize)
	}
	if desc&last == 0 {
		return desc, nil
	}
	delete(h.messages, id)
	stream, text := words(m.data).next()
	if stream > 1 {
		return allOnes, nil // what printf returns when it fails
	}
	return h.print(int(stream), text)
}

const allOnes = ^uint64(0)

// print writes a format with its arguments and returns how many bytes it wrote.
func (h *host) print(stream int, text words) (uint64, error) {
	format, args := text.text()
	out := formatC(format, args)
	if w := h.out[stream]; w != nil {
		if _, err := w.Write(out); err != nil {
			return 0, fmt.Errorf("output: %w", err)
		}
	}
	return uint64(len(out)), nil
}
