package audit

import (
	"fmt"
	"slices"
	"strings"
)

// wrongPlatform makes one finding of many where no image at all is for the
// platform: then it is not a file that is wrong but the bundle, or what it was
// taken for.
func (r *Report) wrongPlatform() {
	foreign := func(f Finding) bool { return f.Rule == ruleELFMachine || f.Rule == ruleMachOMachine }
	var all []Finding
	for _, f := range r.Findings {
		if foreign(f) {
			all = append(all, f)
		}
	}
	if r.Images > 0 || len(all) < 2 {
		return
	}
	first := slices.MinFunc(all, func(a, b Finding) int { return strings.Compare(a.File, b.File) })
	is, _, _ := strings.Cut(first.What, ",")
	r.Findings = slices.DeleteFunc(r.Findings, foreign)
	r.Add(finding(".", first.Rule, fmt.Sprintf("none of its %d images is for %s: %s %s", len(all), r.Platform, first.File, is), "take the bundle for "+r.Platform.String()))
}
