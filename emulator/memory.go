package emulator

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"
	"unsafe"
)

// Where things lie in the flat address space. The apertures of local and
// private memory are what the registers src_shared_base and src_private_base
// say; global memory lies below both.
const (
	globalBase      = 0x7f00_0000_0000
	sharedAperture  = 0x0001_0000_0000_0000
	privateAperture = 0x0002_0000_0000_0000
	apertureSize    = 1 << 32

	guard    = 1 << 16 // bytes between two allocations that nothing may touch
	maxAlloc = 1 << 36
)

// Pointer is an address in the memory of a device.
type Pointer uint64

// region is a piece of memory without gaps. Its bytes lie in words of 64 bits, so
// that what is aligned for the device is aligned for the CPU.
type region struct {
	base  uint64
	size  uint64
	data  []byte
	name  string
	write bool
}

func newRegion(base, size uint64, name string, write bool) *region {
	words := make([]uint64, (size+7)/8+1)
	return &region{base: base, size: size, name: name, write: write,
		data: unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(words)*8)}
}

// memory is the global memory of a device: regions in the order of their
// addresses, with gaps between them. Regions come and go between launches;
// during one the list does not change.
type memory struct {
	mu      sync.Mutex
	regions []*region
	next    uint64
}

func (m *memory) alloc(size uint64, name string, write bool) (*region, error) {
	if size > maxAlloc {
		return nil, fmt.Errorf("allocation of %d bytes: at most %d", size, uint64(maxAlloc))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.next == 0 {
		m.next = globalBase
	}
	r := newRegion(m.next, size, name, write)
	m.next += (size+guard-1)/guard*guard + guard
	m.regions = append(m.regions, r) // addresses only grow
	return r, nil
}

func (m *memory) free(p Pointer) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.regions, func(r *region) bool { return r.base == uint64(p) })
	if i < 0 {
		return fmt.Errorf("no allocation begins at 0x%x", uint64(p))
	}
	m.regions = slices.Delete(slices.Clone(m.regions), i, i+1)
	return nil
}

// find returns the region with this address, or nil.
func (m *memory) find(addr uint64) *region {
	i := sort.Search(len(m.regions), func(i int) bool { return m.regions[i].base > addr }) - 1
	if i < 0 || addr-m.regions[i].base >= m.regions[i].size {
		return nil
	}
	return m.regions[i]
}

var errUnmapped = errors.New("nothing is allocated there")

// bytes returns n bytes at an address for the host.
func (m *memory) bytes(p Pointer, n uint64) ([]byte, error) {
	r := m.find(uint64(p))
	if r == nil {
		return nil, fmt.Errorf("0x%x: %w", uint64(p), errUnmapped)
	}
	off := uint64(p) - r.base
	if n > r.size-off {
		return nil, fmt.Errorf("0x%x: %d bytes: %s ends after %d", uint64(p), n, r.name, r.size-off)
	}
	return r.data[off : off+n : off+n], nil
}

// Loads and stores of words at any alignment: the CPUs this runs on allow it,
// and Go's compiler keeps aligned ones whole.
func load32(b []byte, off uint64) uint32 { return *(*uint32)(unsafe.Pointer(&b[off])) }

func store32(b []byte, off uint64, v uint32) { *(*uint32)(unsafe.Pointer(&b[off])) = v }

func load16(b []byte, off uint64) uint32 { return uint32(*(*uint16)(unsafe.Pointer(&b[off]))) }

func store16(b []byte, off uint64, v uint32) { *(*uint16)(unsafe.Pointer(&b[off])) = uint16(v) }

func word32(b []byte, off uint64) *uint32 { return (*uint32)(unsafe.Pointer(&b[off])) }

func word64(b []byte, off uint64) *uint64 { return (*uint64)(unsafe.Pointer(&b[off])) }
