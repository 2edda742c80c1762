package api

import (
	"fmt"
	"slices"
	"strings"
)

// CompareFacts says what is known otherwise of two versions of a library, or of one
// after its annotations have changed, that no application notices and a protocol
// does: directions, lengths, streams, states, lifetimes. One line each, sorted. What
// is in one of them alone, and parameters and fields of another type, are left to
// [Compare].
func CompareFacts(older, newer *Library) []string {
	var out []string
	// Both lists are of keys and values in turns.
	differ := func(what string, old, now []string) {
		for i := 0; i < len(now); i += 2 {
			if old[i+1] != now[i+1] {
				out = append(out, fmt.Sprintf("%s: %s is %s, and was %s", what, now[i], orNone(now[i+1]), orNone(old[i+1])))
			}
		}
	}
	meaning := func(what string, old, now Type, m, n *Meaning) {
		if old.Equal(now) {
			differ(what, m.pairs(), n.pairs())
		}
	}
	params := func(what string, old, now []Param) {
		for i := range old {
			if j := slices.IndexFunc(now, func(p Param) bool { return p.Name == old[i].Name }); j >= 0 {
				meaning(what+", "+old[i].Name, old[i].Type, now[j].Type, &old[i].Meaning, &now[j].Meaning)
			}
		}
	}
	differ("library", []string{"thread", threadText(older), "remembered", older.Status.Remembered}, []string{"thread", threadText(newer), "remembered", newer.Status.Remembered})
	both(older.Functions, newer.Functions, func(name string, f, g *Function) {
		if f != nil && g != nil {
			differ(name, f.facts(), g.facts())
			params(name, f.Params, g.Params)
		}
	})
	both(older.Callbacks, newer.Callbacks, func(name string, b, c *Callback) {
		if b != nil && c != nil {
			params(name, b.Params, c.Params)
		}
	})
	both(older.Handles, newer.Handles, func(name string, h, i *Handle) {
		if h != nil && i != nil {
			differ(name, h.facts(), i.facts())
		}
	})
	both(older.Memory, newer.Memory, func(name string, m, n *Memory) {
		var none Memory
		if m == nil {
			m = &none
		} else if n == nil {
			n = &none
		}
		differ("memory "+name, m.facts(), n.facts())
	})
	both(older.Records, newer.Records, func(name string, r, s *Record) {
		if r == nil || s == nil {
			return
		}
		differ(name, []string{"by", r.By, "passed", flag(r.Passed)}, []string{"by", s.By, "passed", flag(s.Passed)})
		for i := range r.Fields {
			f := &r.Fields[i]
			if j := slices.IndexFunc(s.Fields, func(g Field) bool { return g.Name == f.Name && g.Offset == f.Offset }); j >= 0 {
				g := &s.Fields[j]
				meaning(name+", "+fieldName(f), f.Type, g.Type, &f.Meaning, &g.Meaning)
				differ(name+", "+fieldName(f), []string{"when", flow(f.When)}, []string{"when", flow(g.When)})
			}
		}
	})
	slices.SortFunc(out, strings.Compare)
	return out
}

func threadText(l *Library) string {
	return table(l.Thread, func(t Type) string { return text(t.String()) })
}
