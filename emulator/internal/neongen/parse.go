package main

import (
	"fmt"
	"regexp"
	"strings"
)

// loop is one function of the generated files. Its kind is one of
//
//	loop     func(d, a, b, c *vec, n uint64), for the first n lanes
//	compare  func(a, b *vec) uint64, a bit for each lane
//	carry    func(d, a, b *vec, in uint64) uint64, with bits in and out
//	sum      func(d, a, b, c *vec) uint64, with bits out
//	func     whatever its body says; in holds the size of frame and arguments
//
// in has a letter for each source, out one for the result:
//
//	s  a register                        d  a pair of registers, as numbers of 64 bits
//	u  a register, widened with zeros    i  a register, widened with its sign
//	f  a register, f32 made f64          h  the lower half of a register, f16 made f32
//	p  two registers, as their products of 64 bits
//
// As a result f is f64 made f32, i and u are integers of 64 bits that saturate, and
// h is f32 made f16.
type loop struct {
	kind, name, in, out string
	result              string // the register that the body leaves it in
	about               []string
	body                []string
}

// parse reads a description. Its first line names the file; a loop begins at the
// margin, its body is indented but for labels, with one instruction a line or several between
// semicolons. Comments are those of Go, and go along with what follows.
func parse(text string) (file string, loops []*loop, err error) {
	header := regexp.MustCompile(`^(loop|compare|carry|sum|func) (\w+) ([a-z]+|\$\d+-\d+)(?:>([a-z])(?:=([a-z]))?)?$`)
	var about []string
	for n, line := range strings.Split(text, "\n") {
		switch {
		case n == 0:
			file = strings.TrimSpace(line)
		case line == "":
		case strings.HasPrefix(line, "//"):
			about = append(about, line)
		case line[0] == '\t', strings.HasSuffix(line, ":"):
			if len(loops) == 0 {
				return "", nil, fmt.Errorf("line %d: an instruction before any loop", n+1)
			}
			l := loops[len(loops)-1]
			for _, i := range strings.Split(line, ";") {
				l.body = append(l.body, strings.TrimSpace(i))
			}
		default:
			m := header.FindStringSubmatch(line)
			if m == nil {
				return "", nil, fmt.Errorf("line %d: %q is no loop", n+1, line)
			}
			l := &loop{kind: m[1], name: m[2], in: m[3], out: m[4], result: m[5], about: about}
			if l.result == "" {
				l.result = "a"
			}
			loops, about = append(loops, l), nil
		}
	}
	return file, loops, nil
}
