package plan

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/internal/yamlx"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// files are a small project, by path. What is missing comes from [load].
type files map[string]string

// component adds a component that copies a file out of a workspace; more is
// further YAML.
func (f files) component(name string, more ...string) files {
	text := fmt.Sprintf("schema: 1\nname: %s\nsummary: the component %s\ngroup: TEST\n", name, name)
	more = append(slices.Clone(more), "")
	if all := strings.Join(more, "\n"); !strings.Contains(all, "providers:") && !strings.Contains(all, "planned:") {
		text += "providers: [{kind: source, recipe: copy}]\n"
	}
	f["components/"+name+".yaml"] = text + strings.Join(more, "\n")
	return f
}

// load reads the project, with a lock that matches it.
func (f files) load(t testing.TB) *spec.Project {
	t.Helper()
	p, err := f.read(t)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (f files) read(t testing.TB) (*spec.Project, error) {
	t.Helper()
	root := t.TempDir()
	all := files{
		"therock.yaml":            "schema: 1\nversion: \">=1.0\"\nchannel: debian\ngpus: [gfx942]\n",
		"toolchain/releases.yaml": "schema: 1\nrepositories: {}\nreleases: [{version: \"1.2.3\", channel: debian, pins: {}}]\n",
		"recipes/copy.yaml": "schema: 1\nname: copy\nsummary: copies a file\nsteps:\n" +
			"  - {name: copy, uses: copy, with: {items: [{from: \"${source}/a\", to: share/a}]}}\n",
	}
	maps.Copy(all, f)
	for name, text := range all {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p, err := spec.Load(root)
	if err != nil {
		return nil, err
	}
	if p.Lock == nil {
		p.Lock, err = Expected(p)
	}
	return p, err
}

// linux is a Linux machine with an LLVM and no GPU.
func linux() Facts {
	return Facts{Build: platform.Platform{OS: "linux", Arch: "amd64"}, LLVM: "22.1.8"}
}

// resolve plans with linux's facts.
func (f files) resolve(t testing.TB, only ...string) *Graph {
	t.Helper()
	g, err := Resolve(f.load(t), linux(), only)
	if err != nil {
		t.Fatal(err)
	}
	consistent(t, g)
	return g
}

// fails plans and returns the error, which must be there.
func (f files) fails(t testing.TB, only ...string) error {
	t.Helper()
	p, err := f.read(t)
	if err != nil {
		return err
	}
	if _, err = Resolve(p, linux(), only); err == nil {
		t.Fatal("no error")
	}
	return err
}

// place is the position of an error in a file, as file:line:col.
func place(err error) string {
	var one *yamlx.Error
	if !errors.As(err, &one) {
		return ""
	}
	return one.Pos().String()
}

// states writes a graph as "component@host" for what is on, and "component@host:
// why" for what is off, sorted.
func states(g *Graph) []string {
	var all []string
	for _, n := range g.Nodes {
		if n.Enabled {
			all = append(all, n.ID)
		} else {
			all = append(all, n.ID+": "+n.Why)
		}
	}
	slices.Sort(all)
	return all
}

// consistent checks what must be true of every graph.
func consistent(t testing.TB, g *Graph) {
	t.Helper()
	place := map[string]int{}
	for i, n := range g.Nodes {
		if _, twice := place[n.ID]; twice {
			t.Errorf("%s is there twice", n.ID)
		}
		place[n.ID] = i
		if n.Why == "" {
			t.Errorf("%s does not say why it is on or off", n.ID)
		}
	}
	for i, n := range g.Nodes {
		if !n.Enabled {
			if len(n.Steps) > 0 {
				t.Errorf("%s is off and has steps", n.ID)
			}
			continue
		}
		for _, id := range n.Needs() {
			dep := g.Node(id)
			switch {
			case dep == nil:
				t.Errorf("%s needs %s, which is not in the graph", n.ID, id)
			case !dep.Enabled:
				t.Errorf("%s needs %s, which is off: %s", n.ID, id, dep.Why)
			case place[id] >= i:
				t.Errorf("%s comes before %s, which it needs", n.ID, id)
			}
		}
		for _, by := range n.PulledBy {
			if !slices.ContainsFunc(g.Nodes, func(m *Node) bool { return m.Component == by && m.Enabled && slices.Contains(m.Needs(), n.ID) }) {
				t.Errorf("%s is pulled in by %s, which does not need it or is off", n.ID, by)
			}
		}
		if n.ForBuild && len(n.PulledBy) == 0 {
			t.Errorf("%s serves no build", n.ID)
		}
	}
}

func wantStates(t *testing.T, g *Graph, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := states(g); !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}
