package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stonemason-hip/stonemason/internal/key"
)

// world is a small graph, its past and what of it is known.
type world struct {
	nodes []Node
	past  map[string][]Result
}

func (w *world) history(component, host string) []Result {
	var all []Result
	for _, r := range w.past[component] {
		if key.Parse(r.Key.Text)["host"] == host {
			all = append(all, r)
		}
	}
	return all
}

// lines are a key's lines over those of every key.
type lines map[string]string

func (l lines) with(more lines) lines {
	out := maps.Clone(l)
	maps.Copy(out, more)
	return out
}

func (l lines) without(names ...string) lines {
	out := maps.Clone(l)
	for _, n := range names {
		delete(out, n)
	}
	return out
}

func (l lines) key() key.Key {
	var b key.Builder
	for name, value := range l {
		b.Add(name, value)
	}
	return b.Key()
}

var day = time.Date(2026, 7, 1, 9, 0, 0, 0, time.UTC)

func content(word string) string {
	return "sha256:" + strings.Repeat(fmt.Sprintf("%x", word), 64)[:64]
}

// built puts a result into the past; the number of the day orders results.
func (w *world) built(component string, number int, l lines, word string) Result {
	r := Result{Key: l.key(), Content: content(word), Created: day.AddDate(0, 0, number), Seconds: 12.34}
	if w.past == nil {
		w.past = map[string][]Result{}
	}
	w.past[component] = append(w.past[component], r)
	return r
}

// plan adds a node; present is its result, nil when the store has none.
func (w *world) plan(component string, l lines, present *Result, needs ...string) *Node {
	n := Node{ID: component + "@linux", Component: component, Host: "linux", Key: l.key(), Result: present}
	for _, d := range needs {
		n.Needs = append(n.Needs, d+"@linux")
	}
	w.nodes = append(w.nodes, n)
	return &w.nodes[len(w.nodes)-1]
}

func base(component string) lines {
	return lines{
		"component": component, "host": "linux", "provider": "source", "recipe": "cmake", "version": "1.0.0",
		"source.0.id": "sha256 " + strings.Repeat("a", 64), "source.0.only": "[]",
		"patch.0001-one.patch":   strings.Repeat("1", 64),
		"step.00-configure.uses": "cmake", "step.00-configure.defines.NAME": "app", "step.00-configure.flags": "[]",
		"step.00-configure.argv.000": "cmake", "step.00-configure.argv.001": "-DNAME=app", "step.00-configure.toolchain.000": "set(A)",
		"step.01-build.uses": "ninja", "step.01-build.targets.000": "all", "step.01-build.targets.001": "docs",
		"step.02-docs.uses": "copy", "step.02-docs.items.000.from": "${source}/LICENSE", "step.02-docs.items.000.to": "share/LICENSE",
		"cc": "GNU 12.2.0 " + strings.Repeat("c", 64), "cxx": "GNU 12.2.0 " + strings.Repeat("d", 64),
		"llvm": "22.1.8 " + strings.Repeat("e", 64), "tool.cmake": strings.Repeat("f", 64),
	}
}

// The rows of one component with one difference each: reason, and lines.
func TestChangesOfItsOwn(t *testing.T) {
	was := base("app")
	for name, c := range map[string]struct {
		old, fresh lines
		reason     string
		lines      []string
	}{
		"a patch is edited": {was, was.with(lines{"patch.0001-one.patch": strings.Repeat("2", 64)}),
			"patch 0001-one.patch changed", []string{"patch 0001-one.patch: 111111111111 → 222222222222"}},
		"a patch comes in before the others": {was, was.with(lines{"patch.0000-zero.patch": strings.Repeat("2", 64)}),
			"patch 0000-zero.patch added", []string{"patch 0000-zero.patch: added 222222222222"}},
		"a patch goes away": {was, was.without("patch.0001-one.patch"),
			"patch 0001-one.patch removed", []string{"patch 0001-one.patch: removed, was 111111111111"}},
		"another source": {was, was.with(lines{"source.0.id": "sha256 " + strings.Repeat("b", 64)}),
			"source pebble changed", []string{"source pebble: sha256 aaaaaaaaaaaa → sha256 bbbbbbbbbbbb"}},
		"less of a source": {was, was.without("source.0.only").with(lines{"source.0.only.000": "lib"}),
			"source pebble, only added", []string{"source pebble, only: added lib"}},
		"a define, and what follows from it": {was, was.with(lines{"step.00-configure.defines.NAME": "program", "step.00-configure.argv.001": "-DNAME=program"}),
			"defines.NAME of step configure changed", []string{"step configure, defines.NAME: app → program"}},
		"only what stonemason adds to a command": {was, was.with(lines{"step.00-configure.toolchain.000": "set(B)", "step.00-configure.argv.002": "--fresh"}),
			"argv of step configure changed, and 1 more", []string{"step configure, argv: added --fresh", "step configure, toolchain: set(A) → set(B)"}},
		"a first flag": {was, was.without("step.00-configure.flags").with(lines{"step.00-configure.flags.000": "-O3"}),
			"flags of step configure changed", []string{"step configure, flags: added -O3"}},
		"no flag any more": {was.without("step.00-configure.flags").with(lines{"step.00-configure.flags.000": "-O3"}), was,
			"flags of step configure changed", []string{"step configure, flags: removed, was -O3"}},
		"a target in front": {was, was.with(lines{"step.01-build.targets.000": "lib", "step.01-build.targets.001": "all", "step.01-build.targets.002": "docs"}),
			"targets of step build changed", []string{"step build, targets: added lib"}},
		"a field of an item": {was, was.with(lines{"step.02-docs.items.000.to": "doc/LICENSE"}),
			"items[0].to of step docs changed", []string{"step docs, items[0].to: share/LICENSE → doc/LICENSE"}},
		"a step in between": {was, func() lines {
			l := was.without("step.02-docs.uses", "step.02-docs.items.000.from", "step.02-docs.items.000.to")
			return l.with(lines{"step.02-install.uses": "install", "step.02-install.strip": "true", "step.03-docs.uses": "copy", "step.03-docs.items.000.from": "${source}/LICENSE", "step.03-docs.items.000.to": "share/LICENSE"})
		}(), "step install added", []string{"step install: added install"}},
		"steps change places": {was, func() lines {
			l := was.without("step.01-build.uses", "step.01-build.targets.000", "step.01-build.targets.001", "step.02-docs.uses", "step.02-docs.items.000.from", "step.02-docs.items.000.to")
			return l.with(lines{"step.02-build.uses": "ninja", "step.02-build.targets.000": "all", "step.02-build.targets.001": "docs", "step.01-docs.uses": "copy", "step.01-docs.items.000.from": "${source}/LICENSE", "step.01-docs.items.000.to": "share/LICENSE"})
		}(), "step order changed", []string{"step order: configure, build, docs → configure, docs, build"}},
		"another compiler": {was, was.with(lines{"cxx": "GNU 13.1.0 " + strings.Repeat("0", 64)}),
			"the C++ compiler changed", []string{"the C++ compiler: GNU 12.2.0 dddddddddddd → GNU 13.1.0 000000000000"}},
		"another build of LLVM": {was, was.with(lines{"llvm": "22.1.8 " + strings.Repeat("0", 64)}),
			"the machine's LLVM changed", []string{"the machine's LLVM: 22.1.8 eeeeeeeeeeee → 22.1.8 000000000000"}},
		"another program": {was, was.with(lines{"tool.cmake": strings.Repeat("0", 64)}),
			"the program cmake changed", []string{"the program cmake: ffffffffffff → 000000000000"}},
		"a release": {was, was.with(lines{"version": "1.1.0", "source.0.id": "git " + strings.Repeat("b", 40)}),
			"version 1.0.0 → 1.1.0, and 1 more", []string{"version: 1.0.0 → 1.1.0", "source pebble: sha256 aaaaaaaaaaaa → git bbbbbbbbbbbb"}},
		"a need more": {was, was.with(lines{"dep.zstd": content("z"), "step.00-configure.toolchain.000": "set(B)"}),
			"it needs zstd now", []string{"dependency zstd: added " + "sha256:" + content("z")[7:][:12]}},
		"a need less": {was.with(lines{"dep.gone": content("z")}), was,
			"it needs gone no more", []string{"dependency gone: removed, was " + "sha256:" + content("z")[7:][:12]}},
		"an empty value": {was, was.with(lines{"step.00-configure.defines.NAME": ""}),
			"defines.NAME of step configure changed", []string{`step configure, defines.NAME: app → ""`}},
		"a line that stonemason does not write": {was, was.with(lines{"weird": "\x1b[31mred"}),
			"weird added", []string{`weird: added "\x1b[31mred"`}},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{}
			w.built("app", 1, c.old, "one")
			n := w.plan("app", c.fresh, nil)
			n.Sources = []string{"pebble"}
			if c.fresh["dep.zstd"] != "" {
				zstd := w.built("zstd", 0, base("zstd"), "z")
				w.nodes = append([]Node{{ID: "zstd@linux", Component: "zstd", Host: "linux", Key: zstd.Key, Result: &zstd}}, w.nodes...)
				w.nodes[1].Needs = []string{"zstd@linux"}
			}
			v := Explain(w.nodes, w.history)["app@linux"]
			if v.State != Changed || v.Reason() != c.reason {
				t.Errorf("%s: %q, want %q", v.State, v.Reason(), c.reason)
			}
			var got []string
			for _, change := range v.Changes {
				got = append(got, change.String())
			}
			if !slices.Equal(got, c.lines) {
				t.Errorf("got  %q\nwant %q", got, c.lines)
			}
		})
	}
}

// A key of another salt says nothing that can be compared.
func TestAnotherSalt(t *testing.T) {
	w := &world{}
	r := w.built("app", 1, base("app"), "one")
	r.Key.Text = strings.Replace(r.Key.Text, key.Salt, "stonemason/0", 1)
	r.Key.ID = "0"
	w.past["app"][0] = r
	w.plan("app", base("app").with(lines{"version": "2"}), nil)
	v := Explain(w.nodes, w.history)["app@linux"]
	if len(v.Changes) != 1 || v.Changes[0].String() != "stonemason's keys: stonemason/0 → "+key.Salt {
		t.Errorf("changes are %v", v.Changes)
	}
}

// The nearest result is the one with the fewest differing lines, then the
// newest; those of other hosts are not looked at.
func TestNearest(t *testing.T) {
	w := &world{}
	l := base("app")
	w.built("app", 9, l.with(lines{"version": "7", "recipe": "x"}), "far and new")
	want := w.built("app", 3, l.with(lines{"version": "3"}), "near")
	w.built("app", 2, l.with(lines{"version": "2"}), "near and old")
	w.built("app", 8, l.with(lines{"host": "mac"}), "of another host")
	w.plan("app", l, nil)
	v := Explain(w.nodes, w.history)["app@linux"]
	if v.Nearest == nil || v.Nearest.Content != want.Content {
		t.Errorf("nearest is %+v", v.Nearest)
	}
}

// text is the whole answer for a node, as a person reads it.
func (w *world) text(t *testing.T, id string) string {
	t.Helper()
	var b strings.Builder
	if err := Explain(w.nodes, w.history)[id].WriteText(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func same(t *testing.T, got, want string) {
	t.Helper()
	if got = strings.TrimSpace(got); got != strings.TrimSpace(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, strings.TrimSpace(want))
	}
}

// A chain of three: the patch of base changed, so lib waits for base, and app
// for lib.
func TestCauseAndCascade(t *testing.T) {
	w := &world{}
	b := w.built("base", 0, base("base"), "b")
	lib := base("lib").with(lines{"dep.base": b.Content})
	l := w.built("lib", 1, lib, "l")
	app := base("app").with(lines{"dep.lib": l.Content})
	w.built("app", 2, app, "a")

	w.plan("base", base("base").with(lines{"patch.0001-one.patch": strings.Repeat("2", 64)}), nil)
	w.plan("lib", base("lib"), nil, "base").Open = []string{"base@linux"}
	w.plan("app", base("app"), nil, "lib").Open = []string{"lib@linux"}
	all := Explain(w.nodes, w.history)
	for id, want := range map[string]string{"base@linux": "changed: patch 0001-one.patch changed", "lib@linux": "waiting: because of base", "app@linux": "waiting: because of base"} {
		if v := all[id]; string(v.State)+": "+v.Reason() != want {
			t.Errorf("%s: %s: %s, want %s", id, v.State, v.Reason(), want)
		}
	}
	same(t, w.text(t, "app@linux"), `
app@linux: perhaps to be built again, because of base
  nearest  `+short(string(app.key().ID))+`, content 616161616161, built 2026-07-03 09:00:00 UTC
  cascade, what it needs:
    lib  must be built first; if it gives the same bytes, nothing changes by it
  It is looked at again once lib is built; with the same bytes it stays as it is.
  chain:
    app ← lib ← base ← patch 0001-one.patch changed`)
}

// What changed and what follows stand apart, and a need that is there already
// with another content is explained by the results of its own past.
func TestContentCascade(t *testing.T) {
	w := &world{}
	was := w.built("base", 0, base("base"), "b")
	edited := base("base").with(lines{"source.0.id": "workspace " + content("x")})
	is := w.built("base", 5, edited, "c")
	lib := base("lib").with(lines{"dep.base": was.Content})
	w.built("lib", 1, lib, "l")

	w.plan("base", edited, &is).Sources = []string{"workspace src"}
	fresh := lib.with(lines{"dep.base": is.Content, "step.00-configure.defines.NAME": "other"})
	w.plan("lib", fresh, nil, "base")
	same(t, w.text(t, "lib@linux"), `
lib@linux: to be built again: defines.NAME of step configure changed
  key      `+string(fresh.key().ID)+`
  nearest  `+short(string(lib.key().ID))+`, content 6c6c6c6c6c6c, built 2026-07-02 09:00:00 UTC
  cause, inputs of its own:
    step configure, defines.NAME  app → other
  cascade, what it needs:
    base  content 626262626262 → 636363636363
  chain:
    lib ← base ← workspace src changed`)

	w.nodes[1].Key = lib.with(lines{"dep.base": is.Content}).key()
	if v := Explain(w.nodes, w.history)["lib@linux"]; v.State != Cascade || v.Reason() != "because of base" {
		t.Errorf("%s: %s", v.State, v.Reason())
	}
	// Without a record of the earlier build, and with the same key: both are said.
	w.past["base"] = []Result{is}
	if v := Explain(w.nodes, w.history)["lib@linux"]; len(v.Chains) != 1 || !strings.Contains(v.Chains[0].Cause, "not recorded") {
		t.Errorf("chains are %v", v.Chains)
	}
	same2 := is
	same2.Content = was.Content
	w.past["base"] = []Result{is, same2}
	if v := Explain(w.nodes, w.history)["lib@linux"]; len(v.Chains) != 1 || !strings.Contains(v.Chains[0].Cause, "not reproducible") {
		t.Errorf("chains are %v", v.Chains)
	}
}

func TestStatesWithoutDifferences(t *testing.T) {
	w := &world{}
	r := w.built("here", 1, base("here"), "h")
	w.built("lost", 1, base("lost"), "h")
	w.plan("here", base("here"), &r)
	w.plan("lost", base("lost"), nil)
	w.plan("first", base("first"), nil)
	w.plan("stuck", base("stuck"), nil).Problem = "stuck@linux needs a C and a C++ compiler"
	w.plan("behind", base("behind"), nil, "lost").Open = []string{"lost@linux"}
	w.built("behind", 0, base("behind").with(lines{"dep.lost": content("h")}), "x")
	same(t, w.text(t, "here@linux"), `
here@linux: up to date
  key      `+string(base("here").key().ID)+`
  content  `+content("h")+`
  built    2026-07-02 09:00:00 UTC, in 12.3s`)
	same(t, w.text(t, "lost@linux"), `
lost@linux: to be built again: nothing changed, but its result is gone from the store
  key      `+string(base("lost").key().ID)+`
  nearest  `+short(string(base("lost").key().ID))+`, content 686868686868, built 2026-07-02 09:00:00 UTC`)
	same(t, w.text(t, "first@linux"), `
first@linux: new: it was never built for linux, or the store has forgotten it
  key      `+string(base("first").key().ID))
	same(t, w.text(t, "stuck@linux"), `stuck@linux: cannot be said yet: stuck@linux needs a C and a C++ compiler`)
	if v := Explain(w.nodes, w.history)["behind@linux"]; v.State != Waiting || v.Chains[0].String() != "behind ← lost ← its result is gone from the store" {
		t.Errorf("%s, %v", v.State, v.Chains)
	}
}

// The causes of a wide graph are bounded, and each is told by a shortest way.
func TestChainsAreFewAndShort(t *testing.T) {
	w := &world{}
	const layers, width = 12, 12
	name := func(layer, i int) string { return fmt.Sprintf("n%d-%d", layer, i) }
	for layer := range layers {
		for i := range width {
			l := base(name(layer, i))
			var needs []string
			then := l
			for d := 0; layer > 0 && d < width; d++ {
				needs = append(needs, name(layer-1, d))
				then = then.with(lines{"dep." + name(layer-1, d): content("x")})
			}
			w.built(name(layer, i), 0, then, "x")
			n := w.plan(name(layer, i), l, nil, needs...)
			if layer == 0 {
				n.Key = l.with(lines{"version": "2.0.0"}).key()
			}
			n.Open = n.Needs
		}
	}
	v := Explain(w.nodes, w.history)[name(layers-1, 0)+"@linux"]
	if len(v.Chains) != MaxChains {
		t.Fatalf("%d chains", len(v.Chains))
	}
	for _, c := range v.Chains {
		if len(c.Nodes) != layers || !strings.HasPrefix(c.Nodes[layers-1], "n0-") || c.Cause != "version 1.0.0 → 2.0.0" {
			t.Errorf("chain %s", c)
		}
	}
	if v.Reason() != "because of n0-0 and 7 others" {
		t.Errorf("reason %q", v.Reason())
	}
}

func TestShorten(t *testing.T) {
	long := strings.Repeat("a", 100)
	for _, c := range []struct{ a, b, wantA, wantB string }{
		{"x", "y", "x", "y"},
		{strings.Repeat("1", 64), strings.Repeat("2", 64), strings.Repeat("1", 12), strings.Repeat("2", 12)},
		// Hashes that agree in what would be shown are shown whole.
		{strings.Repeat("1", 40), strings.Repeat("1", 39) + "2", strings.Repeat("1", 40), strings.Repeat("1", 39) + "2"},
		{long + "x" + long, long + "y" + long, "…" + strings.Repeat("a", 20) + "x" + strings.Repeat("a", 39) + "…", "…" + strings.Repeat("a", 20) + "y" + strings.Repeat("a", 39) + "…"},
		{"", long, "", strings.Repeat("a", 60) + "…"},
		{"\x1b[2Jx", "über", "\ufffd[2Jx", "über"},
	} {
		if a, b := shorten(c.a, c.b); a != c.wantA || b != c.wantB {
			t.Errorf("shorten(%q, %q)\n= %q\n  %q", c.a, c.b, a, b)
		}
	}
}

// Whatever a store's files say: no panic, and no key that differs without a
// change that says so.
func FuzzChanges(f *testing.F) {
	f.Add("step.00-a.uses=x\nstep.00-a.l.000=1\n", "step.01-a.uses=x\nstep.01-a.l.000=2\n")
	f.Add("a=[]\n", "a.000=x\n")
	f.Add("a={}\n", "a.b=x\n")
	f.Add("step.00-a.x=1\nstep.01-a.x=2\n", "step.00-a.x=2\nstep.01-a.x=1\n")
	f.Add("a.000=x\na.0000=y\n", "a.000=y\na.0000=x\n")
	f.Fuzz(func(t *testing.T, a, b string) {
		old := Result{Key: key.Key{ID: "a", Text: key.Salt + "\n" + a}}
		n := Node{ID: "x@y", Component: "x", Host: "y", Key: key.Key{ID: "b", Text: key.Salt + "\n" + b}}
		v := Explain([]Node{n}, func(string, string) []Result { return []Result{old} })["x@y"]
		if differ := len(key.Diff(old.Key.Text, n.Key.Text)) > 0; differ && len(v.Changes) == 0 {
			t.Errorf("no change between %q and %q", a, b)
		}
		var out strings.Builder
		if err := v.WriteText(&out); err != nil || strings.ContainsAny(out.String(), "\x1b\x00") {
			t.Errorf("%v: %q", err, out.String())
		}
	})
}
