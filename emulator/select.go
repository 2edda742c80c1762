package emulator

import (
	"errors"
	"fmt"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
)

// codeFor finds the code object for the device: the data itself, an entry of an
// offload bundle, plain or compressed, or one of the bundles that a host file
// embeds.
func (d *Device) codeFor(data []byte) ([]byte, error) {
	switch {
	case codeobj.IsObject(data):
		return data, nil
	case codeobj.IsBundle(data):
		b, err := codeobj.ParseBundle(data, codeobj.Limits{})
		if err != nil {
			return nil, err
		}
		e, err := b.Select(d.table, d.target)
		return e.Data, err
	}
	section, err := codeobj.FatBinary(data)
	if err != nil {
		return nil, err
	}
	bundles, err := codeobj.ParseBundles(section, codeobj.Limits{})
	if err != nil {
		return nil, err
	}
	for _, b := range bundles {
		e, err := b.Select(d.table, d.target)
		if errors.Is(err, codeobj.ErrNoMatch) {
			continue
		}
		return e.Data, err
	}
	return nil, fmt.Errorf("%d bundles: %w: %s", len(bundles), codeobj.ErrNoMatch, d.target)
}
