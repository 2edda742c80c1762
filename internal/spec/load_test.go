package spec

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/internal/yamlx"
)

const (
	okConfig   = "schema: 1\nversion: \">=1\"\ngpus: [gfx942]\n"
	okReleases = "schema: 1\nrepositories: {}\nreleases: []\n"
	okRecipe   = "schema: 1\nname: r\nsummary: s\nsteps: [{name: a, uses: audit}]\n"
	okPart     = "schema: 1\nname: a\nsummary: s\ngroup: G\nproviders: [{kind: source, recipe: r}]\n"
	hash       = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	commit     = "0123456789abcdef0123456789abcdef01234567"
)

// load writes a project, with files over the good ones, and reads it.
func load(t testing.TB, files map[string]string) (*Project, error) {
	t.Helper()
	root := t.TempDir()
	all := map[string]string{ConfigFile: okConfig, ReleasesFile: okReleases, "recipes/r.yaml": okRecipe, "components/a.yaml": okPart}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Load(root)
}

func TestDefaults(t *testing.T) {
	p, err := load(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := p.Config
	if c.Channel != Auto || c.Preset != Compiler || len(c.Hosts) != 1 || c.Hosts[0] != "native" || p.Components["a"].Artifact != PerHost || p.Lock != nil {
		t.Errorf("got channel %s, preset %s, hosts %q, artifact %s, lock %v", c.Channel, c.Preset, c.Hosts, p.Components["a"].Artifact, p.Lock)
	}
}

// Every kind of mistake, in every kind of file, with its position.
func TestMistakesAreLocated(t *testing.T) {
	release := func(pin string) string {
		return "schema: 1\nrepositories: {}\nreleases:\n  - version: \"1.0.0\"\n    channel: debian\n    pins:\n      x: " + pin + "\n"
	}
	for _, c := range []struct{ name, file, text, at, want string }{
		{"unknown key", ConfigFile, okConfig + "chanel: debian\n", "therock.yaml:4:1", `unknown key "chanel": did you mean "channel"?`},
		{"unknown key of a toggle", ConfigFile, okConfig + "components:\n  a: {provder: source}\n", "therock.yaml:5:7", `did you mean "provider"?`},
		{"missing key", ConfigFile, "schema: 1\ngpus: [gfx942]\n", "therock.yaml:1:1", `missing required key "version"`},
		{"a string for a list", ConfigFile, "schema: 1\nversion: \">=1\"\ngpus: gfx942\n", "therock.yaml:3:7", "expected a list"},
		{"a number for a string", ConfigFile, "schema: 1\nversion: [1]\ngpus: [gfx942]\n", "therock.yaml:2:10", "version"},
		{"a toggle that is none", ConfigFile, okConfig + "components: {a: maybe}\n", "therock.yaml:4:17", "on, off or a mapping"},
		{"a toggle that is a list", ConfigFile, okConfig + "components: {a: [on]}\n", "therock.yaml:4:17", "mapping"},
		{"a group that is no switch", ConfigFile, okConfig + "groups: {G: perhaps}\n", "therock.yaml:4:13", "groups.G"},
		{"unknown preset", ConfigFile, okConfig + "preset: complier\n", "therock.yaml:4:9", `did you mean "compiler"?`},
		{"unknown channel", ConfigFile, okConfig + "channel: upsteam\n", "therock.yaml:4:10", `did you mean "upstream"?`},
		{"a newer format", ConfigFile, "schema: 2\nversion: \">=1\"\ngpus: [gfx942]\n", "therock.yaml:1:9", "at most 1"},
		{"a size that is none", ConfigFile, okConfig + "cache: {max_size: much}\n", "therock.yaml:4:19", "a size"},
		{"jobs below nothing", ConfigFile, okConfig + "budget: {jobs: -1}\n", "therock.yaml:4:16", "at least 0"},
		{"a key twice", ConfigFile, okConfig + "schema: 1\n", "therock.yaml:4:1", "duplicate key"},
		{"two documents", ConfigFile, okConfig + "---\n" + okConfig, "therock.yaml:", "document"},
		{"an anchor", ConfigFile, okConfig + "hosts: &h [native]\n", "therock.yaml:4:8", "anchors"},
		{"empty", ConfigFile, "", "therock.yaml:1:1", "the file is empty"},
		{"not UTF-8", ConfigFile, okConfig + "name: \"\xff\"\n", "therock.yaml:4:8", "not valid UTF-8"},
		{"broken YAML", ConfigFile, okConfig + "hosts: [native\n", "therock.yaml:", ""},
		{"too large", ConfigFile, okConfig + "#" + strings.Repeat("x", 2<<20) + "\n", "therock.yaml", "more than the"},
		{"a name that is not the file's", "components/a.yaml", strings.Replace(okPart, "name: a", "name: b", 1), "components/a.yaml:2:7", `found name "b" in a file for "a"`},
		{"a recipe's name that is not the file's", "recipes/r.yaml", strings.Replace(okRecipe, "name: r", "name: q", 1), "recipes/r.yaml:2:7", `"q"`},
		{"a component that cannot be had", "components/a.yaml", "schema: 1\nname: a\nsummary: s\ngroup: G\n", "components/a.yaml:1:1", "the component has no providers"},
		{"unknown provider", "components/a.yaml", strings.Replace(okPart, "source", "sorce", 1), "components/a.yaml:5:20", `did you mean "source"?`},
		{"unknown artifact", "components/a.yaml", okPart + "artifact: every\n", "components/a.yaml:6:11", "artifact"},
		{"a duration that is none", "components/a.yaml", okPart + "estimate: {cpu: soon}\n", "components/a.yaml:6:17", "cpu"},
		{"a slice that is none", "components/a.yaml", okPart + "slices: [{slice: rum, globs: [x]}]\n", "components/a.yaml:6:18", `did you mean "run"?`},
		{"a parameter's type", "recipes/r.yaml", okRecipe + "params: {p: {type: text}}\n", "recipes/r.yaml:5:20", "string"},
		{"a step without a name", "recipes/r.yaml", strings.Replace(okRecipe, "name: a, ", "", 1), "recipes/r.yaml:4:9", `missing required key "name"`},
		{"a pin of nothing", ReleasesFile, release("{}"), "toolchain/releases.yaml:7:10", "exactly one of commit, debian, packages and url"},
		{"a pin of two things", ReleasesFile, release("{commit: " + commit + ", url: [\"file:///x\"], sha256: " + hash + "}"), "toolchain/releases.yaml:7:10", "exactly one of"},
		{"a commit that is short", ReleasesFile, release("{commit: abc}"), "toolchain/releases.yaml:7:19", "commit"},
		{"a url without a hash", ReleasesFile, release("{url: [\"file:///x\"]}"), "toolchain/releases.yaml:7:10", "a url needs a sha256"},
		{"a package of npm by a tag", ReleasesFile, release("{url: [\"npm:a@latest\"], sha256: " + hash + "}"), "toolchain/releases.yaml:7:10", "a package and its exact version"},
		{"a package of no kind", ReleasesFile, release("{debian: {suite: sid, version: \"1\"}}"), "toolchain/releases.yaml:7:10", "exactly one of source and binary"},
		{"a source package without a file", ReleasesFile, release("{debian: {suite: sid, version: \"1\", source: x}}"), "toolchain/releases.yaml:7:10", "needs file"},
		{"a binary package without an architecture", ReleasesFile, release("{debian: {suite: sid, version: \"1\", binary: x}}"), "toolchain/releases.yaml:7:10", "needs arch"},
		{"a set of packages without an architecture", ReleasesFile, release("{packages: {suites: {sid: {x: \"1\"}}}}"), "toolchain/releases.yaml:7:11", `missing required key "arch"`},
		{"a set of no packages", ReleasesFile, release("{packages: {arch: arm64, suites: {sid: {}}}}"), "toolchain/releases.yaml:7:10", "names none"},
		{"a package in two suites", ReleasesFile, release("{packages: {arch: arm64, suites: {sid: {xy: \"1\"}, trixie: {xy: \"2\"}}}}"), "toolchain/releases.yaml:7:10", "package xy is pinned twice, in sid and in trixie"},
		{"a package without a version", ReleasesFile, release("{packages: {arch: arm64, suites: {sid: {xy: \"\"}}}}"), "toolchain/releases.yaml:7:10", "package xy has no version"},
		{"a package that is a path", ReleasesFile, release("{packages: {arch: arm64, suites: {sid: {x/y: \"1\"}}}}"), "toolchain/releases.yaml:7:10", `"x/y" is no name of a package`},
		{"a pin that is a path", ReleasesFile, strings.Replace(release("{url: [\"file:///x\"], sha256: "+hash+"}"), "x: {", "x/y: {", 1), "toolchain/releases.yaml:7:12", "its name holds a slash"},
		{"a lock with an unknown key", LockFile, "schema: 1\nversion: x\nchannels: {}\nmore: 1\n", "therock.lock:4:1", `unknown key "more"`},
		{"a lock of an unknown channel", LockFile, "schema: 1\nversion: x\nchannels: {debain: {release: \"1\", sources: {}}}\n", "therock.lock:3:12", "debian"},
		{"a lock with a hash that is none", LockFile, "schema: 1\nversion: x\nchannels: {debian: {release: \"1\", sources: {x: {sha256: abc}}}}\n", "therock.lock:3:57", "sha256"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(t, map[string]string{c.file: c.text})
			var one *yamlx.Error
			if !errors.As(err, &one) {
				t.Fatalf("got %v", err)
			}
			at := one.Pos().String()
			if !strings.HasSuffix(c.at, ":") && at != c.at || !strings.HasPrefix(at, c.at) && strings.HasSuffix(c.at, ":") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("at %s: %v\nwant at %s: %s", at, err, c.at, c.want)
			}
		})
	}
}

func TestTheRootIsFoundFromBelow(t *testing.T) {
	p, err := load(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(p.Root, "components")
	if root, err := FindRoot(below); err != nil || root != p.Root {
		t.Errorf("from %s: %s, %v", below, root, err)
	}
	if _, err := FindRoot(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no therock.yaml") {
		t.Errorf("outside: %v", err)
	}
}

// What a flag or variable replaced is found there, and so is what lies in it.
func TestOverriddenPositions(t *testing.T) {
	p, err := load(t, map[string]string{ConfigFile: okConfig + "components: {a: on}\n"})
	if err != nil {
		t.Fatal(err)
	}
	c := p.Config
	c.Override("gpus", "-gpus")
	c.Override("components.a", "STONEMASON_WITH")
	for path, want := range map[string]string{
		"gpus": "-gpus", "gpus[3]": "-gpus", "components.a": "STONEMASON_WITH", "components.a.provider": "STONEMASON_WITH",
		"version": "therock.yaml:2:10", "components": "therock.yaml:4:13", "components.ab": "therock.yaml:4:13",
	} {
		if got := c.At(path).String(); got != want {
			t.Errorf("%s is at %s, want %s", path, got, want)
		}
	}
}

func TestPlain(t *testing.T) {
	var v Values
	if err := yamlx.Decode("x", []byte("v: {s: text, b: true, o: on, n: 1.10, l: [a, {k: 0x1}]}\n"), &v); err != nil {
		t.Fatal(err)
	}
	got, err := Plain(v["v"])
	if err != nil {
		t.Fatal(err)
	}
	m := got.(map[string]any)
	if m["s"] != "text" || m["b"] != true || m["o"] != "on" || m["n"] != "1.10" || m["l"].([]any)[1].(map[string]any)["k"] != "0x1" {
		t.Errorf("got %#v", got)
	}
	if err := yamlx.Decode("x", []byte("v: [~]\n"), &v); err == nil {
		if _, err = Plain(v["v"]); err == nil {
			t.Error("a null is no value")
		}
	}
}

// FuzzLoad: no bytes in any of the files make the reader panic.
func FuzzLoad(f *testing.F) {
	for i, text := range []string{okConfig, okReleases, okRecipe, okPart, "schema: 1\nversion: x\nchannels: {}\n"} {
		f.Add(i, []byte(text))
	}
	f.Add(0, []byte(okConfig+"components: {a: {with: {x: [1, {y: z}]}, workspace: .}}\ncache: {max_size: 1GB}\nbudget: {memory: 2GiB}\n"))
	files := []string{ConfigFile, ReleasesFile, "recipes/r.yaml", "components/a.yaml", LockFile}
	f.Fuzz(func(t *testing.T, which int, text []byte) {
		if which < 0 || which >= len(files) {
			return
		}
		p, err := load(t, map[string]string{files[which]: string(text)})
		if err == nil && p == nil {
			t.Error("neither a project nor an error")
		}
	})
}
