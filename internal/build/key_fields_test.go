package build

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stonemason-hip/stonemason/internal/machine"
	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/source"
	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/internal/store"
	"github.com/stonemason-hip/stonemason/internal/yamlx"
	"github.com/stonemason-hip/stonemason/toolchain/hostcc"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// The tests of this file keep a field from being added that changes what is
// built and not the key: that would restore a wrong result from the store.
// Every exported field either changes the key when it changes, or stands in a
// list of harmless ones with the reason.

// keyed computes the keys of a node whose needs and workspaces exist.
type keyed struct {
	builder  *Builder
	contents map[string]store.Content
}

func newKeyed(t *testing.T) *keyed {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"one", "two"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, dir, "file"), []byte(dir), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	k := &keyed{contents: map[string]store.Content{}}
	graph := &plan.Graph{Build: "linux-amd64"}
	for _, name := range []string{"dep", "other"} {
		n := &plan.Node{ID: name + "@linux-amd64", Component: name, Host: "linux-amd64", Provider: spec.Source}
		graph.Nodes = append(graph.Nodes, n)
		k.contents[n.ID] = store.Content("content of " + name)
		k.contents[name+"@linux-arm64"] = k.contents[n.ID]
	}
	cc := &hostcc.Compiler{Version: "12.2.0", Digest: "cc"}
	k.builder = &Builder{Graph: graph, Sources: &source.Provider{Root: root}, Machine: &machine.Machine{Platform: platform.Platform{OS: "linux", Arch: "amd64"}, CC: cc, CXX: cc, Tools: map[string]string{"cmake": filepath.Join(root, "one", "file")}}}
	return k
}

func (k *keyed) key(t *testing.T, n *plan.Node) string {
	t.Helper()
	key, err := k.builder.Key(t.Context(), n, k.contents)
	if err != nil {
		t.Fatal(err)
	}
	return key.Text
}

// base is a node with something in every field.
func base() *plan.Node {
	return &plan.Node{
		ID: "a@linux-amd64", Component: "a", Host: "linux-amd64", Provider: spec.Source, Recipe: "r", Version: "1.0.0",
		Sources: []plan.Source{{Name: "s", SHA256: strings.Repeat("0", 64)}},
		Patches: []plan.Patch{{File: "patches/a/0001-x.patch", SHA256: strings.Repeat("1", 64)}},
		Steps:   []plan.Step{{Name: "one", Uses: "generate", With: map[string]any{"file": "x", "content": "y"}}},
		Build:   []string{"dep@linux-amd64"}, Runtime: []string{"dep@linux-amd64"},
		Tools:      []string{"cmake"},
		Slices:     []spec.SliceRule{{Slice: spec.Run, Globs: []string{"bin/**"}}},
		Checks:     []spec.Check{{Exists: "bin/x", Count: 1, Absent: "y"}},
		Exceptions: []spec.Exception{{Rule: "leak", Globs: []string{"*"}, Why: "because"}},
	}
}

// fieldsOf lists the exported fields of a struct type.
func fieldsOf(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() {
			names = append(names, f.Name)
		}
	}
	return names
}

// checkFields changes one field after the other and compares keys. changes
// gives, by field, a way to change it; harmless says why the key may stay.
func checkFields[T any](t *testing.T, k *keyed, of func(n *plan.Node) *T, changes map[string]func(*T), harmless map[string]string) {
	t.Helper()
	typ := reflect.TypeFor[T]()
	was := k.key(t, base())
	for _, name := range fieldsOf(typ) {
		change, why := changes[name], harmless[name]
		if (change == nil) == (why == "") {
			t.Errorf("%s.%s: it must be known either how it changes the key, or why it is harmless", typ, name)
			continue
		}
		if change == nil {
			continue
		}
		n := base()
		change(of(n))
		if k.key(t, n) == was {
			t.Errorf("%s.%s: another value gives the same key: results of the old value would be restored for the new one", typ, name)
		}
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(changes)), slices.Collect(maps.Keys(harmless))) {
		if !slices.Contains(fieldsOf(typ), name) {
			t.Errorf("%s has no field %s", typ, name)
		}
	}
}

func TestEveryFieldOfANodeIsInTheKeyOrHarmless(t *testing.T) {
	checkFields(t, newKeyed(t), func(n *plan.Node) *plan.Node { return n }, map[string]func(*plan.Node){
		"Component":  func(n *plan.Node) { n.Component = "b" },
		"Host":       func(n *plan.Node) { n.Host = "darwin-arm64" },
		"Provider":   func(n *plan.Node) { n.Provider = spec.System },
		"Recipe":     func(n *plan.Node) { n.Recipe = "q" },
		"Version":    func(n *plan.Node) { n.Version = "1.0.1" },
		"Sources":    func(n *plan.Node) { n.Sources = append(n.Sources, n.Sources[0]) },
		"Patches":    func(n *plan.Node) { n.Patches = nil },
		"Steps":      func(n *plan.Node) { n.Steps = append(n.Steps, n.Steps[0]) },
		"Build":      func(n *plan.Node) { n.Build = append(n.Build, "other@linux-amd64") },
		"Tools":      func(n *plan.Node) { n.Tools = append(n.Tools, "c++") },
		"Slices":     func(n *plan.Node) { n.Slices[0].Globs = []string{"sbin/**"} },
		"Checks":     func(n *plan.Node) { n.Checks[0].Exists = "bin/y" },
		"Exceptions": func(n *plan.Node) { n.Exceptions[0].Globs = []string{"bin/*"} },
	}, map[string]string{
		"ID":             "made of Component and Host",
		"Summary":        "only shown",
		"Group":          "only switches",
		"License":        "goes into the bill of materials, which is made with the bundle",
		"Homepage":       "goes into the bill of materials, which is made with the bundle",
		"Enabled":        "only enabled nodes have a key",
		"Why":            "only shown",
		"PulledBy":       "only shown",
		"Sysroot":        "who is built with it has its content in the key",
		"ForBuild":       "decides about the bundle, not about the artifact",
		"ProviderNote":   "only shown",
		"Outcome":        "the word for a success in the summary",
		"SkippedPatches": "were not applied",
		"Runtime":        "no build step reads them; the bundle does",
		"Estimate":       "what was expected changes no result",
	})
}

func TestEveryFieldOfASourceIsInTheKeyOrHarmless(t *testing.T) {
	checkFields(t, newKeyed(t), func(n *plan.Node) *plan.Source { return &n.Sources[0] }, map[string]func(*plan.Source){
		"Commit":    func(s *plan.Source) { s.Commit = strings.Repeat("a", 40) },
		"SHA256":    func(s *plan.Source) { s.SHA256 = strings.Repeat("a", 64) },
		"Strip":     func(s *plan.Source) { s.Strip = 1 },
		"Workspace": func(s *plan.Source) { s.Workspace = "two" },
		"Path":      func(s *plan.Source) { s.Path = "sub" },
		"Only":      func(s *plan.Source) { s.Only = []string{"sub"} },
		"Into":      func(s *plan.Source) { s.Into = "sub" },
	}, map[string]string{
		"Name":    "what releases.yaml calls it",
		"Version": "is the node's, when it is the first source; the hash or commit says what the bytes are",
		"Tree":    "the commit names it",
		"Package": "the hash says what the bytes are",
		"Suite":   "the hash says what the bytes are",
		"Pool":    "the hash says what the bytes are",
		"URLs":    "the hash or commit says what the bytes are",
		"Size":    "the hash says what the bytes are",
	})
}

// A workspace is keyed by what is in it, not by its name.
func TestAWorkspaceIsKeyedByContent(t *testing.T) {
	k := newKeyed(t)
	key := func(dir string) string {
		n := base()
		n.Sources[0].Workspace = dir
		return k.key(t, n)
	}
	one := key("one")
	if one == key("two") {
		t.Error("two folders with other files have one key")
	}
	root := k.builder.Sources.Root
	if err := os.WriteFile(filepath.Join(root, "two", "file"), []byte("one"), 0o644); err != nil {
		t.Fatal(err)
	}
	if one != key("two") || one != key(filepath.Join(root, "two")) {
		t.Error("two folders with the same files have two keys")
	}
	// Same size, other bytes, and the time of before: the content counts.
	file := filepath.Join(root, "one", "file")
	st, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("eno"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, time.Time{}, st.ModTime()); err != nil {
		t.Fatal(err)
	}
	if key("one") == one {
		t.Error("an edited file is not seen")
	}
}

func TestEveryFieldOfAStepIsInTheKeyOrHarmless(t *testing.T) {
	checkFields(t, newKeyed(t), func(n *plan.Node) *plan.Step { return &n.Steps[0] }, map[string]func(*plan.Step){
		"Name": func(s *plan.Step) { s.Name = "two" },
		"Uses": func(s *plan.Step) { s.Uses, s.With = "audit", nil },
		"With": func(s *plan.Step) { s.With["content"] = "z" },
	}, nil)
}

func TestEveryFieldOfAPatchIsInTheKeyOrHarmless(t *testing.T) {
	checkFields(t, newKeyed(t), func(n *plan.Node) *plan.Patch { return &n.Patches[0] }, map[string]func(*plan.Patch){
		"SHA256": func(p *plan.Patch) { p.SHA256 = strings.Repeat("a", 64) },
	}, map[string]string{"File": "the hash says what it does", "Title": "only shown", "Link": "only shown"})
}

func TestEveryFieldOfARuleIsInTheKeyOrHarmless(t *testing.T) {
	k := newKeyed(t)
	checkFields(t, k, func(n *plan.Node) *spec.SliceRule { return &n.Slices[0] }, map[string]func(*spec.SliceRule){
		"Slice": func(s *spec.SliceRule) { s.Slice = spec.Dev },
		"Globs": func(s *spec.SliceRule) { s.Globs = []string{"x"} },
	}, nil)
	checkFields(t, k, func(n *plan.Node) *spec.Check { return &n.Checks[0] }, map[string]func(*spec.Check){
		"Exists": func(c *spec.Check) { c.Exists = "z" },
		"Count":  func(c *spec.Check) { c.Count = 2 },
		"Absent": func(c *spec.Check) { c.Absent = "z" },
	}, nil)
	checkFields(t, k, func(n *plan.Node) *spec.Exception { return &n.Exceptions[0] }, map[string]func(*spec.Exception){
		"Rule":  func(e *spec.Exception) { e.Rule = "x" },
		"Globs": func(e *spec.Exception) { e.Globs = []string{"x"} },
	}, map[string]string{"Why": "a reason that is shown; it excuses the same findings"})
}

// What is needed and what the machine has enter by content.
func TestDependenciesAndCompilersEnterByContent(t *testing.T) {
	k := newKeyed(t)
	n := base()
	n.Tools = []string{"c++"}
	was := k.key(t, n)
	k.contents["dep@linux-amd64"] = "other bytes"
	if k.key(t, n) == was {
		t.Error("a need with other bytes gives the same key")
	}
	k = newKeyed(t)
	k.builder.Machine.CXX = &hostcc.Compiler{Version: "12.2.0", Digest: "other"}
	if k.key(t, n) == was {
		t.Error("another compiler of the same version gives the same key")
	}
	k.builder.Machine.CXX = &hostcc.Compiler{Version: "12.2.0", Digest: "cc", Path: "/elsewhere/c++"}
	if k.key(t, n) != was {
		t.Error("the same compiler in another place gives another key")
	}
}

// project is a component of which every field can be changed.
func project(t *testing.T) *spec.Project {
	t.Helper()
	p := &spec.Project{
		Root:   t.TempDir(),
		Config: &spec.Config{Version: "<2", Channel: spec.Debian, GPUs: []string{"gfx942", "gfx1100"}, Name: "x", Hosts: []string{"native"}, Preset: spec.Compiler},
		Releases: &spec.Releases{Releases: []spec.Release{
			{Version: "1.0.0", Channel: spec.Debian, Pins: map[string]spec.Pin{}},
			{Version: "2.0.0", Channel: spec.Debian, Pins: map[string]spec.Pin{}},
			{Version: "1.0.0", Channel: spec.Upstream, Pins: map[string]spec.Pin{}},
		}},
		Recipes: map[string]*spec.Recipe{},
		Components: map[string]*spec.Component{
			"dep":   {Name: "dep", Artifact: spec.PerHost, Providers: []spec.Provider{{Kind: spec.Source, Recipe: "r"}}},
			"other": {Name: "other", Artifact: spec.PerHost, Providers: []spec.Provider{{Kind: spec.Source, Recipe: "r"}}},
			"a": {
				Schema: 1, Name: "a", Summary: "s", Group: "G", Artifact: spec.PerHost, Presets: []string{"compiler"},
				Needs:     spec.Needs{Build: []string{"dep"}},
				Sources:   map[spec.Channel][]spec.SourceRef{spec.Debian: {{From: "s"}}, spec.Upstream: {{From: "t"}}},
				Providers: []spec.Provider{{Kind: spec.Source, Recipe: "r"}},
			},
		},
	}
	for i, name := range []string{"s", "t"} {
		pin := spec.Pin{URL: []string{"https://example.com/" + name}, Size: 1, SHA256: strings.Repeat(string(rune('a'+i)), 64)}
		for _, r := range p.Releases.Releases {
			r.Pins[name] = pin
		}
	}
	var err error
	if p.Lock, err = plan.Expected(p); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"r", "q"} {
		r := new(spec.Recipe)
		text := "schema: 1\nname: " + name + "\nsummary: s\nparams: {text: {type: string, default: x}}\nsteps: [{name: s, uses: generate, with: {file: x, content: \"${text} ${gpus}\"}}]\n"
		if err := yamlx.Decode(name, []byte(text), r); err != nil {
			t.Fatal(err)
		}
		p.Recipes[name] = r
	}
	return p
}

// componentKey plans a project and computes the key of a.
func componentKey(t *testing.T, k *keyed, p *spec.Project) string {
	t.Helper()
	g, err := plan.Resolve(p, plan.Facts{Build: platform.Platform{OS: "linux", Arch: "amd64"}}, plan.Only{"a"})
	if err != nil {
		t.Fatal(err)
	}
	k.builder.Graph = g
	for _, n := range g.Nodes {
		if n.Why == "asked for" {
			return k.key(t, n)
		}
	}
	t.Fatal("a is not in the plan")
	return ""
}

// lockAnew makes the lock follow the other files where it does not.
func lockAnew(t *testing.T, p *spec.Project) {
	t.Helper()
	if plan.CheckLock(p) == nil {
		return
	}
	var err error
	if p.Lock, err = plan.Expected(p); err != nil {
		t.Fatal(err)
	}
}

// values reads values of parameters.
func values(t *testing.T, text string) spec.Values {
	t.Helper()
	var v spec.Values
	if err := yamlx.Decode("values", []byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func checkSpec[T any](t *testing.T, of func(c *spec.Component) *T, changes map[string]func(*T), harmless map[string]string) {
	t.Helper()
	checkProject(t, func(p *spec.Project) *T { return of(p.Components["a"]) }, changes, harmless)
}

// checkProject changes one field after the other of something in a project's
// files. Like a user who wants the change, it locks anew.
func checkProject[T any](t *testing.T, of func(p *spec.Project) *T, changes map[string]func(*T), harmless map[string]string) {
	t.Helper()
	k := newKeyed(t)
	typ := reflect.TypeFor[T]()
	was := componentKey(t, k, project(t))
	for _, name := range fieldsOf(typ) {
		change, why := changes[name], harmless[name]
		if (change == nil) == (why == "") {
			t.Errorf("%s.%s: it must be known either how it changes the key, or why it is harmless", typ, name)
			continue
		}
		if change == nil {
			continue
		}
		p := project(t)
		change(of(p))
		lockAnew(t, p)
		if componentKey(t, k, p) == was {
			t.Errorf("%s.%s: another value gives the same key", typ, name)
		}
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(changes)), slices.Collect(maps.Keys(harmless))) {
		if !slices.Contains(fieldsOf(typ), name) {
			t.Errorf("%s has no field %s", typ, name)
		}
	}
}

func TestEveryFieldOfAComponentReachesTheKeyOrIsHarmless(t *testing.T) {
	checkSpec(t, func(c *spec.Component) *spec.Component { return c }, map[string]func(*spec.Component){
		"Name":        func(c *spec.Component) { c.Name = "b" },
		"Artifact":    func(c *spec.Component) { c.Artifact = spec.AnyHost },
		"Needs":       func(c *spec.Component) { c.Needs.Build = append(c.Needs.Build, "other") },
		"Sources":     func(c *spec.Component) { c.Sources[spec.Debian][0].From = "t" },
		"Providers":   func(c *spec.Component) { c.Providers[0].Recipe = "q" },
		"ExcludeGPUs": func(c *spec.Component) { c.ExcludeGPUs = []string{"gfx1100"} },
		"Slices":      func(c *spec.Component) { c.Slices = []spec.SliceRule{{Slice: spec.Dev, Globs: []string{"x"}}} },
		"Exceptions":  func(c *spec.Component) { c.Exceptions = []spec.Exception{{Rule: "leak", Globs: []string{"x"}}} },
		"Checks":      func(c *spec.Component) { c.Checks = []spec.Check{{Exists: "x"}} },
	}, map[string]string{
		"Schema":    "the number of the file format",
		"Summary":   "only shown",
		"Group":     "only switches",
		"BuildOnly": "only leaves it out of bundles",
		"Sysroot":   "who is built with it has its content in the key",
		"License":   "goes into the bill of materials, which is made with the bundle",
		"Homepage":  "goes into the bill of materials, which is made with the bundle",
		"Presets":   "only switches",
		"Default":   "only switches",
		"When":      "only switches",
		"Because":   "only shown",
		"Planned":   "only switches",
		"Estimate":  "what was expected changes no result",
	})
}

func TestEveryFieldOfAProviderReachesTheKeyOrIsHarmless(t *testing.T) {
	checkSpec(t, func(c *spec.Component) *spec.Provider { return &c.Providers[0] }, map[string]func(*spec.Provider){
		"Kind":    func(p *spec.Provider) { p.Kind = spec.System },
		"Recipe":  func(p *spec.Provider) { p.Recipe = "q" },
		"With":    func(p *spec.Provider) { p.With = values(t, "text: y") },
		"Sources": func(p *spec.Provider) { p.Sources = map[spec.Channel][]spec.SourceRef{spec.Debian: {{From: "t"}}} },
		"Needs":   func(p *spec.Provider) { p.Needs.Build = []string{"other"} },
		"Tools":   func(p *spec.Provider) { p.Tools = []string{"c++"} },
	}, map[string]string{
		"When":     "only chooses; what was chosen is in the key",
		"Estimate": "what was expected changes no result",
		"Note":     "only shown",
	})
}

func TestEveryFieldOfASourceRefReachesTheKey(t *testing.T) {
	checkSpec(t, func(c *spec.Component) *spec.SourceRef { return &c.Sources[spec.Debian][0] }, map[string]func(*spec.SourceRef){
		"From": func(s *spec.SourceRef) { s.From = "t" },
		"Path": func(s *spec.SourceRef) { s.Path = "x" },
		"Only": func(s *spec.SourceRef) { s.Only = []string{"x"} },
		"Into": func(s *spec.SourceRef) { s.Into = "x" },
	}, nil)
}

func TestEveryFieldOfNeedsReachesTheKeyOrIsHarmless(t *testing.T) {
	checkSpec(t, func(c *spec.Component) *spec.Needs { return &c.Needs }, map[string]func(*spec.Needs){
		"Build":  func(n *spec.Needs) { n.Build = append(n.Build, "other") },
		"Native": func(n *spec.Needs) { n.Native = append(n.Native, "other") },
	}, map[string]string{"Runtime": "no build step reads them; the bundle does"})
}
