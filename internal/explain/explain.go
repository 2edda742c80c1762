// Package explain says why a build would build what it builds: which inputs
// differ from those of the nearest earlier result, which of them are causes
// and which only follow from something that is needed.
//
// It works on keys, on the results that the store remembers and on the edges
// of the graph. It reads nothing and asks nobody, so that a plan, a running
// build and a report tell the same story.
package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stonemason-hip/stonemason/internal/key"
)

// Node is a node of the graph as far as its key is known.
type Node struct {
	ID, Component, Host string
	// Needs are the IDs of the nodes whose contents are in the key, in lines
	// named dep.<component>.
	Needs []string
	// Open are those of Needs whose contents are not known yet: they must be
	// built first. The key has no line for them.
	Open []string
	// Key holds every line that is known; it is final when Open is empty. A node
	// without history may leave its text out.
	Key key.Key
	// Problem says why there is no key at all: a tool is missing, say.
	Problem string
	// Result is what the store has under the key, or nil.
	Result *Result
	// Sources are the names of the sources, in the order of the key.
	Sources []string
}

// Result is an earlier result of a component for a host.
type Result struct {
	Key     key.Key
	Content string // "sha256:" and 64 hex digits
	Created time.Time
	Seconds float64 // wall time of the build that made it
}

// History gives the earlier results of a component for a host, in any order.
type History func(component, host string) []Result

// State is what a build would do with a node, and the kind of its reason.
type State string

// The states.
const (
	// UpToDate: the store has the result.
	UpToDate State = "up-to-date"
	// New: it was never built for this host.
	New State = "new"
	// Gone: the key is one that was built, and the store has lost the result.
	Gone State = "gone"
	// Changed: an input of its own changed; it is a cause.
	Changed State = "changed"
	// Cascade: something that it needs has another content than it was built
	// with, and nothing of its own changed.
	Cascade State = "cascade"
	// Waiting: something that it needs must be built first, and all else is as
	// it was. If that gives the same bytes as before, nothing is to be done.
	Waiting State = "waiting"
	// Unknown: the key cannot be computed.
	Unknown State = "unknown"
)

// Verdict explains one node.
type Verdict struct {
	ID        string `json:"id"`
	Component string `json:"component"`
	Host      string `json:"host"`
	State     State  `json:"state"`
	// Why is one line: empty for what is up to date. See [Verdict.Reason].
	Why string `json:"reason,omitempty"`
	// Key is the identity of the key, empty as long as it is not final.
	Key string `json:"key,omitempty"`
	// Content, Built and Seconds describe the result that the store has.
	Content string     `json:"content,omitempty"`
	Built   *time.Time `json:"built,omitempty"`
	Seconds float64    `json:"seconds,omitempty"`
	// Problem says why the state is unknown.
	Problem string `json:"problem,omitempty"`
	// Nearest is the earlier result that Changes and Needs are told against:
	// the one with the fewest differing lines, and of several the newest.
	Nearest *Earlier `json:"nearest,omitempty"`
	// Changes are the inputs of its own that changed, the weightiest first.
	Changes []Change `json:"changes,omitempty"`
	// Needs are what it needs and what will be, or already is, another.
	Needs []Need `json:"needs,omitempty"`
	// Chains lead from this node to the causes outside of it, the nearest
	// first and at most [MaxChains].
	Chains []Chain `json:"chains,omitempty"`
}

// Earlier identifies an earlier result.
type Earlier struct {
	Key     string    `json:"key"`
	Content string    `json:"content"`
	Built   time.Time `json:"built"`
}

// Need is a needed node that makes, or may make, a node be built again.
type Need struct {
	ID        string `json:"id"`
	Component string `json:"component"`
	// First: it must be built first, so that New is not known.
	First bool `json:"first,omitempty"`
	// Old and New are the contents; Old is empty when there was none.
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
}

// Chain is a way from a node to a cause: the node itself, what it needs, what
// that needs, … and at last what changed there.
type Chain struct {
	Nodes []string `json:"nodes"`
	Cause string   `json:"cause"`
}

// String writes the chain in one line for people.
func (c Chain) String() string {
	parts := make([]string, 0, len(c.Nodes)+1)
	for _, id := range c.Nodes {
		name, _, _ := strings.Cut(id, "@")
		parts = append(parts, name)
	}
	return strings.Join(append(parts, c.Cause), " ← ")
}

// MaxChains bounds the chains of a verdict: a change at the root of a large
// graph has as many as it has nodes.
const MaxChains = 8

// Reason is the verdict in a few words, for a row of a table: "patch
// 0002-x.patch changed", "because of amd-llvm", "new"; empty when there is
// nothing to do.
func (v Verdict) Reason() string { return v.Why }

// Attrs are the verdict for an event log: state, reason, and change.000,
// change.001, … with what changed.
func (v Verdict) Attrs() map[string]string {
	attrs := map[string]string{"state": string(v.State)}
	if v.Why != "" {
		attrs["reason"] = v.Why
	}
	var lines []string
	for _, c := range v.Changes {
		lines = append(lines, c.String())
	}
	for _, n := range v.Needs {
		lines = append(lines, n.String())
	}
	for i, line := range lines {
		attrs[fmt.Sprintf("change.%03d", i)] = line
	}
	return attrs
}

// String names the need, and what changed in it: "x: old → new", with what is
// long cut short, or "x: built first".
func (n Need) String() string {
	if n.First {
		return n.Component + ": built first"
	}
	old, fresh := shorten(n.Old, n.New)
	return n.Component + ": " + orNone(old) + " → " + fresh
}

// Explain explains all nodes, which stand in an order in which each comes
// after those it needs. The result is by ID.
func Explain(nodes []Node, history History) map[string]Verdict {
	e := &explainer{nodes: make(map[string]*Node, len(nodes)), verdicts: make(map[string]*Verdict, len(nodes)), past: map[string][]past{}, history: history}
	for i := range nodes {
		e.nodes[nodes[i].ID] = &nodes[i]
	}
	for i := range nodes {
		e.verdicts[nodes[i].ID] = e.verdict(&nodes[i])
	}
	out := make(map[string]Verdict, len(nodes))
	for i := range nodes {
		v := e.verdicts[nodes[i].ID]
		v.Chains = e.chains(v)
		v.Why = v.reason()
		out[v.ID] = *v
	}
	return out
}

type explainer struct {
	nodes    map[string]*Node
	verdicts map[string]*Verdict
	past     map[string][]past // by node ID
	history  History
}

// past is an earlier result with its lines.
type past struct {
	Result
	lines map[string]string
}

func (e *explainer) earlier(n *Node) []past {
	if known, ok := e.past[n.ID]; ok {
		return known
	}
	var all []past
	for _, r := range e.history(n.Component, n.Host) {
		all = append(all, past{r, key.Parse(r.Key.Text)})
	}
	e.past[n.ID] = all
	return all
}

func (e *explainer) verdict(n *Node) *Verdict {
	v := &Verdict{ID: n.ID, Component: n.Component, Host: n.Host}
	switch {
	case n.Problem != "":
		v.State, v.Problem = Unknown, n.Problem
		return v
	case len(n.Open) == 0:
		v.Key = string(n.Key.ID)
	}
	if n.Result != nil {
		built := n.Result.Created
		v.State, v.Content, v.Built, v.Seconds = UpToDate, n.Result.Content, &built, n.Result.Seconds
		return v
	}
	earlier := e.earlier(n)
	if len(earlier) == 0 {
		v.State = New
		return v
	}
	// A need that must be built first has no line yet, so its old line says
	// nothing.
	open := map[string]bool{}
	for _, id := range n.Open {
		if d := e.nodes[id]; d != nil {
			open["dep."+d.Component] = true
		}
	}
	lines := key.Parse(n.Key.Text)
	near := nearest(earlier, lines, open)
	v.Nearest = &Earlier{Key: string(near.Key.ID), Content: near.Content, Built: near.Created}
	if len(n.Open) == 0 && near.Key.ID == n.Key.ID {
		v.State = Gone
		return v
	}
	v.Changes = changes(near.lines, lines, n)
	for _, id := range n.Needs {
		d := e.nodes[id]
		if d == nil {
			continue
		}
		old, had := near.lines["dep."+d.Component]
		need := Need{ID: id, Component: d.Component, Old: old, New: lines["dep."+d.Component], First: slices.Contains(n.Open, id)}
		switch {
		case !had: // that it is needed at all is the change
			v.Changes = append(v.Changes, Change{Input: Dependency, Name: d.Component, New: need.New, Has: true})
		case need.First || need.Old != need.New:
			v.Needs = append(v.Needs, need)
		}
	}
	if len(v.Changes) == 0 && len(v.Needs) == 0 && len(n.Open) == 0 {
		// Lines that no stonemason writes: they are told as they stand.
		for _, d := range key.Diff(near.Key.Text, n.Key.Text) {
			v.Changes = append(v.Changes, Change{Input: Other, Name: d.Name, Old: d.Old, New: d.New, Had: d.Had, Has: d.Has})
		}
	}
	v.Changes = told(v.Changes)
	firsts := 0
	for _, d := range v.Needs {
		if d.First {
			firsts++
		}
	}
	switch {
	case len(v.Changes) > 0:
		v.State = Changed
	case len(v.Needs) > firsts:
		v.State = Cascade
	default:
		v.State = Waiting
	}
	return v
}

// nearest finds the earlier result with the fewest lines that differ, those of
// ignored names apart; of several the newest.
func nearest(all []past, lines map[string]string, ignored map[string]bool) *past {
	best, fewest := -1, 0
	for i, p := range all {
		differ := 0
		for name, was := range p.lines {
			if is, ok := lines[name]; (!ok || is != was) && !ignored[name] {
				differ++
			}
		}
		for name := range lines {
			if _, ok := p.lines[name]; !ok {
				differ++
			}
		}
		if best < 0 || differ < fewest || differ == fewest && p.Created.After(all[best].Created) {
			best, fewest = i, differ
		}
	}
	if best < 0 {
		return nil
	}
	return &all[best]
}

// step is a place on the way from a node to causes: a needed node, and the
// content that it had then, or "" when it is to be built again.
type step struct {
	id, was string
}

// chains looks for causes behind what a node needs, the nearest first.
func (e *explainer) chains(v *Verdict) []Chain {
	type place struct {
		step
		trail []string
	}
	var queue []place
	seen := map[step]bool{}
	push := func(trail []string, needs []Need) {
		for _, n := range needs {
			s := step{id: n.ID}
			if !n.First {
				s.was = n.Old
			}
			if !seen[s] {
				seen[s] = true
				queue = append(queue, place{s, append(slices.Clone(trail), n.ID)})
			}
		}
	}
	push([]string{v.ID}, v.Needs)
	var found []Chain
	for len(queue) > 0 && len(found) < MaxChains {
		p := queue[0]
		queue = queue[1:]
		cause, needs := e.behind(p.step)
		if cause != "" {
			found = append(found, Chain{Nodes: p.trail, Cause: cause})
		}
		push(p.trail, needs)
	}
	return found
}

// behind says what changed at a place itself, if anything, and what else is
// behind it.
func (e *explainer) behind(s step) (cause string, needs []Need) {
	v, n := e.verdicts[s.id], e.nodes[s.id]
	if v == nil {
		return "it is not in the plan", nil
	}
	if v.State != UpToDate || s.was == "" {
		switch v.State {
		case Cascade, Waiting:
			return "", v.Needs
		case Changed:
			return phrases(v.Changes), v.Needs
		}
		return v.reason(), nil
	}
	// It is there already, with another content than before: what made the
	// difference stands between the key of that time and today's.
	var then []past
	for _, p := range e.earlier(n) {
		if p.Content == s.was {
			then = append(then, p)
		}
	}
	lines := key.Parse(n.Key.Text)
	near := nearest(then, lines, nil)
	if near == nil {
		return "another content than before, by a build that is not recorded", nil
	}
	own := changes(near.lines, lines, n)
	for _, id := range n.Needs {
		if d := e.nodes[id]; d != nil {
			if old, had := near.lines["dep."+d.Component]; had && old != lines["dep."+d.Component] {
				needs = append(needs, Need{ID: id, Component: d.Component, Old: old, New: lines["dep."+d.Component]})
			}
		}
	}
	own = told(own)
	if len(own) == 0 && len(needs) == 0 {
		return "another content by the same key: its build is not reproducible", nil
	}
	return phrases(own), needs
}

// reason is the verdict in a few words.
func (v *Verdict) reason() string {
	switch v.State {
	case UpToDate:
		return ""
	case New:
		return "new"
	case Gone:
		return "its result is gone from the store"
	case Unknown:
		return v.Problem
	case Changed:
		return phrases(v.Changes)
	}
	// The causes say more than what lies between.
	var names []string
	for _, c := range v.Chains {
		name, _, _ := strings.Cut(c.Nodes[len(c.Nodes)-1], "@")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		for _, n := range v.Needs {
			names = append(names, n.Component)
		}
	}
	return "because of " + some(names)
}

// some joins the first names and counts the others.
func some(names []string) string {
	if len(names) > 2 {
		return fmt.Sprintf("%s and %d others", names[0], len(names)-1)
	}
	return strings.Join(names, ", ")
}

// phrases is the first change in a few words, and how many there are besides.
func phrases(all []Change) string {
	switch len(all) {
	case 0:
		return ""
	case 1:
		return all[0].Phrase()
	}
	return fmt.Sprintf("%s, and %d more", all[0].Phrase(), len(all)-1)
}

// told are the changes that are worth telling, the weightiest first.
func told(all []Change) []Change {
	all = withoutDerived(all)
	slices.SortStableFunc(all, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Input.rank(), b.Input.rank()), cmp.Compare(a.Step, b.Step), cmp.Compare(a.Name, b.Name))
	})
	return all
}
