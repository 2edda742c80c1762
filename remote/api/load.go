package api

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/yamlx"
)

// MaxBytes is the largest description that is read.
const MaxBytes = 8 << 20

// maxUses is how deep descriptions may use each other.
const maxUses = 8

// Load reads and checks the description of a library, the file <library>.yaml
// of the folder, and those that it uses. The error names file, line and column
// of everything that is wrong.
func Load(folder fs.FS, library string) (*Library, error) {
	return load(folder, library, nil)
}

// Read is [Load] for a text that is at hand, and for any library when the name
// is empty. The folder is where the descriptions lie that it uses.
func Read(folder fs.FS, library string, text []byte) (*Library, error) {
	return read(folder, library, text, nil)
}

func load(folder fs.FS, library string, users []string) (*Library, error) {
	if slices.Contains(users, library) || len(users) == maxUses {
		return nil, fmt.Errorf("API descriptions use each other in a circle, or more than %d deep: %s", maxUses, strings.Join(append(users, library), " → "))
	}
	data, err := readBounded(folder, library+".yaml")
	if err != nil {
		return nil, err
	}
	return read(folder, library, data, users)
}

func read(folder fs.FS, library string, data []byte, users []string) (*Library, error) {
	l := new(Library)
	file := library + ".yaml"
	if library == "" {
		file = "description"
	}
	src, err := yamlx.DecodeSource(path.Join("remote/api", file), data, l, yamlx.MaxBytes(MaxBytes))
	if err != nil {
		return nil, err
	}
	l.src = src
	if library != "" && l.Name != library {
		return nil, src.Errorf("library", "the file is called %s, but describes %s", file, l.Name)
	}
	for i, name := range l.Uses {
		used, err := load(folder, name, append(slices.Clone(users), l.Name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, src.Errorf(yamlx.Index("uses", i), "there is no description of %s", name)
		}
		if err != nil {
			return nil, err
		}
		l.used = append(l.used, used)
	}
	if err := l.Check(); err != nil {
		return nil, err
	}
	return l, nil
}

func readBounded(folder fs.FS, file string) ([]byte, error) {
	info, err := fs.Stat(folder, file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > MaxBytes {
		return nil, fmt.Errorf("%s is no regular file of at most %d bytes", file, MaxBytes)
	}
	return fs.ReadFile(folder, file)
}

// Used are the loaded descriptions that this one refers to.
func (l *Library) Used() []*Library { return l.used }

// With is the library with those that it uses: for a description that was not
// loaded from a file.
func (l *Library) With(used ...*Library) *Library {
	c := *l
	c.used = used
	return &c
}
