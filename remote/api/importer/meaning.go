package importer

import (
	"fmt"

	"github.com/stonemason-hip/stonemason/remote/api"
)

// meaner says what pointers are for: first by what the annotations say of the
// very parameter, then by the author's comment, then by the annotations' rules,
// and last by what a type alone decides.
type meaner struct {
	note           *Annotations
	lib            *api.Library
	comments       map[string]map[string]remark
	contradictions []string
	// used are the rules that have applied to something.
	used map[*Rule]bool
}

func (m *meaner) all() {
	m.used = map[*Rule]bool{}
	m.notedHandles()
	for i := range m.lib.Functions {
		name, f := m.lib.Functions[i].Key, &m.lib.Functions[i].Value
		note := m.note.Functions[name]
		for j := range f.Params {
			p := &f.Params[j]
			if own, ok := note.Params[p.Name]; ok {
				p.Meaning = own.Meaning
			}
			m.one(name, p.Name, p.Type, &p.Meaning, m.comments[name][p.Name])
		}
		f.Fails, f.Answer, f.Undocumented = note.Fails, note.Answer, note.Undocumented
		if returns := f.Returns.String(); f.Fails == "" && f.Answer == nil && returns != m.lib.Status.Type {
			f.Fails = m.note.Fails[returns]
		}
		f.Sync = m.sync(name, note.Sync, f.Answer)
		m.conduct(name, f)
	}
	for i := range m.lib.Callbacks {
		name, c := m.lib.Callbacks[i].Key, &m.lib.Callbacks[i].Value
		for j := range c.Params {
			m.one(name, c.Params[j].Name, c.Params[j].Type, &c.Params[j].Meaning, remark{})
		}
	}
	for i := range m.lib.Records {
		name, r := m.lib.Records[i].Key, &m.lib.Records[i].Value
		r.By, r.Passed = m.note.Choices[name], contains(m.note.Passed, name)
		for j := range r.Fields {
			f := &r.Fields[j]
			if own, ok := m.note.Records[name][noteName(j, f.Name)]; ok {
				f.Meaning, f.When = own.Meaning, own.When
			}
			m.one(name, f.Name, f.Type, &f.Meaning, remark{})
		}
	}
	m.handles()
}

func (m *meaner) sync(name string, own api.Sync, answer *api.Answer) api.Sync {
	if own != "" {
		return own
	}
	for _, r := range m.note.Sync {
		if r.Functions.Match(name) {
			return r.Sync
		}
	}
	if answer != nil {
		return api.Here
	}
	return api.Unsorted
}

// one fills in what is not said yet of one parameter or field.
func (m *meaner) one(owner, name string, t api.Type, to *api.Meaning, said remark) {
	if !m.lib.IsAddress(t) {
		if m.lib.Kind(m.lib.Resolve(t).Base) == api.KindCallback {
			m.callback(owner, name, t, to)
		}
		return
	}
	target, nested := m.lib.Target(t)
	if to.Dir == "" {
		to.Dir = m.corrected(owner, name, t, said)
	}
	if to.Dir == "" {
		switch said.direction {
		case "in":
			to.Dir = api.In
		case "out":
			to.Dir = api.Out
		case "in,out":
			to.Dir = api.InOut
		}
		if target.IsConst() && (to.Dir == api.Out || to.Dir == api.InOut) {
			// Of pointers to pointers the comment means what they point to.
			if !nested {
				m.contradictions = append(m.contradictions, fmt.Sprintf("%s: the comment says [%s] of %s, which is %s", owner, said.direction, name, t))
			}
			to.Dir = ""
		}
	}
	for i := range m.note.Rules {
		r := &m.note.Rules[i]
		if r.applies(owner, name, t, said) && (r.When == "" || r.When == to.Dir) {
			m.used[r] = true
			said := r.Meaning
			if r.Corrects { // taken already where it can be
				said.Dir = ""
			}
			merge(to, &said, nested)
		}
	}
	if to.Dir == "" && target.IsConst() {
		to.Dir = api.In
	}
	if to.As == "" {
		to.As = api.Undecided
	}
	if nested && to.Of == "" && (to.As == api.One || to.As == api.Array || to.As == api.Either) {
		to.Of = api.Undecided
	}
	if to.Dir == "" && (to.As == api.One || to.As == api.Array || to.As == api.Either) {
		*to = api.Meaning{As: api.Undecided, Why: to.Why}
	}
}

// corrected is the direction by a rule that says that the comment is wrong.
func (m *meaner) corrected(owner, name string, t api.Type, said remark) api.Direction {
	target, _ := m.lib.Target(t)
	for i := range m.note.Rules {
		r := &m.note.Rules[i]
		if r.Corrects && !(target.IsConst() && r.Dir != api.In) && r.applies(owner, name, t, said) {
			return r.Dir
		}
	}
	return ""
}

// callback takes what a rule says of how a callback is called.
func (m *meaner) callback(owner, name string, t api.Type, to *api.Meaning) {
	for i := range m.note.Rules {
		r := &m.note.Rules[i]
		if to.Calls == nil && r.Calls != nil && r.applies(owner, name, t, remark{}) {
			to.Calls, m.used[r] = r.Calls, true
		}
	}
}

// applies reports whether a rule is about a parameter or field, but for the
// direction that it may ask for.
func (r *Rule) applies(owner, name string, t api.Type, said remark) bool {
	return r.Functions.allows(owner) && r.Params.allows(name) && r.Types.allows(t.String()) && r.Says.allows(said.text)
}

// merge takes what a rule says where nothing is said yet. Lengths and what
// decides belong to the word that they stand with.
func merge(to, from *api.Meaning, nested bool) {
	if to.Dir == "" {
		to.Dir = from.Dir
	}
	if to.As == "" {
		to.As, to.Count, to.Bytes, to.By, to.Each, to.Why = from.As, from.Count, from.Bytes, from.By, from.Each, from.Why
	}
	if nested && to.Of == "" {
		to.Of, to.Through = from.Of, from.Through
	}
	to.Optional = to.Optional || from.Optional
	to.Kept = to.Kept || from.Kept
}

// handles finds who makes and ends each handle.
func (m *meaner) handles() {
	for i := range m.lib.Handles {
		name, h := m.lib.Handles[i].Key, &m.lib.Handles[i].Value
		own := m.note.Handles[name]
		h.Create, h.Destroy = own.Create, own.Destroy
		for j := range m.lib.Functions {
			fn, f := m.lib.Functions[j].Key, &m.lib.Functions[j].Value
			makes, takes := f.Returns.Base == name, false
			for k := range f.Params {
				p := &f.Params[k]
				depth := m.depth(p.Type, name, h)
				makes = makes || depth == 1 && !(p.Type.Base == name && p.Type.Const) && (p.Dir == api.Out || p.Dir == api.InOut)
				takes = takes || depth == 0
			}
			if makes && own.Create == nil && m.note.Creates.Match(fn) && !contains(h.Get, fn) && !contains(h.Retain, fn) {
				h.Create = append(h.Create, fn)
			}
			if takes && own.Destroy == nil && m.note.Destroys.Match(fn) {
				h.Destroy = append(h.Destroy, fn)
			}
		}
		m.getters(name, h)
		// A note may say, by an empty list, that nothing ends one.
		ends := len(h.Destroy) > 0 || own.Destroy != nil || h.Owner != "" || h.Lasting
		h.Undecided = h.Why == "" && (len(h.Create) == 0 || !ends)
	}
}

// depth is how many pointers lead to a handle, by whatever name the type calls
// it, or -1 when it is another type.
func (m *meaner) depth(t api.Type, name string, h *api.Handle) int {
	if t.Base == name {
		return len(t.Pointers)
	}
	if t = m.lib.Resolve(t); t.Base == name {
		return len(t.Pointers)
	} else if t.Base == h.Of && h.Of != "void" {
		return len(t.Pointers) - 1
	}
	return -1
}
