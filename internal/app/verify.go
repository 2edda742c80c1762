package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/stonemason-hip/stonemason/internal/audit"
	"github.com/stonemason-hip/stonemason/internal/bundle"
	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/glob"
	"github.com/stonemason-hip/stonemason/internal/smoke"
	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/toolchain/gpu"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// VerifyOptions are the options of verify.
type VerifyOptions struct {
	// Bundle is the folder to look at; the native host's when empty.
	Bundle string
	// Format is text, json or sarif.
	Format string
	// NoRun leaves out running the executables.
	NoRun bool
}

// Verify proves a bundle: closed, relocatable, unchanged, running.
func (a *App) Verify(ctx context.Context, o VerifyOptions) error {
	if err := checkFormat(o.Format, "text", "json", "sarif"); err != nil {
		return err
	}
	dir, leaks, err := a.bundleDir(o.Bundle)
	if err != nil {
		return err
	}
	host := platform.Native()
	m, err := bundle.Load(dir)
	if err == nil {
		if host, err = platform.Parse(m.Host); err != nil {
			return exit.With(exit.Verify, fmt.Errorf("%s: %w", dir, err))
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return exit.With(exit.Verify, err)
	} else if o.Bundle == "" {
		return exit.Hint(exit.With(exit.Verify, err), "go tool mage build -yes")
	} else {
		a.note("%s has no %s: it is audited, and not compared with one", dir, bundle.ManifestFile)
	}
	report, err := audit.Run(ctx, dir, audit.Options{Platform: host, BuildPaths: leaks, Execute: !o.NoRun})
	if err != nil {
		return exit.With(exit.Verify, err)
	}
	if m != nil {
		excuse(report, m)
		damage, err := bundle.Damage(ctx, dir, m)
		if err != nil {
			return exit.With(exit.Verify, err)
		}
		for _, d := range damage {
			report.Add(audit.Finding{File: d, Rule: "manifest", What: "differs from " + bundle.ManifestFile, Fix: "go tool mage build", Severity: audit.Error})
		}
	}
	switch o.Format {
	case "json":
		err = report.JSON(a.Out)
	case "sarif":
		err = report.SARIF(a.Out)
	default:
		err = report.Table(a.Out, a.look().Width)
	}
	if err != nil {
		return err
	}
	if !report.OK() {
		return exit.Withf(exit.Verify, "%s: the bundle has findings", dir)
	}
	return nil
}

// excuse turns findings that the manifest declares right into information.
func excuse(report *audit.Report, m *bundle.Manifest) {
	for i, f := range report.Findings {
		for _, c := range m.Components {
			for _, e := range c.Exceptions {
				if f.Rule == e.Rule && glob.Any(e.Globs, f.File) {
					report.Findings[i].Severity = audit.Info
					report.Findings[i].Fix = "none needed: " + e.Why
				}
			}
		}
	}
}

// bundleDir is the bundle to look at, and the paths that must not occur in it.
func (a *App) bundleDir(named string) (dir string, leaks []string, err error) {
	root, rootErr := spec.FindRoot(a.Dir)
	if rootErr == nil {
		p, err := a.project(Wishes{})
		if err != nil {
			return "", nil, err
		}
		cache, err := a.storeDir(p)
		if err != nil {
			return "", nil, err
		}
		leaks = append(leaks, cache)
	}
	if named != "" {
		if dir, err = filepath.Abs(named); err != nil {
			return "", nil, err
		}
	} else if rootErr != nil {
		return "", nil, exit.With(exit.Config, rootErr)
	} else {
		dir = filepath.Join(root, "dist", platform.Native().String())
	}
	if _, err := os.Stat(dir); err != nil {
		return "", nil, exit.Hint(exit.Withf(exit.Verify, "no bundle in %s", dir), "go tool mage build -yes")
	}
	leaks = append(leaks, dir)
	if home := a.getenv("HOME"); len(home) > len("/root") {
		leaks = append(leaks, home)
	}
	slices.Sort(leaks)
	return dir, slices.Compact(leaks), nil
}

// SmokeOptions are the options of smoke.
type SmokeOptions struct {
	Bundle string
	// GPUs replaces the GPUs of therock.yaml.
	GPUs   string
	Format string
	Jobs   int
}

// Smoke compiles the examples for every GPU and looks into what came out.
func (a *App) Smoke(ctx context.Context, o SmokeOptions) error {
	if err := checkFormat(o.Format, "text", "json"); err != nil {
		return err
	}
	p, err := a.project(Wishes{GPUs: o.GPUs, Jobs: o.Jobs})
	if err != nil {
		return err
	}
	dir, _, err := a.bundleDir(o.Bundle)
	if err != nil {
		return err
	}
	if m, err := bundle.Load(dir); err == nil && m.Host != platform.Native().String() {
		return exit.Withf(exit.Smoke, "%s is a bundle for %s: its compilers do not run on this %s machine", dir, m.Host, platform.Native())
	}
	table, err := gpu.Load()
	if err != nil {
		return err
	}
	targets, err := table.Expand(p.Config.GPUs, nil)
	if err != nil {
		return exit.With(exit.Config, err)
	}
	work, err := os.MkdirTemp("", "stonemason-smoke-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	report, err := smoke.Run(ctx, smoke.Options{
		Bundle: dir, GPUs: targets, Examples: filepath.Join(p.Root, "examples"), WorkDir: work, Jobs: a.jobs(p),
	})
	if err != nil {
		return exit.With(exit.Smoke, err)
	}
	if o.Format == "json" {
		err = a.json(report)
	} else {
		err = report.Table(a.Out, a.look().Width)
	}
	if err != nil {
		return err
	}
	if !report.OK() {
		return exit.Withf(exit.Smoke, "the toolchain in %s does not compile as it should", dir)
	}
	return nil
}
