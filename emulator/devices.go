package emulator

import (
	"fmt"

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
		if _, err := decoderOf(name); err == nil {
			id := target.ID
			id.Processor = name
			return id.String(), true
		}
	}
	return "", false
}

// decoderOf returns the decoder of a processor whose instructions run: those of
// RDNA are decoded only.
func decoderOf(processor string) (*isa.Decoder, error) {
	dec, err := isa.NewDecoder(processor)
	if err == nil && dec.Generation() > 9 {
		err = fmt.Errorf("%s: its instructions are decoded, not run yet: name a GFX9 processor, such as gfx942", processor)
	}
	if err != nil {
		return nil, err
	}
	return dec, nil
}
