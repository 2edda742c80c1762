// Package gpu knows the AMD GPUs that code objects are made for: processor
// names, the families that group them, target ids with their features, and
// what a code object for each must carry in its ELF e_flags.
//
// The facts lie in families.yaml, which is embedded. A new processor is a new
// row there and no line of Go.
package gpu

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"

	"go.yaml.in/yaml/v3"
)

//go:embed families.yaml
var familiesYAML []byte

// Class says what kind of device a processor is.
type Class string

// The classes of families.yaml.
const (
	ClassDiscrete   Class = "dgpu"    // a graphics card
	ClassDataCenter Class = "dcgpu"   // a data centre accelerator
	ClassIntegrated Class = "igpu"    // part of a processor
	ClassGeneric    Class = "generic" // no device: code that several run
)

// Support says what a processor makes of a target feature (xnack, sramecc).
type Support string

// The supports of families.yaml; the empty value reads as SupportNone.
const (
	SupportNone   Support = "none"   // no such setting in the hardware
	SupportSelect Support = "select" // a target id may ask for on or off
	SupportFixed  Support = "fixed"  // present, but not to be named in a target id
)

// Processor is one row of the table: a processor of LLVM's AMDGPU backend.
type Processor struct {
	Name     string   `yaml:"name"`     // LLVM's canonical name, such as gfx942
	Mach     uint32   `yaml:"mach"`     // EF_AMDGPU_MACH_AMDGCN_*, the low byte of e_flags
	Class    Class    `yaml:"class"`    // what kind of device
	Wave     int      `yaml:"wave"`     // lanes of a wavefront by default: 32 or 64
	LDS      int      `yaml:"lds"`      // most local memory of a work-group, in bytes
	XNACK    Support  `yaml:"xnack"`    // page-fault replay
	SRAMECC  Support  `yaml:"sramecc"`  // error-corrected SRAM
	Products []string `yaml:"products"` // names on the box, possibly none
	Covers   []string `yaml:"covers"`   // generic only: processors that run this code
	Version  uint32   `yaml:"version"`  // generic only: generic version, 1..255
}

// Generic reports whether the processor stands for several.
func (p Processor) Generic() bool { return p.Class == ClassGeneric }

// Family is a name for several processors, as TheRock spells it.
type Family struct {
	Name    string   `yaml:"name"`
	Targets []string `yaml:"targets"` // processor names, in the table's order
}

// Table is the GPU table. It is read-only and safe for concurrent use.
type Table struct {
	processors []Processor
	families   []Family
	byName     map[string]int      // processor name → index
	byMach     map[uint32]int      // mach → index
	family     map[string][]string // family name → processor names
}

// Load reads the embedded table. It fails only when the embedded data breaks
// one of its own rules, which the tests of this package would show.
func Load() (*Table, error) { return parse(familiesYAML) }

type file struct {
	Schema     int         `yaml:"schema"`
	Processors []Processor `yaml:"processors"`
	Families   []Family    `yaml:"families"`
}

func parse(data []byte) (*Table, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	var f file
	if err := dec.Decode(&f); err != nil {
		return nil, fmt.Errorf("gpu table: %w", err)
	}
	if err := dec.Decode(&file{}); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("gpu table: more than one document in the file")
	}
	if f.Schema != 1 {
		return nil, fmt.Errorf("gpu table: schema %d is not 1", f.Schema)
	}
	t := &Table{
		processors: f.Processors,
		families:   f.Families,
		byName:     map[string]int{},
		byMach:     map[uint32]int{},
		family:     map[string][]string{},
	}
	for i := range t.processors {
		if err := t.addProcessor(i); err != nil {
			return nil, fmt.Errorf("gpu table: processor %q: %w", t.processors[i].Name, err)
		}
	}
	for _, p := range t.processors {
		if err := t.known(p.Covers); err != nil {
			return nil, fmt.Errorf("gpu table: processor %q covers: %w", p.Name, err)
		}
	}
	for _, fam := range t.families {
		if err := t.addFamily(fam); err != nil {
			return nil, fmt.Errorf("gpu table: family %q: %w", fam.Name, err)
		}
	}
	return t, nil
}

func (t *Table) addProcessor(i int) error {
	p := &t.processors[i]
	for _, s := range []*Support{&p.XNACK, &p.SRAMECC} {
		switch *s {
		case "":
			*s = SupportNone
		case SupportNone, SupportSelect, SupportFixed:
		default:
			return fmt.Errorf("feature support %q is not none, select or fixed", *s)
		}
	}
	switch {
	case !processorName(p.Name):
		return errors.New("the name is not that of a processor")
	case p.Mach < 0x20 || p.Mach > 0xff:
		return fmt.Errorf("mach 0x%x is outside of 0x20..0xff", p.Mach)
	case p.Wave != 32 && p.Wave != 64:
		return fmt.Errorf("wave %d is neither 32 nor 64", p.Wave)
	case p.LDS <= 0:
		return fmt.Errorf("lds %d is not positive", p.LDS)
	case p.Generic() != (len(p.Covers) > 0) || p.Generic() != (p.Version != 0) || p.Version > 255:
		return errors.New("generic processors, and only they, have covers and a version of 1..255")
	}
	switch p.Class {
	case ClassDiscrete, ClassDataCenter, ClassIntegrated, ClassGeneric:
	default:
		return fmt.Errorf("class %q is not dgpu, dcgpu, igpu or generic", p.Class)
	}
	if _, dup := t.byName[p.Name]; dup {
		return errors.New("listed twice")
	}
	if j, dup := t.byMach[p.Mach]; dup {
		return fmt.Errorf("mach 0x%x is also that of %s", p.Mach, t.processors[j].Name)
	}
	t.byName[p.Name], t.byMach[p.Mach] = i, i
	return nil
}

func (t *Table) addFamily(fam Family) error {
	if _, dup := t.family[fam.Name]; dup {
		return errors.New("listed twice")
	}
	if _, dup := t.byName[fam.Name]; dup {
		return errors.New("has the name of a processor")
	}
	if fam.Name == "" || len(fam.Targets) == 0 {
		return errors.New("needs a name and at least one target")
	}
	if err := t.known(fam.Targets); err != nil {
		return err
	}
	t.family[fam.Name] = fam.Targets
	return nil
}

// known checks that each name is a processor's, once, in the table's order.
func (t *Table) known(names []string) error {
	last := -1
	for _, n := range names {
		i, ok := t.byName[n]
		if !ok {
			return fmt.Errorf("%q is no processor of the table", n)
		}
		if i <= last {
			return fmt.Errorf("%q is out of the table's order, or there twice", n)
		}
		last = i
	}
	return nil
}

// Processors returns every row, in the table's order.
func (t *Table) Processors() []Processor { return slices.Clone(t.processors) }

// Families returns the named families, in the table's order. Each processor is
// a family of its own besides; those are not listed.
func (t *Table) Families() []Family { return slices.Clone(t.families) }

// Processor returns the row of that name.
func (t *Table) Processor(name string) (Processor, bool) {
	i, ok := t.byName[name]
	if !ok {
		return Processor{}, false
	}
	return t.processors[i], true
}

// ProcessorOfMach returns the row whose mach is the low byte of e_flags.
func (t *Table) ProcessorOfMach(mach uint32) (Processor, bool) {
	i, ok := t.byMach[mach]
	if !ok {
		return Processor{}, false
	}
	return t.processors[i], true
}

// Names returns every valid selection without features: processors, then
// families. It is what a completion or a schema offers.
func (t *Table) Names() []string {
	names := make([]string, 0, len(t.processors)+len(t.families))
	for _, p := range t.processors {
		names = append(names, p.Name)
	}
	for _, f := range t.families {
		names = append(names, f.Name)
	}
	return names
}
