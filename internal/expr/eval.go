package expr

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/stonemason-hip/stonemason/internal/suggest"
)

// Type is the type of a name or a term.
type Type int

// The types. A Func takes one string and gives a Bool.
const (
	Bool Type = iota + 1
	String
	Set
	Func
)

// String names the type for messages.
func (t Type) String() string {
	switch t {
	case Bool:
		return "a boolean"
	case String:
		return "a string"
	case Set:
		return "a set of strings"
	case Func:
		return "a function"
	}
	return "nothing"
}

// Decl declares a name.
type Decl struct {
	Type Type
	// Known are all strings that the name can be compared with, be asked for,
	// or be called with; when empty, any string will do.
	Known []string
}

// Scope declares the names of an environment.
type Scope map[string]Decl

// Value is what a name stands for. Only the field of its type counts.
type Value struct {
	Type Type
	B    bool
	S    string
	Set  []string
	F    func(string) bool
}

// Env gives the names their values.
type Env map[string]Value

// BoolValue returns a boolean.
func BoolValue(b bool) Value { return Value{Type: Bool, B: b} }

// StringValue returns a string.
func StringValue(s string) Value { return Value{Type: String, S: s} }

// SetValue returns a set of strings.
func SetValue(members ...string) Value { return Value{Type: Set, Set: members} }

// FuncValue returns a function.
func FuncValue(f func(string) bool) Value { return Value{Type: Func, F: f} }

// Check reports the first name that the scope does not declare, the first
// string that is none of those known, or the first term of a wrong type, as an
// [*Error]. A checked expression evaluates without an error in an environment
// that follows the scope, save for versions that are none.
func (e *Expr) Check(scope Scope) error {
	if e.IsZero() {
		return nil
	}
	return scope.want(e.root, Bool, "a condition")
}

func (s Scope) want(n *node, want Type, what string) error {
	got, err := s.typeOf(n)
	if err != nil {
		return err
	}
	if got != want {
		return &Error{Col: n.col, Msg: fmt.Sprintf("%s is %v, but %s has to be %v", cut(n.String()), got, what, want)}
	}
	return nil
}

func (s Scope) typeOf(n *node) (Type, error) {
	switch n.op {
	case opString:
		return String, nil
	case opBool:
		return Bool, nil
	case opList:
		return Set, nil
	case opName:
		return s.name(n)
	case opCall:
		return Bool, s.call(n)
	case opNot, opAnd, opOr:
		for _, kid := range n.kids {
			what := "what " + opText[n.op] + " joins"
			if n.op == opNot {
				what = "what not turns around"
			}
			if err := s.want(kid, Bool, what); err != nil {
				return 0, err
			}
		}
		return Bool, nil
	case opIn, opNotIn:
		if err := s.want(n.kids[0], String, "what is left of in"); err != nil {
			return 0, err
		}
		if err := s.want(n.kids[1], Set, "what is right of in"); err != nil {
			return 0, err
		}
		return Bool, s.known(n.kids[0], n.kids[1])
	}
	left, err := s.typeOf(n.kids[0])
	if err != nil {
		return 0, err
	}
	right, err := s.typeOf(n.kids[1])
	if err != nil {
		return 0, err
	}
	switch {
	case left == Set || right == Set:
		return 0, &Error{Col: n.col, Msg: "sets have no " + opText[n.op] + `: ask for members, as in "gfx942" in gpus`}
	case left != right:
		return 0, &Error{Col: n.col, Msg: fmt.Sprintf("cannot compare %v (%s) with %v (%s)", left, cut(n.kids[0].String()), right, cut(n.kids[1].String()))}
	}
	return Bool, s.known(n.kids[0], n.kids[1])
}

func (s Scope) name(n *node) (Type, error) {
	decl, ok := s[n.text]
	switch {
	case !ok:
		return 0, s.unknown(n, "name", func(t Type) bool { return t != Func })
	case decl.Type == Func:
		return 0, &Error{Col: n.col, Msg: n.text + ` is a function: call it, as in ` + n.text + `("...")`}
	}
	return decl.Type, nil
}

func (s Scope) call(n *node) error {
	if n.text == semverFunc {
		return s.want(n.kids[0], String, "the version")
	}
	decl, ok := s[n.text]
	switch {
	case !ok:
		return s.unknown(n, "function", func(t Type) bool { return t == Func })
	case decl.Type != Func:
		return &Error{Col: n.col, Msg: fmt.Sprintf("%s is %v and no function", n.text, decl.Type)}
	}
	return member(n.kids[0], decl, n.text)
}

// unknown is the error for a name that is not declared.
func (s Scope) unknown(n *node, kind string, fits func(Type) bool) error {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if fits(s[name].Type) {
			names = append(names, name)
		}
	}
	if kind == "function" {
		names = append(names, semverFunc)
	}
	e := &Error{Col: n.col, Msg: "unknown " + kind + " " + cut(n.text)}
	if e.Suggestion, _ = suggest.Nearest(n.text, names); e.Suggestion == "" {
		e.Msg += ", expected one of " + strings.Join(names, ", ")
	}
	return e
}

// known checks the strings that one side has against those that the other, a
// name, can have.
func (s Scope) known(a, b *node) error {
	for _, pair := range [][2]*node{{a, b}, {b, a}} {
		if name := pair[1]; name.op == opName {
			if err := member(pair[0], s[name.text], name.text); err != nil {
				return err
			}
		}
	}
	return nil
}

func member(n *node, decl Decl, name string) error {
	if len(decl.Known) == 0 {
		return nil
	}
	words := n.list
	if n.op == opString {
		words = []string{n.text}
	}
	for _, word := range words {
		if slices.Contains(decl.Known, word) {
			continue
		}
		e := &Error{Col: n.col, Msg: name + " never has " + quote(cut(word))}
		if decl.Type == String {
			e.Msg = name + " is never " + quote(cut(word))
		}
		if decl.Type == Func {
			e.Msg = name + " knows no " + quote(cut(word))
		}
		if e.Suggestion, _ = suggest.Nearest(word, decl.Known); e.Suggestion == "" {
			e.Msg += ", expected one of " + suggest.List(decl.Known, 16)
		}
		return e
	}
	return nil
}

// Eval returns what the expression is in an environment. The absent condition
// is true. The error, an [*Error], is a name without a value, a wrong type, or
// a version that is none; and and or ask no further than they need to.
func (e *Expr) Eval(env Env) (bool, error) {
	if e.IsZero() {
		return true, nil
	}
	return env.truth(e.root)
}

func (env Env) truth(n *node) (bool, error) {
	v, err := env.value(n)
	if err != nil {
		return false, err
	}
	if v.Type != Bool {
		return false, &Error{Col: n.col, Msg: fmt.Sprintf("%s is %v and no boolean", cut(n.String()), v.Type)}
	}
	return v.B, nil
}

func (env Env) value(n *node) (Value, error) {
	switch n.op {
	case opString:
		return StringValue(n.text), nil
	case opBool:
		return BoolValue(n.text == "true"), nil
	case opList:
		return SetValue(n.list...), nil
	case opName:
		v, ok := env[n.text]
		if !ok {
			return v, &Error{Col: n.col, Msg: cut(n.text) + " has no value"}
		}
		return v, nil
	case opCall:
		b, err := env.call(n)
		return BoolValue(b), err
	case opNot:
		b, err := env.truth(n.kids[0])
		return BoolValue(!b), err
	case opAnd, opOr:
		for _, kid := range n.kids {
			b, err := env.truth(kid)
			if err != nil || b == (n.op == opOr) {
				return BoolValue(b), err
			}
		}
		return BoolValue(n.op == opAnd), nil
	}
	b, err := env.compare(n)
	return BoolValue(b), err
}

func (env Env) call(n *node) (bool, error) {
	if n.text != semverFunc {
		v, ok := env[n.text]
		if !ok || v.Type != Func || v.F == nil {
			return false, &Error{Col: n.col, Msg: "function " + cut(n.text) + " does not exist"}
		}
		return v.F(n.kids[0].text), nil
	}
	v, err := env.value(n.kids[0])
	if err != nil {
		return false, err
	}
	version, err := semver.NewVersion(v.S)
	if v.Type != String || err != nil {
		return false, &Error{Col: n.kids[0].col, Msg: fmt.Sprintf("%s is %s, which is no version", n.kids[0], show(v))}
	}
	constraint, err := semver.NewConstraint(n.kids[1].text)
	if err != nil {
		return false, &Error{Col: n.kids[1].col, Msg: err.Error()}
	}
	return constraint.Check(version), nil
}

func (env Env) compare(n *node) (bool, error) {
	left, err := env.value(n.kids[0])
	if err != nil {
		return false, err
	}
	right, err := env.value(n.kids[1])
	if err != nil {
		return false, err
	}
	switch {
	case (n.op == opIn || n.op == opNotIn) && left.Type == String && right.Type == Set:
		return slices.Contains(right.Set, left.S) == (n.op == opIn), nil
	case (n.op == opEq || n.op == opNe) && left.Type == right.Type && left.Type == Bool:
		return (left.B == right.B) == (n.op == opEq), nil
	case (n.op == opEq || n.op == opNe) && left.Type == right.Type && left.Type == String:
		return (left.S == right.S) == (n.op == opEq), nil
	}
	return false, &Error{Col: n.col, Msg: fmt.Sprintf("%s does not apply to %v and %v", opText[n.op], left.Type, right.Type)}
}

// Explain says in words which terms make the expression what it is, with the
// values they read: host.os == "linux" is false (host.os is "darwin"). It is
// empty for the absent condition; an error of [Expr.Eval] is its own
// explanation.
func (e *Expr) Explain(env Env) string {
	if e.IsZero() {
		return ""
	}
	if _, err := e.Eval(env); err != nil {
		return err.Error()
	}
	reasons := env.reasons(e.root)
	return strings.Join(slices.Compact(reasons), ", ")
}

// reasons returns the leaves that decide the value of n, in their order.
func (env Env) reasons(n *node) []string {
	switch n.op {
	case opNot:
		return env.reasons(n.kids[0])
	case opAnd, opOr:
		whole, _ := env.truth(n)
		decisive := n.op == opOr // the value of a term that decides alone
		var found []string
		for _, kid := range n.kids {
			// A term that cannot be evaluated was not asked.
			b, err := env.truth(kid)
			if err != nil || b != whole {
				continue
			}
			found = append(found, env.reasons(kid)...)
			if whole == decisive && whole {
				break // one true term of an or is reason enough
			}
		}
		return found
	}
	b, err := env.truth(n)
	if err != nil {
		return nil
	}
	reason := fmt.Sprintf("%s is %v", n, b)
	if values := env.read(n); len(values) > 0 {
		reason += " (" + strings.Join(values, ", ") + ")"
	}
	return []string{reason}
}

// read returns the values of the names inside a leaf that is more than a name.
func (env Env) read(n *node) []string {
	var values []string
	for _, kid := range n.kids {
		if kid.op == opName {
			values = append(values, fmt.Sprintf("%s is %s", kid, show(env[kid.text])))
			continue
		}
		values = append(values, env.read(kid)...)
	}
	return slices.Compact(values)
}

func show(v Value) string {
	switch v.Type {
	case Bool:
		return fmt.Sprint(v.B)
	case String:
		return quote(v.S)
	case Set:
		sorted := slices.Sorted(slices.Values(v.Set))
		if len(sorted) == 0 {
			return "empty"
		}
		return listText(sorted)
	}
	return v.Type.String()
}
