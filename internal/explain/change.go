package explain

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Input is the kind of an input.
type Input string

// The kinds of inputs, the weightiest first: a change of a kind often brings
// changes of those behind it along.
const (
	Salt       Input = "salt"       // how stonemason makes keys
	Provider   Input = "provider"   // how the component is obtained
	Recipe     Input = "recipe"     // by which recipe
	Version    Input = "version"    // of the component
	Patch      Input = "patch"      // the bytes of a patch
	Source     Input = "source"     // the bytes of a source, or what is taken of it
	Step       Input = "step"       // a value of a step
	Dependency Input = "dependency" // that something is needed, or is no more
	Compiler   Input = "compiler"   // a compiler of the build machine
	LLVM       Input = "llvm"       // the LLVM of the build machine
	SDK        Input = "sdk"        // the SDK of the build machine
	Tool       Input = "tool"       // another program of the build machine
	Env        Input = "env"        // the environment of the steps
	Rules      Input = "rules"      // slices, checks and exceptions
	Other      Input = "other"
)

func inputs() []Input {
	return []Input{Salt, Provider, Recipe, Version, Patch, Source, Step, Dependency, Compiler, LLVM, SDK, Tool, Env, Rules, Other}
}

func (i Input) rank() int { return slices.Index(inputs(), i) }

// Change is an input that differs. Old is empty for one that was added, New
// for one that went away; Had and Has tell an empty value from an absent one.
type Change struct {
	Input Input `json:"input"`
	// Name is what changed, as a person calls it: the file of a patch, the
	// name of a source, the field of a step (defines.NAME), a program.
	Name string `json:"name"`
	// Step is the name of the step that the field belongs to.
	Step string `json:"step,omitempty"`
	Old  string `json:"old,omitempty"`
	New  string `json:"new,omitempty"`
	Had  bool   `json:"had"`
	Has  bool   `json:"has"`
}

// Subject names what changed: "patch 0001-x.patch", "step configure,
// defines.NAME".
func (c Change) Subject() string {
	switch c.Input {
	case Step:
		if c.Name == "" {
			return "step " + clean(c.Step)
		}
		return "step " + clean(c.Step) + ", " + clean(c.Name)
	case Patch, Dependency:
		return string(c.Input) + " " + clean(c.Name)
	case Source:
		if strings.HasPrefix(c.Name, "workspace ") {
			return clean(c.Name)
		}
		return "source " + clean(c.Name)
	}
	return clean(c.Name)
}

// Phrase is the change in a few words, without values.
func (c Change) Phrase() string {
	verb := "changed"
	switch {
	case !c.Had:
		verb = "added"
	case !c.Has:
		verb = "removed"
	}
	switch {
	case c.Input == Dependency && !c.Had:
		return "it needs " + clean(c.Name) + " now"
	case c.Input == Dependency:
		return "it needs " + clean(c.Name) + " no more"
	case c.Input == Step && c.Name != "":
		return clean(c.Name) + " of step " + clean(c.Step) + " changed"
	case c.Input == Version:
		old, fresh := shorten(c.Old, c.New)
		return fmt.Sprintf("version %s → %s", orNone(old), orNone(fresh))
	case c.Input == Env:
		return "the environment changed"
	}
	return c.Subject() + " " + verb
}

// Values are the old and the new value, fit for one line: what is long is cut
// where both are the same.
func (c Change) Values() string {
	old, fresh := shorten(c.Old, c.New)
	switch {
	case !c.Had:
		return "added " + orNothing(fresh)
	case !c.Has:
		return "removed, was " + orNothing(old)
	}
	return orNothing(old) + " → " + orNothing(fresh)
}

// String is the change as a line: "step configure, defines.NAME: a → b".
func (c Change) String() string { return c.Subject() + ": " + c.Values() }

func orNothing(s string) string {
	if s == "" {
		return `""`
	}
	return s
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// changes lists in what the lines of two keys differ, the contents of needs
// apart (what is needed no more is a change all the same).
func changes(old, fresh map[string]string, n *Node) []Change {
	if old["salt"] != fresh["salt"] {
		// Lines of another salt mean other things.
		return []Change{{Input: Salt, Name: "stonemason's keys", Old: old["salt"], New: fresh["salt"], Had: true, Has: true}}
	}
	was, is := sorted(old), sorted(fresh)
	var all []Change
	add := func(name, oldValue, newValue string, had, has bool) {
		if c, ok := describe(name, n); ok {
			c.Old, c.New, c.Had, c.Has = oldValue, newValue, had, has
			all = append(all, c)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(union(was.steps, is.steps))) {
		_, had := was.steps[name]
		_, has := is.steps[name]
		if had && has {
			continue
		}
		c := Change{Input: Step, Step: name, Had: had, Has: has, Old: was.steps[name], New: is.steps[name]}
		all = append(all, c)
		was.drop("step."+name+".", !has)
		is.drop("step."+name+".", !had)
	}
	if order(was.order, is.steps) != order(is.order, was.steps) {
		all = append(all, Change{Input: Step, Step: "order", Old: order(was.order, is.steps), New: order(is.order, was.steps), Had: true, Has: true})
	}
	for _, name := range slices.Sorted(maps.Keys(union(was.values, is.values))) {
		o, had := was.values[name]
		f, has := is.values[name]
		// An empty list is a line of its own: what came in its place is told
		// below.
		if _, list := is.lists[name]; list && o == "[]" && !has {
			continue
		}
		if _, list := was.lists[name]; list && f == "[]" && !had {
			continue
		}
		if empty(o, f, had, has, name, was.values, is.values) {
			continue
		}
		if o != f || had != has {
			add(name, o, f, had, has)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(union(was.lists, is.lists))) {
		for _, d := range align(was.lists[name], is.lists[name]) {
			if d.old == nil || d.fresh == nil || len(d.old) == 1 && len(d.fresh) == 1 {
				add(name, text(d.old), text(d.fresh), d.old != nil, d.fresh != nil)
				continue
			}
			for _, field := range slices.Sorted(maps.Keys(union(d.old, d.fresh))) {
				o, had := d.old[field]
				f, has := d.fresh[field]
				if o != f || had != has {
					add(fmt.Sprintf("%s[%d].%s", name, d.index, field), o, f, had, has)
				}
			}
		}
	}
	return all
}

// withoutDerived leaves out what a step makes of its values and of what is
// needed, where those have changed themselves: the arguments and the toolchain
// file of a configure step.
func withoutDerived(all []Change) []Change {
	derived := func(c Change) bool { return c.Input == Step && (c.Name == "argv" || c.Name == "toolchain") }
	cause := map[string]bool{}
	needs := false
	for _, c := range all {
		needs = needs || c.Input == Dependency
		if c.Input == Step && !derived(c) {
			cause[c.Step] = true
		}
	}
	return slices.DeleteFunc(all, func(c Change) bool { return derived(c) && (cause[c.Step] || needs) })
}

// empty reports whether a line is only the mark of an empty mapping, beside
// which the entries of the other key tell the difference.
func empty(o, f string, had, has bool, name string, was, is map[string]string) bool {
	filled := func(values map[string]string) bool {
		for other := range values {
			if strings.HasPrefix(other, name+".") {
				return true
			}
		}
		return false
	}
	return had && !has && o == "{}" && filled(is) || has && !had && f == "{}" && filled(was)
}

// describe gives a line's name its kind and a person's name; ok is false for
// the contents of what is needed.
func describe(name string, n *Node) (c Change, ok bool) {
	head, rest, _ := strings.Cut(name, ".")
	c = Change{Input: Other, Name: name}
	switch head {
	case "provider", "recipe", "version":
		c.Input = Input(head)
	case "patch":
		c.Input, c.Name = Patch, rest
	case "source":
		index, field, _ := strings.Cut(rest, ".")
		c.Input, c.Name = Source, index
		if i, err := strconv.Atoi(index); err == nil && i >= 0 && i < len(n.Sources) {
			c.Name = n.Sources[i]
		}
		if field != "id" {
			c.Name += ", " + field
		}
	case "step":
		c.Input = Step
		c.Step, c.Name, _ = strings.Cut(rest, ".")
	case "dep":
		for _, id := range n.Needs {
			if component, _, _ := strings.Cut(id, "@"); component == rest {
				return c, false
			}
		}
		c.Input, c.Name = Dependency, rest
	case "cc":
		c.Input, c.Name = Compiler, "the C compiler"
	case "cxx":
		c.Input, c.Name = Compiler, "the C++ compiler"
	case "llvm":
		c.Input, c.Name = LLVM, "the machine's LLVM"
	case "sdk":
		c.Input, c.Name = SDK, "the SDK"
	case "tool":
		c.Input, c.Name = Tool, "the program "+rest
	case "env":
		c.Input, c.Name = Env, "environment"
	case "slice", "check", "exception":
		c.Input = Rules
	}
	return c, true
}

// sides are the lines of a key by what they say: steps by their names and not
// by their places, lists by their elements.
type sides struct {
	values map[string]string
	lists  map[string]map[int]map[string]string
	steps  map[string]string // name → step type
	order  []string
}

func (s *sides) drop(prefix string, really bool) {
	if !really {
		return
	}
	maps.DeleteFunc(s.values, func(name, _ string) bool { return strings.HasPrefix(name, prefix) })
	maps.DeleteFunc(s.lists, func(name string, _ map[int]map[string]string) bool { return strings.HasPrefix(name, prefix) })
}

func sorted(lines map[string]string) *sides {
	s := &sides{values: map[string]string{}, lists: map[string]map[int]map[string]string{}, steps: map[string]string{}}
	called := map[string]string{} // the place of a step, 03-install, to its name
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		value := lines[name]
		if rest, ok := strings.CutPrefix(name, "step."); ok {
			place, field, _ := strings.Cut(rest, ".")
			if _, step, ok := strings.Cut(place, "-"); ok {
				if called[place] == "" {
					for i := 2; slices.Contains(s.order, step); i++ {
						_, step, _ = strings.Cut(place, "-")
						step = fmt.Sprintf("%s#%d", step, i)
					}
					called[place] = step
					s.order = append(s.order, step)
					s.steps[step] = lines["step."+place+".uses"]
				}
				if field == "salt" {
					continue // the key's own is enough
				}
				name = "step." + called[place] + "." + field
			}
		}
		base, index, field, ok := element(name)
		if !ok {
			s.values[name] = value
			continue
		}
		if s.lists[base] == nil {
			s.lists[base] = map[int]map[string]string{}
		}
		if s.lists[base][index] == nil {
			s.lists[base][index] = map[string]string{}
		}
		s.lists[base][index][field] = value
	}
	return s
}

// element takes the name of a line of a list's element apart: flags.001, or
// items.000.from.
func element(name string) (base string, index int, field string, ok bool) {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		if i == 0 || len(p) < 3 || strings.Trim(p, "0123456789") != "" {
			continue
		}
		if index, err := strconv.Atoi(p); err == nil {
			return strings.Join(parts[:i], "."), index, strings.Join(parts[i+1:], "."), true
		}
	}
	return "", 0, "", false
}

// order is the sequence of the steps that both keys have.
func order(names []string, both map[string]string) string {
	var kept []string
	for _, n := range names {
		if _, ok := both[n]; ok {
			kept = append(kept, n)
		}
	}
	return strings.Join(kept, ", ")
}

func union[K comparable, V any](a, b map[K]V) map[K]bool {
	all := make(map[K]bool, len(a)+len(b))
	for k := range a {
		all[k] = true
	}
	for k := range b {
		all[k] = true
	}
	return all
}
