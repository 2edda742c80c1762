package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/stonemason-hip/stonemason/internal/archive"
	"github.com/stonemason-hip/stonemason/internal/audit"
	"github.com/stonemason-hip/stonemason/internal/bundle"
	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/glob"
	"github.com/stonemason-hip/stonemason/internal/interrupt"
	"github.com/stonemason-hip/stonemason/internal/machine"
	"github.com/stonemason-hip/stonemason/internal/smoke"
	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/toolchain/gpu"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
	"github.com/stonemason-hip/stonemason/toolchain/sdk"
)

// VerifyOptions are the options of verify.
type VerifyOptions struct {
	// Bundle is the folder or archive to look at; dist/HOST when empty.
	Bundle string
	// Host is the platform that the bundle is for, in place of what its
	// manifest or its images say.
	Host string
	// Format is text, json or sarif.
	Format string
	// NoRun leaves out running the executables.
	NoRun bool
}

// Verify proves a bundle: closed, relocatable, unchanged, running. It can be
// one that somebody else has made, which has no manifest: then it is judged by
// what its images are for, and nothing of it is run. What comes out of an
// archive is not run either.
func (a *App) Verify(ctx context.Context, o VerifyOptions) error {
	if err := checkFormat(o.Format, "text", "json", "sarif"); err != nil {
		return err
	}
	host := platform.Native()
	if o.Host != "" {
		var err error
		if host, err = platform.Parse(o.Host); err != nil {
			return exit.Withf(exit.Usage, "-host: %w", err)
		}
	}
	named, leaks, err := a.bundleFor(o.Bundle, host)
	if err != nil {
		return err
	}
	ctx, listening := interrupt.Context(ctx)
	defer listening()
	dir, unpacked, err := unpackBundle(ctx, named)
	if unpacked != "" {
		defer os.RemoveAll(unpacked)
	}
	if err != nil {
		return stopped(ctx, exit.With(exit.Verify, err))
	}
	m, err := bundle.Load(dir)
	switch {
	case err == nil && o.Host == "":
		if host, err = platform.Parse(m.Host); err != nil {
			return exit.With(exit.Verify, fmt.Errorf("%s: %w", named, err))
		}
	case err == nil:
	case !errors.Is(err, fs.ErrNotExist):
		return exit.With(exit.Verify, err)
	case o.Bundle == "":
		return exit.Hint(exit.With(exit.Verify, err), "go tool mage build -yes")
	default:
		a.note("%s has no %s: it is audited, but neither compared with one nor run", named, bundle.ManifestFile)
		if o.Host != "" {
			break
		}
		found, images, err := audit.Detect(ctx, dir)
		if err != nil {
			return stopped(ctx, exit.With(exit.Verify, err))
		}
		if images > 0 {
			host = found
			a.note("it is taken for a bundle for %s, which %d of its images are for (-host= says otherwise)", host, images)
		}
	}
	options := audit.Options{Platform: host, BuildPaths: leaks, Execute: !o.NoRun && m != nil && unpacked == ""}
	if m != nil {
		options.Floor = map[string]string{audit.FamilyMacOS: platform.MacOSFloor}
	}
	if host.OS == "darwin" {
		if options.System, err = a.macStubs(ctx); err != nil {
			return stopped(ctx, err)
		}
	}
	report, err := audit.Run(ctx, dir, options)
	if err != nil {
		return stopped(ctx, exit.With(exit.Verify, err))
	}
	report.Root = named
	if m != nil {
		excuse(report, m)
		damage, err := bundle.Damage(ctx, dir, m)
		if err != nil {
			return stopped(ctx, exit.With(exit.Verify, err))
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
		return exit.Withf(exit.Verify, "%s: the bundle has findings", named)
	}
	return nil
}

// macStubs says what the libraries of macOS export, where there is an SDK to
// ask: the one that the user names, or a Mac's own. Without any it is nil, and
// what images import from macOS itself is taken on trust.
func (a *App) macStubs(ctx context.Context) (audit.SystemLibraries, error) {
	folder := a.getenv(sdk.Variable)
	found, err := machine.FindSDK(ctx, folder, platform.Native())
	if folder == "" && errors.Is(err, sdk.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return sdk.NewStubs(found.Path), nil
}

// stopped is what an error means when it was Ctrl-C that ended the work.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// unpackBundle is the folder of a bundle that is given as a folder or as an
// archive. An archive is unpacked into a folder of its own, which is returned
// too, with an error as well, and is the caller's to remove. Where an archive
// holds a single folder, that is the bundle.
func unpackBundle(ctx context.Context, named string) (dir, unpacked string, err error) {
	info, err := os.Stat(named)
	if err != nil {
		return "", "", err
	}
	if info.IsDir() {
		return named, "", nil
	}
	if unpacked, err = os.MkdirTemp("", "stonemason-verify-"); err != nil {
		return "", "", err
	}
	dir = filepath.Join(unpacked, "bundle")
	// Names that differ in case are for the audit to find.
	if _, err := archive.Unpack(ctx, named, dir, archive.Options{Case: archive.CaseAllow}); err != nil {
		return "", unpacked, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", unpacked, err
	}
	if len(entries) == 1 && entries[0].IsDir() {
		dir = filepath.Join(dir, entries[0].Name())
	}
	return dir, unpacked, nil
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

// bundleDir is the native host's bundle, or the one that is named.
func (a *App) bundleDir(named string) (dir string, leaks []string, err error) {
	return a.bundleFor(named, platform.Native())
}

// bundleFor is the bundle to look at, and the paths that must not occur in it.
func (a *App) bundleFor(named string, host platform.Platform) (dir string, leaks []string, err error) {
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
		dir = filepath.Join(root, "dist", host.String())
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
