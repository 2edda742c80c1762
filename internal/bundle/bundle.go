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
	"time"

	"github.com/stonemason-hip/stonemason/internal/build"
	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/internal/step"
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

	// sliceOf names the slice of a file. The store's list has those of the
	// latest key that gave the content, which need not be this one.
	sliceOf func(string) string
}

// File is one file of a bundle and where it came from.
type File struct {
	Component string `json:"component"`
	store.File
}

// composition is raised when the same artifacts give another bundle than
// before in a way that neither manifest, bill of materials nor env.sh shows.
const composition = 2

// Compose makes dir the bundle of a host out of a build's results, unless it
// is that already. The old bundle stays until the new one is complete. The
// bundle is registered as a root of the store, so that what it is made of is
// not evicted.
//
// That a bundle is what it should be is told from its registration, without
// opening a file: it was composed from the same things, and nobody has written
// to its folder since (store.Stamp). What a stamp cannot see, such as a bit
// that flips on the disk, Damage finds.
func Compose(ctx context.Context, s *store.Store, g *plan.Graph, results map[string]*build.Result, host, dir string) (changed bool, err error) {
	m, contents, err := components(g, results, host)
	if err != nil {
		return false, err
	}
	sbom, err := m.sbom()
	if err != nil {
		return false, err
	}
	head, err := json.Marshal(m)
	if err != nil {
		return false, err
	}
	inputs := fmt.Sprintf("%x", sha256.Sum256(slices.Concat(fmt.Appendln(nil, composition), head, sbom, []byte(envScript))))
	// Another build of this checkout may be composing the same folder.
	unlock, err := s.LockContext(ctx, "bundle-"+fmt.Sprintf("%x", sha256.Sum256([]byte(dir)))[:12])
	if err != nil {
		return false, err
	}
	defer unlock()
	if root, ok := s.RootAt(dir); ok && root.Inputs == inputs {
		if state, err := store.Stamp(dir); err == nil && state == root.State {
			return false, nil
		}
	}
	if err := s.Hold(contents...); err != nil {
		return false, err
	}
	if err := m.describe(s); err != nil {
		return false, err
	}
	own := map[string][]byte{SBOMFile: sbom, EnvFile: []byte(envScript)}
	if err := m.enter(own); err != nil {
		return false, err
	}
	if err := replace(ctx, s, m, contents, dir, own); err != nil {
		return false, store.DiskError(dir, fmt.Errorf("bundle %s: %w", host, err))
	}
	state, err := store.Stamp(dir)
	if err != nil {
		return true, fmt.Errorf("bundle %s: %w", host, err)
	}
	return true, s.AddRoot(store.Root{
		Path: dir, Host: host, Contents: contents, Time: time.Now().UTC(), Manifest: ManifestFile, Inputs: inputs, State: state,
	})
}

// replace composes a bundle beside the folder and gives it the folder's name.
func replace(ctx context.Context, s *store.Store, m *Manifest, contents []store.Content, dir string, own map[string][]byte) (err error) {
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	prefix := "." + filepath.Base(dir) + "-"
	if err := sweep(parent, prefix); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return err
	}
	release, _, err := store.Claim(tmp)
	if err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	defer func() {
		err = errors.Join(err, os.RemoveAll(tmp))
		release()
	}()
	fresh := filepath.Join(tmp, "new")
	if err := s.Restore(ctx, contents, fresh); err != nil {
		return err
	}
	data, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	own[ManifestFile] = append(data, '\n')
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if err := write(fresh, name, own[name]); err != nil {
			return err
		}
	}
	// Two renames: for a moment there is no bundle, but never half of one.
	if err := os.Rename(dir, filepath.Join(tmp, "old")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(fresh, dir)
}

// sweep removes what a killed build had not finished beside the bundle.
func sweep(parent, prefix string) error {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		dir := filepath.Join(parent, e.Name())
		release, ok, err := store.Claim(dir)
		if err != nil || !ok {
			continue // somebody is at work there, or was a moment ago
		}
		err = os.RemoveAll(dir)
		release()
		if err != nil {
			return err
		}
	}
	return nil
}

// components says what a bundle is made of, without its files.
func components(g *plan.Graph, results map[string]*build.Result, host string) (*Manifest, []store.Content, error) {
	m := &Manifest{Schema: 1, Name: g.Name, Release: g.Release, Channel: string(g.Channel), Host: host, GPUs: g.GPUs}
	var contents []store.Content
	for _, n := range g.Bundled(host) {
		res := results[n.ID]
		if res == nil || res.Err != nil {
			return nil, nil, fmt.Errorf("bundle: %s was not built", n.ID)
		}
		c := Component{
			Name: n.Component, Host: n.Host, Version: n.Version, License: n.License, Provider: string(n.Provider),
			Key: string(res.Key.ID), Content: string(res.Action.Content), Bytes: res.Action.Bytes,
			Slices: map[string]int{}, Sources: portable(n.Sources), Patches: n.Patches, Exceptions: n.Exceptions,
			sliceOf: step.Slicer(n.Slices),
		}
		for _, id := range n.Runtime {
			c.Needs = append(c.Needs, g.Node(id).Component)
		}
		m.Components = append(m.Components, c)
		contents = append(contents, res.Action.Content)
	}
	return m, contents, nil
}

// describe enters the files of the components. Two that hold the same path do
// not go into one bundle.
func (m *Manifest) describe(s *store.Store) error {
	owner := map[string]string{}
	for _, c := range m.Components {
		files, err := s.Manifest(store.Content(c.Content))
		if err != nil {
			return exit.Hint(exit.With(exit.Verify, err), "go tool mage store:verify")
		}
		for _, f := range files.Files {
			if f.Type == treehash.Dir {
				continue
			}
			if other, taken := owner[f.Path]; taken {
				return conflict("%s and %s both hold %s", other, c.Name, f.Path)
			}
			owner[f.Path] = c.Name
			f.Slice = c.sliceOf(f.Path)
			c.Slices[f.Slice]++
			m.Files = append(m.Files, File{Component: c.Name, File: f})
		}
	}
	slices.SortFunc(m.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	for _, f := range m.Files {
		for d := path.Dir(f.Path); d != "."; d = path.Dir(d) {
			if other, taken := owner[d]; taken {
				return conflict("%s holds %s, and %s holds %s", other, d, f.Component, f.Path)
			}
		}
	}
	return nil
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

func write(dir, name string, data []byte) error {
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

// sbom is the bundle's bill of materials.
func (m *Manifest) sbom() ([]byte, error) {
	var b bytes.Buffer
	err := writeSBOM(&b, m)
	return b.Bytes(), err
}

// enter enters the files that no component brings into the manifest.
func (m *Manifest) enter(own map[string][]byte) error {
	for _, name := range []string{ManifestFile, SBOMFile, EnvFile} {
		if i := slices.IndexFunc(m.Files, func(f File) bool { return f.Path == name }); i >= 0 {
			return conflict("%s holds %s, which is the bundle's own", m.Files[i].Component, name)
		}
	}
	for name, data := range own {
		m.Files = append(m.Files, File{Component: "bundle", File: store.File{
			Entry: treehash.Entry{Path: name, Type: treehash.File, SHA256: fmt.Sprintf("%x", sha256.Sum256(data)), Size: int64(len(data))},
			Slice: string(spec.Doc),
		}})
	}
	slices.SortFunc(m.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

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
