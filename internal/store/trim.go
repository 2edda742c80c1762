package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Trim removes artifacts, those used longest ago first, until what is left is
// at most max bytes. What keep lists stays, whatever its age: a bundle in use
// is never cut into. It returns how many objects and bytes went.
func (s *Store) Trim(ctx context.Context, max int64, keep []Content) (objects int, bytes int64, err error) {
	type object struct {
		content Content
		bytes   int64
		used    time.Time
		actions []string
	}
	found := map[Content]*object{}
	err = filepath.WalkDir(filepath.Join(s.root, "actions"), func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(file) != ".json" {
			return err
		}
		a, err := readAction(file)
		if err != nil {
			return nil // an unreadable record names no object
		}
		o := found[a.Content]
		if o == nil {
			o = &object{content: a.Content, bytes: a.Bytes}
			found[a.Content] = o
		}
		o.actions = append(o.actions, file)
		if info, err := d.Info(); err == nil && info.ModTime().After(o.used) {
			o.used = info.ModTime()
		}
		return nil
	})
	if err != nil {
		return 0, 0, fmt.Errorf("store: %w", err)
	}
	var total int64
	var order []*object
	for _, o := range found {
		total += o.bytes
		if !slices.Contains(keep, o.content) {
			order = append(order, o)
		}
	}
	slices.SortFunc(order, func(a, b *object) int { return a.used.Compare(b.used) })
	for _, o := range order {
		if total <= max {
			break
		}
		if err := ctx.Err(); err != nil {
			return objects, bytes, err
		}
		if err := s.remove(o.content, o.actions); err != nil {
			return objects, bytes, err
		}
		total -= o.bytes
		bytes += o.bytes
		objects++
	}
	return objects, bytes, nil
}

// remove takes an object away: first the actions that name it, then, by a
// rename, its name, and last its files, so that nothing ever finds half of it.
func (s *Store) remove(c Content, actions []string) error {
	dir, err := s.object(c)
	if err != nil {
		return err
	}
	unlock, err := s.Lock("object-" + filepath.Base(dir))
	if err != nil {
		return err
	}
	defer unlock()
	for _, file := range actions {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("store: %w", err)
		}
	}
	tmp, err := s.Tmp("gone")
	if err != nil {
		return err
	}
	if err := os.Rename(dir, filepath.Join(tmp, "object")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("store: %w", err)
	}
	return os.RemoveAll(tmp)
}

// Used records that an action's result was used now: Trim goes by it.
func (s *Store) Used(a Action) {
	now := time.Now()
	_ = os.Chtimes(s.actionFile(a.Component, a.Key.ID), now, now) // a store that cannot be written trims by age of building
}
