package npm

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	p, err := Parse("npm:@some.scope/a-name@1.2.3-dev.4+5")
	if err != nil || p != (Package{"@some.scope/a-name", "1.2.3-dev.4+5"}) {
		t.Fatalf("Parse = %+v, %v", p, err)
	}
	for address, want := range map[string]string{
		"https://example.org/a.tgz":   "does not begin with npm:",
		"npm:name":                    "names no version",
		"npm:@scope/name":             "names no version",
		"npm:@scope/name@":            "no exact version",
		"npm:name@latest":             "no exact version",
		"npm:name@^1.2.3":             "no exact version",
		"npm:name@1.2":                "no exact version",
		"npm:../../x@1.2.3":           "no name of an npm package",
		"npm:@a/b/c@1.2.3":            "no name of an npm package",
		"npm:Name@1.2.3":              "no name of an npm package",
		"npm:a?b@1.2.3":               "no name of an npm package",
		"npm:name@1.2.3/../../secret": "no exact version",
	} {
		if _, err := Parse(address); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q): %v, want %q", address, err, want)
		}
	}
}

// builtInRegistry stands for what npm says that nobody has configured.
const builtInRegistry = "https://built-in.example.org"

func TestRegistry(t *testing.T) {
	const scoped, plain = "npm:@tools/zip@1.0.0", "npm:zip@1.0.0"
	for _, c := range []struct {
		name         string
		user, global string
		env          map[string]string
		mirrors      []string
		address      string
		want         string
	}{
		{name: "nothing is configured", address: plain, want: builtInRegistry + "/zip/-/zip-1.0.0.tgz"},
		{name: "a scope", address: scoped, want: builtInRegistry + "/@tools/zip/-/zip-1.0.0.tgz"},
		{name: "the machine's file", address: plain, global: "registry=https://global.example.org/npm/\n", want: "https://global.example.org/npm/zip/-/zip-1.0.0.tgz"},
		{name: "the user's file before it", address: plain, global: "registry=https://global.example.org\n", user: "; a remark = x\n registry = \"https://user.example.org\"\n", want: "https://user.example.org/zip/-/zip-1.0.0.tgz"},
		{name: "the environment before both", address: plain, user: "registry=https://user.example.org\n", env: map[string]string{"NPM_CONFIG_REGISTRY": "https://env.example.org"}, want: "https://env.example.org/zip/-/zip-1.0.0.tgz"},
		{name: "in small letters", address: plain, env: map[string]string{"npm_config_registry": "https://env.example.org"}, want: "https://env.example.org/zip/-/zip-1.0.0.tgz"},
		{name: "a scope's own", address: scoped, user: "@tools:registry=https://tools.example.org\n//tools.example.org/:_authToken=secret\n", env: map[string]string{"NPM_CONFIG_REGISTRY": "https://env.example.org"}, want: "https://tools.example.org/@tools/zip/-/zip-1.0.0.tgz"},
		{name: "another scope's", address: scoped, user: "@other:registry=https://tools.example.org\n", want: builtInRegistry + "/@tools/zip/-/zip-1.0.0.tgz"},
		{name: "a variable", address: plain, user: "registry=https://${WHERE}/npm\n", env: map[string]string{"WHERE": "there.example.org"}, want: "https://there.example.org/npm/zip/-/zip-1.0.0.tgz"},
		{name: "mirrors first", address: plain, mirrors: []string{"https://one.example.org/", builtInRegistry}, want: "https://one.example.org/zip/-/zip-1.0.0.tgz " + builtInRegistry + "/zip/-/zip-1.0.0.tgz"},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := t.TempDir()
			write := func(name, text string) string {
				name = filepath.Join(home, name)
				if text != "" {
					if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				return name
			}
			write(".npmrc", c.user)
			config := Config{Mirrors: c.mirrors, Default: func() (string, error) { return builtInRegistry, nil }, Global: []string{write("global", c.global)}, Getenv: func(name string) string {
				if name == "HOME" {
					return home
				}
				return c.env[name]
			}}
			urls, err := config.URLs(c.address)
			if got := strings.Join(urls, " "); err != nil || got != c.want {
				t.Errorf("URLs = %s, %v; want %s", got, err, c.want)
			}
		})
	}
	// Without npm and without a word of anybody there is none.
	t.Setenv("PATH", t.TempDir())
	if _, err := (Config{Global: []string{}, Getenv: func(string) string { return "" }}).URLs(plain); !errors.Is(err, ErrNoRegistry) {
		t.Errorf("without npm: %v", err)
	}
	config := Config{Global: []string{}, Getenv: func(name string) string {
		return map[string]string{"NPM_CONFIG_REGISTRY": "ssh://user:word@example.org"}[name]
	}}
	if _, err := config.URLs(plain); err == nil || strings.Contains(err.Error(), "word") {
		t.Errorf("a registry of another kind: %v", err)
	}
}
