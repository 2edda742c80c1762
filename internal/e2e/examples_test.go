//go:build e2e

package e2e

import (
	"flag"
	"path/filepath"
	"strings"
	"testing"

	gpu "github.com/stonemason-hip/stonemason/emulator"
	"github.com/stonemason-hip/stonemason/emulator/launchfile"
)

var everyLevel = flag.Bool("full", false, "the examples on all GPUs at each level of optimization, not on one")

// emulateExamples compiles each example at all levels of optimization, each for another GPU
// that the emulator knows, and runs it as its launch file says; with -full each for all.
// HIP's __shfl needs ds_bpermute_b32 to reach the whole wave, which it does not in waves of
// 64 lanes before gfx12: what uses it is not run there.
func emulateExamples(t *testing.T, bundle string) {
	files, err := filepath.Glob("../../examples/*/*.launch.yaml")
	if err != nil || len(files) < 6 {
		t.Fatalf("%d examples: %v", len(files), err)
	}
	targets := []string{"gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1030/64", "gfx1100/64", "gfx1201", "gfx1201/64"}
	levels := []string{"-O0", "-O1", "-O2", "-O3", "-Os"}
	for e, launch := range files {
		file, err := launchfile.Read(launch)
		if err != nil {
			t.Fatal(err)
		}
		source, err := filepath.Abs(strings.TrimSuffix(launch, ".launch.yaml") + ".hip")
		if err != nil {
			t.Fatal(err)
		}
		for n, target := range targets {
			arch, wide := strings.CutSuffix(target, "/64")
			for l, level := range levels {
				if !*everyLevel && n != (e*len(levels)+l)%len(targets) || wide && n < 10 && strings.Contains(launch, "reduction") {
					continue
				}
				t.Run(strings.TrimSuffix(filepath.Base(source), ".hip")+"/"+target+level, func(t *testing.T) {
					dir := t.TempDir()
					args := []string{filepath.Join(bundle, "bin", "hipcc"), "--offload-arch=" + arch, "--offload-device-only", "--no-gpu-bundle-output", level, source, "-o", filepath.Join(dir, "one.co")}
					if wide {
						args = append(args, "-mwavefrontsize64")
					}
					tool(t, dir, host(), args...)
					dev, err := gpu.NewDevice(arch)
					if err != nil {
						t.Fatal(err)
					}
					mod, err := dev.Load(read(t, dir, "one.co"))
					if err != nil {
						t.Fatal(err)
					}
					plan, err := file.Bind(mod.Object())
					if err != nil {
						t.Fatal(err)
					}
					report, err := plan.Run(t.Context(), dev, mod, gpu.Options{Budget: 1e9})
					if err != nil || !report.OK {
						t.Errorf("%+v, %v", report, err)
					}
				})
			}
		}
	}
}
