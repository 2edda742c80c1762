//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/internal/bundle"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
	"github.com/stonemason-hip/stonemason/toolchain/gpu"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

const root = "../.."

// tool runs a program and fails the test when it fails.
func tool(t *testing.T, dir string, env []string, argv ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out.String())
	}
	return out.String()
}

// nothing is an environment that holds nothing: not even a search path.
func nothing() []string { return []string{"STONEMASON_E2E=1"} }

// host is an environment in which the host's own compiler is found, and no
// LLVM: Debian's lie in folders that are not on it.
func host() []string { return []string{"PATH=/usr/bin:/bin"} }

func TestToolchain(t *testing.T) {
	project, therock := product(t)
	t.Log(tool(t, project, os.Environ(), therock, "build"))

	dist := filepath.Join(project, "dist", platform.Native().String())
	// Moved, not copied: what still looked into the old folder would fail. The
	// new name has a space, as folders of people have.
	moved := away(t, dist, "hip toolchain")

	t.Run("verify", func(t *testing.T) {
		t.Log(tool(t, project, os.Environ(), therock, "verify", "-bundle="+moved))
	})
	t.Run("smoke", func(t *testing.T) {
		t.Log(tool(t, project, os.Environ(), therock, "smoke", "-bundle="+moved))
	})
	t.Run("empty environment", func(t *testing.T) { emptyEnvironment(t, moved) })
	t.Run("env.sh", func(t *testing.T) { envScript(t, moved) })
	t.Run("hipify", func(t *testing.T) { hipify(t, moved, filepath.Join(project, "testdata", "hipify")) })
	t.Run("contents", func(t *testing.T) { contents(t, moved) })
}

const kernel = `#include <hip/hip_runtime.h>
extern "C" __global__ void scale(float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = sinf(a * x[i]);
}
`

// emptyEnvironment compiles device code where nothing is on the search path,
// and asks the drivers about themselves.
func emptyEnvironment(t *testing.T, b string) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "k.hip"), []byte(kernel), 0o644); err != nil {
		t.Fatal(err)
	}
	table, err := gpu.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, arch := range []string{"gfx906", "gfx942", "gfx1100"} {
		tool(t, dir, nothing(), filepath.Join(b, "lib/llvm/bin/clang++"), "-x", "hip", "--offload-device-only", "--no-gpu-bundle-output",
			"-O2", "--offload-arch="+arch, "k.hip", "-o", arch+".co")
		data, err := os.ReadFile(filepath.Join(dir, arch+".co"))
		if err != nil {
			t.Fatal(err)
		}
		object, err := codeobj.Parse(data)
		if err != nil {
			t.Fatalf("%s: %v", arch, err)
		}
		target, err := object.Target(table)
		if err != nil || target.Processor.Name != arch {
			t.Errorf("compiled for %s, the code object says %v, %v", arch, target, err)
		}
		if len(object.Kernels) != 1 || object.Kernels[0].Kernel.Name != "scale" {
			t.Errorf("%s: kernels %+v", arch, object.Kernels)
		}
	}
	tool(t, dir, nothing(), filepath.Join(b, "bin/hipcc"), "-c", "--offload-arch=gfx942", "k.hip", "-o", "k.o")
	if out := tool(t, dir, nothing(), filepath.Join(b, "bin/hipcc"), "--version"); !strings.Contains(out, "HIP version: ") || !strings.Contains(out, b) {
		t.Errorf("hipcc --version says\n%s", out)
	}
	if out := tool(t, dir, nothing(), filepath.Join(b, "bin/hipconfig"), "--path"); strings.TrimSpace(out) != b {
		t.Errorf("hipconfig --path says %q, the bundle is %q", out, b)
	}
}

func envScript(t *testing.T, b string) {
	use := `command -v hipcc && command -v clang && echo "$ROCM_PATH" && hipcc --version`
	for name, argv := range map[string][]string{
		"bash":             {"bash", "-euc", `. "$1/env.sh"; ` + use, "bash", b},
		"sh":               {"sh", "-euc", `STONEMASON_BUNDLE=$1; . "$1/env.sh"; ` + use, "sh", b},
		"sh, in its place": {"sh", "-euc", `cd "$1"; . ./env.sh; ` + use, "sh", b},
	} {
		env := append(host(), "ROCM_PATH=/opt/rocm-of-another-life", "HIP_CLANG_PATH=/nowhere", "HIP_DEVICE_LIB_PATH=/nowhere")
		out := tool(t, t.TempDir(), env, argv...)
		if want := fmt.Sprintf("%s/bin/hipcc\n%s/lib/llvm/bin/clang\n%s\n", b, b, b); !strings.HasPrefix(out, want) {
			t.Errorf("%s: got\n%s\nwant it to begin with\n%s", name, out, want)
		}
	}
}

// hipify translates a CUDA program with both translators and compiles what
// comes out. The CUDA headers are stand-ins of our own (testdata/hipify).
func hipify(t *testing.T, b, fixtures string) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(fixtures)); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(dir, "vector_add.hip.want"))
	if err != nil {
		t.Fatal(err)
	}
	tool(t, dir, nothing(), filepath.Join(b, "bin/hipify-clang"), "vector_add.cu", "-o", "out.hip", "--", "-nocudainc", "-nocudalib", "-Icuda-standin")
	if got, err := os.ReadFile(filepath.Join(dir, "out.hip")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("hipify-clang (%v) made\n%s\nwant\n%s", err, got, want)
	}
	if want, err = os.ReadFile(filepath.Join(dir, "vector_add.perl.want")); err != nil {
		t.Fatal(err)
	}
	if got := tool(t, dir, host(), filepath.Join(b, "bin/hipify-perl"), "vector_add.cu"); got != string(want) {
		t.Errorf("hipify-perl made\n%s\nwant\n%s", got, want)
	}
	tool(t, dir, host(), filepath.Join(b, "bin/hipcc"), "-c", "--offload-arch=gfx942", "out.hip", "-o", "out.o")
}

// contents checks that the bundle has what its users count on.
func contents(t *testing.T, b string) {
	for _, name := range []string{
		"bin/hipcc", "bin/hipconfig", "bin/hipify-clang", "bin/hipify-perl", "env.sh",
		"lib/llvm/bin/clang++", "lib/llvm/bin/amdclang++", "lib/llvm/bin/ld.lld", "lib/llvm/bin/clang-offload-bundler",
		"amdgcn/bitcode/ocml.bc", "amdgcn/bitcode/oclc_isa_version_942.bc", "include/hip/hip_runtime.h", "share/hip/version",
		"lib/cmake/AMDDeviceLibs/AMDDeviceLibsConfig.cmake", bundle.ManifestFile, bundle.SBOMFile,
	} {
		if _, err := os.Stat(filepath.Join(b, name)); err != nil {
			t.Error(err)
		}
	}
	m, err := bundle.Load(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range m.Components {
		if len(c.Key) != 64 || !strings.HasPrefix(c.Content, "sha256:") || len(c.Slices) == 0 {
			t.Errorf("component %s: key %q, content %q, slices %v", c.Name, c.Key, c.Content, c.Slices)
		}
	}
}
