package build

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/stonemason-hip/stonemason/internal/glob"
	"github.com/stonemason-hip/stonemason/internal/plan"
)

// check holds the stage against what the component promises.
func check(n *plan.Node, stage string) error {
	if len(n.Checks) == 0 {
		return nil
	}
	var paths []string
	err := filepath.WalkDir(stage, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(stage, file)
		paths = append(paths, filepath.ToSlash(rel))
		return err
	})
	if err != nil {
		return err
	}
	var errs []error
	for _, c := range n.Checks {
		count := func(pattern string) (matches int) {
			for _, p := range paths {
				if glob.Match(pattern, p) {
					matches++
				}
			}
			return matches
		}
		if c.Exists != "" {
			if found := count(c.Exists); found < max(1, c.Count) {
				errs = append(errs, fmt.Errorf("%s: %d found, at least %d expected", c.Exists, found, max(1, c.Count)))
			}
		}
		if c.Absent != "" && count(c.Absent) > 0 {
			errs = append(errs, fmt.Errorf("%s is there and must not be", c.Absent))
		}
	}
	return errors.Join(errs...)
}
