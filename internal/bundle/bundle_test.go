package bundle

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stonemason-hip/stonemason/internal/build"
	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/key"
	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/store"
)

const host = "linux-amd64"

// fixture is a store with sealed artifacts and the plan that they belong to.
type fixture struct {
	store   *store.Store
	graph   *plan.Graph
	results map[string]*build.Result
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	s, err := store.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{store: s, graph: &plan.Graph{Name: "gfx942", Release: "1.0.0", GPUs: []string{"gfx942"}}, results: map[string]*build.Result{}}
}

// add seals an artifact: path to content.
func (f *fixture) add(t testing.TB, name string, files map[string]string, sources ...plan.Source) {
	t.Helper()
	stage, err := f.store.Tmp("stage")
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range files {
		file = filepath.Join(stage, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var b key.Builder
	b.Add("name", name)
	n := &plan.Node{ID: name + "@" + host, Component: name, Host: host, Enabled: true, Version: "1.0.0", Sources: sources}
	a, err := f.store.Seal(t.Context(), store.Action{Component: name, Host: host, Key: b.Key()}, stage, func(string) string { return "run" })
	if err != nil {
		t.Fatal(err)
	}
	f.graph.Nodes = append(f.graph.Nodes, n)
	f.results[n.ID] = &build.Result{Node: n, Key: a.Key, Action: a}
}

func (f *fixture) compose(t *testing.T, dir string) (*Manifest, bool, error) {
	t.Helper()
	changed, err := Compose(t.Context(), f.store, f.graph, f.results, host, dir)
	if err != nil {
		return nil, changed, err
	}
	m, err := Load(dir)
	return m, changed, err
}

func TestComposeTwiceIsOnce(t *testing.T) {
	f, dir := newFixture(t), filepath.Join(t.TempDir(), "dist", host)
	f.add(t, "a", map[string]string{"share/a": "1"})
	f.add(t, "b", map[string]string{"share/b": "2"})
	if _, changed, err := f.compose(t, dir); err != nil || !changed {
		t.Fatalf("first: %v, %v", changed, err)
	}
	m, changed, err := f.compose(t, dir)
	if err != nil || changed {
		t.Errorf("second: %v, %v", changed, err)
	}
	if damage, err := Damage(t.Context(), dir, m); err != nil || len(damage) > 0 {
		t.Errorf("damage %v, %v", damage, err)
	}
	loaded, err := Load(dir)
	if err != nil || len(loaded.Components) != 2 || len(loaded.Files) != 4 {
		t.Errorf("loaded %+v, %v", loaded, err)
	}
	if left, _ := os.ReadDir(filepath.Dir(dir)); len(left) != 1 {
		t.Errorf("beside the bundle there is %v", left)
	}
}

// TestDamageIsSeenAndRepaired does one thing to a bundle at a time: Damage
// finds it by content, Compose by what it costs nothing to look at.
func TestDamageIsSeenAndRepaired(t *testing.T) {
	f, dir := newFixture(t), filepath.Join(t.TempDir(), host)
	f.add(t, "a", map[string]string{"share/a": "1", "share/b": "2"})
	file := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	for _, c := range []struct {
		name string
		do   func() error
		want string
	}{
		{"a changed byte", func() error { return os.WriteFile(file("share/a"), []byte("x"), 0o644) }, "share/a: changed"},
		{"a longer file", func() error { return os.WriteFile(file("share/a"), []byte("12"), 0o644) }, "share/a: changed"},
		{"a removed file", func() error { return os.Remove(file("share/b")) }, "share/b: missing"},
		{"an added file", func() error { return os.WriteFile(file("share/c"), nil, 0o644) }, "share/c: not in the manifest"},
		{"an execute bit", func() error { return os.Chmod(file("share/a"), 0o755) }, "share/a: changed"},
		{"a link in place of a file", func() error {
			if err := os.Remove(file("share/a")); err != nil {
				return err
			}
			return os.Symlink("b", file("share/a"))
		}, "share/a: changed"},
		{"another env.sh", func() error { return os.WriteFile(file(EnvFile), []byte("rm -r ~\n"), 0o644) }, "env.sh: changed"},
		{"no bill of materials", func() error { return os.Remove(file(SBOMFile)) }, SBOMFile + ": missing"},
	} {
		m, _, err := f.compose(t, dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.do(); err != nil {
			t.Fatal(err)
		}
		// A file system may count time in steps of some milliseconds.
		later := time.Now().Add(time.Second)
		if info, err := os.Lstat(file("share/a")); err == nil && info.Mode().IsRegular() && c.name == "a changed byte" {
			if err := os.Chtimes(file("share/a"), later, later); err != nil {
				t.Fatal(err)
			}
		}
		if c.name == "another env.sh" {
			if err := os.Chtimes(file(EnvFile), later, later); err != nil {
				t.Fatal(err)
			}
		}
		if damage, err := Damage(t.Context(), dir, m); err != nil || !slices.Equal(damage, []string{c.want}) {
			t.Errorf("%s: damage %q, %v", c.name, damage, err)
		}
		if _, changed, err := f.compose(t, dir); err != nil || !changed {
			t.Errorf("%s: composed again %v, %v", c.name, changed, err)
		}
		if damage, err := Damage(t.Context(), dir, m); err != nil || len(damage) > 0 {
			t.Errorf("%s: after the repair %q, %v", c.name, damage, err)
		}
	}
}

func TestArtifactsThatDoNotGoTogether(t *testing.T) {
	for _, c := range []struct {
		first, second, want string
	}{
		{"share/x", "share/x", "a and b both hold share/x"},
		{"share/x", "share/x/y/z", "a holds share/x, and b holds share/x/y/z"},
		{"share/x/y/z", "share/x", "b holds share/x, and a holds share/x/y/z"},
		{"env.sh", "share/x", "a holds env.sh, which is the bundle's own"},
		{"share/x", ManifestFile, "b holds " + ManifestFile + ", which is the bundle's own"},
	} {
		f, dir := newFixture(t), filepath.Join(t.TempDir(), host)
		f.add(t, "a", map[string]string{c.first: "1"})
		f.add(t, "b", map[string]string{c.second: "2"})
		_, _, err := f.compose(t, dir)
		if err == nil || !strings.Contains(err.Error(), c.want) || exit.Of(err) != exit.Config {
			t.Errorf("%s and %s: %v, exit code %d", c.first, c.second, err, exit.Of(err))
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s and %s: there is a bundle", c.first, c.second)
		}
	}
}

func TestANodeThatWasNotBuilt(t *testing.T) {
	f := newFixture(t)
	f.add(t, "a", map[string]string{"share/a": "1"})
	f.graph.Nodes = append(f.graph.Nodes, &plan.Node{ID: "b@" + host, Component: "b", Host: host, Enabled: true})
	if _, _, err := f.compose(t, filepath.Join(t.TempDir(), host)); err == nil || !strings.Contains(err.Error(), "b@"+host+" was not built") {
		t.Errorf("error %v", err)
	}
}

// A manifest is read on other machines: it names no folder of this one.
func TestSourcesInTheManifestArePortable(t *testing.T) {
	f, dir := newFixture(t), filepath.Join(t.TempDir(), host)
	home := t.TempDir()
	f.add(t, "a", map[string]string{"share/a": "1"}, plan.Source{
		Name: "a", SHA256: strings.Repeat("ab", 32), URLs: []string{"file://" + home + "/a.tar.gz", "https://example.org/a.tar.gz"},
	})
	f.add(t, "b", map[string]string{"share/b": "1"}, plan.Source{Name: "b", SHA256: strings.Repeat("cd", 32), URLs: []string{"FILE://" + home + "/b.tar.gz"}})
	f.add(t, "c", map[string]string{"share/c": "1"}, plan.Source{Name: "c", Workspace: home + "/c"})
	m, _, err := f.compose(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{ManifestFile, SBOMFile} {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil || strings.Contains(string(data), home) {
			t.Errorf("%s names %s, %v", name, home, err)
		}
	}
	if got := m.Components[0].Sources[0].URLs; !slices.Equal(got, []string{"https://example.org/a.tar.gz"}) {
		t.Errorf("addresses %v", got)
	}
	if len(f.graph.Nodes[0].Sources[0].URLs) != 2 {
		t.Error("the plan itself was changed")
	}
}

func TestLoadOfWhatIsNoManifest(t *testing.T) {
	dir := t.TempDir()
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "no bundle in "+dir) {
		t.Errorf("error %v", err)
	}
	file := filepath.Join(dir, filepath.FromSlash(ManifestFile))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "{", "[]", `{"files":[1]}`} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if m, err := Load(dir); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("Load of %q: %+v, %v", text, m, err)
		}
	}
}

// What a bundle is made of outlives every eviction while the bundle is there,
// and a bundle that is composed anew lets go of what it held before.
func TestABundleHoldsItsArtifacts(t *testing.T) {
	f, dir := newFixture(t), filepath.Join(t.TempDir(), host)
	f.add(t, "a", map[string]string{"share/a": "1"})
	f.add(t, "b", map[string]string{"share/b": "1"})
	evict := func() (left int) {
		t.Helper()
		if err := f.store.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := f.store.Trim(t.Context(), store.TrimOptions{Max: 0}); err != nil {
			t.Fatal(err)
		}
		for _, r := range f.results {
			if _, err := f.store.Tree(r.Action.Content); err == nil {
				left++
			}
		}
		return left
	}
	if _, _, err := f.compose(t, dir); err != nil {
		t.Fatal(err)
	}
	if left := evict(); left != 2 {
		t.Errorf("%d of 2 artifacts are left", left)
	}
	f.graph.Nodes = f.graph.Nodes[:1]
	if _, changed, err := f.compose(t, dir); err != nil || !changed {
		t.Fatal(changed, err)
	}
	if left := evict(); left != 1 {
		t.Errorf("%d artifacts are left of a bundle of one", left)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if left := evict(); left != 0 {
		t.Errorf("%d artifacts are left of no bundle", left)
	}
}

// What a killed build left beside the bundle goes with the next composition,
// unless somebody is at work there.
func TestLeftoversOfAComposition(t *testing.T) {
	f, dir := newFixture(t), filepath.Join(t.TempDir(), host)
	f.add(t, "a", map[string]string{"share/a": "1"})
	dead, alive := filepath.Join(filepath.Dir(dir), "."+host+"-1"), filepath.Join(filepath.Dir(dir), "."+host+"-2")
	for _, d := range []string{dead, alive} {
		if err := os.MkdirAll(filepath.Join(d, "new"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	release, ok, err := store.Claim(alive)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	defer release()
	if _, _, err := f.compose(t, dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dead); err == nil {
		t.Error("the leftover is still there")
	}
	if _, err := os.Stat(alive); err != nil {
		t.Error(err)
	}
}

// BenchmarkComposeUnchanged is what a build with nothing to do pays for a
// bundle of 600 files.
func BenchmarkComposeUnchanged(b *testing.B) {
	f, dir := newFixture(b), filepath.Join(b.TempDir(), host)
	for c := range 6 {
		files := map[string]string{}
		for i := range 100 {
			files[fmt.Sprintf("share/%d/%d/file-%d", c, i%10, i)] = strings.Repeat("x", 1000)
		}
		f.add(b, fmt.Sprint("component-", c), files)
	}
	for b.Loop() {
		if _, err := Compose(b.Context(), f.store, f.graph, f.results, host, dir); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLookup is what it pays for the lookup of an artifact of 100 files.
func BenchmarkLookup(b *testing.B) {
	f := newFixture(b)
	files := map[string]string{}
	for i := range 100 {
		files[fmt.Sprintf("share/%d/file-%d", i%10, i)] = strings.Repeat("x", 1000)
	}
	f.add(b, "a", files)
	for b.Loop() {
		s, err := store.Open(f.store.Root())
		if err != nil {
			b.Fatal(err)
		}
		if _, ok, err := s.Lookup("a", f.results["a@"+host].Key.ID); !ok || err != nil {
			b.Fatal(ok, err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
