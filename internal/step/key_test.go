package step

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stonemason-hip/stonemason/internal/key"
)

func keyOf(s Step) key.ID {
	var b key.Builder
	s.Key(&b)
	return b.Key().ID
}

// variants calls f once for every way to change one field of a step, however
// deep: the value has that one change while f runs.
func variants(t *testing.T, path string, v reflect.Value, f func(what string)) {
	t.Helper()
	set := func(what string, to reflect.Value) {
		old := reflect.ValueOf(v.Interface())
		v.Set(to)
		f(path + " " + what)
		v.Set(old)
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			variants(t, path+"."+v.Type().Field(i).Name, v.Field(i), f)
		}
	case reflect.String:
		set("is text", reflect.ValueOf("other").Convert(v.Type()))
		set("has two lines", reflect.ValueOf("a\nb=c").Convert(v.Type()))
	case reflect.Bool:
		set("is flipped", reflect.ValueOf(!v.Bool()))
	case reflect.Slice:
		one := reflect.MakeSlice(v.Type(), 1, 1)
		set("has one element", one)
		set("has two elements", reflect.MakeSlice(v.Type(), 2, 2))
		old := reflect.ValueOf(v.Interface())
		v.Set(one)
		variants(t, path+"[0]", v.Index(0), f)
		v.Set(old)
	case reflect.Map:
		for _, m := range []map[string]string{{"a": ""}, {"a": "b"}, {"a": "b=c"}, {"a=b": "c"}, {"a=b": "c", "a=d": "e"}, {"a\nb": "c"}, {`a"b`: "c"}} {
			set(fmt.Sprint(m), reflect.ValueOf(m))
		}
	default:
		t.Fatalf("%s: a field of kind %s: teach this test and addValue about it", path, v.Kind())
	}
}

// TestEveryFieldIsInTheKey changes every field of every step type, one at a
// time, and finds a key that no other change gave.
func TestEveryFieldIsInTheKey(t *testing.T) {
	for _, typ := range Types() {
		s := typ.New()
		seen := map[key.ID]string{keyOf(s): "nothing changed"}
		variants(t, typ.Name, reflect.ValueOf(s).Elem(), func(what string) {
			id := keyOf(s)
			if other, taken := seen[id]; taken {
				t.Errorf("one key for %q and %q", what, other)
			}
			seen[id] = what
		})
	}
}

// A field without a yaml name could be set by nobody, and would not be keyed.
func TestEveryFieldHasAYAMLName(t *testing.T) {
	var check func(path string, typ reflect.Type)
	check = func(path string, typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Slice, reflect.Pointer:
			check(path, typ.Elem())
		case reflect.Struct:
			for i := range typ.NumField() {
				f := typ.Field(i)
				if tag := f.Tag.Get("yaml"); tag == "" || tag[0] == ',' || tag == "-" || !f.IsExported() {
					t.Errorf("%s.%s has no yaml name: it would not be in the key", path, f.Name)
				}
				check(path+"."+f.Name, f.Type)
			}
		}
	}
	for _, typ := range Types() {
		check(typ.Name, reflect.TypeOf(typ.New()).Elem())
	}
}

// The machine's folders are variables in a step's values: they stay as they
// are written, so that a key is the same in every checkout.
func TestVariablesStayInTheKey(t *testing.T) {
	var b key.Builder
	(&CMake{Source: "${source}/x", Prefixes: []string{"${dep.zstd}"}}).Key(&b)
	lines := key.Parse(b.Key().Text)
	if lines["source"] != "${source}/x" || lines["prefixes.000"] != "${dep.zstd}" {
		t.Errorf("lines are %v", lines)
	}
}
