package source

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/plan"
)

// tree makes files in a new folder: path to content; a content that begins
// with "→" makes a symbolic link.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		err := os.WriteFile(file, []byte(text), 0o644)
		if target, ok := strings.CutPrefix(text, "→"); ok {
			err = os.Remove(file)
			if err == nil {
				err = os.Symlink(target, file)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestURLsPutAlternatesFirst(t *testing.T) {
	p := &Provider{
		PoolURLs: func(pool string) []string { return []string{"https://deb.example.org/debian/" + pool} },
		NPMURLs: func(name string) ([]string, error) {
			if name != "npm:a@1.0.0" {
				return nil, errors.New("no such package")
			}
			return []string{"https://registry.example.org/a/-/a-1.0.0.tgz"}, nil
		},
		Mirrors: map[string][]string{
			"https://registry.example.org/": {"file:///srv/npm"},
			"https://github.com/":           {"https://mirror.example.org/github", "https://other.example.org/gh/"},
			"https://github.com/ROCm/":      {"https://rocm.example.org"},
			"https://deb.example.org/":      {"file:///srv/deb"},
			"https://nothing.example/":      {"https://unused.example.org"},
			"https://mirror.example.org":    {"https://not.applied.twice.example.org"},
		},
	}
	for _, c := range []struct {
		source plan.Source
		want   []string
	}{
		{plan.Source{URLs: []string{"https://github.com/ROCm/HIPIFY"}}, []string{
			"https://rocm.example.org/HIPIFY", "https://mirror.example.org/github/ROCm/HIPIFY", "https://other.example.org/gh/ROCm/HIPIFY",
			"https://github.com/ROCm/HIPIFY",
		}},
		{plan.Source{URLs: []string{"https://a.example.org/x", "https://b.example.org/x", "https://a.example.org/x"}}, []string{
			"https://a.example.org/x", "https://b.example.org/x",
		}},
		{plan.Source{Pool: "pool/main/h/hip.tar.xz", URLs: []string{"https://not.this/"}}, []string{
			"file:///srv/deb/debian/pool/main/h/hip.tar.xz", "https://deb.example.org/debian/pool/main/h/hip.tar.xz",
		}},
		{plan.Source{URLs: []string{"npm:a@1.0.0", "npm:b@1.0.0"}}, []string{
			"file:///srv/npm/a/-/a-1.0.0.tgz", "https://registry.example.org/a/-/a-1.0.0.tgz", "npm:b@1.0.0",
		}},
		{plan.Source{}, nil},
	} {
		for range 20 { // the order of a map must not show
			if got := p.URLs(c.source); !slices.Equal(got, c.want) {
				t.Fatalf("URLs(%+v) =\n%s\nwant\n%s", c.source, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		}
	}
}

func TestIdentity(t *testing.T) {
	dir := tree(t, map[string]string{"a": "1"})
	p := &Provider{Root: filepath.Dir(dir)}
	for want, s := range map[string]plan.Source{
		"git 1234":  {Commit: "1234", URLs: []string{"https://a"}},
		"sha256 ab": {SHA256: "ab", URLs: []string{"https://a"}},
	} {
		if got, err := p.Identity(t.Context(), s); err != nil || got != want {
			t.Errorf("Identity(%+v) = %q, %v", s, got, err)
		}
	}
	relative := plan.Source{Name: "x", Workspace: filepath.Base(dir)}
	one, err := p.Identity(t.Context(), relative)
	if err != nil || !strings.HasPrefix(one, "workspace sha256:") {
		t.Fatalf("workspace: %q, %v", one, err)
	}
	if same, err := p.Identity(t.Context(), plan.Source{Workspace: dir}); err != nil || same != one {
		t.Errorf("the same folder by its absolute name: %q, %v", same, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "b"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if two, err := p.Identity(t.Context(), relative); err != nil || two == one {
		t.Errorf("a new file does not count: %q, %v", two, err)
	}
	_, err = p.Identity(t.Context(), plan.Source{Name: "x", Workspace: "not/there"})
	if exit.Of(err) != exit.Source || !strings.Contains(err.Error(), "workspace of x") {
		t.Errorf("a workspace that is not there: %v, exit code %d", err, exit.Of(err))
	}
}

func prepare(t *testing.T, p *Provider, sources ...plan.Source) (string, error) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "src")
	err := p.Prepare(t.Context(), &plan.Node{Component: "x", Sources: sources}, dir, io.Discard)
	if err != nil {
		if left, _ := filepath.Glob(filepath.Dir(dir) + "/*"); len(left) > 0 {
			t.Errorf("after %v there is still %v", err, left)
		}
	}
	return dir, err
}

func TestPrepareOfSeveralSources(t *testing.T) {
	first, second := tree(t, map[string]string{"a": "1", "lib/b": "2", "link": "→a"}), tree(t, map[string]string{"c": "3"})
	dir, err := prepare(t, &Provider{}, plan.Source{Name: "one", Workspace: first}, plan.Source{Name: "two", Workspace: second, Into: "third-party/two"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "1", "lib/b": "2", "link": "1", "third-party/two/c": "3"} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != want {
			t.Errorf("%s holds %q, %v", name, data, err)
		}
	}
	// The original is not what a build writes to.
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("changed"), 0o644); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(filepath.Join(first, "a")); string(data) != "1" {
		t.Errorf("the workspace now holds %q", data)
	}
}

func TestPrepareRefuses(t *testing.T) {
	dir := tree(t, map[string]string{"a": "1"})
	for _, c := range []struct {
		name    string
		sources []plan.Source
		want    string
	}{
		{"two sources in one place", []plan.Source{{Name: "one", Workspace: dir}, {Name: "two", Workspace: dir}}, "source two of x needs into"},
		{"a place outside", []plan.Source{{Name: "one", Workspace: dir, Into: "../../y"}}, "does not stay inside"},
		{"an absolute place", []plan.Source{{Name: "one", Workspace: dir, Into: "/tmp/y"}}, "does not stay inside"},
		{"a folder outside", []plan.Source{{Name: "one", Workspace: dir, Path: "../y"}}, "does not stay inside"},
	} {
		if _, err := prepare(t, &Provider{}, c.sources...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestMoveInto(t *testing.T) {
	outside := tree(t, map[string]string{"secret": "x"})
	whole := tree(t, map[string]string{
		"part/a": "1", "part/sub/b": "2", "same": "→part", "escape": "→" + outside, "file": "3",
	})
	into := filepath.Join(t.TempDir(), "deep", "into")
	for folder, want := range map[string]string{
		"nowhere": `no folder "nowhere"`, "escape": "symbolic link out of the source", "file": `"file" is no folder`,
	} {
		if err := moveInto(whole, folder, into); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", folder, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(outside, "secret")); err != nil {
		t.Errorf("a file outside of the source was moved: %v", err)
	}
	if err := moveInto(whole, "same", into); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(into, "sub", "b")); err != nil || string(data) != "2" {
		t.Errorf("sub/b holds %q, %v", data, err)
	}
	// Nothing is replaced: not a file, and not an empty folder either.
	other := tree(t, map[string]string{"a": "other"})
	if err := moveInto(other, "", into); err == nil || !strings.Contains(err.Error(), "a is there already") {
		t.Errorf("error %v", err)
	}
	if data, _ := os.ReadFile(filepath.Join(into, "a")); string(data) != "1" {
		t.Errorf("a now holds %q", data)
	}
}

// A workspace that changes after its key was made is not built under that key,
// and one look serves for a while when that is asked for.
func TestWorkspaceChangesAfterItsKey(t *testing.T) {
	dir := tree(t, map[string]string{"a": "one"})
	p := &Provider{Root: t.TempDir(), Glances: &Glances{For: time.Hour}}
	s := plan.Source{Name: "x", Workspace: dir}
	before, err := p.Identity(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("two"), 0o644); err != nil {
		t.Fatal(err)
	}
	if again, err := p.Identity(t.Context(), s); err != nil || again != before {
		t.Errorf("within a glance: %q, %v, want %q", again, err, before)
	}
	if _, err := prepare(t, p, s); exit.Of(err) != exit.Source || !strings.Contains(err.Error(), "workspace of x") || !strings.Contains(err.Error(), "build again") {
		t.Errorf("prepared from a workspace that is not the key's: %v", err)
	}
	p.Glances.For = 0
	if again, err := p.Identity(t.Context(), s); err != nil || again == before {
		t.Errorf("a changed workspace keeps its id: %q, %v", again, err)
	}
	if _, err := prepare(t, p, s); err != nil {
		t.Error(err)
	}
	if files, err := os.ReadDir(filepath.Join(p.Root, ".stonemason", "workspaces")); err != nil || len(files) != 1 {
		t.Errorf("snapshots: %v, %v", files, err)
	}
}

// Packages of a set share their folders, as in a system where they are
// installed; a file belongs to one of them alone.
func TestMergeInto(t *testing.T) {
	into := filepath.Join(t.TempDir(), "root")
	for _, pkg := range []map[string]string{
		{"usr/bin/a": "1", "usr/share/doc/a/copyright": "a", "usr/lib": "→share"},
		{"usr/bin/b": "2", "usr/share/doc/b/copyright": "b", "etc/b": "3"},
	} {
		if err := mergeInto(tree(t, pkg), "", into); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"usr/bin/a": "1", "usr/bin/b": "2", "usr/share/doc/a/copyright": "a", "usr/lib/doc/b/copyright": "b", "etc/b": "3"} {
		if data, err := os.ReadFile(filepath.Join(into, name)); err != nil || string(data) != want {
			t.Errorf("%s holds %q, %v", name, data, err)
		}
	}
	for name, pkg := range map[string]map[string]string{
		"usr/bin/a is there": {"usr/bin/a": "again"},
		"usr/bin is there":   {"usr/bin": "a file where a folder is"},
		"etc/b is there":     {"etc/b/c": "a folder where a file is"},
		"usr/lib is there":   {"usr/lib/c": "a folder where a symbolic link is"},
	} {
		if err := mergeInto(tree(t, pkg), "", into); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want it to say that %s", err, name)
		}
	}
	if data, _ := os.ReadFile(filepath.Join(into, "usr/bin/a")); string(data) != "1" {
		t.Errorf("usr/bin/a now holds %q", data)
	}
	if _, err := os.Lstat(filepath.Join(into, "usr/share/c")); err == nil {
		t.Error("a package wrote through a symbolic link of another")
	}
}
