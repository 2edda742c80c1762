package randprog

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// together is a statement of a whole work-group, or of the lanes of it that are there.
// uniform says that all are.
func (m *maker) together(depth int, uniform bool) *node {
	t := m.typ()
	u, w := m.variable("u32"), m.expr("u32", 2)
	pick := m.rng.IntN(22)
	if uniform && pick >= 16 {
		switch pick {
		case 16, 17:
			for m.g.types[t].kind == boolean {
				t = m.typ()
			}
			size := fmt.Sprint(m.g.types[t].size())
			return m.stmt("EACH(put<"+t+">(trade, tid * "+size+", $);) BARRIER EACH("+m.variable(t)+" = get<"+t+">(trade, ($ % COUNT) * "+size+");) BARRIER", m.expr(t, 2), m.expr("u32", 2))
		case 18:
			return m.stmt(fmt.Sprintf("PERMUTE(%s, $, %d, %d)", bare(u), m.rng.IntN(16)*2+1, m.rng.IntN(32)), w)
		case 19:
			return m.stmt(fmt.Sprintf("READLANE(%s, $, %d)", bare(u), m.rng.IntN(m.k.least)), w)
		case 20:
			if len(m.fresh) > 0 {
				return m.stmt(fmt.Sprintf("WRITELANE(%s, $, (u32)%s, %d)", bare(u), m.one(m.fresh), m.rng.IntN(m.k.least)), w)
			}
		case 21:
			if depth > 0 {
				i := m.name("n")
				s := m.stmt(fmt.Sprintf("for (u32 %s = 0; %[1]s < %d; %[1]s++) {$}", i, 1+m.rng.IntN(3)), text(""))
				m.scoped("u32", i, func() { s.kids[0] = m.sequence(3, depth-1, true) })
				return s
			}
		}
	}
	switch pick {
	case 0:
		return m.stmt("SHUFFLE("+bare(u)+", $, $)", w, m.expr("u32", 1))
	case 1, 2:
		ctrl := []int{m.rng.IntN(256), 0x101 + m.rng.IntN(15), 0x111 + m.rng.IntN(15), 0x121 + m.rng.IntN(15), 0x140, 0x141}[m.rng.IntN(6)]
		rows, banks := 15, 15
		if m.rng.IntN(2) == 0 {
			rows, banks = m.rng.IntN(16), m.rng.IntN(16)
		}
		return m.stmt(fmt.Sprintf("DPP(%s, $, $, 0x%x, %d, %d, %v)", bare(u), ctrl, rows, banks, m.rng.IntN(2) == 0), m.expr("u32", 0), w)
	case 3:
		p := m.rng.IntN(1 << 15)
		if m.rng.IntN(3) == 0 {
			p = 0x8000 | m.rng.IntN(256)
		}
		return m.stmt(fmt.Sprintf("SWIZZLE(%s, $, 0x%x)", bare(u), p), w)
	case 4:
		return m.stmt(fmt.Sprintf("ROW(%s, $, $, 0x%xull, %v, %v)", bare(u), m.rng.Uint64(), m.rng.IntN(2) == 0, m.rng.IntN(2) == 0), m.expr("u32", 0), w)
	case 5:
		return m.stmt("FIRST("+bare(u)+", $)", w)
	case 6:
		return m.stmt("BALLOT("+bare(m.variable("u64"))+", $)", m.expr("bool", 3))
	case 7:
		return m.stmt(fmt.Sprintf("REDUCE(%s, $, %d)", bare(u), m.rng.IntN(6)), w)
	case 8:
		if depth > 0 {
			return m.stmt("IF($)$ELSE$END", m.expr("bool", 2), m.sequence(2, depth-1, false), m.sequence(2, depth-1, false))
		}
	case 9:
		if depth > 0 {
			return m.stmt("IF($)$END", m.expr("bool", 2), m.sequence(3, depth-1, false))
		}
	case 10:
		if depth > 0 {
			c := "v." + m.name("c")
			m.k.fields = append(m.k.fields, "u32 "+strings.TrimPrefix(c, "v."))
			s := m.stmt("EACH("+c+" = 0;) WHILE("+c+" < ($ & 3)) EACH("+c+"++;)$ END", m.expr("u32", 1), text(""))
			m.scoped("u32", c, func() { s.kids[1] = m.sequence(2, depth-1, false) })
			return s
		}
	case 11:
		if depth > 0 && len(m.fresh) > 0 {
			return m.stmt(fmt.Sprintf("if ((u32)%s & %d) {$}", m.one(m.fresh), 1<<m.rng.IntN(4)), m.sequence(3, depth-1, uniform))
		}
	}
	return m.stmt("EACH($)", m.block(4, 2))
}

// bare is a variable without what it lies in.
func bare(v string) string { return strings.TrimPrefix(v, "v.") }

func (m *maker) sequence(n, depth int, uniform bool) *node {
	var kids []*node
	for range 1 + m.rng.IntN(n) {
		kids = append(kids, m.together(depth, uniform))
	}
	return list(kids...)
}

// argument is one of a kernel: its type, and its value as C++ and as bytes.
type argument struct {
	typ, name, value string
	bytes            []byte
}

func (m *maker) argument(n int) argument {
	a := argument{typ: m.one([]string{"u8", "i8", "u16", "i16", "u32", "u32", "i32", "u64", "i64", "f32", "f64", "f16", "S", "u32x4", "u128"}), name: fmt.Sprintf("p%d", n)}
	bytes := func(n int) []byte {
		v := m.rng.Uint64()
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(v >> (8 * i))
		}
		return b
	}
	number := func(b []byte) string {
		s := "0x"
		for i := len(b) - 1; i >= 0; i-- {
			s += fmt.Sprintf("%02x", b[i])
		}
		return s
	}
	switch a.typ {
	case "f32":
		v := math.Float32bits(float32(m.rng.IntN(4000)-2000) / 16)
		a.bytes = []byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)}
		a.value = "as<f32>(" + number(a.bytes) + "u)"
	case "f64":
		v := math.Float64bits(float64(m.rng.IntN(4000)-2000) / 16)
		for i := range 8 {
			a.bytes = append(a.bytes, byte(v>>(8*i)))
		}
		a.value = "as<f64>(" + number(a.bytes) + "ull)"
	case "f16":
		a.bytes = []byte{byte(m.rng.IntN(256)), 0x3c}
		a.value = "as<f16>((u16)" + number(a.bytes) + ")"
	case "S":
		a.bytes = make([]byte, 32)
		f := [][]byte{bytes(1), bytes(4), bytes(8), bytes(8), bytes(2), {0, 0, 0xc0, 0x40}}
		for i, at := range []int{0, 4, 8, 16, 24, 28} {
			copy(a.bytes[at:], f[i])
		}
		a.value = "S{" + number(f[0]) + ", " + number(f[1]) + "u, {" + number(f[2]) + "ull, " + number(f[3]) + "ull}, (i16)" + number(f[4]) + ", 6.f}"
	case "u32x4":
		a.value = "u32x4{"
		for range 4 {
			b := bytes(4)
			a.bytes = append(a.bytes, b...)
			a.value += number(b) + "u, "
		}
		a.value = strings.TrimSuffix(a.value, ", ") + "}"
	case "u128":
		low, high := bytes(8), bytes(8)
		a.bytes = append(append(a.bytes, low...), high...)
		a.value = "((u128)" + number(high) + "ull << 64 | " + number(low) + "ull)"
	default:
		a.bytes = bytes(m.g.types[a.typ].size())
		a.value = "(" + a.typ + ")" + number(a.bytes) + "ull"
	}
	return a
}

// kernel makes the kernel of that name.
func (g *grammar) kernel(name string, rng *rand.Rand) *Kernel {
	k := &Kernel{Name: name}
	m := &maker{g: g, rng: rng, k: k, vars: map[string][]string{}, own: map[string][]string{}}
	k.Block = [][3]uint32{{64, 1, 1}, {128, 1, 1}, {100, 1, 1}, {256, 1, 1}, {96, 1, 1}, {8, 4, 3}, {33, 2, 1}, {64, 1, 1}, {50, 1, 2}}[rng.IntN(9)]
	count := k.threads()
	k.least = 32
	for _, size := range []int{32, 64} {
		if count%size > 0 {
			k.least = min(k.least, count%size)
		}
	}
	m.chosen()
	k.functions = m.functions()
	for _, t := range append([]string{"u32", "u64"}, m.types...) {
		for range 1 + m.rng.IntN(3) {
			v := m.name("v")
			k.fields = append(k.fields, t+" "+v)
			m.vars[t] = append(m.vars[t], "v."+v)
			m.own[t] = append(m.own[t], "v."+v)
			k.results = append(k.results, Result{Name: v, Type: t, size: g.types[t].size()})
		}
	}
	for n := range 2 + rng.IntN(5) {
		a := m.argument(n)
		k.arguments = append(k.arguments, a)
		name, typ := a.name, a.typ
		if typ == "S" {
			name, typ = a.name+".b", "u32"
			m.vars["u64"] = append(m.vars["u64"], a.name+".c[1]")
		}
		m.vars[typ] = append(m.vars[typ], name)
		if g.types[typ].kind == unsigned || g.types[typ].kind == signed {
			m.fresh = append(m.fresh, name)
		}
	}
	m.vars["u32"] = append(m.vars["u32"], "gid", "tid", "bid")
	var start []*node
	for _, r := range k.results {
		start = append(start, m.stmt("v."+r.Name+" = "+m.settled(r.Type, "$")+";", m.expr(r.Type, 1)))
		start[len(start)-1].kids[0] = m.load(r.Type)
	}
	first := m.stmt("EACH($)", list(start...))
	body := m.sequence(6, 3, true)
	for range 3 {
		body.kids = append(body.kids, m.together(3, true))
		body.parts = append(body.parts, "\n")
	}
	k.root = list(k.functions, first, body)
	k.root.leaf, first.leaf, body.leaf = keep, keep, keep
	return k
}

// load is what a variable begins with: what lies in memory, or the number of the
// work-item.
func (m *maker) load(typ string) *node {
	n := &node{typ: typ, leaf: m.plain(typ)}
	size := m.g.types[typ].size()
	switch {
	case m.g.types[typ].kind == boolean:
		n.parts = []string{"(in[gid + 5] & 1) != 0"}
	case m.rng.IntN(4) > 0:
		n.parts = []string{fmt.Sprintf("get<%s>(in, gid * %d + %d)", typ, size, m.rng.IntN(64))}
	default:
		return m.expr(typ, 1)
	}
	return n
}
