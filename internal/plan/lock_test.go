package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/spec"
)

const (
	sha1 = "0123456789abcdef0123456789abcdef01234567"
	sum  = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

// table has two releases upstream and one of Debian.
func table() files {
	return files{"toolchain/releases.yaml": `schema: 1
repositories: {repo: {urls: ["https://example.com/repo"]}}
releases:
  - {version: "1.10.0", channel: upstream, pins: {repo: {commit: "` + sha1 + `"}}}
  - {version: "1.9.0", channel: upstream, pins: {repo: {commit: "` + sha1 + `"}}}
  - {version: "2.0.0-rc1", channel: upstream, pins: {repo: {commit: "` + sha1 + `"}}}
  - version: "1.2.3"
    channel: debian
    pins:
      pkg: {debian: {suite: stable, source: pkg, version: "1-1", file: pkg_1.orig.tar.xz}}
      file: {url: ["https://example.com/f.tar.gz"], sha256: "` + sum + `", size: 1KiB, version: "9", strip: 1}
`}
}

// Versions are compared as numbers, a pre-release is taken only when asked
// for, and each channel has rows of its own.
func TestTheNewestReleaseThatSatisfiesIsChosen(t *testing.T) {
	for _, c := range []struct{ version, upstream, debian string }{
		{">=1.0", "1.10.0", "1.2.3"},
		{"~1.9", "1.9.0", ""},
		{"1.9.0", "1.9.0", ""},
		{"<1.10", "1.9.0", "1.2.3"},
		{">=1.0.0-0", "2.0.0-rc1", "1.2.3"},
		{"^3", "", ""},
	} {
		f := table()
		f["therock.yaml"] = "schema: 1\nversion: \"" + c.version + "\"\ngpus: [gfx942]\n"
		p := f.project(t)
		for channel, want := range map[spec.Channel]string{spec.Upstream: c.upstream, spec.Debian: c.debian} {
			r, ok, err := Choose(p, channel)
			if err != nil || ok != (want != "") || r.Version != want {
				t.Errorf("%s of %s: %q, %v, %v; want %q", c.version, channel, r.Version, ok, err, want)
			}
		}
	}
}

// project reads the files without asking for a lock.
func (f files) project(t *testing.T) *spec.Project {
	t.Helper()
	f["therock.lock"] = "schema: 1\nversion: x\nchannels: {}\n"
	return f.load(t)
}

func TestNoReleaseSatisfies(t *testing.T) {
	f := table()
	f["therock.yaml"] = "schema: 1\nversion: \"^3\"\ngpus: [gfx942]\n"
	err := f.fails(t)
	if place(err) != "therock.yaml:2:10" || !strings.Contains(err.Error(), `no release satisfies version "^3": the table has 1.10.0 (upstream), 1.9.0 (upstream)`) {
		t.Error(err)
	}
	f["therock.yaml"] = "schema: 1\nversion: newest\ngpus: [gfx942]\n"
	if err = f.fails(t); place(err) != "therock.yaml:2:10" || !strings.Contains(err.Error(), "is not a version constraint") {
		t.Error(err)
	}
	// A release of one channel is none of the other.
	f["therock.yaml"] = "schema: 1\nversion: \"~1.9\"\nchannel: debian\ngpus: [gfx942]\n"
	if err = f.fails(t); place(err) != "therock.yaml:2:10" || !strings.Contains(err.Error(), "no release of channel debian satisfies") {
		t.Error(err)
	}
}

// locked is the lock of the table with everything filled in.
func locked(t *testing.T, p *spec.Project) *spec.Lock {
	t.Helper()
	lock, err := Expected(p)
	if err != nil {
		t.Fatal(err)
	}
	s := lock.Channels[spec.Debian].Sources["pkg"]
	s.Pool, s.SHA256, s.Size = "pool/main/p/pkg/pkg_1.orig.tar.xz", sum, 1
	lock.Channels[spec.Debian].Sources["pkg"] = s
	return lock
}

func TestADepartureOfTheLockIsNamed(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(l *spec.Lock)
		want string // "" when the lock is as good
	}{
		{"nothing", func(*spec.Lock) {}, ""},
		{"another wording of the constraint", func(l *spec.Lock) { l.Version = ">=0.9" }, ""},
		{"a tree that a fetch has seen", func(l *spec.Lock) {
			edit(l, spec.Upstream, "repo", func(s *spec.LockedSource) { s.Trees = map[string]string{".": sha1} })
		}, ""},
		{"release", func(l *spec.Lock) {
			set := l.Channels[spec.Debian]
			set.Release = "1.2.2"
			l.Channels[spec.Debian] = set
		}, "debian release: locked 1.2.2, wanted 1.2.3"},
		{"commit", func(l *spec.Lock) {
			edit(l, spec.Upstream, "repo", func(s *spec.LockedSource) { s.Commit = strings.Repeat("0", 40) })
		}, "upstream repo commit: locked 0000000000000000000000000000000000000000, wanted " + sha1},
		{"address", func(l *spec.Lock) {
			edit(l, spec.Upstream, "repo", func(s *spec.LockedSource) { s.URLs = []string{"https://example.net/evil"} })
		}, "upstream repo urls: locked https://example.net/evil, wanted https://example.com/repo"},
		{"sha256 of a plain file", func(l *spec.Lock) {
			edit(l, spec.Debian, "file", func(s *spec.LockedSource) { s.SHA256 = strings.Repeat("f", 64) })
		}, "debian file sha256: locked ffff"},
		{"version", func(l *spec.Lock) {
			edit(l, spec.Debian, "file", func(s *spec.LockedSource) { s.Version = "8" })
		}, "debian file version: locked 8, wanted 9"},
		{"strip", func(l *spec.Lock) {
			edit(l, spec.Debian, "file", func(s *spec.LockedSource) { s.Strip = 0 })
		}, "debian file strip: locked 0, wanted 1"},
		{"package", func(l *spec.Lock) {
			edit(l, spec.Debian, "pkg", func(s *spec.LockedSource) { s.Package = "pkg=2-1" })
		}, "debian pkg package: locked pkg=2-1, wanted pkg=1-1"},
		{"suite", func(l *spec.Lock) {
			edit(l, spec.Debian, "pkg", func(s *spec.LockedSource) { s.Suite = "sid" })
		}, "debian pkg suite: locked sid, wanted stable"},
		{"no hash", func(l *spec.Lock) {
			edit(l, spec.Debian, "pkg", func(s *spec.LockedSource) { s.SHA256 = "" })
		}, "debian pkg: locked without pool, size or sha256"},
		{"no size", func(l *spec.Lock) {
			edit(l, spec.Debian, "file", func(s *spec.LockedSource) { s.Size = 0 })
		}, "debian file: locked without size"},
		{"a source that is gone", func(l *spec.Lock) { delete(l.Channels[spec.Debian].Sources, "pkg") }, "debian pkg: locked absent, wanted present"},
		{"a source too many", func(l *spec.Lock) {
			l.Channels[spec.Debian].Sources["more"] = spec.LockedSource{SHA256: sum}
		}, "debian more: locked present, wanted absent"},
		{"a channel that is gone", func(l *spec.Lock) { delete(l.Channels, spec.Debian) }, "debian: locked nothing, wanted release 1.2.3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := table().project(t)
			p.Lock = locked(t, p)
			c.edit(p.Lock)
			err := CheckLock(p)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if exit.Of(err) != exit.Lock || exit.HintOf(err) != "go tool mage lock" {
				t.Errorf("code %v, hint %q", exit.Of(err), exit.HintOf(err))
			}
		})
	}
}

func edit(l *spec.Lock, c spec.Channel, name string, f func(*spec.LockedSource)) {
	s := l.Channels[c].Sources[name]
	f(&s)
	l.Channels[c].Sources[name] = s
}

func TestNoLock(t *testing.T) {
	p := table().project(t)
	p.Lock = nil
	err := CheckLock(p)
	if exit.Of(err) != exit.Lock || exit.HintOf(err) == "" || !strings.Contains(err.Error(), "there is no therock.lock") {
		t.Error(err)
	}
}

// A component that names a source which the release lacks is told so where it
// names it.
func TestASourceThatTheReleaseLacks(t *testing.T) {
	f := files{}.component("a", "presets: [compiler]", "sources:", "  debian: [{from: repp}]")
	err := f.fails(t)
	if place(err) != "components/a.yaml:8:19" || !strings.Contains(err.Error(), `release 1.2.3 of channel debian has no source "repp"`) {
		t.Errorf("at %q: %v", place(err), err)
	}
}

// tableOfSets pins a set of packages from two suites, and a file.
func tableOfSets() files {
	return files{"toolchain/releases.yaml": `schema: 1
repositories: {}
releases:
  - version: "1.2.3"
    channel: debian
    pins:
      file: {url: ["https://example.com/f.tar.gz"], sha256: "` + sum + `", size: 1KiB}
      system:
        version: "9.1.0"
        packages: {arch: arm64, suites: {stable: {liba: "1-1", tool: "2-1"}, stable-security: {libb: "1:3-1"}}}
`}
}

// A set of packages is locked package by package, each in its own suite, and a
// reference to the set means all of them, in the order of their names.
func TestASetOfPackages(t *testing.T) {
	f := tableOfSets().component("a", "presets: [compiler]", "sources: {debian: [{from: file}]}", "providers:",
		"  - {kind: system, recipe: copy, when: not native, sources: {debian: [{from: system}]}}", "  - {kind: source, recipe: copy}")
	f["therock.yaml"] = config("hosts: [native, linux-arm64]\n")
	p := f.load(t)
	lock, err := Expected(p)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]string{"system/liba": {"stable", "liba=1-1"}, "system/libb": {"stable-security", "libb=1:3-1"}, "system/tool": {"stable", "tool=2-1"}} {
		if got := lock.Channels[spec.Debian].Sources[name]; got.Suite != want[0] || got.Package != want[1] || got.Version != "9.1.0" {
			t.Errorf("%s: %+v", name, got)
		}
		d := p.Releases.Releases[0].Debian(name)
		if d == nil || d.Suite != want[0] || d.Binary+"="+d.Version != want[1] || d.Arch != "arm64" {
			t.Errorf("%s is pinned to %+v", name, d)
		}
	}
	if _, ok := lock.Channels[spec.Debian].Sources["system"]; ok {
		t.Error("the set itself is locked as a source")
	}
	if d := p.Releases.Releases[0].Debian("system/more"); d != nil {
		t.Errorf("a package that no set names is pinned to %+v", d)
	}
	g, err := resolveFilled(p)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range g.Node("a@linux-arm64").Sources {
		names = append(names, s.Name)
	}
	if n := g.Node("a@linux-arm64"); !slices.Equal(names, []string{"system/liba", "system/libb", "system/tool"}) || n.Version != "9.1.0" || n.Provider != spec.System {
		t.Errorf("for linux-arm64: %s %s of %q", n.Provider, n.Version, names)
	}
	if n := g.Node("a@linux-amd64"); len(n.Sources) != 1 || n.Sources[0].Name != "file" || n.Provider != spec.Source {
		t.Errorf("for this machine: %s of %+v", n.Provider, n.Sources)
	}
}

// A provider's sources are looked for where they stand.
func TestASetThatTheReleaseLacks(t *testing.T) {
	f := tableOfSets().component("a", "presets: [compiler]", "providers:", "  - {kind: system, recipe: copy, sources: {debian: [{from: sistem}]}}")
	_, err := resolveFilled(f.load(t))
	if err == nil || place(err) != "components/a.yaml:7:60" || !strings.Contains(err.Error(), `has no source "sistem": it has file, system`) {
		t.Errorf("at %q: %v", place(err), err)
	}
	f = tableOfSets().component("a", "presets: [compiler]", "providers:", "  - {kind: system, recipe: copy, sources: {upstream: [{from: system}]}}")
	g, err := resolveFilled(f.load(t))
	if err != nil {
		t.Fatal(err)
	}
	wantStates(t, g, "a@linux-amd64: no way to obtain it: channel debian has no source of it")
}

// resolveFilled plans a project whose lock says of all packages where they are.
func resolveFilled(p *spec.Project) (*Graph, error) {
	for name, s := range p.Lock.Channels[spec.Debian].Sources {
		if s.Package != "" {
			s.SHA256, s.Size, s.Pool = sum, 1, "pool/main/x.deb"
			p.Lock.Channels[spec.Debian].Sources[name] = s
		}
	}
	return Resolve(p, linux(), nil)
}

// What is built against an LLVM out of packages has the patches for that LLVM,
// whatever the machine's own is.
func TestPatchesFollowTheLLVMOfThePackages(t *testing.T) {
	f := tableOfSets().component("amd-llvm", "providers:", "  - {kind: system, recipe: copy, when: not native, sources: {debian: [{from: system}]}}", "  - {kind: system, recipe: copy}").
		component("user", "presets: [compiler]", "sources: {debian: [{from: file}]}", "needs: {build: [amd-llvm]}")
	f["therock.yaml"] = config("hosts: [native, linux-arm64]\n")
	f["patches/user/series.yaml"] = "schema: 1\npatches:\n  - {file: 0001-x.patch, title: x, why: x, upstream: none, versions: \"*\", llvm: \"<10\"}\n"
	f["patches/user/0001-x.patch"] = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
	g, err := resolveFilled(f.load(t))
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]int{"user@linux-arm64": 1, "user@linux-amd64": 0} { // LLVM 9.1.0 and 22.1.8
		if n := g.Node(id); len(n.Patches) != want {
			t.Errorf("%s has %d patches, want %d; skipped: %v", id, len(n.Patches), want, n.SkippedPatches)
		}
	}
}
