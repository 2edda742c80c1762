package build

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/internal/yamlx"
)

// reachable lists the struct types of a package that a value of a type leads
// to.
func reachable(t reflect.Type, pkg string, found map[reflect.Type]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		reachable(t.Elem(), pkg, found)
	case reflect.Map:
		reachable(t.Key(), pkg, found)
		reachable(t.Elem(), pkg, found)
	case reflect.Struct:
		if t.PkgPath() != pkg || found[t] {
			return
		}
		found[t] = true
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() {
				reachable(f.Type, pkg, found)
			}
		}
	}
}

// checked are the types whose fields the tests of this file go through.
func checked() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[plan.Node](), reflect.TypeFor[plan.Source](), reflect.TypeFor[plan.Patch](), reflect.TypeFor[plan.Step](),
		reflect.TypeFor[spec.SliceRule](), reflect.TypeFor[spec.Check](), reflect.TypeFor[spec.Exception](),
		reflect.TypeFor[spec.Component](), reflect.TypeFor[spec.Provider](), reflect.TypeFor[spec.SourceRef](), reflect.TypeFor[spec.Needs](),
		reflect.TypeFor[spec.Config](), reflect.TypeFor[spec.Toggle](), reflect.TypeFor[spec.Recipe](), reflect.TypeFor[spec.Param](), reflect.TypeFor[spec.StepDecl](),
		reflect.TypeFor[spec.Release](), reflect.TypeFor[spec.Pin](), reflect.TypeFor[spec.DebianPin](), reflect.TypeFor[spec.PackageSet](), reflect.TypeFor[spec.LockedSet](), reflect.TypeFor[spec.LockedSource](),
	}
}

// A new type is thought about, as a new field is.
func TestEveryTypeIsCheckedOrHarmless(t *testing.T) {
	harmless := map[reflect.Type]string{
		reflect.TypeFor[spec.Project]():      "holds the files; Root is where they lie",
		reflect.TypeFor[spec.Releases]():     "the table; its rows are checked",
		reflect.TypeFor[spec.Repository]():   "addresses; the commit says what the bytes are",
		reflect.TypeFor[spec.Lock]():         "holds the channels; its sources are checked",
		reflect.TypeFor[spec.Cache]():        "where results are kept, and how many",
		reflect.TypeFor[spec.Budget]():       "how quickly, not what",
		reflect.TypeFor[spec.Estimate]():     "what was expected changes no result",
		reflect.TypeFor[plan.Graph]():        "holds the nodes; release, channel, hosts and GPUs are in their steps where they are used",
		reflect.TypeFor[plan.Estimate]():     "what was expected changes no result",
		reflect.TypeFor[plan.SkippedPatch](): "was not applied",
	}
	found := map[reflect.Type]bool{}
	reachable(reflect.TypeFor[spec.Project](), reflect.TypeFor[spec.Project]().PkgPath(), found)
	reachable(reflect.TypeFor[plan.Graph](), reflect.TypeFor[plan.Graph]().PkgPath(), found)
	for typ := range found {
		if slices.Contains(checked(), typ) == (harmless[typ] != "") {
			t.Errorf("%s: its fields must be gone through by a test of this file, or it must be known why it is harmless", typ)
		}
	}
	for typ := range harmless {
		if !found[typ] {
			t.Errorf("%s is in no project and no plan", typ)
		}
	}
}

func TestEveryFieldOfTheConfigurationReachesTheKeyOrIsHarmless(t *testing.T) {
	checkProject(t, func(p *spec.Project) *spec.Config { return p.Config }, map[string]func(*spec.Config){
		"Version":    func(c *spec.Config) { c.Version = ">=2" },
		"Channel":    func(c *spec.Config) { c.Channel = spec.Upstream },
		"Hosts":      func(c *spec.Config) { c.Hosts = []string{"linux-arm64"} },
		"GPUs":       func(c *spec.Config) { c.GPUs = []string{"gfx942"} },
		"Components": func(c *spec.Config) { c.Components = map[string]spec.Toggle{"a": {Workspace: "one"}} },
	}, map[string]string{
		"Schema":    "the number of the file format",
		"Name":      "of the bundle",
		"Preset":    "only switches",
		"Groups":    "only switches",
		"Cache":     "where results are kept, and how many",
		"Mirrors":   "the hash or commit says what the bytes are",
		"Budget":    "how quickly, not what",
		"Isolation": "keeps out what is in no key, and changes no result",
	})
}

func TestEveryFieldOfAToggleReachesTheKeyOrIsHarmless(t *testing.T) {
	// A toggle is a value in a map: each change puts one there.
	k := newKeyed(t)
	was := componentKey(t, k, project(t))
	changes := map[string]func(*spec.Toggle){
		"Provider":    func(c *spec.Toggle) { c.Provider = spec.System },
		"Workspace":   func(c *spec.Toggle) { c.Workspace = "one" },
		"ExcludeGPUs": func(c *spec.Toggle) { c.ExcludeGPUs = []string{"gfx1100"} },
		"With":        func(c *spec.Toggle) { c.With = values(t, "text: y") },
	}
	for _, name := range fieldsOf(reflect.TypeFor[spec.Toggle]()) {
		if name == "Enabled" { // only switches
			continue
		}
		p := project(t)
		p.Components["a"].Providers = append(p.Components["a"].Providers, spec.Provider{Kind: spec.System, Recipe: "r"})
		var one spec.Toggle
		if changes[name] == nil {
			t.Fatalf("spec.Toggle.%s: it must be known how it changes the key", name)
		}
		changes[name](&one)
		p.Config.Components = map[string]spec.Toggle{"a": one}
		if componentKey(t, k, p) == was {
			t.Errorf("spec.Toggle.%s: another value gives the same key", name)
		}
	}
}

func TestEveryFieldOfARecipeReachesTheKeyOrIsHarmless(t *testing.T) {
	node := func(text string) *yamlx.Node { return values(t, "x: "+text)["x"] }
	checkProject(t, func(p *spec.Project) *spec.Recipe { return p.Recipes["r"] }, map[string]func(*spec.Recipe){
		"Params": func(r *spec.Recipe) { r.Params["text"] = spec.Param{Type: spec.StringParam, Default: node("z")} },
		"Steps":  func(r *spec.Recipe) { r.Steps = append(r.Steps, spec.StepDecl{Name: "t", Uses: "audit"}) },
	}, map[string]string{
		"Schema":  "the number of the file format",
		"Name":    "components name recipes by it: see Provider",
		"Summary": "only shown",
		"Outcome": "the word for a success in the summary",
	})
	// A parameter is a value in a map too; its type decides how its value is
	// read, and with what is read the steps are made.
	checkProject(t, func(p *spec.Project) *spec.StepDecl { return &p.Recipes["r"].Steps[0] }, map[string]func(*spec.StepDecl){
		"Name": func(s *spec.StepDecl) { s.Name = "other" },
		"Uses": func(s *spec.StepDecl) { s.Uses, s.With = "audit", nil },
		"If":   func(s *spec.StepDecl) { s.If = "not text" },
		"With": func(s *spec.StepDecl) { s.With["content"] = node("z") },
	}, nil)
	for _, name := range fieldsOf(reflect.TypeFor[spec.Param]()) {
		if !slices.Contains([]string{"Type", "Doc", "Default"}, name) {
			t.Errorf("spec.Param.%s: it must be known how it changes the key", name)
		}
	}
}

func TestEveryFieldOfAReleaseReachesTheKeyOrIsHarmless(t *testing.T) {
	checkProject(t, func(p *spec.Project) *spec.Release { return &p.Releases.Releases[0] }, map[string]func(*spec.Release){
		"Version": func(r *spec.Release) { r.Version = "1.1.0" },
		"Pins": func(r *spec.Release) {
			r.Pins["s"] = spec.Pin{URL: []string{"https://example.com/s"}, Size: 1, SHA256: strings.Repeat("f", 64)}
		},
	}, map[string]string{
		"Channel": "only chooses; what was chosen is in the key",
		"Date":    "only shown",
		"Note":    "only shown",
	})
	// Pins are values in a map: the lock's sources, which come of them, are
	// gone through in their place. What a lock adds of its own is checked
	// against the pins by plan.CheckLock.
	known := map[reflect.Type]string{
		reflect.TypeFor[spec.Pin]():          "Commit Packages Debian URL SHA256 Size Version Strip",
		reflect.TypeFor[spec.DebianPin]():    "Suite Source Binary Arch Version File",
		reflect.TypeFor[spec.PackageSet]():   "Arch Suites",
		reflect.TypeFor[spec.LockedSet]():    "Release Sources",
		reflect.TypeFor[spec.LockedSource](): "Version Commit Trees URLs Package Suite Pool SHA256 Size Strip",
	}
	for typ, names := range known {
		if got := strings.Join(fieldsOf(typ), " "); got != names {
			t.Errorf("%s has the fields %s, and this test knows %s: is the new one in the key?", typ, got, names)
		}
	}
	k := newKeyed(t)
	was := componentKey(t, k, project(t))
	for name, change := range map[string]func(*spec.LockedSource, *spec.Pin){
		"SHA256":  func(l *spec.LockedSource, p *spec.Pin) { l.SHA256 = strings.Repeat("f", 64); p.SHA256 = l.SHA256 },
		"Strip":   func(l *spec.LockedSource, p *spec.Pin) { l.Strip = 1; p.Strip = 1 },
		"Version": func(l *spec.LockedSource, p *spec.Pin) { l.Version = "1.0.1"; p.Version = "1.0.1" },
	} {
		p := project(t)
		locked, pin := p.Lock.Channels[spec.Debian].Sources["s"], p.Releases.Releases[0].Pins["s"]
		change(&locked, &pin)
		p.Lock.Channels[spec.Debian].Sources["s"], p.Releases.Releases[0].Pins["s"] = locked, pin
		if componentKey(t, k, p) == was {
			t.Errorf("a locked source's %s: another value gives the same key", name)
		}
	}
}
