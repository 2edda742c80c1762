package plan

import (
	"maps"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/internal/step"
)

// prepared is what of a recipe is the same for all of its nodes. Its values are
// shared by them, and for reading only.
type prepared struct {
	*spec.Recipe
	params   []string // the names of its parameters, sorted
	defaults map[string]plain
	steps    [][]plain // the values of each step, by name
}

// plain is a value without its place in a file, or why there is none.
type plain struct {
	name  string
	value any
	err   error
}

func prepare(r *spec.Recipe) *prepared {
	p := &prepared{Recipe: r, params: slices.Sorted(maps.Keys(r.Params)), defaults: map[string]plain{}}
	for name, param := range r.Params {
		if param.Default != nil {
			v, err := typed(param.Type, param.Default)
			p.defaults[name] = plain{name, v, err}
		}
	}
	for _, decl := range r.Steps {
		var with []plain
		for _, name := range slices.Sorted(maps.Keys(decl.With)) {
			v, err := spec.Plain(decl.With[name])
			with = append(with, plain{name, v, err})
		}
		p.steps = append(p.steps, with)
	}
	return p
}

// nextReference finds the first ${name} in a text: it stands at text[at:end].
// Names hold no braces.
func nextReference(text string) (at, end int, name string, ok bool) {
	for from := 0; ; from = at + 2 {
		i := strings.Index(text[from:], "${")
		if i < 0 {
			return 0, 0, "", false
		}
		at = from + i
		length := strings.IndexAny(text[at+2:], "{}")
		if length < 0 {
			return 0, 0, "", false
		}
		if end = at + 2 + length; text[end] == '}' {
			return at, end + 1, text[at+2 : end], true
		}
	}
}

// fill replaces the references in a text, but for those to variables of the
// running step. The error is that of the last one that cannot be replaced.
func fill(text string, value func(name string) (string, error)) (string, error) {
	var failed error
	var out strings.Builder
	for {
		at, end, name, ok := nextReference(text)
		if !ok {
			break
		}
		out.WriteString(text[:at])
		is := text[at:end]
		if !step.IsVariable(name) {
			if v, err := value(name); err != nil {
				failed = err
			} else {
				is = v
			}
		}
		out.WriteString(is)
		text = text[end:]
	}
	out.WriteString(text)
	return out.String(), failed
}
