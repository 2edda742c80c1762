//go:build mage

package main

import (
	"context"

	"github.com/magefile/mage/mg"

	"github.com/stonemason-hip/stonemason/internal/app"
)

// Store holds targets for the store of artifacts and downloads.
type Store mg.Namespace

// Ls lists what the store holds: size, last use, and who uses it now.
func (Store) Ls(ctx context.Context, format *string) error {
	return door(app.New().StoreLs(ctx, app.StoreOptions{Format: value(format)}))
}

// GC removes leftovers, and what was not used for the longest time until the store is within -max=SIZE or cache.max_size. What is in use stays.
func (Store) GC(ctx context.Context, max, format *string, dryRun *bool) error {
	return door(app.New().StoreGC(ctx, app.StoreOptions{Max: value(max), Format: value(format), DryRun: value(dryRun)}))
}

// Verify reads everything in the store again and moves what is damaged to quarantine.
func (Store) Verify(ctx context.Context, format *string) error {
	return door(app.New().StoreVerify(ctx, app.StoreOptions{Format: value(format)}))
}
