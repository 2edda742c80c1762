// Package llvmtest gives tests the real LLVM tools: they compile, and they say
// what the right answer is. A test that needs them fails without them.
package llvmtest

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Env names the variable that points tests at one folder of LLVM tools.
const Env = "STONEMASON_LLVM_BIN"

// Tool returns the path of an LLVM tool such as "clang++" or "llvm-readelf":
// from the folder that $STONEMASON_LLVM_BIN names, else from the newest
// /usr/lib/llvm-*/bin that has it, else from PATH.
func Tool(t testing.TB, name string) string {
	t.Helper()
	for _, dir := range folders() {
		path := filepath.Join(dir, name)
		if st, err := os.Stat(path); err == nil && !st.IsDir() {
			return path
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is neither in $%s, nor in /usr/lib/llvm-*/bin, nor on the PATH: install LLVM 22 (clang, lld, llvm, clang-tools)", name, Env)
	}
	return path
}

func folders() []string {
	if dir := os.Getenv(Env); dir != "" {
		return []string{dir}
	}
	dirs, _ := filepath.Glob("/usr/lib/llvm-*/bin") // the pattern is valid
	version := func(dir string) int {
		_, v, _ := strings.Cut(filepath.Dir(dir), "llvm-")
		n, _ := strconv.Atoi(v) // an odd folder sorts last
		return n
	}
	slices.SortFunc(dirs, func(a, b string) int { return cmp.Compare(version(b), version(a)) })
	return dirs
}

// Run runs a tool and returns what it wrote to standard output. It fails the
// test, with what the tool wrote to standard error, when the tool fails.
func Run(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, stderr, err := Try(t, name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, stderr)
	}
	return out
}

// Try runs a tool and returns what it wrote to standard output and standard
// error, and how it ended.
func Try(t testing.TB, name string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), Tool(t, name), args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// HIP compiles header-free HIP source for the device alone, without bundling,
// and returns the path of the code object. The source may use __global__,
// __device__ and __shared__.
func HIP(t testing.TB, source, arch string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.hip"), filepath.Join(dir, "out.co")
	if err := os.WriteFile(in, []byte(Prelude+source), 0o644); err != nil {
		t.Fatal(err)
	}
	args := append([]string{
		"-x", "hip", "-nogpuinc", "-nogpulib", "--offload-device-only", "--no-gpu-bundle-output",
		"-O2", "-fuse-cuid=none", "--offload-arch=" + arch, in, "-o", out,
	}, flags...)
	Run(t, "clang++", args...)
	return out
}

// Prelude declares what clang needs to compile HIP without any header, the
// host side included.
const Prelude = `
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
struct dim3 { unsigned x, y, z; dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {} };
typedef struct hipStream *hipStream_t;
extern "C" int hipConfigureCall(dim3, dim3, unsigned long = 0, hipStream_t = 0);
extern "C" int hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long, hipStream_t);
extern "C" int __hipPushCallConfiguration(dim3, dim3, unsigned long = 0, hipStream_t = 0);
extern "C" int __hipPopCallConfiguration(dim3 *, dim3 *, unsigned long *, hipStream_t *);
`
