//go:build mage

package main

import (
	"context"

	"github.com/magefile/mage/mg"

	"github.com/stonemason-hip/stonemason/internal/app"
)

// API holds targets for the descriptions of libraries, from which stubs are made.
type API mg.Namespace

// Import makes or updates remote/api/LIBRARY.yaml from the headers in -headers=FOLDERS and the list of exported symbols in -symbols=FILE.
func (API) Import(ctx context.Context, library string, headers, symbols, version, packages *string, check *bool) error {
	return door(app.New().APIImport(ctx, app.APIImportOptions{
		Library: library, Headers: value(headers), Symbols: value(symbols), Version: value(version), Packages: value(packages), Check: value(check),
	}))
}

// Diff compares two descriptions and says what an application would notice; with -protocol also what a remote protocol would.
func (API) Diff(ctx context.Context, from, to string, protocol *bool) error {
	return door(app.New().APIDiff(ctx, from, to, value(protocol)))
}
