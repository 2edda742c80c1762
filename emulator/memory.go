package emulator

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
	heap  bool // a kernel allocated it
	quiet bool // no race is looked for: it is shared with the host, or nobody writes

	known atomic.Bool                  // all of it may be read: the host has had its bytes, or a launch that was not checked
	words map[uint64]*[pageWords]uint8 // what checked launches have written, by word; the lock of the memory guards it
}

func newRegion(base, size uint64, name string, write bool) *region {
	words := make([]uint64, (size+7)/8+1)
	return &region{base: base, size: size, name: name, write: write,
		data: unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(words)*8)}
}

// memory is the global memory of a device: regions in the order of their
// addresses, with gaps between them. Regions come and go, during a launch too:
// the list is replaced, never changed, so that nobody waits who reads it.
type memory struct {
	mu   sync.Mutex
	list atomic.Pointer[[]*region]
	next uint64
	heap uint64   // bytes that kernels have allocated
	gone []former // the last that were given back
}

// former is an allocation that is no longer: its addresses are of nobody since.
type former struct {
	base, size uint64
	name       string
}

// maxFormer is how many of them are known.
const maxFormer = 1 << 10

func (m *memory) regions() []*region {
	if list := m.list.Load(); list != nil {
		return *list
	}
	return nil
}

func (m *memory) alloc(size uint64, name string, write bool) (*region, error) {
	return m.allocAligned(size, guard, name, write)
}

// allocAligned allocates at a multiple of a power of two, 64 KiB or more.
func (m *memory) allocAligned(size, align uint64, name string, write bool) (*region, error) {
	if size > maxAlloc {
		return nil, fmt.Errorf("allocation of %d bytes: at most %d", size, uint64(maxAlloc))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.add(size, align, name, write), nil
}

func (m *memory) add(size, align uint64, name string, write bool) *region {
	if m.next == 0 {
		m.next = globalBase
	}
	m.next = (m.next + align - 1) &^ (align - 1)
	r := newRegion(m.next, size, name, write)
	r.known.Store(true)
	m.next += (size+guard-1)/guard*guard + guard
	list := append(m.regions(), r) // addresses only grow; readers know how long theirs is
	m.list.Store(&list)
	return r
}

func (m *memory) free(p Pointer) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.remove(p, false)
}

func (m *memory) remove(p Pointer, heap bool) error {
	list := m.regions()
	i := slices.IndexFunc(list, func(r *region) bool { return r.base == uint64(p) && (r.heap || !heap) })
	if i < 0 {
		return fmt.Errorf("no allocation begins at 0x%x", uint64(p))
	}
	if list[i].heap {
		m.heap -= list[i].size
	}
	if len(m.gone) == maxFormer {
		m.gone = append(m.gone[:0], m.gone[maxFormer/2:]...)
	}
	m.gone = append(m.gone, former{list[i].base, list[i].size, list[i].name})
	list = slices.Delete(slices.Clone(list), i, i+1)
	m.list.Store(&list)
	return nil
}

// heapLimit bounds what kernels allocate on a device.
const heapLimit = 1 << 30

// malloc allocates for a kernel. Slabs of the device libraries' allocator must
// be aligned to their size. It returns 0 when there is no memory left.
func (m *memory) malloc(size uint64) uint64 {
	const slab = 1 << 21
	align := uint64(guard)
	if size == slab {
		align = slab
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if size == 0 || size > heapLimit-m.heap {
		return 0
	}
	r := m.add(size, align, fmt.Sprintf("allocation of %d bytes by the kernel", size), true)
	r.heap = true
	r.known.Store(false)
	m.heap += size
	return r.base
}

// mfree gives back what malloc returned. A wrong address is ignored, as ROCm's
// runtime does.
func (m *memory) mfree(addr uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_ = m.remove(Pointer(addr), true)
}

// find returns the region with this address, or nil.
func (m *memory) find(addr uint64) *region {
	list := m.regions()
	low, high := 0, len(list) // the last region that does not begin behind it; each access comes here
	for low < high {
		if mid := (low + high) / 2; list[mid].base > addr {
			high = mid
		} else {
			low = mid + 1
		}
	}
	if low == 0 || addr-list[low-1].base >= list[low-1].size {
		return nil
	}
	return list[low-1]
}

// nearby says what lies close to an address that belongs to no allocation: behind an end,
// within the gap, or little before a beginning. What the launch itself needs is left
// out. It is empty where there is nothing.
func (m *memory) nearby(addr uint64) (text string) {
	const page, before = 1 << 12, 1 << 12
	if addr < page {
		return ": a null pointer"
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := len(m.gone) - 1; i >= 0; i-- {
		if f := &m.gone[i]; addr-f.base < f.size {
			return fmt.Sprintf(" any more: %s was given back", labelOf(f.name, f.size))
		}
	}
	best := uint64(guard)
	for _, r := range m.regions() {
		if !r.write || r.quiet {
			continue
		}
		switch end := r.base + r.size; {
		case addr == end:
			return ", directly behind " + r.label()
		case addr > end && addr-end < best:
			best, text = addr-end, fmt.Sprintf(", %d bytes behind the end of %s", addr-end, r.label())
		case addr < r.base && r.base-addr <= before && r.base-addr < best:
			best, text = r.base-addr, fmt.Sprintf(", %d bytes before %s", r.base-addr, r.label())
		}
	}
	return text
}

// label is the name of a region with its size.
func (r *region) label() string { return labelOf(r.name, r.size) }

func labelOf(name string, bytes uint64) string {
	if size := fmt.Sprintf("%d bytes", bytes); !strings.Contains(name, size) {
		return name + " (" + size + ")"
	}
	return name
}

// split puts parts in the place of a region whose memory they share. They are in the
// order of their addresses; what lies between them is of nobody.
func (m *memory) split(r *region, parts []*region) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.regions()
	if i := slices.Index(list, r); i >= 0 {
		list = slices.Concat(list[:i], parts, list[i+1:])
		m.list.Store(&list)
	}
}

var errUnmapped = errors.New("nothing is allocated there")

// bytes returns n bytes at an address for the host.
func (m *memory) bytes(p Pointer, n uint64) ([]byte, error) {
	r := m.find(uint64(p))
	if r == nil {
		return nil, fmt.Errorf("0x%x: %w", uint64(p), errUnmapped)
	}
	r.known.Store(true)
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
