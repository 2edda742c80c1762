package importer

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Symbols are what a real library exports: each symbol's version node, or "".
type Symbols map[string]string

const (
	maxSymbols = 200_000
	maxSymbol  = 4096
)

// ReadSymbols reads a list of exported symbols, one a line: "name" or
// "name@node", as nm -D --defined-only --with-symbol-versions prints them behind
// an address and a letter, and as the symbols file of a Debian package lists
// them before a version. What is no function or object of the library's own (a
// version node itself, a comment) is left out.
func ReadSymbols(r io.Reader) (Symbols, error) {
	out := Symbols{}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 4096), maxSymbol)
	for n := 1; lines.Scan(); n++ {
		text := lines.Text()
		fields := strings.Fields(text)
		switch {
		case len(fields) == 0 || strings.HasPrefix(text, "#") || strings.HasPrefix(text, "*"):
			continue
		case strings.HasSuffix(fields[len(fields)-1], "#"):
			continue // the first line of a Debian symbols file
		}
		symbol := fields[0]
		if len(fields) == 3 && len(fields[1]) == 1 { // nm: address, letter, name
			if symbol = fields[2]; fields[1] == "A" {
				continue
			}
		}
		name, node, _ := strings.Cut(symbol, "@")
		node = strings.TrimPrefix(node, "@")
		if node == "Base" { // Debian's word for none
			node = ""
		}
		if name == node || strings.HasPrefix(name, "(") {
			continue
		}
		out[name] = node
		if len(out) > maxSymbols {
			return nil, fmt.Errorf("line %d: more than %d symbols", n, maxSymbols)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("list of symbols: %w", err)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("the list of symbols names none")
	}
	return out, nil
}

// Nodes are the version nodes in use, sorted as versions: hip_4.2 before
// hip_10.0.
func (s Symbols) Nodes() []string {
	var nodes []string
	for _, n := range s {
		if n != "" && !slices.Contains(nodes, n) {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, compareVersions)
	return nodes
}

// compareVersions compares texts with their runs of digits taken as numbers.
func compareVersions(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x > 0 && y > 0 {
			m, n := strings.TrimLeft(a[:x], "0"), strings.TrimLeft(b[:y], "0")
			if len(m) != len(n) {
				return len(m) - len(n)
			}
			if c := strings.Compare(m, n); c != 0 {
				return c
			}
			a, b = a[x:], b[y:]
			continue
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

func digits(s string) int {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return i
}

// of is the symbol of a function, with its version node when it is exported.
func (s Symbols) of(a *Annotations, function string) (symbol, node string, exported bool) {
	symbol = function
	if link := a.Functions[function].Link; link != "" {
		symbol = link
	}
	node, exported = s[symbol]
	return symbol, node, exported
}
