//go:build mage

// Stonemason: the HIP toolchain for machines without an AMD GPU. Flags are written -name=value; -h TARGET lists those of a target.
package main

// One thin function a target: it reads its flags, calls a verb of package app,
// and turns the verb's error into an exit code.

import (
	"context"
	"fmt"
	"os"

	"github.com/magefile/mage/mg"

	"github.com/stonemason-hip/stonemason/internal/app"
	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/ui"
)

// Aliases are further names of targets.
var Aliases = map[string]any{
	"amd-llvm":    AmdLLVM,
	"device-libs": DeviceLibs,
}

// door prints an error in the form that all verbs share and ends the process
// with its exit code. It does not hand the error on: mage would print it once
// more, in a form of its own.
func door(err error) error {
	if err == nil {
		return nil
	}
	look := ui.Detect(os.Stderr, os.Environ()).Look
	fmt.Fprint(os.Stderr, ui.ErrorText(look, err))
	os.Exit(int(exit.Of(err)))
	return nil
}

// value reads an optional flag.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// Build sets up what is missing, builds the toolchain and puts it into dist/<host>/.
func Build(ctx context.Context, yes, verbose, keep, dryRun *bool, version, channel, host, gpus, preset, with, without, provider *string, jobs *int) error {
	return door(app.New().Build(ctx, app.BuildOptions{
		Wishes: app.Wishes{
			Version: value(version), Channel: value(channel), Hosts: value(host), GPUs: value(gpus), Preset: value(preset),
			With: value(with), Without: value(without), Provider: value(provider), Jobs: value(jobs),
		},
		Yes: value(yes), Verbose: value(verbose), KeepGoing: value(keep), DryRun: value(dryRun),
	}))
}

// Plan prints what a build would do, for any host, before anything is built.
func Plan(ctx context.Context, format, version, channel, host, gpus, preset, with, without, provider *string) error {
	return door(app.New().Plan(ctx, app.PlanOptions{
		Wishes: app.Wishes{
			Version: value(version), Channel: value(channel), Hosts: value(host), GPUs: value(gpus), Preset: value(preset),
			With: value(with), Without: value(without), Provider: value(provider),
		},
		Format: value(format),
	}))
}

// Graph prints the component graph as dot, mermaid or json.
func Graph(ctx context.Context, format, version, channel, host, gpus, preset, with, without, provider *string) error {
	return door(app.New().Graph(ctx, app.PlanOptions{
		Wishes: app.Wishes{
			Version: value(version), Channel: value(channel), Hosts: value(host), GPUs: value(gpus), Preset: value(preset),
			With: value(with), Without: value(without), Provider: value(provider),
		},
		Format: value(format),
	}))
}

// Doctor reports whether this machine has what the build needs.
func Doctor(ctx context.Context, yes *bool, format, channel, host, preset *string) error {
	return door(app.New().Doctor(ctx, app.DoctorOptions{
		Wishes: app.Wishes{Channel: value(channel), Hosts: value(host), Preset: value(preset)},
		Yes:    value(yes), Format: value(format),
	}))
}

// Lock resolves therock.yaml anew and writes therock.lock.
func Lock(ctx context.Context, check *bool, version *string) error {
	return door(app.New().Lock(ctx, app.LockOptions{Wishes: app.Wishes{Version: value(version)}, Check: value(check)}))
}

// Verify proves a bundle: closed, relocatable, unchanged, running.
func Verify(ctx context.Context, bundle, host, format *string, noRun *bool) error {
	return door(app.New().Verify(ctx, app.VerifyOptions{Bundle: value(bundle), Host: value(host), Format: value(format), NoRun: value(noRun)}))
}

// Smoke compiles the examples for every GPU and looks into what came out.
func Smoke(ctx context.Context, bundle, gpus, format *string, jobs *int) error {
	return door(app.New().Smoke(ctx, app.SmokeOptions{Bundle: value(bundle), GPUs: value(gpus), Format: value(format), Jobs: value(jobs)}))
}

// Clean removes dist, logs and bin; with -store=true the user's store too.
func Clean(ctx context.Context, store *bool) error {
	return door(app.New().Clean(ctx, app.CleanOptions{Store: value(store)}))
}

// Component builds one component with what it needs.
func Component(ctx context.Context, name string, yes, verbose, rebuild *bool, channel, host, provider *string, jobs *int) error {
	return one(ctx, name, yes, verbose, rebuild, channel, host, provider, jobs)
}

// AmdLLVM builds amd-llvm: clang, lld and the LLVM tools.
func AmdLLVM(ctx context.Context, yes, verbose, rebuild *bool, channel, host, provider *string, jobs *int) error {
	return one(ctx, "amd-llvm", yes, verbose, rebuild, channel, host, provider, jobs)
}

// DeviceLibs builds device-libs, the device bitcode libraries.
func DeviceLibs(ctx context.Context, yes, verbose, rebuild *bool, channel, host, provider *string, jobs *int) error {
	return one(ctx, "device-libs", yes, verbose, rebuild, channel, host, provider, jobs)
}

// Hipcc builds hipcc and hipconfig with what they need.
func Hipcc(ctx context.Context, yes, verbose, rebuild *bool, channel, host, provider *string, jobs *int) error {
	return one(ctx, "hipcc", yes, verbose, rebuild, channel, host, provider, jobs)
}

// Hipify builds hipify-clang and hipify-perl.
func Hipify(ctx context.Context, yes, verbose, rebuild *bool, channel, host, provider *string, jobs *int) error {
	return one(ctx, "hipify", yes, verbose, rebuild, channel, host, provider, jobs)
}

// Stubs builds the stub libraries, for linking without a GPU.
func Stubs(ctx context.Context, yes, verbose *bool, host *string, jobs *int) error {
	return door(app.New().Group(ctx, "STUBS", app.BuildOptions{
		Wishes: app.Wishes{Hosts: value(host), Jobs: value(jobs)}, Yes: value(yes), Verbose: value(verbose),
	}))
}

func one(ctx context.Context, name string, yes, verbose, rebuild *bool, channel, host, provider *string, jobs *int) error {
	wishes := app.Wishes{Channel: value(channel), Hosts: value(host), Jobs: value(jobs)}
	if p := value(provider); p != "" {
		wishes.Provider = name + "=" + p
	}
	return door(app.New().Build(ctx, app.BuildOptions{
		Wishes: wishes, Only: []string{name}, Yes: value(yes), Verbose: value(verbose), Rebuild: value(rebuild),
	}))
}

// CI holds targets for continuous integration.
type CI mg.Namespace

// Matrix prints the jobs of a GitHub Actions matrix as JSON.
func (CI) Matrix(ctx context.Context, host, gpus, preset *string) error {
	return door(app.New().Matrix(ctx, app.MatrixOptions{Wishes: app.Wishes{Hosts: value(host), GPUs: value(gpus), Preset: value(preset)}}))
}

// Patch holds targets for patches.
type Patch mg.Namespace

// New makes a patch out of an edited copy of a component's source.
func (Patch) New(ctx context.Context, component, edited, title string, why, upstream, channel, provider *string) error {
	return door(app.New().PatchNew(ctx, app.PatchOptions{Wishes: siteWishes(component, channel, nil, provider), Component: component, Edited: edited, Title: title, Why: value(why), Upstream: value(upstream)}))
}

// Step runs one step of a component again, in the folder that a failed build left.
func Step(ctx context.Context, component, step string, channel, host, provider *string) error {
	return door(app.New().Step(ctx, app.SiteOptions{Wishes: siteWishes(component, channel, host, provider), Component: component, Step: step}))
}

// Shell opens a shell in a component's build folder, with its environment.
func Shell(ctx context.Context, component string, channel, host, provider *string) error {
	return door(app.New().Shell(ctx, app.SiteOptions{Wishes: siteWishes(component, channel, host, provider), Component: component}))
}

// Repro builds a component twice, in different folders, and compares every byte; all builds them all.
func Repro(ctx context.Context, component string, format, channel, host, provider *string) error {
	w := siteWishes(component, channel, host, provider)
	return door(app.New().Repro(ctx, app.ReproOptions{Wishes: w, Component: component, Format: value(format)}))
}

func siteWishes(component string, channel, host, provider *string) app.Wishes {
	w := app.Wishes{Channel: value(channel), Hosts: value(host)}
	if p := value(provider); p != "" {
		w.Provider = component + "=" + p
	}
	return w
}

// Source puts a component's patched source into a new folder, to work on.
func Source(ctx context.Context, component, dest string, channel, provider *string) error {
	wishes := app.Wishes{Channel: value(channel)}
	if p := value(provider); p != "" {
		wishes.Provider = component + "=" + p
	}
	return door(app.New().Source(ctx, app.SourceOptions{Wishes: wishes, Component: component, Dest: dest}))
}
