package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Lock takes the lock of a name (a key, say) and waits for whoever holds it.
// The lock dies with its process, so a killed build blocks nobody.
func (s *Store) Lock(name string) (unlock func(), err error) {
	return s.LockContext(context.Background(), name)
}

// LockContext is Lock with an end to the waiting.
func (s *Store) LockContext(ctx context.Context, name string) (unlock func(), err error) {
	f, err := lockFile(ctx, filepath.Join(s.root, "locks", name), unix.LOCK_EX)
	if err != nil {
		return nil, s.fail("cannot lock "+name, err)
	}
	return func() { _ = f.Close() }, nil
}

// tryLock takes the lock of a name when nobody holds it.
func (s *Store) tryLock(file string) (unlock func(), ok bool) {
	f, err := lockFile(context.Background(), file, unix.LOCK_EX|unix.LOCK_NB)
	if err != nil {
		return nil, false
	}
	return func() { _ = f.Close() }, true
}

// lockFile opens a file, which is made when it is not there, and locks it with
// flock(2): as package lockedfile does, and with a wait that can be ended.
// Closing the file gives the lock back; so does the end of the process.
func lockFile(ctx context.Context, name string, how int) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	err = flock(f, how|unix.LOCK_NB)
	if !errors.Is(err, unix.EWOULDBLOCK) || how&unix.LOCK_NB != 0 {
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return f, nil
	}
	taken := make(chan error, 1)
	go func() { taken <- flock(f, how) }()
	select {
	case err := <-taken:
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return f, nil
	case <-ctx.Done():
		// The system call cannot be interrupted; when it ends, the lock is
		// given back at once.
		go func() { <-taken; _ = f.Close() }()
		return nil, context.Cause(ctx)
	}
}

func flock(f *os.File, how int) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var lockErr error
	err = conn.Control(func(fd uintptr) {
		for {
			if lockErr = unix.Flock(int(fd), how); !errors.Is(lockErr, unix.EINTR) {
				return
			}
		}
	})
	return errors.Join(err, lockErr)
}

// Claim locks a folder for as long as its owner works in it, and reports
// whether nobody else has. The folder of a dead process can be claimed.
func Claim(dir string) (release func(), ok bool, err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, false, fmt.Errorf("store: %w", err)
	}
	if err := flock(f, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, false, nil
		}
		return nil, false, fmt.Errorf("store: cannot lock %s: %w", dir, err)
	}
	return func() { _ = f.Close() }, true, nil
}
