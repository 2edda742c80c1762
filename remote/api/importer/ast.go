package importer

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// node is a declaration of clang's syntax tree, or what stands in one, with no
// more of it than a description can need.
type node struct {
	id, kind, name string
	// typ is the type as clang spells it, tag is struct or union.
	typ, tag           string
	complete, bitField bool
	variadic           bool
	// value is that of the first constant expression inside, where valued.
	value  string
	valued bool
	// of is the id of the declaration that a typedef gives a name to.
	of string
	// said is what the comments say of a function's parameters.
	said  map[string]remark
	inner []node

	file string
	line int
}

// where is file:line, or "".
func (n *node) where() string {
	if n.file == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", n.file, n.line)
}

// dumped is a node as -ast-dump=json writes it (clang/lib/AST/JSONNodeDumper.cpp).
type dumped struct {
	ID       string   `json:"id"`
	Kind     string   `json:"kind"`
	Name     string   `json:"name"`
	Loc      loc      `json:"loc"`
	Range    extent   `json:"range"`
	Type     qual     `json:"type"`
	Inner    []dumped `json:"inner"`
	Tag      string   `json:"tagUsed"`
	Complete bool     `json:"completeDefinition"`
	Implicit bool     `json:"isImplicit"`
	BitField bool     `json:"isBitfield"`
	Value    any      `json:"value"`
	Storage  string   `json:"storageClass"`
	Inline   bool     `json:"inline"`
	Variadic bool     `json:"variadic"`
	Decl     *ref     `json:"decl"`
	// Of a comment on a parameter.
	Direction string `json:"direction"`
	Explicit  bool   `json:"explicit"`
	Param     string `json:"param"`
	Text      string `json:"text"`

	// file and line are filled in by placer.
	file string
	line int
}

type qual struct {
	Spelled string `json:"qualType"`
}

type ref struct {
	ID string `json:"id"`
}

// loc is a place. A file or line that is that of the place written before it is
// left out.
type loc struct {
	File      string `json:"file"`
	Line      int    `json:"line"`
	Spelling  *loc   `json:"spellingLoc"`
	Expansion *loc   `json:"expansionLoc"`
}

type extent struct {
	Begin loc `json:"begin"`
	End   loc `json:"end"`
}

// Bounds of the dump of a syntax tree, in bytes. HIP's has 31 MB, and its largest
// declaration 3.
const (
	maxTree        = 512 << 20
	maxDeclaration = 32 << 20
)

// maxFunctions bounds a library; rocBLAS, the largest, has some 1,200.
const maxFunctions = 20_000

// Tree is what headers declare, as far as a description of a library can need it:
// all types, and the functions that may be the library's.
type Tree struct {
	types, functions []node
	// comments are what is said of the parameters of these functions, by name.
	comments map[string]map[string]remark
}

// ReadTree reads clang's dump of a syntax tree, of which it keeps the rest no
// longer than it reads it: a header may declare whatever it likes beside the
// library's functions. symbols are what the real library exports, or nil.
func ReadTree(r io.Reader, a *Annotations, symbols Symbols) (*Tree, error) {
	d := &dump{
		tree:  &Tree{comments: map[string]map[string]remark{}},
		notes: a, symbols: symbols, words: map[string]string{},
		in: &rationed{r: bufio.NewReaderSize(r, 1<<20), left: maxTree, ration: maxDeclaration},
	}
	err := d.read()
	if err == io.EOF { // of a token: it ends early too
		err = io.ErrUnexpectedEOF
	}
	switch {
	case err == nil:
		return d.tree, nil
	case errors.Is(err, errMany):
		return nil, a.src.Errorf("names", "%s: by their names more than %d functions are the library's", d.place.where(), maxFunctions)
	case d.in.left <= 0:
		return nil, fmt.Errorf("clang's syntax tree has more than %d bytes", maxTree)
	case d.in.ration <= 0:
		return nil, fmt.Errorf("a declaration has more than %d bytes in clang's syntax tree: it stands behind %s", maxDeclaration, d.place.where())
	}
	return nil, fmt.Errorf("clang's syntax tree cannot be read: %w", err)
}

var errMany = errors.New("too many functions")

// rationed ends a stream that has more bytes than are left for all of it, or for
// what is being read of it.
type rationed struct {
	r            io.Reader
	left, ration int64
}

func (l *rationed) Read(p []byte) (int, error) {
	if l.left <= 0 || l.ration <= 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left, l.ration)])
	l.left, l.ration = l.left-int64(n), l.ration-int64(n)
	return n, err
}

// dump reads the declarations one by one.
type dump struct {
	tree    *Tree
	notes   *Annotations
	symbols Symbols
	in      *rationed
	place   placer
	words   map[string]string
	before  *node // the function before
}

func (d *dump) read() error {
	dec := json.NewDecoder(d.in)
	if err := expect(dec, json.Delim('{')); err != nil {
		return err
	}
	kind := ""
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		switch key {
		case "kind":
			err = dec.Decode(&kind)
		case "loc":
			var l loc
			err = dec.Decode(&l)
			d.place.loc(&l)
		case "range":
			var e extent
			err = dec.Decode(&e)
			d.place.loc(&e.Begin)
			d.place.loc(&e.End)
		case "inner":
			if kind != unit {
				return notUnit(kind)
			}
			err = d.declarations(dec)
		default:
			var other json.RawMessage
			err = dec.Decode(&other)
		}
		if err != nil {
			return err
		}
	}
	if kind != unit {
		return notUnit(kind)
	}
	return expect(dec, json.Delim('}'))
}

// unit is the kind of a syntax tree's root.
const unit = "TranslationUnitDecl"

func notUnit(kind string) error {
	return fmt.Errorf("it begins with %q, not with a translation unit", kind)
}

func expect(dec *json.Decoder, want json.Delim) error {
	got, err := dec.Token()
	if err == nil && got != want {
		err = fmt.Errorf("found %v, expected %v", got, want)
	}
	return err
}

func (d *dump) declarations(dec *json.Decoder) error {
	if err := expect(dec, json.Delim('[')); err != nil {
		return err
	}
	for dec.More() {
		d.in.ration = maxDeclaration
		var n dumped
		if err := dec.Decode(&n); err != nil {
			return err
		}
		d.place.node(&n)
		if d.keep(&n); len(d.tree.functions) > maxFunctions {
			return errMany
		}
	}
	d.in.ration = maxDeclaration
	return expect(dec, json.Delim(']'))
}

// keep takes what is needed of a declaration.
func (d *dump) keep(n *dumped) {
	switch n.Kind {
	case "TypedefDecl", "RecordDecl", "EnumDecl":
		d.tree.types = append(d.tree.types, d.cut(n))
	case "FunctionDecl":
		if n.Implicit || n.Storage == "static" || n.Inline || n.has("CompoundStmt") {
			return
		}
		f := d.cut(n)
		f.said = n.remarks()
		// One comment stands before a group of functions that differ in a type.
		if len(f.said) == 0 && d.before != nil && f.sameParams(d.before) {
			f.said = d.before.said
		}
		if wanted := d.tree.comments[f.name]; len(wanted) > len(f.said) {
			f.said = wanted
		}
		d.before = &f
		if _, _, exported := d.symbols.of(d.notes, f.name); exported || d.notes.Names.Match(f.name) {
			d.tree.comments[f.name] = f.said
			d.tree.functions = append(d.tree.functions, f)
		}
	}
}

// cut leaves of a node what a description can need.
func (d *dump) cut(n *dumped) node {
	out := node{
		id: n.ID, kind: d.word(n.Kind), name: n.Name, typ: d.word(n.Type.Spelled), tag: d.word(n.Tag),
		complete: n.Complete, bitField: n.BitField, variadic: n.Variadic, file: n.file, line: n.line,
	}
	switch n.Kind {
	case "FieldDecl", "EnumConstantDecl", "AlignedAttr":
		out.value, out.valued = n.constant()
		return out
	case "TypedefDecl":
		for i := range n.Inner {
			if r := n.Inner[i].Decl; r != nil {
				out.of = r.ID
				return out
			}
		}
		return out
	}
	for i := range n.Inner {
		switch c := &n.Inner[i]; c.Kind {
		case "ParmVarDecl", "FieldDecl", "EnumConstantDecl", "RecordDecl", "EnumDecl", "AlignedAttr", "PackedAttr", "MaxFieldAlignmentAttr":
			out.inner = append(out.inner, d.cut(c))
		}
	}
	out.inner = slices.Clip(out.inner)
	return out
}

// word is a string of which there are many alike.
func (d *dump) word(s string) string {
	w, ok := d.words[s]
	if !ok {
		w = strings.Clone(s)
		d.words[w] = w
	}
	return w
}

// placer follows the places in the order in which the dumper wrote them.
type placer struct {
	file string
	line int
}

func (p *placer) node(n *dumped) {
	p.loc(&n.Loc)
	if p.file != "" {
		n.file, n.line = p.file, p.line
	}
	p.loc(&n.Range.Begin)
	p.loc(&n.Range.End)
	for i := range n.Inner {
		p.node(&n.Inner[i])
	}
}

func (p *placer) loc(l *loc) {
	if l.Spelling != nil {
		p.loc(l.Spelling)
	}
	if l.Expansion != nil {
		p.loc(l.Expansion)
	}
	if l.File != "" {
		p.file = l.File
	}
	if l.Line != 0 {
		p.line = l.Line
	}
}

func (p *placer) where() string {
	if p.file == "" {
		return "nothing"
	}
	return fmt.Sprintf("%s:%d", p.file, p.line)
}

// remark is what a function's comment says of one parameter.
type remark struct {
	// direction is in, out or in,out where the author gave one.
	direction string
	// text is the rest, with single spaces.
	text string
}

// remarks collects what a function's comment says of its parameters.
func (n *dumped) remarks() map[string]remark {
	out := map[string]remark{}
	var down func(*dumped)
	down = func(c *dumped) {
		if c.Kind == "ParamCommandComment" && c.Param != "" {
			if _, twice := out[c.Param]; !twice {
				r := remark{text: strings.Join(strings.Fields(c.words()), " ")}
				if c.Explicit {
					r.direction = strings.ReplaceAll(c.Direction, " ", "")
				}
				out[c.Param] = r
			}
		}
		for i := range c.Inner {
			down(&c.Inner[i])
		}
	}
	for i := range n.Inner {
		if n.Inner[i].Kind == "FullComment" {
			down(&n.Inner[i])
		}
	}
	return out
}

// words is the text of a comment.
func (n *dumped) words() string {
	text := n.Text
	for i := range n.Inner {
		text += " " + n.Inner[i].words()
	}
	return text
}

// sameParams reports whether two functions name their parameters alike, in the
// same order.
func (n *node) sameParams(m *node) bool {
	return slices.Equal(n.params(), m.params())
}

func (n *node) params() []string {
	var names []string
	for i := range n.inner {
		if n.inner[i].kind == "ParmVarDecl" {
			names = append(names, n.inner[i].name)
		}
	}
	return names
}

// constant is the value of a node's first constant expression, which may stand
// in a conversion.
func (n *dumped) constant() (string, bool) {
	for i := range n.Inner {
		c := &n.Inner[i]
		if c.Kind == "ConstantExpr" {
			s, ok := c.Value.(string)
			return s, ok
		}
		if s, ok := c.constant(); ok {
			return s, true
		}
	}
	return "", false
}

func (n *dumped) has(kind string) bool {
	return slices.ContainsFunc(n.Inner, func(c dumped) bool { return c.Kind == kind })
}

func (n *node) has(kind string) *node {
	for i := range n.inner {
		if n.inner[i].kind == kind {
			return &n.inner[i]
		}
	}
	return nil
}
