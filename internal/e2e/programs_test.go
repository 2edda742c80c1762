//go:build e2e && linux

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// examplesEnv names a folder with checkouts of public collections of HIP programs
// (docs/stubs.md). Without it no test looks for them.
const examplesEnv = "STONEMASON_HIP_EXAMPLES"

// application is a program that is compiled as it is.
type application struct {
	dir       string   // below the folder of collections
	sources   []string // of C++ or HIP
	includes  []string // below dir
	libraries []string
	flags     []string
	// host marks sources without device code, which any C++ compiler compiles.
	host bool
}

// rocmExample is one of github.com/ROCm/rocm-examples.
func rocmExample(dir string, libraries ...string) application {
	up := strings.Repeat("../", strings.Count(dir, "/")+1)
	return application{dir: "rocm-examples/" + dir, sources: []string{"main.hip"}, includes: []string{up + "Common", up + "External"},
		libraries: libraries, flags: []string{"-std=c++17"}}
}

// hostExample is one whose sources have no device code.
func hostExample(dir string, libraries ...string) application {
	a := rocmExample(dir, libraries...)
	a.sources, a.host = []string{"main.cpp"}, true
	return a
}

// hipExample is one of github.com/ROCm/HIP-Examples.
func hipExample(dir, source string, more ...string) application {
	return application{dir: "HIP-Examples/" + dir, sources: append([]string{source}, more...), includes: []string{".", "..", "../include"}}
}

var applications = []application{
	rocmExample("HIP-Basic/saxpy"),
	rocmExample("HIP-Basic/runtime_compilation", "hiprtc"),
	hostExample("HIP-Basic/device_query"),
	hostExample("Libraries/rocBLAS/level_3/gemm", "rocblas"),
	rocmExample("Libraries/hipBLAS/gemm_strided_batched", "hipblas"),
	hostExample("Libraries/rocSPARSE/level_2/csrmv", "rocsparse"),
	hostExample("Libraries/rocRAND/simple_distributions_cpp", "rocrand"),
	rocmExample("Libraries/rocFFT/callback", "rocfft"),
	hipExample("vectorAdd", "vectoradd_hip.cpp"),
	hipExample("reduction", "reduction.cpp"),
	hipExample("mini-nbody/hip", "nbody-block.cpp"),
	rocmExample("HIP-Basic/module_api"),
	hipExample("HIP-Examples-Applications/HelloWorld", "HelloWorld.cpp"),
	hipExample("HIP-Examples-Applications/MatrixMultiplication", "MatrixMultiplication.cpp"),
	rocmExample("Applications/bitonic_sort"),
	rocmExample("Applications/floyd_warshall"),
	rocmExample("Applications/histogram"),
	rocmExample("HIP-Basic/cooperative_groups"),
	rocmExample("HIP-Basic/device_globals"),
	rocmExample("HIP-Basic/dynamic_shared"),
	rocmExample("HIP-Basic/occupancy"),
	rocmExample("HIP-Basic/texture_management"),
	rocmExample("HIP-Basic/warp_shuffle"),
	hostExample("Libraries/rocBLAS/level_1/axpy", "rocblas"),
	hostExample("Libraries/rocSPARSE/preconditioner/csric0", "rocsparse"),
	hipExample("HIP-Examples-Applications/BitonicSort", "BitonicSort.cpp"),
}

// applications compiles and links programs that nobody wrote for the stubs, and runs
// those for Linux: each ends by itself and says that there is no device. The log
// has a line of a table about each.
func (s *stubs) applications(t *testing.T, collections string) {
	t.Log("| program | compile | link | run | Mac: compile | Mac: link |")
	for _, a := range applications {
		t.Run(a.dir, func(t *testing.T) {
			results := s.application(t, a, filepath.Join(collections, a.dir))
			t.Logf("| %s | %s |", a.dir, strings.Join(results, " | "))
		})
	}
}

// application returns a word about each of the steps.
func (s *stubs) application(t *testing.T, a application, dir string) []string {
	if _, err := os.Stat(filepath.Join(dir, a.sources[0])); err != nil {
		t.Fatalf("%v: $%s names no folder with the collection", err, examplesEnv)
	}
	out, hipcc := t.TempDir(), filepath.Join(s.linux, "bin", "hipcc")
	results := []string{"-", "-", "-", "-", "-"}
	step := func(i int, argv ...string) bool {
		cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		cmd.Dir = dir
		said, err := cmd.CombinedOutput()
		if err != nil {
			results[i] = "fails"
			t.Errorf("%s: %v\n%s", strings.Join(argv, " "), err, said)
			return false
		}
		results[i] = "yes"
		return true
	}
	build := func(first int, name string, compile, link []string, lib string) (bin string, ok bool) {
		var objects []string
		for _, source := range a.sources {
			object := filepath.Join(out, name+"-"+source+".o")
			argv := slices.Concat([]string{hipcc}, compile, a.flags, []string{"-w", "-O1", "-c", source, "-o", object})
			if a.host {
				argv = slices.Concat([]string{filepath.Join(s.linux, "lib", "llvm", "bin", "clang++")}, compile, a.flags,
					[]string{"-D__HIP_PLATFORM_AMD__", "-isystem", filepath.Join(filepath.Dir(lib), "include"), "-w", "-O1", "-c", source, "-o", object})
			}
			for _, i := range a.includes {
				argv = append(argv, "-I", i)
			}
			if !step(first, argv...) {
				return "", false
			}
			objects = append(objects, object)
		}
		bin = filepath.Join(out, name)
		argv := slices.Concat([]string{hipcc}, link, objects, []string{"-L" + lib})
		for _, l := range a.libraries {
			argv = append(argv, "-l"+l)
		}
		return bin, step(first+1, append(argv, "-o", bin)...)
	}

	offload := []string{"--offload-arch=gfx90a"}
	if a.host {
		offload = nil
	}
	lib := filepath.Join(s.linux, "lib")
	if bin, ok := build(0, "linux", offload, []string{"-Wl,-rpath," + lib}, lib); ok {
		results[2] = runs(t, bin, dir)
	}
	target := []string{"--target=arm64-apple-macos" + platform.MacOSFloor, "-isysroot", s.sdk}
	lib = filepath.Join(s.mac, "lib")
	if bin, ok := build(3, "mac", append(slices.Clone(target), offload...), append(target, "-L"+lib), lib); ok {
		if used := dylibs(t, bin); !slices.Contains(used, "@rpath/libamdhip64.7.dylib") {
			t.Errorf("for a Mac it uses %q", used)
		}
		// Some of HIP's sources have no kernel.
		if _, err := codeobj.FatBinary(read(t, out, "linux")); err == nil {
			if _, err := codeobj.FatBinary(read(t, out, "mac")); err != nil {
				t.Errorf("for a Mac: %v", err)
			}
		}
	}
	return results
}

// runs runs a program where there is no device, and returns how it ended.
func runs(t *testing.T, bin, dir string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin)
	cmd.Dir = dir
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	result := "exit 0"
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		status := ended.Sys().(syscall.WaitStatus)
		// What a program asserts of a call it ends by itself, as it would anywhere.
		if status.Signaled() && status.Signal() == syscall.SIGABRT && strings.Contains(said.String(), "Assertion `") {
			result = "its own assertion"
		} else if status.Signaled() {
			t.Errorf("it is ended by %v:\n%s", status.Signal(), said.String())
			return status.Signal().String()
		}
		if !status.Signaled() {
			result = fmt.Sprintf("exit %d", status.ExitStatus())
		}
	} else if err != nil {
		t.Error(err)
		return "fails"
	}
	text := said.String()
	switch {
	case strings.Contains(text, "no ROCm-capable device is detected"):
		result += ", \"no ROCm-capable device is detected\""
	case strings.Contains(text, "this is a link stub, no device can be reached"):
		result += ", the stub's own line"
	default:
		t.Errorf("it does not say that there is no device:\n%s", text)
	}
	return result
}
