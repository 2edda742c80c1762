package stub

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/yamlx"
	"github.com/stonemason-hip/stonemason/remote/api"
)

// Revision is raised when the same description gives other files.
const Revision = "2"

// own holds what libraries can answer by themselves, and what all stubs share.
//
//go:embed own
var own embed.FS

// Source returns the C source of a library's stub.
func Source(l *api.Library) (string, error) {
	g := &generator{lib: l, status: l.Status.Type, enums: map[string]bool{}}
	code, err := own.ReadFile(path.Join("own", l.Name+".c"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	g.own = string(code)
	for i := range l.Functions {
		f := &l.Functions[i]
		if a := f.Value.Answer; a != nil && a.Own && !strings.Contains(g.own, "own_"+f.Key+"(") {
			return "", fmt.Errorf("lib%s: own code answers %s, says the description, but remote/stub/own/%s.c has no own_%s", l.Name, f.Key, l.Name, f.Key)
		}
	}
	common, err := own.ReadFile("own/common.h")
	if err != nil {
		return "", err
	}
	g.line("/* Link stub of lib%s %s. Generated from its description: do not edit. */", l.Name, l.Version)
	g.line("#define STUB_LIBRARY %q", "lib"+l.Name)
	g.b.Write(common)
	g.b.WriteString(Types(l))
	g.names()
	g.line("static %s stub_unavailable(const char *function) {", g.status)
	g.line("    stub_say(function, %q);", l.Status.Unavailable)
	g.line("    return %s;", l.Status.Unavailable)
	g.line("}")
	for i := range l.Functions {
		g.declare(l.Functions[i].Key, &l.Functions[i].Value)
	}
	if strings.Contains(g.own, "stub_find(") {
		g.table()
	}
	g.b.WriteString(g.own)
	g.line("#ifndef STUB_NOTE\n#define STUB_NOTE(status) ((void)(status))\n#endif")
	for i := range l.Functions {
		g.function(l.Functions[i].Key, &l.Functions[i].Value)
	}
	return g.b.String(), nil
}

type generator struct {
	b      strings.Builder
	lib    *api.Library
	own    string
	status string
	enums  map[string]bool // whose names or texts have a function
}

func (g *generator) line(format string, args ...any) {
	fmt.Fprintf(&g.b, format, args...)
	g.b.WriteByte('\n')
}

// names writes the functions that give the names and texts of values: of the
// status, and of what answers need.
func (g *generator) names() {
	g.enumNames(g.status, g.lib.Status.Unavailable)
	for i := range g.lib.Functions {
		f := &g.lib.Functions[i].Value
		if a := f.Answer; a != nil {
			for _, p := range f.Params {
				if p.Name == a.NameOf {
					g.enumNames(p.Type.Base, a.Otherwise)
				}
				if p.Name == a.TextOf {
					g.enumTexts(p.Type.Base, a.Otherwise)
				}
			}
		}
	}
}

func (g *generator) enum(name string) *api.Enum {
	e, _ := g.lib.Enum(name)
	return e
}

func (g *generator) enumNames(name, otherwise string) {
	var texts yamlx.Ordered[string]
	e := g.enum(name)
	for _, v := range e.Values {
		texts = append(texts, yamlx.Item[string]{Key: v.Key, Value: v.Key})
	}
	g.choice("name_of_"+name+"_"+otherwise, name, e, texts, otherwise)
}

func (g *generator) enumTexts(name, otherwise string) {
	e := g.enum(name)
	g.choice("text_of_"+name+"_"+otherwise, name, e, e.Texts, otherwise)
}

func (g *generator) choice(function, enum string, e *api.Enum, texts yamlx.Ordered[string], otherwise string) {
	if g.enums[function] {
		return
	}
	g.enums[function] = true
	g.line("static const char *%s(%s value) {", function, enum)
	g.line("    switch ((long long)value) {")
	seen := map[int64]bool{}
	rest := otherwise
	for _, t := range texts {
		v, _ := e.Values.Get(t.Key)
		if t.Key == otherwise {
			rest = t.Value
		}
		if !seen[v] {
			seen[v] = true
			g.line("    case %d: return %s;", v, quoted(t.Value))
		}
	}
	g.line("    default: return %s;", quoted(rest))
	g.line("    }")
	g.line("}")
}

// quoted is a string literal of C.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~' || c == '?': // ? begins a trigraph
			fmt.Fprintf(&b, "\\%03o", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func (g *generator) signature(name string, f *api.Function) string {
	return spaced(f.Returns) + name + "(" + parameters(f.Params, true, f.Variadic) + ")"
}

func (g *generator) declare(name string, f *api.Function) {
	label := ""
	if f.Link != "" {
		label = fmt.Sprintf(" __asm__(STUB_UNDERSCORE %q)", f.Link)
	}
	g.line("STUB_EXPORT %s%s;", g.signature(name, f), label)
}

// table lists all functions by name, for code that finds one.
func (g *generator) table() {
	g.line("static const struct stub_entry stub_table[] = {")
	var names []string
	for i := range g.lib.Functions {
		if f := &g.lib.Functions[i]; f.Value.Link == "" {
			names = append(names, f.Key)
		}
	}
	slices.Sort(names)
	for _, n := range names {
		g.line("    {%q, (stub_function)%s},", n, n)
	}
	g.line("};")
	g.line("static stub_function stub_find(const char *name) {")
	g.line("    return stub_search(stub_table, sizeof stub_table / sizeof stub_table[0], name);")
	g.line("}")
}

func (g *generator) function(name string, f *api.Function) {
	g.line("%s {", g.signature(name, f))
	returns := f.Returns.String()
	if returns == "void" {
		g.void(name, f)
		g.trace(name, f, "", "")
		g.line("}")
		return
	}
	g.value(name, f)
	format, value := g.printed(f.Returns, "answer")
	if returns == g.status {
		format, value = "%s", ", name_of_"+g.status+"_"+g.lib.Status.Unavailable+"(answer)"
	} else if f.Answer != nil && returns == "const char *" {
		format, value = "\"%s\"", ", "+g.text("answer")
	}
	g.trace(name, f, " = "+format, value)
	g.line("    return answer;")
	g.line("}")
}

func (g *generator) void(name string, f *api.Function) {
	switch a := f.Answer; {
	case a == nil:
		g.line("    stub_say(%q, \"nothing\");", name)
	case a.Own:
		g.line("    own_%s(%s);", name, arguments(f))
	default:
		g.set(f)
	}
}

// value declares answer and gives it its value.
func (g *generator) value(name string, f *api.Function) {
	typ := f.Returns.Declare("answer", cName)
	status := f.Returns.String() == g.status
	a := f.Answer
	switch {
	case a == nil && status && f.Fails == "":
		g.line("    %s = stub_unavailable(%q);", typ, name)
	case a == nil:
		g.constant(typ, f, string(f.Fails))
		g.line("    stub_say(%q, %q);", name, string(f.Fails))
	case a.Own:
		g.line("    %s = own_%s(%s);", typ, name, arguments(f))
		return
	case a.NameOf != "" || a.TextOf != "":
		of, function := a.NameOf, "name_of_"
		if of == "" {
			of, function = a.TextOf, "text_of_"
		}
		call := function + param(f, of).Type.Base + "_" + a.Otherwise + "(" + argument(of) + ")"
		if out := f.TextOut(); f.Returns.String() != "const char *" && out != nil {
			g.line("    if (%s) *%s = %s;", argument(out.Name), argument(out.Name), call)
			g.line("    %s = %s;", typ, g.lib.Status.Success)
		} else {
			g.line("    %s = %s;", typ, call)
		}
	default:
		g.set(f)
		value := string(a.Returns)
		if value == "" && status {
			value = g.lib.Status.Success
		}
		g.constant(typ, f, value)
		if needed := g.needed(f); status && needed != "" {
			g.line("    if (%s) answer = %s;", needed, g.lib.Status.Invalid)
		}
	}
	if status {
		g.line("    STUB_NOTE(answer);")
	}
}

func param(f *api.Function, name string) *api.Param {
	for i := range f.Params {
		if f.Params[i].Name == name {
			return &f.Params[i]
		}
	}
	return nil
}

func arguments(f *api.Function) string {
	names := make([]string, len(f.Params))
	for i := range f.Params {
		names[i] = argument(f.Params[i].Name)
	}
	return strings.Join(names, ", ")
}

// constant declares answer with a value that the description names.
func (g *generator) constant(typ string, f *api.Function, value string) {
	if value == "zero" || value == "" {
		g.line("    %s;", typ)
		g.line("    stub_zero(&answer, sizeof answer);")
		return
	}
	g.line("    %s = (%s)%s;", typ, f.Returns.Declare("", cName), value)
}

// set writes through the parameters that an answer names.
func (g *generator) set(f *api.Function) {
	for _, s := range f.Answer.Set {
		p := argument(s.Key)
		if s.Value == "zero" {
			g.line("    if (%s) stub_zero(%s, sizeof *%s);", p, p, p)
		} else {
			g.line("    if (%s) *%s = %s;", p, p, string(s.Value))
		}
	}
}

// needed is the condition that a parameter is null that must not be, or "".
func (g *generator) needed(f *api.Function) string {
	var null []string
	for _, s := range f.Answer.Set {
		if g.lib.Status.Invalid != "" && !param(f, s.Key).Optional {
			null = append(null, "!"+argument(s.Key))
		}
	}
	return strings.Join(null, " || ")
}

// trace prints the call, when that is wished.
func (g *generator) trace(name string, f *api.Function, result, value string) {
	var format, values strings.Builder
	for i := range f.Params {
		if i > 0 {
			format.WriteString(", ")
		}
		one, arg := g.printed(f.Params[i].Type, argument(f.Params[i].Name))
		if f.Params[i].As == api.Text && f.Params[i].Type.String() == "const char *" {
			one, arg = "\"%s\"", ", "+g.text(argument(f.Params[i].Name))
		}
		format.WriteString(f.Params[i].Name + "=" + one)
		values.WriteString(arg)
	}
	g.line("    if (stub_tracing()) stub_print(%s%s%s);", strconv.Quote(name+"("+format.String()+")"+result), values.String(), value)
}

// printed is how a value is printed: a format, and the argument behind a comma.
func (g *generator) printed(typ api.Type, value string) (format, argument string) {
	t := g.lib.Resolve(typ)
	switch {
	case len(t.Pointers) > 0:
		return "%p", ", (const void *)" + value
	case t.Base == "float" || t.Base == "double":
		return "%g", ", (double)" + value
	case api.IsBasic(t.Base):
		if strings.HasPrefix(t.Base, "u") || t.Base == "size_t" || t.Base == "bool" {
			return "%llu", ", (unsigned long long)" + value
		}
		return "%lld", ", (long long)" + value
	}
	switch g.lib.Kind(t.Base) {
	case api.KindEnum:
		switch e := g.enum(t.Base); {
		case e.Wide:
			return "%lld", ", (long long)" + value
		case e.Unsigned:
			return "%u", ", (unsigned)" + value
		}
		return "%d", ", (int)" + value
	case api.KindHandle:
		return "%p", ", (const void *)" + value
	case api.KindCallback:
		return "%p", ", (const void *)(uintptr_t)" + value
	}
	return g.record(t.Base, value)
}

// text is a string to print, which may be null.
func (g *generator) text(value string) string { return value + " ? " + value + " : \"\"" }

// record prints the fields of a small record that is passed by value. What is
// larger is only said to be there.
func (g *generator) record(name, value string) (format, argument string) {
	r, _ := g.lib.Record(name)
	const most = 4
	if r != nil && !r.Union && len(r.Fields) <= most {
		var formats []string
		for i := range r.Fields {
			f := &r.Fields[i]
			if f.Name == "" || len(f.Type.Lengths) > 0 || g.lib.Kind(g.lib.Resolve(f.Type).Base) == api.KindRecord {
				return "{at %p}", ", (const void *)&" + value
			}
			one, arg := g.printed(f.Type, value+"."+f.Name)
			formats = append(formats, one)
			argument += arg
		}
		return "{" + strings.Join(formats, ", ") + "}", argument
	}
	return "{at %p}", ", (const void *)&" + value
}
