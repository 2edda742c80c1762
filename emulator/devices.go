package emulator

import (
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
		if _, err := isa.NewDecoder(name); err == nil {
			id := target.ID
			id.Processor = name
			return id.String(), true
		}
	}
	return "", false
}

// decodersOf returns the decoders of a processor for waves of 64 lanes, and of 32
// where it has them.
func decodersOf(processor string) (wide, narrow *isa.Decoder, err error) {
	if wide, err = isa.NewWave64Decoder(processor); err != nil || wide.Generation() == 9 {
		return wide, nil, err
	}
	narrow, err = isa.NewDecoder(processor)
	return wide, narrow, err
}
