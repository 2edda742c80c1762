//go:build unix

// Package disk watches over the space that work has on a file system.
package disk

import (
	"context"
	"math"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stonemason-hip/stonemason/internal/exit"
)

// Reserve is how many bytes must stay free while others write; a file system
// of less than four times as much must keep a quarter.
const Reserve = 16 << 20

// reserveFiles is the same for the number of files, where a file system has one.
const reserveFiles = 256

// exhausted is what part of the reserve must be left for what was made until
// then to be trusted: somebody may have been refused a write already.
const exhausted = 16

// tick is how often a Guard looks. statfs(2) takes a microsecond.
const tick = 20 * time.Millisecond

// Guard watches one file system while programs write to it that do not always
// say that it is full: CMake leaves the files of a generator empty and calls it
// a success. What was made while the reserve was used up is not to be trusted.
type Guard struct {
	dir    string
	cancel context.CancelCauseFunc
	done   chan struct{}

	mu        sync.Mutex
	err       error
	exhausted bool
}

// Watch begins to watch the file system of a folder. The context that it
// returns is cancelled, with the error that Check returns as its cause, as soon
// as the reserve is used up. End must be called.
func Watch(ctx context.Context, dir string) (context.Context, *Guard) {
	ctx, cancel := context.WithCancelCause(ctx)
	g := &Guard{dir: dir, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(g.done)
		t := time.NewTicker(tick)
		defer t.Stop()
		for {
			if err := g.Check(); err != nil {
				cancel(err)
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-t.C:
			}
		}
	}()
	return ctx, g
}

// Check returns an error, with the code Resources, when the reserve is or was
// used up. It looks anew, so that nothing is missed since the last tick.
func (g *Guard) Check() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	gone, err := low(g.dir)
	if g.err == nil {
		g.err = err
	}
	g.exhausted = g.exhausted || gone
	return g.err
}

// Exhausted reports whether next to nothing was left when Check looked: then
// even what finished programs wrote before is not to be trusted.
func (g *Guard) Exhausted() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.exhausted
}

// End ends the watch.
func (g *Guard) End() {
	g.cancel(nil)
	<-g.done
}

// low says whether a file system has less than its reserve, and whether next to
// nothing is left of that. One that cannot be asked is taken to have enough:
// writing to it will tell.
func low(dir string) (gone bool, err error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return false, nil
	}
	size := int64(fs.Bsize)
	if size <= 0 || fs.Blocks > math.MaxInt64/uint64(size) {
		return false, nil
	}
	free, total := max(0, int64(fs.Bavail)*size), int64(fs.Blocks)*size
	if free < min(Reserve, total/4) {
		return free < Reserve/exhausted, exit.Withf(exit.Resources, "only %d KiB are free on the file system of %s, and programs that run out of space do not always say so: %w", free>>10, dir, unix.ENOSPC)
	}
	// Some file systems make room for files as they come and say 0.
	files, freeFiles := int64(fs.Files), int64(fs.Ffree)
	if files > 0 && freeFiles < min(reserveFiles, files/4) {
		return freeFiles < reserveFiles/exhausted, exit.Withf(exit.Resources, "the file system of %s has room for only %d more files: %w", dir, freeFiles, unix.ENOSPC)
	}
	return false, nil
}
