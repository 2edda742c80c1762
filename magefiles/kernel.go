//go:build mage

package main

import (
	"context"
	"time"

	"github.com/magefile/mage/mg"

	"github.com/stonemason-hip/stonemason/internal/app"
)

// Kernel holds targets for kernels: what they are, and running them without a GPU.
type Kernel mg.Namespace

// Run runs the kernels of a source or code object on the emulator, as -launch=FILE says (FILE.launch.yaml), and compares what they compute; -template prints such a file, -trace=GROUP,WAVE,LANE follows a wave.
func (Kernel) Run(ctx context.Context, file string, launch, gpu, bundle, cflags, format, check, kernel, trace, junit *string, seed, budget, steps *int, deadline *time.Duration, counters, template, quiet *bool) error {
	return door(app.New().KernelRun(ctx, app.KernelRunOptions{
		KernelOptions: app.KernelOptions{File: file, GPU: value(gpu), Bundle: value(bundle), Flags: value(cflags), Format: value(format)},
		Launch:        value(launch), Seed: seed, Budget: value(budget), Check: value(check), Counters: value(counters), Template: value(template), Kernel: value(kernel),
		Trace: value(trace), Steps: steps, JUnit: value(junit), Quiet: value(quiet), Deadline: value(deadline),
	}))
}

// Info prints kernels, arguments, registers, memory and occupancy of a source or code object, and with -disassemble the instructions.
func (Kernel) Info(ctx context.Context, file string, kernel, gpu, bundle, cflags, format *string, block, lds *int, disassemble *bool) error {
	return door(app.New().KernelInfo(ctx, app.KernelInfoOptions{
		KernelOptions: app.KernelOptions{File: file, GPU: value(gpu), Bundle: value(bundle), Flags: value(cflags), Format: value(format)},
		Kernel:        value(kernel), Block: value(block), LDS: value(lds), Disassemble: value(disassemble),
	}))
}

// Library measures how exact the device's mathematical functions are on the emulator, and prints a table.
func (Kernel) Library(ctx context.Context, gpu, bundle, cflags *string) error {
	return door(app.New().KernelLibrary(ctx, app.KernelOptions{GPU: value(gpu), Bundle: value(bundle), Flags: value(cflags)}))
}
