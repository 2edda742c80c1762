package codeobj

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/stonemason-hip/stonemason/toolchain/gpu"
)

// What the ELF header of a code object says (AMDGPUUsage, "Header").
const (
	Machine   = 224 // EM_AMDGPU
	OSABIHSA  = 64  // ELFOSABI_AMDGPU_HSA
	typeDyn   = 3   // ET_DYN
	abiV4     = 2   // ELFABIVERSION_AMDGPU_HSA_V4
	abiV6     = 4   // ELFABIVERSION_AMDGPU_HSA_V6
	abiToCode = 2   // code object version = ABI version + 2

	noteMetadata = 32 // NT_AMDGPU_METADATA
	noteOwner    = "AMDGPU"
)

// maxObject bounds the size of a code object, maxImage that of its image in
// memory, from the lowest address to the highest.
const (
	maxObject = 2 << 30
	maxImage  = 4 << 30
)

// Feature is what e_flags says of xnack or sramecc.
type Feature struct {
	Supported bool        // the processor has the feature
	Setting   gpu.Setting // any, off or on
}

// Flags is e_flags taken apart (EF_AMDGPU_*, code object version 4 and later).
type Flags struct {
	Raw            uint32
	Mach           uint32 // EF_AMDGPU_MACH_*; gpu.Table.ProcessorOfMach names it
	XNACK          Feature
	SRAMECC        Feature
	GenericVersion uint32 // code object version 6: 1..255, or 0 for an exact processor
}

func flagsOf(raw uint32, version int) Flags {
	f := Flags{Raw: raw, Mach: raw & gpu.EFlagsMach}
	f.XNACK.Setting, f.XNACK.Supported = gpu.SettingOfBits(raw >> 8)
	f.SRAMECC.Setting, f.SRAMECC.Supported = gpu.SettingOfBits(raw >> 10)
	if version >= 6 {
		f.GenericVersion = raw >> 24
	}
	return f
}

// Object is a code object: an ELF file with the code for one target.
type Object struct {
	Version    int   // code object version: 4, 5 or 6
	ABIVersion uint8 // e_ident[EI_ABIVERSION]
	Flags      Flags
	Segments   []Segment
	Sections   []Section
	Symbols    []Symbol       // of .symtab, or of .dynsym when it was stripped
	Dynamic    []Symbol       // of .dynsym, without the empty one: what relocations count
	Metadata   *Metadata      // never nil
	Kernels    []LoadedKernel // in the order of the metadata
}

// LoadedKernel is a kernel with its metadata and its descriptor.
type LoadedKernel struct {
	*Kernel
	Descriptor     Descriptor
	DescriptorAddr uint64 // address of the descriptor, relative to the load address
	Entry          uint64 // address of the first instruction, likewise
	CodeSize       uint64 // of its symbol; 0 when the object has none
}

// Parse reads a code object. It checks everything that a loader relies on: the
// header, that all offsets lie inside the file, that the metadata decodes, that
// each kernel has a descriptor in a loaded segment and code in an executable
// one.
func Parse(data []byte) (*Object, error) {
	o, err := parseObject(data)
	if err != nil {
		return nil, fmt.Errorf("code object: %w", err)
	}
	return o, nil
}

// IsObject reports whether the data begins like a code object: an ELF file for
// an AMD GPU.
func IsObject(data []byte) bool {
	return isELF(data) && len(data) >= ehdrSize && binary.LittleEndian.Uint16(data[18:]) == Machine
}

func parseObject(data []byte) (*Object, error) {
	if len(data) > maxObject {
		return nil, fmt.Errorf("%d bytes: at most %d are read", len(data), maxObject)
	}
	f, err := parseELF(data)
	if err != nil {
		return nil, err
	}
	switch {
	case f.machine != Machine:
		return nil, fmt.Errorf("machine %d is not AMDGPU (%d): is this a host file?", f.machine, Machine)
	case f.osabi != OSABIHSA:
		return nil, fmt.Errorf("os abi %d is not AMDGPU HSA (%d)", f.osabi, OSABIHSA)
	case f.abi < abiV4 || f.abi > abiV6:
		return nil, fmt.Errorf("abi version %d: only %d to %d (code object versions 4 to 6) are read", f.abi, abiV4, abiV6)
	case f.kind != typeDyn:
		return nil, fmt.Errorf("elf type %d is not a shared object (%d): it is not linked", f.kind, typeDyn)
	}
	o := &Object{
		Version:    int(f.abi) + abiToCode,
		ABIVersion: f.abi,
		Segments:   f.segments,
		Sections:   f.sections,
	}
	o.Flags = flagsOf(f.flags, o.Version)
	if err := o.checkImage(); err != nil {
		return nil, err
	}
	dynamic, err := f.symbols(shtDynsym)
	if err != nil {
		return nil, err
	}
	o.Dynamic = dynamic
	if o.Symbols, err = f.symbols(shtSymtab); err != nil {
		return nil, err
	}
	if o.Symbols == nil {
		o.Symbols = dynamic
	}
	notes, err := f.metadataNotes()
	if err != nil {
		return nil, err
	}
	if o.Metadata, err = mergeMetadata(notes); err != nil {
		return nil, err
	}
	// A loader looks kernels up in the dynamic table; it is the one that counts.
	if dynamic == nil {
		dynamic = o.Symbols
	}
	return o, o.linkKernels(dynamic)
}

// checkImage checks that the loaded segments are in the order of their
// addresses and do not overlap, as the ELF specification demands, so that an
// address has one meaning.
func (o *Object) checkImage() error {
	var end uint64
	for i, s := range o.Segments {
		if s.Type != SegmentLoad {
			continue
		}
		if s.Addr < end {
			return fmt.Errorf("program header %d: loaded at 0x%x, where the one before it ends at 0x%x", i, s.Addr, end)
		}
		end = s.Addr + s.MemSize
	}
	if end > maxImage {
		return fmt.Errorf("its image in memory ends at 0x%x: at most 0x%x is read", end, uint64(maxImage))
	}
	return nil
}

// metadataNotes returns the NT_AMDGPU_METADATA notes, from the PT_NOTE segments
// as a loader does. There is one for each object file that was linked: lld puts
// the notes behind each other and does not join them.
func (f *elfFile) metadataNotes() ([][]byte, error) {
	var found [][]byte
	for i, s := range f.segments {
		if s.Type != SegmentNote {
			continue
		}
		err := eachNote(s.Data, func(owner string, kind uint32, desc []byte) error {
			if owner != noteOwner || kind != noteMetadata {
				return nil
			}
			found = append(found, desc)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("notes of program header %d: %w", i, err)
		}
	}
	return found, nil
}

// eachNote walks ELF notes: name size, descriptor size, type, name and
// descriptor, each padded to four bytes.
func eachNote(data []byte, visit func(owner string, kind uint32, desc []byte) error) error {
	le := binary.LittleEndian
	for len(data) >= 12 {
		nameSize, descSize, kind := uint64(le.Uint32(data)), uint64(le.Uint32(data[4:])), le.Uint32(data[8:])
		name, err := slice(data, 12, nameSize, "name of a note")
		if err != nil {
			return err
		}
		at := (12 + nameSize + 3) &^ 3
		desc, err := slice(data, at, descSize, "note")
		if err != nil {
			return err
		}
		if err := visit(strings.TrimSuffix(string(name), "\x00"), kind, desc); err != nil {
			return err
		}
		next := (at + descSize + 3) &^ 3
		if next >= uint64(len(data)) {
			return nil
		}
		data = data[next:]
	}
	return nil
}

func (o *Object) linkKernels(symbols []Symbol) error {
	byName := make(map[string]*Symbol, len(symbols))
	for i := range symbols {
		if s := &symbols[i]; s.Defined() {
			byName[s.Name] = s
		}
	}
	o.Kernels = make([]LoadedKernel, 0, len(o.Metadata.Kernels))
	for i := range o.Metadata.Kernels {
		k, err := o.linkKernel(&o.Metadata.Kernels[i], byName)
		if err != nil {
			return fmt.Errorf("kernel %q: %w", shorten(o.Metadata.Kernels[i].Name), err)
		}
		o.Kernels = append(o.Kernels, k)
	}
	return nil
}

func (o *Object) linkKernel(meta *Kernel, byName map[string]*Symbol) (LoadedKernel, error) {
	k := LoadedKernel{Kernel: meta}
	sym := byName[meta.Symbol]
	if sym == nil {
		return k, fmt.Errorf("its descriptor %q is not among the symbols", shorten(meta.Symbol))
	}
	if sym.Type != SymbolObject || sym.Size != DescriptorSize {
		return k, fmt.Errorf("its descriptor %q has type %d and %d bytes, want data (%d) of %d",
			shorten(meta.Symbol), sym.Type, sym.Size, SymbolObject, DescriptorSize)
	}
	raw, err := o.At(sym.Value, DescriptorSize)
	if err != nil {
		return k, fmt.Errorf("its descriptor: %w", err)
	}
	if k.Descriptor, err = ParseDescriptor(raw); err != nil {
		return k, err
	}
	k.DescriptorAddr = sym.Value
	k.Entry = sym.Value + uint64(k.Descriptor.EntryOffset)
	if !o.executable(k.Entry) {
		return k, fmt.Errorf("its code at 0x%x is in no executable segment", k.Entry)
	}
	if f := byName[meta.Name]; f != nil && f.Value == k.Entry {
		k.CodeSize = f.Size
	}
	return k, nil
}

// At returns n bytes at an address relative to where the object is loaded. They
// must lie in the file's part of one loaded segment.
func (o *Object) At(addr, n uint64) ([]byte, error) {
	for _, s := range o.Segments {
		if s.Type == SegmentLoad && addr >= s.Addr && addr-s.Addr < s.MemSize {
			return slice(s.Data, addr-s.Addr, n, fmt.Sprintf("segment at 0x%x", s.Addr))
		}
	}
	return nil, fmt.Errorf("address 0x%x is in no loaded segment", addr)
}

func (o *Object) executable(addr uint64) bool {
	for _, s := range o.Segments {
		if s.Type == SegmentLoad && s.Flags&SegmentExec != 0 && addr >= s.Addr && addr-s.Addr < uint64(len(s.Data)) {
			return true
		}
	}
	return false
}

// Kernel returns the kernel of that (mangled) name.
func (o *Object) Kernel(name string) (*LoadedKernel, bool) {
	for i := range o.Kernels {
		if o.Kernels[i].Name == name {
			return &o.Kernels[i], true
		}
	}
	return nil, false
}

// Target names what the object is for, by its e_flags and the GPU table. It
// fails when the table lacks the processor, or the metadata names another one.
func (o *Object) Target(table *gpu.Table) (gpu.Target, error) {
	t, err := table.TargetOfEFlags(o.Flags.Raw)
	if err != nil {
		return gpu.Target{}, err
	}
	if o.Metadata.Target == "" {
		return t, nil
	}
	id, ok := strings.CutPrefix(o.Metadata.Target, "amdgcn-amd-amdhsa--")
	if !ok {
		return gpu.Target{}, fmt.Errorf("metadata names the target %q, want amdgcn-amd-amdhsa--<target id>", shorten(o.Metadata.Target))
	}
	if meta, err := gpu.ParseTargetID(id); err != nil || meta != t.ID {
		return gpu.Target{}, fmt.Errorf("metadata names the target %q, e_flags 0x%x say %s", shorten(id), o.Flags.Raw, t)
	}
	return t, nil
}
