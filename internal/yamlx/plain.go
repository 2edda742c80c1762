package yamlx

import (
	"maps"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// FromPlain makes a node of nested map[string]any, []any, string and bool, as
// if it came from a file without a name: so that values that were computed are
// decoded as strictly as those that were read. Of the options only [Shared]
// plays a part. ok is false when v holds something else.
func FromPlain(v any, opts ...Option) (n *Node, ok bool) {
	var l limits
	for _, o := range opts {
		o(&l)
	}
	if l.types == nil {
		l.types = new(Types)
	}
	y := plainNode(v)
	if y == nil {
		return nil, false
	}
	return &Node{doc: &document{types: l.types}, y: y}, true
}

func plainNode(v any) *yaml.Node {
	switch v := v.(type) {
	case string:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v}
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v)}
	case []any:
		y := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: make([]*yaml.Node, len(v))}
		for i, e := range v {
			if y.Content[i] = plainNode(e); y.Content[i] == nil {
				return nil
			}
		}
		return y
	case map[string]any:
		y := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: make([]*yaml.Node, 0, 2*len(v))}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			value := plainNode(v[k])
			if value == nil {
				return nil
			}
			y.Content = append(y.Content, plainNode(k), value)
		}
		return y
	}
	return nil
}
