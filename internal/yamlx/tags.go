package yamlx

import (
	"encoding"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Unmarshaler is implemented by types that decode themselves. Errors without a
// position get that of the node.
type Unmarshaler interface{ UnmarshalYAMLX(n *Node) error }

// Enum is implemented by string types with a fixed set of values. It is called
// on the zero value.
type Enum interface{ Values() []string }

// Checker is implemented by types with a rule that tags cannot express, such
// as two keys that exclude each other. It is called after the value was decoded
// without an error.
type Checker interface{ CheckYAMLX(n *Node) error }

var (
	unmarshalerType = reflect.TypeFor[Unmarshaler]()
	textType        = reflect.TypeFor[encoding.TextUnmarshaler]()
	enumType        = reflect.TypeFor[Enum]()
	checkerType     = reflect.TypeFor[Checker]()
	ruledType       = reflect.TypeFor[ruled]()
	nodeType        = reflect.TypeFor[Node]()
	posType         = reflect.TypeFor[Pos]()
	durationType    = reflect.TypeFor[time.Duration]()
	sizeType        = reflect.TypeFor[Size]()
	stringType      = reflect.TypeFor[string]()
	scalarType      = reflect.TypeFor[Scalar]()
)

// ruled is implemented by this package's own types that take a field's rules
// into themselves.
type ruled interface {
	decodeRuled(d *decoder, n *Node, r *rules)
	schemaRuled(g *generator, r *rules) object
	// rulesApply names the type that stands in for this one when the rules of
	// a field are checked.
	rulesApply() reflect.Type
}

// traits are what a type has of this package's interfaces, itself or by its
// pointer.
type traits struct {
	special bool     // it is one that form handles before it looks at the kind
	checker bool     // a Checker
	isEnum  bool     // an Enum, and
	enum    []string // its values
}

func (t *Types) traitsOf(typ reflect.Type) *traits {
	if known, ok := t.traits.Load(typ); ok {
		return known.(*traits)
	}
	p := reflect.PointerTo(typ)
	found := &traits{
		special: ownForm(typ) || typ == reflect.PointerTo(nodeType) || p.Implements(ruledType),
		checker: p.Implements(checkerType),
	}
	found.enum, found.isEnum = enumOf(typ)
	t.traits.Store(typ, found)
	return found
}

// rules are what the tags of a field demand of its value.
type rules struct {
	required, unique bool
	min, max         string
	enum             []string
	pattern, keys    *regexp.Regexp
	doc              string
}

// plan is what the tags of a struct type say.
type plan struct {
	fields []field
	byName map[string]int // index in fields
	names  []string       // the keys in the order of declaration
	pos    []int          // index path of the Pos field, or nil
	onekey bool
	doc    string
}

type field struct {
	name  string
	index []int
	typ   reflect.Type
	rules rules
}

func planOf(t reflect.Type) (*plan, error) {
	p := &plan{byName: map[string]int{}}
	if err := p.collect(t, nil, 0); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *plan) collect(t reflect.Type, prefix []int, depth int) error {
	if depth > 10 {
		return typeErrorf("%v: inline structs nest too deep", t)
	}
	for i := range t.NumField() {
		f := t.Field(i)
		r, onekey, err := parseRules(t, f)
		if err != nil {
			return err
		}
		if f.Name == "_" {
			if depth == 0 {
				p.onekey, p.doc = onekey, r.doc
			}
			continue
		}
		if onekey {
			return typeErrorf("%v.%s: onekey belongs on a blank field", t, f.Name)
		}
		name, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		index := append(slices.Clone(prefix), i)
		switch {
		case !f.IsExported() || name == "-":
			continue
		case option == "pos":
			if f.Type != posType {
				return typeErrorf("%v.%s: a pos field has type yamlx.Pos", t, f.Name)
			}
			if p.pos == nil {
				p.pos = index
			}
			continue
		case option == "inline":
			if f.Type.Kind() != reflect.Struct {
				return typeErrorf("%v.%s: only a struct can be inline", t, f.Name)
			}
			if err := p.collect(f.Type, index, depth+1); err != nil {
				return err
			}
			continue
		case option != "" && option != "omitempty":
			return typeErrorf("%v.%s: unknown option %q in the yaml tag", t, f.Name, option)
		case name == "":
			name = strings.ToLower(f.Name)
		}
		if _, twice := p.byName[name]; twice {
			return typeErrorf("%v.%s: the key %q is taken by another field", t, f.Name, name)
		}
		if err := applicable(f.Type, r); err != nil {
			return typeErrorf("%v.%s: %v", t, f.Name, err)
		}
		p.byName[name] = len(p.fields)
		p.names = append(p.names, name)
		p.fields = append(p.fields, field{name: name, index: index, typ: f.Type, rules: r})
	}
	return nil
}

func parseRules(t reflect.Type, f reflect.StructField) (r rules, onekey bool, err error) {
	for _, word := range strings.Split(f.Tag.Get("sm"), ",") {
		name, value, _ := strings.Cut(word, "=")
		switch {
		case word == "":
		case word == "required":
			r.required = true
		case word == "unique":
			r.unique = true
		case word == "onekey":
			onekey = true
		case name == "min" && value != "":
			r.min = value
		case name == "max" && value != "":
			r.max = value
		case name == "enum" && value != "":
			r.enum = strings.Split(value, "|")
		default:
			return r, false, typeErrorf("%v.%s: unknown word %q in the sm tag", t, f.Name, word)
		}
	}
	for tag, into := range map[string]**regexp.Regexp{"pattern": &r.pattern, "keys": &r.keys} {
		if expr := f.Tag.Get(tag); expr != "" {
			if *into, err = regexp.Compile(expr); err != nil {
				return r, false, typeErrorf("%v.%s: %v", t, f.Name, err)
			}
		}
	}
	r.doc = f.Tag.Get("doc")
	return r, onekey, nil
}

// applicable reports a rule that the type of its field gives no sense to.
func applicable(t reflect.Type, r rules) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if v, ok := reflect.New(t).Interface().(ruled); ok {
		t = v.rulesApply()
	}
	own := ownForm(t)
	list := !own && t.Kind() == reflect.Slice
	table := !own && t.Kind() == reflect.Map
	text := t
	if list || table {
		text = t.Elem()
	}
	isText := text.Kind() == reflect.String && !ownForm(text) && !reflect.PointerTo(text).Implements(enumType)
	switch {
	case r.unique && (!list || t.Elem().Kind() != reflect.String):
		return typeErrorf("unique applies to lists of strings")
	case r.keys != nil && !table:
		return typeErrorf("keys applies to mappings")
	case (r.enum != nil || r.pattern != nil) && !isText:
		return typeErrorf("enum and pattern apply to strings without values of their own")
	}
	if own && t != durationType && t != sizeType && (r.min != "" || r.max != "") {
		return typeErrorf("min and max do not apply to a type that decodes itself")
	}
	for _, bound := range []string{r.min, r.max} {
		if bound == "" {
			continue
		}
		if _, err := boundOf(t, bound); err != nil {
			return typeErrorf("bound %q: %v", bound, err)
		}
	}
	return nil
}

// ownForm reports whether values of the type do not have the form that the
// type's kind suggests.
func ownForm(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return t == durationType || t == sizeType || t == scalarType || t == nodeType ||
		p.Implements(unmarshalerType) || p.Implements(textType)
}

// boundOf reads a bound of min= or max= in the terms of the type: the value of
// numbers, the number of bytes or nanoseconds, else a count.
func boundOf(t reflect.Type, bound string) (float64, error) {
	switch {
	case t == durationType:
		d, err := ParseDuration(bound)
		return float64(d), err
	case t == sizeType:
		s, err := ParseSize(bound)
		return float64(s), err
	}
	switch t.Kind() {
	case reflect.String, reflect.Slice, reflect.Map:
		n, err := strconv.ParseUint(bound, 10, 31)
		return float64(n), err
	case reflect.Bool, reflect.Struct, reflect.Interface:
		return 0, typeErrorf("min and max do not apply to %v", t)
	}
	f, err := strconv.ParseFloat(bound, 64)
	if err == nil && (math.IsNaN(f) || math.IsInf(f, 0)) {
		err = typeErrorf("not a finite number")
	}
	return f, err
}
