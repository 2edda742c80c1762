package step

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/audit"
	"github.com/stonemason-hip/stonemason/internal/glob"
	"github.com/stonemason-hip/stonemason/internal/key"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
	"github.com/stonemason-hip/stonemason/toolchain/sdk"
)

// Audit is the gate before sealing: it refuses a stage with paths of this
// build, links that lead out of it, foreign files or wrong modes; images for a
// Mac also when they ask for a newer macOS than a bundle is for, or for symbols
// that its libraries do not have. Whether every library is found is a question
// to the bundle, not to one artifact.
type Audit struct{}

// Validate implements Step.
func (s *Audit) Validate() error { return nil }

// Key implements Step.
func (s *Audit) Key(b *key.Builder) { fields(b, s) }

// Run implements Step.
func (s *Audit) Run(ctx context.Context, r *Run) error {
	options := audit.Options{Platform: r.Host, BuildPaths: r.LeakPaths, Partial: true}
	if r.Host.OS == "darwin" {
		options.Floor = map[string]string{audit.FamilyMacOS: platform.MacOSFloor}
		if r.Sysroot != "" {
			options.System = sdk.NewStubs(r.Sysroot)
		}
	}
	report, err := audit.Run(ctx, r.Stage, options)
	if err != nil {
		return err
	}
	var bad []string
	for _, f := range report.Findings {
		why := ""
		for _, e := range r.Exceptions {
			if e.Rule == f.Rule && glob.Any(e.Globs, f.File) {
				why = " (excused: " + e.Why + ")"
			}
		}
		line := fmt.Sprintf("%s: %s: %s", f.File, f.Rule, f.What)
		fmt.Fprintf(r.Output, "%s: %s%s\n", f.Severity, line, why)
		if f.Severity == audit.Error && why == "" {
			bad = append(bad, line)
		}
	}
	if len(bad) == 1 {
		return errors.New(bad[0])
	}
	if len(bad) > 1 {
		return fmt.Errorf("%d findings:\n  %s", len(bad), strings.Join(bad, "\n  "))
	}
	return nil
}
