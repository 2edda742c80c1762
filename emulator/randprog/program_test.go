package randprog

import (
	"regexp"
	"strings"
	"testing"
)

// A seed is a program, and another seed is another.
func TestSeeds(t *testing.T) {
	first, again, other := New(5, 3).Source(), New(5, 3).Source(), New(6, 3).Source()
	if first != again {
		t.Error("the same seed made two programs")
	}
	if first == other {
		t.Error("two seeds made the same program")
	}
}

// The rules ask for types that there are, and every type has rules.
func TestRules(t *testing.T) {
	g := newGrammar()
	hole := regexp.MustCompile(`\{=?([a-z][a-z0-9]*)\}`)
	for typ, rules := range g.rules {
		if _, ok := g.types[typ]; !ok {
			t.Errorf("rules for %s, which is no type", typ)
		}
		for _, r := range rules {
			for _, m := range hole.FindAllStringSubmatch(r.text, -1) {
				if _, ok := g.types[m[1]]; !ok {
					t.Errorf("%s: %s is no type", r.text, m[1])
				}
			}
		}
	}
	for _, typ := range types() {
		if len(g.rules[typ.name]) < 5 {
			t.Errorf("%d rules for %s", len(g.rules[typ.name]), typ.name)
		}
	}
}

// Every statement of the prelude is made by some program, and every type is a variable's.
func TestVariety(t *testing.T) {
	var all strings.Builder
	for seed := range uint64(40) {
		for _, k := range New(seed, 3).Kernels {
			k.write(&all)
		}
	}
	text := all.String()
	for _, want := range []string{"SHUFFLE", "PERMUTE", "DPP", "SWIZZLE", "ROW", "FIRST", "READLANE", "WRITELANE", "BALLOT", "REDUCE", "IF", "ELSE", "WHILE", "BARRIER",
		"switch", "aadd<", "amin<", "aswap", "acas", "ainc", "adec", "poke<", "peekCall<", "_turn(", "_deep(", "quo<", "fused(", "mqsad4", "sudot4<true>"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in 120 kernels", want)
		}
	}
	for _, typ := range types() {
		if !regexp.MustCompile(`[;{] ` + typ.name + ` v\d+;`).MatchString(text) {
			t.Errorf("no variable of type %s", typ.name)
		}
	}
}

// No vector is stored that the compiler sees through.
func TestVectorsSettle(t *testing.T) {
	vectors := 0
	for seed := range uint64(20) {
		for _, k := range New(seed, 3).Kernels {
			text := k.root.String()
			for _, r := range k.results {
				if !strings.Contains(r.Type, "x") {
					continue
				}
				for _, value := range regexp.MustCompile(`(?:^|\s)v\.`+r.Name+` = ([^;]*;)`).FindAllStringSubmatch(text, -1) {
					vectors++
					if !strings.HasPrefix(value[1], "settled<"+r.Type+">(") {
						t.Errorf("seed %d %s: %s %s = %s", seed, k.Name, r.Type, r.Name, value[1])
					}
				}
			}
		}
	}
	if vectors < 300 {
		t.Errorf("%d vectors are stored", vectors)
	}
}

// What a kernel stores is somebody's.
func TestOwner(t *testing.T) {
	for _, k := range New(3, 3).Kernels {
		r := k.results[1]
		for _, n := range []int{0, 1, k.threads() - 1, k.threads(), 2*k.threads() - 1} {
			if item, group := k.Owner(r.At + n*r.size); item != n%k.threads() || group != n/k.threads() {
				t.Errorf("%s: the result %d is that of work-item %d of group %d", k.Name, n, item, group)
			}
		}
		if item, group := k.Owner(k.localAt()); item != 0 || group != 0 {
			t.Errorf("%s: local memory is that of work-item %d of group %d", k.Name, item, group)
		}
	}
}

// What has nothing to do with a failure goes.
func TestReduce(t *testing.T) {
	for seed := range uint64(6) {
		p := New(seed, 1)
		before := p.Source()
		if !strings.Contains(before, "__builtin_bswap32(") {
			continue
		}
		asked := p.Kernels[0].Reduce(func() bool { return strings.Contains(p.Source(), "__builtin_bswap32(") })
		after := p.Source()
		if !strings.Contains(after, "__builtin_bswap32(") {
			t.Fatal("what failed is gone")
		}
		if n := strings.Count(after[len(prelude):], "\nv."); n > 3 {
			t.Errorf("seed %d: after asking %d times %d assignments are left:\n%s", seed, asked, n, after[len(prelude):])
		}
	}
}
