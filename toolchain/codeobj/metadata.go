package codeobj

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// maxNotes bounds the metadata notes of a code object, one an object file.
const maxNotes = 1 << 12

// Metadata is the decoded NT_AMDGPU_METADATA note of a code object: AMDGPUUsage,
// "Code Object V3 Metadata" with the changes of V4 and V5. The tag of a field
// is its key in the note; "required" ones must be there. Keys that are not
// listed are left out, because newer compilers add some.
type Metadata struct {
	Version []uint64 `amdgpu:"amdhsa.version,required"` // major, minor: 1.1 with V4, 1.2 from V5 on
	Target  string   `amdgpu:"amdhsa.target"`           // triple and target id: amdgcn-amd-amdhsa--gfx942
	Printf  []string `amdgpu:"amdhsa.printf"`           // formats of OpenCL's printf
	Kernels []Kernel `amdgpu:"amdhsa.kernels,required"`
}

// Kernel is the metadata of one kernel. Sizes are in bytes.
type Kernel struct {
	Name            string   `amdgpu:".name,required"`   // name in the source, mangled
	Symbol          string   `amdgpu:".symbol,required"` // symbol of its descriptor: Name + ".kd"
	Language        string   `amdgpu:".language"`
	LanguageVersion []uint64 `amdgpu:".language_version"`
	Kind            string   `amdgpu:".kind"` // normal (also when empty), init or fini
	Args            []Arg    `amdgpu:".args"`

	KernargSegmentSize      uint64 `amdgpu:".kernarg_segment_size,required"`
	KernargSegmentAlign     uint64 `amdgpu:".kernarg_segment_align,required"`
	GroupSegmentFixedSize   uint64 `amdgpu:".group_segment_fixed_size,required"`   // static LDS
	PrivateSegmentFixedSize uint64 `amdgpu:".private_segment_fixed_size,required"` // scratch a work-item

	WavefrontSize        uint64   `amdgpu:".wavefront_size,required"`
	SGPRCount            uint64   `amdgpu:".sgpr_count,required"`
	VGPRCount            uint64   `amdgpu:".vgpr_count,required"` // with AGPRs where they are unified
	AGPRCount            uint64   `amdgpu:".agpr_count"`
	SGPRSpillCount       uint64   `amdgpu:".sgpr_spill_count"`
	VGPRSpillCount       uint64   `amdgpu:".vgpr_spill_count"`
	MaxFlatWorkgroupSize uint64   `amdgpu:".max_flat_workgroup_size,required"`
	ReqdWorkgroupSize    []uint64 `amdgpu:".reqd_workgroup_size"` // x, y, z, or nothing
	WorkgroupSizeHint    []uint64 `amdgpu:".workgroup_size_hint"` // x, y, z, or nothing
	VecTypeHint          string   `amdgpu:".vec_type_hint"`
	DeviceEnqueueSymbol  string   `amdgpu:".device_enqueue_symbol"`
	ClusterDims          []uint64 `amdgpu:".cluster_dims"` // x, y, z, or nothing

	UsesDynamicStack       bool   `amdgpu:".uses_dynamic_stack"`       // V5 on
	WorkgroupProcessorMode uint64 `amdgpu:".workgroup_processor_mode"` // GFX10 on: 1 is WGP, 0 is CU
	UniformWorkGroupSize   uint64 `amdgpu:".uniform_work_group_size"`  // 1 when all work-groups are full
}

// Arg is one argument of a kernel, hidden ones included: where it lies in the
// kernarg segment, and what it is. Offsets and sizes are in bytes.
type Arg struct {
	Name         string `amdgpu:".name"`
	TypeName     string `amdgpu:".type_name"`
	Offset       uint64 `amdgpu:".offset,required"`
	Size         uint64 `amdgpu:".size,required"`
	ValueKind    string `amdgpu:".value_kind,required"` // by_value, global_buffer, hidden_block_count_x, ...
	ValueType    string `amdgpu:".value_type"`          // no longer written
	PointeeAlign uint64 `amdgpu:".pointee_align"`       // of a dynamic_shared_pointer
	AddressSpace string `amdgpu:".address_space"`       // private, global, constant, local, generic, region
	Access       string `amdgpu:".access"`              // read_only, write_only, read_write
	ActualAccess string `amdgpu:".actual_access"`
	IsConst      bool   `amdgpu:".is_const"`
	IsRestrict   bool   `amdgpu:".is_restrict"`
	IsVolatile   bool   `amdgpu:".is_volatile"`
	IsPipe       bool   `amdgpu:".is_pipe"`
}

// Hidden reports whether the compiler added the argument: the launcher fills it
// in, the source does not have it.
func (a Arg) Hidden() bool { return strings.HasPrefix(a.ValueKind, "hidden_") }

// Explicit returns the arguments that the source of the kernel has, in order.
func (k *Kernel) Explicit() []Arg {
	var list []Arg
	for _, a := range k.Args {
		if !a.Hidden() {
			list = append(list, a)
		}
	}
	return list
}

// Kernel returns the metadata of the kernel of that (mangled) name.
func (m *Metadata) Kernel(name string) (*Kernel, bool) {
	for i := range m.Kernels {
		if m.Kernels[i].Name == name {
			return &m.Kernels[i], true
		}
	}
	return nil, false
}

// ParseMetadata decodes the bytes of an NT_AMDGPU_METADATA note and checks what
// a loader relies on: arguments inside the kernarg segment, a wavefront of 32
// or 64, an alignment that is a power of two, no two kernels of one name.
func ParseMetadata(note []byte) (*Metadata, error) {
	v, err := DecodeMsgpack(note)
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	m := new(Metadata)
	if err := fill(reflect.ValueOf(m).Elem(), &v); err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	if len(m.Version) != 2 || m.Version[0] != 1 {
		return nil, fmt.Errorf("metadata: version %v: only 1.x is known", m.Version)
	}
	for i := range m.Kernels {
		k := &m.Kernels[i]
		if err := k.check(); err != nil {
			return nil, fmt.Errorf("metadata: kernel %q: %w", shorten(k.Name), err)
		}
	}
	if err := m.unique(); err != nil {
		return nil, err
	}
	return m, nil
}

// unique checks that no two kernels have one name.
func (m *Metadata) unique() error {
	names, symbols := map[string]bool{}, map[string]bool{}
	for i := range m.Kernels {
		k := &m.Kernels[i]
		if names[k.Name] || symbols[k.Symbol] {
			return fmt.Errorf("metadata: kernel %q is there twice", shorten(k.Name))
		}
		names[k.Name], symbols[k.Symbol] = true, true
	}
	return nil
}

// mergeMetadata decodes the notes of a code object, of which there is one for
// each object file that was linked. They describe one object: its kernels are
// those of all, and what is said of the whole is the same in each.
func mergeMetadata(notes [][]byte) (*Metadata, error) {
	if len(notes) > maxNotes {
		return nil, fmt.Errorf("%d metadata notes: at most %d are read", len(notes), maxNotes)
	}
	var whole *Metadata
	for _, note := range notes {
		m, err := ParseMetadata(note)
		if err != nil {
			return nil, err
		}
		if whole == nil {
			whole = m
			continue
		}
		if m.Target != whole.Target || !slices.Equal(m.Version, whole.Version) {
			return nil, fmt.Errorf("metadata: one note is version %v for %q, another %v for %q",
				whole.Version, shorten(whole.Target), m.Version, shorten(m.Target))
		}
		whole.Kernels, whole.Printf = append(whole.Kernels, m.Kernels...), append(whole.Printf, m.Printf...)
	}
	if whole == nil {
		return nil, errors.New("no AMDGPU metadata note: it lists the kernels")
	}
	if err := whole.unique(); err != nil {
		return nil, err
	}
	return whole, nil
}

func (k *Kernel) check() error {
	if k.Name == "" || k.Symbol == "" {
		return errors.New("has no name or no symbol")
	}
	if k.WavefrontSize != 32 && k.WavefrontSize != 64 {
		return fmt.Errorf("wavefront size %d is neither 32 nor 64", k.WavefrontSize)
	}
	if a := k.KernargSegmentAlign; a == 0 || a&(a-1) != 0 || a > math.MaxInt32 {
		return fmt.Errorf("kernarg segment alignment %d is no power of two", a)
	}
	if k.KernargSegmentSize > math.MaxUint32 || k.GroupSegmentFixedSize > math.MaxUint32 || k.PrivateSegmentFixedSize > math.MaxUint32 {
		return errors.New("a segment is larger than 4 GiB")
	}
	for _, dims := range [][]uint64{k.ReqdWorkgroupSize, k.WorkgroupSizeHint, k.ClusterDims} {
		if len(dims) != 0 && len(dims) != 3 {
			return fmt.Errorf("%d sizes of a work-group, want x, y and z", len(dims))
		}
	}
	for i, a := range k.Args {
		if a.Size > k.KernargSegmentSize || a.Offset > k.KernargSegmentSize-a.Size {
			return fmt.Errorf("argument %d: %d bytes at %d do not lie in the %d bytes of the kernarg segment",
				i, a.Size, a.Offset, k.KernargSegmentSize)
		}
	}
	return nil
}

// fill sets the fields of a struct from a map by their amdgpu tags.
func fill(out reflect.Value, v *Value) error {
	if v.Kind != KindMap {
		return fmt.Errorf("%s where a map is wanted", v.Kind)
	}
	t := out.Type()
	for i := range t.NumField() {
		key, option, _ := strings.Cut(t.Field(i).Tag.Get("amdgpu"), ",")
		member, ok := v.Get(key)
		if !ok {
			if option == "required" {
				return fmt.Errorf("%s is missing", key)
			}
			continue
		}
		if err := set(out.Field(i), member); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

func set(out reflect.Value, v *Value) error {
	switch out.Kind() {
	case reflect.String:
		if v.Kind != KindString {
			return fmt.Errorf("%s where a string is wanted", v.Kind)
		}
		out.SetString(string(v.Bytes))
	case reflect.Uint64:
		if v.Kind != KindUint {
			return fmt.Errorf("%s where a number is wanted", v.Kind)
		}
		out.SetUint(v.Uint)
	case reflect.Bool:
		if v.Kind != KindBool {
			return fmt.Errorf("%s where true or false is wanted", v.Kind)
		}
		out.SetBool(v.Bool)
	case reflect.Struct:
		return fill(out, v)
	case reflect.Slice:
		if v.Kind != KindArray {
			return fmt.Errorf("%s where an array is wanted", v.Kind)
		}
		list := reflect.MakeSlice(out.Type(), len(v.Array), len(v.Array))
		for i := range v.Array {
			if err := set(list.Index(i), &v.Array[i]); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
		out.Set(list)
	default:
		return fmt.Errorf("a field of type %s is not decoded", out.Type())
	}
	return nil
}
