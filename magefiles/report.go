//go:build mage

package main

import (
	"context"

	"github.com/stonemason-hip/stonemason/internal/app"
)

// Report tells how the last build went: one HTML page, a Perfetto trace beside it, Markdown for CI.
func Report(ctx context.Context, format, run, out *string) error {
	return door(app.New().Report(ctx, app.ReportOptions{Format: value(format), Run: value(run), Out: value(out)}))
}
