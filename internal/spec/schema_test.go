package spec

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// root is the repository, seen from this package.
const root = "../.."

func TestSchemasAreUpToDate(t *testing.T) {
	schemas, err := Schemas()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range schemas {
		got, err := os.ReadFile(filepath.Join(root, SchemaDir, name))
		if err != nil {
			t.Errorf("%v: run go tool mage schema", err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the Go types say: run go tool mage schema", name)
		}
	}
}

// The project's own files must satisfy the schemas that editors use on them.
func TestOurFilesSatisfyTheSchemas(t *testing.T) {
	schemas, err := Schemas()
	if err != nil {
		t.Fatal(err)
	}
	for pattern, schema := range map[string]string{
		ConfigFile: "therock.schema.json", ReleasesFile: "releases.schema.json",
		ComponentsDir + "/*.yaml": "component.schema.json", RecipesDir + "/*.yaml": "recipe.schema.json",
	} {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemas[schema]))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource(schema, doc); err != nil {
			t.Fatal(err)
		}
		compiled, err := c.Compile(schema)
		if err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var v any
			if err := yaml.Unmarshal(data, &v); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if err := compiled.Validate(v); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

func TestOurFilesLoad(t *testing.T) {
	p, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"amd-llvm", "device-libs", "comgr", "hipcc", "hip-headers", "rocm-cmake", "hipify", "zstd"} {
		if p.Components[name] == nil {
			t.Errorf("there is no component %s", name)
		}
	}
}
