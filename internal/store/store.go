// Package store keeps what was built, by content, where every checkout of the
// machine finds it again.
//
// Layout of the root folder:
//
//	version                                the layout's number
//	objects/<aa>/<content>/tree/           a sealed install tree
//	objects/<aa>/<content>/manifest.json   its files (see Manifest)
//	actions/<component>/<key>.json         which content a key gave (Action)
//	sources/                               downloads, by sha256
//	checkouts/                             git trees, by commit and folders
//	work/<component>-<key>/                where a build goes on (package build)
//	locks/                                 one lock file a key
//	leases/                                what live processes use (Hold)
//	roots/                                 bundles in use (Root)
//	quarantine/                            what Verify found damaged, and why
//	tmp/                                   what is not sealed yet
//
// An object or action appears under its name only by a rename of something
// that was written completely and synced before, and the folder that holds the
// name is synced after: what has its name is whole, after a power cut too. An
// action is written when its object is durable.
//
// leases, roots and quarantine came later than layout 1 and are made when they
// are needed; a Stonemason that does not know them misreads nothing.
package store

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/key"
	"github.com/stonemason-hip/stonemason/internal/treehash"
)

// layoutVersion is the number in the version file. A store with a higher one
// was made by a newer Stonemason and is refused.
const layoutVersion = 1

// Content is the identity of a sealed tree: "sha256:" and 64 hex digits, as
// package treehash computes it.
type Content string

// Short is 12 digits of the content's hash, for people.
func (c Content) Short() string {
	s := strings.TrimPrefix(string(c), "sha256:")
	if len(s) > 12 {
		s = s[:12]
	}
	return s
}

func (c Content) hex() (string, error) {
	s, ok := strings.CutPrefix(string(c), "sha256:")
	if !ok || len(s) != 64 || strings.Trim(s, "0123456789abcdef") != "" {
		return "", fmt.Errorf("store: %q is not a content id", c)
	}
	return s, nil
}

// Action records that building a key gave a content.
type Action struct {
	Schema    int       `json:"schema"`
	Component string    `json:"component"`
	Host      string    `json:"host"` // a platform, or "any"
	Outcome   string    `json:"outcome"`
	Key       key.Key   `json:"key"`
	Content   Content   `json:"content"`
	Bytes     int64     `json:"bytes"`
	Files     int       `json:"files"`
	Seconds   float64   `json:"seconds"` // wall time of the build that made it
	Created   time.Time `json:"created"`
	// What the build took of the machine; 0 when nobody measured.
	CPU    float64 `json:"cpu,omitempty"`     // processor seconds of all children
	MaxRSS int64   `json:"max_rss,omitempty"` // bytes, of the largest child
	Jobs   int     `json:"jobs,omitempty"`    // the jobs that it was granted
}

// Manifest lists the files of a sealed tree and the slice each belongs to by the
// rules of the latest key that gave the content.
type Manifest struct {
	Schema int    `json:"schema"`
	Files  []File `json:"files"`
}

// File is one entry of a Manifest. Path is slash-separated and relative.
type File struct {
	treehash.Entry
	Slice string `json:"slice,omitempty"` // run, lib, dev, dbg or doc; empty for folders
}

// Store is an open store. Its methods may be called from several goroutines.
type Store struct {
	root string

	mu        sync.Mutex
	lease     *lease
	manifests map[Content]*Manifest
	warned    map[string]bool
	warnings  []string
}

// VersionError says that a store was made by a newer Stonemason.
type VersionError struct{ Root, Found string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("store %s has layout %s, and this stonemason knows %d: use a newer stonemason, or another folder (cache.dir in therock.yaml)", e.Root, e.Found, layoutVersion)
}

// Open opens the store in a folder and makes it when it is not there. A folder
// that cannot be written to, and a store of a newer layout (*VersionError), are
// errors with exit code Config.
func Open(root string) (*Store, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	s := &Store{root: root, manifests: map[Content]*Manifest{}, warned: map[string]bool{}}
	for _, dir := range []string{"objects", "actions", "sources", "checkouts", "locks", "tmp"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return nil, s.fail("cannot make "+filepath.Join(root, dir), err)
		}
	}
	for _, dir := range []string{"", "tmp", "locks"} {
		if err := unix.Access(filepath.Join(root, dir), unix.W_OK); err != nil {
			return nil, s.fail("cannot use "+filepath.Join(root, dir), err)
		}
	}
	return s, s.checkVersion()
}

// checkVersion reads the layout's number, or writes it into a new store.
func (s *Store) checkVersion() error {
	file := filepath.Join(s.root, "version")
	text, err := readRecord(file)
	if errors.Is(err, fs.ErrNotExist) {
		return s.fail("cannot write "+file, s.writeFile(file, fmt.Appendln(nil, layoutVersion)))
	}
	if err != nil {
		return s.fail("cannot read "+file, err)
	}
	found := strings.TrimSpace(string(text))
	if n, err := strconv.Atoi(found); err != nil || n < 1 {
		return exit.Withf(exit.Config, "store: %s holds %.20q, which is no layout: write %d into it when the folder is a store, or use another folder (cache.dir in therock.yaml)", file, found, layoutVersion)
	} else if n > layoutVersion {
		return exit.With(exit.Config, &VersionError{Root: s.root, Found: found})
	}
	return nil
}

// warn tells once of something damaged.
func (s *Store) warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.warned[text] {
		s.warned[text] = true
		s.warnings = append(s.warnings, text)
	}
}

// Warnings returns what was found damaged since the last call, and is made
// again.
func (s *Store) Warnings() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	texts := s.warnings
	s.warnings = nil
	return texts
}

// Root is the store's folder, absolute.
func (s *Store) Root() string { return s.root }

// Sources is the folder for downloads. Whoever asks for it is taken for one
// that uses them: until its session ends, no other process evicts any.
func (s *Store) Sources() string {
	s.sessionID()
	return filepath.Join(s.root, "sources")
}

// Checkouts is the folder for git trees.
func (s *Store) Checkouts() string { return filepath.Join(s.root, "checkouts") }

// Tmp makes a fresh folder on the store's own file system. What is left of it
// when this process has ended is removed by the next Trim.
func (s *Store) Tmp(prefix string) (string, error) {
	dir, err := os.MkdirTemp(filepath.Join(s.root, "tmp"), s.tmpPattern(prefix))
	return dir, s.fail("cannot make a folder", err)
}

func (s *Store) object(c Content) (string, error) {
	hex, err := c.hex()
	if err != nil {
		return "", err
	}
	return filepath.Join(s.root, "objects", hex[:2], hex), nil
}

// Tree is the folder of a sealed tree. It is for reading only.
func (s *Store) Tree(c Content) (string, error) {
	dir, err := s.object(c)
	if err != nil {
		return "", err
	}
	tree := filepath.Join(dir, "tree")
	if _, err := os.Stat(tree); err != nil {
		return "", fmt.Errorf("store: object %s is not there: %w", c.Short(), err)
	}
	return tree, nil
}

// Manifest reads the file list of a sealed tree. A list that is not the one
// that was sealed is an error. The result is shared: it is for reading only.
func (s *Store) Manifest(c Content) (*Manifest, error) {
	dir, err := s.object(c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	m := s.manifests[c]
	s.mu.Unlock()
	if m != nil {
		return m, nil
	}
	if m, err = readManifest(filepath.Join(dir, "manifest.json"), c); err != nil {
		return nil, fmt.Errorf("store: object %s: %w", c.Short(), err)
	}
	s.mu.Lock()
	s.manifests[c] = m
	s.mu.Unlock()
	return m, nil
}

// readManifest reads a manifest and holds it to the content that it lists: the
// content's name is the hash of the list.
func readManifest(file string, c Content) (*Manifest, error) {
	data, err := readRecord(file)
	if err != nil {
		return nil, err
	}
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	entries := make([]treehash.Entry, 0, len(m.Files))
	for _, f := range m.Files {
		if !fs.ValidPath(f.Path) || f.Path == "." {
			return nil, fmt.Errorf("%s: %q is no path of a tree", file, f.Path)
		}
		entries = append(entries, f.Entry)
	}
	if Content(treehash.IDOf(entries)) != c {
		return nil, fmt.Errorf("%s does not list what was sealed", file)
	}
	return &m, nil
}

func (s *Store) actionFile(component string, id key.ID) string {
	return filepath.Join(s.root, "actions", component, string(id)+".json")
}

// Lookup finds what a key gave before, and holds it (see Hold). ok is false
// when there is nothing, when the object that the action names is gone, and
// when action or manifest are damaged: that is told as a warning, and the next
// Seal puts them right.
func (s *Store) Lookup(component string, id key.ID) (a Action, ok bool, err error) {
	file := s.actionFile(component, id)
	a, err = readAction(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Action{}, false, nil
	case errors.Is(err, fs.ErrPermission):
		return Action{}, false, s.fail("cannot read "+file, err)
	case err == nil && (a.Component != component || a.Key.ID != id):
		err = errors.New("it is of another key")
	}
	if err == nil {
		_, err = a.Content.hex()
	}
	if err != nil {
		s.warn("store: the record %s cannot be used (%v): %s is built again", file, err, component)
		return Action{}, false, nil
	}
	if err := s.Hold(a.Content); err != nil {
		return Action{}, false, err
	}
	if _, err := s.Tree(a.Content); errors.Is(err, fs.ErrNotExist) {
		return Action{}, false, nil
	} else if err != nil {
		return Action{}, false, s.fail("cannot read an object", err)
	}
	if _, err := s.Manifest(a.Content); errors.Is(err, fs.ErrPermission) {
		return Action{}, false, s.fail("cannot read an object", err)
	} else if err != nil {
		s.warn("%v: %s is built again", err, component)
		return Action{}, false, nil
	}
	return a, true, nil
}

// readAction reads a record. One whose key is not the one that its text gives
// is damaged.
func readAction(file string) (Action, error) {
	data, err := readRecord(file)
	if err != nil {
		return Action{}, err
	}
	var a Action
	if err := json.Unmarshal(data, &a); err != nil {
		return Action{}, fmt.Errorf("store: %s: %w", file, err)
	}
	if fmt.Sprintf("%x", sha256.Sum256([]byte(a.Key.Text))) != string(a.Key.ID) {
		return Action{}, fmt.Errorf("store: %s: the key is not the one of its text", file)
	}
	return a, nil
}

// maxHistory is how many actions of a component History reads: a comparison
// with what is older helps nobody, and a store may hold thousands.
const maxHistory = 200

// Components are the components of which there are, or were, records: of no
// other one does Lookup or History find any. It is nil when they cannot be
// listed.
func (s *Store) Components() map[string]bool {
	entries, err := os.ReadDir(filepath.Join(s.root, "actions"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	all := make(map[string]bool, len(entries))
	for _, e := range entries {
		all[e.Name()] = true
	}
	return all
}

// History lists the actions of a component, newest first: the 200 that were
// used last.
func (s *Store) History(component string) ([]Action, error) {
	dir := filepath.Join(s.root, "actions", component)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	type record struct {
		name string
		used time.Time
	}
	var records []record
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), ".json") {
			records = append(records, record{e.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(records, func(a, b record) int { return b.used.Compare(a.used) })
	var actions []Action
	for _, r := range records[:min(len(records), maxHistory)] {
		a, err := readAction(filepath.Join(dir, r.name))
		if err != nil {
			continue // one unreadable record must not hide the others
		}
		actions = append(actions, a)
	}
	slices.SortFunc(actions, func(a, b Action) int { return b.Created.Compare(a.Created) })
	return actions, nil
}
