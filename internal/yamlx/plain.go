package yamlx

import (
	"slices"
	"strconv"
	"strings"
)

// FromPlain makes a node of nested map[string]any, []any, string and bool, as
// if it came from a file without a name: so that values that were computed are
// decoded as strictly as those that were read. Of the options only [Shared]
// plays a part. ok is false when v holds something else.
func FromPlain(v any, opts ...Option) (n *Node, ok bool) {
	l := limitsOf(opts)
	n = &Node{doc: &document{types: l.types}}
	count, ok := plainCount(v)
	if !ok {
		return nil, false
	}
	newSlab(count-1).plain(n, v)
	return n, true
}

// plainCount is how many nodes a value needs.
func plainCount(v any) (nodes int, ok bool) {
	nodes, ok = 1, true
	add := func(v any) bool {
		more, ok := plainCount(v)
		nodes += more
		return ok
	}
	switch v := v.(type) {
	case string, bool:
	case []any:
		for _, e := range v {
			ok = add(e) && ok
		}
	case map[string]any:
		for _, e := range v {
			ok = add(e) && ok
		}
	default:
		return 0, false
	}
	return nodes, ok
}

func (s *slab) plain(n *Node, v any) {
	switch v := v.(type) {
	case string:
		n.kind, n.text = uint8(String), v
	case bool:
		n.kind, n.text = uint8(Bool), strconv.FormatBool(v)
	case []any:
		n.kind, n.items = uint8(List), s.children(n, len(v))
		for i, e := range v {
			s.plain(n.items[i], e)
		}
	case map[string]any:
		n.kind, n.items = uint8(Map), s.children(n, len(v))
		i := 0
		for k := range v {
			n.items[i].key, n.items[i].keyed = k, true
			i++
		}
		slices.SortFunc(n.items, func(a, b *Node) int { return strings.Compare(a.key, b.key) })
		for i, item := range n.items {
			item.index = int32(i)
			s.plain(item, v[item.key])
		}
	}
}
