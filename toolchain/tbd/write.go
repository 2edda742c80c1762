package tbd

import (
	"bytes"
	"strings"
)

// lineWidth is where a list goes on in a new line, as tapi writes it.
const lineWidth = 100

// Bytes writes the stub in the form in which Apple's tools write it. The same
// File gives the same bytes; lists stay in the order that they have.
func (f *File) Bytes() []byte {
	var b bytes.Buffer
	for _, l := range f.Libraries {
		l.write(&b)
	}
	b.WriteString("...\n")
	return b.Bytes()
}

func (l *Library) write(b *bytes.Buffer) {
	b.WriteString("--- !tapi-tbd\n")
	field(b, "", "tbd-version", "4")
	list(b, "", "targets", l.Targets)
	list(b, "", "flags", l.Flags)
	field(b, "", "install-name", "'"+strings.ReplaceAll(l.InstallName, "'", "''")+"'")
	if l.CurrentVersion != "" && l.CurrentVersion != "1.0" {
		field(b, "", "current-version", l.CurrentVersion)
	}
	if l.CompatibilityVersion != "" && l.CompatibilityVersion != "1.0" {
		field(b, "", "compatibility-version", l.CompatibilityVersion)
	}
	scoped(b, "parent-umbrella", "umbrella", l.ParentUmbrella)
	scoped(b, "allowable-clients", "clients", l.AllowableClients)
	scoped(b, "reexported-libraries", "libraries", l.ReexportedLibraries)
	sections(b, "exports", l.Exports)
	sections(b, "reexports", l.Reexports)
	sections(b, "undefineds", l.Undefineds)
}

func scoped(b *bytes.Buffer, name, key string, items []Names) {
	if len(items) == 0 {
		return
	}
	b.WriteString(name + ":\n")
	for _, s := range items {
		list(b, "  - ", "targets", s.Targets)
		if key == "umbrella" && len(s.Names) == 1 {
			field(b, "    ", key, quoted(s.Names[0]))
		} else {
			list(b, "    ", key, s.Names)
		}
	}
}

func sections(b *bytes.Buffer, name string, items []Section) {
	if len(items) == 0 {
		return
	}
	b.WriteString(name + ":\n")
	for _, s := range items {
		list(b, "  - ", "targets", s.Targets)
		list(b, "    ", "symbols", s.Symbols)
		list(b, "    ", "objc-classes", s.Classes)
		list(b, "    ", "objc-eh-types", s.EHTypes)
		list(b, "    ", "objc-ivars", s.Ivars)
		list(b, "    ", "weak-symbols", s.Weak)
		list(b, "    ", "thread-local-symbols", s.ThreadLocal)
	}
}

// label writes "name:" and what fills it to the column of the values.
func label(b *bytes.Buffer, indent, name string) {
	b.WriteString(indent + name + ":")
	b.WriteString(strings.Repeat(" ", max(1, 17-len(name)-1)))
}

func field(b *bytes.Buffer, indent, name, value string) {
	label(b, indent, name)
	b.WriteString(value + "\n")
}

func list(b *bytes.Buffer, indent, name string, values []string) {
	if len(values) == 0 {
		return
	}
	label(b, indent, name)
	b.WriteString("[ ")
	column := len(indent) + max(17, len(name)+2) + 2
	at := column
	for i, v := range values {
		v = quoted(v)
		if i > 0 {
			b.WriteString(",")
			if at++; at+len(v)+1 > lineWidth {
				b.WriteString("\n" + strings.Repeat(" ", column))
				at = column
			} else {
				b.WriteString(" ")
				at++
			}
		}
		b.WriteString(v)
		at += len(v)
	}
	b.WriteString(" ]\n")
}

// quoted puts a value into quotes where YAML would read it as something else.
// Names of symbols and targets need none unless they begin with a $ or hold
// what no C or C++ name has.
func quoted(s string) string {
	plain := s != "" && strings.IndexFunc(s, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_.-$", c))
	}) < 0 && (s[0] == '_' || s[0] >= 'a' && s[0] <= 'z' && strings.Contains(s, "-"))
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}
