package emulator

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

// The right code object is taken out of bundles and host objects, generic
// targets included, and it runs.
func TestLoadFromBundles(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in.hip")
	if err := os.WriteFile(in, []byte(llvmtest.Prelude+prelude+benchSource), 0o644); err != nil {
		t.Fatal(err)
	}
	common := []string{"-x", "hip", "-nogpuinc", "-nogpulib", "-O2", "-fuse-cuid=none", "--offload-arch=gfx900", "--offload-arch=gfx9-4-generic", "--offload-arch=gfx11-generic", in}
	for name, flags := range map[string][]string{
		"plain":      {"--offload-device-only", "--gpu-bundle-output"},
		"compressed": {"--offload-device-only", "--gpu-bundle-output", "--offload-compress"},
		"host":       {"-c", "--no-offload-new-driver"},
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(dir, name)
			llvmtest.Run(t, "clang++", append(append(common[:len(common):len(common)], flags...), "-o", out)...)
			data, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			for _, target := range []string{"gfx900", "gfx942", "gfx950", "gfx1100"} {
				d, err := NewDevice(target)
				if err != nil {
					t.Fatal(err)
				}
				m, err := d.Load(data)
				if err != nil {
					t.Fatal(err)
				}
				px, x := alloc(t, m, 4*100)
				py, y := alloc(t, m, 4*100)
				for i := range 100 {
					binary.LittleEndian.PutUint32(x[4*i:], u32(float32(i)))
					binary.LittleEndian.PutUint32(y[4*i:], u32(0.5))
				}
				args := [][]byte{u32arg(u32(2)), u64arg(uint64(px)), u64arg(uint64(py)), u32arg(100)}
				if _, err := m.Launch(t.Context(), "saxpy", Dim3{1, 1, 1}, Dim3{128, 1, 1}, args, Options{}); err != nil {
					t.Fatal(err)
				}
				for i := range 100 {
					if got := f32(binary.LittleEndian.Uint32(y[4*i:])); got != 2*float32(i)+0.5 {
						t.Fatalf("%s: %d: %g", target, i, got)
					}
				}
			}
			d, err := NewDevice("gfx906")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := d.Load(data); !errors.Is(err, codeobj.ErrNoMatch) {
				t.Errorf("gfx906: %v", err)
			}
		})
	}
}
