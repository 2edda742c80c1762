//go:build !amd64 && !arm64

package emulator

// vectorUnit has no loops for this CPU but those in Go.
func vectorUnit() *loops { return portableLoops() }
