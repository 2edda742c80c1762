package sbom

import (
	"regexp"
	"strings"
)

var spdxID = regexp.MustCompile(`^(DocumentRef-[A-Za-z0-9.-]+:)?[A-Za-z0-9.-]+\+?$`)

// isSPDX reports whether s has the form of an SPDX license expression (SPDX
// 2.3, annex D). Whether the identifiers are on SPDX's list it does not tell.
func isSPDX(s string) bool {
	p := spdxParser{strings.Fields(strings.NewReplacer("(", " ( ", ")", " ) ").Replace(s))}
	return len(p.words) <= 1000 && p.compound(0) && len(p.words) == 0
}

type spdxParser struct{ words []string }

func (p *spdxParser) accept(words ...string) bool {
	for _, w := range words {
		if len(p.words) > 0 && p.words[0] == w {
			p.words = p.words[1:]
			return true
		}
	}
	return false
}

// compound reads terms joined by AND and OR; their precedence does not matter
// for the form.
func (p *spdxParser) compound(depth int) bool {
	for {
		if !p.term(depth) {
			return false
		}
		if !p.accept("AND", "OR") {
			return true
		}
	}
}

func (p *spdxParser) term(depth int) bool {
	if p.accept("(") {
		return depth < 100 && p.compound(depth+1) && p.accept(")")
	}
	return p.id() && (!p.accept("WITH") || p.id())
}

func (p *spdxParser) id() bool {
	if len(p.words) == 0 {
		return false
	}
	word := p.words[0]
	switch word {
	case "AND", "OR", "WITH":
		return false
	}
	p.words = p.words[1:]
	return spdxID.MatchString(word)
}
