package codeobj

// Slice is one of the code objects of a file.
type Slice struct {
	ID   string // of the entry of the bundle; empty for a code object that stands alone
	Data []byte
}

// Slices returns the code objects of a file: itself when it is one, those of an
// offload bundle, plain or compressed, or those of the bundles that a host object,
// library or program embeds. Empty entries are left out.
func Slices(data []byte, limits Limits) ([]Slice, error) {
	if IsObject(data) {
		return []Slice{{Data: data}}, nil
	}
	var bundles []*Bundle
	if IsBundle(data) {
		b, err := ParseBundle(data, limits)
		if err != nil {
			return nil, err
		}
		bundles = append(bundles, b)
	} else {
		section, err := FatBinary(data)
		if err != nil {
			return nil, err
		}
		if bundles, err = ParseBundles(section, limits); err != nil {
			return nil, err
		}
	}
	var list []Slice
	for _, b := range bundles {
		for _, e := range b.Entries {
			if e.Device() && len(e.Data) > 0 {
				list = append(list, Slice{ID: e.ID, Data: e.Data})
			}
		}
	}
	return list, nil
}
