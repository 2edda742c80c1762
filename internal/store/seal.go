package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stonemason-hip/stonemason/internal/treehash"
)

// Seal takes a staged tree into the store: the stage folder, which must lie
// on the store's file system, is renamed away. slice names the slice of each
// file. The action is completed (content, size, time) and recorded last, so
// that no action ever names an object that is not whole. What was sealed is
// held (see Hold).
//
// An object that is there already is kept when it is as it was sealed, with
// its files in the slices that they have now; a damaged one goes into quarantine, and the stage takes its place. After an
// error there is neither object nor action, and no leftover that could be
// removed; when the disk is full its exit code is Resources.
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
	// Before it is looked for: see Hold.
	if err := s.Hold(a.Content); err != nil {
		return a, err
	}
	unlock, err := s.LockContext(ctx, "object-"+filepath.Base(dir))
	if err != nil {
		return a, err
	}
	defer unlock()
	if err := s.sealOnce(ctx, a.Content, stage, dir, manifest); err != nil {
		return a, s.fail("cannot seal "+a.Component, err)
	}
	return a, s.record(a)
}

// sealOnce makes the object unless it is there and sound. The caller holds the
// object's lock.
func (s *Store) sealOnce(ctx context.Context, c Content, stage, dir string, m Manifest) error {
	_, err := os.Lstat(dir)
	if err == nil {
		problems, err := s.examine(ctx, c)
		if err != nil {
			return err
		}
		if len(problems) == 0 {
			// Whoever renamed it may have died before it synced the folder.
			if err := syncDir(filepath.Dir(dir)); err != nil {
				return err
			}
			if err := s.reslice(c, dir, m); err != nil {
				return err
			}
			return removeAll(stage)
		}
		if err := s.quarantine(c, problems); err != nil {
			return err
		}
		s.warn("store: object %s was damaged and is replaced: %s", c.Short(), problems[0])
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.sealObject(stage, dir, m)
}

// reslice gives the files of a sound object the slices of the latest seal: the
// rules for them are in a key, and not in the content. The caller holds the
// object's lock.
func (s *Store) reslice(c Content, dir string, m Manifest) error {
	file := filepath.Join(dir, "manifest.json")
	old, err := readManifest(file, c)
	if err != nil || slices.Equal(old.Files, m.Files) {
		return err
	}
	data, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	defer s.forgetManifest(c)
	return s.writeFile(file, data)
}

// sealObject writes manifest and tree into a temporary folder, syncs, and
// gives the whole its name.
func (s *Store) sealObject(stage, dir string, m Manifest) (err error) {
	tmp, err := os.MkdirTemp(filepath.Join(s.root, "tmp"), s.tmpPattern("seal"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, removeAll(tmp)) }()
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
	if err := mkdir(filepath.Dir(dir)); err != nil {
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

// record stores an action whose object is sealed and durable.
func (s *Store) record(a Action) error {
	data, err := json.MarshalIndent(a, "", " ")
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	file := s.actionFile(a.Component, a.Key.ID)
	err = mkdir(filepath.Dir(file))
	if err == nil {
		err = s.writeFile(file, data)
	}
	return s.fail("cannot record "+file, err)
}

// syncTree syncs every regular file and folder below root, so that a name
// given afterwards never stands for data that a power cut took away. Several
// at once: a journal then writes them in few turns.
func syncTree(root string) error {
	var g errgroup.Group
	g.SetLimit(max(8, runtime.GOMAXPROCS(0)))
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && (d.IsDir() || d.Type().IsRegular()) {
			g.Go(func() error { return syncDir(path) })
		}
		return err
	})
	return errors.Join(err, g.Wait())
}
