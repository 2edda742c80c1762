package fetch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// lock takes the lock of one hash, which excludes other goroutines and other
// processes. The lock file stays: removing it would let two holders in.
func (f *Fetcher) lock(ctx context.Context, sum string) (func(), error) {
	dir := filepath.Join(f.Dir, "lock")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	type result struct {
		unlock func()
		err    error
	}
	taken := make(chan result, 1)
	go func() {
		unlock, err := lockedfile.MutexAt(filepath.Join(dir, sum)).Lock()
		taken <- result{unlock, err}
	}()
	select {
	case r := <-taken:
		return r.unlock, r.err
	case <-ctx.Done():
		// The wait cannot be interrupted; whenever it ends, give the lock back.
		go func() {
			if r := <-taken; r.err == nil {
				r.unlock()
			}
		}()
		return nil, ctx.Err()
	}
}

// sweep removes what killed downloads of the same file left. The caller holds
// the lock, so nobody is writing there.
func (f *Fetcher) sweep(sum string) {
	dir := filepath.Join(f.Dir, "tmp")
	names, err := os.ReadDir(dir)
	if err != nil {
		return // nothing to sweep; a real problem shows when writing
	}
	for _, d := range names {
		if strings.HasPrefix(d.Name(), sum+"-") {
			os.RemoveAll(filepath.Join(dir, d.Name()))
		}
	}
}

// keep moves a finished temporary file into the store, durably.
func (f *Fetcher) keep(tmp, sum string) error {
	file, err := os.OpenFile(tmp, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	err = errors.Join(file.Chmod(0o444), file.Sync())
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	path := f.Path(sum)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
