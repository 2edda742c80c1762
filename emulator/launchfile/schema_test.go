package launchfile

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// The schema is the one in docs/schema, takes every launch file of the repository,
// and refuses what the decoder refuses.
func TestSchema(t *testing.T) {
	const root = "../.."
	schema, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	if old, err := os.ReadFile(filepath.Join(root, "docs", "schema", SchemaFile)); err != nil || !bytes.Equal(old, schema) {
		t.Errorf("docs/schema/%s is not what the Go types say: run go tool mage schema (%v)", SchemaFile, err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(SchemaFile, doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile(SchemaFile)
	if err != nil {
		t.Fatal(err)
	}
	valid := func(data []byte) error {
		var v any
		if err := yaml.Unmarshal(data, &v); err != nil {
			t.Fatal(err)
		}
		return compiled.Validate(v)
	}
	files, err := filepath.Glob(filepath.Join(root, "examples", "*", "*.launch.yaml"))
	if err != nil || len(files) < 6 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := valid(data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for launch, ok := range map[string]bool{
		"{grid: 1, block: [64, 1], args: {a: 1, b: {count: 4, expect: 2*a}, c: {file: x.bin}, d: {values: [1, inf], expect: {file: {path: y, offset: 4}, ulp: 1}}}}": true,
		"{grid: 1, block: 64, args: [1, 0x10, inf, {value: [1, 2], type: bf16}, {count: 4, range: {}}, {count: 2, random: {from: -1, to: 1, seed: 3}}]}":             true,
		"{gird: 1, block: 64}":                                        false,
		"{grid: 1}":                                                   false,
		"{grid: 0, block: 64}":                                        false,
		"{grid: [1, 2, 3, 4], block: 64}":                             false,
		"{grid: 1, block: 64, args: [[1]]}":                           false,
		"{grid: 1, block: 64, args: [{count: -1}]}":                   false,
		"{grid: 1, block: 64, args: [{cout: 1}]}":                     false,
		"{grid: 1, block: 64, args: [{count: 1, type: f31}]}":         false,
		"{grid: 1, block: 64, args: [{count: 1, random: {from: 1}}]}": false,
		"{grid: 1, block: 64, args: [{count: 1, expect: {upl: 1}}]}":  false,
	} {
		_, parsed := Parse("l.yaml", text(launch))
		if err := valid(text(launch)); (err == nil) != ok || (parsed == nil) != ok {
			t.Errorf("%s: the schema says %v, the decoder %v", launch, err, parsed)
		}
	}
}
