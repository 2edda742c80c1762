// Package interrupt turns the signals that ask a program to stop into a
// cancelled context.
package interrupt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/magefile/mage/mg"

	"github.com/stonemason-hip/stonemason/internal/child"
	"github.com/stonemason-hip/stonemason/internal/exit"
)

// stopping are Ctrl-C, a request to terminate, and a terminal that was closed,
// unless that is to be lived through (nohup(1)).
func stopping() []os.Signal {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// Context is cancelled by the first of the signals, with a cause that has the
// exit code exit.Interrupted. The second kills every descendant of this
// process and ends it at once, with the same code. Handlers that others have
// set for these signals, as mage does, no longer hear them: mage would end the
// process five seconds after the first and at once after the second, before
// its children were gone. One that mage sets later than this, as it does beside
// a target that begins at once, hears them too and cancels parent: the signal is
// given a moment to be heard here then, so that the cause is the same. stop
// gives the signals back their own effect.
func Context(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(parent))
	if parent.Err() != nil { // it ended before there was anything to interrupt
		cancel(context.Cause(parent))
	}
	signals := stopping()
	signal.Reset(signals...)
	heard, done := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(heard, signals...)
	orphaned := orphan(done)
	go func() {
		cancelled, moment := parent.Done(), (<-chan time.Time)(nil)
		for ctx.Err() == nil {
			select {
			case s := <-heard:
				cancel(exit.With(exit.Interrupted, fmt.Errorf("stopped by %s", name(s))))
			case <-orphaned:
				cancel(exit.With(exit.Interrupted, errors.New("stopped: the mage that ran this has ended")))
			case <-cancelled:
				cancelled, moment = nil, time.After(hearing)
			case <-moment:
				cancel(context.Cause(parent))
			case <-done:
				return
			}
		}
		// Nor does one of the latter kind hear the second.
		signal.Reset(signals...)
		signal.Notify(heard, signals...)
		select {
		case <-heard:
			child.KillAll()
			os.Exit(int(exit.Interrupted))
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(heard)
		close(done)
		cancel(nil)
	}
}

// hearing is how long after somebody else heard a signal it is heard here.
const hearing = 100 * time.Millisecond

// orphan is closed when this process was started by mage and mage has ended. A
// signal to terminate kills mage, and does not reach what mage runs: go hands it
// on to mage alone. Other parents may end as they like.
func orphan(done <-chan struct{}) <-chan struct{} {
	ended := make(chan struct{})
	self, err := os.Executable()
	if err != nil {
		return ended
	}
	// The kernel gives the executable's name without links.
	cache, err := filepath.EvalSymlinks(mg.CacheDir())
	if err != nil || filepath.Dir(self) != cache {
		return ended
	}
	parent := os.Getppid()
	go func() {
		every := time.NewTicker(200 * time.Millisecond)
		defer every.Stop()
		for {
			select {
			case <-every.C:
				if os.Getppid() != parent {
					close(ended)
					return
				}
			case <-done:
				return
			}
		}
	}()
	return ended
}

func name(s os.Signal) string {
	switch s {
	case syscall.SIGINT:
		return "Ctrl-C"
	case syscall.SIGHUP:
		return "the end of its terminal"
	}
	return "a termination signal"
}

// LeaveToChild leaves Ctrl-C to a program that has the terminal, a shell for
// instance: this process, and mage's handler in it, do not hear of it until the
// returned function is called.
func LeaveToChild() (stop func()) {
	signal.Reset(syscall.SIGINT)
	// Not ignored: a program would inherit that, and everything in it.
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGINT)
	return func() { signal.Stop(heard) }
}
