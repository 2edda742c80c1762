package emulator

import (
	"errors"
	"fmt"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
)

// codeFor finds the code object for the device: the first of those that are.
func (d *Device) codeFor(data []byte) ([]byte, error) {
	list, err := d.CodeObjects(data)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// CodeObjects returns the code objects for the device: the data itself, an entry of an
// offload bundle, plain or compressed, or one out of each of the bundles that a host file
// embeds, of which linkers lay one for each source behind the other. There is at least
// one, or the error wraps codeobj.ErrNoMatch or says what is wrong with the data.
func (d *Device) CodeObjects(data []byte) ([][]byte, error) {
	var bundles []*codeobj.Bundle
	switch {
	case codeobj.IsObject(data):
		return [][]byte{data}, nil
	case codeobj.IsBundle(data):
		b, err := codeobj.ParseBundle(data, codeobj.Limits{})
		if err != nil {
			return nil, err
		}
		bundles = append(bundles, b)
	default:
		section, err := codeobj.FatBinary(data)
		if err != nil {
			return nil, err
		}
		if bundles, err = codeobj.ParseBundles(section, codeobj.Limits{}); err != nil {
			return nil, err
		}
	}
	var list [][]byte
	for _, b := range bundles {
		e, err := b.Select(d.table, d.target)
		switch {
		case errors.Is(err, codeobj.ErrNoMatch):
		case err != nil:
			return nil, err
		default:
			list = append(list, e.Data)
		}
	}
	switch {
	case len(list) > 0:
		return list, nil
	case len(bundles) == 1:
		return nil, fmt.Errorf("%s: %w", d.target, codeobj.ErrNoMatch)
	}
	return nil, fmt.Errorf("%d bundles: %w: %s", len(bundles), codeobj.ErrNoMatch, d.target)
}
