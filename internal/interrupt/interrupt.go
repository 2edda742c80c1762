// Package interrupt turns the signals that ask a program to stop into a
// cancelled context.
package interrupt

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

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
// its children were gone. stop gives the signals back their own effect.
func Context(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := stopping()
	signal.Reset(signals...)
	heard, done := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(heard, signals...)
	go func() {
		select {
		case s := <-heard:
			cancel(exit.With(exit.Interrupted, fmt.Errorf("stopped by %s", name(s))))
		case <-done:
			return
		}
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

func name(s os.Signal) string {
	switch s {
	case syscall.SIGINT:
		return "Ctrl-C"
	case syscall.SIGHUP:
		return "the end of its terminal"
	}
	return "a termination signal"
}
