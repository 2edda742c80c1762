package yamlx

import (
	"cmp"
	"encoding"
	"errors"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/stonemason-hip/stonemason/internal/suggest"
)

// Decode decodes the YAML file data into the struct, map or slice that out
// points to. The name of the file serves for messages only. Keys that the file
// does not set leave out as it is, so defaults can be set beforehand.
//
// The error is an [Errors] with all that is wrong, or says that the Go types
// are; out then holds an undefined part of the file.
func Decode(file string, data []byte, out any, opts ...Option) error {
	_, err := DecodeSource(file, data, out, opts...)
	return err
}

// DecodeSource is [Decode] and returns the positions of the file as well, for
// later checks of what the values mean. When only the decoding failed, but the
// file is YAML, there is a source along with the error.
func DecodeSource(file string, data []byte, out any, opts ...Option) (*Source, error) {
	n, c := parse(file, data, opts)
	if n == nil {
		return nil, c.err()
	}
	decodeInto(n, out, c)
	return &Source{n}, c.err()
}

// Parse reads a YAML file without decoding it.
func Parse(file string, data []byte, opts ...Option) (*Node, error) {
	n, c := parse(file, data, opts)
	if err := c.err(); err != nil {
		return nil, err
	}
	return n, nil
}

// DecodeNode decodes a node into the value that out points to.
func DecodeNode(n *Node, out any) error {
	if n == nil {
		return typeErrorf("there is no node to decode")
	}
	c := &collector{}
	decodeInto(n, out, c)
	return c.err()
}

func decodeInto(n *Node, out any, c *collector) {
	v := reflect.ValueOf(out)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		c.define(typeErrorf("cannot decode into %T: it must be a pointer", out))
		return
	}
	d := &decoder{collector: c, doc: n.doc}
	d.value(n, v.Elem(), &rules{})
}

type decoder struct {
	*collector
	doc *document
}

func (d *decoder) planOf(t reflect.Type) *plan {
	if p, ok := d.doc.types.plans.Load(t); ok {
		return p.(*plan)
	}
	p, err := planOf(t)
	if err != nil {
		d.define(err)
		return nil
	}
	d.doc.types.plans.Store(t, p)
	return p
}

// value decodes n into v, which is settable, and then checks it.
func (d *decoder) value(n *Node, v reflect.Value, r *rules) {
	before := d.count
	if n.Kind() == Null {
		d.add(n.Want(""))
		return
	}
	if v.Kind() == reflect.Pointer && v.Type().Elem() != nodeType {
		fresh := reflect.New(v.Type().Elem())
		if !v.IsNil() {
			fresh.Elem().Set(v.Elem())
		}
		d.value(n, fresh.Elem(), r)
		v.Set(fresh)
		return
	}
	t := d.doc.types.traitsOf(v.Type())
	if !t.special || !d.special(n, v, r) {
		d.form(n, v, t, r)
	}
	if t.checker && d.count == before && d.def == nil {
		if err := v.Addr().Interface().(Checker).CheckYAMLX(n); err != nil {
			d.adopt(err, n.Pos(), n.Path())
		}
	}
}

// special decodes into a type whose values have a form of their own; false when
// v has none.
func (d *decoder) special(n *Node, v reflect.Value, r *rules) bool {
	switch v.Type() {
	case nodeType:
		v.Set(reflect.ValueOf(*n))
		return true
	case reflect.PointerTo(nodeType):
		v.Set(reflect.ValueOf(n))
		return true
	case scalarType:
		if !n.IsScalar() {
			d.add(n.Want("a string, a number or a boolean"))
			return true
		}
		v.SetString(n.Text())
		return true
	case durationType, sizeType:
		d.quantity(n, v, r)
		return true
	}
	switch own := v.Addr().Interface().(type) {
	case ruled:
		own.decodeRuled(d, n, r)
		return true
	case Unmarshaler:
		if err := own.UnmarshalYAMLX(n); err != nil {
			d.adopt(err, n.Pos(), n.Path())
		}
		return true
	case encoding.TextUnmarshaler:
		if text, ok := d.text(n); ok {
			if err := own.UnmarshalText([]byte(text)); err != nil {
				d.adopt(err, n.Pos(), n.Path())
			}
		}
		return true
	}
	return false
}

// form decodes by the kind of v.
func (d *decoder) form(n *Node, v reflect.Value, t *traits, r *rules) {
	switch v.Kind() {
	case reflect.Bool:
		switch text := n.Text(); {
		case n.Kind() == Bool:
			v.SetBool(text[0] == 't' || text[0] == 'T')
		case n.Kind() == String && (text == "on" || text == "off"):
			v.SetBool(text == "on")
		default:
			e := n.Want("true or false")
			if n.Kind() == String {
				e.Suggestion = boolMeant(text)
			}
			d.add(e)
		}
	case reflect.String:
		d.str(n, v, t, r)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		d.integer(n, v, r)
	case reflect.Float32, reflect.Float64:
		d.float(n, v, r)
	case reflect.Slice:
		d.list(n, v, r)
	case reflect.Map:
		d.table(n, v, r)
	case reflect.Struct:
		d.structure(n, v)
	case reflect.Interface:
		if v.NumMethod() > 0 {
			d.define(typeErrorf("no YAML gives a %v", v.Type()))
			return
		}
		if x := d.any(n); x != nil {
			v.Set(reflect.ValueOf(x))
		}
	default:
		d.define(typeErrorf("no YAML gives a %v", v.Type()))
	}
}

// boolMeant maps the booleans of YAML 1.1 to those of 1.2.
func boolMeant(text string) string {
	switch text {
	case "yes", "Yes", "YES", "y", "Y", "enabled", "enable", "On", "ON":
		return "true"
	case "no", "No", "NO", "n", "N", "disabled", "disable", "Off", "OFF":
		return "false"
	}
	meant, _ := suggest.Nearest(text, []string{"true", "false", "on", "off"})
	return meant
}

// text returns the text of a string node.
func (d *decoder) text(n *Node) (string, bool) {
	if n.Kind() != String {
		e := n.Want("a string")
		if n.IsScalar() {
			e.Hint = "put it in quotes: " + quote(n.Text())
		}
		d.add(e)
		return "", false
	}
	return n.Text(), true
}

func (d *decoder) str(n *Node, v reflect.Value, t *traits, r *rules) {
	text, ok := d.text(n)
	if !ok {
		return
	}
	allowed := r.enum
	if t.isEnum {
		allowed = t.enum
	}
	switch {
	case allowed != nil && !slices.Contains(allowed, text):
		d.add(n.WantOneOf(allowed))
	case r.pattern != nil && !r.pattern.MatchString(text):
		d.add(n.Want("a string that matches " + r.pattern.String()))
	case d.within(n, v.Type(), float64(utf8.RuneCountInString(text)), "characters", r):
		v.SetString(text)
	}
}

// enumOf returns the values of a type that implements [Enum].
func enumOf(t reflect.Type) ([]string, bool) {
	if !reflect.PointerTo(t).Implements(enumType) {
		return nil, false
	}
	return reflect.New(t).Interface().(Enum).Values(), true
}

// within checks a value, or a count of units, against min= and max=.
func (d *decoder) within(n *Node, t reflect.Type, value float64, units string, r *rules) bool {
	if r.min == "" && r.max == "" {
		return true
	}
	for _, b := range []struct {
		bound, words string
		sign         float64
	}{{r.min, "at least", 1}, {r.max, "at most", -1}} {
		if b.bound == "" {
			continue
		}
		limit, err := boundOf(t, b.bound)
		if err != nil {
			d.define(err) // found by applicable already, save for DecodeNode on a bare type
			return false
		}
		if (value-limit)*b.sign >= 0 {
			continue
		}
		e := n.Want(b.words + " " + b.bound)
		if units != "" {
			e.Found = strconv.FormatFloat(value, 'f', -1, 64) + " " + units
			if value == 1 {
				e.Found = "1 " + singular(units)
			}
			if n.Kind() == String && n.Text() == "" {
				e.Found = n.Describe()
				e.Expected += " " + units
				if limit == 1 {
					e.Expected = b.words + " 1 " + singular(units)
				}
			}
		}
		d.add(e)
		return false
	}
	return true
}

func singular(units string) string {
	if units == "entries" {
		return "entry"
	}
	return units[:len(units)-1]
}

// Only the plain decimal notations are read: 010 is eight to one YAML reader
// and ten to the next, and 0x10, 1_000 and 12e3 are not worth that doubt.
var (
	wholeNumber = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]{0,19})$`)
	realNumber  = regexp.MustCompile(`^[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?$`)
)

func (d *decoder) integer(n *Node, v reflect.Value, r *rules) {
	if n.Kind() != Number || !wholeNumber.MatchString(n.Text()) {
		d.add(n.Want("a whole number"))
		return
	}
	text := n.Text()
	if text[0] == '+' {
		text = text[1:]
	}
	fits := false
	var value float64
	if v.CanInt() {
		i, err := strconv.ParseInt(text, 10, 64)
		if fits = err == nil && !v.OverflowInt(i); fits {
			v.SetInt(i)
			value = float64(i)
		}
	} else {
		if text == "-0" {
			text = "0"
		}
		u, err := strconv.ParseUint(text, 10, 64)
		if fits = err == nil && !v.OverflowUint(u); fits {
			v.SetUint(u)
			value = float64(u)
		}
	}
	if !fits {
		low, high := rangeOf(v.Type())
		low, high = cmp.Or(r.min, low), cmp.Or(r.max, high)
		d.add(n.Want("a number from " + low + " to " + high))
		return
	}
	d.within(n, v.Type(), value, "", r)
}

// rangeOf returns the smallest and the largest number of an integer type.
func rangeOf(t reflect.Type) (low, high string) {
	bits := t.Bits()
	switch t.Kind() {
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "0", strconv.FormatUint(math.MaxUint64>>(64-bits), 10)
	}
	return strconv.FormatInt(math.MinInt64>>(64-bits), 10), strconv.FormatInt(math.MaxInt64>>(64-bits), 10)
}

func (d *decoder) float(n *Node, v reflect.Value, r *rules) {
	if n.Kind() != Number || !realNumber.MatchString(n.Text()) {
		d.add(n.Want("a number"))
		return
	}
	f, err := strconv.ParseFloat(n.Text(), v.Type().Bits())
	if err != nil {
		d.add(n.Want("a number that fits " + strconv.Itoa(v.Type().Bits()) + " bits"))
		return
	}
	if d.within(n, v.Type(), f, "", r) {
		v.SetFloat(f)
	}
}

// quantity decodes a [time.Duration] or a [Size].
func (d *decoder) quantity(n *Node, v reflect.Value, r *rules) {
	var value int64
	var err error
	want := `a duration such as "90s" or "1h30m"`
	if v.Type() == sizeType {
		want = `a size such as "20GB" or "512MiB"`
		var s Size
		switch {
		case n.Kind() == String:
			s, err = ParseSize(n.Text())
		case n.Kind() == Number && wholeNumber.MatchString(n.Text()):
			s, err = ParseSize(n.Text())
		default:
			err = errNotQuantity
		}
		value = int64(s)
	} else if n.Kind() == String {
		var t time.Duration
		t, err = ParseDuration(n.Text())
		value = int64(t)
	} else {
		err = errNotQuantity
	}
	if err != nil {
		e := n.Want(want)
		if errors.Is(err, errQuantityRange) {
			e.Hint = err.Error()
		}
		d.add(e)
		return
	}
	if d.within(n, v.Type(), float64(value), "", r) {
		v.SetInt(value)
	}
}

func (d *decoder) list(n *Node, v reflect.Value, r *rules) {
	if n.Kind() != List {
		d.add(n.Want("a list"))
		return
	}
	items := n.Items()
	if !d.within(n, v.Type(), float64(len(items)), "entries", r) {
		return
	}
	elem := &rules{enum: r.enum, pattern: r.pattern}
	out := reflect.MakeSlice(v.Type(), len(items), len(items))
	var first map[string]int
	if r.unique {
		first = make(map[string]int, len(items))
	}
	for i, item := range items {
		d.value(item, out.Index(i), elem)
		if !r.unique || item.Kind() != String {
			continue
		}
		if line, twice := first[item.Text()]; twice {
			d.add(item.Errorf("%s stands on line %d already", quote(item.Text()), line))
		} else {
			first[item.Text()] = item.Pos().Line
		}
	}
	v.Set(out)
}

func (d *decoder) table(n *Node, v reflect.Value, r *rules) {
	t := v.Type()
	if t.Key().Kind() != reflect.String {
		d.define(typeErrorf("no YAML gives a %v: its keys are not strings", t))
		return
	}
	if n.Kind() != Map {
		d.add(n.Want("a mapping"))
		return
	}
	entries := n.Entries()
	if !d.within(n, t, float64(len(entries)), "entries", r) {
		return
	}
	out := reflect.MakeMapWithSize(t, len(entries))
	for old := v.MapRange(); v.Len() > 0 && old.Next(); {
		out.SetMapIndex(old.Key(), old.Value())
	}
	elem := &rules{enum: r.enum, pattern: r.pattern}
	for _, entry := range entries {
		d.mapKey(entry, t.Key(), r)
		x := reflect.New(t.Elem()).Elem()
		d.value(entry, x, elem)
		out.SetMapIndex(reflect.ValueOf(entry.Key()).Convert(t.Key()), x)
	}
	v.Set(out)
}

// mapKey checks the key of an entry of a map.
func (d *decoder) mapKey(entry *Node, t reflect.Type, r *rules) {
	traits := d.doc.types.traitsOf(t)
	allowed, isEnum := traits.enum, traits.isEnum
	if !isEnum && r.keys == nil {
		return
	}
	e := entry.at(entry.KeyPos())
	e.Found = quote(entry.Key())
	switch {
	case isEnum && !slices.Contains(allowed, entry.Key()):
		e.Msg = "unknown key " + e.Found + in(entry.parent.Path())
		e.Expected = oneOf(allowed)
		e.Suggestion, _ = suggest.Nearest(entry.Key(), allowed)
		if e.Suggestion == "" {
			e.Hint = "expected " + e.Expected
		}
	case r.keys != nil && !r.keys.MatchString(entry.Key()):
		e.Expected = "a key that matches " + r.keys.String()
	default:
		return
	}
	d.add(e)
}

func (d *decoder) structure(n *Node, v reflect.Value) {
	p := d.planOf(v.Type())
	if p == nil {
		return
	}
	if n.Kind() != Map {
		d.add(n.Want("a mapping"))
		return
	}
	if p.pos != nil {
		v.FieldByIndex(p.pos).Set(reflect.ValueOf(n.Pos()))
	}
	entries := n.Entries()
	present := make([]bool, len(p.fields))
	unknown := 0
	for _, entry := range entries {
		i, ok := p.byName[entry.Key()]
		if !ok {
			unknown++
			d.unknown(entry, p.names)
			continue
		}
		present[i] = true
		f := &p.fields[i]
		d.value(entry, v.FieldByIndex(f.index), &f.rules)
	}
	if p.onekey && len(entries) != 1 {
		e := n.Want("exactly one of the keys " + suggest.List(p.names, 16))
		e.Found = strconv.Itoa(len(entries)) + " keys"
		d.add(e)
	}
	for i := range p.fields {
		if f := &p.fields[i]; f.rules.required && !present[i] {
			e := n.at(n.KeyPos())
			e.Msg = "missing required key " + quote(f.name) + in(n.Path())
			e.Found, e.Expected = "nothing", "the key "+quote(f.name)
			d.add(e)
		}
	}
}

func (d *decoder) unknown(entry *Node, names []string) {
	e := entry.at(entry.KeyPos())
	e.Msg = "unknown key " + quote(entry.Key()) + in(entry.parent.Path())
	e.Found, e.Expected = quote(entry.Key()), oneOf(names)
	if e.Suggestion, _ = suggest.Nearest(entry.Key(), names); e.Suggestion == "" {
		e.Hint = "expected " + e.Expected
	}
	d.add(e)
}

// any decodes into what encoding/json would give: map[string]any, []any,
// string, bool, float64; whole numbers that fit become int64.
func (d *decoder) any(n *Node) any {
	switch n.Kind() {
	case Bool:
		return n.Text()[0] == 't' || n.Text()[0] == 'T'
	case String:
		return n.Text()
	case Number:
		if wholeNumber.MatchString(n.Text()) {
			if i, err := strconv.ParseInt(n.Text(), 10, 64); err == nil {
				return i
			}
		}
		if realNumber.MatchString(n.Text()) {
			if f, err := strconv.ParseFloat(n.Text(), 64); err == nil {
				return f
			}
		}
		d.add(n.Want("a decimal number"))
	case Null:
		d.add(n.Want(""))
	case List:
		items := n.Items()
		out := make([]any, len(items))
		for i, item := range items {
			out[i] = d.any(item)
		}
		return out
	case Map:
		out := map[string]any{}
		for _, entry := range n.Entries() {
			out[entry.Key()] = d.any(entry)
		}
		return out
	}
	return nil
}
