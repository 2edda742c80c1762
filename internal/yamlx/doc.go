// Package yamlx decodes YAML files into Go structs strictly and says where
// each mistake is: file, line, column, what was found, what was expected, and
// the nearest valid spelling. The same Go types give the JSON Schema by which
// editors complete the files (see [Schema]).
//
// # Accepted YAML
//
// One document of YAML 1.2 in UTF-8 (a byte order mark is tolerated), at most
// 1 MiB and 100 levels deep. Anchors, aliases, merge keys and explicit tags
// are refused: they make a file mean something that does not stand there.
// Keys are strings. A key without a value is an error, not an empty value.
// Scalars keep their YAML type: 7.0 is a number and no string, because the
// editor that reads the same file sees a number too; the error says to quote
// it. Booleans are true, false, on and off.
//
// # Struct tags
//
//	yaml:"name"       the key; without it the field's name in lower case
//	yaml:"-"          not a key
//	yaml:",inline"    a struct whose keys belong to the surrounding mapping
//	yaml:",pos"       a field of type [Pos], filled with the mapping's position
//	sm:"required"     the key must be there
//	sm:"min=1,max=9"  bounds: of the value of numbers, [time.Duration] and
//	                  [Size], of the length in characters of strings, of the
//	                  number of entries of lists and mappings
//	sm:"unique"       a list holds no string twice
//	sm:"enum=a|b|c"   the allowed strings: of a string, of each element of a
//	                  list, of each value of a mapping
//	pattern:"^[a-z]"  a regular expression for the same strings as enum
//	keys:"^[a-z]"     a regular expression for the keys of a mapping
//	doc:"..."         the description in the schema
//
// A blank field carries the rules of the struct itself:
//
//	_ struct{} `sm:"onekey" doc:"..."`
//
// where onekey demands a mapping with exactly one key.
//
// # Types
//
// Besides booleans, numbers, strings, structs, slices, maps with string keys,
// pointers (for optional values) and any: [time.Duration] ("90s", "1h30m"),
// [Size] ("20GB"), [Scalar], [Strings], [Ordered], [*Node] (decoded later),
// and types that implement [Unmarshaler], [encoding.TextUnmarshaler] or [Enum].
package yamlx
