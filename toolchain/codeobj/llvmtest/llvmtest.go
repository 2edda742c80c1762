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

// Assembly assembles and links a code object of one kernel, k, and returns its path. code
// are its instructions, directives those between .amdhsa_kernel and its end, and args
// its arguments: lines of YAML below .args, kernarg their size in bytes.
func Assembly(t testing.TB, arch, code, directives, args string, kernarg int) string {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.s"), filepath.Join(dir, "out.co")
	wave := "64"
	if strings.HasPrefix(arch, "gfx1") && !strings.Contains(directives, ".amdhsa_wavefront_size32 0") {
		wave = "32"
	}
	if args == "" {
		args = " []"
	} else {
		args = "\n" + strings.TrimRight(args, "\n")
	}
	source := `.amdgcn_target "amdgcn-amd-amdhsa--` + arch + `"
.text
.globl k
.p2align 8
.type k,@function
k:
` + code + `
.size k, .-k
.rodata
.p2align 6
.amdhsa_kernel k
.amdhsa_kernarg_size ` + strconv.Itoa(kernarg) + `
` + directives + `
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--` + arch + `
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: ` + strconv.Itoa(kernarg) + `
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: ` + wave + `
    .sgpr_count: 32
    .vgpr_count: 64
    .max_flat_workgroup_size: 1024
    .args:` + args + `
...
.end_amdgpu_metadata
`
	if err := os.WriteFile(in, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	Run(t, "clang", "-x", "assembler", "--target=amdgcn-amd-amdhsa", "-mcpu="+arch, "-mcode-object-version=5", "-nogpulib", in, "-o", out)
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
