package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Root is a bundle that was composed from the store: its contents are not
// evicted while it is there.
type Root struct {
	Schema   int       `json:"schema"`
	Path     string    `json:"path"` // the bundle's folder, absolute
	Host     string    `json:"host"`
	Contents []Content `json:"contents"`
	Time     time.Time `json:"time"` // when it was composed
	// Manifest is a file of the bundle, relative to Path: a JSON object whose
	// components[].content are the bundle's contents. When it names others the
	// root is dropped.
	Manifest string `json:"manifest"`
	// Inputs is the hash of what the bundle was composed from, and State the
	// Stamp of its folder then: both unchanged, and nothing is to be done.
	Inputs string `json:"inputs,omitempty"`
	State  string `json:"state,omitempty"`
}

// maxRecord bounds a record that is read: an action, a root, a manifest.
const maxRecord = 64 << 20

func (s *Store) rootFile(path string) string {
	return filepath.Join(s.root, "roots", fmt.Sprintf("%x", sha256.Sum256([]byte(path)))[:16]+".json")
}

// AddRoot registers a bundle, in place of what its folder held before.
func (s *Store) AddRoot(r Root) error {
	r.Schema = 1
	if !filepath.IsAbs(r.Path) || !filepath.IsLocal(filepath.FromSlash(r.Manifest)) {
		return fmt.Errorf("store: %s with manifest %s is no bundle", r.Path, r.Manifest)
	}
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(s.root, "roots"), 0o755); err != nil {
		return s.fail("cannot register "+r.Path, err)
	}
	gate, err := lockFile(context.Background(), filepath.Join(s.root, "locks", leaseLock), unix.LOCK_SH)
	if err != nil {
		return s.fail("cannot register "+r.Path, err)
	}
	defer gate.Close()
	return s.fail("cannot register "+r.Path, s.writeFile(s.rootFile(r.Path), data))
}

// RootAt finds the registration of a bundle's folder, whether the bundle is
// there or not.
func (s *Store) RootAt(path string) (Root, bool) {
	r, err := readRoot(s.rootFile(path))
	return r, err == nil && r.Path == path
}

func readRoot(file string) (Root, error) {
	var r Root
	data, err := readRecord(file)
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err == nil && (!filepath.IsAbs(r.Path) || !filepath.IsLocal(filepath.FromSlash(r.Manifest))) {
		err = fmt.Errorf("%s names no bundle", file)
	}
	return r, err
}

// readRecord reads a file of the store, up to maxRecord.
func readRecord(file string) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Size() < maxRecord {
		b.Grow(int(info.Size()) + bytes.MinRead)
	}
	n, err := b.ReadFrom(io.LimitReader(f, maxRecord+1))
	if err == nil && n > maxRecord {
		err = fmt.Errorf("%s is larger than any record", file)
	}
	return b.Bytes(), errors.Join(err, f.Close())
}

// roots lists the bundles that are in use: of those registered, the ones whose
// folder is there and holds what was registered. With drop the other
// registrations go; the caller then holds leaseLock alone, so that nobody
// registers at the same time.
func (s *Store) roots(drop bool) ([]Root, error) {
	dir := filepath.Join(s.root, "roots")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, s.fail("cannot read the roots", err)
	}
	var roots []Root
	for _, e := range entries {
		file := filepath.Join(dir, e.Name())
		if filepath.Ext(file) != ".json" {
			continue
		}
		r, err := readRoot(file)
		if err == nil && r.stands() {
			roots = append(roots, r)
		} else if drop && !errors.Is(err, fs.ErrPermission) {
			_ = os.Remove(file) // at worst it is looked at again the next time
		}
	}
	slices.SortFunc(roots, func(a, b Root) int { return strings.Compare(a.Path, b.Path) })
	return roots, nil
}

// stands reports whether the root's bundle is still there. When in doubt, as
// with a folder that may not be read, it is.
func (r Root) stands() bool {
	data, err := readRecord(filepath.Join(r.Path, filepath.FromSlash(r.Manifest)))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false
	}
	if err != nil {
		return true
	}
	var m struct {
		Components []struct {
			Content Content `json:"content"`
		} `json:"components"`
	}
	if json.Unmarshal(data, &m) != nil {
		return false
	}
	var contents []Content
	for _, c := range m.Components {
		contents = append(contents, c.Content)
	}
	return slices.Equal(sorted(contents), sorted(r.Contents))
}

func sorted(c []Content) []Content {
	return slices.Compact(slices.Sorted(slices.Values(c)))
}
