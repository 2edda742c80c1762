package api

import (
	"fmt"
	"strings"
)

// Fact is a number that a C compiler must find.
type Fact struct {
	// Expression is C: a constant, sizeof, _Alignof or offsetof.
	Expression string
	Value      int64
}

// Facts lists the value of every constant of a library and of every handle that
// is one, the size and alignment of every record, and the offset of every field
// that has one, in the words of the library's own headers. Bit-fields have none
// that C could ask for.
func Facts(l *Library) []Fact {
	out := FactsIn(l, func(name string) string { return l.spelled(name) })
	for i := range l.Handles {
		for _, v := range l.Handles[i].Value.Fixed {
			out = append(out, Fact{"(long long)" + v.Key, v.Value})
		}
	}
	return out
}

// FactsIn is [Facts] of constants and records, with the records' names spelled by
// the caller.
func FactsIn(l *Library, spelled func(name string) string) []Fact {
	s := newScope(l)
	var out []Fact
	for i := range l.Enums {
		for _, v := range l.Enums[i].Value.Values {
			out = append(out, Fact{"(long long)" + v.Key, v.Value})
		}
	}
	for i := range l.Records {
		name, r := l.Records[i].Key, &l.Records[i].Value
		if strings.Contains(name, ".") {
			continue
		}
		c := spelled(name)
		out = append(out, Fact{"sizeof(" + c + ")", r.Size}, Fact{"_Alignof(" + c + ")", r.Align})
		out = fields(out, s, c, "", 0, r)
	}
	return out
}

// fields adds those of a record, and of the records inside that have no name.
func fields(out []Fact, s *scope, outer, path string, base int64, r *Record) []Fact {
	for i := range r.Fields {
		f := &r.Fields[i]
		inner := s.records[f.Type.Base]
		if f.Bits > 0 {
			continue
		}
		at := base + f.Offset
		member := strings.TrimPrefix(path+"."+f.Name, ".")
		if f.Name != "" {
			out = append(out, Fact{fmt.Sprintf("offsetof(%s, %s)", outer, member), at})
		} else {
			member = path
		}
		if inner != nil && strings.Contains(f.Type.Base, ".") && len(f.Type.Pointers)+len(f.Type.Lengths) == 0 {
			out = fields(out, s, outer, member, at, inner)
		}
	}
	return out
}

// spelled is what the headers call a record.
func (l *Library) spelled(name string) string {
	if r, ok := l.Records.Get(name); ok && r.Tag {
		if r.Union {
			return "union " + name
		}
		return "struct " + name
	}
	return name
}
