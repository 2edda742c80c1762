package spec

import (
	"fmt"

	"github.com/stonemason-hip/stonemason/internal/yamlx"
)

// SchemaDir is the folder of the JSON Schemas, relative to a project's root.
const SchemaDir = "docs/schema"

// Schemas makes the JSON Schemas (draft 2020-12) of a project's files, by file
// name. They come from the same types that the files are decoded into.
func Schemas() (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, s := range []struct {
		file, title, about string
		root               any
	}{
		{"therock.schema.json", "therock.yaml", "What Stonemason builds.", Config{}},
		{"component.schema.json", "components/*.yaml", "One component of the toolchain.", Component{}},
		{"recipe.schema.json", "recipes/*.yaml", "How a kind of component is obtained.", Recipe{}},
		{"releases.schema.json", "toolchain/releases.yaml", "Sources and the releases that pin them.", Releases{}},
	} {
		data, err := yamlx.Schema(s.root, yamlx.SchemaMeta{ID: s.file, Title: s.title, Description: s.about})
		if err != nil {
			return nil, fmt.Errorf("schema of %s: %w", s.title, err)
		}
		out[s.file] = data
	}
	return out, nil
}
