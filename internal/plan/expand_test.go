package plan

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// recipe is a project whose component a has the recipe r with these parameters
// and values.
func recipe(params, with, steps string) files {
	return files{"recipes/r.yaml": "schema: 1\nname: r\nsummary: test\nparams:\n" + params + "steps:\n" + steps}.
		component("a", "presets: [compiler]", "providers:", "  - kind: source", "    recipe: r", "    with:", with)
}

const params = `  text: {type: string, default: hello}
  flag: {type: bool, default: false}
  list: {type: list, default: []}
  map: {type: map, default: {}}
  rules: {type: rules, default: []}
`

// The one place that says what a reference turns into.
func TestReferencesAreReplaced(t *testing.T) {
	for _, c := range []struct {
		name, with, step string
		want             map[string]any // the step's With
	}{
		{"text inside text", "      text: there", "{name: s, uses: generate, with: {file: x, content: \"say ${text}!\"}}",
			map[string]any{"file": "x", "content": "say there!"}},
		{"a default", "      flag: on", "{name: s, uses: generate, with: {file: x, content: \"${text}\"}}",
			map[string]any{"file": "x", "content": "hello"}},
		{"the plan's own values", "      flag: on", "{name: s, uses: generate, with: {file: \"${name}/${version.major}.${version.minor}\", content: \"${release} ${channel} ${host} ${gpus}\"}}",
			map[string]any{"file": "a/1.2", "content": "1.2.3 debian linux-amd64 gfx942"}},
		{"a list as one value", "      list: [b, a]", "{name: s, uses: ninja, with: {targets: \"${list}\"}}",
			map[string]any{"targets": []any{"b", "a"}}},
		{"a list spliced into a list", "      list: [b, a]", "{name: s, uses: ninja, with: {targets: [first, \"${list}\", last]}}",
			map[string]any{"targets": []any{"first", "b", "a", "last"}}},
		{"a list as one of CMake's", "      list: [b, a]", "{name: s, uses: cmake, with: {source: \"${source}\", defines: {L: \"${list.list}\", M: \"x;${list}\"}}}",
			map[string]any{"source": "${source}", "defines": map[string]any{"L": "b;a", "M": "x;b;a"}}},
		{"a list in a list stays one", "      list: [b, a]", "{name: s, uses: ninja, with: {targets: [\"${list.list}\"]}}",
			map[string]any{"targets": []any{"b;a"}}},
		{"a map as one value", "      map: {K: v}", "{name: s, uses: cmake, with: {source: \"${source}\", defines: \"${map}\"}}",
			map[string]any{"source": "${source}", "defines": map[string]any{"K": "v"}}},
		{"a bool keeps its type alone and is CMake's inside text", "      flag: on", "{name: s, uses: install, with: {strip: \"${flag}\", components: [\"A=${flag}\"]}}",
			map[string]any{"strip": true, "components": []any{"A=ON"}}},
		{"numbers stay as they are written", "      map: {V: 1.10, N: 007}", "{name: s, uses: cmake, with: {source: \"${source}\", defines: \"${map}\"}}",
			map[string]any{"source": "${source}", "defines": map[string]any{"V": "1.10", "N": "007"}}},
		{"what the running step knows stays", "      text: \"${stage}/${jobs}\"", "{name: s, uses: generate, with: {file: x, content: \"${build} ${text}\"}}",
			map[string]any{"file": "x", "content": "${build} ${stage}/${jobs}"}},
		{"a parameter may name the plan's values", "      text: \"v${version}\"", "{name: s, uses: generate, with: {file: x, content: \"${text}\"}}",
			map[string]any{"file": "x", "content": "v1.2.3"}},
		{"what looks like no reference stays", "      text: \"$x $(y) $${}\"", "{name: s, uses: generate, with: {file: x, content: \"$HOME\"}}", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := recipe(params, c.with, "  - "+c.step+"\n")
			if c.want == nil { // ${} names nothing
				if err := f.fails(t); !strings.Contains(err.Error(), "${} is not known") {
					t.Fatal(err)
				}
				return
			}
			n := f.resolve(t).Node("a@linux-amd64")
			if len(n.Steps) != 1 || !reflect.DeepEqual(n.Steps[0].With, c.want) {
				t.Errorf("got %#v\nwant %#v", n.Steps, c.want)
			}
		})
	}
}

// A value that a component gives is text: a reference in it that the recipe
// fills later is not expanded a second time.
func TestValuesAreExpandedOnce(t *testing.T) {
	f := recipe("  a: {type: string}\n  b: {type: string}\n", "      a: \"${name}\"\n      b: two",
		"  - {name: s, uses: generate, with: {file: x, content: \"${a} ${b}\"}}\n")
	if got := f.resolve(t).Node("a@linux-amd64").Steps[0].With["content"]; got != "a two" {
		t.Errorf("got %q", got)
	}
	// b is not known yet when a is filled in: values do not depend on their order.
	f = recipe("  a: {type: string}\n  b: {type: string}\n", "      a: \"${b}\"\n      b: two",
		"  - {name: s, uses: generate, with: {file: x, content: \"${a}\"}}\n")
	if err := f.fails(t); !strings.Contains(err.Error(), "${b} is not known") {
		t.Error(err)
	}
}

func TestConditionsOfSteps(t *testing.T) {
	steps := ""
	for _, cond := range []string{"text", "not text", "flag", "not flag", "list", "not list", "map"} {
		steps += "  - {name: " + strings.ReplaceAll(cond, " ", "-") + ", uses: generate, if: " + cond + ", with: {file: x, content: y}}\n"
	}
	var names []string
	for _, s := range recipe(params, "      map: {A: b}", steps).resolve(t).Node("a@linux-amd64").Steps {
		names = append(names, s.Name)
	}
	if want := []string{"text", "not-flag", "not-list", "map"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}

// therock.yaml's values win over the component's.
func TestTheUsersValuesWin(t *testing.T) {
	f := recipe(params, "      text: component", "  - {name: s, uses: generate, with: {file: x, content: \"${text}\"}}\n")
	f["therock.yaml"] = config("components:\n  a: {with: {text: user}}\n")
	if got := f.resolve(t).Node("a@linux-amd64").Steps[0].With["content"]; got != "user" {
		t.Errorf("got %q", got)
	}
}

// Every component sees the GPUs that it serves.
func TestExcludedGPUsAreLeftOut(t *testing.T) {
	f := recipe(params, "      flag: on", "  - {name: s, uses: ninja, with: {targets: \"${gpus}\"}}\n")
	f["therock.yaml"] = "schema: 1\nversion: \">=1\"\nchannel: debian\ngpus: [gfx942, gfx1100, gfx1201]\nname: x\ncomponents: {a: {exclude_gpus: [gfx1100]}}\n"
	f["components/a.yaml"] += "\nexclude_gpus: [gfx942]\n"
	if got := f.resolve(t).Node("a@linux-amd64").Steps[0].With["targets"]; !reflect.DeepEqual(got, []any{"gfx1201"}) {
		t.Errorf("got %v", got)
	}
}

func TestMistakesInRecipesAreLocated(t *testing.T) {
	step := "  - {name: s, uses: generate, with: {file: x, content: y}}\n"
	for _, c := range []struct{ name, params, with, steps, at, want string }{
		{"unknown step type", params, "      flag: on", "  - {name: s, uses: genrate}\n", "recipes/r.yaml:11:21", `did you mean "generate"?`},
		{"unknown parameter", params, "      txt: x", step, "components/a.yaml:10:7", `recipe r has no parameter "txt": did you mean "text"?`},
		{"wrong type", params, "      list: x", step, "components/a.yaml:10:13", "a list"},
		{"wrong bool", params, "      flag: maybe", step, "components/a.yaml:10:13", "expected true or false"},
		{"missing parameter", "  must: {type: string}\n", "      {}", step, "components/a.yaml:7:3", "a does not say must"},
		{"unknown reference", params, "      flag: on", "  - {name: s, uses: generate, with: {file: x, content: \"${txt}\"}}\n", "recipes/r.yaml:11:56", "${txt} is not known: did you mean ${text}?"},
		{"unknown reference of a component", params, "      text: \"${nam}\"", step, "components/a.yaml:10:13", "did you mean ${name}?"},
		{"unknown condition", params, "      flag: on", "  - {name: s, uses: generate, if: flg, with: {file: x, content: y}}\n", "recipes/r.yaml:11:35", "did you mean ${flag}?"},
		{"a field that the type lacks", params, "      flag: on", "  - {name: s, uses: generate, with: {file: x, contents: y}}\n", "recipes/r.yaml:11:5", `"contents": did you mean "content"?`},
		{"a map in text", params, "      map: {A: b}", "  - {name: s, uses: generate, with: {file: x, content: \"<${map}>\"}}\n", "recipes/r.yaml:11:56", "${map} holds no text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := recipe(c.params, c.with, c.steps).fails(t)
			if place(err) != c.at || !strings.Contains(err.Error(), c.want) {
				t.Errorf("at %q: %v\nwant at %q: %s", place(err), err, c.at, c.want)
			}
		})
	}
}
