// Package importer makes API descriptions from C headers: clang parses them,
// the comments of their authors and a reviewed file of annotations say what a
// declaration cannot, and a list of symbols says what the real library exports.
// What none of them says is marked as undecided, never guessed.
package importer

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/yamlx"
	"github.com/stonemason-hip/stonemason/remote/api"
)

// Input is what a description is made from.
type Input struct {
	// Tree is what the headers declare, read for the same annotations and symbols.
	Tree        *Tree
	Annotations *Annotations
	// Symbols are what the real library exports; nil when nobody knows.
	Symbols Symbols
	Version string
	Origin  []api.Origin
	// Used are the descriptions that the annotations name in uses.
	Used []*api.Library
}

// Result is a description and what is to be said of it.
type Result struct {
	Library *api.Library
	// NotExported are functions that the headers declare and the library does
	// not have: they are left out. LeftOut are those that annotations leave out.
	NotExported, LeftOut []string
	// Contradictions are comments that cannot be true, such as an output
	// through a pointer to const. The declaration holds.
	Contradictions []string
	// Places are where the headers define records.
	Places map[string]Place
}

// Import makes a description. The error names, with file and line of the header,
// every function that cannot be described, and every symbol that nothing
// declares; an annotation's leave_out lets one pass.
func Import(in Input) (*Result, error) {
	a := in.Annotations
	lib := (&api.Library{
		Schema: 1, Name: a.Library, Summary: a.Summary, Version: in.Version, Origin: in.Origin,
		File: a.File, Uses: a.Uses, Status: a.Status, Nodes: in.Symbols.Nodes(), Thread: a.Thread, Memory: a.Memory,
	}).With(in.Used...)
	b := newBuilder(in.Tree.types, lib, a)
	res := &Result{Library: lib, Places: b.places}
	found := map[string]bool{}
	var errs []error
	for i := range in.Tree.functions {
		n := &in.Tree.functions[i]
		if found[n.name] {
			continue
		}
		_, version, exported := in.Symbols.of(a, n.name)
		switch {
		case a.LeavesOut(n.name) != "":
			res.LeftOut = append(res.LeftOut, n.name+": "+a.LeavesOut(n.name))
			found[n.name] = true
			continue
		case in.Symbols != nil && !exported:
			res.NotExported = append(res.NotExported, n.name)
			continue
		}
		found[n.name] = true
		f, err := b.function(n)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %s cannot be described: %w", n.where(), n.name, err))
			continue
		}
		f.Node = version
		f.Link = a.Functions[n.name].Link
		add(&lib.Functions, n.name, f)
	}
	for _, name := range sortedKeys(a.Handles) {
		for _, s := range a.Handles[name].States {
			if _, err := b.typ(s.Value, ""); err != nil {
				errs = append(errs, fmt.Errorf("state %s of %s: %w", s.Key, name, err))
			}
		}
	}
	links, internal := map[string]bool{}, 0
	for _, f := range lib.Functions {
		links[f.Value.Link] = true
	}
	for _, s := range sortedKeys(in.Symbols) {
		switch {
		case found[s] || links[s]:
		case a.LeaveOut[s] != "":
			res.LeftOut = append(res.LeftOut, s+": "+a.LeaveOut[s])
		case a.LeavesOut(s) != "":
			internal++
		default:
			errs = append(errs, fmt.Errorf("%s is exported, but no header declares it: declare it in the annotations, or leave it out with a reason", s))
		}
	}
	if len(lib.Functions) == 0 && len(errs) == 0 {
		errs = append(errs, a.src.Errorf("headers", "the headers declare no function of the library: is its API C++ only?"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if internal > 0 {
		res.LeftOut = append(res.LeftOut, fmt.Sprintf("%d internal symbols", internal))
	}
	if err := lib.Layout(); err != nil {
		return nil, err
	}
	m := meaner{note: a, lib: lib, comments: in.Tree.comments}
	m.all()
	res.Contradictions = m.contradictions
	sortAll(lib)
	slices.Sort(res.NotExported)
	slices.Sort(res.LeftOut)
	if err := a.unused(lib, m.used); err != nil {
		return nil, err
	}
	return res, nil
}

func sortedKeys[T any](m map[string]T) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func sortAll(l *api.Library) {
	byName(l.Aliases)
	byName(l.Enums)
	byName(l.Handles)
	byName(l.Records)
	byName(l.Callbacks)
	byName(l.Memory)
	byName(l.Functions)
}

func byName[T any](items yamlx.Ordered[T]) {
	slices.SortFunc(items, func(a, b yamlx.Item[T]) int { return strings.Compare(a.Key, b.Key) })
}
