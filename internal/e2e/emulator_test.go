//go:build e2e

package e2e

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gpu "github.com/stonemason-hip/stonemason/emulator"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

const talking = `#include <cassert>
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_runtime.h>
extern "C" __global__ void talk(const char *name) {
  if (threadIdx.x % 5 == 0) printf("%s %d.%d: %.3f\n", name, blockIdx.x, threadIdx.x, threadIdx.x / 8.0);
}
extern "C" __global__ void heap(int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int *p = (int *)malloc(n);
  if (!p) return;
  for (int k = 0; k < n / 4; k++) p[k] = i + k;
  int s = 0;
  for (int k = 0; k < n / 4; k++) s += p[k];
  out[i] = s;
  free(p);
}
// Each round reads what another work-group wrote in the round before.
extern "C" __global__ void rounds(int *a, int *b, int n) {
  auto grid = cooperative_groups::this_grid();
  int i = grid.thread_rank(), all = grid.size();
  for (int k = 0; k < n; k++) {
    b[i] = a[(i + blockDim.x) % all] + 1;
    grid.sync();
    int *t = a; a = b; b = t;
  }
  if (!grid.is_valid()) a[i] = -1;
}
extern "C" __global__ void check(int n) { assert((int)threadIdx.x < n); }
`

// TestEmulator runs what the bundle's compiler and device libraries make of
// printf, assert and malloc.
func TestEmulator(t *testing.T) {
	project, therock := product(t)
	t.Log(tool(t, project, os.Environ(), therock, "build"))
	emulate(t, filepath.Join(project, "dist", platform.Native().String()))
	emulateExamples(t, filepath.Join(project, "dist", platform.Native().String()))
}

func emulate(t *testing.T, bundle string) {
	for _, c := range []struct{ arch, opt, print string }{
		{"gfx900", "-O0", "hostcall"}, {"gfx90a", "-O2", "buffered"}, {"gfx942", "-O0", "buffered"}, {"gfx942", "-O3", "hostcall"},
		{"gfx1030", "-O3", "hostcall"}, {"gfx1100", "-O0", "buffered"}, {"gfx1201", "-O2", "hostcall"},
	} {
		t.Run(c.arch+c.opt+c.print, func(t *testing.T) {
			dir := t.TempDir()
			src, co := filepath.Join(dir, "talk.hip"), filepath.Join(dir, "talk.co")
			if err := os.WriteFile(src, []byte(talking), 0o644); err != nil {
				t.Fatal(err)
			}
			tool(t, dir, host(), filepath.Join(bundle, "bin", "hipcc"), "--offload-arch="+c.arch, "--offload-device-only", "--no-gpu-bundle-output",
				c.opt, "-mprintf-kind="+c.print, src, "-o", co)
			data := read(t, dir, "talk.co")
			dev, err := gpu.NewDevice(c.arch)
			if err != nil {
				t.Fatal(err)
			}
			mod, err := dev.Load(data)
			if err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			launch := func(kernel string, args ...[]byte) error {
				_, err := mod.Launch(t.Context(), kernel, gpu.Dim3{X: 3, Y: 1, Z: 1}, gpu.Dim3{X: 128, Y: 1, Z: 1}, args,
					gpu.Options{Output: &out, ErrorOutput: &errs, Budget: 500e6})
				return err
			}
			number := func(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
			memory := func(n uint64) (pointer, b []byte) {
				p, err := dev.Alloc(n)
				if err != nil {
					t.Fatal(err)
				}
				if b, err = dev.Bytes(p, n); err != nil {
					t.Fatal(err)
				}
				return binary.LittleEndian.AppendUint64(nil, uint64(p)), b
			}
			name, text := memory(16)
			copy(text, "lane")
			if err := launch("talk", name); err != nil {
				t.Fatal(err)
			}
			var want []string
			for block := range 3 {
				for i := 0; i < 128; i += 5 {
					want = append(want, fmt.Sprintf("lane %d.%d: %.3f", block, i, float64(i)/8))
				}
			}
			got := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("printed %d lines, want %d: %q", len(got), len(want), got)
			}
			sums, b := memory(4 * 3 * 128)
			for _, n := range []int{16, 100, 3000, 20000} {
				if err := launch("heap", sums, number(uint32(n))); err != nil {
					t.Fatal(err)
				}
				for i := range 3 * 128 {
					words := n / 4
					if got := int(binary.LittleEndian.Uint32(b[4*i:])); got != i*words+words*(words-1)/2 {
						t.Fatalf("%d bytes for work-item %d: %d", n, i, got)
					}
				}
			}
			one, a := memory(4 * 3 * 128)
			two, _ := memory(4 * 3 * 128)
			for i := range 3 * 128 {
				binary.LittleEndian.PutUint32(a[4*i:], uint32(1000*i))
			}
			if err := launch("rounds", one, two, number(10)); err != nil {
				t.Fatal(err)
			}
			for i := range 3 * 128 {
				if got, want := int(binary.LittleEndian.Uint32(a[4*i:])), 1000*((i+10*128)%(3*128))+10; got != want {
					t.Fatalf("after ten barriers of the grid work-item %d has %d, want %d", i, got, want)
				}
			}
			var fault *gpu.Fault
			if err := launch("check", number(100)); !errors.As(err, &fault) {
				t.Errorf("a failed assertion: %v", err)
			}
			if c.print == "hostcall" && !strings.Contains(errs.String(), "Device-side assertion `(int)threadIdx.x < n' failed.") {
				t.Errorf("a failed assertion says %q", errs.String())
			}
			if err := launch("check", number(128)); err != nil {
				t.Error(err)
			}
		})
	}
}
