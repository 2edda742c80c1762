package yamlx

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SchemaMeta is what a schema says about itself.
type SchemaMeta struct {
	ID          string // the $id: an absolute URI
	Title       string
	Description string

	// Unions gives the forms of types that cannot list them in a method, for
	// instance because they are registered elsewhere; see [Union].
	Unions map[reflect.Type][]any
}

// Union is implemented by types that decode themselves from one of several
// forms, of which exactly one may fit. Forms returns a value of each form's
// type; the values themselves do not matter. It is called on the zero value.
type Union interface{ Forms() []any }

// Schemer is implemented by types that decode themselves and whose schema no
// Go type gives. It is called on the zero value.
type Schemer interface{ SchemaYAMLX() map[string]any }

// Schema returns the JSON Schema (draft 2020-12) of the files that [Decode]
// reads into values of root's type, a struct. What a schema cannot say (bounds
// of durations and sizes, a [Checker]'s rules, limits of the file) it leaves
// out: it accepts every file that Decode accepts. The bytes depend on the types
// only; they are indented by two spaces and end in a newline.
func Schema(root any, meta SchemaMeta) ([]byte, error) {
	t := reflect.TypeOf(root)
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct || ownForm(t) {
		return nil, typeErrorf("the root of a schema is a struct, not %T", root)
	}
	g := &generator{meta: meta, refs: map[reflect.Type]string{t: "#"}, defs: map[string]object{}}
	top := object{{"$schema", "https://json-schema.org/draft/2020-12/schema"}}
	for _, m := range []member{{"$id", meta.ID}, {"title", meta.Title}, {"description", meta.Description}} {
		if m.value != "" {
			top = append(top, m)
		}
	}
	for _, m := range g.structure(t) {
		if m.key != "description" || meta.Description == "" {
			top = append(top, m)
		}
	}
	if len(g.defs) > 0 {
		var defs object
		for _, name := range slices.Sorted(maps.Keys(g.defs)) {
			defs = append(defs, member{name, g.defs[name]})
		}
		top = append(top, member{"$defs", defs})
	}
	if g.err != nil {
		return nil, g.err
	}
	flat, err := top.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("yamlx: schema of %v: %w", t, err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, flat, "", "  "); err != nil {
		return nil, fmt.Errorf("yamlx: schema of %v: %w", t, err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// object is a JSON object that keeps the order of its members, so that a
// schema reads in the order of the Go types.
type object []member

type member struct {
	key   string
	value any
}

// MarshalJSON implements [json.Marshaler].
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := enc.Encode(m.key); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := enc.Encode(m.value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

type generator struct {
	meta SchemaMeta
	refs map[reflect.Type]string
	defs map[string]object
	err  error
}

func (g *generator) fail(err error) object {
	if g.err == nil {
		g.err = err
	}
	return nil
}

// schema returns the schema of a type under the rules of a field.
func (g *generator) schema(t reflect.Type, r *rules) object {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	zero := reflect.New(t).Interface()
	if own, ok := zero.(ruled); ok {
		return own.schemaRuled(g, r)
	}
	if own, ok := zero.(Schemer); ok {
		own := own.SchemaYAMLX()
		var o object
		for _, key := range slices.Sorted(maps.Keys(own)) {
			o = append(o, member{key, own[key]})
		}
		return o
	}
	forms := g.meta.Unions[t]
	if own, ok := zero.(Union); ok && forms == nil {
		forms = own.Forms()
	}
	if forms != nil {
		return g.reference(t, "", func() object {
			one := make([]object, len(forms))
			for i, form := range forms {
				one[i] = g.form(t, form)
			}
			return object{{"oneOf", one}}
		})
	}
	switch {
	case t == nodeType:
		return object{}
	case t == durationType:
		return object{{"type", "string"}, {"pattern", durationPattern}}
	case t == sizeType:
		return object{{"oneOf", []object{
			{{"type", "integer"}, {"minimum", 0}},
			{{"type", "string"}, {"pattern", sizeOrBytesPattern}},
		}}}
	case t == scalarType:
		return object{{"type", []string{"string", "number", "boolean"}}}
	case reflect.PointerTo(t).Implements(unmarshalerType):
		return g.fail(typeErrorf("%v decodes itself: it needs Forms or SchemaYAMLX for a schema", t))
	case reflect.PointerTo(t).Implements(textType):
		return object{{"type", "string"}}
	}
	switch t.Kind() {
	case reflect.Bool:
		return object{{"enum", []any{true, false, "on", "off"}}}
	case reflect.String:
		return g.str(t, r)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		low, high := rangeOf(t)
		o := object{{"type", "integer"}}
		o = append(o, g.tighter("minimum", low, r.min, 1)...)
		return append(o, g.tighter("maximum", high, r.max, -1)...)
	case reflect.Float32, reflect.Float64:
		o := object{{"type", "number"}}
		o = append(o, g.tighter("minimum", "", r.min, 1)...)
		return append(o, g.tighter("maximum", "", r.max, -1)...)
	case reflect.Slice:
		return g.list(t.Elem(), r)
	case reflect.Map:
		return g.table(t.Key(), t.Elem(), r)
	case reflect.Struct:
		return g.reference(t, "", func() object { return g.structure(t) })
	case reflect.Interface:
		return object{}
	}
	return g.fail(typeErrorf("no YAML gives a %v", t))
}

// form returns the schema of one form of a union. A mapping whose Go type is
// private to the union is named after the union.
func (g *generator) form(union reflect.Type, form any) object {
	t := reflect.TypeOf(form)
	if t == nil {
		return g.fail(typeErrorf("%v: nil is no form", union))
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if first, _ := utf8.DecodeRuneInString(t.Name()); t.Kind() == reflect.Struct && !ownForm(t) && unicode.IsLower(first) {
		return g.reference(t, defName(union)+"Mapping", func() object { return g.structure(t) })
	}
	return g.schema(t, &rules{})
}

// reference puts the schema of a named type into $defs and refers to it.
func (g *generator) reference(t reflect.Type, name string, schema func() object) object {
	ref, ok := g.refs[t]
	if !ok {
		if name == "" {
			name = defName(t)
		}
		if name == "" {
			return schema()
		}
		unique := name
		for n := 2; g.defs[unique] != nil; n++ {
			unique = name + strconv.Itoa(n)
		}
		ref = "#/$defs/" + unique
		g.refs[t] = ref
		g.defs[unique] = object{} // takes the name: the type may contain itself
		g.defs[unique] = schema()
	}
	return object{{"$ref", ref}}
}

// defName returns the type's name as far as a JSON pointer in a URI takes it.
func defName(t reflect.Type) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return -1
	}, t.Name())
}

func (g *generator) structure(t reflect.Type) object {
	p, err := planOf(t)
	if err != nil {
		return g.fail(err)
	}
	o := object{}
	if p.doc != "" {
		o = append(o, member{"description", p.doc})
	}
	o = append(o, member{"type", "object"})
	var required []string
	properties := object{}
	for i := range p.fields {
		f := &p.fields[i]
		property := g.schema(f.typ, &f.rules)
		if f.rules.doc != "" {
			property = append(object{{"description", f.rules.doc}}, property...)
		}
		properties = append(properties, member{f.name, property})
		if f.rules.required {
			required = append(required, f.name)
		}
	}
	o = append(o, member{"properties", properties})
	if required != nil {
		o = append(o, member{"required", required})
	}
	if p.onekey {
		o = append(o, member{"minProperties", 1}, member{"maxProperties", 1})
	}
	return append(o, member{"additionalProperties", false})
}

func (g *generator) str(t reflect.Type, r *rules) object {
	o := object{{"type", "string"}}
	allowed := r.enum
	if own, ok := enumOf(t); ok {
		allowed = own
	}
	if allowed != nil {
		o = append(o, member{"enum", allowed})
	}
	if r.pattern != nil {
		o = append(o, member{"pattern", r.pattern.String()})
	}
	return append(o, g.count("Length", r)...)
}

func (g *generator) list(elem reflect.Type, r *rules) object {
	o := object{{"type", "array"}, {"items", g.schema(elem, &rules{enum: r.enum, pattern: r.pattern})}}
	if r.unique {
		o = append(o, member{"uniqueItems", true})
	}
	return append(o, g.count("Items", r)...)
}

func (g *generator) table(key, elem reflect.Type, r *rules) object {
	if key.Kind() != reflect.String {
		return g.fail(typeErrorf("the keys of a map are strings, not %v", key))
	}
	o := object{{"type", "object"}}
	var names object
	if allowed, ok := enumOf(key); ok {
		names = append(names, member{"enum", allowed})
	}
	if r.keys != nil {
		names = append(names, member{"pattern", r.keys.String()})
	}
	if names != nil {
		o = append(o, member{"propertyNames", names})
	}
	o = append(o, member{"additionalProperties", g.schema(elem, &rules{enum: r.enum, pattern: r.pattern})})
	return append(o, g.count("Properties", r)...)
}

// count returns the bounds of a count: minItems, maxLength and so on.
func (g *generator) count(of string, r *rules) object {
	o := g.tighter("min"+of, "", r.min, 1)
	return append(o, g.tighter("max"+of, "", r.max, -1)...)
}

// tighter returns a bound: the one of the rules, or else that of the type. The
// bound of a type beyond 53 bits is left out: JSON readers round it.
func (g *generator) tighter(name, typ, rule string, sign float64) object {
	bound, have := 0.0, false
	for _, s := range []string{typ, rule} {
		if s == "" {
			continue
		}
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return g.fail(typeErrorf("bound %q: %v", s, err))
		}
		if math.Abs(f) < 1<<53 && (!have || f*sign > bound*sign) {
			bound, have = f, true
		}
	}
	if !have {
		return nil
	}
	return object{{name, json.Number(strconv.FormatFloat(bound, 'f', -1, 64))}}
}

func (s *Strings) schemaRuled(g *generator, r *rules) object {
	elem := &rules{enum: r.enum, pattern: r.pattern}
	list := g.list(stringType, r)
	// A single string counts as a list of one.
	if one, err := boundOf(s.rulesApply(), r.min); r.min != "" && err == nil && one > 1 {
		return list
	}
	return object{{"oneOf", []object{g.schema(stringType, elem), list}}}
}

func (o *Ordered[T]) schemaRuled(g *generator, r *rules) object {
	return g.table(stringType, o.rulesApply().Elem(), r)
}
