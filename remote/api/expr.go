package api

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Expr is a length in terms of the other parameters of a call, or the other
// fields of a record: whole numbers, names, *name for what an integer pointer
// points to, name.field for a field of a record that is passed or pointed to or
// for what a handle remembers,
// sizeof(type), sizes(name) for the size that the value of an enumeration of
// attributes has, max(a, b), min(a, b), and + - * / with parentheses.
type Expr struct {
	text string
	root *node
}

// node is a part of an expression.
type node struct {
	// op is + - * /, or one of the words below.
	op   string
	args []*node
	// text is the number, the name, or the type.
	text, field string
}

const (
	opNumber = "number"
	opName   = "name"
	opDeref  = "deref"
	opSizeof = "sizeof"
	opSizes  = "sizes"
	opMax    = "max"
	opMin    = "min"
)

const (
	maxExprText  = 300
	maxExprDepth = 20
)

// ParseExpr reads an expression.
func ParseExpr(s string) (Expr, error) {
	if len(s) > maxExprText {
		return Expr{}, fmt.Errorf("an expression of %d characters is longer than the %d that are accepted", len(s), maxExprText)
	}
	p := &exprParser{words: typeWords(s)}
	root, err := p.sum(0)
	if err == nil && p.at < len(p.words) {
		err = fmt.Errorf("%q is too much", strings.Join(p.words[p.at:], " "))
	}
	if err != nil {
		return Expr{}, fmt.Errorf("length %q: %w", s, err)
	}
	return Expr{text: s, root: root}, nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (e *Expr) UnmarshalText(text []byte) (err error) {
	*e, err = ParseExpr(string(text))
	return err
}

// String returns the expression as it is written.
func (e Expr) String() string { return e.text }

// IsZero reports whether there is no expression.
func (e Expr) IsZero() bool { return e.root == nil }

// Names lists the parameters or fields that the expression looks at, each once.
func (e Expr) Names() []string {
	var names []string
	seen := map[string]bool{}
	e.walk(func(n *node) {
		if (n.op == opName || n.op == opDeref || n.op == opSizes) && !seen[n.text] {
			seen[n.text] = true
			names = append(names, n.text)
		}
	})
	return names
}

func (e Expr) walk(visit func(*node)) {
	var down func(*node)
	down = func(n *node) {
		visit(n)
		for _, a := range n.args {
			down(a)
		}
	}
	if e.root != nil {
		down(e.root)
	}
}

type exprParser struct {
	words []string
	at    int
}

func (p *exprParser) next() string {
	if p.at == len(p.words) {
		return ""
	}
	return p.words[p.at]
}

func (p *exprParser) take(word string) bool {
	if p.next() != word {
		return false
	}
	p.at++
	return true
}

func (p *exprParser) sum(depth int) (*node, error) {
	return p.binary(depth, "+", "-", func() (*node, error) {
		return p.binary(depth, "*", "/", func() (*node, error) { return p.one(depth) })
	})
}

func (p *exprParser) binary(depth int, a, b string, operand func() (*node, error)) (*node, error) {
	left, err := operand()
	for err == nil && (p.next() == a || p.next() == b) {
		op := p.next()
		p.at++
		var right *node
		if right, err = operand(); err == nil {
			left = &node{op: op, args: []*node{left, right}}
		}
	}
	return left, err
}

func (p *exprParser) one(depth int) (*node, error) {
	if depth > maxExprDepth {
		return nil, errors.New("it nests too deep")
	}
	word := p.next()
	switch {
	case word == "":
		return nil, errors.New("something is missing at its end")
	case p.take("("):
		n, err := p.sum(depth + 1)
		if err == nil && !p.take(")") {
			err = errors.New("a ) is missing")
		}
		return n, err
	case p.take("*"):
		name := p.next()
		if name == "" || !isName(name) {
			return nil, errors.New("a name is missing behind *")
		}
		p.at++
		return &node{op: opDeref, text: name}, nil
	case word[0] >= '0' && word[0] <= '9':
		if n, err := strconv.ParseInt(word, 10, 64); err != nil || n > maxLength {
			return nil, fmt.Errorf("%q is no number from 0 to %d", word, maxLength)
		}
		p.at++
		return &node{op: opNumber, text: word}, nil
	case !isName(word):
		return nil, fmt.Errorf("%q is not understood", word)
	}
	p.at++
	if !p.take("(") {
		name, field, _ := strings.Cut(word, ".")
		return &node{op: opName, text: name, field: field}, nil
	}
	return p.call(word, depth)
}

func (p *exprParser) call(name string, depth int) (*node, error) {
	n := &node{op: name}
	switch name {
	case opSizeof:
		var words []string
		for p.at < len(p.words) && p.next() != ")" {
			words = append(words, p.next())
			p.at++
		}
		n.text = strings.Join(words, " ")
		if _, err := ParseType(n.text); err != nil {
			return nil, err
		}
	case opSizes:
		n.text = p.next()
		if n.text == "" || !isName(n.text) {
			return nil, errors.New("sizes() takes the name of a parameter")
		}
		p.at++
	case opMax, opMin:
		for range 2 {
			arg, err := p.sum(depth + 1)
			if err != nil {
				return nil, err
			}
			n.args = append(n.args, arg)
			if len(n.args) == 1 && !p.take(",") {
				return nil, fmt.Errorf("%s() takes two values", name)
			}
		}
	default:
		return nil, fmt.Errorf("there is no function %q: sizeof, sizes, max and min are known", name)
	}
	if !p.take(")") {
		return nil, errors.New("a ) is missing")
	}
	return n, nil
}
