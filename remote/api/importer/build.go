package importer

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/yamlx"
	"github.com/stonemason-hip/stonemason/remote/api"
)

// builder makes the types of a description as functions ask for them.
type builder struct {
	lib  *api.Library
	note *Annotations
	// typedefs and tags are declarations by name, byID all of them; pointers
	// maps an incomplete structure to the type that points to it.
	typedefs, tags, byID map[string]*node
	pointers             map[string]string
	// called maps the tag of a structure or enumeration to the name that a
	// typedef gives it: that one is described, the tag is not.
	called map[string]string
	// known are types that are there already, or being made.
	known map[string]bool
	// places are where records are defined.
	places map[string]Place
}

func newBuilder(types []node, lib *api.Library, note *Annotations) *builder {
	b := &builder{
		lib: lib, note: note, known: map[string]bool{}, pointers: map[string]string{}, called: map[string]string{},
		typedefs: map[string]*node{}, tags: map[string]*node{}, byID: map[string]*node{}, places: map[string]Place{},
	}
	for i := range types {
		n := &types[i]
		b.byID[n.id] = n
		switch n.kind {
		case "TypedefDecl":
			b.typedefs[n.name] = n
		default:
			b.tag(n)
		}
	}
	for i := range types {
		n := &types[i]
		if n.kind != "TypedefDecl" {
			continue
		}
		if of := b.pointee(n.typ); of != "" && b.pointers[of] == "" {
			b.pointers[of] = n.name
		}
		tag := plain(n.typ)
		if def := b.tags[tag]; def != nil && (def.complete || def.kind == "EnumDecl") && b.called[tag] == "" && b.typedefs[tag] == nil {
			b.called[tag] = n.name
		}
	}
	for _, u := range lib.Used() {
		b.knows(u)
	}
	return b
}

// tag notes a structure, union or enumeration, and those inside it: C knows
// their names outside too.
func (b *builder) tag(n *node) {
	if n.kind != "RecordDecl" && n.kind != "EnumDecl" {
		return
	}
	if old := b.tags[n.name]; n.name != "" && (old == nil || n.complete || n.kind == "EnumDecl" && len(n.inner) > 0) {
		b.tags[n.name] = n
	}
	for i := range n.inner {
		b.tag(&n.inner[i])
	}
}

// pointee is the incomplete structure that a type points to, or "".
func (b *builder) pointee(spelled string) string {
	of, ok := strings.CutSuffix(plain(spelled), " *")
	if !ok {
		return ""
	}
	if n := b.typedefs[of]; n != nil {
		of = plain(n.typ)
	}
	if !b.opaque(of) {
		return ""
	}
	return of
}

// knows takes the types of a used library as described.
func (b *builder) knows(l *api.Library) {
	for _, u := range l.Used() {
		b.knows(u)
	}
	for _, names := range [][]string{l.Aliases.Keys(), l.Enums.Keys(), l.Handles.Keys(), l.Records.Keys(), l.Callbacks.Keys()} {
		for _, n := range names {
			b.known[n] = true
		}
	}
	for i := range l.Handles {
		b.known[l.Handles[i].Value.Of] = true
	}
}

// opaque reports whether a structure of that name is declared and has no body, or
// none that is to be looked into.
func (b *builder) opaque(name string) bool {
	if contains(b.note.Opaque, name) {
		return true
	}
	n := b.tags[name]
	return n != nil && n.kind == "RecordDecl" && !n.complete
}

// plain takes away what descriptions do not write.
func plain(spelled string) string {
	words := strings.Fields(strings.ReplaceAll(spelled, "*", " * "))
	words = slices.DeleteFunc(words, func(w string) bool {
		return w == "struct" || w == "union" || w == "enum" || w == "volatile" || w == "restrict" || w == "__restrict"
	})
	for i, w := range words {
		if w == "_Bool" {
			words[i] = "bool"
		}
	}
	return strings.Join(words, " ")
}

// typ reads a type as clang spells it and sees to it that what it names is
// described. owner names what the type stands in, for a callback without a name.
func (b *builder) typ(spelled, owner string) (api.Type, error) {
	if strings.Contains(spelled, "(*)(") {
		if err := b.callback(owner, spelled); err != nil {
			return api.Type{}, err
		}
		return api.Type{Base: owner}, nil
	}
	if strings.ContainsAny(spelled, "(:") {
		return api.Type{}, fmt.Errorf("type %q has no form in a description", spelled)
	}
	t, err := api.ParseType(plain(spelled))
	if err != nil {
		return api.Type{}, err
	}
	if name := b.called[t.Base]; name != "" {
		t.Base = name
	}
	return t, b.need(t.Base)
}

// need describes a named type.
func (b *builder) need(name string) error {
	if api.IsBasic(name) || b.known[name] {
		return nil
	}
	b.known[name] = true
	if n := b.typedefs[name]; n != nil {
		return b.typedef(n)
	}
	n := b.tags[name]
	switch {
	case n == nil:
		return fmt.Errorf("type %s is declared nowhere", name)
	case n.kind == "EnumDecl":
		return b.enum(name, n)
	case n.complete:
		return b.record(name, n)
	}
	if handle := b.pointers[name]; handle != "" {
		return b.need(handle)
	}
	// A handle all the same, but one without a name.
	b.known[name+"_ref"] = true
	add(&b.lib.Handles, name+"_ref", api.Handle{Of: name})
	return nil
}

func (b *builder) typedef(n *node) error {
	spelled := n.typ
	switch {
	case contains(b.note.VoidHandles, n.name):
		if plain(spelled) != "void *" {
			return fmt.Errorf("%s: %s is no void *", n.where(), n.name)
		}
		add(&b.lib.Handles, n.name, api.Handle{Of: "void"})
		return nil
	case strings.Contains(spelled, "(*)("):
		return b.callback(n.name, spelled)
	}
	text := plain(spelled)
	if of := b.pointee(spelled); of != "" {
		b.known[of] = true
		add(&b.lib.Handles, n.name, api.Handle{Of: of})
		return nil
	}
	// A structure or enumeration whose only name is this one, or the same.
	if text == n.name || b.called[text] == n.name {
		def := b.tags[text]
		if def == nil {
			if def = b.unnamed(n); def == nil {
				return fmt.Errorf("%s: %s has no definition", n.where(), n.name)
			}
		}
		switch {
		case def.kind == "EnumDecl":
			return b.enum(n.name, def)
		case def.complete:
			return b.record(n.name, def)
		case b.pointers[n.name] != "":
			return b.need(b.pointers[n.name])
		}
		add(&b.lib.Handles, n.name+"_ref", api.Handle{Of: n.name})
		return nil
	}
	t, err := b.typ(spelled, n.name)
	if err != nil {
		return fmt.Errorf("%s: %w", n.where(), err)
	}
	add(&b.lib.Aliases, n.name, t)
	return nil
}

// unnamed finds the definition that a typedef gives a name to.
func (b *builder) unnamed(n *node) *node {
	return b.byID[n.of]
}

func (b *builder) enum(name string, n *node) error {
	var e api.Enum
	next, low, high := int64(0), int64(0), int64(0)
	for i := range n.inner {
		c := &n.inner[i]
		if c.kind != "EnumConstantDecl" {
			continue
		}
		if text, ok := c.value, c.valued; ok {
			v, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				u, err := strconv.ParseUint(text, 10, 64)
				if err != nil {
					return fmt.Errorf("%s: value %s of %s is too large", c.where(), text, c.name)
				}
				v, e.Wide = int64(u), true
			}
			next = v
		}
		add(&e.Values, c.name, next)
		low, high = min(low, next), max(high, next)
		next++
	}
	// clang takes the first of int, unsigned int and 64 bits that holds them all.
	e.Wide = e.Wide || high > 1<<32-1 || low < -1<<31 || low < 0 && high > 1<<31-1
	e.Unsigned = !e.Wide && high > 1<<31-1
	if len(e.Values) == 0 {
		return fmt.Errorf("%s: enumeration %s has no values", n.where(), name)
	}
	note := b.note.Enums[name]
	e.Texts, e.Sizes = note.Texts, note.Sizes
	add(&b.lib.Enums, name, e)
	return nil
}

func (b *builder) record(name string, n *node) error {
	r := api.Record{Union: n.tag == "union", Tag: b.typedefs[name] == nil && !strings.Contains(name, ".")}
	if a := n.has("AlignedAttr"); a != nil {
		r.Align, _ = strconv.ParseInt(a.value, 10, 64)
	}
	// That a #pragma pack says another number than one is found when clang
	// compares the layout.
	r.Packed = n.has("PackedAttr") != nil || n.has("MaxFieldAlignmentAttr") != nil
	if n.file != "" {
		b.places[name] = Place{File: n.file, Line: n.line}
	}
	var inner *node // the definition that the next field may be of
	for i := range n.inner {
		c := &n.inner[i]
		switch c.kind {
		case "RecordDecl":
			inner = c
		case "FieldDecl":
			f, err := b.field(name, len(r.Fields), c, inner)
			if err != nil {
				return fmt.Errorf("%s: %s.%s: %w", c.where(), name, c.name, err)
			}
			r.Fields = append(r.Fields, f)
		}
	}
	add(&b.lib.Records, name, r)
	return nil
}

func (b *builder) field(owner string, index int, n, inner *node) (api.Field, error) {
	f := api.Field{Name: n.name}
	if n.bitField {
		bits, err := strconv.Atoi(n.value)
		if !n.valued || err != nil || bits == 0 {
			return f, errors.New("a bit-field of no width")
		}
		f.Bits = bits
	}
	own := owner + "." + n.name
	if n.name == "" {
		own = owner + "._" + strconv.Itoa(index)
	}
	spelled := n.typ
	if strings.Contains(spelled, "(unnamed") || strings.Contains(spelled, "(anonymous") {
		if inner == nil || inner.name != "" || !strings.HasSuffix(spelled, ")") {
			return f, fmt.Errorf("type %q has no form in a description", spelled)
		}
		f.Type = api.Type{Base: own}
		if b.known[own] {
			return f, nil
		}
		b.known[own] = true
		return f, b.record(own, inner)
	}
	var err error
	f.Type, err = b.typ(spelled, own)
	return f, err
}

// callback describes a pointer to a function, spelled "void (*)(int, void *)".
func (b *builder) callback(name, spelled string) error {
	returns, rest, _ := strings.Cut(spelled, "(*)(")
	args, ok := strings.CutSuffix(rest, ")")
	if !ok || strings.ContainsAny(args, "()") || strings.HasSuffix(args, "...") {
		return fmt.Errorf("type %q has no form in a description", spelled)
	}
	b.known[name] = true
	var c api.Callback
	var err error
	if c.Returns, err = b.typ(strings.TrimSpace(returns), name+".returns"); err != nil {
		return err
	}
	if args != "" && args != "void" {
		for i, a := range strings.Split(args, ",") {
			p := api.Param{Name: "a" + strconv.Itoa(i)}
			if p.Type, err = b.typ(strings.TrimSpace(a), name+"."+p.Name); err != nil {
				return err
			}
			c.Params = append(c.Params, p)
		}
	}
	add(&b.lib.Callbacks, name, c)
	return nil
}

// function describes a function.
func (b *builder) function(n *node) (api.Function, error) {
	var f api.Function
	f.Variadic = n.variadic || strings.Contains(n.typ, "...")
	returns, _, _ := strings.Cut(n.typ, "(")
	var err error
	if f.Returns, err = b.typ(strings.TrimSpace(returns), n.name+".returns"); err != nil {
		return f, err
	}
	for i := range n.inner {
		c := &n.inner[i]
		if c.kind != "ParmVarDecl" {
			continue
		}
		p := api.Param{Name: c.name}
		if p.Name == "" {
			p.Name = "a" + strconv.Itoa(len(f.Params))
		}
		if p.Type, err = b.typ(c.typ, n.name+"."+p.Name); err != nil {
			return f, fmt.Errorf("parameter %s: %w", p.Name, err)
		}
		f.Params = append(f.Params, p)
	}
	return f, nil
}

func add[T any](items *yamlx.Ordered[T], key string, value T) {
	*items = append(*items, yamlx.Item[T]{Key: key, Value: value})
}
