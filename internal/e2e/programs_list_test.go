//go:build e2e && linux

package e2e

import (
	"path"
	"strings"
)

// leftOut are folders and sources of the collections that are no program of ours to
// build, with the reason.
var leftOut = map[string]string{
	"rocm-examples/Applications/monte_carlo_pi":         "hipCUB, templates that no bundle has",
	"rocm-examples/External":                            "other people's sources",
	"rocm-examples/HIP-Basic/assembly_to_executable":    "device code put together by hand",
	"rocm-examples/HIP-Basic/hipify":                    "CUDA",
	"rocm-examples/HIP-Basic/llvm_ir_to_executable":     "device code put together by hand",
	"rocm-examples/HIP-Basic/module_api/module.hip":     "device code that the program loads",
	"rocm-examples/HIP-Basic/opengl_interop":            "GLFW",
	"rocm-examples/HIP-Basic/vulkan_interop":            "Vulkan and GLFW",
	"rocm-examples/Libraries/hipCUB":                    "hipCUB, templates that no bundle has",
	"rocm-examples/Libraries/hipSOLVER":                 "libhipsolver, which is not described",
	"rocm-examples/Libraries/rocPRIM":                   "rocPRIM, templates that no bundle has",
	"rocm-examples/Libraries/rocThrust":                 "rocThrust, templates that no bundle has",
	"rocm-examples/Tutorials":                           "Google's benchmark and test, TBB",
	"HIP-Examples/mini-nbody/cuda":                      "CUDA",
	"HIP-Examples/openmp-helloworld":                    "OpenMP",
	"HIP-Examples/rtm8/rtm8.cu":                         "CUDA",
	"HIP-Examples/strided-access/benchmark-cuda.cu":     "CUDA",
	"HIP-Examples/strided-access/benchmark-hip.cu":      "CUDA",
	"HIP-Examples/strided-access/benchmark-opencl.cpp":  "OpenCL",
	"HIP-Examples/strided-access/benchmark-openmp.cpp":  "OpenMP",
	"HIP-Examples/strided-access/benchmark-openmp2.cpp": "OpenMP",
}

// doesNotCompile are programs that a current compiler, or a current version of the
// library, does not take, and what is said of them.
var doesNotCompile = map[string]string{
	"HIP-Examples/gpu-burn":               "no template named 'unique_ptr' in namespace 'std'", // without <memory>
	"rocm-examples/HIP-Basic/bandwidth":   "no matching function for call to 'memset'",         // without <cstring>
	"rocm-examples/Libraries/hipBLAS/her": "unknown type name 'hipblasComplex'",                // until hipBLAS 2
}

// notForMac are programs that cannot be made for a Mac, and what is said of them.
var notForMac = map[string]string{
	"HIP-Examples/HIP-Examples-Applications/BinomialOption":       noMalloc,
	"HIP-Examples/HIP-Examples-Applications/BitonicSort":          noMalloc,
	"HIP-Examples/HIP-Examples-Applications/FastWalshTransform":   noMalloc,
	"HIP-Examples/HIP-Examples-Applications/FloydWarshall":        noMalloc,
	"HIP-Examples/HIP-Examples-Applications/Histogram":            noMalloc,
	"HIP-Examples/HIP-Examples-Applications/MatrixMultiplication": noMalloc,
	"HIP-Examples/HIP-Examples-Applications/PrefixSum":            noMalloc,
	"HIP-Examples/HIP-Examples-Applications/RecursiveGaussian":    noMalloc,
	"HIP-Examples/HIP-Examples-Applications/SimpleConvolution":    noMalloc,
	"HIP-Examples/HIP-Examples-Applications/dct":                  noMalloc,
	"HIP-Examples/HIP-Examples-Applications/dwtHaar1D":            noMalloc,
	"rocm-examples/HIP-Basic/static_device_library":               "-fgpu-rdc for a macOS host",
}

// noMalloc is what a compiler says of a header that Linux alone has.
const noMalloc = "'malloc.h' file not found"

// leftOutAs returns the row that leaves a source out, or "".
func leftOutAs(source string) string {
	for ; source != "."; source = path.Dir(source) {
		if _, ok := leftOut[source]; ok {
			return source
		}
	}
	return ""
}

// librariesOf are what programs of rocm-examples use where it is not the library that
// their folder below Libraries is called after.
var librariesOf = map[string][]string{
	"HIP-Basic/runtime_compilation":            {"hiprtc"},
	"Libraries/rocSOLVER/getf2":                {"rocsolver", "rocblas"},
	"Libraries/rocSOLVER/getri":                {"rocsolver", "rocblas"},
	"Libraries/rocSOLVER/syev":                 {"rocsolver", "rocblas"},
	"Libraries/rocSOLVER/syev_batched":         {"rocsolver", "rocblas"},
	"Libraries/rocSOLVER/syev_strided_batched": {"rocsolver", "rocblas"},
	"Libraries/rocSPARSE/level_2/gemvi":        {"rocsparse", "rocsolver"},
}

// programOf returns the program that a source belongs to, with that source alone, or
// nil.
func programOf(source string) *program {
	dir := path.Dir(source)
	p := &program{name: dir, dir: dir, sources: []string{path.Base(source)}}
	collection, rest, _ := strings.Cut(source, "/")
	switch parts := strings.Split(rest, "/"); {
	case collection == "rocm-examples":
		// A static library beside its program.
		if path.Base(dir) == "library" {
			p.name, p.dir, p.sources = path.Dir(dir), path.Dir(dir), []string{"library/" + path.Base(source)}
		}
		up := strings.Repeat("../", strings.Count(p.dir, "/"))
		p.includes = []string{up + "Common", up + "External", "library"}
		p.flags = []string{"-std=c++17"}
		p.host = path.Ext(source) == ".cpp"
		if path.Base(p.dir) == "static_device_library" {
			p.flags = append(p.flags, "-fgpu-rdc")
		}
		if p.libraries = librariesOf[path.Dir(rest)]; p.libraries == nil && parts[0] == "Libraries" {
			p.libraries = []string{strings.ToLower(parts[1])}
		}
	default:
		p.includes = []string{".", "..", "../include"}
		// One program a source, compiled as the scripts beside them do.
		if path.Base(dir) == "hip" {
			p.name, p.flags = source, []string{"-DSHMOO"}
		}
	}
	return p
}
