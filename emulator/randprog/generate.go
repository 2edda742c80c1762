package randprog

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// maker makes one kernel.
type maker struct {
	g     *grammar
	rng   *rand.Rand
	k     *Kernel
	vars  map[string][]string // what can be read, by type
	own   map[string][]string // of them the variables of a work-item, which can be stored to
	types []string            // of the variables
	calls []function
	names int
	inner bool // within a function: no work-item is known
	fresh []string
}

type function struct {
	name, result string
	params       []string
}

func (m *maker) one(list []string) string { return list[m.rng.IntN(len(list))] }

func (m *maker) name(prefix string) string {
	m.names++
	return fmt.Sprintf("%s%d", prefix, m.names)
}

// literal is a constant of a type. Small ones, powers of two and their neighbours are
// as frequent as all others.
func (m *maker) literal(typ string) string {
	t := m.g.types[typ]
	switch t.kind {
	case boolean:
		return m.one([]string{"true", "false"})
	case vector:
		return fmt.Sprintf("((%s)%s)", typ, m.literal(t.elem))
	case float:
		return fmt.Sprintf("((%s)%s)", typ, m.one([]string{"0.0", "1.0", "-1.0", "0.5", "2.5", "-3.5", "0.15625", "1000.0", "-0.0", "65504.0", "0.0009765625", "4.0", "-0.25", "1.1", "0.3333", "12345.678", "5.9604644775390625e-8"}))
	}
	v := m.rng.Uint64()
	switch m.rng.IntN(4) {
	case 0:
		v %= 70
	case 1:
		v = 1<<(v&63) + m.rng.Uint64N(3) - 1
	case 2:
		v = -(v % 70)
	}
	if t.bits < 64 {
		v &= 1<<t.bits - 1
	}
	if t.bits == 128 && m.rng.IntN(2) == 0 {
		return fmt.Sprintf("((%s)0x%xull << %d)", typ, v, m.rng.IntN(65))
	}
	return fmt.Sprintf("((%s)0x%xull)", typ, v)
}

// expr is an expression of a type with so many operations on top of each other, at most.
func (m *maker) expr(typ string, depth int) *node {
	n := &node{typ: typ}
	n.leaf = m.plain(typ)
	vars := m.vars[typ]
	if depth <= 0 || m.rng.IntN(8) == 0 {
		if len(vars) > 0 && m.rng.IntN(8) > 0 {
			n.parts = []string{m.one(vars)}
			return n
		}
		n.parts = []string{m.literal(typ)}
		if len(vars) == 0 && m.rng.IntN(3) > 0 { // something that is not known to the compiler
			if text, ok := m.converted(typ); ok {
				n.parts[0] = text
			}
		}
		return n
	}
	if m.rng.IntN(24) == 0 {
		var fit []function
		for _, f := range m.calls {
			if f.result == typ {
				fit = append(fit, f)
			}
		}
		if len(fit) > 0 {
			f := fit[m.rng.IntN(len(fit))]
			n.parts = []string{f.name + "("}
			for i, p := range f.params {
				n.kids = append(n.kids, m.expr(p, depth-2))
				n.parts = append(n.parts, ", ")
				if i == len(f.params)-1 {
					n.parts[i+1] = ")"
				}
			}
			return n
		}
	}
	m.fill(n, m.rule(typ), depth)
	return n
}

// plain is the least expression of a type.
func (m *maker) plain(typ string) string {
	switch t := m.g.types[typ]; t.kind {
	case boolean:
		return "true"
	case vector:
		return fmt.Sprintf("((%s)(%s)1)", typ, t.elem)
	}
	return fmt.Sprintf("((%s)1)", typ)
}

// converted is a variable of another type as one of this.
func (m *maker) converted(typ string) (string, bool) {
	t := m.g.types[typ]
	if t.kind == vector || t.kind == boolean || len(m.vars["u32"]) == 0 {
		return "", false
	}
	if t.kind == float {
		return fmt.Sprintf("((%s)(i16)%s)", typ, m.one(m.vars["u32"])), true
	}
	return fmt.Sprintf("((%s)%s)", typ, m.one(m.vars["u32"])), true
}

func (m *maker) rule(typ string) string {
	rules := m.g.rules[typ]
	for {
		total := 0
		for _, r := range rules {
			total += r.weight
		}
		at := m.rng.IntN(total)
		for _, r := range rules {
			if at -= r.weight; at < 0 {
				if m.inner && (strings.Contains(r.text, "tid") || strings.Contains(r.text, "BEFORE") || strings.Contains(r.text, "in,") || strings.Contains(r.text, ")in ")) {
					break
				}
				return r.text
			}
		}
	}
}

// fill lays a rule out.
func (m *maker) fill(n *node, text string, depth int) {
	part := ""
	for {
		before, rest, found := strings.Cut(text, "{")
		part += before
		if !found {
			break
		}
		hole, after, closed := strings.Cut(rest, "}")
		if strings.HasPrefix(hole, "(") { // the list of a compound literal: its holes come as they are
			part += "{"
			text = rest
			continue
		}
		if !closed {
			part += "{" + rest
			break
		}
		text = after
		switch {
		case strings.HasPrefix(hole, "#"):
			bound := 1
			_, _ = fmt.Sscanf(hole, "#%d", &bound) // the rules are our own
			part += fmt.Sprint(m.rng.IntN(bound))
		case strings.HasPrefix(hole, "="):
			part += m.literal(hole[1:])
		default:
			n.parts = append(n.parts, part)
			part = ""
			n.kids = append(n.kids, m.expr(hole, depth-1-m.rng.IntN(2)))
		}
	}
	n.parts = append(n.parts, part)
}

// stmt is a statement of fixed text around expressions.
func (m *maker) stmt(format string, kids ...*node) *node {
	return &node{parts: strings.Split(format, "$"), kids: kids}
}

// scoped makes what names more variables.
func (m *maker) scoped(typ, name string, f func()) {
	m.vars[typ] = append(m.vars[typ], name)
	f()
	m.vars[typ] = m.vars[typ][:len(m.vars[typ])-1]
}

func (m *maker) typ() string { return m.one(m.types) }

// variable is one that can be stored to.
func (m *maker) variable(typ string) string { return m.one(m.own[typ]) }

func (m *maker) block(n, depth int) *node {
	var kids []*node
	for range 1 + m.rng.IntN(n) {
		kids = append(kids, m.own1(depth))
	}
	return list(kids...)
}

// own1 is a statement that a work-item does by itself.
func (m *maker) own1(depth int) *node {
	t := m.typ()
	v := m.variable(t)
	switch m.rng.IntN(28) {
	case 0, 1:
		if depth > 0 {
			return m.stmt("if ($) {$} else {$}", m.expr("bool", 2), m.block(3, depth-1), m.block(2, depth-1))
		}
	case 2:
		if depth > 0 {
			return m.stmt("if ($) {$}", m.expr("bool", 2), m.block(3, depth-1))
		}
	case 3, 4:
		if depth > 0 {
			i := m.name("n")
			s := m.stmt("for (u32 "+i+" = 0; "+i+" < ($ & 7); "+i+"++) {$}", m.expr("u32", 1), text(""))
			m.scoped("u32", i, func() {
				s.kids[1] = m.block(3, depth-1)
				if m.rng.IntN(3) == 0 {
					s.kids[1].kids = append(s.kids[1].kids, m.stmt("if ($) "+m.one([]string{"break", "continue"})+";", m.expr("bool", 2)), m.block(2, 0))
					s.kids[1].parts = append(s.kids[1].parts, "\n", "\n")
				}
			})
			return s
		}
	case 5:
		if depth > 0 {
			s := m.stmt("switch ($ % 7) { case 0:$ break; case 1:$ case 2:$ break; case 5:$ break; default:$ }", m.expr("u32", 2))
			for range 5 {
				s.kids = append(s.kids, m.block(2, depth-1))
			}
			return s
		}
	case 6, 7:
		return m.array(t, v)
	case 8:
		area := m.one([]string{"scr, gid * 64 + ($ & 15)", "near, tid * 32 + ($ & 7)", "scr, gid * 64 + ($ & 7)"})
		if m.g.types[t].size() > 8 && strings.HasPrefix(area, "near") || t == "bool" {
			break
		}
		f := m.one([]string{"poke", "put"})
		return m.stmt(f+"<"+t+">("+area+", $); "+v+" = "+m.settled(t, map[string]string{"poke": "peek", "put": "get"}[f]+"<"+t+">("+area+")")+";", m.expr("u32", 1), m.expr(t, 2), m.expr("u32", 1))
	case 9:
		return m.sharedAtomic()
	case 10:
		return m.ownAtomic()
	case 11:
		u := m.variable("u32")
		return m.stmt("{ S s = {(u8)$, $, {$, $}, (i16)$, $}; s = "+m.k.Name+"_turn(s, $); "+u+" ^= s.b; "+m.variable("u32")+" += (u32)s.c[$ & 1] + s.a - s.d; }",
			m.expr("u32", 1), m.expr("u32", 1), m.expr("u64", 1), m.expr("u64", 1), m.expr("u32", 1), m.expr("f32", 1), m.expr("u32", 1), m.expr("u32", 1))
	case 12:
		u := m.variable("u32")
		return m.stmt("{ u32 (*f)(u32, u32) = $ ? "+m.k.Name+"_one : "+m.k.Name+"_two; "+u+" = f($, $) + "+m.k.Name+"_deep($ & 3, $); }",
			m.expr("bool", 2), m.expr("u32", 1), m.expr("u32", 1), m.expr("u32", 1), m.expr("u32", 1))
	case 13:
		i := m.name("n")
		s := m.stmt("{ u32 "+i+" = $; while ("+i+" > 1) { "+i+" = "+i+" / 3 - ("+i+" & 1); $ } }", m.expr("u32", 1), text(""))
		m.scoped("u32", i, func() { s.kids[1] = m.block(2, 0) })
		return s
	case 14:
		x := m.name("x")
		s := m.stmt("{ "+t+" "+x+" = $;$ }", m.expr(t, 3), text(""))
		m.scoped(t, x, func() { s.kids[1] = m.block(3, depth-1) })
		return s
	case 15:
		u := m.variable("u32")
		return m.stmt("{ u32 few[4] = {$, $, 7, gid}; "+u+" = peekCall<u32>($ ? few + ($ & 3) : $ ? (u32 *)near + tid * 8 + 2 : (u32 *)scr + gid * 16 + 4); }",
			m.expr("u32", 1), m.expr("u32", 1), m.expr("bool", 2), m.expr("u32", 1), m.expr("bool", 1))
	}
	return m.stmt(v+" = "+m.settled(t, "$")+";", m.expr(t, 3+m.rng.IntN(2)))
}

// settled is a value that is stored: of a vector, one that the compiler does not see
// through.
func (m *maker) settled(typ, value string) string {
	if m.g.types[typ].kind == vector {
		return "settled<" + typ + ">(" + value + ")"
	}
	return value
}

// array is private memory that is read and written at places that are not known.
func (m *maker) array(t, v string) *node {
	a, i := m.name("a"), m.name("n")
	size := m.one([]string{"4", "8", "16", "32"})
	s := m.stmt("{ " + t + " " + a + "[" + size + "]; for (u32 " + i + " = 0; " + i + " < " + size + "; " + i + "++) " + a + "[" + i + "] = $; " + a + "[$ % " + size + "] = $;$ " + v + " = " + m.settled(t, a+"[$ % "+size+"]") + "; }")
	m.scoped("u32", i, func() { s.kids = append(s.kids, m.expr(t, 2)) })
	s.kids = append(s.kids, m.expr("u32", 2), m.expr(t, 2))
	m.scoped(t, a+"["+fmt.Sprint(m.rng.IntN(4))+"]", func() { s.kids = append(s.kids, m.block(2, 0)) })
	s.kids = append(s.kids, m.expr("u32", 2))
	return s
}

// orderless are the atomic operations of which the order does not matter.
func orderless() []string { return []string{"aadd", "asub", "aand", "aor", "axor", "amin", "amax"} }

// sharedAtomic is one on a word of all. Each word has an operation of its own, so that
// their order does not matter.
func (m *maker) sharedAtomic() *node {
	at := m.rng.IntN(len(orderless()))
	op := orderless()[at]
	switch m.rng.IntN(4) {
	case 0:
		return m.stmt(fmt.Sprintf("%s<u32>(acc + %d + ($ & 1) * 8, $);", op, at), m.expr("u32", 1), m.expr("u32", 2))
	case 1:
		return m.stmt(fmt.Sprintf("%s<%s>((%[2]s *)acc8 + %d, $);", op, "u64", at), m.expr("u64", 2))
	case 2:
		return m.stmt(fmt.Sprintf("%sG<u32>(lacc + %d + ($ & 1) * 8, $);", op, at), m.expr("u32", 1), m.expr("u32", 2))
	}
	return m.stmt(fmt.Sprintf("%sG<u64>(lacc8 + %d, $);", op, at), m.expr("u64", 2))
}

// ownAtomic is one on a word that no other work-item uses, for the value before.
func (m *maker) ownAtomic() *node {
	t := m.one([]string{"u32", "i32", "u64", "i64"})
	op := m.one(orderless())
	u := m.variable("u32")
	place := m.one([]string{"scr + gid * 64 + 32", "near + tid * 32 + 16", "($ ? near + tid * 32 + 16 : scr + gid * 64 + 40)"})
	var kids []*node
	if strings.Contains(place, "$") {
		kids = append(kids, m.expr("bool", 1))
	}
	switch m.rng.IntN(8) {
	case 0:
		return m.stmt(u+" ^= (u32)aswap<"+t+">(("+t+" *)("+place+"), $);", append(kids, m.expr(t, 2))...)
	case 1:
		return m.stmt("{ "+t+" was = *("+t+" *)(scr + gid * 64 + 32); "+u+" ^= (u32)acas<"+t+">(("+t+" *)(scr + gid * 64 + 32), was + ($ & 1), $); }", m.expr(t, 1), m.expr(t, 2))
	case 2:
		return m.stmt(u+" += "+m.one([]string{"ainc", "adec"})+"((u32 *)("+place+"), $);", append(kids, m.expr("u32", 1))...)
	case 3:
		return m.stmt(u+" += as<u32>(aadd<f32>((f32 *)(scr + gid * 64 + 56), (f32)$));", m.expr("u8", 1))
	case 4:
		return m.stmt(u+" += (u32)(as<u64>(aadd<f64>((f64 *)(scr + gid * 64 + 48), (f64)$)) >> 40);", m.expr("u16", 1))
	case 5:
		return m.stmt(u+" += as<u32>(aadd<f32>((f32 *)(near + tid * 32 + 24), (f32)$));", m.expr("i8", 1))
	}
	return m.stmt(u+" ^= (u32)"+op+"<"+t+">(("+t+" *)("+place+"), $);", append(kids, m.expr(t, 2))...)
}

// functions are those that a kernel has of its own.
func (m *maker) functions() *node {
	var all []*node
	m.inner = true
	saved := m.vars
	simple := func(name, result string, params []string, how string) {
		m.vars = map[string][]string{}
		decl := how + " " + result + " " + name + "("
		for i, p := range params {
			x := fmt.Sprintf("x%d", i)
			decl += fmt.Sprintf("%s%s %s", map[bool]string{true: ", "}[i > 0], p, x)
			m.vars[p] = append(m.vars[p], x)
		}
		s := m.stmt(decl+") { if ($) x0 = $; return $; }\n", m.expr("bool", 2), m.expr(params[0], 2), m.expr(result, 4))
		s.leaf = keep
		all = append(all, s)
	}
	name := m.k.Name
	simple(name+"_one", "u32", []string{"u32", "u32"}, "NOINLINE")
	simple(name+"_two", "u32", []string{"u32", "u32"}, "NOINLINE")
	m.vars = map[string][]string{"u32": {"x0", "x1", "r"}}
	deep := m.stmt("NOINLINE u32 "+name+"_deep(u32 x0, u32 x1) { u32 r = $; if (x0 == 0 || x0 > 5) return r; for (u32 n = 0; n < (r & 1) + 1; n++) r = r * 5 + "+name+"_deep(x0 - 1, $); return $; }\n", m.expr("u32", 0), m.expr("u32", 2), m.expr("u32", 2))
	deep.kids[0] = text("x1 ^ 0x55")
	deep.leaf = keep
	m.vars = map[string][]string{"u32": {"x", "s.b"}, "u8": {"s.a"}, "u64": {"s.c[0]", "s.c[1]", "s.c[x & 1]"}, "i16": {"s.d"}, "f32": {"s.e"}}
	turn := m.stmt("NOINLINE S "+name+"_turn(S s, u32 x) { s.c[$ & 1] = $; s.b = $; s.d = $; s.e = $; return s; }\n", m.expr("u32", 1), m.expr("u64", 2), m.expr("u32", 2), m.expr("i16", 2), m.expr("f32", 2))
	turn.leaf = keep
	all = append(all, deep, turn)
	for range 3 {
		f := function{name: m.name(name + "_f"), result: m.typ()}
		for range 1 + m.rng.IntN(5) {
			f.params = append(f.params, m.typ())
		}
		simple(f.name, f.result, f.params, m.one([]string{"NOINLINE", "NOINLINE", "FN"}))
		m.calls = append(m.calls, f)
	}
	m.inner, m.vars = false, saved
	n := list(all...)
	n.leaf = keep
	return n
}

// chosen are the types of a kernel's variables: few, so that they meet.
func (m *maker) chosen() {
	names := slices.Collect(func(yield func(string) bool) {
		for _, t := range types() {
			if !yield(t.name) {
				return
			}
		}
	})
	m.types = []string{"u32"}
	for len(m.types) < 5+m.rng.IntN(4) {
		t := m.one(names)
		if strings.HasSuffix(t, "128") && m.rng.IntN(2) == 0 {
			continue
		}
		if !slices.Contains(m.types, t) {
			m.types = append(m.types, t)
		}
	}
}
