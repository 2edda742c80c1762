package api

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/yamlx"
)

// Change is one difference between two versions of a library.
type Change struct {
	// Breaks says that programs that are built against the old library do not
	// work with the new one; Source that they do, but do not compile anew
	// without an edit.
	Breaks, Source bool
	Text           string
}

// String gives the change in one line, behind a word for what follows of it.
func (c Change) String() string {
	switch {
	case c.Breaks:
		return "breaks: " + c.Text
	case c.Source:
		return "source: " + c.Text
	}
	return "adds: " + c.Text
}

// Breaks reports whether one of the changes does.
func Breaks(changes []Change) bool {
	return slices.ContainsFunc(changes, func(c Change) bool { return c.Breaks })
}

// Compare says what an application notices when a library takes the place of an
// older one: what breaks programs first, then what breaks sources, then what is
// new, each sorted by name.
func Compare(older, newer *Library) []Change {
	d := &differ{old: newScope(older), new: newScope(newer)}
	if older.File.SoVersion != newer.File.SoVersion {
		d.breaks("the file is lib%s.so.%s, and was lib%s.so.%s", newer.Name, newer.File.SoVersion, older.Name, older.File.SoVersion)
	}
	both(older.Functions, newer.Functions, func(name string, f, g *Function) {
		switch {
		case g == nil:
			d.breaks("function %s is gone", name)
		case f == nil:
			d.adds("function %s", name)
		default:
			d.function(name, f, g)
		}
	})
	both(older.Enums, newer.Enums, func(name string, e, f *Enum) { d.enum(name, e, f) })
	both(older.Records, newer.Records, func(name string, r, s *Record) { d.record(name, r, s) })
	for _, section := range []struct {
		kind     string
		old, new []string
	}{
		{"type", older.Aliases.Keys(), newer.Aliases.Keys()},
		{"handle", older.Handles.Keys(), newer.Handles.Keys()},
		{"callback", older.Callbacks.Keys(), newer.Callbacks.Keys()},
	} {
		for _, n := range section.old {
			if !d.new.known(n) {
				d.source("%s %s is gone", section.kind, n)
			}
		}
		for _, n := range section.new {
			if !d.old.known(n) {
				d.adds("%s %s", section.kind, n)
			}
		}
	}
	both(older.Callbacks, newer.Callbacks, func(name string, b, c *Callback) {
		if b != nil && c != nil && (d.spell(d.old, b.Returns) != d.spell(d.new, c.Returns) || !d.sameParams(b.Params, c.Params)) {
			d.breaks("callback %s has another signature", name)
		}
	})
	slices.SortStableFunc(d.changes, func(a, b Change) int { return strings.Compare(rank(a)+a.Text, rank(b)+b.Text) })
	return d.changes
}

func rank(c Change) string {
	switch {
	case c.Breaks:
		return "0"
	case c.Source:
		return "1"
	}
	return "2"
}

type differ struct {
	old, new *scope
	changes  []Change
}

func (d *differ) breaks(format string, args ...any) {
	d.changes = append(d.changes, Change{Breaks: true, Text: fmt.Sprintf(format, args...)})
}

func (d *differ) source(format string, args ...any) {
	d.changes = append(d.changes, Change{Source: true, Text: fmt.Sprintf(format, args...)})
}

func (d *differ) adds(format string, args ...any) {
	d.changes = append(d.changes, Change{Text: fmt.Sprintf(format, args...)})
}

// spell writes a type without its aliases, so that a new name for the same is
// no difference.
func (d *differ) spell(s *scope, t Type) string { return s.resolve(t).String() }

func (d *differ) sameParams(a, b []Param) bool {
	return slices.EqualFunc(a, b, func(p, q Param) bool { return d.spell(d.old, p.Type) == d.spell(d.new, q.Type) })
}

func (d *differ) function(name string, f, g *Function) {
	if f.Symbol(name) != g.Symbol(name) {
		d.breaks("function %s is the symbol %s, and was %s", name, g.Symbol(name), f.Symbol(name))
	}
	if f.Node != g.Node {
		d.breaks("function %s has the version %s, and had %s", name, orNone(g.Node), orNone(f.Node))
	}
	if a, b := d.spell(d.old, f.Returns), d.spell(d.new, g.Returns); a != b {
		d.breaks("function %s returns %s, and returned %s", name, b, a)
	}
	if f.Variadic != g.Variadic {
		d.breaks("function %s %s", name, map[bool]string{true: "takes more than its parameters, and did not", false: "takes its parameters alone, and took more"}[g.Variadic])
	}
	from, to := f.Params, g.Params
	if len(from) != len(to) {
		gone, added := lacking(from, to), lacking(to, from)
		from, to = lacking(from, gone), lacking(to, added)
		if !sameNames(from, to) {
			d.breaks("function %s takes (%s), and took (%s)", name, signature(g.Params), signature(f.Params))
			return
		}
		if len(added) > 0 {
			d.breaks("function %s takes also %s", name, named(added))
		}
		if len(gone) > 0 {
			d.breaks("function %s takes no longer %s", name, named(gone))
		}
	}
	for i := range from {
		p, q := &from[i], &to[i]
		if d.widened(p.Type, q.Type) {
			continue
		}
		// A number of the other sign arrives as before; only compilers mind.
		say := d.breaks
		if shape(d.old, p.Type) == shape(d.new, q.Type) {
			say = d.source
		}
		say("parameter %s of %s is %s, and was %s", q.Name, name, q.Type, p.Type)
	}
}

// lacking are the parameters whose names others do not have.
func lacking(params, others []Param) []Param {
	var out []Param
	for _, p := range params {
		if !slices.ContainsFunc(others, func(q Param) bool { return q.Name == p.Name }) {
			out = append(out, p)
		}
	}
	return out
}

func sameNames(a, b []Param) bool {
	return slices.EqualFunc(a, b, func(p, q Param) bool { return p.Name == q.Name })
}

// named lists parameters as C declares them.
func named(params []Param) string {
	text := make([]string, len(params))
	for i := range params {
		text[i] = params[i].Type.String() + " " + params[i].Name
	}
	return strings.ReplaceAll(strings.Join(text, ", "), "* ", "*")
}

// widened reports whether a parameter takes all that it took: the same, or a
// pointer to what is const now.
func (d *differ) widened(from, to Type) bool {
	a, b := d.old.resolve(from), d.new.resolve(to)
	if len(a.Pointers) == 1 && len(b.Pointers) == 1 && b.Const {
		a.Const = true
	}
	return a.String() == b.String()
}

// shape is what a type is to a program that is built: integers by their size,
// pointers by what they point to.
func shape(s *scope, t Type) string {
	t = s.resolve(t)
	base := t.Base
	if isInteger(base) || s.enums[base] != nil {
		size, _, _ := s.extent(Type{Base: base})
		base = fmt.Sprintf("integer of %d", size)
	}
	return base + strings.Repeat("*", len(t.Pointers))
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func signature(params []Param) string {
	types := make([]string, len(params))
	for i := range params {
		types[i] = params[i].Type.String()
	}
	return strings.Join(types, ", ")
}

func (d *differ) enum(name string, e, f *Enum) {
	switch {
	case f == nil:
		d.source("enumeration %s is gone", name)
		return
	case e == nil:
		d.adds("enumeration %s", name)
		return
	}
	both(e.Values, f.Values, func(value string, v, w *int64) {
		switch {
		case w == nil:
			d.source("value %s of %s is gone", value, name)
		case v == nil:
			d.adds("value %s of %s", value, name)
		case *v != *w:
			d.breaks("value %s of %s is %d, and was %d", value, name, *w, *v)
		}
	})
}

func (d *differ) record(name string, r, s *Record) {
	switch {
	case (r == nil || s == nil) && strings.Contains(name, "."):
		return // its fields are told
	case s == nil:
		d.source("record %s is gone", name)
		return
	case r == nil:
		d.adds("record %s", name)
		return
	}
	if r.Size != s.Size || r.Align != s.Align {
		d.breaks("record %s has %d bytes, aligned to %d, and had %d, aligned to %d", name, s.Size, s.Align, r.Size, r.Align)
	}
	fields := map[string]*Field{}
	for _, f := range members(d.new, s, 0) {
		fields[f.Name] = &f
	}
	for _, f := range members(d.old, r, 0) {
		g := fields[f.Name]
		switch {
		case g == nil:
			d.source("field %s of %s is gone", f.Name, name)
		case f.Offset != g.Offset || f.Bit != g.Bit || f.Bits != g.Bits || d.spell(d.old, f.Type) != d.spell(d.new, g.Type):
			d.breaks("field %s of %s is %s at %d, and was %s at %d", f.Name, name, g.Type, g.Offset, f.Type, f.Offset)
		}
		delete(fields, f.Name)
	}
	for _, n := range keysOf(fields) {
		d.adds("field %s of %s", n, name)
	}
}

// members are the fields of a record, with those of the members that have no
// name in their place: so C names them.
func members(s *scope, r *Record, base int64) []Field {
	var out []Field
	for _, f := range r.Fields {
		if inner := s.records[f.Type.Base]; f.Name == "" && inner != nil {
			out = append(out, members(s, inner, base+f.Offset)...)
			continue
		}
		f.Offset += base
		out = append(out, f)
	}
	return out
}

// both visits everything of two mappings by name, nil for what one has not.
func both[T any](a, b yamlx.Ordered[T], visit func(name string, x, y *T)) {
	in := map[string]*T{}
	for i := range b {
		in[b[i].Key] = &b[i].Value
	}
	seen := map[string]bool{}
	for i := range a {
		seen[a[i].Key] = true
		visit(a[i].Key, &a[i].Value, in[a[i].Key])
	}
	for i := range b {
		if !seen[b[i].Key] {
			visit(b[i].Key, nil, &b[i].Value)
		}
	}
}
