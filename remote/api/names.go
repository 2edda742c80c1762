package api

import (
	"regexp"
	"slices"
	"strings"
)

// number is a number as C and Go write it; what else strconv takes (inf, 1_000) is
// none of C.
var number = regexp.MustCompile(`^[+-]?([0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?|0[xX][0-9a-fA-F]+)$`)

// keywords are the words that C11 and GNU C keep for themselves (ISO/IEC 9899:2011,
// 6.4.1).
var keywords = strings.Fields(`asm auto break case char const continue default do double else enum extern float for
	goto if inline int long register restrict return short signed sizeof static struct switch typedef typeof union
	unsigned void volatile while _Alignas _Alignof _Atomic _Bool _Complex _Generic _Imaginary _Noreturn _Static_assert
	_Thread_local`)

// isWord reports whether C takes a word for a name.
func isWord(s string) bool { return cName.MatchString(s) && !slices.Contains(keywords, s) }
