package yamlx

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func compile(t testing.TB, root any, meta SchemaMeta) *jsonschema.Schema {
	t.Helper()
	text, err := Schema(root, meta)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("file:///schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("file:///schema.json")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s
}

// instance reads YAML as an editor does: without this package, into JSON.
func instance(data []byte) (any, bool) {
	var v any
	if yaml.Unmarshal(data, &v) != nil {
		return nil, false
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, false // NaN, keys that are no strings
	}
	x, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	return x, err == nil
}

// The golden file was written by this package (go test -update) and read by a
// person; the other tests of this file hold it against a validator that knows
// nothing of this package.
func TestSchemaGolden(t *testing.T) {
	got, err := Schema(&config{}, SchemaMeta{ID: "https://example.org/config.schema.json", Title: "config"})
	if err != nil {
		t.Fatal(err)
	}
	again, _ := Schema(config{}, SchemaMeta{ID: "https://example.org/config.schema.json", Title: "config"})
	if !bytes.Equal(got, again) {
		t.Error("the schema differs from one time to the next")
	}
	name := filepath.Join("testdata", "config.schema.json")
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the schema is not that of %s (go test -update rewrites it):\n%s", name, got)
	}
}

// TestSchemaAgrees decodes and validates the same documents. Where a schema
// cannot know, only Decode refuses: those are marked.
func TestSchemaAgrees(t *testing.T) {
	s := compile(t, config{}, SchemaMeta{})
	const v = "version: v\n"
	const (
		yes    = iota // both accept
		no            // both refuse
		decode        // only Decode refuses
	)
	tests := []struct {
		in   string
		want int
	}{
		{good, yes},
		{v, yes},
		{"channel: auto\n", no},
		{v + "compnents: {}\n", no},
		{"version: 7.0\n", no},
		{"version: 2024-01-02\n", yes},
		{"version: on\n", yes},
		{"version: true\n", no},
		{"version: ''\n", no},
		{"version: üüüüüüüüüüüüüüüüüüüü\n", yes}, // 20 characters, 40 bytes
		{"version: aaaaaaaaaaaaaaaaaaaaa\n", no},
		{"version:\n", no},
		{v + "channel: debian\n", yes},
		{v + "channel: Debian\n", no},
		{v + "hosts: a\n", yes},
		{v + "hosts: [a, b]\n", yes},
		{v + "hosts: [a, a]\n", no},
		{v + "hosts: []\n", no},
		{v + "hosts: {}\n", no},
		{v + "hosts: 3\n", no},
		{v + "gpus: [gfx942]\n", yes},
		{v + "gpus: [mi300]\n", no},
		{v + "gpus: [gfx1, gfx2, gfx3, gfx4, gfx5]\n", no},
		{v + "gpus: [gfx1, gfx1]\n", no},
		{v + "components: {a: on, b: off, c: true, d: false}\n", yes},
		{v + "components: {a: yes}\n", no},
		{v + "components: {a: 'on'}\n", yes},
		{v + "components: {a: 'true'}\n", no},
		{v + "components: {a: {}}\n", yes},
		{v + "components: {a: []}\n", no},
		{v + "components: {a: {provider: system, version: '1.2'}}\n", yes},
		{v + "components: {a: {provider: none}}\n", no},
		{v + "components: {a: {version: 1.2}}\n", no},
		{v + "components: {a: {version: x}}\n", no},
		{v + "components: {A: on}\n", no},
		{v + "presets: {A b: [source]}\n", yes},
		{v + "presets: {a: source}\n", no},
		{v + "jobs: 64\n", yes},
		{v + "jobs: 0\n", no},
		{v + "jobs: 65\n", no},
		{v + "jobs: 256\n", no},
		{v + "jobs: -1\n", no},
		{v + "jobs: 1.5\n", no},
		{v + "jobs: '1'\n", no},
		{v + "jobs: 1.0\n", decode},
		{v + "jobs: 0x10\n", decode},
		{v + "offset: 99999999999999999999\n", decode},
		{v + "load: 1\n", yes},
		{v + "load: 0.5\n", yes},
		{v + "load: 0.4\n", no},
		{v + "load: high\n", no},
		{v + "memory: 20GB\n", yes},
		{v + "memory: 1.5 GiB\n", yes},
		{v + "memory: 1048576\n", yes},
		{v + "memory: '1048576'\n", yes},
		{v + "memory: -1\n", no},
		{v + "memory: 20\n", decode}, // below min=1MiB
		{v + "memory: 20XB\n", no},
		{v + "memory: [1]\n", no},
		{v + "timeout: 1m30s\n", yes},
		{v + "timeout: 2h\n", decode},
		{v + "timeout: 90\n", no},
		{v + "timeout: -1s\n", no},
		{v + "timeout: soon\n", no},
		{v + "color: on\n", yes},
		{v + "color: maybe\n", no},
		{v + "steps: [cmake: {name: x, defs: {A: on, B: 1, C: 1.5}}, run: [x]]\n", yes},
		{v + "steps: [{cmake: {}, run: [x]}]\n", no},
		{v + "steps: [{}]\n", no},
		{v + "steps: [run: []]\n", no},
		{v + "steps: [cmake: {defs: {a: 1}}]\n", no},
		{v + "steps: [cmake: {defs: {A: 1, B: 2, C: 3, D: 4}}]\n", no},
		{v + "steps: [cmake: {defs: {A: {}}}]\n", no},
		{v + "cache: {read: [a], write: b}\n", yes},
		{v + "cache: {write: b}\n", decode},
		{v + "platform: linux\n", decode},
		{v + "platform: 3\n", no},
		{v + "any: [1, {a: b}]\nraw: 3\n", yes},
		{v + "tree: {name: a, kids: [{name: b, kids: []}]}\n", yes},
		{v + "tree: {name: a, kids: [{kids: []}]}\n", no},
		{v + "tree: {name: a, kids: [{name: b, x: 1}]}\n", no},
		{"[]\n", no},
		{"text\n", no},
	}
	for _, tt := range tests {
		x, ok := instance([]byte(tt.in))
		if !ok {
			t.Errorf("not readable: %s", tt.in)
			continue
		}
		bySchema := s.Validate(x)
		byDecode := Decode("f", []byte(tt.in), &config{})
		if (bySchema != nil) != (tt.want == no) || (byDecode != nil) != (tt.want != yes) {
			t.Errorf("%s\nschema: %v\ndecode: %v", strings.TrimPrefix(tt.in, v), bySchema, byDecode)
		}
	}
}

type registered struct{}

func (r *registered) UnmarshalYAMLX(n *Node) error { return nil }

type odd struct{}

func (*odd) UnmarshalYAMLX(n *Node) error { return nil }
func (odd) SchemaYAMLX() map[string]any {
	return map[string]any{"type": "integer", "multipleOf": 2}
}

type withUnion struct {
	Steps []registered `yaml:"steps"`
	Odd   odd          `yaml:"odd"`
}

func TestSchemaOfOwnTypes(t *testing.T) {
	if _, err := Schema(withUnion{}, SchemaMeta{}); err == nil || !strings.Contains(err.Error(), "needs Forms") {
		t.Errorf("a type of unknown form: %v", err)
	}
	s := compile(t, withUnion{}, SchemaMeta{Unions: map[reflect.Type][]any{
		reflect.TypeFor[registered](): {"", &cmakeStep{}},
	}})
	for in, want := range map[string]bool{
		"steps: [a, {name: x}]": true,
		"steps: [3]":            false,
		"steps: [{nome: x}]":    false,
		"odd: 4":                true,
		"odd: 5":                false,
	} {
		x, _ := instance([]byte(in))
		if err := s.Validate(x); (err == nil) != want {
			t.Errorf("%s: %v", in, err)
		}
	}
	for _, root := range []any{nil, 3, Size(1), struct {
		A func() `yaml:"a"`
	}{}, struct {
		A map[int]int `yaml:"a"`
	}{}, struct {
		A int `yaml:"a" sm:"x"`
	}{}} {
		if text, err := Schema(root, SchemaMeta{}); err == nil {
			t.Errorf("%T has the schema %s", root, text)
		}
	}
}

// FuzzSchema holds the promise that the schema accepts whatever Decode does.
func FuzzSchema(f *testing.F) {
	s := compile(f, config{}, SchemaMeta{})
	f.Add([]byte(good))
	for _, in := range []string{"version: 2001-01-01", "version: v\njobs: +7\nload: 1e0", "version: |\n x\nany: -.5e-3", "version: v\nmemory: '5'\ncolor: False"} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if Decode("f", data, &config{}) != nil {
			return
		}
		x, ok := instance(data)
		if !ok {
			return
		}
		if err := s.Validate(x); err != nil {
			t.Errorf("decoded, but not of the schema: %v\n%s", err, data)
		}
	})
}
