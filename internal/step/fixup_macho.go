package step

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/toolchain/macho"
)

// images makes the stage's Mach-O images relocatable. Run paths of a rule are
// given to the files that match, as they are on ELF; all others get those that
// lead to what they need.
func (s *Fixup) images(ctx context.Context, r *Run, files []string) error {
	opts := macho.FixOptions{Prefixes: []string{r.Stage, r.BuildDir}, Editor: machOEditor(), Jobs: min(max(r.Jobs, 1), runtime.GOMAXPROCS(0))}
	for _, rel := range files {
		rules := s.matching(rel)
		if len(rules) == 0 {
			continue
		}
		var paths []string
		for _, p := range rules[len(rules)-1].Paths { // the last one counts, as on ELF
			paths = append(paths, "@loader_path"+strings.TrimPrefix(p, "$ORIGIN"))
		}
		opts.Rpaths = append(opts.Rpaths, macho.RpathRule{Glob: literal(rel), Rpaths: paths})
	}
	for _, name := range r.sortedDeps() {
		opts.Prefixes = append(opts.Prefixes, r.Deps[name])
	}
	report, err := macho.Fix(ctx, r.Stage, opts)
	if err != nil {
		return fmt.Errorf("fixup: %w", err)
	}
	for _, f := range report.Files {
		fmt.Fprintf(r.Output, "+ %s: %s\n", f.Path, changes(f))
	}
	for _, u := range report.Unresolved {
		fmt.Fprintf(r.Output, "%s needs %s, which is not part of this component\n", u.Path, u.Name)
	}
	return nil
}

// changes says what was done to a file.
func changes(f macho.FileFix) string {
	var all []string
	if f.OldID != f.ID {
		all = append(all, "id "+f.OldID+" → "+f.ID)
	}
	for _, old := range slices.Sorted(maps.Keys(f.Changed)) {
		all = append(all, old+" → "+f.Changed[old])
	}
	if !slices.Equal(f.OldRpaths, f.Rpaths) {
		all = append(all, "run paths "+strings.Join(f.OldRpaths, ":")+" → "+strings.Join(f.Rpaths, ":"))
	}
	return strings.Join(append(all, "signed"), ", ")
}

// literal is the pattern of path.Match that fits one name alone.
func literal(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(name)
}

// sortedDeps are the names of the needs, in order.
func (r *Run) sortedDeps() []string {
	var names []string
	for name := range r.Deps {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
