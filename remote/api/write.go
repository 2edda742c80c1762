package api

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/yamlx"
)

// Bytes writes the description as a file, in one form only: the same
// description gives the same bytes. Enumerations, types and functions are
// sorted by name, their values, fields and parameters stay in their order.
func (l *Library) Bytes() []byte {
	w := &writer{}
	w.line("# What lib%s exports. Made by api:import from headers and annotations;", l.Name)
	w.line("# docs/api-descriptions.md explains the form.")
	w.line("schema: 1")
	w.line("library: %s", l.Name)
	w.line("summary: %s", text(l.Summary))
	w.line("version: %s", text(l.Version))
	w.line("origin:")
	for _, o := range l.Origin {
		w.line("  - {for: %s, package: %s, version: %s}", o.For, text(o.Package), text(o.Version))
	}
	w.line("file: {%s}", pairs("soversion", text(l.File.SoVersion), "version", text(l.File.Version),
		"compatibility", text(l.File.Compatibility), "package", text(l.File.Package), "targets", flow(l.File.Targets)))
	if len(l.Uses) > 0 {
		w.line("uses: %s", flow(l.Uses))
	}
	w.line("status: {%s}", pairs("type", l.Status.Type, "success", l.Status.Success,
		"unavailable", l.Status.Unavailable, "invalid", l.Status.Invalid, "remembered", l.Status.Remembered))
	if len(l.Nodes) > 0 {
		w.line("nodes: %s", flow(l.Nodes))
	}
	if len(l.Thread) > 0 {
		w.line("thread: %s", table(l.Thread, func(t Type) string { return text(t.String()) }))
	}
	section(w, "aliases", l.Aliases, func(name string, t *Type) { w.line("  %s: %s", name, text(t.String())) })
	section(w, "enums", l.Enums, w.enum)
	section(w, "handles", l.Handles, func(name string, h *Handle) { w.line("  %s: {%s}", name, pairs(h.facts()...)) })
	section(w, "records", l.Records, w.record)
	section(w, "callbacks", l.Callbacks, func(name string, c *Callback) {
		w.line("  %s:", name)
		w.line("    returns: %s", text(c.Returns.String()))
		w.params(c.Params)
	})
	section(w, "memory", l.Memory, func(name string, m *Memory) { w.line("  %s: {%s}", name, pairs(m.facts()...)) })
	section(w, "functions", l.Functions, w.function)
	return w.Bytes()
}

type writer struct{ bytes.Buffer }

func (w *writer) line(format string, args ...any) {
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

func section[T any](w *writer, name string, items yamlx.Ordered[T], write func(string, *T)) {
	if len(items) == 0 {
		return
	}
	w.line("%s:", name)
	items = slices.Clone(items)
	slices.SortFunc(items, func(a, b yamlx.Item[T]) int { return strings.Compare(a.Key, b.Key) })
	for i := range items {
		write(items[i].Key, &items[i].Value)
	}
}

func (w *writer) enum(name string, e *Enum) {
	w.line("  %s:", name)
	if e.Unsigned {
		w.line("    unsigned: true")
	}
	if e.Wide {
		w.line("    wide: true")
	}
	w.line("    values:")
	for _, v := range e.Values {
		w.line("      %s: %d", v.Key, v.Value)
	}
	if len(e.Texts) > 0 {
		w.line("    texts:")
		for _, t := range e.Texts {
			w.line("      %s: %s", t.Key, text(t.Value))
		}
	}
	if len(e.Sizes) > 0 {
		w.line("    sizes: %s", table(e.Sizes, decimal))
	}
}

func (w *writer) record(name string, r *Record) {
	w.line("  %s:", name)
	if r.Union {
		w.line("    union: true")
	}
	if r.By != "" {
		w.line("    by: %s", text(r.By))
	}
	if r.Passed {
		w.line("    passed: true")
	}
	if r.Tag {
		w.line("    tag: true")
	}
	if r.Packed {
		w.line("    packed: true")
	}
	w.line("    size: %d", r.Size)
	w.line("    align: %d", r.Align)
	if len(r.Fields) == 0 {
		return
	}
	w.line("    fields:")
	for i := range r.Fields {
		f := &r.Fields[i]
		bit := ""
		if f.Bits > 0 {
			bit = strconv.Itoa(f.Bit)
		}
		w.line("      - {%s}", pairs(append([]string{"name", f.Name, "type", text(f.Type.String()),
			"offset", strconv.FormatInt(f.Offset, 10), "bit", bit, "bits", nonzero(f.Bits)}, append(f.Meaning.pairs(), "when", flow(f.When))...)...))
	}
}

func (w *writer) params(params []Param) {
	if len(params) == 0 {
		return
	}
	w.line("    params:")
	for i := range params {
		p := &params[i]
		w.line("      - {%s}", pairs(append([]string{"name", text(p.Name), "type", text(p.Type.String())}, p.Meaning.pairs()...)...))
	}
}

func (w *writer) function(name string, f *Function) {
	w.line("  %s:", name)
	w.line("    returns: %s", text(f.Returns.String()))
	for kv := append([]string{"node", text(f.Node), "link", f.Link}, f.facts()...); len(kv) > 0; kv = kv[2:] {
		if kv[1] != "" {
			w.line("    %s: %s", kv[0], kv[1])
		}
	}
	if a := f.Answer; a != nil {
		w.line("    answer: {%s}", pairs("name_of", a.NameOf, "text_of", a.TextOf, "otherwise", a.Otherwise,
			"set", table(a.Set, scalar), "returns", scalar(a.Returns), "own", flag(a.Own)))
	}
	w.params(f.Params)
}

// facts are what is said of a function beside its types, as keys and values.
func (f *Function) facts() []string {
	instead := ""
	if in := f.Instead; in != nil {
		instead = "{" + pairs("of", text(in.Of), "since", nonzero(in.Since), "thread", flag(in.Thread)) + "}"
	}
	return []string{"sync", string(f.Sync), "stream", f.Stream, "default", f.Default, "after", flow(f.After), "marks", flow(f.Marks),
		"reads", flow(f.Reads), "sets", table(f.Sets, scalar), "bound", string(f.Bound), "lookup", f.Lookup, "instead", instead,
		"fails", string(f.Fails), "undocumented", flag(f.Undocumented), "variadic", flag(f.Variadic)}
}

func (h *Handle) facts() []string {
	return []string{"of", h.Of, "order", h.Order, "owner", h.Owner, "lasting", flag(h.Lasting), "undecided", flag(h.Undecided), "why", text(h.Why),
		"create", flow(h.Create), "destroy", flow(h.Destroy), "get", flow(h.Get), "retain", flow(h.Retain),
		"fixed", table(h.Fixed, decimal), "states", table(h.States, text)}
}

func (m *Memory) facts() []string {
	return []string{"owner", m.Owner, "why", text(m.Why), "create", flow(m.Create), "destroy", flow(m.Destroy)}
}

func (m *Meaning) pairs() []string {
	return []string{"dir", string(m.Dir), "as", string(m.As), "of", string(m.Of), "through", string(m.Through), "count", text(m.Count.String()),
		"bytes", text(m.Bytes.String()), "by", text(m.By), "each", text(m.Each), "optional", flag(m.Optional), "kept", flag(m.Kept), "why", text(m.Why), "calls", m.Calls.flow()}
}

func (c *Calls) flow() string {
	if c == nil {
		return ""
	}
	return "{" + pairs("from", string(c.From), "many", flag(c.Many), "with", text(c.With), "holds", flag(c.Holds), "silent", flag(c.Silent)) + "}"
}

// pairs joins keys and values, without those whose value is empty.
func pairs(kv ...string) string {
	var out []string
	for i := 0; i < len(kv); i += 2 {
		if kv[i+1] != "" {
			out = append(out, kv[i]+": "+kv[i+1])
		}
	}
	return strings.Join(out, ", ")
}

func table[T any](items yamlx.Ordered[T], value func(T) string) string {
	if len(items) == 0 {
		return ""
	}
	var kv []string
	for _, item := range items {
		kv = append(kv, item.Key, value(item.Value))
	}
	return "{" + pairs(kv...) + "}"
}

func flow(items []string) string {
	if len(items) == 0 {
		return ""
	}
	quoted := make([]string, len(items))
	for i, item := range items {
		quoted[i] = text(item)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

func flag(b bool) string {
	if b {
		return "true"
	}
	return ""
}

func nonzero(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

var (
	plainText   = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_./+:@-]*[A-Za-z0-9_]$|^[A-Za-z_]$`)
	plainNumber = regexp.MustCompile(`^-?[0-9]+$`)
)

// scalar writes a value that is a number, a name or a text.
func scalar(s yamlx.Scalar) string {
	if plainNumber.MatchString(string(s)) {
		return string(s)
	}
	return text(string(s))
}

// text writes a string so that YAML reads a string: "" stays empty, for a key
// that is left out.
func text(s string) string {
	if s == "" {
		return ""
	}
	switch strings.ToLower(s) {
	case "true", "false", "on", "off", "yes", "no", "y", "n", "null":
		return `"` + s + `"`
	}
	if plainText.MatchString(s) && !strings.Contains(s, ": ") {
		return s
	}
	return strconv.Quote(s)
}
