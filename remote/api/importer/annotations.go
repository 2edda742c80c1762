package importer

import (
	"regexp"
	"strconv"

	"github.com/stonemason-hip/stonemason/internal/yamlx"
	"github.com/stonemason-hip/stonemason/remote/api"
)

// Annotations are what a reviewer says of a library beyond its headers.
type Annotations struct {
	Schema  int      `yaml:"schema" sm:"required,min=1,max=1"`
	Library string   `yaml:"library" sm:"required"`
	Summary string   `yaml:"summary" sm:"required"`
	Uses    []string `yaml:"uses" sm:"unique"`
	// Headers are included one after the other, Defines set before them, and
	// Before is C source that they need.
	Headers []string          `yaml:"headers" sm:"required"`
	Before  string            `yaml:"before"`
	Defines map[string]string `yaml:"defines"`
	// Instead maps headers that C does not have, and that the library's include
	// although they are meant for C too, to the C header that is read in their
	// place: cstddef to stddef.h, or to "" when nothing is needed of it.
	Instead map[string]string `yaml:"instead"`
	// Edits are made in what clang reads of headers that are C but for a line.
	Edits []Edit `yaml:"edits"`
	// Declare is C source behind the headers: exported functions that no header
	// declares, or only to C++.
	Declare string `yaml:"declare"`
	// Functions that match Names are the library's; without a list of symbols
	// they are all that it exports.
	Names Pattern `yaml:"names" sm:"required"`
	// LeaveOut maps functions and symbols that are not described to the reason.
	LeaveOut map[string]string `yaml:"leave_out"`
	// Internal match symbols that are no part of the C API.
	Internal []Internal `yaml:"internal"`
	File     api.File   `yaml:"file" sm:"required"`
	Status   api.Status `yaml:"status" sm:"required"`
	// VoidHandles are types that are void * and yet handles.
	VoidHandles []string `yaml:"void_handles" sm:"unique"`
	// Opaque are structures whose bodies the headers show and nobody is to look
	// into: pointers to them are handles.
	Opaque []string `yaml:"opaque" sm:"unique"`
	// Creates and Destroys match functions that make and end handles.
	// Gets those that hand out one that is there already.
	Creates  Pattern `yaml:"creates"`
	Destroys Pattern `yaml:"destroys"`
	Gets     Pattern `yaml:"gets"`
	// Handles says it of single handles; it wins.
	Handles map[string]HandleNote `yaml:"handles"`
	Enums   map[string]EnumNote   `yaml:"enums"`
	// Sync are tried in order, the first that matches a function's name holds.
	Sync []SyncRule `yaml:"sync"`
	// Conduct are tried in order, each says what is not said yet.
	Conduct []ConductRule `yaml:"conduct"`
	// Found says which functions are found by other names than their own.
	Found []InsteadRule `yaml:"found"`
	// Thread and Memory stand in the description as they are.
	Thread yamlx.Ordered[api.Type]   `yaml:"thread"`
	Memory yamlx.Ordered[api.Memory] `yaml:"memory"`
	// Passed are records that are made for other processes.
	Passed []string `yaml:"passed" sm:"unique"`
	// Choices maps unions to the field that says which of them is meant.
	Choices map[string]string `yaml:"choices"`
	// Fails maps types that functions return, other than the status, to what is
	// returned when a call cannot be done.
	Fails map[string]yamlx.Scalar `yaml:"fails"`
	// Rules fill in what is not said yet of a pointer, the first first.
	Rules     []Rule                  `yaml:"rules"`
	Functions map[string]FunctionNote `yaml:"functions"`
	// Records says what fields are for: record, field.
	Records map[string]map[string]FieldNote `yaml:"records"`

	src *yamlx.Source
}

// Pattern is a regular expression that matches whole names.
type Pattern struct{ re *regexp.Regexp }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Pattern) UnmarshalText(text []byte) (err error) {
	p.re, err = regexp.Compile("^(?:" + string(text) + ")$")
	return err
}

// Match reports whether the pattern matches; an empty one matches nothing.
func (p Pattern) Match(s string) bool { return p.re != nil && p.re.MatchString(s) }

// allows reports whether the pattern matches or was not given.
func (p Pattern) allows(s string) bool { return p.re == nil || p.re.MatchString(s) }

// Internal are symbols that a library exports and that its users are not meant
// to call: C++ that its own parts share.
type Internal struct {
	Symbols Pattern `yaml:"symbols" sm:"required"`
	Why     string  `yaml:"why" sm:"required"`
}

// LeavesOut gives the reason why a function or symbol is not described, "" when
// it has to be.
func (a *Annotations) LeavesOut(symbol string) string {
	if why := a.LeaveOut[symbol]; why != "" {
		return why
	}
	for _, i := range a.Internal {
		if i.Symbols.Match(symbol) {
			return i.Why
		}
	}
	return ""
}

// HandleNote says who makes and ends a handle.
type HandleNote struct {
	Create  []string              `yaml:"create"`
	Owner   string                `yaml:"owner"`
	Lasting bool                  `yaml:"lasting"`
	Destroy []string              `yaml:"destroy"`
	States  yamlx.Ordered[string] `yaml:"states"`
	Get     []string              `yaml:"get"`
	Retain  []string              `yaml:"retain"`
	Order   string                `yaml:"order"`
	Fixed   yamlx.Ordered[int64]  `yaml:"fixed"`
	Why     string                `yaml:"why"`
}

// EnumNote adds to an enumeration what no header says.
type EnumNote struct {
	Texts yamlx.Ordered[string] `yaml:"texts"`
	Sizes yamlx.Ordered[int64]  `yaml:"sizes"`
}

// SyncRule gives functions their class.
type SyncRule struct {
	Functions Pattern  `yaml:"functions" sm:"required"`
	Sync      api.Sync `yaml:"sync" sm:"required"`
}

// Rule says what pointers are for. It applies to the parameters and fields that
// all its patterns allow: the name of the function or record, that of the
// parameter or field, the type, what the author's comment says of the parameter
// behind its name, the direction when one is known.
type Rule struct {
	Functions Pattern       `yaml:"functions"`
	Params    Pattern       `yaml:"params"`
	Types     Pattern       `yaml:"types"`
	Says      Pattern       `yaml:"says"`
	When      api.Direction `yaml:"when"`
	// Corrects says that the direction that the comment gives is wrong.
	Corrects bool `yaml:"corrects"`
	Note     `yaml:",inline"`
}

// Note is what is said of a pointer.
type Note struct {
	api.Meaning `yaml:",inline"`
}

// FieldNote is what is said of a field: of its name, or of its place among the
// fields for one without a name.
type FieldNote struct {
	api.Meaning `yaml:",inline"`
	When        []string `yaml:"when"`
}

// FunctionNote is what is said of a function.
type FunctionNote struct {
	Link         string   `yaml:"link"`
	Sync         api.Sync `yaml:"sync"`
	api.Conduct  `yaml:",inline"`
	Lookup       string          `yaml:"lookup"`
	Instead      *api.Instead    `yaml:"instead"`
	Fails        yamlx.Scalar    `yaml:"fails"`
	Answer       *api.Answer     `yaml:"answer"`
	Undocumented bool            `yaml:"undocumented"`
	Params       map[string]Note `yaml:"params"`
}

// ReadAnnotations reads the annotations of a library.
func ReadAnnotations(file string, data []byte) (*Annotations, error) {
	a := new(Annotations)
	src, err := yamlx.DecodeSource(file, data, a)
	if err != nil {
		return nil, err
	}
	a.src = src
	return a, a.headersCheck()
}

// unused finds notes on what is not there.
func (a *Annotations) unused(l *api.Library, used map[*Rule]bool) error {
	var errs []error
	for i := range a.Rules {
		if !used[&a.Rules[i]] {
			errs = append(errs, a.src.Errorf(yamlx.Index("rules", i), "no parameter and no field is of this kind: the rule says nothing"))
		}
	}
	miss := func(path, kind, name string, known []string) {
		errs = append(errs, a.src.UnknownKey(path, kind, name, known))
	}
	for name, note := range a.Functions {
		f, ok := l.Functions.Get(name)
		path := yamlx.Field("functions", name)
		if !ok {
			miss(path, "function", name, l.Functions.Keys())
			continue
		}
		var params []string
		for i := range f.Params {
			params = append(params, f.Params[i].Name)
		}
		for p := range note.Params {
			if !contains(params, p) {
				miss(yamlx.Field(path+".params", p), "parameter", p, params)
			}
		}
	}
	for name := range a.Enums {
		if _, ok := l.Enums.Get(name); !ok {
			miss(yamlx.Field("enums", name), "enumeration", name, l.Enums.Keys())
		}
	}
	for name := range a.Handles {
		if _, ok := l.Handles.Get(name); !ok {
			miss(yamlx.Field("handles", name), "handle", name, l.Handles.Keys())
		}
	}
	for name, fields := range a.Records {
		r, ok := l.Records.Get(name)
		path := yamlx.Field("records", name)
		if !ok {
			miss(path, "record", name, l.Records.Keys())
			continue
		}
		var known []string
		for i := range r.Fields {
			known = append(known, noteName(i, r.Fields[i].Name))
		}
		for f := range fields {
			if !contains(known, f) {
				miss(yamlx.Field(path, f), "field", f, known)
			}
		}
	}
	if err := a.unusedConduct(l); err != nil {
		errs = append(errs, err)
	}
	return yamlx.Join(errs...)
}

// noteName is what a field is called in notes: one without a name by its place.
func noteName(i int, name string) string {
	if name == "" {
		return "_" + strconv.Itoa(i)
	}
	return name
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
