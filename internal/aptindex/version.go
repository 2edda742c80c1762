package aptindex

import "strings"

// Compare orders two Debian versions as Debian Policy 5.6.12 says: by epoch,
// then by upstream version, then by revision, where "~" sorts before everything,
// even the end, and letters before other signs. It returns -1, 0 or 1.
func Compare(a, b string) int {
	ea, ua, ra := splitVersion(a)
	eb, ub, rb := splitVersion(b)
	for _, pair := range [][2]string{{ea, eb}, {ua, ub}, {ra, rb}} {
		if c := comparePart(pair[0], pair[1]); c != 0 {
			return c
		}
	}
	return 0
}

// splitVersion cuts [epoch:]upstream[-revision]. A missing epoch and a missing
// revision count as "0" each.
func splitVersion(v string) (epoch, upstream, revision string) {
	epoch, revision = "0", "0"
	if e, rest, ok := strings.Cut(v, ":"); ok {
		epoch, v = e, rest
	}
	upstream = v
	if i := strings.LastIndexByte(v, '-'); i >= 0 {
		upstream, revision = v[:i], v[i+1:]
	}
	return epoch, upstream, revision
}

// comparePart compares, in turn, a run without digits by letter and a run of
// digits by value, until one differs.
func comparePart(a, b string) int {
	for a != "" || b != "" {
		i, j := 0, 0
		for i < len(a) && !isDigit(a[i]) || j < len(b) && !isDigit(b[j]) {
			x, y := weight(a, i), weight(b, j)
			if x != y {
				return sign(x - y)
			}
			i, j = i+1, j+1
		}
		a, b = a[min(i, len(a)):], b[min(j, len(b)):]
		da, db := digits(a), digits(b)
		x, y := strings.TrimLeft(a[:da], "0"), strings.TrimLeft(b[:db], "0")
		if len(x) != len(y) {
			return sign(len(x) - len(y))
		}
		if c := strings.Compare(x, y); c != 0 {
			return c
		}
		a, b = a[da:], b[db:]
	}
	return 0
}

// weight ranks the byte of s at i: the tilde first, then the end of the run
// (which a digit ends, too), letters, and the other signs.
func weight(s string, i int) int {
	switch {
	case i >= len(s) || isDigit(s[i]):
		return 0
	case s[i] == '~':
		return -1
	case 'a' <= s[i] && s[i] <= 'z' || 'A' <= s[i] && s[i] <= 'Z':
		return int(s[i])
	}
	return int(s[i]) + 256
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func digits(s string) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}
