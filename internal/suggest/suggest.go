// Package suggest finds the spelling a person probably meant.
package suggest

import (
	"strconv"
	"strings"
	"unicode"
)

// maxRunes bounds the length of the words that are compared: the cost of one
// comparison grows with the product of both lengths, and nobody mistypes a
// name of this length in a way that a guess repairs.
const maxRunes = 100

// Nearest returns the candidate that word most likely misspells, and false
// when none is close enough.
//
// Distance is the number of edits (insert, delete, replace, swap two
// neighbours) between the words with case ignored. A candidate is close enough
// within a third of the word's length and at least one edit, which is the
// compiler writers' usual allowance (rustc uses the same third). Ties go to
// the candidate that also agrees in case, then to the first in byte order, so
// the answer does not depend on the order of the candidates. A word that is
// itself a candidate is returned as it stands.
func Nearest(word string, candidates []string) (string, bool) {
	folded := fold(word)
	if len(folded) == 0 || len(folded) > maxRunes {
		return "", false
	}
	limit := max(len(folded)/3, 1)

	type match struct {
		name         string
		edits, cased int
	}
	var best match
	found := false
	for _, name := range candidates {
		other := fold(name)
		if len(other) == 0 || len(other) > len(folded)+limit || len(other) < len(folded)-limit {
			continue
		}
		edits := distance(folded, other)
		// Replacing every letter of a short word is not a misspelling of it.
		if edits > limit || edits >= max(len(folded), len(other)) {
			continue
		}
		m := match{name: name, edits: edits, cased: distance([]rune(word), []rune(name))}
		if !found || m.edits < best.edits ||
			m.edits == best.edits && (m.cased < best.cased || m.cased == best.cased && m.name < best.name) {
			best, found = m, true
		}
	}
	return best.name, found
}

// List joins names for a message: quoted, in the given order, at most limit of
// them, with the number of those left out.
func List(names []string, limit int) string {
	shown := names
	if limit > 0 && len(shown) > limit {
		shown = shown[:limit]
	}
	var b strings.Builder
	for i, n := range shown {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(`"` + n + `"`)
	}
	if rest := len(names) - len(shown); rest > 0 {
		b.WriteString(" and " + strconv.Itoa(rest) + " more")
	}
	return b.String()
}

func fold(s string) []rune {
	if len(s) > 4*(maxRunes*2) {
		s = s[:4*(maxRunes*2)]
	}
	r := []rune(s)
	for i := range r {
		r[i] = unicode.ToLower(r[i])
	}
	return r
}

// distance is the Damerau-Levenshtein distance in its restricted form (optimal
// string alignment: no part is edited twice), in three rows.
func distance(a, b []rune) int {
	before := make([]int, len(b)+1)
	last := make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
