package api

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Type is a C type as descriptions spell it: a base, pointers and lengths of
// arrays, as in "const char *const *" or "float[4]". Structures, unions and
// enumerations are named without the keyword, functions only by callbacks.
type Type struct {
	// Base is a basic type or the name of a described one.
	Base string
	// Const is for the base; Pointers holds, from the base outwards, whether
	// each pointer is itself const.
	Const    bool
	Pointers []bool
	// Lengths are those of an array, the outermost first.
	Lengths []int64
}

// limits of a type's spelling: nothing real comes near.
const (
	maxTypeText = 200
	maxPointers = 8
	maxLengths  = 4
	maxLength   = 1 << 24
)

// basic are C's own types and those of stddef.h and stdint.h, with their size,
// which is their alignment too, on 64-bit Linux and macOS.
var basic = map[string]int64{
	"void": 0, "bool": 1, "char": 1, "signed char": 1, "unsigned char": 1,
	"short": 2, "unsigned short": 2, "int": 4, "unsigned int": 4,
	"long": 8, "unsigned long": 8, "long long": 8, "unsigned long long": 8,
	"float": 4, "double": 8,
	"int8_t": 1, "uint8_t": 1, "int16_t": 2, "uint16_t": 2, "int32_t": 4, "uint32_t": 4, "int64_t": 8, "uint64_t": 8,
	"size_t": 8, "intptr_t": 8, "uintptr_t": 8,
}

// IsBasic reports whether a name is a type of C itself or of its headers
// stddef.h, stdint.h and stdbool.h.
func IsBasic(name string) bool { _, ok := basic[name]; return ok }

func isInteger(name string) bool {
	return IsBasic(name) && name != "void" && name != "float" && name != "double"
}

// ParseType reads a type.
func ParseType(s string) (Type, error) {
	var t Type
	wrong := func(format string, args ...any) (Type, error) {
		return Type{}, fmt.Errorf("type %q: %s", s, fmt.Sprintf(format, args...))
	}
	if len(s) > maxTypeText {
		return Type{}, fmt.Errorf("a type of %d characters is longer than the %d that are accepted", len(s), maxTypeText)
	}
	words := typeWords(s)
	var base []string
	i := 0
	for ; i < len(words) && isName(words[i]); i++ {
		if words[i] == "const" {
			if t.Const {
				return wrong("const stands twice")
			}
			t.Const = true
			continue
		}
		base = append(base, words[i])
	}
	t.Base = strings.Join(base, " ")
	if t.Base == "" {
		return wrong("a base is missing")
	}
	if len(base) > 1 && !IsBasic(t.Base) {
		return wrong("%q is no basic type (structures and enumerations stand without the keyword)", t.Base)
	}
	for ; i < len(words) && words[i] == "*"; i++ {
		constant := i+1 < len(words) && words[i+1] == "const"
		t.Pointers = append(t.Pointers, constant)
		if constant {
			i++
		}
	}
	for ; i+2 < len(words) && words[i] == "[" && words[i+2] == "]"; i += 3 {
		n, err := strconv.ParseInt(words[i+1], 10, 64)
		if err != nil || n < 0 || n > maxLength {
			return wrong("%q is no length from 0 to %d", words[i+1], maxLength)
		}
		t.Lengths = append(t.Lengths, n)
	}
	switch {
	case i < len(words):
		return wrong("%q is not understood", strings.Join(words[i:], " "))
	case len(t.Pointers) > maxPointers || len(t.Lengths) > maxLengths:
		return wrong("too many pointers or lengths")
	case t.Base == "void" && len(t.Pointers) == 0 && (len(t.Lengths) > 0 || t.Const):
		return wrong("there are no arrays of void and no const void")
	}
	return t, nil
}

func isName(w string) bool {
	c := w[0]
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// typeWords splits a type into names, numbers and signs.
func typeWords(s string) []string {
	var words []string
	for i := 0; i < len(s); {
		word := func(c byte) bool {
			return c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		}
		switch {
		case s[i] == ' ':
			i++
		case word(s[i]):
			end := i
			for end < len(s) && word(s[end]) {
				end++
			}
			words = append(words, s[i:end])
			i = end
		default:
			words = append(words, s[i:i+1])
			i++
		}
	}
	return words
}

// String returns the spelling that ParseType reads.
func (t Type) String() string {
	var b strings.Builder
	if t.Const {
		b.WriteString("const ")
	}
	b.WriteString(t.Base)
	if len(t.Pointers) > 0 {
		b.WriteByte(' ')
	}
	for _, constant := range t.Pointers {
		b.WriteByte('*')
		if constant {
			b.WriteString("const ")
		}
	}
	out := strings.TrimSuffix(b.String(), " ")
	for _, n := range t.Lengths {
		out += "[" + strconv.FormatInt(n, 10) + "]"
	}
	return out
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *Type) UnmarshalText(text []byte) (err error) {
	*t, err = ParseType(string(text))
	return err
}

// Equal reports whether two types are spelled the same.
func (t Type) Equal(u Type) bool {
	return t.Base == u.Base && t.Const == u.Const && slices.Equal(t.Pointers, u.Pointers) && slices.Equal(t.Lengths, u.Lengths)
}

// IsPointer reports whether the outermost type is written as a pointer. A
// handle, a callback or an alias of a pointer is none in this sense.
func (t Type) IsPointer() bool { return len(t.Pointers) > 0 && len(t.Lengths) == 0 }

// IsConst reports whether a value of the type cannot be written: for a pointer
// the pointer itself, not what it points to.
func (t Type) IsConst() bool {
	if n := len(t.Pointers); n > 0 {
		return t.Pointers[n-1]
	}
	return t.Const
}

// Pointee is what a pointer points to.
func (t Type) Pointee() Type {
	t.Pointers = t.Pointers[:len(t.Pointers)-1]
	return t
}

// Declare returns the declaration of a name in C, "" for a bare type. Names of
// types are written as spelling has them.
func (t Type) Declare(name string, spelling func(base string) string) string {
	base := t.Base
	if spelling != nil {
		base = spelling(base)
	}
	s := Type{Base: base, Const: t.Const, Pointers: t.Pointers}.String()
	if name != "" {
		if strings.HasSuffix(s, "*") {
			s += name
		} else {
			s += " " + name
		}
	}
	for _, n := range t.Lengths {
		s += "[" + strconv.FormatInt(n, 10) + "]"
	}
	return s
}
