package yamlx

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Option changes a limit of one decoding.
type Option func(*limits)

type limits struct {
	bytes, depth int
	types        *Types
}

// Shared makes decodings that are given the same Types find out about each Go
// type once.
func Shared(t *Types) Option { return func(l *limits) { l.types = t } }

func limitsOf(opts []Option) limits {
	l := limits{bytes: DefaultMaxBytes, depth: 100}
	for _, o := range opts {
		o(&l)
	}
	if l.types == nil {
		l.types = new(Types)
	}
	return l
}

// DefaultMaxBytes is the largest file in bytes that is accepted without
// MaxBytes.
const DefaultMaxBytes = 1 << 20

// MaxBytes sets the largest accepted file in bytes.
func MaxBytes(n int) Option { return func(l *limits) { l.bytes = n } }

// MaxDepth sets how deep mappings and lists may nest; 100 without it.
func MaxDepth(n int) Option { return func(l *limits) { l.depth = n } }

// maxKey bounds the length of a key in bytes, and so the length of paths.
const maxKey = 512

// parse turns a file into nodes. What can be found without knowing the types
// is checked here; the nodes are nil when decoding them makes no sense.
func parse(file string, data []byte, opts []Option) (*Node, *collector) {
	l := limitsOf(opts)
	c := &collector{}
	fail := func(line, col int, format string, args ...any) (*Node, *collector) {
		c.add(&Error{File: file, Line: line, Col: col, Msg: fmt.Sprintf(format, args...)})
		return nil, c
	}

	if len(data) > l.bytes {
		return fail(0, 0, "the file has %d bytes, more than the %d that are accepted", len(data), l.bytes)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if line, col, msg := badCharacter(data); msg != "" {
		return fail(line, col, "%s", msg)
	}

	dec := yaml.NewDecoder(bytes.NewReader(data))
	var top, second yaml.Node
	err := decodeOne(dec, &top)
	if errors.Is(err, io.EOF) || err == nil && len(top.Content) == 0 {
		return fail(1, 1, "the file is empty")
	}
	if err != nil {
		c.add(syntaxError(file, data, err))
		return nil, c
	}
	root := top.Content[0]
	if root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null" {
		return fail(1, 1, "the file is empty")
	}
	switch err := decodeOne(dec, &second); {
	case err == nil:
		return fail(second.Line, second.Column, "a second document begins here: a file holds one")
	case !errors.Is(err, io.EOF):
		c.add(syntaxError(file, data, err))
		return nil, c
	}

	n := &Node{doc: &document{file: file, types: l.types}}
	w := walker{collector: c, slab: newSlab(values(root) - 1), file: file, maxDepth: l.depth}
	w.walk(n, root, 1)
	if w.fatal {
		return nil, c
	}
	return n, c
}

// decodeOne reads the next document. The YAML parser reports some of its
// failures by a panic that it does not catch itself.
func decodeOne(dec *yaml.Decoder, into *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: the parser gave up: %v", r)
		}
	}()
	return dec.Decode(into)
}

// badCharacter finds the first byte that no YAML file may hold: one that is
// not UTF-8, or a control character (YAML 1.2.2, section 5.1).
func badCharacter(data []byte) (line, col int, msg string) {
	line, col = 1, 1
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return line, col, fmt.Sprintf("byte 0x%02x is not valid UTF-8: save the file as UTF-8", data[i])
		case r == '\n':
			line, col = line+1, 0
		case r < ' ' && r != '\t' && r != '\r', r == 0x7f, r >= 0x80 && r < 0xa0 && r != 0x85, r == 0xfeff, r == 0xfffe, r == 0xffff:
			return line, col, fmt.Sprintf("character U+%04X is not allowed in YAML", r)
		}
		i += size
		col++
	}
	return 0, 0, ""
}

var yamlLine = regexp.MustCompile(`^line (\d+): `)

// problemOf splits an error of the YAML parser into its text and the line that
// it names, or 0.
func problemOf(err error) (line int, text string) {
	text = strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = text[len(m[0]):]
	}
	return line, text
}

// syntaxError says where the YAML parser failed. The parser names the line
// where the surrounding construct begins, sometimes one less, which for a
// stray word at the end of a file may be its first. The line that counts is
// the last one of the shortest beginning of the file that fails in the same
// way.
func syntaxError(file string, data []byte, err error) *Error {
	from, text := problemOf(err)
	lines := bytes.SplitAfter(data, []byte("\n"))
	if len(lines) > 1 && len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	ends := make([]int, len(lines)+1)
	for i, l := range lines {
		ends[i+1] = ends[i] + len(l)
	}
	if text == "found unexpected end of stream" {
		from = 0 // the line where it ends is of no use: where the quote opens is
	}
	low, high := min(max(from-1, 0), len(lines)-1), len(lines)
	for low+1 < high {
		middle := (low + high) / 2
		if failsAlike(data[:ends[middle]], text) {
			high = middle
		} else {
			low = middle
		}
	}
	line := string(lines[high-1])

	e := &Error{File: file, Line: high, Msg: "not valid YAML: " + text}
	switch text {
	case "mapping values are not allowed in this context":
		e.Hint = `check the indentation, and quote a value that contains ": "`
	case "found unexpected end of stream":
		e.Hint = "a quote that opens here is not closed"
	}
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	if tab := strings.IndexByte(indent, '\t'); tab >= 0 {
		e.Col = tab + 1
		e.Msg = "tab in the indentation"
		e.Found, e.Expected = "a tab", "spaces"
		e.Hint = "YAML indents with spaces"
	}
	return e
}

func failsAlike(data []byte, text string) bool {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var n yaml.Node
		switch err := decodeOne(dec, &n); {
		case errors.Is(err, io.EOF):
			return false
		case err != nil:
			_, other := problemOf(err)
			return other == text
		}
	}
}

// values is how many values there are in a YAML tree, itself included.
func values(y *yaml.Node) int {
	n := 1
	for i, child := range y.Content {
		if y.Kind != yaml.MappingNode || i%2 == 1 {
			n += values(child)
		}
	}
	return n
}

// kindOf is the kind of a value of the YAML parser.
func kindOf(y *yaml.Node) Kind {
	switch y.Kind {
	case yaml.MappingNode:
		return Map
	case yaml.SequenceNode:
		return List
	case yaml.ScalarNode:
		switch y.ShortTag() {
		case "!!null":
			return Null
		case "!!bool":
			return Bool
		case "!!int", "!!float":
			return Number
		}
		return String
	}
	return Invalid
}

// walker makes nodes of what the YAML parser gives, and checks what every file
// must keep to, whatever its types are.
type walker struct {
	*collector
	*slab
	file     string
	maxDepth int
	fatal    bool
	refused  map[string]bool // what plain has found, of which the first is enough
}

func (w *walker) walk(n *Node, y *yaml.Node, depth int) {
	n.line, n.col = int32(y.Line), int32(y.Column)
	if depth > w.maxDepth {
		e := n.at(n.Pos())
		e.Msg = fmt.Sprintf("mappings and lists nest deeper than %d levels", w.maxDepth)
		w.add(e)
		w.fatal = true
		return
	}
	w.plain(n, y)
	switch n.kind = uint8(kindOf(y)); Kind(n.kind) {
	case List:
		n.items = w.children(n, len(y.Content))
		for i, item := range n.items {
			w.walk(item, y.Content[i], depth+1)
		}
	case Map:
		values := w.children(n, len(y.Content)/2)
		n.items = values[:0]
		twice := repeated(y)
		for i, value := range values {
			key := y.Content[2*i]
			value.keyed, value.key, value.keyLine, value.keyCol = true, key.Value, int32(key.Line), int32(key.Column)
			before := twice[2*i]
			if before == nil {
				n.items = append(n.items, value)
			}
			if w.key(n, key) && before != nil {
				e := value.at(value.KeyPos())
				e.Msg = fmt.Sprintf("duplicate key %s%s: it stands on line %d already", quote(key.Value), in(n.Path()), before.Line)
				e.Found = quote(key.Value)
				w.add(e)
			}
			w.walk(value, y.Content[2*i+1], depth+1)
		}
	case Null, Bool, Number, String:
		n.text = y.Value
	}
}

// repeated finds the keys of a mapping that stood there before, by their place
// in the content, with the first of each; nil when there is none.
func repeated(y *yaml.Node) map[int]*yaml.Node {
	var twice map[int]*yaml.Node
	note := func(i int, before *yaml.Node) {
		if twice == nil {
			twice = map[int]*yaml.Node{}
		}
		twice[i] = before
	}
	const few = 32 // up to here, looking is quicker than a map
	if len(y.Content) <= few {
		for i := 2; i+1 < len(y.Content); i += 2 {
			for j := 0; j < i; j += 2 {
				if y.Content[j].Value == y.Content[i].Value {
					note(i, y.Content[j])
					break
				}
			}
		}
		return twice
	}
	first := make(map[string]*yaml.Node, len(y.Content)/2)
	for i := 0; i+1 < len(y.Content); i += 2 {
		key := y.Content[i]
		if before := first[key.Value]; before != nil {
			note(i, before)
		} else {
			first[key.Value] = key
		}
	}
	return twice
}

// key checks that a key of the mapping n is a plain string.
func (w *walker) key(n *Node, key *yaml.Node) bool {
	w.plain(n, key)
	if key.Kind == yaml.ScalarNode && key.ShortTag() == "!!str" && len(key.Value) <= maxKey {
		return true
	}
	k := &Node{
		doc: n.doc, parent: n.parent, keyed: n.keyed, key: n.key, index: n.index,
		line: int32(key.Line), col: int32(key.Column), kind: uint8(kindOf(key)), text: key.Value,
	}
	switch {
	case key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge":
		e := k.at(k.Pos())
		e.Msg = `merge keys ("<<") are not accepted: write the keys out`
		w.add(e)
	case key.Kind == yaml.AliasNode:
		// Refused by plain.
	case k.Kind() != String:
		e := k.at(k.Pos())
		e.Found, e.Expected = k.Describe(), "a string as key"
		e.Msg = fmt.Sprintf("found %s as a key%s, expected a string", e.Found, in(n.Path()))
		if k.IsScalar() {
			e.Hint = "put it in quotes: " + strconv.Quote(key.Value)
		}
		w.add(e)
	case len(key.Value) > maxKey:
		e := k.at(k.Pos())
		e.Msg = fmt.Sprintf("a key of %d bytes%s: %d are accepted", len(key.Value), in(n.Path()), maxKey)
		w.add(e)
	default:
		return true // a date, which is read as a string everywhere else too
	}
	w.fatal = true
	return false
}

// plain refuses what makes a value depend on another place of the file, and
// explicit tags.
func (w *walker) plain(n *Node, y *yaml.Node) {
	if y.Kind != yaml.AliasNode && y.Anchor == "" && y.Style&yaml.TaggedStyle == 0 {
		return
	}
	e := &Error{File: w.file, Line: y.Line, Col: y.Column}
	kind := "tag"
	switch {
	case y.Kind == yaml.AliasNode:
		kind = "alias"
		e.Msg = "aliases (*" + cut(y.Value) + ") are not accepted: write the value out"
	case y.Anchor != "":
		kind = "anchor"
		e.Msg = "anchors (&" + cut(y.Anchor) + ") are not accepted: write the value out where it is needed"
	default:
		e.Msg = "tags (" + cut(y.Tag) + ") are not accepted: write the value without it"
	}
	w.fatal = true
	if w.refused[kind] {
		return
	}
	if w.refused == nil {
		w.refused = map[string]bool{}
	}
	w.refused[kind] = true
	e.Path = n.Path()
	w.add(e)
}

// in names the place of an error; nothing for the top level.
func in(path string) string {
	if path == "" {
		return ""
	}
	return " in " + path
}
