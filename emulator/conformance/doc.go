// Package conformance is a corpus of small kernels over all classes of instructions
// and how they are run: each compiled at several levels of optimization for several
// GPUs, run by the emulator, and compared with a reference that Go computes.
//
// A kernel is a C++ expression of two elements, or a body of its own, beside the
// reference in Go. Results are the same bit for bit, except where a case names a
// bound in units of the last place and says why.
package conformance
