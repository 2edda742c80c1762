package emulator

import "unsafe"

// pairAt returns a register and the one behind it, which must not be the first
// again, as the loops over 64 bits want them. The registers of a wave are one
// array, and Go has no slice of it with the length in its type.
func (w *wave) pairAt(reg uint16) *[2]vec { return (*[2]vec)(unsafe.Pointer(&w.v[min(reg, vregs-2)])) }

// tmpPair returns room for operand n of 64 bits.
func (w *wave) tmpPair(n int) *[2]vec { return (*[2]vec)(unsafe.Pointer(&w.tmp[2*(n%3)])) }
