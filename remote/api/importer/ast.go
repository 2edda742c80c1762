package importer

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// node is a node of clang's syntax tree, as -ast-dump=json writes it
// (clang/lib/AST/JSONNodeDumper.cpp).
type node struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	Name     string `json:"name"`
	Loc      loc    `json:"loc"`
	Range    extent `json:"range"`
	Type     qual   `json:"type"`
	Inner    []node `json:"inner"`
	Tag      string `json:"tagUsed"`
	Complete bool   `json:"completeDefinition"`
	Implicit bool   `json:"isImplicit"`
	BitField bool   `json:"isBitfield"`
	Value    any    `json:"value"`
	Storage  string `json:"storageClass"`
	Inline   bool   `json:"inline"`
	Variadic bool   `json:"variadic"`
	Fixed    *qual  `json:"fixedUnderlyingType"`
	Decl     *ref   `json:"decl"`
	// Of a comment on a parameter.
	Direction string `json:"direction"`
	Explicit  bool   `json:"explicit"`
	Param     string `json:"param"`
	Text      string `json:"text"`

	// where is file:line, and file and line are its parts, filled in by placer.
	where, file string
	line        int
}

type qual struct {
	Spelled string `json:"qualType"`
}

type ref struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	Name string `json:"name"`
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

// maxTree bounds the dump of a syntax tree in bytes; HIP's has 31 MB.
const maxTree = 512 << 20

// readTree reads a dump and gives every declaration its place.
func readTree(r io.Reader) (*node, error) {
	var root node
	limited := &io.LimitedReader{R: bufio.NewReaderSize(r, 1<<20), N: maxTree}
	if err := json.NewDecoder(limited).Decode(&root); err != nil {
		if limited.N <= 0 {
			return nil, fmt.Errorf("clang's syntax tree has more than %d bytes", maxTree)
		}
		return nil, fmt.Errorf("clang's syntax tree cannot be read: %w", err)
	}
	if root.Kind != "TranslationUnitDecl" {
		return nil, fmt.Errorf("clang's syntax tree begins with %q, not with a translation unit", root.Kind)
	}
	p := placer{}
	p.node(&root)
	return &root, nil
}

// placer follows the places in the order in which the dumper wrote them.
type placer struct {
	file string
	line int
}

func (p *placer) node(n *node) {
	p.loc(&n.Loc)
	if p.file != "" {
		n.where, n.file, n.line = fmt.Sprintf("%s:%d", p.file, p.line), p.file, p.line
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

// remark is what a function's comment says of one parameter.
type remark struct {
	// direction is in, out or in,out where the author gave one.
	direction string
	// text is the rest, with single spaces.
	text string
}

// remarks collects what a function's comment says of its parameters.
func (n *node) remarks() map[string]remark {
	out := map[string]remark{}
	var down func(*node)
	down = func(c *node) {
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
func (n *node) words() string {
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
	for i := range n.Inner {
		if n.Inner[i].Kind == "ParmVarDecl" {
			names = append(names, n.Inner[i].Name)
		}
	}
	return names
}

// constant is the value of a node's first constant expression, which may stand
// in a conversion.
func (n *node) constant() (string, bool) {
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

func (n *node) has(kind string) *node {
	for i := range n.Inner {
		if n.Inner[i].Kind == kind {
			return &n.Inner[i]
		}
	}
	return nil
}
