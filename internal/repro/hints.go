package repro

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// stamps are the forms in which programs write times: __TIME__, __DATE__,
// ISO 8601, seconds since 1970 (of 2001 to 2033).
var stamps = []*regexp.Regexp{
	regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`),
	regexp.MustCompile(`\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ 0-3]\d \d{4}\b`),
	regexp.MustCompile(`\b\d{4}-\d\d-\d\d\b`),
	regexp.MustCompile(`\b1\d{9}\b`),
}

var id = regexp.MustCompile(`\b(?:[0-9a-f]{16,}|[0-9A-F]{16,}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\b`)

// hints guesses at the cause of a difference at one position of two windows.
func (l *locator) hints(a, b []byte, pos int) []Hint {
	var hints []Hint
	if h, ok := l.pathHint(a, b, pos); ok {
		hints = append(hints, h)
	}
	if h, ok := l.timeHint(a, b, pos); ok {
		hints = append(hints, h)
	}
	if len(hints) > 0 {
		return hints
	}
	if x, y := matchAt(id, a, pos), matchAt(id, b, pos); x != "" && y != "" {
		hints = append(hints, Hint{"id", fmt.Sprintf("%s and %s look like a hash or a random id", clean(x), clean(y))})
	}
	return hints
}

// matchAt is the match of an expression that covers a position, inside the
// printable run around it.
func matchAt(re *regexp.Regexp, win []byte, pos int) string {
	begin, end := runAround(win, pos)
	for _, m := range re.FindAllIndex(win[begin:end], -1) {
		if begin+m[0] <= pos && pos < begin+m[1] {
			return string(win[begin+m[0] : begin+m[1]])
		}
	}
	return ""
}

func (l *locator) timeHint(a, b []byte, pos int) (Hint, bool) {
	for _, re := range stamps {
		x, y := matchAt(re, a, pos), matchAt(re, b, pos)
		if x == "" || y == "" {
			continue
		}
		return Hint{"time", fmt.Sprintf("%s and %s look like times of the builds: use SOURCE_DATE_EPOCH, or leave the time out", clean(x), clean(y))}, true
	}
	x, okA := binaryTime(a, pos, l.A)
	y, okB := binaryTime(b, pos, l.B)
	if okA && okB {
		return Hint{"time", fmt.Sprintf("%s and %s as seconds since 1970: a time stamp", x.Format(time.RFC3339), y.Format(time.RFC3339))}, true
	}
	return Hint{}, false
}

// binaryTime looks for a number of 4 bytes around a position that is, in
// either byte order, a time at which the build ran.
func binaryTime(win []byte, pos int, b Build) (time.Time, bool) {
	if b.Begun.IsZero() || b.Ended.IsZero() {
		return time.Time{}, false
	}
	for i := max(0, pos-3); i <= pos && i+4 <= len(win); i++ {
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			t := time.Unix(int64(order.Uint32(win[i:])), 0).UTC()
			if !t.Before(b.Begun.Truncate(time.Second)) && !t.After(b.Ended) {
				return t, true
			}
		}
	}
	return time.Time{}, false
}

func (l *locator) pathHint(a, b []byte, pos int) (Hint, bool) {
	for _, side := range []struct {
		win   []byte
		build Build
	}{{a, l.A}, {b, l.B}} {
		for _, p := range side.build.Paths {
			if p == "" {
				continue
			}
			for off := 0; ; {
				i := bytes.Index(side.win[off:], []byte(p))
				if i < 0 {
					break
				}
				begin := off + i
				// The difference lies in the path, or in what follows it
				// without a break.
				if _, end := runAround(side.win, begin); begin <= pos && pos <= end {
					return Hint{"path", fmt.Sprintf("a folder of the build is in it: %s (-ffile-prefix-map, or a relative path)", strconv.Quote(clean(p)))}, true
				}
				off = begin + 1
			}
		}
	}
	x, y := pathAt(a, pos), pathAt(b, pos)
	if x == "" || y == "" {
		return Hint{}, false
	}
	return Hint{"path", fmt.Sprintf("%s and %s look like paths of the build machine", strconv.Quote(clean(x)), strconv.Quote(clean(y)))}, true
}

var absolute = regexp.MustCompile(`(?:/[A-Za-z0-9_.+@%~-]+){2,}/?`)

// pathAt is the absolute path of at least two parts at a position. One that is
// preceded by a letter is the end of a relative one.
func pathAt(win []byte, pos int) string {
	begin, end := runAround(win, pos)
	run := string(win[begin:end])
	for _, m := range absolute.FindAllStringIndex(run, -1) {
		if begin+m[0] > pos || pos > begin+m[1] {
			continue
		}
		if m[0] > 0 && strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:/", rune(run[m[0]-1])) {
			continue
		}
		return run[m[0]:m[1]]
	}
	return ""
}
