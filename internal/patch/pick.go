package patch

import "fmt"

// Pick returns one patch of the series by file name, whatever it is for: the
// choice was made before, by [Series.Select].
func (s *Series) Pick(file string) (Selected, error) {
	for _, p := range s.Patches {
		if p.File == file && s.bodies[file] != nil {
			return Selected{Patch: p, SHA256: s.bodies[file].sha256, body: s.bodies[file]}, nil
		}
	}
	return Selected{}, fmt.Errorf("%s is not in the series any more", file)
}
