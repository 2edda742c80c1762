package spec

import (
	"time"

	"github.com/stonemason-hip/stonemason/internal/yamlx"
)

// Size is a number of bytes, written as 512MiB or 20GB.
type Size = yamlx.Size

// Channel is a set of pinned sources.
type Channel string

// The channels.
const (
	Auto     Channel = "auto"
	Upstream Channel = "upstream"
	Debian   Channel = "debian"
)

// Values implements yamlx.Enum.
func (Channel) Values() []string { return []string{string(Auto), string(Upstream), string(Debian)} }

// Isolation says whether build steps are kept apart from the machine.
type Isolation string

// The ways: where the machine allows it (the empty value too), no build without,
// or not at all.
const (
	IsolationAuto     Isolation = "auto"
	IsolationRequired Isolation = "required"
	IsolationOff      Isolation = "off"
)

// Values implements yamlx.Enum.
func (Isolation) Values() []string {
	return []string{string(IsolationAuto), string(IsolationRequired), string(IsolationOff)}
}

// ProviderKind is a way to obtain a component.
type ProviderKind string

// The kinds of providers.
const (
	AnyProvider ProviderKind = "auto"
	Source      ProviderKind = "source"
	System      ProviderKind = "system"
	Prebuilt    ProviderKind = "prebuilt"
	// External leaves a component to the machines that the bundle is used on:
	// it is never chosen unless it is asked for.
	External ProviderKind = "external"
)

// Values implements yamlx.Enum.
func (ProviderKind) Values() []string {
	return []string{string(AnyProvider), string(Source), string(System), string(Prebuilt), string(External)}
}

// Preset is a set of components to begin with.
type Preset string

// The presets: what compiles device code; all compilers and translators;
// everything that the host's conditions allow.
const (
	Minimal  Preset = "minimal"
	Compiler Preset = "compiler"
	Full     Preset = "full"
)

// Values implements yamlx.Enum.
func (Preset) Values() []string { return []string{string(Minimal), string(Compiler), string(Full)} }

// Artifact says whether a component's result depends on the host.
type Artifact string

// The kinds of artifacts.
const (
	PerHost Artifact = "host"
	AnyHost Artifact = "any"
)

// Values implements yamlx.Enum.
func (Artifact) Values() []string { return []string{string(PerHost), string(AnyHost)} }

// Slice is a part of an artifact.
type Slice string

// The slices: programs and what they need to run; libraries; headers, CMake
// files and static libraries; debug information; documentation and licences.
const (
	Run Slice = "run"
	Lib Slice = "lib"
	Dev Slice = "dev"
	Dbg Slice = "dbg"
	Doc Slice = "doc"
)

// Values implements yamlx.Enum.
func (Slice) Values() []string {
	return []string{string(Run), string(Lib), string(Dev), string(Dbg), string(Doc)}
}

// ParamType is the type of a recipe's parameter.
type ParamType string

// The parameter types. A map has scalar values; list holds strings; rules is
// a list of mappings that a step type checks.
const (
	StringParam ParamType = "string"
	BoolParam   ParamType = "bool"
	ListParam   ParamType = "list"
	MapParam    ParamType = "map"
	RulesParam  ParamType = "rules"
)

// Values implements yamlx.Enum.
func (ParamType) Values() []string {
	return []string{string(StringParam), string(BoolParam), string(ListParam), string(MapParam), string(RulesParam)}
}

// Duration is a length of time, written as 90s or 1h30m.
type Duration = time.Duration

// Values gives names values of any type; they are checked against a recipe's
// parameters or a step type's fields.
type Values map[string]*yamlx.Node

// Plain turns a node into nested map[string]any, []any, string and bool.
// Numbers become strings as they are written, because every value ends up in
// an argument, where 1.10 and 1.1 differ.
func Plain(n *yamlx.Node) (any, error) {
	switch n.Kind() {
	case yamlx.Map:
		m := make(map[string]any)
		for _, e := range n.Entries() {
			v, err := Plain(e)
			if err != nil {
				return nil, err
			}
			m[e.Key()] = v
		}
		return m, nil
	case yamlx.List:
		list := []any{}
		for _, e := range n.Items() {
			v, err := Plain(e)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yamlx.Bool:
		return n.Text() == "true", nil
	case yamlx.Number, yamlx.String:
		return n.Text(), nil
	}
	return nil, n.Errorf("a value is missing")
}
