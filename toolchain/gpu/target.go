package gpu

import (
	"errors"
	"fmt"
	"strings"
)

// Setting is what a target id says of one feature.
type Setting int8

// The settings of a feature.
const (
	Any Setting = iota // not named: code that runs either way
	Off                // feature-
	On                 // feature+
)

// String returns the suffix that a target id uses: "", "-" or "+".
func (s Setting) String() string {
	switch s {
	case Off:
		return "-"
	case On:
		return "+"
	}
	return ""
}

// TargetID is a target id taken apart, without knowledge of processors:
// processor (":" feature ("+" | "-"))*, as clang's offload bundler documents it.
type TargetID struct {
	Processor string
	XNACK     Setting
	SRAMECC   Setting
}

// maxTargetID bounds the length of a target id; the longest real one has 40.
const maxTargetID = 128

// ParseTargetID takes a target id apart. It checks the syntax only: whether the
// processor exists and has the features is for Table.Target to say.
func ParseTargetID(s string) (TargetID, error) {
	if len(s) > maxTargetID {
		return TargetID{}, fmt.Errorf("target id of %d bytes: at most %d are allowed", len(s), maxTargetID)
	}
	name, rest, more := strings.Cut(s, ":")
	if !processorName(name) {
		return TargetID{}, fmt.Errorf("target id %q: %q is not the name of a processor", s, name)
	}
	id := TargetID{Processor: name}
	for more {
		var part string
		part, rest, more = strings.Cut(rest, ":")
		if err := id.set(part); err != nil {
			return TargetID{}, fmt.Errorf("target id %q: %w", s, err)
		}
	}
	return id, nil
}

func (id *TargetID) set(part string) error {
	var to Setting
	feature := part
	if n := len(part); n > 0 {
		feature = part[:n-1]
		switch part[n-1] {
		case '+':
			to = On
		case '-':
			to = Off
		}
	}
	if to == Any {
		return fmt.Errorf("feature %q must end in + or -", part)
	}
	var at *Setting
	switch feature {
	case "xnack":
		at = &id.XNACK
	case "sramecc":
		at = &id.SRAMECC
	default:
		return fmt.Errorf("feature %q is neither xnack nor sramecc", feature)
	}
	if *at != Any {
		return fmt.Errorf("feature %s is named twice", feature)
	}
	*at = to
	return nil
}

// String returns the canonical form: features in alphabetical order.
func (id TargetID) String() string {
	s := id.Processor
	if id.SRAMECC != Any {
		s += ":sramecc" + id.SRAMECC.String()
	}
	if id.XNACK != Any {
		s += ":xnack" + id.XNACK.String()
	}
	return s
}

// Accepts reports whether code for id runs on a device that is configured as
// device says: same processor, and each feature either not named by the code
// or named the same by both (ClangOffloadBundler, "Compatibility Rules for
// Target ID"). Generic processors need the table: see Table.Runs.
func (id TargetID) Accepts(device TargetID) bool {
	return id.Processor == device.Processor &&
		(id.XNACK == Any || id.XNACK == device.XNACK) &&
		(id.SRAMECC == Any || id.SRAMECC == device.SRAMECC)
}

// processorName is the shape of LLVM's names: gfx and then lower-case letters,
// digits and single hyphens (gfx90a, gfx9-4-generic).
func processorName(s string) bool {
	rest, ok := strings.CutPrefix(s, "gfx")
	if !ok || rest == "" || len(s) > 32 {
		return false
	}
	for i := range len(rest) {
		c := rest[i]
		switch {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z':
		case c == '-' && i > 0 && i < len(rest)-1 && rest[i-1] != '-':
		default:
			return false
		}
	}
	return true
}

// Target is something to compile for: a processor with its features settled.
type Target struct {
	Processor // the row of the table
	ID        TargetID
}

// String returns the canonical target id, which --offload-arch takes.
func (t Target) String() string { return t.ID.String() }

// MarshalText writes the canonical target id.
func (t Target) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// The fields of e_flags in code object versions 4 to 6 (llvm/BinaryFormat/ELF.h,
// EF_AMDGPU_*): mach in the low byte, then two bits a feature, then, in version
// 6, the generic version in the high byte.
const (
	EFlagsMach          = 0x000000ff
	EFlagsXNACK         = 0x00000300
	EFlagsSRAMECC       = 0x00000c00
	EFlagsGeneric       = 0xff000000
	eflagsXNACKShift    = 8
	eflagsSRAMECCShift  = 10
	eflagsGenericShift  = 24
	eflagsFeatureAny    = 1
	eflagsFeatureOff    = 2
	eflagsFeatureOn     = 3
	eflagsFeatureAbsent = 0
)

// EFlags returns the ELF e_flags of a code object (version 4 or later) for this
// target. The processor's code object version is 6 when it is generic.
func (t Target) EFlags() uint32 {
	return t.Mach |
		featureBits(t.XNACK, t.ID.XNACK)<<eflagsXNACKShift |
		featureBits(t.SRAMECC, t.ID.SRAMECC)<<eflagsSRAMECCShift |
		t.Version<<eflagsGenericShift
}

func featureBits(has Support, set Setting) uint32 {
	switch {
	case has == SupportNone:
		return eflagsFeatureAbsent
	case set == On:
		return eflagsFeatureOn
	case set == Off:
		return eflagsFeatureOff
	}
	return eflagsFeatureAny
}

// SettingOfBits reads the two bits that e_flags has for a feature. present is
// false when the processor has no such feature.
func SettingOfBits(bits uint32) (set Setting, present bool) {
	switch bits & 3 {
	case eflagsFeatureOn:
		return On, true
	case eflagsFeatureOff:
		return Off, true
	case eflagsFeatureAny:
		return Any, true
	}
	return Any, false
}

// TargetOfEFlags is the reverse of Target.EFlags. It fails for a mach that the
// table lacks and for features that contradict the processor.
func (t *Table) TargetOfEFlags(flags uint32) (Target, error) {
	p, ok := t.ProcessorOfMach(flags & EFlagsMach)
	if !ok {
		return Target{}, fmt.Errorf("e_flags 0x%x: mach 0x%x is no processor of the table", flags, flags&EFlagsMach)
	}
	target := Target{Processor: p, ID: TargetID{Processor: p.Name}}
	target.ID.XNACK, _ = SettingOfBits(flags >> eflagsXNACKShift)
	target.ID.SRAMECC, _ = SettingOfBits(flags >> eflagsSRAMECCShift)
	if want := target.EFlags(); want != flags {
		return Target{}, fmt.Errorf("e_flags 0x%x: %s would have 0x%x", flags, target, want)
	}
	return target, nil
}

// Target validates a target id: the processor must be of the table and have the
// features named, as ones that may be chosen. Errors: *UnknownError,
// *FeatureError.
func (t *Table) Target(s string) (Target, error) {
	name, _, featured := strings.Cut(s, ":")
	p, ok := t.Processor(name)
	if !ok {
		if _, fam := t.family[name]; fam && featured {
			return Target{}, &FeatureError{Target: s, Reason: name + " is a family: name its processors to choose features"}
		}
		return Target{}, t.unknown(s)
	}
	id, err := ParseTargetID(s)
	if err != nil {
		return Target{}, &FeatureError{Target: s, Reason: reason(err, s)}
	}
	for _, f := range []struct {
		name string
		set  Setting
		has  Support
	}{{"xnack", id.XNACK, p.XNACK}, {"sramecc", id.SRAMECC, p.SRAMECC}} {
		if f.set == Any || f.has == SupportSelect {
			continue
		}
		why := fmt.Sprintf("%s has no %s", p.Name, f.name)
		if f.has == SupportFixed {
			why = fmt.Sprintf("%s of %s cannot be chosen", f.name, p.Name)
		}
		return Target{}, &FeatureError{Target: s, Reason: why + "; leave the feature out"}
	}
	return Target{Processor: p, ID: id}, nil
}

// Runs reports whether code for id can run on the device: by TargetID.Accepts,
// or because id's processor is a generic one that covers the device's.
func (t *Table) Runs(id, device TargetID) bool {
	if p, ok := t.Processor(id.Processor); ok && p.Generic() {
		for _, c := range p.Covers {
			if c == device.Processor {
				id.Processor = c
				break
			}
		}
	}
	return id.Accepts(device)
}

// reason strips what FeatureError says itself already.
func reason(err error, s string) string {
	if inner := errors.Unwrap(err); inner != nil {
		err = inner
	}
	return strings.TrimPrefix(err.Error(), fmt.Sprintf("target id %q: ", s))
}
