package sdk

import "regexp"

// unlisted are symbols of libc++ that its change log does not name, with the
// LLVM that brought them.
var unlisted = []struct {
	pattern *regexp.Regexp
	llvm    int
}{}
