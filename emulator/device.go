package emulator

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/stonemason-hip/stonemason/emulator/isa"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
	"github.com/stonemason-hip/stonemason/toolchain/gpu"
)

// Device is a GPU that does not exist. Allocations and loads may happen at any
// time between launches.
type Device struct {
	target  gpu.TargetID
	table   *gpu.Table
	decoder *isa.Decoder // of waves of 64 lanes
	narrow  *isa.Decoder // of waves of 32 lanes; nil where there are none
	mem     memory
	gen     generation

	heapOnce sync.Once
	heap     *region
	heapErr  error
}

// heapState returns what the device libraries' allocator keeps its books in
// (ockl/src/dm.cl): it begins as zeros and stays for the life of the device.
func (d *Device) heapState() (*region, error) {
	const size = 1 << 17 // as much as ROCm's runtime gives it
	d.heapOnce.Do(func() {
		if d.heap, d.heapErr = d.mem.alloc(size, "heap of the kernels", true); d.heapErr == nil {
			d.heap.quiet = true
		}
	})
	return d.heap, d.heapErr
}

// generation is what differs between processors for a kernel that starts.
type generation struct {
	packedIDs    bool // work-item ids share v0 (gfx90a on, gfx11 on)
	archScratch  bool // no scratch registers are set up: flat scratch is there (gfx942 on, gfx11 on)
	archIDs      bool // the ids of the work-group lie in registers of traps (gfx12 on)
	unifiedVGPRs bool // AGPRs follow the VGPRs (gfx90a on)
	ocp          bool // fp8 and bf8 are those of the OCP (gfx950 on, gfx12)
	number       int  // 9 to 12
}

// NewDevice returns a device of a target id, such as gfx942 or
// gfx90a:sramecc+:xnack-.
func NewDevice(target string) (*Device, error) {
	table, err := gpu.Load()
	if err != nil {
		return nil, err
	}
	t, err := table.Target(target)
	if err != nil {
		return nil, err
	}
	d := &Device{target: t.ID, table: table}
	if d.decoder, d.narrow, err = decodersOf(t.Name); err != nil {
		return nil, err
	}
	switch t.Name {
	case "gfx90a":
		d.gen = generation{packedIDs: true, unifiedVGPRs: true}
	case "gfx942", "gfx950":
		d.gen = generation{packedIDs: true, unifiedVGPRs: true, archScratch: true, ocp: t.Name == "gfx950"}
	}
	if number := d.decoder.Generation(); number > 9 {
		d.gen = generation{packedIDs: number > 10, archScratch: number > 10, archIDs: number > 11, ocp: true, number: number}
	}
	return d, nil
}

// Target returns the target id of the device.
func (d *Device) Target() gpu.TargetID { return d.target }

// Alloc allocates zeroed memory. It is aligned to 64 KiB, and what lies directly
// before and behind it belongs to nothing.
func (d *Device) Alloc(size uint64) (Pointer, error) {
	r, err := d.mem.alloc(size, fmt.Sprintf("allocation of %d bytes", size), true)
	if err != nil {
		return 0, err
	}
	r.known.Store(false)
	return Pointer(r.base), nil
}

// Name says what faults call the allocation that begins at p: the argument that it is
// for, say. An empty name changes nothing.
func (d *Device) Name(p Pointer, name string) {
	if r := d.mem.find(uint64(p)); r != nil && r.base == uint64(p) && name != "" {
		r.name = fmt.Sprintf("%s of %d bytes", name, r.size)
	}
}

// Free gives memory back.
func (d *Device) Free(p Pointer) error { return d.mem.free(p) }

// Bytes returns the memory itself, for the host to read and write between
// launches.
func (d *Device) Bytes(p Pointer, n uint64) ([]byte, error) { return d.mem.bytes(p, n) }

// Module is a code object in the memory of a device.
type Module struct {
	dev   *Device
	obj   *codeobj.Object
	image *region
	low   uint64 // the object's lowest address; the image begins with it

	programs [2]*program // as waves of 64 lanes run it, as those of 32; nil where no kernel has them
}

// Load loads a code object, or the one for this device out of an offload bundle
// or a host file that embeds some: its segments are laid out and relocated, its
// code is decoded. It fails when there is none for this device, but not for
// instructions that are not supported: running into one is a fault.
func (d *Device) Load(data []byte) (*Module, error) {
	object, err := d.codeFor(data)
	if err != nil {
		return nil, err
	}
	obj, err := codeobj.Parse(object)
	if err != nil {
		return nil, err
	}
	t, err := obj.Target(d.table)
	if err != nil {
		return nil, err
	}
	if !d.table.Runs(t.ID, d.target) {
		return nil, fmt.Errorf("the code is for %s: it does not run on %s", t, d.target)
	}
	var low, high uint64
	first := true
	for _, s := range obj.Segments {
		if s.Type != codeobj.SegmentLoad {
			continue
		}
		if first {
			low, first = s.Addr, false
		}
		high = s.Addr + s.MemSize
	}
	if first {
		return nil, errors.New("code object: no segment is loaded")
	}
	const maxImage = 1 << 30
	if high-low > maxImage {
		return nil, fmt.Errorf("code object: an image of %d bytes: at most %d", high-low, maxImage)
	}
	image, err := d.mem.alloc(high-low, "code object", true)
	if err != nil {
		return nil, err
	}
	m := &Module{dev: d, obj: obj, image: image, low: low}
	for _, s := range obj.Segments {
		if s.Type == codeobj.SegmentLoad {
			copy(image.data[s.Addr-low:], s.Data)
		}
	}
	if err := m.relocate(); err != nil {
		return nil, fmt.Errorf("code object: %w", err)
	}
	if err := m.pointManaged(); err != nil {
		return nil, fmt.Errorf("code object: %w", err)
	}
	return m, m.decode()
}

// Object returns the code object that was loaded.
func (m *Module) Object() *codeobj.Object { return m.obj }

// Symbol returns address and size of a variable (__device__, __constant__,
// __managed__).
func (m *Module) Symbol(name string) (Pointer, uint64, error) {
	s, ok := m.variable(name + managedSuffix)
	if !ok {
		s, ok = m.variable(name)
	}
	if ok {
		return Pointer(m.image.base + s.Value - m.low), s.Size, nil
	}
	return 0, 0, fmt.Errorf("no variable %q in the code object", name)
}

// Relocations that a linked code object has (AMDGPUUsage, "Relocation Records").
const (
	relAbs64      = 3
	relRelative64 = 13
)

// relocate applies the dynamic relocations (sections of type SHT_RELA, 24 bytes
// an entry: offset, info, addend).
func (m *Module) relocate() error {
	const rela = 4
	le := binary.LittleEndian
	for _, s := range m.obj.Sections {
		if s.Type != rela {
			continue
		}
		for at := 0; at+24 <= len(s.Data); at += 24 {
			offset, info, addend := le.Uint64(s.Data[at:]), le.Uint64(s.Data[at+8:]), le.Uint64(s.Data[at+16:])
			var value uint64
			switch kind := uint32(info); kind {
			case relRelative64:
				value = m.image.base - m.low + addend
			case relAbs64:
				sym := int(info>>32) - 1 // the table here begins behind the empty symbol
				if sym < 0 || sym >= len(m.obj.Dynamic) || !m.obj.Dynamic[sym].Defined() {
					return fmt.Errorf("%s: the relocation at 0x%x needs a symbol that is not there", s.Name, offset)
				}
				value = m.image.base - m.low + m.obj.Dynamic[sym].Value + addend
			default:
				return fmt.Errorf("%s: relocation type %d at 0x%x is not known", s.Name, kind, offset)
			}
			if offset < m.low || offset-m.low > m.image.size-min(8, m.image.size) {
				return fmt.Errorf("%s: the relocation at 0x%x is outside of the image", s.Name, offset)
			}
			le.PutUint64(m.image.data[offset-m.low:], value)
		}
	}
	return nil
}

// functions returns the addresses of functions, relative to the object, sorted.
func (m *Module) functions() []codeobj.Symbol {
	var list []codeobj.Symbol
	for _, s := range m.obj.Symbols {
		if s.Type == codeobj.SymbolFunc && s.Defined() {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b codeobj.Symbol) int { return cmp.Compare(a.Value, b.Value) })
	return list
}
