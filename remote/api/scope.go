package api

// scope finds types and constants by name: the library's own, and those of the
// libraries that it uses.
type scope struct {
	aliases   map[string]Type
	enums     map[string]*Enum
	handles   map[string]*Handle
	opaque    map[string]bool // what handles point to
	records   map[string]*Record
	callbacks map[string]*Callback
	constants map[string]string // name of a value to that of its enumeration
	names     []string          // of all types
}

func newScope(l *Library) *scope {
	s := &scope{
		aliases: map[string]Type{}, enums: map[string]*Enum{}, handles: map[string]*Handle{}, opaque: map[string]bool{},
		records: map[string]*Record{}, callbacks: map[string]*Callback{}, constants: map[string]string{},
	}
	for _, u := range l.used {
		s.add(u)
	}
	s.add(l)
	return s
}

func (s *scope) add(l *Library) {
	for _, u := range l.used {
		s.add(u)
	}
	for _, a := range l.Aliases {
		s.aliases[a.Key] = a.Value
		s.names = append(s.names, a.Key)
	}
	for i := range l.Enums {
		e := &l.Enums[i]
		s.enums[e.Key] = &e.Value
		s.names = append(s.names, e.Key)
		for _, v := range e.Value.Values {
			s.constants[v.Key] = e.Key
		}
	}
	for i := range l.Handles {
		h := &l.Handles[i]
		s.handles[h.Key] = &h.Value
		s.names = append(s.names, h.Key)
		if h.Value.Of != "void" {
			s.opaque[h.Value.Of] = true
		}
	}
	for i := range l.Records {
		r := &l.Records[i]
		s.records[r.Key] = &r.Value
		s.names = append(s.names, r.Key)
	}
	for i := range l.Callbacks {
		c := &l.Callbacks[i]
		s.callbacks[c.Key] = &c.Value
		s.names = append(s.names, c.Key)
	}
}

func (s *scope) known(base string) bool {
	if IsBasic(base) || s.opaque[base] {
		return true
	}
	_, alias := s.aliases[base]
	return alias || s.enums[base] != nil || s.handles[base] != nil || s.records[base] != nil || s.callbacks[base] != nil
}

// resolve replaces aliases. A chain of aliases that bites its tail ends after
// as many steps as there are aliases.
func (s *scope) resolve(t Type) Type {
	for range len(s.aliases) + 1 {
		a, ok := s.aliases[t.Base]
		if !ok {
			return t
		}
		t = Type{
			Base: a.Base, Const: a.Const || t.Const && len(a.Pointers) == 0,
			Pointers: append(append([]bool(nil), a.Pointers...), t.Pointers...),
			Lengths:  append(append([]int64(nil), t.Lengths...), a.Lengths...),
		}
	}
	return t
}

// pointer reports whether a resolved type is a plain address: no handle, no
// callback, no number.
func (s *scope) pointer(t Type) bool {
	return t.IsPointer() && !(len(t.Pointers) == 1 && s.opaque[t.Base] && s.records[t.Base] == nil)
}

// extent returns the size and alignment in bytes of a complete type; false for
// one that is not complete or not known.
func (s *scope) extent(t Type) (size, align int64, ok bool) {
	t = s.resolve(t)
	switch {
	case len(t.Pointers) > 0 || s.handles[t.Base] != nil || s.callbacks[t.Base] != nil:
		size, align = 8, 8
	case s.enums[t.Base] != nil:
		size, align = 4, 4
		if s.enums[t.Base].Wide {
			size, align = 8, 8
		}
	case s.records[t.Base] != nil:
		size, align = s.records[t.Base].Size, s.records[t.Base].Align
	default:
		size = basic[t.Base]
		if align = size; size == 0 {
			return 0, 0, false
		}
	}
	for _, n := range t.Lengths {
		if size *= n; size > 1<<40 {
			return 0, 0, false
		}
	}
	return size, align, true
}

// number reports whether a value of the type counts something.
func (s *scope) number(t Type) bool {
	t = s.resolve(t)
	return len(t.Pointers) == 0 && len(t.Lengths) == 0 && (isInteger(t.Base) || s.enums[t.Base] != nil)
}

// IsAddress reports whether a value of the type, or of an array's elements, is a
// plain address, of which a [Meaning] is said: no handle, no callback, no number.
func (l *Library) IsAddress(t Type) bool {
	s := l.scope()
	t = s.resolve(t)
	t.Lengths = nil
	return s.pointer(t)
}

// Target is what a plain address points to, and whether that is one again.
func (l *Library) Target(t Type) (target Type, nested bool) {
	s := l.scope()
	t = s.resolve(t)
	t.Lengths = nil
	target = t.Pointee()
	return target, s.pointer(target)
}

// scope is made once: the library's types must not change behind it.
func (l *Library) scope() *scope {
	if l.names == nil {
		l.names = newScope(l)
	}
	return l.names
}

// Kind is what a name stands for.
type Kind int

// The kinds of names. KindNone is also that of basic types.
const (
	KindNone Kind = iota
	KindAlias
	KindEnum
	KindHandle
	KindRecord
	KindCallback
)

// Kind says what a name stands for, in the library or those that it uses.
func (l *Library) Kind(name string) Kind {
	s := l.scope()
	switch {
	case s.enums[name] != nil:
		return KindEnum
	case s.handles[name] != nil:
		return KindHandle
	case s.records[name] != nil:
		return KindRecord
	case s.callbacks[name] != nil:
		return KindCallback
	}
	if _, ok := s.aliases[name]; ok {
		return KindAlias
	}
	return KindNone
}

// Resolve replaces aliases by what they stand for.
func (l *Library) Resolve(t Type) Type { return l.scope().resolve(t) }

// Enum finds an enumeration, in the library or those that it uses.
func (l *Library) Enum(name string) (*Enum, bool) {
	e := l.scope().enums[name]
	return e, e != nil
}

// Handle finds a handle, in the library or those that it uses.
func (l *Library) Handle(name string) (*Handle, bool) {
	h := l.scope().handles[name]
	return h, h != nil
}

// Record finds a record, in the library or those that it uses.
func (l *Library) Record(name string) (*Record, bool) {
	r := l.scope().records[name]
	return r, r != nil
}

// Alignment is that of a complete type in bytes, 1 for any other.
func (l *Library) Alignment(t Type) int64 {
	if _, align, ok := l.scope().extent(t); ok {
		return align
	}
	return 1
}
