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
//	locks/                                 one lock file a key
//	tmp/                                   what is not sealed yet
//
// An object or action appears under its name only by a rename of something
// that was written completely and synced before: what has its name is whole.
package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/renameio/v2"
	"github.com/rogpeppe/go-internal/lockedfile"
	"golang.org/x/sys/unix"

	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/key"
	"github.com/stonemason-hip/stonemason/internal/treehash"
)

// layoutVersion is the number in the version file. A store with a higher one
// was made by a newer Stonemason and is refused.
const layoutVersion = "1"

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
}

// Manifest lists the files of a sealed tree and the slice each belongs to.
type Manifest struct {
	Schema int    `json:"schema"`
	Files  []File `json:"files"`
}

// File is one entry of a Manifest. Path is slash-separated and relative.
type File struct {
	treehash.Entry
	Slice string `json:"slice,omitempty"` // run, lib, dev, dbg or doc; empty for folders
}

// Store is an open store.
type Store struct {
	root string
}

// VersionError says that a store was made by a newer Stonemason.
type VersionError struct{ Root, Found string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("store %s has layout %s, and this stonemason knows %s: use a newer stonemason, or another folder (cache.dir in therock.yaml)", e.Root, e.Found, layoutVersion)
}

// Open opens the store in a folder and makes it when it is not there.
func Open(root string) (*Store, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	for _, dir := range []string{"objects", "actions", "sources", "checkouts", "locks", "tmp"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return nil, exit.Withf(exit.Config, "store: cannot make %s: %w (choose another folder with cache.dir in therock.yaml or STONEMASON_CACHE_DIR)", filepath.Join(root, dir), err)
		}
	}
	if err := unix.Access(filepath.Join(root, "tmp"), unix.W_OK); err != nil {
		return nil, exit.Withf(exit.Config, "store: cannot use %s: %w (choose another folder with cache.dir in therock.yaml or STONEMASON_CACHE_DIR)", root, err)
	}
	versionFile := filepath.Join(root, "version")
	found, err := os.ReadFile(versionFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := renameio.WriteFile(versionFile, []byte(layoutVersion+"\n"), 0o644); err != nil {
			return nil, fmt.Errorf("store: cannot write %s: %w", versionFile, err)
		}
	case err != nil:
		return nil, fmt.Errorf("store: %w", err)
	case strings.TrimSpace(string(found)) != layoutVersion:
		return nil, &VersionError{Root: root, Found: fmt.Sprintf("%.20s", strings.Trim(strconv.Quote(strings.TrimSpace(string(found))), `"`))}
	}
	return &Store{root: root}, nil
}

// Root is the store's folder, absolute.
func (s *Store) Root() string { return s.root }

// Sources is the folder for downloads.
func (s *Store) Sources() string { return filepath.Join(s.root, "sources") }

// Checkouts is the folder for git trees.
func (s *Store) Checkouts() string { return filepath.Join(s.root, "checkouts") }

// Tmp makes a fresh folder on the store's own file system.
func (s *Store) Tmp(prefix string) (string, error) {
	dir, err := os.MkdirTemp(filepath.Join(s.root, "tmp"), prefix+"-")
	if err != nil {
		return "", fmt.Errorf("store: %w", err)
	}
	return dir, nil
}

// Lock takes the lock of a name (a key, say) and waits for whoever holds it.
// The lock dies with its process, so a killed build blocks nobody.
func (s *Store) Lock(name string) (unlock func(), err error) {
	unlock, err = lockedfile.MutexAt(filepath.Join(s.root, "locks", name)).Lock()
	if err != nil {
		return nil, fmt.Errorf("store: cannot lock %s: %w", name, err)
	}
	return unlock, nil
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

// Manifest reads the file list of a sealed tree.
func (s *Store) Manifest(c Content) (*Manifest, error) {
	dir, err := s.object(c)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		return nil, fmt.Errorf("store: object %s: %w", c.Short(), err)
	}
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("store: manifest of %s: %w", c.Short(), err)
	}
	return &m, nil
}

func (s *Store) actionFile(component string, id key.ID) string {
	return filepath.Join(s.root, "actions", component, string(id)+".json")
}

// Lookup finds what a key gave before. ok is false when there is nothing, or
// when the object that the action names is gone.
func (s *Store) Lookup(component string, id key.ID) (a Action, ok bool, err error) {
	a, err = readAction(s.actionFile(component, id))
	if errors.Is(err, fs.ErrNotExist) {
		return Action{}, false, nil
	}
	if err != nil {
		return Action{}, false, fmt.Errorf("%w (remove the file and build again)", err)
	}
	if a.Key.ID != id {
		return Action{}, false, fmt.Errorf("store: action %s/%s names another key: remove %s", component, id.Short(), s.actionFile(component, id))
	}
	if _, err := s.Tree(a.Content); err != nil {
		return Action{}, false, nil
	}
	return a, true, nil
}

func readAction(file string) (Action, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return Action{}, err
	}
	var a Action
	if err := json.Unmarshal(data, &a); err != nil {
		return Action{}, fmt.Errorf("store: %s: %w", file, err)
	}
	return a, nil
}

// History lists the actions of a component, newest first.
func (s *Store) History(component string) ([]Action, error) {
	dir := filepath.Join(s.root, "actions", component)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	var actions []Action
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		a, err := readAction(filepath.Join(dir, e.Name()))
		if err != nil {
			continue // one unreadable record must not hide the others
		}
		actions = append(actions, a)
	}
	slices.SortFunc(actions, func(a, b Action) int { return b.Created.Compare(a.Created) })
	return actions, nil
}

// Seal takes a staged tree into the store: the stage folder, which must lie
// on the store's file system, is renamed away. slice names the slice of each
// file. The action is completed (content, size, time) and recorded last, so
// that no action ever names an object that is not whole.
func (s *Store) Seal(ctx context.Context, a Action, stage string, slice func(path string) string) (Action, error) {
	entries, err := treehash.List(ctx, stage, treehash.Options{})
	if err != nil {
		return a, fmt.Errorf("store: cannot seal %s: %w", a.Component, err)
	}
	a.Schema, a.Content = 1, Content(treehash.IDOf(entries))
	a.Created = time.Now().UTC()
	a.Bytes, a.Files = 0, 0
	manifest := Manifest{Schema: 1}
	for _, e := range entries {
		f := File{Entry: e}
		if e.Type != treehash.Dir {
			f.Slice = slice(e.Path)
			a.Files++
			a.Bytes += e.Size
		}
		manifest.Files = append(manifest.Files, f)
	}
	dir, err := s.object(a.Content)
	if err != nil {
		return a, err
	}
	unlock, err := s.Lock("object-" + filepath.Base(dir))
	if err != nil {
		return a, err
	}
	defer unlock()
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := s.sealObject(stage, dir, manifest); err != nil {
			return a, fmt.Errorf("store: cannot seal %s: %w", a.Component, err)
		}
	} else if err != nil {
		return a, fmt.Errorf("store: %w", err)
	} else if err := os.RemoveAll(stage); err != nil {
		return a, fmt.Errorf("store: %w", err)
	}
	return a, s.record(a)
}

// sealObject writes manifest and tree into a temporary folder, syncs, and
// gives the whole its name.
func (s *Store) sealObject(stage, dir string, m Manifest) error {
	tmp, err := s.Tmp("seal")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	data, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tmp, "manifest.json"), data, 0o644); err != nil {
		return err
	}
	if err := os.Rename(stage, filepath.Join(tmp, "tree")); err != nil {
		return err
	}
	if err := syncTree(tmp); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	if err := os.Rename(tmp, dir); err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

// Record stores an action whose object is already sealed: what a key gave
// when another key gave the same content before.
func (s *Store) record(a Action) error {
	data, err := json.MarshalIndent(a, "", " ")
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	file := s.actionFile(a.Component, a.Key.ID)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if err := renameio.WriteFile(file, data, 0o644); err != nil {
		return fmt.Errorf("store: cannot record %s: %w", file, err)
	}
	return nil
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// syncTree syncs every regular file and folder below root, so that a name
// given afterwards never stands for data that a power cut took away.
func syncTree(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() || d.Type().IsRegular() {
			return syncDir(path)
		}
		return nil
	})
}
