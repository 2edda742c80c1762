package explain

import (
	"maps"
	"slices"
	"strings"
)

// difference is an element of a list that was added (old is nil), removed
// (fresh is nil) or replaced. An element maps fields to values; that of a list
// of words has the one field "".
type difference struct {
	index      int
	old, fresh map[string]string
}

// maxTable bounds the work of aligning two lists: longer ones are compared
// place by place.
const maxTable = 1 << 20

// align finds the fewest elements in which two lists differ (their longest
// common subsequence stays). What was removed and added at the same place is
// one replacement.
func align(a, b map[int]map[string]string) []difference {
	x, y := elements(a), elements(b)
	var out []difference
	var gone, come []map[string]string
	at := 0
	flush := func() {
		for i := range max(len(gone), len(come)) {
			d := difference{index: at + i}
			if i < len(gone) {
				d.old = gone[i]
			}
			if i < len(come) {
				d.fresh = come[i]
			}
			out = append(out, d)
		}
		gone, come = nil, nil
	}
	keep := common(x, y)
	i, j := 0, 0
	for _, k := range append(keep, [2]int{len(x), len(y)}) {
		at = j
		gone, come = x[i:k[0]], y[j:k[1]]
		flush()
		i, j = k[0]+1, k[1]+1
	}
	return out
}

// common is the longest common subsequence, as pairs of places.
func common(x, y []map[string]string) (pairs [][2]int) {
	if len(x)*len(y) > maxTable {
		for i := range min(len(x), len(y)) {
			if maps.Equal(x[i], y[i]) {
				pairs = append(pairs, [2]int{i, i})
			}
		}
		return pairs
	}
	length := make([][]int, len(x)+1)
	for i := range length {
		length[i] = make([]int, len(y)+1)
	}
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if maps.Equal(x[i], y[j]) {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(x) && j < len(y); {
		switch {
		case maps.Equal(x[i], y[j]):
			pairs = append(pairs, [2]int{i, j})
			i, j = i+1, j+1
		case length[i+1][j] >= length[i][j+1]:
			i++
		default:
			j++
		}
	}
	return pairs
}

func elements(list map[int]map[string]string) []map[string]string {
	var out []map[string]string
	for _, i := range slices.Sorted(maps.Keys(list)) {
		out = append(out, list[i])
	}
	return out
}

// text is an element on one line.
func text(element map[string]string) string {
	if word, ok := element[""]; ok && len(element) == 1 {
		return word
	}
	var parts []string
	for _, field := range slices.Sorted(maps.Keys(element)) {
		parts = append(parts, field+"="+element[field])
	}
	return strings.Join(parts, ", ")
}
