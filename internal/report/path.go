package report

import (
	"slices"
	"time"
)

// prompt is the time within which a node begins once nothing holds it back:
// its key is made and the store is asked, and a loaded machine is slow at it.
const prompt = 100 * time.Millisecond

// criticalPath finds the chain of nodes that bounded the wall time, from its
// end backwards: what ended last, what that waited for, and so on. A node that
// began as soon as what it needs was there waited for the need that ended
// last; one that began later waited for jobs, and who ended just before it
// began had them.
func (r *Report) criticalPath() {
	var ran []*Node
	for _, n := range r.Nodes {
		if n.ran {
			ran = append(ran, n)
		}
	}
	r.Needs = longest(r, ran)
	if len(ran) == 0 {
		return
	}
	begin := ran[0].Start
	last := ran[0]
	for _, n := range ran {
		begin = min(begin, n.Start)
		if n.End > last.End {
			last = n
		}
	}
	seen := map[*Node]bool{}
	for n := last; n != nil && !seen[n]; {
		seen[n] = true
		need := latest(r.needsOf(n), n, seen)
		ready := begin
		if need != nil {
			ready = need.End
		}
		l := Link{Node: n.ID, For: ForBeginning, Idle: n.Start, Start: n.Start, Duration: n.Duration()}
		on := need
		if on != nil {
			l.For = ForNeed
		}
		if n.Start-ready > prompt {
			if other := latest(ran, n, seen); other != nil && other != need {
				on, l.For = other, ForJobs
			}
		}
		if on != nil {
			l.On, l.Idle = on.ID, max(0, n.Start-on.End)
		}
		for _, s := range n.Steps {
			if s.Duration() > l.LongestTook {
				l.Longest, l.LongestTook = s.Name, s.Duration()
			}
		}
		r.Path = append(r.Path, l)
		n = on
	}
	slices.Reverse(r.Path)
}

func (r *Report) needsOf(n *Node) []*Node {
	var out []*Node
	for _, id := range n.Needs {
		if need := r.byID[id]; need != nil && need.ran {
			out = append(out, need)
		}
	}
	return out
}

// latest is the one of some nodes that ended last before n began.
func latest(of []*Node, n *Node, seen map[*Node]bool) *Node {
	var found *Node
	for _, o := range of {
		if o == n || seen[o] || o.End > n.Start+time.Millisecond {
			continue
		}
		if found == nil || o.End > found.End {
			found = o
		}
	}
	return found
}

// longest is the length of the longest chain of needs. A cycle, which only a
// forged log can hold, counts once.
func longest(r *Report, ran []*Node) time.Duration {
	memo := map[*Node]time.Duration{}
	open := map[*Node]bool{}
	var length func(n *Node) time.Duration
	length = func(n *Node) time.Duration {
		if d, ok := memo[n]; ok || open[n] {
			return d
		}
		open[n] = true
		var before time.Duration
		for _, need := range r.needsOf(n) {
			before = max(before, length(need))
		}
		open[n] = false
		memo[n] = before + n.Duration()
		return memo[n]
	}
	var most time.Duration
	for _, n := range ran {
		most = max(most, length(n))
	}
	return most
}
