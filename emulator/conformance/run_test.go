package conformance

import (
	"context"
	"encoding/binary"
	"flag"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/emulator"
	"github.com/stonemason-hip/stonemason/emulator/isa"
	"github.com/stonemason-hip/stonemason/emulator/isa/isatest"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
	"github.com/stonemason-hip/stonemason/toolchain/gpu"
)

var full = flag.Bool("full", false, "all targets at all levels of optimization, generic ones on all GPUs that they cover")

// Every kernel on every target; with -full each at all five levels of optimization, else
// at one that is another for its neighbours. Without -full processors that have the
// same instructions as the one before stay out, for which LLVM makes the same code,
// and code for a generic target runs on the first that it covers alone.
func TestConformance(t *testing.T) {
	levels := []string{"-O0", "-O1", "-O2", "-O3", "-Os"}
	table, err := gpu.Load()
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, target := range targets() {
		processor, narrow := wave(target)
		if !*full && !distinct(t, processor) {
			continue
		}
		devices := []string{processor}
		if p, _ := table.Processor(processor); p.Generic() {
			if devices = p.Covers; !*full {
				devices = devices[:1]
			}
		}
		c := all(map[bool]int{true: 32, false: 64}[narrow])
		for j, level := range levels {
			if !*full && j != at%len(levels) {
				continue
			}
			t.Run(target+level, func(t *testing.T) { c.run(t, target, processor, level, devices...) })
		}
		at++
	}
}

// distinct reports the processors that no other before them has all instructions of,
// and generic ones.
func distinct(t *testing.T, processor string) bool {
	same, err := isa.Alike(processor)
	if err != nil {
		t.Fatal(err)
	}
	return same[0] == processor || strings.HasSuffix(processor, "-generic")
}

// targets lists what the kernels are compiled for: all processors of the emulator and
// generic ones, RDNA's in waves of 32 and of 64 lanes, marked /64.
func targets() []string {
	processors, err := isa.Processors()
	if err != nil {
		panic(err) // the tests of package isa would show it
	}
	devices, err := emulator.Processors()
	if err != nil {
		panic(err)
	}
	var list []string
	for _, p := range processors {
		if !slices.Contains(devices, p) && !strings.HasSuffix(p, "-generic") {
			continue // it is decoded alone
		}
		if list = append(list, p); isRDNA(p) {
			list = append(list, p+"/64")
		}
	}
	return list
}

func isRDNA(processor string) bool { return strings.HasPrefix(processor, "gfx1") }

// wave takes the name of a target apart: a processor of RDNA has waves of 32 lanes,
// unless /64 is behind it.
func wave(target string) (processor string, narrow bool) {
	processor, wide := strings.CutSuffix(target, "/64")
	return processor, !wide && isRDNA(target)
}

// run compiles the kernels for a target and runs them on devices.
func (c *corpus) run(t *testing.T, target, processor, level string, devices ...string) {
	flags := []string{level, "-ffp-contract=off", "-fwrapv", "-Wno-everything"}
	if strings.HasSuffix(target, "/64") {
		flags = append(flags, "-mwavefrontsize64")
	}
	path := llvmtest.HIP(t, c.source(target, level), processor, flags...)
	isatest.Agrees(t, path, target)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range devices {
		c.runOn(t, name, data, target, level)
	}
}

func (c *corpus) runOn(t *testing.T, device string, data []byte, target, level string) {
	dev, err := emulator.NewDevice(device)
	if err != nil {
		t.Fatal(err)
	}
	mod, err := dev.Load(data)
	if err != nil {
		t.Fatal(err)
	}
	var args [][]byte
	var buffers [3][]byte
	for i := range buffers {
		p, err := dev.Alloc(8 * room)
		if err != nil {
			t.Fatal(err)
		}
		if buffers[i], err = dev.Bytes(p, 8*room); err != nil {
			t.Fatal(err)
		}
		args = append(args, binary.LittleEndian.AppendUint64(nil, uint64(p)))
	}
	args = append(args, binary.LittleEndian.AppendUint32(nil, items))
	a, b, out := buffers[0], buffers[1], buffers[2]
	tried, failed := 0, 0
	for _, k := range c.list {
		if !k.runsOn(target, level) {
			continue
		}
		tried++
		k.fill(a, b, rand.New(rand.NewPCG(1, uint64(len(k.name)))))
		clear(out)
		_, err := mod.Launch(context.Background(), k.name, emulator.Dim3{X: 4, Y: 1, Z: 1}, emulator.Dim3{X: block, Y: 1, Z: 1}, args, emulator.Options{Budget: 5e7})
		wrong := ""
		if err != nil {
			wrong = err.Error()
		} else {
			wrong = k.check(a, b, out)
		}
		if wrong == "" {
			// They are right, so no check has anything to say, and nothing changes by it.
			clear(out)
			if _, err := mod.Launch(context.Background(), k.name, emulator.Dim3{X: 4, Y: 1, Z: 1}, emulator.Dim3{X: block, Y: 1, Z: 1}, args,
				emulator.Options{Budget: 5e7, Check: emulator.CheckRace | emulator.CheckInit | emulator.CheckWait}); err != nil {
				wrong = "checked: " + err.Error()
			} else {
				wrong = k.check(a, b, out)
			}
		}
		if wrong != "" {
			failed++
			t.Errorf("%s: %s: %s", device, k.name, strings.TrimSpace(wrong))
		}
	}
	t.Logf("%s: %d of %d kernels", device, tried-failed, tried)
}
