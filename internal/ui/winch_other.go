//go:build !unix

package ui

// onResize does nothing where there is no signal for it.
func onResize(func()) (stop func()) { return func() {} }
