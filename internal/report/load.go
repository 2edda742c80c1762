package report

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// point says how many commands run from a time on.
type point struct {
	at time.Duration
	n  int
}

// load is how many commands ran at once over time: ninja's edges and the steps
// that had none.
func (r *Report) load() []point {
	var turns []point
	add := func(start, end time.Duration) {
		if end > start {
			turns = append(turns, point{start, 1}, point{end, -1})
		}
	}
	for _, n := range r.Nodes {
		for _, s := range n.Steps {
			if len(s.Edges) == 0 {
				add(s.Start, s.End)
			}
			for _, e := range s.Edges {
				add(e.Start, e.End)
			}
		}
	}
	slices.SortFunc(turns, func(a, b point) int { return cmp.Compare(a.at, b.at) })
	var out []point
	sum := 0
	for i, t := range turns {
		sum += t.n
		if i+1 == len(turns) || turns[i+1].at > t.at {
			out = append(out, point{t.at, sum})
		}
	}
	return out
}

func itoa(n int) string { return strconv.Itoa(n) }
