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
	"github.com/stonemason-hip/stonemason/emulator/isa/isatest"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

var full = flag.Bool("full", false, "all targets at all levels of optimization, not one level each")

// Every kernel on every target, each at one level of optimization, all of which
// occur; with -full at all five.
func TestConformance(t *testing.T) {
	levels := []string{"-O0", "-O1", "-O2", "-O3", "-Os"}
	for i, target := range append([]string{"gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950"}, rdna()...) {
		processor, narrow := wave(target)
		c := all(map[bool]int{true: 32, false: 64}[narrow])
		for j, level := range levels {
			if !*full && j != i%len(levels) {
				continue
			}
			t.Run(target+level, func(t *testing.T) { c.run(t, target, processor, level) })
		}
	}
}

// wave takes the name of a target apart: a processor of RDNA has waves of 32 lanes,
// unless /64 is behind it.
func wave(target string) (processor string, narrow bool) {
	processor, wide := strings.CutSuffix(target, "/64")
	return processor, !wide && slices.Contains(rdna(), target)
}

func (c *corpus) run(t *testing.T, target, processor, level string) {
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
	dev, err := emulator.NewDevice(processor)
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
			t.Errorf("%s: %s", k.name, strings.TrimSpace(wrong))
		}
	}
	t.Logf("%d of %d kernels", tried-failed, tried)
}
