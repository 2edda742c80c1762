//go:build !amd64

package emulator

// vectorUnit has no loops for this CPU.
func vectorUnit() *loops { return &loops{move: portable()} }
