package importer

import (
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/yamlx"
	"github.com/stonemason-hip/stonemason/remote/api"
)

// ConductRule says what functions do beside their parameters. Rules are tried in
// order, and each says what is not said yet.
type ConductRule struct {
	Functions   Pattern `yaml:"functions" sm:"required"`
	api.Conduct `yaml:",inline"`
}

// InsteadRule says that the functions whose names end so are found in place of
// those without the ending.
type InsteadRule struct {
	Ending string `yaml:"ending" sm:"required"`
	Since  int    `yaml:"since" sm:"min=0,max=99999"`
	Thread bool   `yaml:"thread"`
}

// conduct gathers what is said of a function: by its own note, by the rules, and
// then by its types alone. There is one stream among the parameters, or one
// handle that has one: that is where the work goes.
func (m *meaner) conduct(name string, f *api.Function) {
	note := m.note.Functions[name]
	f.Conduct, f.Lookup, f.Instead = note.Conduct, note.Lookup, note.Instead
	for i := range m.note.Conduct {
		if r := &m.note.Conduct[i]; r.Functions.Match(name) {
			fill(&f.Conduct, &r.Conduct)
		}
	}
	if !m.takesStream(f) && f.Default != "" {
		// It works in the default stream itself.
		if f.Stream == "" {
			f.Stream = f.Default
		}
		f.Default = ""
	}
	if f.Sync != api.Queue && f.Sync != api.Drain {
		f.Stream = ""
	} else if f.Stream == "" {
		f.Stream = m.onlyStream(f)
	}
	if f.Instead != nil {
		return
	}
	for _, r := range m.note.Found {
		of, ok := strings.CutSuffix(name, r.Ending)
		if _, there := m.lib.Functions.Get(of); ok && there {
			f.Instead = &api.Instead{Of: of, Since: r.Since, Thread: r.Thread}
			return
		}
	}
}

func (m *meaner) takesStream(f *api.Function) bool {
	return slices.ContainsFunc(f.Params, func(p api.Param) bool {
		h, ok := m.lib.Handle(m.lib.Resolve(p.Type).Base)
		return ok && h.Order == "stream"
	})
}

func fill(to, from *api.Conduct) {
	if to.Stream == "" {
		to.Stream = from.Stream
	}
	if to.Default == "" {
		to.Default = from.Default
	}
	if to.Bound == "" {
		to.Bound = from.Bound
	}
	if to.After == nil {
		to.After = from.After
	}
	if to.Marks == nil {
		to.Marks = from.Marks
	}
	if to.Reads == nil {
		to.Reads = from.Reads
	}
	if to.Sets == nil {
		to.Sets = from.Sets
	}
}

// onlyStream finds the one stream that a call can mean, "" when there are none
// or two.
func (m *meaner) onlyStream(f *api.Function) string {
	var direct, states []string
	for i := range f.Params {
		p := &f.Params[i]
		t := m.lib.Resolve(p.Type)
		h, ok := m.lib.Handle(t.Base)
		if !ok || len(t.Pointers) > 0 {
			continue
		}
		if h.Order == "stream" {
			direct = append(direct, p.Name)
		}
		for _, s := range h.States {
			if state, ok := m.lib.Handle(s.Value); ok && state.Order == "stream" {
				states = append(states, p.Name+"."+s.Key)
			}
		}
	}
	if len(direct) == 0 {
		direct = states
	}
	if len(direct) != 1 {
		return ""
	}
	return direct[0]
}

// notedHandles gives each handle what its note says and no function shows, for
// the streams have to be known before the functions are looked at.
func (m *meaner) notedHandles() {
	for i := range m.lib.Handles {
		h := &m.lib.Handles[i].Value
		if own, ok := m.note.Handles[m.lib.Handles[i].Key]; ok {
			h.States, h.Owner, h.Lasting = own.States, own.Owner, own.Lasting
			h.Order, h.Fixed, h.Why = own.Order, own.Fixed, own.Why
			h.Get, h.Retain = own.Get, own.Retain
		}
	}
}

// getters finds who hands out a handle that is there already.
func (m *meaner) getters(name string, h *api.Handle) {
	for i := range m.lib.Functions {
		fn, f := m.lib.Functions[i].Key, &m.lib.Functions[i].Value
		if !m.note.Gets.Match(fn) || slices.Contains(h.Create, fn) || slices.Contains(h.Get, fn) || slices.Contains(h.Retain, fn) {
			continue
		}
		for j := range f.Params {
			if p := &f.Params[j]; p.Dir == api.Out && m.depth(p.Type, name, h) > 0 {
				h.Get = append(h.Get, fn)
				break
			}
		}
	}
}

// unusedConduct finds notes of rules that apply to nothing.
func (a *Annotations) unusedConduct(l *api.Library) error {
	var errs []error
	applies := func(p Pattern) bool {
		return slices.ContainsFunc(l.Functions, func(f yamlx.Item[api.Function]) bool { return p.Match(f.Key) })
	}
	for i := range a.Conduct {
		if !applies(a.Conduct[i].Functions) {
			errs = append(errs, a.src.Errorf(yamlx.Index("conduct", i), "no function of the library matches"))
		}
	}
	for i, r := range a.Found {
		if !slices.ContainsFunc(l.Functions, func(f yamlx.Item[api.Function]) bool { return strings.HasSuffix(f.Key, r.Ending) }) {
			errs = append(errs, a.src.Errorf(yamlx.Index("found", i), "no function of the library ends in %s", r.Ending))
		}
	}
	for i, name := range a.Passed {
		if _, ok := l.Records.Get(name); !ok {
			errs = append(errs, a.src.Unknown(yamlx.Index("passed", i), "record", name, l.Records.Keys()))
		}
	}
	for _, name := range sortedKeys(a.Choices) {
		if _, ok := l.Records.Get(name); !ok {
			errs = append(errs, a.src.UnknownKey(yamlx.Field("choices", name), "record", name, l.Records.Keys()))
		}
	}
	return yamlx.Join(errs...)
}
