// Package tbd reads and writes the text stubs that stand for dynamic libraries
// in a macOS SDK, version 4: YAML documents with the tag !tapi-tbd. The first
// document of a file is the library itself; those behind it are the libraries
// that it re-exports and that have no file of their own.
//
// Source of the format: llvm/lib/TextAPI/TextStub.cpp and
// llvm/docs/ in LLVM's source, and what Apple's SDKs hold.
package tbd

import (
	"errors"
	"slices"
)

// ErrNotTBD marks files that do not begin as a text stub.
var ErrNotTBD = errors.New("not a text stub (.tbd)")

// File is one text stub.
type File struct {
	// Libraries are the documents of the file, the library itself first. A
	// file that Parse returns has at least one.
	Libraries []*Library
}

// Library is one document: a dynamic library as the linker sees it.
type Library struct {
	// InstallName is what is recorded in whoever links the library.
	InstallName string
	// Targets are all that the library is made for: "arm64-macos".
	Targets []string
	// Flags are what the library is: not_app_extension_safe, flat_namespace.
	Flags []string
	// CurrentVersion and CompatibilityVersion are as written, "1.0" when they
	// are left out.
	CurrentVersion, CompatibilityVersion string
	// ParentUmbrella names the library that this one is a part of.
	ParentUmbrella []Names
	// AllowableClients are who may link this library directly.
	AllowableClients []Names
	// ReexportedLibraries are install names of libraries whose symbols this
	// one exports as if they were its own.
	ReexportedLibraries []Names
	// Exports are symbols of the library's own, Reexports symbols of others
	// that it passes on one by one, Undefineds what it needs.
	Exports, Reexports, Undefineds []Section
}

// Names are names that hold for some targets.
type Names struct {
	Targets []string
	Names   []string
}

// Section lists symbols that exist for some targets. Symbols are spelled as
// in an object file (_malloc); the names of Objective-C classes, exception
// types and instance variables are without their prefixes.
type Section struct {
	Targets     []string
	Symbols     []string
	Weak        []string
	ThreadLocal []string
	Classes     []string // objc-classes: [NSObject]
	EHTypes     []string // objc-eh-types
	Ivars       []string // objc-ivars: [NSObject.isa]
}

// Kind says how a symbol is exported.
type Kind uint8

// The kinds of symbols.
const (
	Strong Kind = iota
	Weak
	ThreadLocal
)

// Symbol is one exported symbol.
type Symbol struct {
	Kind Kind
	// From is the install name of the library that lists it: the file's own,
	// or one that is re-exported.
	From string
}

// Exports is what a stub offers to one target.
type Exports struct {
	Target      string
	InstallName string
	Symbols     map[string]Symbol
	// Elsewhere are install names of re-exported libraries that have no
	// document in this file, sorted: what they export is exported too.
	Elsewhere []string
}

// Library finds the document with an install name.
func (f *File) Library(installName string) (*Library, bool) {
	for _, l := range f.Libraries {
		if l.InstallName == installName {
			return l, true
		}
	}
	return nil, false
}

// Exports collects what the file's library offers to a target, through the
// re-exported libraries that the same file describes. False: the library is
// not made for the target.
//
// Names that begin with $ld$ are orders to the linker (hide this symbol, use
// another install name) and are left out.
func (f *File) Exports(target string) (Exports, bool) {
	if len(f.Libraries) == 0 || !slices.Contains(f.Libraries[0].Targets, target) {
		return Exports{}, false
	}
	e := Exports{Target: target, InstallName: f.Libraries[0].InstallName, Symbols: map[string]Symbol{}}
	byName := make(map[string]*Library, len(f.Libraries))
	for _, l := range f.Libraries {
		if _, twice := byName[l.InstallName]; !twice {
			byName[l.InstallName] = l
		}
	}
	seen := map[string]bool{e.InstallName: true}
	queue := []*Library{f.Libraries[0]}
	for len(queue) > 0 {
		l := queue[0]
		queue = queue[1:]
		for _, s := range slices.Concat(l.Exports, l.Reexports) {
			if slices.Contains(s.Targets, target) {
				e.add(l.InstallName, s)
			}
		}
		for _, r := range l.ReexportedLibraries {
			if !slices.Contains(r.Targets, target) {
				continue
			}
			for _, name := range r.Names {
				if seen[name] {
					continue
				}
				seen[name] = true
				if next, ok := byName[name]; ok {
					queue = append(queue, next)
				} else {
					e.Elsewhere = append(e.Elsewhere, name)
				}
			}
		}
	}
	slices.Sort(e.Elsewhere)
	return e, true
}

// add adds the symbols of a section. The first library that has a symbol keeps
// it, as in the linker.
func (e *Exports) add(from string, s Section) {
	put := func(name string, kind Kind) {
		if _, ok := e.Symbols[name]; !ok && !order(name) {
			e.Symbols[name] = Symbol{Kind: kind, From: from}
		}
	}
	for _, name := range s.Symbols {
		put(name, Strong)
	}
	for _, name := range s.Weak {
		put(name, Weak)
	}
	for _, name := range s.ThreadLocal {
		put(name, ThreadLocal)
	}
	for _, name := range s.Classes {
		put("_OBJC_CLASS_$_"+name, Strong)
		put("_OBJC_METACLASS_$_"+name, Strong)
	}
	for _, name := range s.EHTypes {
		put("_OBJC_EHTYPE_$_"+name, Strong)
	}
	for _, name := range s.Ivars {
		put("_OBJC_IVAR_$_"+name, Strong)
	}
}

// order reports whether a name is an order to the linker and no symbol.
func order(name string) bool { return len(name) > 4 && name[:4] == "$ld$" }

// Has reports whether a symbol, as in an object file (_malloc), is offered.
// It says nothing about the libraries of Elsewhere.
func (e Exports) Has(symbol string) bool {
	_, ok := e.Symbols[symbol]
	return ok
}
