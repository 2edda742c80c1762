// Package expr is the language of the conditions in component files: small,
// typed, without side effects, and able to say why it is false.
//
//	host.os == "linux" and has_gpu_driver
//	host in ["darwin-arm64", "linux-arm64"] or not native
//	"gfx942" in gpus and enabled("comgr") and semver(llvm.version, ">=19")
//
// From loosest to tightest: or; and; not; one of ==, !=, in, not in; names,
// calls, strings, lists, true, false and parentheses. Strings stand in double
// or single quotes and have no escapes. Comparisons do not chain. Which names
// and functions there are, and of what type, a [Scope] says; semver(version,
// constraint) is always there, with the constraints of Masterminds/semver.
package expr

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/Masterminds/semver/v3"
)

// Bounds of an expression: its length in bytes and how deep parentheses and
// negations nest.
const (
	maxLength = 4096
	maxDepth  = 50
)

// Error is a mistake in an expression.
type Error struct {
	Col        int // from 1, in characters
	Msg        string
	Suggestion string // the valid spelling that was probably meant, or ""
}

// Error returns the message with its column.
func (e *Error) Error() string {
	s := "column " + strconv.Itoa(e.Col) + ": " + e.Msg
	if e.Suggestion != "" {
		s += ": did you mean " + quote(e.Suggestion) + "?"
	}
	return s
}

// Expr is a parsed expression. The zero value is the absent condition, which
// is always true.
type Expr struct{ root *node }

type op int

const (
	opString op = iota // text
	opBool             // text is true or false
	opList             // list
	opName             // text
	opCall             // text, kids: the arguments
	opEq               // two kids each
	opNe
	opIn
	opNotIn
	opNot // one kid
	opAnd // two or more kids
	opOr
)

var opText = map[op]string{opEq: "==", opNe: "!=", opIn: "in", opNotIn: "not in", opAnd: "and", opOr: "or"}

type node struct {
	op   op
	col  int
	text string
	list []string
	kids []*node
}

// Parse reads an expression. The error is an [*Error].
func Parse(src string) (*Expr, error) {
	if len(src) > maxLength {
		return nil, &Error{Col: 1, Msg: fmt.Sprintf("the expression has %d bytes, more than the %d that are accepted", len(src), maxLength)}
	}
	tokens, err := scan(src)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	root, err := p.or()
	if err != nil {
		return nil, err
	}
	if t := p.peek(); t.kind != tokEnd {
		return nil, p.unexpected(t, "and, or, or the end")
	}
	return &Expr{root}, nil
}

// UnmarshalText implements [encoding.TextUnmarshaler] by [Parse].
func (e *Expr) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*e = *parsed
	return nil
}

// MarshalText implements [encoding.TextMarshaler] by [Expr.String].
func (e *Expr) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// IsZero reports whether there is no condition.
func (e *Expr) IsZero() bool { return e == nil || e.root == nil }

// Idents returns the names that the expression reads, sorted, each once.
// Functions are not among them.
func (e *Expr) Idents() []string {
	return e.gather(func(n *node) (string, bool) { return n.text, n.op == opName })
}

// Args returns the strings that the function is called with, sorted, each
// once: of enabled("comgr"), "comgr".
func (e *Expr) Args(function string) []string {
	return e.gather(func(n *node) (string, bool) {
		if n.op != opCall || n.text != function || len(n.kids) != 1 {
			return "", false
		}
		return n.kids[0].text, true
	})
}

func (e *Expr) gather(pick func(*node) (string, bool)) []string {
	var found []string
	var walk func(*node)
	walk = func(n *node) {
		if s, ok := pick(n); ok {
			found = append(found, s)
		}
		for _, kid := range n.kids {
			walk(kid)
		}
	}
	if !e.IsZero() {
		walk(e.root)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// String returns the canonical form: one space between words, double quotes,
// no parentheses that are not needed. [Parse] reads it back to an equal one.
func (e *Expr) String() string {
	if e.IsZero() {
		return ""
	}
	return e.root.String()
}

// rank orders the operators by how tightly they bind.
func (n *node) rank() int {
	switch n.op {
	case opOr:
		return 0
	case opAnd:
		return 1
	case opNot:
		return 2
	case opEq, opNe, opIn, opNotIn:
		return 3
	}
	return 4
}

func (n *node) String() string {
	parts := make([]string, len(n.kids))
	for i, kid := range n.kids {
		parts[i] = kid.String()
		// A negation may hold another; any other operator needs tighter ones.
		if kid.rank() < n.rank() || kid.rank() == n.rank() && n.op != opNot {
			if n.op != opCall {
				parts[i] = "(" + parts[i] + ")"
			}
		}
	}
	switch n.op {
	case opString:
		return quote(n.text)
	case opList:
		return listText(n.list)
	case opCall:
		return n.text + "(" + strings.Join(parts, ", ") + ")"
	case opNot:
		return "not " + parts[0]
	case opBool, opName:
		return n.text
	}
	return strings.Join(parts, " "+opText[n.op]+" ")
}

func listText(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = quote(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// quote is the inverse of scanning: a string holds at most one kind of quote.
func quote(s string) string {
	if strings.Contains(s, `"`) {
		return "'" + s + "'"
	}
	return `"` + s + `"`
}

type tokKind int

const (
	tokEnd tokKind = iota
	tokName
	tokWord // and or not in true false
	tokString
	tokSign // == != ( ) [ ] ,
)

type token struct {
	kind tokKind
	text string
	col  int
}

func (t token) describe() string {
	switch t.kind {
	case tokEnd:
		return "the end"
	case tokString:
		return "the string " + quote(t.text)
	}
	return t.text
}

// foreign maps what other languages write to what this one does.
var foreign = map[string]string{"&&": "and", "||": "or", "&": "and", "|": "or", "!": "not", "=": "==", "<>": "!=", "===": "==", "!==": "!="}

func scan(src string) ([]token, error) {
	var tokens []token
	col := 1
	for i := 0; i < len(src); {
		start, c := i, src[i]
		kind := tokSign
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i, col = i+1, col+1
			continue
		case letter(c):
			for i < len(src) && (letter(src[i]) || digit(src[i]) || src[i] == '.') {
				i++
			}
			kind = tokName
			switch name := src[start:i]; name {
			case "and", "or", "not", "in", "true", "false":
				kind = tokWord
			default:
				if strings.HasSuffix(name, ".") || strings.Contains(name, "..") {
					return nil, &Error{Col: col, Msg: "name " + name + " has an empty part"}
				}
			}
		case c == '"' || c == '\'':
			end := strings.IndexAny(src[i+1:], string(c)+"\\\n")
			if end < 0 || src[i+1+end] == '\n' {
				return nil, &Error{Col: col, Msg: "a string that opens here is not closed"}
			}
			text := src[i+1 : i+1+end]
			if src[i+1+end] == '\\' {
				return nil, &Error{Col: col + 1 + utf8.RuneCountInString(text), Msg: `strings have no escapes: \ is not accepted`}
			}
			if !utf8.ValidString(text) {
				return nil, &Error{Col: col, Msg: "the string is not valid UTF-8"}
			}
			i += end + 2
			tokens = append(tokens, token{tokString, text, col})
			col += utf8.RuneCountInString(src[start:i])
			continue
		case strings.HasPrefix(src[i:], "==") || strings.HasPrefix(src[i:], "!="):
			i += 2
		case strings.IndexByte("()[],", c) >= 0:
			i++
		}
		if i == start || i < len(src) && kind == tokSign && src[start:i] != "" && src[i] == '=' && strings.HasSuffix(src[start:i], "=") {
			return nil, strange(src[start:], col)
		}
		tokens = append(tokens, token{kind, src[start:i], col})
		col += i - start
	}
	return append(tokens, token{tokEnd, "", col}), nil
}

// strange is the error for a character that begins nothing.
func strange(src string, col int) *Error {
	end := 0
	for end < len(src) && strings.IndexByte("&|!=<>", src[end]) >= 0 {
		end++
	}
	if end == 0 {
		r, size := utf8.DecodeRuneInString(src)
		if r == utf8.RuneError && size == 1 {
			return &Error{Col: col, Msg: fmt.Sprintf("byte 0x%02x is not valid UTF-8", src[0])}
		}
		return &Error{Col: col, Msg: fmt.Sprintf("unexpected character %q", r)}
	}
	if sign := src[:end]; sign == "<" || sign == ">" || sign == "<=" || sign == ">=" {
		return &Error{Col: col, Msg: "operator " + sign + ` does not exist: compare versions with semver(name, "` + sign + `1.2")`}
	}
	return &Error{Col: col, Msg: "unknown operator " + cut(src[:end]), Suggestion: foreign[src[:end]]}
}

func cut(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "..."
	}
	return s
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

type parser struct {
	tokens []token
	next   int
	depth  int
}

func (p *parser) peek() token { return p.tokens[p.next] }

// at reports whether the next token is the word or sign given.
func (p *parser) at(text string) bool {
	t := p.peek()
	return (t.kind == tokWord || t.kind == tokSign) && t.text == text
}

// accept takes the next token if it is the word or sign given.
func (p *parser) accept(text string) bool {
	ok := p.at(text)
	if ok {
		p.next++
	}
	return ok
}

func (p *parser) unexpected(t token, want string) *Error {
	return &Error{Col: t.col, Msg: "found " + cut(t.describe()) + ", expected " + want}
}

func (p *parser) expect(sign, why string) error {
	if !p.accept(sign) {
		return p.unexpected(p.peek(), sign+why)
	}
	return nil
}

func (p *parser) or() (*node, error)  { return p.chain(opOr, p.and) }
func (p *parser) and() (*node, error) { return p.chain(opAnd, p.not) }

// chain reads one or more terms joined by a word. A term in parentheses of the
// same operator is merged, since both associate.
func (p *parser) chain(o op, term func() (*node, error)) (*node, error) {
	first, err := term()
	if err != nil {
		return nil, err
	}
	kids := []*node{first}
	for p.accept(opText[o]) {
		kid, err := term()
		if err != nil {
			return nil, err
		}
		kids = append(kids, kid)
	}
	if len(kids) == 1 {
		return first, nil
	}
	n := &node{op: o, col: first.col}
	for _, kid := range kids {
		if kid.op == o {
			n.kids = append(n.kids, kid.kids...)
		} else {
			n.kids = append(n.kids, kid)
		}
	}
	return n, nil
}

func (p *parser) not() (*node, error) {
	t := p.peek()
	if !p.accept("not") {
		return p.comparison()
	}
	if err := p.enter(t); err != nil {
		return nil, err
	}
	defer p.leave()
	kid, err := p.not()
	if err != nil {
		return nil, err
	}
	return &node{op: opNot, col: t.col, kids: []*node{kid}}, nil
}

func (p *parser) enter(t token) error {
	if p.depth++; p.depth > maxDepth {
		return &Error{Col: t.col, Msg: fmt.Sprintf("the expression nests deeper than %d levels", maxDepth)}
	}
	return nil
}

func (p *parser) leave() { p.depth-- }

func (p *parser) comparison() (*node, error) {
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	o, t, ok := p.comparator()
	if !ok {
		return left, nil
	}
	if t.text == "not" {
		if err := p.expect("in", ` after "not"`); err != nil {
			return nil, err
		}
	}
	right, err := p.operand()
	if err != nil {
		return nil, err
	}
	if _, again, ok := p.comparator(); ok {
		return nil, &Error{Col: again.col, Msg: "comparisons do not chain: join them by and"}
	}
	return &node{op: o, col: t.col, kids: []*node{left, right}}, nil
}

// comparator takes a comparison operator; of "not in" only the first word.
func (p *parser) comparator() (op, token, bool) {
	t := p.peek()
	switch {
	case p.accept("=="):
		return opEq, t, true
	case p.accept("!="):
		return opNe, t, true
	case p.accept("in"):
		return opIn, t, true
	case p.accept("not"):
		return opNotIn, t, true
	}
	return 0, t, false
}

func (p *parser) operand() (*node, error) {
	t := p.peek()
	p.next++
	switch {
	case t.kind == tokString:
		return &node{op: opString, col: t.col, text: t.text}, nil
	case t.kind == tokWord && (t.text == "true" || t.text == "false"):
		return &node{op: opBool, col: t.col, text: t.text}, nil
	case t.kind == tokName && p.accept("("):
		return p.call(t)
	case t.kind == tokName:
		return &node{op: opName, col: t.col, text: t.text}, nil
	case t.kind == tokSign && t.text == "[":
		return p.list(t)
	case t.kind == tokSign && t.text == "(":
		if err := p.enter(t); err != nil {
			return nil, err
		}
		defer p.leave()
		inner, err := p.or()
		if err != nil {
			return nil, err
		}
		return inner, p.expect(")", " for the ( at column "+strconv.Itoa(t.col))
	}
	p.next-- // the end stays the next token
	return nil, p.unexpected(t, "a name, a string, a list, true, false, not or (")
}

func (p *parser) list(open token) (*node, error) {
	n := &node{op: opList, col: open.col, list: []string{}}
	for !p.accept("]") {
		t := p.peek()
		if t.kind != tokString {
			return nil, p.unexpected(t, "a string or ]")
		}
		p.next++
		n.list = append(n.list, t.text)
		if !p.accept(",") && !p.at("]") {
			return nil, p.unexpected(p.peek(), ", or ]")
		}
	}
	return n, nil
}

// call reads the arguments of a function: names and strings.
func (p *parser) call(name token) (*node, error) {
	n := &node{op: opCall, col: name.col, text: name.text}
	for !p.accept(")") {
		t := p.peek()
		switch t.kind {
		case tokString:
			n.kids = append(n.kids, &node{op: opString, col: t.col, text: t.text})
		case tokName:
			n.kids = append(n.kids, &node{op: opName, col: t.col, text: t.text})
		default:
			return nil, p.unexpected(t, "a string, a name or )")
		}
		p.next++
		if !p.accept(",") && !p.at(")") {
			return nil, p.unexpected(p.peek(), ", or )")
		}
	}
	if n.text == semverFunc {
		if len(n.kids) != 2 || n.kids[1].op != opString {
			return nil, &Error{Col: n.col, Msg: `semver takes a version and a constraint in quotes: semver(llvm.version, ">=19")`}
		}
		if _, err := semver.NewConstraint(n.kids[1].text); err != nil {
			return nil, &Error{Col: n.kids[1].col, Msg: quote(cut(n.kids[1].text)) + " is no version constraint"}
		}
		return n, nil
	}
	if len(n.kids) != 1 || n.kids[0].op != opString {
		return nil, &Error{Col: n.col, Msg: cut(n.text) + " takes one string in quotes"}
	}
	return n, nil
}

const semverFunc = "semver"
