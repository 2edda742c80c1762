package patch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/stonemason-hip/stonemason/internal/bounded"
	"github.com/stonemason-hip/stonemason/internal/yamlx"
)

// SeriesFile is the name of the list that lies beside the patches.
const SeriesFile = "series.yaml"

// SchemaVersion is the version of the list's format that this package reads
// and writes.
const SchemaVersion = 1

// Limits on what is read. The largest patches of the distributions that carry
// ROCm are some hundred kilobytes.
const (
	maxPatchBytes  = 16 << 20
	maxSeriesBytes = 1 << 20
	maxPatches     = 999
)

// Series is the list of a component's patches, in the order in which they are
// applied: that of their file names.
type Series struct {
	_       struct{} `doc:"The patches of a component, in the order in which they are applied."`
	Schema  int      `yaml:"schema" sm:"required,min=1,max=1" doc:"Version of this file's format: 1."`
	Patches []Patch  `yaml:"patches" doc:"The patches. Every .patch file of the folder is listed, in the order of the names."`

	bodies map[string]*body
}

// Patch is one entry of series.yaml.
type Patch struct {
	File     string   `yaml:"file" sm:"required" pattern:"^[0-9]{4}-[a-z0-9][a-z0-9.+-]*\\.patch$" doc:"Name of the file in this folder: four digits, a dash, a few words in lower case, .patch."`
	Title    string   `yaml:"title" sm:"required,min=1,max=100" doc:"What it does, in one line."`
	Why      string   `yaml:"why" sm:"required,min=1" doc:"What breaks without it."`
	Upstream string   `yaml:"upstream" sm:"required" pattern:"^(https://|none\\b)" doc:"Link to the change or the report upstream, or none and the reason."`
	Hosts    []string `yaml:"hosts,omitempty" sm:"min=1,unique,enum=linux|darwin|linux-amd64|linux-arm64|darwin-arm64" doc:"Operating systems or hosts that it is for. Without this key, all."`
	Versions string   `yaml:"versions" sm:"required,min=1" doc:"Range of the source's versions, as a semver constraint."`
	Channels []string `yaml:"channels,omitempty" sm:"min=1,unique,enum=upstream|debian" doc:"Channels whose sources it is for. Without this key, all."`
	LLVM     string   `yaml:"llvm,omitempty" sm:"min=1" doc:"Range of the LLVM that is built against, as a semver constraint. Without this key, any or none."`
}

// CheckYAMLX refuses ranges that are no constraints.
func (p *Patch) CheckYAMLX(n *yamlx.Node) error {
	for _, r := range []struct{ key, text string }{{"versions", p.Versions}, {"llvm", p.LLVM}} {
		if r.text == "" {
			continue
		}
		if _, err := semver.NewConstraint(r.text); err != nil {
			at := n
			if v := n.Get(r.key); v != nil {
				at = v
			}
			return at.Errorf("%s: %q is no range of versions (such as \">=7.0.0 <7.1.0\"): %v", r.key, r.text, err)
		}
	}
	return nil
}

// body is the content of a patch file.
type body struct {
	sha256 string // of the whole file, in hex
	change string // SHA-256 of the changes alone, without message and index lines
	files  []fileDiff
}

// Load reads series.yaml and the patch files that it lists from the folder dir
// of fsys. Without that folder the series is empty. Everything is read here and
// once: what is hashed into a key is what is applied later.
//
// Errors in series.yaml name file, line and column; those in a patch file name
// the file and the line in it.
func Load(fsys fs.FS, dir string) (*Series, error) {
	entries, err := fs.ReadDir(fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return &Series{Schema: SchemaVersion}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the patches in %s: %w", dir, err)
	}
	list := path.Join(dir, SeriesFile)
	data, err := bounded.ReadFile(fsys, list, maxSeriesBytes)
	if errors.Is(err, fs.ErrNotExist) {
		if i := slices.IndexFunc(entries, isPatchFile); i >= 0 {
			return nil, fmt.Errorf("%s is missing, but %s holds %s: list it there", list, dir, entries[i].Name())
		}
		return &Series{Schema: SchemaVersion}, nil
	}
	if err != nil {
		return nil, err
	}
	s := &Series{bodies: map[string]*body{}}
	if err := yamlx.Decode(list, data, s); err != nil {
		return nil, err
	}
	if len(s.Patches) > maxPatches {
		return nil, fmt.Errorf("%s: %d patches, more than %d", list, len(s.Patches), maxPatches)
	}
	for i, p := range s.Patches {
		if i > 0 && p.File <= s.Patches[i-1].File {
			return nil, fmt.Errorf("%s: %s is listed after %s; the list is in the order of the names, each once", list, p.File, s.Patches[i-1].File)
		}
		name := path.Join(dir, p.File)
		data, err := bounded.ReadFile(fsys, name, maxPatchBytes)
		if err != nil {
			return nil, fmt.Errorf("%s lists %s: %w", list, p.File, err)
		}
		if s.bodies[p.File], err = parseBody(data); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, e := range entries {
		if isPatchFile(e) && s.bodies[e.Name()] == nil {
			return nil, fmt.Errorf("%s holds %s, which %s does not list: list it or remove it", dir, e.Name(), SeriesFile)
		}
	}
	return s, nil
}

func isPatchFile(e fs.DirEntry) bool { return strings.HasSuffix(e.Name(), ".patch") }

func hexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
