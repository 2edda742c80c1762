package launchfile

import "github.com/stonemason-hip/stonemason/internal/yamlx"

// SchemaFile is what the JSON Schema of launch files is called among those of the
// project.
const SchemaFile = "launch.schema.json"

// Schema returns the JSON Schema (draft 2020-12) by which editors complete launch files.
func Schema() ([]byte, error) {
	return yamlx.Schema(File{}, yamlx.SchemaMeta{ID: SchemaFile, Title: "*.launch.yaml", Description: "Which kernels run, over what, and what they must compute."})
}

// SchemaYAMLX says what UnmarshalYAMLX reads.
func (Dims) SchemaYAMLX() map[string]any {
	one := map[string]any{"type": "integer", "minimum": 1, "maximum": 1<<32 - 1}
	return map[string]any{"oneOf": []any{one, map[string]any{"type": "array", "items": one, "minItems": 1, "maxItems": 3}}}
}

// Forms says what UnmarshalYAMLX reads.
func (Args) Forms() []any { return []any{[]Arg{}, map[string]Arg{}} }

// Forms says what an argument is: a number, or a mapping that says more.
func (Arg) Forms() []any { return []any{yamlx.Scalar(""), plainArg{}} }

// Forms says what UnmarshalYAMLX reads.
func (Extern) Forms() []any { return []any{"", plainExtern{}} }

// Forms says what UnmarshalYAMLX reads.
func (Expect) Forms() []any { return []any{yamlx.Scalar(""), plainExpect{}} }
