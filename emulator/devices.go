package emulator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/emulator/isa"
	"github.com/stonemason-hip/stonemason/toolchain/gpu"
)

// DeviceFor names a device that runs code for a target: the target itself, or the
// first processor that a generic one covers and whose instructions run. It is
// false when there is none.
func DeviceFor(target gpu.Target) (string, bool) {
	names := []string{target.Name}
	if target.Generic() {
		names = target.Covers
	}
	for _, name := range names {
		if _, _, err := decodersOf(name); err == nil {
			id := target.ID
			id.Processor = name
			return id.String(), true
		}
	}
	return "", false
}

// Processors returns the names of the processors that there are devices of, in the
// order of the instruction tables.
func Processors() ([]string, error) {
	all, err := isa.Processors()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(name string) bool { return !runs(name) }), nil
}

// runs reports a processor that there can be a device of. There is none of code for
// several, and of gfx1250 and gfx1251 the instructions are decoded alone.
func runs(processor string) bool {
	return !strings.HasSuffix(processor, "-generic") && !strings.HasPrefix(processor, "gfx125")
}

// decodersOf returns the decoders of a processor for waves of 64 lanes, and of 32
// where it has them.
func decodersOf(processor string) (wide, narrow *isa.Decoder, err error) {
	all, err := Processors()
	if err != nil {
		return nil, nil, err
	}
	switch {
	case slices.Contains(all, processor):
	case strings.HasSuffix(processor, "-generic"):
		return nil, nil, fmt.Errorf("%s is code for several processors, and none itself: name one that it covers", processor)
	default:
		return nil, nil, fmt.Errorf("%s is not emulated: what is are %s", processor, strings.Join(all, ", "))
	}
	if wide, err = isa.NewWave64Decoder(processor); err != nil || wide.Generation() == 9 {
		return wide, nil, err
	}
	narrow, err = isa.NewDecoder(processor)
	return wide, narrow, err
}
