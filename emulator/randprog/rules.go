package randprog

import (
	"fmt"
	"slices"
	"strings"
)

// kindOf is what a type is.
type kindOf uint8

const (
	signed kindOf = iota
	unsigned
	float
	boolean
	vector
)

// ctype is a type of the programs.
type ctype struct {
	name  string
	bits  int // of a vector: of an element
	kind  kindOf
	elem  string // of a vector
	count int
}

func (t ctype) size() int { return t.bits / 8 * max(t.count, 1) }

// types are all that variables have.
func types() []ctype {
	list := []ctype{
		{name: "i8", bits: 8}, {name: "i16", bits: 16}, {name: "i32", bits: 32}, {name: "i64", bits: 64}, {name: "i128", bits: 128},
		{name: "u8", bits: 8, kind: unsigned}, {name: "u16", bits: 16, kind: unsigned}, {name: "u32", bits: 32, kind: unsigned}, {name: "u64", bits: 64, kind: unsigned}, {name: "u128", bits: 128, kind: unsigned},
		{name: "f16", bits: 16, kind: float}, {name: "bf16", bits: 16, kind: float}, {name: "f32", bits: 32, kind: float}, {name: "f64", bits: 64, kind: float},
		{name: "bool", bits: 8, kind: boolean},
	}
	for _, v := range []string{"u8x4", "i8x4", "u16x2", "i16x2", "i16x4", "u32x2", "u32x4", "i32x2", "i32x4", "u64x2", "i64x2", "f16x2", "f16x4", "f32x2", "f32x4", "f64x2"} {
		elem, n, _ := strings.Cut(v, "x")
		at := slices.IndexFunc(list, func(t ctype) bool { return t.name == elem })
		list = append(list, ctype{name: v, bits: list[at].bits, kind: vector, elem: elem, count: int(n[0] - '0')})
	}
	return list
}

// grammar says what an expression of a type may be. In a rule {T} is an expression of
// type T, {#n} a number below n, {=T} a literal.
type grammar struct {
	types map[string]ctype
	rules map[string][]rule
}

type rule struct {
	weight int
	text   string
}

func (g *grammar) add(typ string, weight int, texts ...string) {
	for _, t := range texts {
		g.rules[typ] = append(g.rules[typ], rule{weight, strings.ReplaceAll(t, "$T", typ)})
	}
}

func newGrammar() *grammar {
	g := &grammar{types: map[string]ctype{}, rules: map[string][]rule{}}
	all := types()
	for _, t := range all {
		g.types[t.name] = t
	}
	for _, t := range all {
		switch t.kind {
		case signed, unsigned:
			g.integers(t)
		case float:
			g.floats(t)
		case boolean:
			g.booleans(all)
		case vector:
			g.vectors(t, all)
		}
		if t.kind != boolean {
			g.add(t.name, 2, "({bool} ? {$T} : {$T})", "get<$T>(in, {u32} & 1023)")
			g.add(t.name, 1, "peek<$T>(in, {u32} & 1023)", "get<$T>(in, {#1000})", "peekCall<$T>((const $T *)in + ({u32} & 31))")
		}
	}
	g.devices()
	return g
}

func (g *grammar) integers(t ctype) {
	n := t.name
	g.add(n, 6, "($T)({$T} + {$T})", "($T)({$T} - {$T})", "($T)({$T} & {$T})", "($T)({$T} | {$T})", "($T)({$T} ^ {$T})")
	g.add(n, 4, "($T)({$T} * {$T})")
	g.add(n, 2, "shl<$T>({$T}, {u32})", "shr<$T>({$T}, {u32})", "shr<$T>({$T}, {#"+fmt.Sprint(t.bits)+"})", "shl<$T>({$T}, {#"+fmt.Sprint(t.bits)+"})", "($T)~{$T}", "($T)-{$T}",
		"least<$T>({$T}, {$T})", "most<$T>({$T}, {$T})", "mid<$T>({$T}, {$T}, {$T})", "least<$T>(most<$T>({$T}, ($T)3), ($T)100)", "apart<$T>({$T}, {$T})", "($T)({$T} + shl<$T>({$T}, {#5}))", "($T)(({$T} & {$T}) | ({$T} & ~{$T}))",
		"($T)({$T} * {=$T})", "($T)({$T} * {$T} + {$T})", "($T)({$T} ^ {$T} ^ {$T})", "($T){bool}", "($T)(shl<$T>({$T}, {u32}) | {$T})", "($T)(({$T} + {$T}) - ({$T} + {$T}))")
	for _, from := range []string{"u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64"} {
		if from != n {
			g.add(n, 1, "($T){"+from+"}")
		}
	}
	if t.bits == 128 {
		g.add(n, 1, "($T)({u128} >> {#128})", "($T)(((u128){u64} << 64) + {u64})", "($T)((i128){i64} * {i64})")
		return
	}
	g.add(n, 1, "quo<$T>({$T}, {$T})", "rem<$T>({$T}, {$T})", "quo<$T>({$T}, {=$T})", "rem<$T>({$T}, {=$T})",
		"addover<$T>({$T}, {$T})", "subover<$T>({$T}, {$T})", "($T){u128}", "whole<$T>({f32})", "whole<$T>({f64})", "whole<$T>({f16})", "rem<$T>(($T)({$T} * {$T}), {=$T})")
	g.add(n, 2, "__builtin_elementwise_add_sat({$T}, {$T})", "__builtin_elementwise_sub_sat({$T}, {$T})")
	if t.bits < 64 {
		g.add(n, 1, "mulover<$T>({$T}, {$T})")
	}
	if t.kind == signed {
		g.add(n, 2, "($T)__builtin_elementwise_abs({$T})")
		return
	}
	g.add(n, 1, "($T)__builtin_popcountg({$T})", "($T)__builtin_clzg({$T}, 77)", "($T)__builtin_ctzg({$T}, 99)", "($T)__builtin_elementwise_popcount({$T})")
	b := fmt.Sprint(t.bits)
	g.add(n, 1, "($T)__builtin_rotateleft"+b+"({$T}, ($T){$T})", "($T)__builtin_rotateright"+b+"({$T}, ($T){#"+b+"})", "($T)__builtin_bitreverse"+b+"({$T})",
		"__builtin_elementwise_fshl({$T}, {$T}, {$T})", "__builtin_elementwise_fshr({$T}, {$T}, {$T})")
	if t.bits > 8 {
		g.add(n, 2, "($T)__builtin_bswap"+b+"({$T})")
	}
}

func (g *grammar) floats(t ctype) {
	n := t.name
	g.add(n, 6, "({$T} + {$T})", "({$T} - {$T})", "({$T} * {$T})")
	g.add(n, 2, "(-{$T})", "(($T)1 - {$T})", "({$T} * {$T} + {$T})", "({$T} * ($T)0.5)", "({$T} + {=$T})", "({$T} < {$T} ? {$T} : {$T})")
	for _, from := range []string{"f16", "f32", "f64", "bf16"} {
		// LLVM rounds f64 to bf16 twice on some targets.
		switch {
		case from == n, n == "bf16" && from == "f64":
		case n == "bf16", n == "f16" && from == "bf16":
			g.add(n, 2, "($T)(f32){"+from+"}")
		default:
			g.add(n, 2, "($T){"+from+"}")
		}
	}
	whole := []string{"u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64"}
	if n == "bf16" || n == "f16" {
		whole = whole[:4]
	}
	for _, from := range whole {
		g.add(n, 1, "($T){"+from+"}")
	}
	if n == "bf16" {
		g.add(n, 2, "bitcast<$T>({u16})", "(bf16)((f32){$T} / (f32){$T})")
		return
	}
	g.add(n, 4, "fused(($T){$T}, ($T){$T}, ($T){$T})", "fused(($T){$T}, ($T){$T}, ($T)-{$T})")
	g.add(n, 2, "down(($T){$T})", "up(($T){$T})", "chop(($T){$T})", "even(($T){$T})", "toeven(($T){$T})", "away(($T){$T})", "size(($T){$T})", "(-size(($T){$T}))", "sign(($T){$T}, ($T){$T})", "lower(($T){$T}, ($T){$T})", "upper(($T){$T}, ($T){$T})",
		"__builtin_elementwise_maximum(($T){$T}, ($T){$T})", "__builtin_elementwise_minimum(($T){$T}, ($T){$T})", "__builtin_elementwise_maximumnum(($T){$T}, ($T){$T})", "__builtin_elementwise_minimumnum(($T){$T}, ($T){$T})",
		"upper(lower(($T){$T}, ($T){$T}), ($T){$T})", "lower(upper(($T){$T}, ($T)0), ($T)1)")
	switch n {
	case "f16":
		g.add(n, 2, "(f16)((f32){$T} / (f32){$T})", "(f16)root((f32){$T})", "bitcast<$T>({u16})", "{f16x2}.x", "{f16x2}.y", "{f16x4}[{u32} & 3]", "(f16)fused((f32){$T}, (f32){$T}, (f32){f16})")
		return
	case "f32":
		g.add(n, 2, "bitcast<$T>({u32})", "{f32x2}.y", "{f32x4}[{u32} & 3]", "ubyte({u32}, {#4})", "(f32)({u32} >> 16 & 255)", "off4({u32})", "med3({$T}, {$T}, {$T})", "legacy({$T}, {$T})", "fused((f32){f16}, (f32){f16}, {$T})")
	case "f64":
		g.add(n, 2, "bitcast<$T>({u64})", "{f64x2}.x", "{f64x2}[{u32} & 1]", "(f64)({f32} * {f32})", "(f64){f32} * (f64){f32}")
	}
	g.add(n, 2, "({$T} / {$T})", "root(size(($T){$T}))", "scale(($T){$T}, {i32} % 300)", "scale(($T){$T}, {#9} - 4)", "mant(($T){$T})", "fract(($T){$T})", "(($T)1 / {$T})", "($T)expo(($T){$T})")
}

func (g *grammar) booleans(all []ctype) {
	for _, t := range all {
		switch t.kind {
		case signed, unsigned:
			for _, op := range []string{"<", ">=", "==", "!=", ">", "<="} {
				g.add("bool", 1, "({"+t.name+"} "+op+" {"+t.name+"})")
			}
		case float:
			for _, op := range []string{"<", ">=", "==", "!=", ">", "<="} {
				g.add("bool", 1, "({"+t.name+"} "+op+" {"+t.name+"})", "(!({"+t.name+"} "+op+" {"+t.name+"}))")
			}
		}
	}
	g.add("bool", 6, "({bool} && {bool})", "({bool} || {bool})", "(!{bool})", "({bool} != {bool})", "(bool)({u32} & 1)", "(({u32} & {u32}) == 0)", "(({u32} & 7) == {#8})", "((tid & {#64}) == 0)")
	g.add("bool", 3, "kind((f32){f32}, {#2})", "kind((f64){f64}, {#2})", "(__builtin_isunordered((f32){f32}, (f32){f32}) || {bool})", "(({u64} & 1ull << {#64}) != 0)", "(({u32} >> ({u32} & 31)) & 1) != 0", "((__builtin_popcountg({u32}) & 1) != 0)")
}

func (g *grammar) vectors(t ctype, all []ctype) {
	n := t.name
	e := g.types[t.elem]
	g.add(n, 6, "({$T} + {$T})", "({$T} - {$T})", "({$T} * {$T})")
	construct := "(($T){" + strings.TrimSuffix(strings.Repeat("("+e.name+"){"+e.name+"}, ", t.count), ", ") + "})"
	g.add(n, 3, construct, "({$T} * ("+e.name+"){"+e.name+"})")
	swap := map[int][]string{2: {".yx", ".xx", ".yy"}, 4: {".wzyx", ".yxwz", ".zzxw"}}[t.count]
	for _, s := range swap {
		g.add(n, 2, "({$T})"+s)
		g.add(n, 1, "({$T} + ({$T})"+s+")")
	}
	for _, from := range all {
		if from.kind == vector && from.count == t.count && from.name != n && e.kind != float && g.types[from.elem].kind != float {
			g.add(n, 1, "__builtin_convertvector({"+from.name+"}, $T)")
		}
	}
	if e.kind == float {
		g.add(n, 2, "(-{$T})", "({$T} < {$T} ? {$T} : {$T})", "__builtin_elementwise_maximumnum({$T}, {$T})", "__builtin_elementwise_minimum({$T}, {$T})", "__builtin_elementwise_abs({$T})")
		switch n {
		case "f16x2":
			g.add(n, 4, "lower({$T}, {$T})", "fma2({$T}, {$T}, {$T})", "fma2({$T}, ({$T}).yx, -{$T})", "bitcast<$T>({u32})", "as<$T>(pkrtz({f32}, {f32}))", "(($T){(f16){f32}, (f16){f32}})")
		case "f32x2":
			g.add(n, 4, "fma2({$T}, {$T}, {$T})", "fma2({$T}, ({$T}).yx, ({$T}).xx)", "__builtin_convertvector({f16x2}, $T)", "bitcast<$T>({u64})")
		}
		return
	}
	m := fmt.Sprintf("(%s)%d", e.name, e.bits-1)
	g.add(n, 2, "({$T} & {$T})", "({$T} | {$T})", "({$T} ^ {$T})", "(~{$T})", "({$T} << ({$T} & "+m+"))", "({$T} >> ({$T} & "+m+"))", "({$T} >> ("+e.name+"){#"+fmt.Sprint(e.bits)+"})",
		"__builtin_elementwise_max({$T}, {$T})", "__builtin_elementwise_min({$T}, {$T})", "__builtin_elementwise_add_sat({$T}, {$T})", "__builtin_elementwise_sub_sat({$T}, {$T})", "({$T} < {$T} ? {$T} : {$T})", "({$T} == {$T} ? {$T} : {$T})", "({$T} * {$T} + {$T})")
	if e.kind == signed {
		g.add(n, 1, "__builtin_elementwise_abs({$T})")
	} else {
		g.add(n, 1, "__builtin_elementwise_popcount({$T})", "__builtin_elementwise_bitreverse({$T})")
	}
	g.add(e.name, 2, fmt.Sprintf("{%s}[{u32} & %d]", n, t.count-1), "({"+n+"}).x", "({"+n+"}).y")
}

// devices adds what LLVM has a name for on these GPUs alone.
func (g *grammar) devices() {
	g.add("u32", 1, "hi32({u32}, {u32})", "ubfe({u32}, {u32}, {u32})", "ubfe({u32}, {#32}, {#32})", "alignbit({u32}, {u32}, {u32})", "alignbyte({u32}, {u32}, {u32})", "perm({u32}, {u32}, {u32} & 0x0f0f0f0f)", "perm({u32}, {u32}, 0x0c020501)",
		"sad8({u32}, {u32}, {u32})", "sadhi8({u32}, {u32}, {u32})", "msad8({u32}, {u32}, {u32})", "sad16({u32}, {u32}, {u32})", "lerp({u32}, {u32}, {u32})", "ffbh({i32})", "pack16({i32}, {i32})", "packu16({u32}, {u32})", "bitop3({u32}, {u32}, {u32})", "prng({u32})",
		"carry3({u32}, {u32}, {u32})", "pkrtz({f32}, {f32})", "bitcast<u32>({f32})", "as<u32>({u16x2})", "as<u32>({u8x4})", "sum3(in, {u32} & 1023)",
		"udot2<false>({u32}, {u32}, {u32})", "udot2<true>({u32}, {u32}, {u32})", "udot4<false>({u32}, {u32}, {u32})", "udot4<true>({u32}, {u32}, {u32})", "udot8<false>({u32}, {u32}, {u32})", "udot8<true>({u32}, {u32}, {u32})",
		"(({u32} & 0xffffff) * ({u32} & 0xffffff))", "(({u32} & 0xffffff) * ({u32} & 0xffffff) + {u32})", "(({u32} & 0xff) * ({u32} >> 24))", "(u32)((u64)({u32} & 0xffffff) * ({u32} & 0xffffff) >> 32)", "BEFORE({u64}, {u32})", "table[{u32} & 15]", "places[{u32} & 15]")
	g.add("i32", 1, "his32({i32}, {i32})", "sbfe({i32}, {u32}, {u32})", "sbfe({i32}, {#32}, {#32})", "(({i32} << 8 >> 8) * ({i32} << 8 >> 8))", "(({i32} << 8 >> 8) * ({i32} << 8 >> 8) + {i32})", "expo({f32})", "expo({f64})",
		"sdot2<false>({u32}, {u32}, {i32})", "sdot2<true>({u32}, {u32}, {i32})", "sdot4<false>({u32}, {u32}, {i32})", "sdot4<true>({u32}, {u32}, {i32})", "sdot8<false>({u32}, {u32}, {i32})", "sdot8<true>({u32}, {u32}, {i32})", "sudot4<false>({u32}, {u32}, {i32})", "sudot4<true>({u32}, {u32}, {i32})")
	g.add("u64", 1, "hi64({u64}, {u64})", "qsad({u64}, {u32}, {u64})", "mqsad({u64}, {u32}, {u64})", "((u64){u32} * {u32})", "((u64){u32} * {u32} + {u64})", "bitcast<u64>({f64})", "as<u64>({u32x2})", "wide[{u32} & 7]")
	g.add("i64", 1, "his64({i64}, {i64})", "((i64){i32} * {i32} + {i64})", "((i64){i32} * {i32})")
	g.add("u16", 1, "bitcast<u16>({f16})", "bitcast<u16>({bf16})", "(u16)pkrtz({f32}, {f32})")
	g.add("u32x4", 1, "mqsad4({u64}, {u32}, {u32x4})")
	g.add("u8", 1, "bytes[{u32} & 31]")
}
