package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stonemason-hip/stonemason/emulator/isa/internal/layout"
	"github.com/stonemason-hip/stonemason/emulator/isa/internal/oracle"
)

// found is a valid probe with the operands that were recognised in its text.
type found struct {
	probe
	text     string
	mnemonic string
	size     int
	comment  bool // LLVM complains within the text
	tokens   []token
}

// token is one operand of a text: which field it shows, or that it always
// stands there.
type token struct {
	text   string
	field  int    // -1: it always stands there
	class  string // v, a, s, t (half of a vector register), c (constant) or i (number)
	width  int    // registers; 0 for numbers
	format string // of a number: x hexadecimal, d decimal, or what it is called by
}

func (f *found) fields() int {
	n := 0
	for _, t := range f.tokens {
		if t.field >= 0 {
			n++
			if t.class == "v" || t.class == "a" || t.class == "t" {
				n += 8
			}
			if t.class == "s" {
				n += 4
			}
		}
	}
	return n
}

// better prefers no complaint, then more operands recognised, vector registers
// before scalar ones, then fewer bits that do not matter.
func (f *found) better(g *found) bool {
	if f.comment != g.comment {
		return !f.comment
	}
	if a, b := f.fields(), g.fields(); a != b {
		return a > b
	}
	return f.word.Count() < g.word.Count()
}

// shown are the operands that the text has.
func (f *found) shown() []token {
	var list []token
	for _, t := range f.tokens {
		if !strings.HasPrefix(t.text, "~") {
			list = append(list, t)
		}
	}
	return list
}

// half returns the part of a text that is of this encoding, of two operations in
// one instruction.
func half(e *layout.Encoding, text string) string {
	first, second, both := strings.Cut(text, " :: ")
	if both && e.Second {
		return second
	}
	return first
}

// split takes a text apart into mnemonic and operands; modifiers behind the
// last operand are dropped.
func split(text string) (mnemonic string, operands []string) {
	mnemonic, rest, _ := strings.Cut(text, " ")
	for {
		rest = strings.TrimSpace(rest)
		if rest == "" {
			return mnemonic, operands
		}
		depth, end := 0, len(rest)
	scan:
		for i, c := range rest {
			switch {
			case c == '(' || c == '[':
				depth++
			case c == ')' || c == ']':
				depth--
			case depth == 0 && (c == ',' || c == ' '):
				end = i
				break scan
			}
		}
		word := rest[:end]
		if modifier(word) && len(operands) == 0 && !strings.HasPrefix(word, "vmcnt") {
			return mnemonic, operands
		}
		operands = append(operands, word)
		if end == len(rest) || rest[end] != ',' {
			return mnemonic, operands
		}
		rest = rest[end+1:]
	}
}

// modifier recognises what may stand where the first operand would.
func modifier(word string) bool {
	switch word {
	case "gds", "glc", "slc", "lds", "sc0", "sc1", "nt", "offen", "idxen":
		return true
	}
	return strings.Contains(word, ":[") || strings.Contains(word, ":") && !strings.Contains(word, "[")
}

// match recognises the fields of a probe in LLVM's text. It returns nil for an
// invalid one, and for one that shows something which cannot be explained.
func match(e *layout.Encoding, p probe, a oracle.Answer) *found {
	if a.Text == "" {
		return nil
	}
	f := &found{probe: p, text: a.Text, size: a.Size, comment: strings.Contains(a.Text, "/*")}
	if a.Size < int(e.Size) {
		return nil
	}
	text := half(e, a.Text)
	if strings.Contains(text, "/*") && !strings.Contains(e.Name, "dpp") {
		return nil
	}
	var list []string
	f.mnemonic, list = split(text)
	for _, word := range list {
		f.tokens = append(f.tokens, recognise(e, p, word))
	}
	return f
}

func recognise(e *layout.Encoding, p probe, word string) token {
	class, first, width := register(word)
	for i, field := range e.Fields {
		v := p.values[i]
		if v.raw == 0 && v.shown == "" {
			continue
		}
		switch field.Kind {
		case layout.K:
			if word == v.shown {
				return token{word, i, "i", 0, "x"}
			}
		case layout.Imm:
			if format := number(field, v, word); format != "" {
				return token{word, i, "i", 0, format}
			}
		default:
			switch {
			case class == "t" && v.shown == "v"+strconv.Itoa(first):
				return token{word, i, "t", 1, ""}
			case class == "a" && v.shown == "v"+strconv.Itoa(first):
				return token{word, i, "a", width, ""}
			case class == "s" && (field.Name == "vdst" || field.Name == "src2") && v.shown == "v"+strconv.Itoa(first):
				return token{word, i, "s", width, ""} // a scalar result lies where the vector one would
			case class != "" && v.shown == class+strconv.Itoa(first):
				return token{word, i, class, width, ""}
			case class == "" && v.shown != "off" && v.shown == word:
				return token{word, i, "c", 1, ""}
			case class == "" && strconv.Itoa(int(v.raw)) == word && field.Kind == layout.Scalar:
				return token{word, i, "i", 0, "d"}
			}
		}
	}
	return token{text: word, field: -1}
}

// number says how the value of an Imm field is shown by this word.
func number(field layout.Field, v value, word string) string {
	switch name, _, called := strings.Cut(word, "("); {
	case word == fmt.Sprintf("0x%x", v.raw):
		return "x"
	case word == strconv.Itoa(int(v.raw)):
		return "d"
	case called && field.Name == "simm16":
		return map[string]string{"hwreg": "h", "sendmsg": "m", "vmcnt": "w", "gpr_idx": "g"}[name]
	}
	return ""
}

// register reads v7, v[8:11], s12, a3, and v7.l as a half.
func register(word string) (class string, first, width int) {
	if len(word) < 2 || !strings.Contains("vsa", word[:1]) {
		return "", 0, 0
	}
	rest := word[1:]
	if n, err := strconv.Atoi(strings.TrimSuffix(rest, ".l")); err == nil && strings.HasPrefix(word, "v") && strings.HasSuffix(word, ".l") {
		return "t", n, 1
	}
	if strings.HasPrefix(rest, "[") && strings.HasSuffix(rest, "]") {
		a, b, _ := strings.Cut(rest[1:len(rest)-1], ":")
		lo, err1 := strconv.Atoi(a)
		hi, err2 := strconv.Atoi(b)
		if err1 != nil || err2 != nil {
			return "", 0, 0
		}
		return word[:1], lo, hi - lo + 1
	}
	n, err := strconv.Atoi(rest)
	if err != nil {
		return "", 0, 0
	}
	return word[:1], n, 1
}
