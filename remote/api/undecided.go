package api

import "slices"

// Undecided lists, sorted, what nobody has decided yet and a protocol has to
// know: function and parameter, record and field, or handle, and the reason in
// parentheses where the description gives one.
func (l *Library) Undecided() []string {
	u := &undecided{lib: l, scope: newScope(l), given: map[string][]string{}}
	for i := range l.Functions {
		name, f := l.Functions[i].Key, &l.Functions[i].Value
		if f.Sync == Unsorted {
			u.add(name, "sync", "")
		}
		if f.Sync == Queue && f.Stream == "" {
			u.add(name, "stream", "")
		}
		for j := range f.Params {
			p := &f.Params[j]
			u.value(name, p.Name, p.Type, &p.Meaning)
			if t := u.resolve(p.Type); p.Dir == Out && len(t.Pointers) > 0 {
				u.given[t.Base] = append(u.given[t.Base], name)
			}
		}
	}
	for i := range l.Callbacks {
		for j := range l.Callbacks[i].Value.Params {
			p := &l.Callbacks[i].Value.Params[j]
			u.value(l.Callbacks[i].Key, p.Name, p.Type, &p.Meaning)
		}
	}
	for i := range l.Records {
		for j := range l.Records[i].Value.Fields {
			f := &l.Records[i].Value.Fields[j]
			u.value(l.Records[i].Key, f.Name, f.Type, &f.Meaning)
		}
	}
	for i := range l.Handles {
		u.handle(l.Handles[i].Key, &l.Handles[i].Value)
	}
	slices.Sort(u.out)
	return u.out
}

type undecided struct {
	*scope
	lib *Library
	out []string
	// given maps a handle to the functions that give one to the caller.
	given map[string][]string
}

func (u *undecided) add(owner, what, why string) {
	line := owner + ": " + what
	if why != "" {
		line += " (" + why + ")"
	}
	u.out = append(u.out, line)
}

// value looks at a parameter or a field.
func (u *undecided) value(owner, name string, declared Type, m *Meaning) {
	t := u.resolve(declared)
	switch {
	case m.As == Undecided || m.Of == Undecided:
		u.add(owner, name, m.Why)
	case m.As == Either && !u.measured(t, m):
		u.add(owner, name+" size", "")
	case u.callbacks[t.Base] != nil && len(t.Pointers) == 0 && (m.Calls == nil || m.Calls.From == FromUndecided):
		u.add(owner, name+" calls", m.Why)
	case u.records[t.Base] != nil && len(t.Pointers) < 2 && m.By == "" && m.As != Unused && m.As != Local && u.choice(t.Base):
		if name == "" {
			name = "the union without a name"
		}
		u.add(owner, name, m.Why)
	}
}

// measured reports whether somebody knows how much is pointed to: one, when
// nothing else is said of a type that has a size.
func (u *undecided) measured(t Type, m *Meaning) bool {
	t.Lengths = nil
	_, _, sized := u.extent(t.Pointee())
	return sized || !m.Count.IsZero() || !m.Bytes.IsZero() || m.Why != ""
}

// choice reports whether a record is a union of which somebody has to know
// which field is meant: one of them is an address, a handle or a callback, and
// the union does not say it itself.
func (u *undecided) choice(record string) bool {
	r := u.records[record]
	return r.Union && r.By == "" && len(r.Fields) > 1 && u.points(record, map[string]bool{})
}

// points reports whether there is anything in a record that is more than bytes.
func (s *scope) points(record string, seen map[string]bool) bool {
	r := s.records[record]
	if r == nil || seen[record] {
		return false
	}
	seen[record] = true
	return slices.ContainsFunc(r.Fields, func(f Field) bool {
		t := s.resolve(f.Type)
		return f.As != Unused && (len(t.Pointers) > 0 || s.handles[t.Base] != nil || s.callbacks[t.Base] != nil || s.points(t.Base, seen))
	})
}

func (u *undecided) handle(name string, h *Handle) {
	if h.Undecided {
		u.add(name, "create and destroy", h.Why)
		return
	}
	for _, base := range []string{name, h.Of} {
		for _, f := range u.given[base] {
			if base != "void" && !slices.Contains(h.Create, f) && !slices.Contains(h.Get, f) && !slices.Contains(h.Retain, f) {
				u.add(name, "whether "+f+" makes one", "")
			}
		}
	}
}
