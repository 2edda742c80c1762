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

// Read is [Load] for a text that is at hand. The folder is where the descriptions
// lie that it uses.
func Read(folder fs.FS, library string, text []byte) (*Library, error) {
	return read(folder, library, inProject(library), text, nil)
}

// ReadFile is [Read] for the description of any library; file is what errors call
// it.
func ReadFile(folder fs.FS, file string, text []byte) (*Library, error) {
	return read(folder, "", file, text, nil)
}

// inProject is the file of a library's description, as errors name it.
func inProject(library string) string { return path.Join("remote/api", library+".yaml") }

func load(folder fs.FS, library string, users []string) (*Library, error) {
	if len(users) == maxUses {
		return nil, fmt.Errorf("API descriptions use each other more than %d deep: %s", maxUses, strings.Join(append(users, library), " → "))
	}
	data, err := readBounded(folder, library+".yaml")
	if err != nil {
		return nil, err
	}
	return read(folder, library, inProject(library), data, users)
}

func read(folder fs.FS, library, file string, data []byte, users []string) (*Library, error) {
	l := new(Library)
	src, err := yamlx.DecodeSource(file, data, l, yamlx.MaxBytes(MaxBytes))
	if err != nil {
		return nil, err
	}
	l.src = src
	if library != "" && l.Name != library {
		return nil, src.Errorf("library", "the file is called %s.yaml, but describes %s", library, l.Name)
	}
	for i, name := range l.Uses {
		if name == l.Name || slices.Contains(users, name) {
			return nil, src.Errorf(yamlx.Index("uses", i), "API descriptions use each other in a circle: %s", strings.Join(append(users, l.Name, name), " → "))
		}
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
