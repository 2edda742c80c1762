// Package randprog makes HIP programs at random whose results are known: the same
// source, compiled for the host, computes them.
//
// A program is kernels over the types and operations of C++ that GPUs have: integers of
// 8 to 128 bits, floats of four formats where IEEE 754 says what the result is, vectors,
// structures and arrays, calls, branches and loops in which lanes part, exchanges through
// local memory and within a wave, atomic operations whose order does not matter. Nothing
// in them is undefined: integers wrap (-fwrapv), divisors and conversions are guarded, and
// NaN has one form wherever its bits are seen.
//
// On the host a kernel is a function that does one statement after the other for all
// work-items of a group, so that a barrier is the end of a statement, and an exchange sees
// what all lanes have. The idea of programs at random that are compared is that of Csmith
// (Yang and others, "Finding and Understanding Bugs in C Compilers", 2011); that of
// shortening what fails is delta debugging's (Zeller and Hildebrandt, 2002).
package randprog
