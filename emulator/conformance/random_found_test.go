package conformance

import (
	"encoding/binary"
	"math"
	"os"
	"testing"

	"github.com/stonemason-hip/stonemason/emulator"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

// What programs at random have found.

// bits64 runs the kernel k of a source with the address of 16 double words and these
// arguments, and returns the words.
func bits64(t *testing.T, target, source string, args ...[]byte) []uint64 {
	t.Helper()
	data, err := os.ReadFile(llvmtest.HIP(t, prelude+source, target, "-O3"))
	if err != nil {
		t.Fatal(err)
	}
	dev, err := emulator.NewDevice(target)
	if err != nil {
		t.Fatal(err)
	}
	mod, err := dev.Load(data)
	if err != nil {
		t.Fatal(err)
	}
	p, err := dev.Alloc(128)
	if err != nil {
		t.Fatal(err)
	}
	mem, err := dev.Bytes(p, 128)
	if err != nil {
		t.Fatal(err)
	}
	one := emulator.Dim3{X: 1, Y: 1, Z: 1}
	args = append([][]byte{binary.LittleEndian.AppendUint64(nil, uint64(p))}, args...)
	if _, err := mod.Launch(t.Context(), "k", one, one, args, emulator.Options{Budget: 1e5}); err != nil {
		t.Fatalf("%s: %v", target, err)
	}
	return view[uint64](mem)
}

// LLVM loads three words at the end of the arguments as four.
func TestArgumentsAtTheEnd(t *testing.T) {
	word := func(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
	for _, target := range []string{"gfx900", "gfx942", "gfx1030", "gfx1100"} {
		got := bits64(t, target, `KERNEL k(u64 *out, u32 x, u32 y, u32 z) { out[0] = x; out[1] = y; out[2] = z; }`, word(7), word(8), word(9))
		if got[0] != 7 || got[1] != 8 || got[2] != 9 {
			t.Errorf("%s: %v", target, got[:3])
		}
	}
}

// CLAMP and OMOD mean the result of a conversion, not what is converted.
func TestConversionsClamp(t *testing.T) {
	const source = `
#define DO(n, op, type, from, end) { type result; asm volatile(op " %0, %1" end : "=v"(result) : "v"(from)); out[n] = as<u64>((f64)result); }
KERNEL k(u64 *out, i32 i, f32 f, f64 d, u32 half) {
  DO(0, "v_cvt_f32_i32_e64", f32, i, " clamp") DO(1, "v_cvt_f32_i32_e64", f32, i, " mul:4")
  DO(2, "v_cvt_f32_f64_e64", f32, d, " clamp") DO(3, "v_cvt_f32_f64_e64", f32, d, " mul:2")
  DO(4, "v_cvt_f64_f32_e64", f64, f, " clamp") DO(5, "v_cvt_f64_f32_e64", f64, f, " div:2")
  DO(6, "v_cvt_f64_i32_e64", f64, i, " clamp") DO(7, "v_cvt_f32_ubyte0_e64", f32, i, " mul:2")
  DO(8, "v_cvt_f32_f16_e64", f32, half, " clamp") DO(9, "v_cvt_f32_f16_e64", f32, half, " mul:2")
  { u32 h; asm volatile("v_cvt_f16_f32_e64 %0, %1 clamp" : "=v"(h) : "v"(f)); out[10] = h & 0xffff; }
}`
	le := binary.LittleEndian
	for _, target := range []string{"gfx900", "gfx942", "gfx1030"} {
		got := bits64(t, target, source, le.AppendUint32(nil, 5), le.AppendUint32(nil, math.Float32bits(2.5)), le.AppendUint64(nil, math.Float64bits(0.375)), le.AppendUint32(nil, 0x3a00)) // 0.75
		for n, want := range []float64{1, 20, 0.375, 0.75, 1, 1.25, 1, 10, 0.75, 1.5} {
			if f := math.Float64frombits(got[n]); f != want {
				t.Errorf("%s: conversion %d gives %g, want %g", target, n, f, want)
			}
		}
		if got[10] != 0x3c00 {
			t.Errorf("%s: v_cvt_f16_f32 gives 0x%x", target, got[10])
		}
	}
}
