package isa

import "slices"

// Processors returns the names of the processors whose instructions are known, in the
// order of their generations.
func Processors() ([]string, error) {
	t, err := load()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, c := range t.columns {
		if !slices.Contains(names, c.processor) {
			names = append(names, c.processor)
		}
	}
	return names, nil
}
