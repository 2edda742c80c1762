package yamlx

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/stonemason-hip/stonemason/internal/suggest"
)

// Kind is the kind of a [Node].
type Kind int

// The kinds of nodes. A scalar is a number when YAML 1.2 reads it as one, a
// boolean when it is true or false; on and off are strings that a boolean
// field accepts.
const (
	Invalid Kind = iota
	Null
	Bool
	Number
	String
	List
	Map
)

// document is what the nodes of one file share.
type document struct {
	file  string
	types *Types
}

// Types remembers what the tags of Go types say, which takes longer to find
// out than a small file takes to read. Its zero value is ready; one can serve
// many files, also at once. See [Shared].
type Types struct {
	plans  sync.Map // reflect.Type → *plan
	traits sync.Map // reflect.Type → *traits
}

// Node is a value in a YAML document with its position and path. A struct
// field of type *Node keeps a value for later decoding. A nil *Node stands for
// a value that is not there: its kind is [Invalid].
type Node struct {
	doc    *document
	parent *Node
	items  []*Node // elements of a list, or values of a mapping, each key once
	text   string  // of a scalar, without quotes
	key    string  // that leads here
	line, col,
	keyLine, keyCol int32 // a file has at most 2 GiB
	index int32 // of a list item
	kind  uint8 // a Kind
	keyed bool  // the parent is a mapping
}

// Kind returns the kind of the node.
func (n *Node) Kind() Kind {
	if n == nil {
		return Invalid
	}
	return Kind(n.kind)
}

// IsScalar reports whether the node is a boolean, a number or a string.
func (n *Node) IsScalar() bool {
	k := n.Kind()
	return k == Bool || k == Number || k == String
}

// Text returns a scalar as it is written, without quotes.
func (n *Node) Text() string {
	if n == nil {
		return ""
	}
	return n.text
}

// Path returns the place of the node in the document, such as
// components.hipify.patches[2]. It is empty for the root.
func (n *Node) Path() string {
	switch {
	case n == nil || n.parent == nil:
		return ""
	case n.keyed:
		return Field(n.parent.Path(), n.key)
	}
	return Index(n.parent.Path(), int(n.index))
}

// Pos returns where the value begins.
func (n *Node) Pos() Pos {
	if n == nil {
		return Pos{}
	}
	return Pos{n.doc.file, int(n.line), int(n.col)}
}

// KeyPos returns where the key of the value stands; for the root and for list
// items it is [Node.Pos].
func (n *Node) KeyPos() Pos {
	if n == nil || !n.keyed {
		return n.Pos()
	}
	return Pos{n.doc.file, int(n.keyLine), int(n.keyCol)}
}

// Key returns the key that leads to the node, or "".
func (n *Node) Key() string {
	if n == nil {
		return ""
	}
	return n.key
}

// Entries returns the values of a mapping in the order of the file; see
// [Node.Key]. Of a key that occurs twice only the first is among them. The
// slice is the node's own and for reading only.
func (n *Node) Entries() []*Node {
	if n.Kind() != Map {
		return nil
	}
	return n.items
}

// Get returns the value of a key of a mapping, or nil.
func (n *Node) Get(key string) *Node {
	for _, entry := range n.Entries() {
		if entry.key == key {
			return entry
		}
	}
	return nil
}

// Items returns the elements of a list. The slice is the node's own and for
// reading only.
func (n *Node) Items() []*Node {
	if n.Kind() != List {
		return nil
	}
	return n.items
}

// slab gives out nodes and slices of them, which are allocated at once.
type slab struct {
	nodes []Node
	refs  []*Node
}

func newSlab(nodes int) *slab {
	return &slab{nodes: make([]Node, nodes), refs: make([]*Node, nodes)}
}

// children makes n nodes below a parent.
func (s *slab) children(parent *Node, n int) []*Node {
	nodes, refs := s.nodes[:n], s.refs[:n:n]
	s.nodes, s.refs = s.nodes[n:], s.refs[n:]
	for i := range nodes {
		nodes[i].doc, nodes[i].parent, nodes[i].index = parent.doc, parent, int32(i)
		refs[i] = &nodes[i]
	}
	return refs
}

// Decode decodes the node into the value that out points to, as [Decode] does.
// A type's own UnmarshalYAMLX must not pass itself on, but a type defined as
// it is: type plain T; n.Decode((*plain)(t)).
func (n *Node) Decode(out any) error { return DecodeNode(n, out) }

// Errorf returns an error at the node's position; the message is preceded by
// the node's path.
func (n *Node) Errorf(format string, args ...any) *Error {
	e := n.at(n.Pos())
	e.Msg = fmt.Sprintf(format, args...)
	if e.Path != "" {
		e.Msg = e.Path + ": " + e.Msg
	}
	return e
}

// Want returns the error for a node that is not what was expected, such as
// "a whole number", with what was found instead.
func (n *Node) Want(expected string) *Error {
	e := n.at(n.Pos())
	e.Found, e.Expected = n.Describe(), expected
	if n.Kind() == Null {
		e.Hint = "give it a value or remove the key"
		e.Found = "no value"
	}
	return e
}

// WantOneOf returns the error for a string, or a key when inKey is set, that
// is none of the allowed ones, with the nearest of them.
func (n *Node) WantOneOf(allowed []string) *Error {
	e := n.Want(oneOf(allowed))
	if n.Kind() == String {
		e.Found = quote(n.Text())
	}
	if n.IsScalar() {
		e.Suggestion, _ = suggest.Nearest(n.Text(), allowed)
	}
	return e
}

func (n *Node) at(pos Pos) *Error {
	return &Error{File: pos.File, Line: pos.Line, Col: pos.Col, Path: n.Path()}
}

// Describe says in words what the node is: "a list", "the number 7".
func (n *Node) Describe() string {
	switch n.Kind() {
	case Null:
		return "no value"
	case Bool:
		return n.Text()
	case Number:
		return "the number " + cut(n.Text())
	case String:
		if n.Text() == "" {
			return "an empty string"
		}
		return "the string " + quote(n.Text())
	case List:
		return "a list"
	case Map:
		return "a mapping"
	}
	return "nothing"
}

func cut(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}

func oneOf(allowed []string) string {
	switch len(allowed) {
	case 0:
		return "nothing"
	case 1:
		return suggest.List(allowed, 1)
	}
	return "one of " + suggest.List(allowed, 16)
}

// Field returns the path of a key in the mapping at path. Keys that are not
// plain words of letters, digits, - and _ are put in brackets and quotes.
func Field(path, key string) string {
	if !plainKey(key) {
		return path + "[" + strconv.Quote(key) + "]"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// Index returns the path of element i (from 0) in the list at path.
func Index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

func plainKey(key string) bool {
	return key != "" && strings.IndexFunc(key, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '-' && r != '_'
	}) < 0
}
