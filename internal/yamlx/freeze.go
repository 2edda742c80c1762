package yamlx

import (
	"encoding/binary"
	"errors"
	"math"
	"unicode/utf8"
)

// FrozenVersion is raised when [Freeze] writes another form, and when parsing
// finds other values or mistakes in a file than before. What was frozen by
// another version must not be thawed; nor by another version of the YAML parser.
const FrozenVersion = 1

// Freeze appends the document of a source in a compact form, from which [Thaw]
// makes it again sooner than from the file. The form is, with numbers as
// unsigned varints (package encoding/binary) and texts after their lengths in
// bytes: the number of values; and then, for each value, before the values in
// it, its kind, its line and column, and the text of a scalar or the number of
// values of a list or mapping. In a mapping, key and line and column of the key
// come before each value.
func Freeze(b []byte, s *Source) []byte {
	root := s.Root()
	return root.freeze(binary.AppendUvarint(b, uint64(root.count())))
}

// count is how many values a node is made of.
func (n *Node) count() int {
	all := 1
	for _, item := range n.items {
		all += item.count()
	}
	return all
}

func (n *Node) freeze(b []byte) []byte {
	b = binary.AppendUvarint(append(b, n.kind), uint64(n.line))
	b = binary.AppendUvarint(b, uint64(n.col))
	if k := n.Kind(); k != List && k != Map {
		return append(binary.AppendUvarint(b, uint64(len(n.text))), n.text...)
	}
	b = binary.AppendUvarint(b, uint64(len(n.items)))
	for _, item := range n.items {
		if item.keyed {
			b = append(binary.AppendUvarint(b, uint64(len(item.key))), item.key...)
			b = binary.AppendUvarint(b, uint64(item.keyLine))
			b = binary.AppendUvarint(b, uint64(item.keyCol))
		}
		b = item.freeze(b)
	}
	return b
}

// Thaw decodes what [Freeze] wrote of a file, as [DecodeSource] decodes the
// file: the document is one that a parser could have found in a file, and the
// decoding says the same of it. ErrFrozen is the answer when it is not: read the
// file then. That the file is unchanged, and not too large, is for the caller to
// know.
func Thaw(file, frozen string, out any, opts ...Option) (*Source, error) {
	l := limitsOf(opts)
	t := thawing{rest: frozen, maxDepth: l.depth}
	count := t.number()
	// A value takes 4 bytes: a wrong number must not allocate more than that.
	if count < 1 || count > len(frozen)/4 {
		return nil, ErrFrozen
	}
	t.slab = newSlab(count - 1)
	n := &Node{doc: &document{file: file, types: l.types}}
	t.value(n, 1)
	if t.bad || t.rest != "" || len(t.nodes) > 0 {
		return nil, ErrFrozen
	}
	c := &collector{}
	decodeInto(n, out, c)
	return &Source{n}, c.err()
}

// ErrFrozen is the error of [Thaw] for what is no frozen document.
var ErrFrozen = errors.New("no frozen document")

// thawing reads the compact form. Once something is bad, it reads nothing more.
type thawing struct {
	*slab
	rest     string
	maxDepth int
	bad      bool
}

// number reads a number of 31 bits.
func (t *thawing) number() int {
	var n uint64
	for i := range min(len(t.rest), 5) {
		c := t.rest[i]
		n |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			if n > math.MaxInt32 {
				break
			}
			t.rest = t.rest[i+1:]
			return int(n)
		}
	}
	t.fail()
	return 0
}

func (t *thawing) text() string {
	n := t.number()
	if n > len(t.rest) || !utf8.ValidString(t.rest[:n]) {
		t.fail()
		return ""
	}
	s := t.rest[:n]
	t.rest = t.rest[n:]
	return s
}

func (t *thawing) fail() { t.bad, t.rest = true, "" }

func (t *thawing) value(n *Node, depth int) {
	if depth > t.maxDepth {
		t.fail()
		return
	}
	kind := Kind(t.number())
	n.kind, n.line, n.col = uint8(kind), int32(t.number()), int32(t.number())
	switch kind {
	case Null, Number, String:
		n.text = t.text()
	case Bool:
		switch n.text = t.text(); n.text { // YAML 1.2.2, section 10.3.2
		case "true", "True", "TRUE", "false", "False", "FALSE":
		default:
			t.fail()
		}
	case List, Map:
		count := t.number()
		if count > len(t.nodes) {
			t.fail()
			return
		}
		n.items = t.children(n, count)
		for i, item := range n.items {
			if kind == Map {
				item.keyed, item.key = true, t.text()
				item.keyLine, item.keyCol = int32(t.number()), int32(t.number())
				if len(item.key) > maxKey {
					t.fail()
				}
			}
			if t.value(item, depth+1); t.bad {
				n.items = n.items[:i]
				return
			}
		}
		if kind == Map && !distinct(n.items) {
			t.fail()
		}
	default:
		t.fail()
	}
}

// distinct reports whether the keys of a mapping differ.
func distinct(items []*Node) bool {
	const few = 16 // up to here, looking is quicker than a map
	if len(items) <= few {
		for i, item := range items {
			for _, before := range items[:i] {
				if before.key == item.key {
					return false
				}
			}
		}
		return true
	}
	keys := make(map[string]bool, len(items))
	for _, item := range items {
		keys[item.key] = true
	}
	return len(keys) == len(items)
}
