package launchfile

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"github.com/stonemason-hip/stonemason/internal/suggest"
)

// An expression says what the elements of a buffer are. Its syntax is that of Go's
// expressions, which Go's own parser reads; its numbers are whole (64 bits, that
// wrap around) and floating-point (f64). Names are i, the element's index, n, the
// number of elements, pi, inf and nan, the arguments that have a name, and the
// variables of sums. A buffer's name alone is its element i.

const (
	maxExpression = 4096    // bytes
	maxSteps      = 1 << 26 // elements and summands of one expression
)

// expression is one that was read, ready to be evaluated.
type expression struct {
	text string
	eval func(*env) number
	uses []string // names of arguments, sorted
}

// env is what an expression is evaluated in.
type env struct {
	ctx   context.Context
	i, n  int64
	args  map[string]*operand
	vars  [8]number
	steps int64
	err   error
}

// operand is an argument as expressions see it: a value, or a buffer.
type operand struct {
	value number
	typ   Type
	data  []byte // nil for a value
}

// at evaluates the expression for element i.
func (x *expression) at(e *env, i int64) (number, error) {
	e.i = i
	if e.step(); e.err != nil {
		return number{}, e.err
	}
	v := x.eval(e)
	return v, e.err
}

func (e *env) fail(format string, args ...any) number {
	if e.err == nil {
		e.err = fmt.Errorf(format, args...)
	}
	return number{}
}

// step counts what is evaluated: a file may ask for more than anybody waits for.
func (e *env) step() {
	if e.steps++; e.steps > maxSteps {
		e.fail("more than %d elements and summands", maxSteps)
	}
	if e.steps%4096 == 0 && e.ctx.Err() != nil {
		e.err = context.Cause(e.ctx)
	}
}

// compileExpression reads an expression. The error names the column within it.
func compileExpression(text string) (*expression, error) {
	if len(text) > maxExpression {
		return nil, fmt.Errorf("an expression of %d bytes: at most %d", len(text), maxExpression)
	}
	tree, err := parser.ParseExpr(text)
	var list scanner.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		return nil, fmt.Errorf("column %d of the expression: %s", list[0].Pos.Column, list[0].Msg)
	}
	if err != nil {
		return nil, err
	}
	c := &compiler{uses: map[string]bool{}}
	x := &expression{text: text, eval: c.expr(tree)}
	if c.err != nil {
		return nil, c.err
	}
	for name := range c.uses {
		x.uses = append(x.uses, name)
	}
	slices.Sort(x.uses)
	return x, nil
}

type compiler struct {
	vars []string // of the sums around
	uses map[string]bool
	err  error
}

type node = func(*env) number

func (c *compiler) fail(at ast.Node, format string, args ...any) node {
	if c.err == nil {
		c.err = fmt.Errorf("column %d of the expression: %s", at.Pos(), fmt.Sprintf(format, args...))
	}
	return func(*env) number { return number{} }
}

func (c *compiler) expr(x ast.Expr) node {
	switch x := x.(type) {
	case *ast.ParenExpr:
		return c.expr(x.X)
	case *ast.BasicLit:
		return c.literal(x)
	case *ast.Ident:
		return c.name(x)
	case *ast.UnaryExpr:
		return c.unary(x)
	case *ast.BinaryExpr:
		return c.binary(x)
	case *ast.CallExpr:
		return c.call(x)
	case *ast.IndexExpr:
		return c.index(x)
	}
	return c.fail(x, "only numbers, names, operators, calls and x[i] are understood")
}

func (c *compiler) literal(x *ast.BasicLit) node {
	var v number
	switch x.Kind {
	case token.INT:
		u, err := strconv.ParseUint(x.Value, 0, 64)
		if err != nil {
			return c.fail(x, "%s does not fit 64 bits", x.Value)
		}
		if v = integer(int64(u)); int64(u) < 0 {
			v.kind = unsigned
		}
	case token.FLOAT:
		f, err := strconv.ParseFloat(x.Value, 64)
		if err != nil {
			return c.fail(x, "%s does not fit f64", x.Value)
		}
		v = floating(f)
	default:
		return c.fail(x, "%s is not a number", x.Value)
	}
	return func(*env) number { return v }
}

func (c *compiler) name(x *ast.Ident) node {
	if k := slices.Index(c.vars, x.Name); k >= 0 {
		return func(e *env) number { return e.vars[k] }
	}
	switch x.Name {
	case "i":
		return func(e *env) number { return integer(e.i) }
	case "n":
		return func(e *env) number { return integer(e.n) }
	case "pi":
		return func(*env) number { return floating(math.Pi) }
	case "inf":
		return func(*env) number { return floating(math.Inf(1)) }
	case "nan":
		return func(*env) number { return floating(math.NaN()) }
	}
	name := x.Name
	c.uses[name] = true
	return func(e *env) number {
		o := e.args[name]
		if o.data == nil {
			return o.value
		}
		return o.element(e, name, e.i)
	}
}

// element returns an element of a buffer.
func (o *operand) element(e *env, name string, i int64) number {
	size := int64(o.typ.Size())
	if count := int64(len(o.data)) / size; i < 0 || i >= count {
		return e.fail("%s[%d] is outside of its %d elements", name, i, count)
	}
	return o.typ.decode(o.data[i*size:])
}

func (c *compiler) index(x *ast.IndexExpr) node {
	id, ok := x.X.(*ast.Ident)
	if !ok || slices.Contains(c.vars, id.Name) {
		return c.fail(x, "only a buffer has elements")
	}
	name, at := id.Name, c.expr(x.Index)
	c.uses[name] = true
	return func(e *env) number {
		i := at(e)
		o := e.args[name]
		if o.data == nil {
			return e.fail("%s is a value: it has no elements", name)
		}
		if i.kind == float {
			return e.fail("%s[%v]: an index is a whole number", name, i.float())
		}
		return o.element(e, name, int64(i.bits))
	}
}

func (c *compiler) unary(x *ast.UnaryExpr) node {
	of := c.expr(x.X)
	switch x.Op {
	case token.ADD:
		return of
	case token.SUB:
		return func(e *env) number {
			v := of(e)
			if v.kind == float {
				return floating(-v.float())
			}
			return number{v.kind, -v.bits}
		}
	case token.XOR:
		return func(e *env) number {
			v := of(e)
			if v.kind == float {
				return e.fail("^ of a number with a fraction")
			}
			return number{v.kind, ^v.bits}
		}
	case token.NOT:
		return func(e *env) number { return truth(of(e).zero()) }
	}
	return c.fail(x, "the operator %s is not understood", x.Op)
}

func (c *compiler) binary(x *ast.BinaryExpr) node {
	a, b := c.expr(x.X), c.expr(x.Y)
	op := x.Op
	switch op {
	case token.LAND:
		return func(e *env) number { return truth(!a(e).zero() && !b(e).zero()) }
	case token.LOR:
		return func(e *env) number { return truth(!a(e).zero() || !b(e).zero()) }
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		return func(e *env) number { return truth(compares(op, a(e), b(e))) }
	case token.ADD, token.SUB, token.MUL, token.QUO:
		return func(e *env) number {
			v, w := a(e), b(e)
			if alike(v, w) == float {
				return arithmetic(op, v.float(), w.float())
			}
			return e.integers(op, v, w)
		}
	case token.REM, token.AND, token.OR, token.XOR, token.SHL, token.SHR, token.AND_NOT:
		return func(e *env) number {
			v, w := a(e), b(e)
			if alike(v, w) == float {
				return e.fail("%s of a number with a fraction", op)
			}
			return e.integers(op, v, w)
		}
	}
	return c.fail(x, "the operator %s is not understood", op)
}

func arithmetic(op token.Token, a, b float64) number {
	switch op {
	case token.ADD:
		return floating(a + b)
	case token.SUB:
		return floating(a - b)
	case token.MUL:
		return floating(a * b)
	}
	return floating(a / b)
}

func (e *env) integers(op token.Token, a, b number) number {
	k := alike(a, b)
	v, w := a.bits, b.bits
	switch op {
	case token.ADD:
		return number{k, v + w}
	case token.SUB:
		return number{k, v - w}
	case token.MUL:
		return number{k, v * w}
	case token.AND:
		return number{k, v & w}
	case token.OR:
		return number{k, v | w}
	case token.XOR:
		return number{k, v ^ w}
	case token.AND_NOT:
		return number{k, v &^ w}
	case token.SHL:
		return number{a.kind, v << w} // of 64 and more: nothing is left
	case token.SHR:
		if a.kind == signed {
			return integer(int64(v) >> w)
		}
		return number{a.kind, v >> w}
	}
	if w == 0 {
		return e.fail("division by zero for i = %d", e.i)
	}
	switch {
	case op == token.QUO && k == signed:
		return integer(int64(v) / int64(w))
	case op == token.QUO:
		return number{k, v / w}
	case k == signed:
		return integer(int64(v) % int64(w))
	}
	return number{k, v % w}
}

func compares(op token.Token, a, b number) bool {
	var less, same bool
	switch alike(a, b) {
	case float:
		x, y := a.float(), b.float()
		if math.IsNaN(x) || math.IsNaN(y) {
			return op == token.NEQ
		}
		less, same = x < y, x == y
	case unsigned:
		less, same = a.bits < b.bits, a.bits == b.bits
	default:
		less, same = int64(a.bits) < int64(b.bits), a.bits == b.bits
	}
	switch op {
	case token.EQL:
		return same
	case token.NEQ:
		return !same
	case token.LSS:
		return less
	case token.LEQ:
		return less || same
	case token.GTR:
		return !less && !same
	}
	return !less
}

// functions of numbers with a fraction, by their arity.
func unaries() map[string]func(float64) float64 {
	return map[string]func(float64) float64{
		"sqrt": math.Sqrt, "cbrt": math.Cbrt, "exp": math.Exp, "exp2": math.Exp2, "expm1": math.Expm1,
		"log": math.Log, "log2": math.Log2, "log10": math.Log10, "log1p": math.Log1p,
		"sin": math.Sin, "cos": math.Cos, "tan": math.Tan, "asin": math.Asin, "acos": math.Acos, "atan": math.Atan,
		"sinh": math.Sinh, "cosh": math.Cosh, "tanh": math.Tanh, "erf": math.Erf, "erfc": math.Erfc,
		"tgamma": math.Gamma, "floor": math.Floor, "ceil": math.Ceil, "trunc": math.Trunc, "rint": math.RoundToEven,
	}
}

func binaries() map[string]func(a, b float64) float64 {
	return map[string]func(a, b float64) float64{
		"pow": math.Pow, "atan2": math.Atan2, "hypot": math.Hypot, "fmod": math.Mod, "copysign": math.Copysign,
	}
}

// Functions lists what expressions can call, sorted.
func Functions() []string {
	names := []string{"abs", "fma", "max", "min", "popcount", "sum", "maximum", "minimum", "when"}
	for _, t := range types() {
		names = append(names, string(t))
	}
	for name := range unaries() {
		names = append(names, name)
	}
	for name := range binaries() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (c *compiler) call(x *ast.CallExpr) node {
	id, ok := x.Fun.(*ast.Ident)
	if !ok || x.Ellipsis.IsValid() {
		return c.fail(x, "only functions are called")
	}
	name := id.Name
	switch name {
	case "sum", "maximum", "minimum":
		return c.fold(x, name)
	}
	args := make([]node, len(x.Args))
	for i, a := range x.Args {
		args[i] = c.expr(a)
	}
	wants := func(n int) bool {
		if len(args) != n {
			c.fail(x, "%s: found %d arguments, expected %d", name, len(args), n)
		}
		return len(args) == n
	}
	if f := unaries()[name]; f != nil && wants(1) {
		return func(e *env) number { return floating(f(args[0](e).float())) }
	}
	if f := binaries()[name]; f != nil && wants(2) {
		return func(e *env) number { return floating(f(args[0](e).float(), args[1](e).float())) }
	}
	if slices.Contains(types(), Type(name)) && wants(1) {
		t := Type(name)
		return func(e *env) number {
			var b [8]byte
			return t.decode(t.encode(b[:0], args[0](e)))
		}
	}
	switch {
	case name == "when" && wants(3):
		return func(e *env) number {
			if !args[0](e).zero() {
				return args[1](e)
			}
			return args[2](e)
		}
	case name == "fma" && wants(3):
		return func(e *env) number {
			return floating(math.FMA(args[0](e).float(), args[1](e).float(), args[2](e).float()))
		}
	case (name == "min" || name == "max") && wants(2):
		return func(e *env) number { return choose(name, args[0](e), args[1](e)) }
	case name == "abs" && wants(1):
		return func(e *env) number {
			v := args[0](e)
			switch {
			case v.kind == float:
				return floating(math.Abs(v.float()))
			case v.kind == signed && int64(v.bits) < 0:
				return number{signed, -v.bits}
			}
			return v
		}
	case name == "popcount" && wants(1):
		return func(e *env) number { return integer(int64(bits.OnesCount64(args[0](e).whole()))) }
	}
	if near, ok := suggest.Nearest(name, Functions()); ok && c.err == nil {
		return c.fail(x, "there is no function %s: did you mean %q?", name, near)
	}
	return c.fail(x, "there is no function %s", name)
}

func choose(name string, a, b number) number {
	op := token.LSS
	if name[:3] == "max" {
		op = token.GTR
	}
	if compares(op, a, b) {
		return a
	}
	return b
}

// fold reads sum(k, from, to, x): over k from from to below to. maximum and minimum
// of nothing are zero.
func (c *compiler) fold(x *ast.CallExpr, name string) node {
	if len(x.Args) != 4 {
		return c.fail(x, "%s: expected 4 arguments: a name, from, to, and what is summed up", name)
	}
	id, ok := x.Args[0].(*ast.Ident)
	if !ok {
		return c.fail(x.Args[0], "the first argument of %s is a name", name)
	}
	from, to := c.expr(x.Args[1]), c.expr(x.Args[2])
	slot := len(c.vars)
	if slot == len(env{}.vars) {
		return c.fail(x, "more than %d sums within each other", slot)
	}
	c.vars = append(c.vars, id.Name)
	of := c.expr(x.Args[3])
	c.vars = c.vars[:slot]
	return func(e *env) number {
		low, high := from(e), to(e)
		if alike(low, high) == float {
			return e.fail("%s goes over whole numbers", name)
		}
		var total number
		for k := int64(low.bits); k < int64(high.bits); k++ {
			if e.step(); e.err != nil {
				return number{}
			}
			e.vars[slot] = integer(k)
			v := of(e)
			switch {
			case k == int64(low.bits):
				total = v
			case name != "sum":
				total = choose(name, v, total)
			case alike(total, v) == float:
				total = floating(total.float() + v.float())
			default:
				total = number{alike(total, v), total.bits + v.bits}
			}
		}
		return total
	}
}
