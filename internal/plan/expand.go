package plan

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/internal/step"
	"github.com/stonemason-hip/stonemason/internal/suggest"
	"github.com/stonemason-hip/stonemason/internal/yamlx"
)

// expandSteps turns a recipe into the steps of a node: parameters and what
// the plan knows are filled in, variables of the running step stay.
func (r *resolver) expandSteps(n *Node, c *spec.Component, p *spec.Provider, recipe *prepared) error {
	scope, err := r.params(n, c, p, recipe)
	if err != nil {
		return err
	}
	n.Steps = make([]Step, 0, len(recipe.Steps))
	for i, decl := range recipe.Steps {
		if !slices.Contains(r.uses, decl.Uses) {
			msg := fmt.Sprintf("unknown step type %q", decl.Uses)
			if near, ok := suggest.Nearest(decl.Uses, step.Names()); ok {
				msg += fmt.Sprintf(": did you mean %q?", near)
			}
			return located(recipe.At(fmt.Sprintf("steps[%d].uses", i)), "%s", msg)
		}
		if decl.If != "" {
			on, err := scope.truth(decl.If)
			if err != nil {
				return located(recipe.At(fmt.Sprintf("steps[%d].if", i)), "%v", err)
			}
			if !on {
				continue
			}
		}
		with := make(map[string]any, len(decl.With))
		for _, plain := range recipe.steps[i] {
			if plain.err != nil {
				return plain.err
			}
			v, err := scope.expand(plain.value)
			if err != nil {
				return located(decl.With[plain.name].Pos(), "%s: %v", plain.name, err)
			}
			if v != nil {
				with[plain.name] = v
			}
		}
		s := Step{Name: decl.Name, Uses: decl.Uses, With: with}
		if s.typed, err = r.decode(s); err != nil {
			return located(recipe.At(fmt.Sprintf("steps[%d]", i)), "step %s of recipe %s for component %s: %v", decl.Name, recipe.Name, c.Name, err)
		}
		n.Steps = append(n.Steps, s)
	}
	return nil
}

// Decode makes the typed step and validates it. A step of a resolved graph was
// decoded when the plan was made; it is for reading only.
func (s Step) Decode() (step.Step, error) {
	if s.typed != nil {
		return s.typed, nil
	}
	return s.decode(new(yamlx.Types))
}

func (s Step) decode(types *yamlx.Types) (step.Step, error) {
	typed, err := step.New(s.Uses)
	if err != nil {
		return nil, err
	}
	with := s.With
	if with == nil { // as a step without values comes back from JSON
		with = map[string]any{}
	}
	node, ok := yamlx.FromPlain(with, yamlx.Shared(types))
	if !ok {
		return nil, fmt.Errorf("a value of step %s is neither text, switch, list nor mapping", s.Name)
	}
	if err := node.Decode(typed); err != nil {
		// The first mistake is enough, and it has no place in a file.
		var one *yamlx.Error
		if errors.As(err, &one) {
			return nil, one
		}
		return nil, err
	}
	if err := typed.Validate(); err != nil {
		return nil, err
	}
	return typed, nil
}

// decode makes the typed step. Steps without values are the same everywhere.
func (r *resolver) decode(s Step) (step.Step, error) {
	if len(s.With) > 0 {
		return s.decode(&r.types)
	}
	if known, ok := r.bare.Load(s.Uses); ok {
		return known.(step.Step), nil
	}
	typed, err := s.decode(&r.types)
	if err == nil {
		r.bare.Store(s.Uses, typed)
	}
	return typed, err
}

// scope holds what ${name} may stand for at planning time.
type scope map[string]any

// params checks the values a component gives a recipe, and adds defaults and
// the plan's own names.
func (r *resolver) params(n *Node, c *spec.Component, p *spec.Provider, recipe *prepared) (scope, error) {
	s := make(scope, 9+len(recipe.params))
	s["name"], s["version"], s["release"] = c.Name, n.Version, r.graph.Release
	s["channel"], s["host"], s["gpus"] = string(r.graph.Channel), n.Host, toList(r.gpusOf[c])
	if v := r.semver(n.Version); v != nil {
		s["version.major"], s["version.minor"], s["version.patch"] = v[0], v[1], v[2]
	}
	given := maps.Clone(p.With)
	if given == nil {
		given = spec.Values{}
	}
	maps.Copy(given, r.config().Components[c.Name].With)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		node := given[name]
		param, ok := recipe.Params[name]
		if !ok {
			msg := fmt.Sprintf("recipe %s has no parameter %q", recipe.Name, name)
			if near, ok := suggest.Nearest(name, recipe.params); ok {
				msg += fmt.Sprintf(": did you mean %q?", near)
			}
			return nil, located(node.KeyPos(), "%s", msg)
		}
		v, err := typed(param.Type, node)
		if err != nil {
			return nil, err
		}
		if v, err = s.expand(v); err != nil {
			return nil, located(node.Pos(), "%s: %v", name, err)
		}
		s[name] = v
	}
	for _, name := range recipe.params {
		if _, ok := s[name]; ok {
			continue
		}
		fallback, ok := recipe.defaults[name]
		if !ok {
			return nil, located(c.At("providers"), "%s does not say %s, which recipe %s needs", c.Name, name, recipe.Name)
		}
		if fallback.err != nil {
			return nil, fallback.err
		}
		s[name] = fallback.value
	}
	return s, nil
}

// semver are the three numbers of a version; nil when it is none. Many
// components have the same one.
func (r *resolver) semver(version string) *[3]string {
	if known, ok := r.versions.Load(version); ok {
		return known.(*[3]string)
	}
	var numbers *[3]string
	if v, err := semver.NewVersion(version); err == nil {
		numbers = &[3]string{fmt.Sprint(v.Major()), fmt.Sprint(v.Minor()), fmt.Sprint(v.Patch())}
	}
	r.versions.Store(version, numbers)
	return numbers
}

func (r *resolver) gpusFor(c *spec.Component) []string {
	exclude := slices.Concat(c.ExcludeGPUs, r.config().Components[c.Name].ExcludeGPUs)
	if len(exclude) == 0 {
		return r.graph.GPUs
	}
	targets, err := r.table.Expand(r.config().GPUs, exclude)
	if err != nil {
		return r.graph.GPUs // every name was checked, and leaving some out mixes nothing
	}
	var names []string
	for _, t := range targets {
		names = append(names, t.String())
	}
	return names
}

func typed(t spec.ParamType, n *yamlx.Node) (any, error) {
	v, err := spec.Plain(n)
	if err != nil {
		return nil, err
	}
	ok := false
	switch t {
	case spec.StringParam:
		if b, isBool := v.(bool); isBool {
			v = onOff(b)
		}
		_, ok = v.(string)
	case spec.BoolParam:
		var b bool
		if err := n.Decode(&b); err != nil {
			return nil, err
		}
		return b, nil
	case spec.ListParam, spec.RulesParam:
		_, ok = v.([]any)
	case spec.MapParam:
		_, ok = v.(map[string]any)
	}
	if !ok {
		return nil, n.Want("a " + string(t))
	}
	return v, nil
}

// expand replaces references in a value. A string that is one reference
// becomes the value itself, whatever its type; a list element that is a
// reference to a list is spliced.
func (s scope) expand(v any) (any, error) {
	switch v := v.(type) {
	case string:
		if !strings.Contains(v, "${") {
			return v, nil
		}
		if at, end, name, ok := nextReference(v); ok && at == 0 && end == len(v) && !step.IsVariable(name) {
			return s.value(name)
		}
		return s.text(v)
	case []any:
		out := make([]any, 0, len(v))
		for _, e := range v {
			x, err := s.expand(e)
			if err != nil {
				return nil, err
			}
			if list, isList := x.([]any); isList {
				if _, wasText := e.(string); wasText {
					out = append(out, list...)
					continue
				}
			}
			out = append(out, x)
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			x, err := s.expand(e)
			if err != nil {
				return nil, err
			}
			out[k] = x
		}
		return out, nil
	}
	return v, nil
}

func (s scope) text(text string) (string, error) {
	if !strings.Contains(text, "${") {
		return text, nil
	}
	return fill(text, func(name string) (string, error) {
		v, err := s.value(name)
		if err != nil {
			return "", err
		}
		switch v := v.(type) {
		case string:
			return v, nil
		case bool:
			return strings.ToUpper(onOff(v)), nil // CMake's spelling
		case []any:
			var words []string
			for _, w := range v {
				words = append(words, fmt.Sprint(w))
			}
			return strings.Join(words, ";"), nil
		}
		return "", fmt.Errorf("${%s} holds no text", name)
	})
}

func (s scope) value(name string) (any, error) {
	if v, ok := s[name]; ok {
		return v, nil
	}
	// ${name.list} is a list as one CMake argument, ${name} splices it.
	if base, ok := strings.CutSuffix(name, ".list"); ok {
		if _, isList := s[base].([]any); isList {
			return s.text("${" + base + "}")
		}
	}
	known := append(slices.Sorted(maps.Keys(s)), step.Variables()...)
	if near, ok := suggest.Nearest(name, known); ok {
		return nil, fmt.Errorf("${%s} is not known: did you mean ${%s}?", name, near)
	}
	return nil, fmt.Errorf("${%s} is not known here", name)
}

// truth evaluates a step's if: a parameter's name, or not and a name.
func (s scope) truth(cond string) (bool, error) {
	name, negated := strings.CutPrefix(cond, "not ")
	v, err := s.value(strings.TrimSpace(name))
	if err != nil {
		return false, err
	}
	var on bool
	switch v := v.(type) {
	case bool:
		on = v
	case string:
		on = v != ""
	case []any:
		on = len(v) > 0
	case map[string]any:
		on = len(v) > 0
	}
	return on != negated, nil
}

func toList(words []string) []any {
	list := make([]any, 0, len(words))
	for _, w := range words {
		list = append(list, w)
	}
	return list
}
