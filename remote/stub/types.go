package stub

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/remote/api"
)

// typer writes the types of a library in an order in which C accepts them.
type typer struct {
	b    *strings.Builder
	libs []*api.Library
	done map[string]bool
}

func newTyper(l *api.Library) *typer {
	t := &typer{b: &strings.Builder{}, done: map[string]bool{}}
	t.collect(l)
	return t
}

// collect gathers a library and those that it uses, the used first.
func (t *typer) collect(l *api.Library) {
	for _, u := range l.Used() {
		t.collect(u)
	}
	if !slices.Contains(t.libs, l) {
		t.libs = append(t.libs, l)
	}
}

// Types returns C declarations of all types of a library, and of those that it
// uses of others.
func Types(l *api.Library) string {
	t := newTyper(l)
	for _, a := range l.Aliases {
		t.name(a.Key)
	}
	for _, e := range l.Enums {
		t.name(e.Key)
	}
	for _, h := range l.Handles {
		t.name(h.Key)
	}
	for _, r := range l.Records {
		t.name(r.Key)
	}
	for _, c := range l.Callbacks {
		t.name(c.Key)
	}
	for i := range l.Functions {
		f := &l.Functions[i].Value
		t.base(f.Returns, true)
		t.params(f.Params)
	}
	return t.b.String()
}

// cName is what C calls a type: records and callbacks inside others are named
// by their path in a description.
func cName(base string) string { return strings.ReplaceAll(base, ".", "__") }

func (t *typer) params(params []api.Param) {
	for i := range params {
		t.base(params[i].Type, true)
	}
}

// base sees to it that a type can be named, and with value that it is complete.
func (t *typer) base(typ api.Type, value bool) {
	if api.IsBasic(typ.Base) {
		return
	}
	if (len(typ.Pointers) > 0 || !value) && t.forward(typ.Base) {
		return
	}
	t.name(typ.Base)
}

// forward declares a record without its fields.
func (t *typer) forward(name string) bool {
	r := t.find(name)
	if r != nil && !t.done["forward "+name] {
		t.done["forward "+name] = true
		fmt.Fprintf(t.b, "typedef %s %s %s;\n", keyword(r), cName(name), cName(name))
	}
	return r != nil
}

func keyword(r *api.Record) string {
	if r.Union {
		return "union"
	}
	return "struct"
}

func (t *typer) name(name string) {
	if api.IsBasic(name) || t.done[name] {
		return
	}
	t.done[name] = true
	for _, l := range t.libs {
		if a, ok := l.Aliases.Get(name); ok {
			t.base(a, len(a.Pointers) == 0)
			fmt.Fprintf(t.b, "typedef %s;\n", a.Declare(name, cName))
			return
		}
		if e, ok := l.Enums.Get(name); ok {
			t.enum(name, &e)
			return
		}
		if h, ok := l.Handles.Get(name); ok {
			if h.Of == "void" {
				fmt.Fprintf(t.b, "typedef void *%s;\n", name)
			} else {
				t.opaque(h.Of)
				fmt.Fprintf(t.b, "typedef struct %s *%s;\n", h.Of, name)
			}
			return
		}
		if r, ok := l.Records.Get(name); ok {
			t.record(name, &r)
			return
		}
		if c, ok := l.Callbacks.Get(name); ok {
			t.base(c.Returns, false)
			for i := range c.Params {
				t.base(c.Params[i].Type, false)
			}
			fmt.Fprintf(t.b, "typedef %s(*%s)(%s);\n", spaced(c.Returns), cName(name), parameters(c.Params, false, false))
			return
		}
		for _, h := range l.Handles {
			if h.Value.Of == name {
				t.opaque(name)
				return
			}
		}
	}
}

// opaque declares a structure that nobody knows.
func (t *typer) opaque(name string) {
	if !t.done["opaque "+name] {
		t.done["opaque "+name] = true
		fmt.Fprintf(t.b, "typedef struct %s %s;\n", name, name)
	}
}

func (t *typer) enum(name string, e *api.Enum) {
	if e.Wide || e.Unsigned { // C11 has no values above those of int
		bits := 32
		if e.Wide {
			bits = 64
		}
		fmt.Fprintf(t.b, "typedef uint%d_t %s;\n", bits, name)
		for _, v := range e.Values {
			fmt.Fprintf(t.b, "#define %s ((%s)0x%xU)\n", v.Key, name, uint64(v.Value))
		}
		return
	}
	fmt.Fprintf(t.b, "typedef enum %s {\n", name)
	for _, v := range e.Values {
		fmt.Fprintf(t.b, "    %s = %d,\n", v.Key, v.Value)
	}
	fmt.Fprintf(t.b, "} %s;\n", name)
}

func (t *typer) record(name string, r *api.Record) {
	t.forward(name)
	body, natural := t.fields(r)
	aligned := ""
	if r.Packed {
		aligned = " __attribute__((packed))"
	} else if r.Align > natural {
		aligned = fmt.Sprintf(" __attribute__((aligned(%d)))", r.Align)
	}
	fmt.Fprintf(t.b, "%s%s %s {\n%s};\n", keyword(r), aligned, cName(name), body)
}

// fields writes those of a record, and says how they align it.
func (t *typer) fields(r *api.Record) (body string, natural int64) {
	var b strings.Builder
	natural = 1
	for i := range r.Fields {
		f := &r.Fields[i]
		natural = max(natural, t.align(f.Type))
		if inner := t.find(f.Type.Base); f.Name == "" && inner != nil {
			body, _ := t.fields(inner)
			fmt.Fprintf(&b, "    %s {\n%s};\n", keyword(inner), body)
			continue
		}
		t.base(f.Type, true)
		fmt.Fprintf(&b, "    %s", f.Type.Declare(f.Name, cName))
		if f.Bits > 0 {
			fmt.Fprintf(&b, " : %d", f.Bits)
		}
		b.WriteString(";\n")
	}
	if len(r.Fields) == 0 {
		fmt.Fprintf(&b, "    char none[%d];\n", max(r.Size, 1))
	}
	return b.String(), natural
}

func (t *typer) find(name string) *api.Record {
	for _, l := range t.libs {
		if r, ok := l.Records.Get(name); ok {
			return &r
		}
	}
	return nil
}

func (t *typer) align(typ api.Type) int64 {
	return t.libs[len(t.libs)-1].Alignment(typ)
}

// spaced is a type in front of a name.
func spaced(typ api.Type) string {
	s := typ.Declare("", cName)
	if strings.HasSuffix(s, "*") {
		return s
	}
	return s + " "
}

// parameters writes a list of parameters, with names or without.
func parameters(params []api.Param, names, more bool) string {
	if len(params) == 0 {
		return "void"
	}
	out := make([]string, len(params))
	for i := range params {
		name := ""
		if names {
			name = argument(params[i].Name)
		}
		out[i] = params[i].Type.Declare(name, cName)
	}
	if more {
		out = append(out, "...")
	}
	return strings.Join(out, ", ")
}

// argument is a parameter's name in C. One that is called as a type or a
// function of ours is called otherwise.
func argument(name string) string { return "a_" + name }
