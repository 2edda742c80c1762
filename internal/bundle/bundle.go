// Package bundle composes the artifacts of one host into a relocatable prefix
// and describes it: a manifest, a bill of materials, and a file to source.
package bundle

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/build"
	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/internal/store"
	"github.com/stonemason-hip/stonemason/internal/treehash"
)

// Where a bundle keeps its own description.
const (
	ManifestFile = "share/stonemason/manifest.json"
	SBOMFile     = "share/stonemason/sbom.cdx.json"
	EnvFile      = "env.sh"
)

// Manifest says what a bundle is made of. It holds no time and no path of the
// machine: the same artifacts give the same manifest.
type Manifest struct {
	Schema     int         `json:"schema"`
	Name       string      `json:"name"`
	Release    string      `json:"release"`
	Channel    string      `json:"channel"`
	Host       string      `json:"host"`
	GPUs       []string    `json:"gpus"`
	Components []Component `json:"components"`
	Files      []File      `json:"files"`
}

// Component is one artifact of a bundle.
type Component struct {
	Name     string         `json:"name"`
	Host     string         `json:"host"`
	Version  string         `json:"version"`
	License  string         `json:"license,omitempty"`
	Provider string         `json:"provider"`
	Key      string         `json:"key"`
	Content  string         `json:"content"`
	Bytes    int64          `json:"bytes"`
	Slices   map[string]int `json:"slices"` // number of files by slice
	Sources  []plan.Source  `json:"sources,omitempty"`
	Patches  []plan.Patch   `json:"patches,omitempty"`
	Needs    []string       `json:"needs,omitempty"`
	// Exceptions are findings of the audit that are right for the component.
	Exceptions []spec.Exception `json:"exceptions,omitempty"`
}

// File is one file of a bundle and where it came from.
type File struct {
	Component string `json:"component"`
	store.File
}

// Compose makes dir the bundle of a host out of a build's results, unless it
// is that already. The old bundle stays until the new one is complete.
func Compose(ctx context.Context, s *store.Store, g *plan.Graph, results map[string]*build.Result, host, dir string) (m *Manifest, changed bool, err error) {
	m, err = describe(s, g, results, host)
	if err != nil {
		return nil, false, err
	}
	own, err := m.ownFiles()
	if err != nil {
		return nil, false, err
	}
	data, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return nil, false, err
	}
	data = append(data, '\n')
	// Another build of this checkout may be composing the same folder.
	unlock, err := s.Lock("bundle-" + fmt.Sprintf("%x", sha256.Sum256([]byte(dir)))[:12])
	if err != nil {
		return nil, false, err
	}
	defer unlock()
	// What a killed one left: the lock says that nobody is at it.
	unfinished := "." + filepath.Base(dir) + "-"
	if err := removeAll(filepath.Dir(dir), unfinished); err != nil {
		return nil, false, fmt.Errorf("bundle: %w", err)
	}
	if old, err := os.ReadFile(filepath.Join(dir, ManifestFile)); err == nil && bytes.Equal(old, data) && intact(dir, m) {
		return m, false, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, false, fmt.Errorf("bundle: %w", err)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), unfinished)
	if err != nil {
		return nil, false, fmt.Errorf("bundle: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	fresh := filepath.Join(tmp, "new")
	if err := fill(ctx, s, g, results, host, fresh, own, data); err != nil {
		return nil, false, fmt.Errorf("bundle %s: %w", host, err)
	}
	// Two renames: for a moment there is no bundle, but never half of one.
	if err := os.Rename(dir, filepath.Join(tmp, "old")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, fmt.Errorf("bundle: %w", err)
	}
	if err := os.Rename(fresh, dir); err != nil {
		return nil, false, fmt.Errorf("bundle: %w", err)
	}
	return m, true, nil
}

// removeAll removes the folders of dir whose names have a prefix.
func removeAll(dir, prefix string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), prefix) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

func describe(s *store.Store, g *plan.Graph, results map[string]*build.Result, host string) (*Manifest, error) {
	m := &Manifest{Schema: 1, Name: g.Name, Release: g.Release, Channel: string(g.Channel), Host: host, GPUs: g.GPUs}
	owner := map[string]string{}
	for _, n := range g.Bundled(host) {
		res := results[n.ID]
		if res == nil || res.Err != nil {
			return nil, fmt.Errorf("bundle: %s was not built", n.ID)
		}
		files, err := s.Manifest(res.Action.Content)
		if err != nil {
			return nil, err
		}
		c := Component{
			Name: n.Component, Host: n.Host, Version: n.Version, License: n.License, Provider: string(n.Provider),
			Key: string(res.Key.ID), Content: string(res.Action.Content), Bytes: res.Action.Bytes,
			Slices: map[string]int{}, Sources: portable(n.Sources), Patches: n.Patches, Exceptions: n.Exceptions,
		}
		for _, id := range n.Runtime {
			c.Needs = append(c.Needs, g.Node(id).Component)
		}
		for _, f := range files.Files {
			if f.Type == treehash.Dir {
				continue
			}
			if other, taken := owner[f.Path]; taken {
				return nil, conflict("%s and %s both hold %s", other, n.Component, f.Path)
			}
			owner[f.Path] = n.Component
			c.Slices[f.Slice]++
			m.Files = append(m.Files, File{Component: n.Component, File: f})
		}
		m.Components = append(m.Components, c)
	}
	slices.SortFunc(m.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	for _, f := range m.Files {
		for d := path.Dir(f.Path); d != "."; d = path.Dir(d) {
			if other, taken := owner[d]; taken {
				return nil, conflict("%s holds %s, and %s holds %s", other, d, f.Component, f.Path)
			}
		}
	}
	return m, nil
}

// conflict is the error of two artifacts that do not go into one bundle.
func conflict(format string, args ...any) error {
	return exit.Withf(exit.Config, "bundle: "+format+": install one of them elsewhere, or switch it off", args...)
}

// portable leaves out of sources what only this machine understands: addresses
// of its own files, and where a workspace lies.
func portable(sources []plan.Source) []plan.Source {
	var out []plan.Source
	for _, s := range sources {
		s.URLs = slices.DeleteFunc(slices.Clone(s.URLs), func(u string) bool { return strings.HasPrefix(strings.ToLower(u), "file:") })
		if filepath.IsAbs(s.Workspace) {
			s.Workspace = filepath.Base(s.Workspace)
		}
		out = append(out, s)
	}
	return out
}

func fill(ctx context.Context, s *store.Store, g *plan.Graph, results map[string]*build.Result, host, dir string, own map[string][]byte, manifest []byte) error {
	for _, n := range g.Bundled(host) {
		tree, err := s.Tree(results[n.ID].Action.Content)
		if err != nil {
			return err
		}
		if err := store.CopyTree(ctx, tree, dir, nil); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if err := write(dir, name, own[name]); err != nil {
			return err
		}
	}
	return write(dir, ManifestFile, manifest) // the last: see intact
}

func write(dir, name string, data []byte) error {
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

// ownFiles makes the files that no component brings, and enters them into the
// manifest.
func (m *Manifest) ownFiles() (map[string][]byte, error) {
	var sbom bytes.Buffer
	if err := writeSBOM(&sbom, m); err != nil {
		return nil, err
	}
	for _, name := range []string{ManifestFile, SBOMFile, EnvFile} {
		if i := slices.IndexFunc(m.Files, func(f File) bool { return f.Path == name }); i >= 0 {
			return nil, conflict("%s holds %s, which is the bundle's own", m.Files[i].Component, name)
		}
	}
	own := map[string][]byte{SBOMFile: sbom.Bytes(), EnvFile: []byte(envScript)}
	for name, data := range own {
		m.Files = append(m.Files, File{Component: "bundle", File: store.File{
			Entry: treehash.Entry{Path: name, Type: treehash.File, SHA256: fmt.Sprintf("%x", sha256.Sum256(data)), Size: int64(len(data))},
			Slice: string(spec.Doc),
		}})
	}
	slices.SortFunc(m.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return own, nil
}

// intact reports whether a bundle still looks as it was composed, without
// reading its files: same paths, kinds, sizes and modes, and nothing written
// after the manifest, which is written last.
func intact(dir string, m *Manifest) bool {
	manifest, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(ManifestFile)))
	if err != nil {
		return false
	}
	want := map[string]File{}
	for _, f := range m.Files {
		want[f.Path] = f
	}
	err = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if rel == ManifestFile {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		f, listed := want[rel]
		delete(want, rel)
		same := listed && !info.ModTime().After(manifest.ModTime())
		switch f.Type {
		case treehash.Symlink:
			target, err := os.Readlink(file)
			same = same && err == nil && target == f.Target
		default:
			same = same && info.Mode().IsRegular() && info.Size() == f.Size && (info.Mode()&0o100 != 0) == f.Exec
		}
		if !same {
			return errDamaged
		}
		return nil
	})
	return err == nil && len(want) == 0
}

var errDamaged = errors.New("the bundle is not as it was composed")

// envScript finds the bundle by its own place, so that it needs no editing
// when the bundle is moved.
const envScript = `# Puts this HIP toolchain on the search path. Source it: . path/to/env.sh
if [ -n "${BASH_SOURCE:-}" ]; then
  _stonemason=${BASH_SOURCE}
elif [ -n "${ZSH_VERSION:-}" ]; then
  eval '_stonemason=${(%):-%x}'
elif [ -n "${STONEMASON_BUNDLE:-}" ]; then
  _stonemason=$STONEMASON_BUNDLE/env.sh
else
  _stonemason=./env.sh
fi
_stonemason=$(CDPATH= cd -- "$(dirname -- "$_stonemason")" && pwd)
if [ -x "$_stonemason/bin/hipcc" ] || [ -x "$_stonemason/lib/llvm/bin/clang" ]; then
  # clang and hipcc find the bundle by their own place; these variables, left
  # over from another ROCm, would lead them away from it.
  unset HIP_CLANG_PATH HIP_DEVICE_LIB_PATH HIP_LIB_PATH DEVICE_LIB_PATH
  export ROCM_PATH="$_stonemason" HIP_PATH="$_stonemason"
  export PATH="$_stonemason/bin:$_stonemason/lib/llvm/bin:$PATH"
  export CMAKE_PREFIX_PATH="$_stonemason${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}"
else
  echo "env.sh: no bundle in $_stonemason: in this shell, set STONEMASON_BUNDLE to its folder first" >&2
fi
unset _stonemason
`

// Load reads the manifest of a bundle.
func Load(dir string) (*Manifest, error) {
	data, err := os.ReadFile(filepath.Join(dir, ManifestFile))
	if err != nil {
		return nil, fmt.Errorf("no bundle in %s: %w", dir, err)
	}
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, ManifestFile), err)
	}
	return &m, nil
}

// Damage compares a bundle with its manifest and lists what differs.
func Damage(ctx context.Context, dir string, m *Manifest) ([]string, error) {
	have, err := treehash.List(ctx, dir, treehash.Options{})
	if err != nil {
		return nil, err
	}
	found := map[string]treehash.Entry{}
	for _, e := range have {
		if e.Type != treehash.Dir {
			found[e.Path] = e
		}
	}
	var damage []string
	for _, f := range m.Files {
		e, ok := found[f.Path]
		switch {
		case !ok:
			damage = append(damage, f.Path+": missing")
		case e != f.Entry:
			damage = append(damage, f.Path+": changed")
		}
		delete(found, f.Path)
	}
	for path := range found {
		if path != ManifestFile {
			damage = append(damage, path+": not in the manifest")
		}
	}
	slices.Sort(damage)
	return damage, nil
}
