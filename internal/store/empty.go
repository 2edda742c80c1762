package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// InUseError says that another process uses a store that was to be emptied.
type InUseError struct {
	Root string
	By   Session
}

func (e *InUseError) Error() string {
	return fmt.Sprintf("the store %s is in use by %s: wait for it", e.Root, e.By)
}

// contents are the folders of a store that hold something; the others say who
// uses what. made are those that Open makes, and expects to find.
func contents() (all, made []string) {
	made = []string{"objects", "actions", "sources", "checkouts"}
	return append([]string{"work", "apt", "roots", "quarantine"}, made...), made
}

// Empty takes everything out of the store, and returns the folders, absolute,
// that it found something in. While another process uses the store nothing is
// touched, and the error is an *InUseError.
//
// As with Trim, all loses its name first, while no lease can be taken and no
// session begun, and is deleted after that: a build that begins meanwhile finds
// an empty store, and never one that is being emptied. The locks stay: who
// waits for one must wait for the same file as the next who takes it.
func (s *Store) Empty(ctx context.Context) (emptied []string, err error) {
	unlock, err := s.LockContext(ctx, "trim")
	if err != nil {
		return nil, err
	}
	defer unlock()
	emptied, graves, err := s.buryAll(ctx)
	for _, dir := range graves {
		if ctx.Err() != nil {
			err = errors.Join(err, context.Cause(ctx)) // the next Trim finds them
			break
		}
		err = errors.Join(err, removeAll(dir))
	}
	if used := new(*InUseError); errors.As(err, used) {
		return nil, *used
	}
	return emptied, s.fail("cannot empty", err)
}

// buryAll takes the names of all that the store holds, and returns what is left
// to delete.
func (s *Store) buryAll(ctx context.Context) (emptied, graves []string, err error) {
	gate, err := lockFile(ctx, filepath.Join(s.root, "locks", leaseLock), unix.LOCK_EX)
	if err != nil {
		return nil, nil, err
	}
	defer gate.Close()
	others, err := s.others()
	if err != nil {
		return nil, nil, err
	}
	if len(others) > 0 {
		return nil, nil, &InUseError{Root: s.root, By: others[0]}
	}
	// Whose it was has ended. In its place: there may be no room for more.
	own := s.ownID()
	err = s.each("tmp", func(dir string, d fs.DirEntry, _ fs.FileInfo) error {
		if id, named := tmpSession(d.Name()); !named || id != own {
			graves = append(graves, filepath.Join(dir, d.Name()))
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	defer s.forgetManifests()
	all, made := contents()
	for _, name := range all {
		dir := filepath.Join(s.root, name)
		entries, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
			continue
		}
		if err != nil {
			return emptied, graves, err
		}
		emptied = append(emptied, dir)
		var raw [8]byte
		_, _ = rand.Read(raw[:]) // never fails
		hidden := filepath.Join(s.root, "tmp", grave+hex.EncodeToString(raw[:]))
		switch err := os.Rename(dir, hidden); {
		case err == nil:
			graves = append(graves, hidden)
		case errors.Is(err, unix.EXDEV) || errors.Is(err, unix.EBUSY):
			// A disk of its own, or a lower layer of a container's: nobody can
			// begin until it is empty.
			for _, e := range entries {
				if err := removeAll(filepath.Join(dir, e.Name())); err != nil {
					return emptied, graves, err
				}
			}
		default:
			return emptied, graves, err
		}
	}
	for _, name := range made {
		if err := os.MkdirAll(filepath.Join(s.root, name), 0o755); err != nil {
			return emptied, graves, err
		}
	}
	return emptied, graves, nil
}
