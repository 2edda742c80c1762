package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/store"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// CleanOptions are the options of clean.
type CleanOptions struct {
	// Store empties the store too: artifacts, downloads and work folders, of
	// every checkout of this user.
	Store bool
}

// Clean removes what builds left in the checkout.
func (a *App) Clean(ctx context.Context, o CleanOptions) error {
	p, err := a.project(Wishes{})
	if err != nil {
		return err
	}
	dirs := []string{filepath.Join(p.Root, "dist"), stateDir(p), filepath.Join(p.Root, "bin")}
	if o.Store {
		dir, err := a.storeDir(p)
		if err != nil {
			return err
		}
		// First of all: where it is refused, nothing goes.
		emptied, err := a.emptyStore(ctx, dir, func() (*store.Store, error) { return a.store(p) })
		for _, dir := range emptied {
			fmt.Fprintf(a.Out, "removed %s\n", relative(p.Root, dir))
		}
		if err != nil {
			return err
		}
	}
	for _, dir := range dirs {
		if _, err := os.Lstat(dir); err != nil {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			return exit.With(exit.Failure, fmt.Errorf("clean: %w", err))
		}
		fmt.Fprintf(a.Out, "removed %s\n", relative(p.Root, dir))
	}
	return nil
}

// MatrixOptions are the options of ci:matrix.
type MatrixOptions struct {
	Wishes
}

// matrixRow is one job of a CI matrix.
type matrixRow struct {
	Name   string `json:"name"`
	Host   string `json:"host"`
	Runner string `json:"runner"`
	GPUs   string `json:"gpus"`
	Preset string `json:"preset"`
}

// Matrix prints the jobs for a GitHub Actions matrix: one a host, with the
// runner that can build and run it.
func (a *App) Matrix(ctx context.Context, o MatrixOptions) error {
	p, err := a.project(o.Wishes)
	if err != nil {
		return err
	}
	runners := map[string][]string{
		"linux-amd64":  {"ubuntu-24.04"},
		"linux-arm64":  {"ubuntu-24.04-arm"},
		"darwin-arm64": {"macos-14", "macos-15"},
	}
	hosts := p.Config.Hosts
	if slices.Equal(hosts, []string{"native"}) {
		hosts = platform.Names() // a matrix for the machine it is printed on would be no matrix
	}
	var rows []matrixRow
	for _, host := range hosts {
		for _, runner := range runners[host] {
			rows = append(rows, matrixRow{
				Name: host + " on " + runner, Host: host, Runner: runner,
				GPUs: strings.Join(p.Config.GPUs, ","), Preset: string(p.Config.Preset),
			})
		}
	}
	return a.json(map[string]any{"include": rows})
}
