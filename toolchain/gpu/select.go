package gpu

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/suggest"
)

// UnknownError says that a name is neither a processor nor a family.
type UnknownError struct {
	Name       string // as given
	Suggestion string // nearest valid spelling; empty when nothing is near
}

func (e *UnknownError) Error() string {
	if e.Suggestion == "" {
		return fmt.Sprintf("unknown gpu %q", e.Name)
	}
	return fmt.Sprintf("unknown gpu %q, did you mean %q?", e.Name, e.Suggestion)
}

// FeatureError says that a target id names a known processor with features
// that it cannot have.
type FeatureError struct {
	Target string // as given
	Reason string // what is wrong, and what to do
}

func (e *FeatureError) Error() string { return fmt.Sprintf("gpu %q: %s", e.Target, e.Reason) }

// MixError says that a selection holds two targets of one processor that may
// not stand beside each other in one fat binary: a feature that one entry
// leaves open must be open in all (ClangOffloadBundler, "Bundled Code Object
// Composition"); clang refuses such a selection.
type MixError struct {
	A, B    string // canonical target ids
	Feature string
}

func (e *MixError) Error() string {
	return fmt.Sprintf("gpus %q and %q cannot be selected together: %s is set by one and left open by the other; set it in both or in none",
		e.A, e.B, e.Feature)
}

// NameError says that no bundle name follows from a selection.
type NameError struct {
	Selection []string // as given, duplicates dropped
}

func (e *NameError) Error() string {
	if len(e.Selection) == 0 {
		return "no gpu is selected, so no bundle name follows: select one, or give a name"
	}
	return fmt.Sprintf("%d gpu selections (%s) give no bundle name: give one",
		len(e.Selection), strings.Join(e.Selection, ", "))
}

func (t *Table) unknown(s string) error {
	name, features, cut := strings.Cut(s, ":")
	e := &UnknownError{Name: s}
	near, ok := suggest.Nearest(name, t.Names())
	if ok {
		e.Suggestion = near
		// A family takes no features, so only a processor keeps them.
		if _, proc := t.byName[near]; proc && cut {
			if _, err := t.Target(near + ":" + features); err == nil {
				e.Suggestion += ":" + features
			}
		}
	}
	return e
}

// Expand turns selections into targets. A selection is a family, a processor or
// a target id. Names in exclude are taken out again: a family or a processor
// with all of its features, a target id with features only itself. Each target
// comes once, in the table's order, whatever the order of the selections; the
// answer may be empty.
//
// Errors: *UnknownError, *FeatureError, *MixError.
func (t *Table) Expand(names []string, exclude []string) ([]Target, error) {
	chosen := map[TargetID]Target{}
	for _, n := range names {
		ts, err := t.one(n)
		if err != nil {
			return nil, err
		}
		for _, target := range ts {
			chosen[target.ID] = target
		}
	}
	for _, n := range exclude {
		ts, err := t.one(n)
		if err != nil {
			return nil, fmt.Errorf("exclude: %w", err)
		}
		for _, out := range ts {
			plain := out.ID == TargetID{Processor: out.Name}
			for id := range chosen {
				if id == out.ID || plain && id.Processor == out.Name {
					delete(chosen, id)
				}
			}
		}
	}
	list := make([]Target, 0, len(chosen))
	for _, target := range chosen {
		list = append(list, target)
	}
	slices.SortFunc(list, func(a, b Target) int {
		return cmp.Or(cmp.Compare(t.byName[a.Name], t.byName[b.Name]),
			cmp.Compare(a.ID.SRAMECC, b.ID.SRAMECC), cmp.Compare(a.ID.XNACK, b.ID.XNACK))
	})
	if err := mixes(list); err != nil {
		return nil, err
	}
	return list, nil
}

// one expands a single selection.
func (t *Table) one(name string) ([]Target, error) {
	if procs, ok := t.family[name]; ok {
		list := make([]Target, 0, len(procs))
		for _, p := range procs {
			row, _ := t.Processor(p)
			list = append(list, Target{Processor: row, ID: TargetID{Processor: p}})
		}
		return list, nil
	}
	target, err := t.Target(name)
	if err != nil {
		return nil, err
	}
	return []Target{target}, nil
}

// mixes looks at neighbours only: the list is sorted by processor, and within
// one by sramecc and then xnack with the open setting first, so a feature that
// is open in some entries and set in others shows against the first entry.
func mixes(list []Target) error {
	first := 0
	for i := range list {
		a, b := list[first], list[i]
		if a.Name != b.Name {
			first = i
			continue
		}
		for _, f := range []struct {
			name string
			a, b Setting
		}{{"sramecc", a.ID.SRAMECC, b.ID.SRAMECC}, {"xnack", a.ID.XNACK, b.ID.XNACK}} {
			if (f.a == Any) != (f.b == Any) {
				return &MixError{A: a.String(), B: b.String(), Feature: f.name}
			}
		}
	}
	return nil
}

// BundleName infers the name of what is built for a selection: the selection
// itself when there is one, with ":" as "-" so that it can name a folder
// (gfx90a:xnack+ gives gfx90a-xnack+). None, or several, is a *NameError: a
// name must then be given. A name that Expand would refuse is its error.
func (t *Table) BundleName(selection []string) (string, error) {
	var distinct []string
	for _, s := range selection {
		if !slices.Contains(distinct, s) {
			distinct = append(distinct, s)
		}
	}
	for _, s := range distinct {
		if _, err := t.one(s); err != nil {
			return "", err
		}
	}
	if len(distinct) != 1 {
		return "", &NameError{Selection: distinct}
	}
	return strings.ReplaceAll(distinct[0], ":", "-"), nil
}
