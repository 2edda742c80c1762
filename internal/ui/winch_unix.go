//go:build unix

package ui

import (
	"os"
	"os/signal"
	"syscall"
)

// onResize calls f after each change of the terminal's size until the
// returned function is called.
func onResize(f func()) (stop func()) {
	ch := make(chan os.Signal, 1)
	done := make(chan struct{})
	signal.Notify(ch, syscall.SIGWINCH)
	go func() {
		for {
			select {
			case <-ch:
				f()
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(ch)
		close(done)
	}
}
