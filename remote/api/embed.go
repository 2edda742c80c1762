package api

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/yamlx"
)

//go:embed *.yaml
var descriptions embed.FS

// Descriptions are those that come with Stonemason, <library>.yaml each.
func Descriptions() fs.FS { return descriptions }

// Libraries names them, sorted.
func Libraries() []string {
	entries, _ := fs.ReadDir(descriptions, ".")
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), path.Ext(e.Name())))
	}
	slices.Sort(names)
	return names
}

// Digest is a hash of the text of a library's description and of those that it
// uses, directly or not.
func Digest(folder fs.FS, library string) (string, error) {
	h := sha256.New()
	seen := map[string]bool{}
	var add func(name string) error
	add = func(name string) error {
		if seen[name] {
			return nil
		}
		seen[name] = true
		data, err := readBounded(folder, name+".yaml")
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%s %d\n", name, len(data))
		h.Write(data)
		for _, used := range usesOf(data) {
			if err := add(used); err != nil {
				return err
			}
		}
		return nil
	}
	if err := add(library); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// usesOf reads the line "uses:" of a description as [Library.Bytes] writes it,
// without reading the rest.
func usesOf(data []byte) []string {
	for line := range strings.Lines(string(data)) {
		if list, ok := strings.CutPrefix(line, "uses:"); ok {
			var head struct {
				Uses []string `yaml:"uses"`
			}
			if yamlx.Decode("", []byte("uses:"+list), &head) == nil {
				return head.Uses
			}
		}
	}
	return nil
}
