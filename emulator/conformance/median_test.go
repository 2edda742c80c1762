package conformance

import (
	"encoding/binary"
	"os"
	"testing"

	"github.com/stonemason-hip/stonemason/emulator"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

// The median of three where one is NaN is the least of the others, in both types.
func TestMedianOfNaN(t *testing.T) {
	const src = `
extern "C" __attribute__((global)) void k(float *f, _Float16 *h) {
  f[3] = __builtin_amdgcn_fmed3f(f[0], f[1], f[2]);
  h[3] = __builtin_amdgcn_fmed3h(h[0], h[1], h[2]);
}`
	data, err := os.ReadFile(llvmtest.HIP(t, src, "gfx942", "-O3"))
	if err != nil {
		t.Fatal(err)
	}
	dev, err := emulator.NewDevice("gfx942")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := dev.Load(data)
	if err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	var args [][]byte
	var mem [2][]byte
	for i := range mem {
		p, err := dev.Alloc(16)
		if err != nil {
			t.Fatal(err)
		}
		if mem[i], err = dev.Bytes(p, 16); err != nil {
			t.Fatal(err)
		}
		args = append(args, le.AppendUint64(nil, uint64(p)))
	}
	for _, c := range [][4]struct {
		f uint32
		h uint16
	}{ // NaN, 1, -2: -2
		{{0x7fc00000, 0x7e00}, {0x3f800000, 0x3c00}, {0xc0000000, 0xc000}, {0xc0000000, 0xc000}},
		{{0x3f800000, 0x3c00}, {0x7fc00000, 0x7e00}, {0xc0000000, 0xc000}, {0xc0000000, 0xc000}},
		{{0x3f800000, 0x3c00}, {0x40000000, 0x4000}, {0x7fc00000, 0x7e00}, {0x3f800000, 0x3c00}},
		{{0x3f800000, 0x3c00}, {0x40000000, 0x4000}, {0xc0000000, 0xc000}, {0x3f800000, 0x3c00}},
	} {
		for i, v := range c[:3] {
			le.PutUint32(mem[0][4*i:], v.f)
			le.PutUint16(mem[1][2*i:], v.h)
		}
		one := emulator.Dim3{X: 1, Y: 1, Z: 1}
		if _, err := mod.Launch(t.Context(), "k", one, one, args, emulator.Options{Budget: 1e5}); err != nil {
			t.Fatal(err)
		}
		if f, h := le.Uint32(mem[0][12:]), le.Uint16(mem[1][6:]); f != c[3].f || h != c[3].h {
			t.Errorf("%x: %x and %x", c, f, h)
		}
	}
}
