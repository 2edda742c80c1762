// Package e2e proves the real toolchain end to end: built, moved to another
// folder, verified, and used with an empty environment. Its tests have the
// build tag e2e, because they need the machine's LLVM and, where nothing was
// built before, minutes: go tool mage test runs them.
package e2e
