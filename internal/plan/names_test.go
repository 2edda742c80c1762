package plan

import (
	"strings"
	"testing"
)

// Whatever a file names must exist; each mistake is found where it stands.
func TestUnknownNamesAreLocated(t *testing.T) {
	base := func(more string) files {
		return files{"therock.yaml": config(more)}.component("alpha", "presets: [compiler]").component("beta")
	}
	with := func(f files, name, text string) files {
		f[name] += text
		return f
	}
	for _, c := range []struct {
		name     string
		f        files
		at, want string
	}{
		{"component", base("components: {alhpa: on}\n"), "therock.yaml:5:21", `unknown component "alhpa": did you mean "alpha"?`},
		{"group", base("groups: {TSET: on}\n"), "therock.yaml:5:16", `unknown group "TSET": did you mean "TEST"?`},
		{"provider", base("components: {alpha: {provider: system}}\n"), "therock.yaml:5:32", `alpha has no provider "system": it has source`},
		{"host", base("hosts: [native, linux-arm46]\n"), "therock.yaml:5:17", `linux-arm64`},
		{"GPU", files{"therock.yaml": "schema: 1\nversion: \">=1\"\ngpus: [gfx942, gfx1l00]\nname: x\nchannel: debian\n"}, "therock.yaml:3:16", "gfx1100"},
		{"no GPU", files{"therock.yaml": "schema: 1\nversion: \">=1\"\ngpus: []\nchannel: debian\n"}, "therock.yaml:3:7", "no GPU is named"},
		{"no name", files{"therock.yaml": "schema: 1\nversion: \">=1\"\ngpus: [gfx942, gfx1100]\nchannel: debian\n"}, "therock.yaml:3:7", "(key name)"},
		{"excluded GPU", base("components: {alpha: {exclude_gpus: [gfx900, gfx9x]}}\n"), "therock.yaml:5:45", `unknown gpu "gfx9x"`},
		{"a component's excluded GPU", with(base(""), "components/beta.yaml", "\nexclude_gpus: [gfx9x]\n"), "components/beta.yaml:7:16", `unknown gpu "gfx9x"`},
		{"need", with(base(""), "components/beta.yaml", "\nneeds: {runtime: [alpha, bta]}\n"), "components/beta.yaml:7:26", `unknown component "bta": did you mean "beta"?`},
		{"condition", with(base(""), "components/beta.yaml", "\nwhen: hots.os == \"linux\"\n"), "components/beta.yaml:7:7", "host.os"},
		{"type in a condition", with(base(""), "components/beta.yaml", "\nwhen: native == \"yes\"\n"), "components/beta.yaml:7:7", "native"},
		{"recipe", with(base(""), "components/gamma.yaml", "schema: 1\nname: gamma\nsummary: s\ngroup: TEST\nproviders: [{kind: source, recipe: cpoy}]\n"), "components/gamma.yaml:5:36", `unknown recipe "cpoy": did you mean "copy"?`},
		{"tool", with(base(""), "components/gamma.yaml", "schema: 1\nname: gamma\nsummary: s\ngroup: TEST\nproviders: [{kind: source, recipe: copy, tools: [c++, cmaek]}]\n"), "components/gamma.yaml:5:55", `unknown tool "cmaek": did you mean "cmake"?`},
		{"cycle", with(with(base(""), "components/alpha.yaml", "\nneeds: {build: [beta]}\n"), "components/beta.yaml", "\nneeds: {runtime: [alpha]}\n"), "components/beta.yaml:7:19", "components need each other: alpha → beta → alpha"},
		{"need of oneself", with(base(""), "components/beta.yaml", "\nneeds: {build: [beta]}\n"), "components/beta.yaml:7:17", "beta → beta"},
		{"cycle through a provider that is not taken", with(with(base(""), "components/beta.yaml", "\nneeds: {build: [gamma]}\n"), "components/gamma.yaml",
			"schema: 1\nname: gamma\nsummary: s\ngroup: TEST\nproviders: [{kind: source, recipe: copy}, {kind: source, recipe: copy, needs: {build: [beta]}}]\n"), "components/gamma.yaml:5:88", "beta → gamma → beta"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.f.fails(t)
			if place(err) != c.at || !strings.Contains(err.Error(), c.want) {
				t.Errorf("at %q: %v\nwant at %q: %s", place(err), err, c.at, c.want)
			}
		})
	}
}

// All mistakes of that kind are reported in one go.
func TestMistakesAreReportedTogether(t *testing.T) {
	err := files{"therock.yaml": config("groups: {NOPE: on}\ncomponents: {nope: on}\n")}.component("a").fails(t)
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 2 || !strings.Contains(lines[0], "NOPE") || !strings.Contains(lines[1], "nope") {
		t.Errorf("got %q", err)
	}
}
