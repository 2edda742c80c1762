//go:build e2e && linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gpu "github.com/stonemason-hip/stonemason/emulator"
	"github.com/stonemason-hip/stonemason/emulator/isa"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
	targets "github.com/stonemason-hip/stonemason/toolchain/gpu"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// sampleGPUs are what every sample is compiled for. The first ones run, and those of
// RDNA are decoded.
func sampleGPUs() []string {
	return []string{"gfx900", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201"}
}

// sample is a program that nobody here wrote, run unchanged: its own host code sets its
// kernels' arguments, and its own check decides.
type sample struct {
	program
	args []string // that make it small enough, where it has any
	// says is what it prints when its results are right: by its own comparison, or, where
	// it has none (printed), the numbers that its formula gives.
	says    string
	printed bool
	// unchecked has no comparison, nor prints a result: that it comes to its end is all.
	unchecked bool
	tooLarge  bool
	file      string // it looks for this beside itself
	module    string // a second source, compiled to a code object beside the program
}

// rocm is one of github.com/ROCm/rocm-examples.
func rocm(dir, says string, args ...string) sample {
	up := strings.Repeat("../", strings.Count(dir, "/")+1)
	return sample{program: program{dir: "rocm-examples/" + dir, sources: []string{"main.hip"}, includes: []string{up + "Common", up + "External"}, flags: []string{"-std=c++17"}},
		args: args, says: says}
}

// passed is what most of rocm-examples print behind their own comparison.
const passed = "(?i)validation passed"

func shows(s sample) sample { s.printed = true; return s }

func runsOnly(s sample) sample { s.unchecked = true; return s }

// shmoo prints one figure: with the others the source does not compile.
func shmoo(s sample) sample { s.flags = []string{"-DSHMOO"}; return s }

// large has a fixed size of a thousand million instructions and more, and no check of its
// own: it is decoded, not run.
func large(s sample) sample { s.tooLarge = true; return s }

// module has its kernel in a code object beside the program.
func module(s sample) sample { s.module = "module.hip"; return s }

// with has another source.
func with(s sample, source string) sample { s.sources = append(s.sources, source); return s }

// library has its kernels in a second source.
func library(s sample) sample {
	s.sources, s.includes = []string{"main.cpp", "library/library.hip"}, append(s.includes, "library")
	return s
}

// old is one of github.com/ROCm/HIP-Examples.
func old(dir, source, says string, args ...string) sample {
	p := program{dir: "HIP-Examples/" + dir, sources: []string{source}, includes: []string{".", "..", "../include"}}
	if strings.Contains(dir, "Applications") {
		p.includes = append(p.includes, "../include/HIPUtil")
	}
	return sample{program: p, args: args, says: says}
}

func samples() []sample {
	list := []sample{
		shows(rocm("HIP-Basic/saxpy", `First 10 elements of the results: \[ 3, 5, 7, 9, 11, 13, 15, 17, 19, 21 \]`)),
		rocm("HIP-Basic/matrix_multiplication", passed, "-A_rows", "256", "-A_cols", "256", "-B_cols", "128"),
		rocm("HIP-Basic/bit_extract", passed),
		rocm("HIP-Basic/device_globals", passed),
		rocm("HIP-Basic/dynamic_shared", passed),
		rocm("HIP-Basic/events", passed),
		rocm("HIP-Basic/gpu_arch", passed),
		shows(rocm("HIP-Basic/hello_world", `(?s)Hello world from device kernel block 0 thread 0.*`)),
		rocm("HIP-Basic/inline_assembly", passed),
		rocm("HIP-Basic/moving_average", passed),
		runsOnly(rocm("HIP-Basic/occupancy", "Theoretical Occupancy is")),
		rocm("HIP-Basic/shared_memory", passed),
		runsOnly(rocm("HIP-Basic/streams", "streams completed!")),
		rocm("HIP-Basic/warp_shuffle", passed),
		rocm("HIP-Basic/cooperative_groups", passed),
		rocm("HIP-Basic/texture_management", "."),
		rocm("HIP-Basic/assembly_to_executable", "PASSED"),
		rocm("HIP-Basic/llvm_ir_to_executable", "PASSED"),
		module(rocm("HIP-Basic/module_api", "Results:|"+passed)),
		library(rocm("HIP-Basic/static_host_library", "(?i)passed|correct|success")),
		rocm("Applications/bitonic_sort", passed, "-l", "12"),
		rocm("Applications/convolution", `root-mean-square error .* is [0-9.]+e-(0[5-9]|1[0-9])`, "-x", "512", "-y", "256", "-i", "1"),
		rocm("Applications/floyd_warshall", passed),
		rocm("Applications/histogram", passed),
		rocm("Applications/prefix_sum", passed),
		old("vectorAdd", "vectoradd_hip.cpp", "PASSED"),
		old("reduction", "reduction.cpp", "(?i)pass|correct", "1048576"),
		runsOnly(old("mini-nbody/hip", "nbody-orig.cpp", ".", "2048")),
		shmoo(runsOnly(old("mini-nbody/hip", "nbody-block.cpp", ".", "2048"))),
		shmoo(runsOnly(old("mini-nbody/hip", "nbody-soa.cpp", ".", "2048"))),
		with(runsOnly(old("add4", "hip-stream.cpp", "Function", "--arraysize", "262144", "--numtimes", "2")), "common.cpp"),
		runsOnly(old("cuda-stream", "stream.cpp", ".", "-n", "65536")),
		large(old("rtm8", "rtm8.cpp", ".")),
		large(old("strided-access", "benchmark-hip.cpp", "stride")),
		old("openmp-helloworld", "openmp_helloworld.cpp", "."),
	}
	for _, c := range []struct {
		name string
		args []string
	}{{"BinomialOption", nil}, {"BitonicSort", nil}, {"FastWalshTransform", nil}, {"FloydWarshall", []string{"-x", "64"}}, {"Histogram", nil}, {"MatrixMultiplication", []string{"-x", "128", "-y", "128", "-z", "128"}},
		{"PrefixSum", nil}, {"SimpleConvolution", nil}, {"dct", nil}, {"dwtHaar1D", nil}} {
		list = append(list, old("HIP-Examples-Applications/"+c.name, c.name+".cpp", "Passed!", append([]string{"-e"}, c.args...)...))
	}
	gauss := old("HIP-Examples-Applications/RecursiveGaussian", "RecursiveGaussian.cpp", "Passed!", "-e")
	gauss.file = "RecursiveGaussian_Input.bmp"
	list = append(list, gauss, old("HIP-Examples-Applications/HelloWorld", "HelloWorld.cpp", "(?i)passed"))
	for v := 1; v <= 9; v++ {
		s := rocm("Tutorials/reduction/example", passed)
		s.sources, s.includes, s.flags = []string{fmt.Sprintf("v%d.hip", v)}, append(s.includes, "../include"), []string{"-std=c++20"}
		list = append(list, s)
	}
	return list
}

// name tells samples of one folder apart.
func (s sample) name() string {
	if len(s.sources) > 1 || s.sources[0] == "main.hip" {
		return s.dir
	}
	return s.dir + "/" + s.sources[0]
}

// TestSamples compiles public programs for all GPUs, decodes their kernels, and runs
// them on the emulator. Without $STONEMASON_HIP_EXAMPLES it runs a program of the
// project's own, so that the runtime that it hands calls through is tried all the same.
func TestSamples(t *testing.T) {
	project, therock := product(t)
	t.Log(tool(t, project, os.Environ(), therock, "build"))
	bundle := filepath.Join(project, "dist", platform.Native().String())
	runtime := t.TempDir()
	tool(t, project, host(), filepath.Join(bundle, "lib", "llvm", "bin", "clang++"), "-w", "-D__HIP_PLATFORM_AMD__", "-isystem", filepath.Join(bundle, "include"),
		"-O1", "-fPIC", "-shared", filepath.Join(project, "internal", "e2e", "testdata", "emulated", "runtime.cpp"), "-o", filepath.Join(runtime, "libamdhip64.so"))
	own := sample{program: program{dir: "emulated", sources: []string{"own.hip"}}, says: `^lane 3\nlane 3\nright\n$`}
	t.Run("own", func(t *testing.T) {
		s := &sampling{bundle: bundle, runtime: runtime}
		row, ok := s.try(t, own, filepath.Join(project, "internal", "e2e", "testdata", "emulated"))
		if t.Log(row); !ok {
			t.Error("the program of the project's own does not run")
		}
	})
	dir := os.Getenv(examplesEnv)
	if dir == "" {
		return
	}
	s := &sampling{bundle: bundle, runtime: runtime, decoded: map[string]int{}}
	var rows []string
	right := 0
	for _, x := range samples() {
		t.Run(x.name(), func(t *testing.T) {
			row, ok := s.try(t, x, filepath.Join(dir, x.dir))
			rows = append(rows, row)
			right += b2i(ok)
			t.Log(row)
		})
	}
	t.Logf("| program | kernels | decoded and executable | run |\n|---|---:|---|---|\n%s", strings.Join(rows, "\n"))
	t.Logf("%d programs, %d right; kernels %d; decoded: %v", len(rows), right, s.kernels, s.decoded)
	if right < 20 {
		t.Errorf("only %d programs run with a right result", right)
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// sampling is what all samples share, and what was counted.
type sampling struct {
	bundle, runtime string
	kernels         int            // of the programs, once
	decoded         map[string]int // kernels of which all is decoded, and run on GFX9, by GPU
}

// try returns a row of the table, and whether the program ran with the right result.
func (s *sampling) try(t *testing.T, x sample, dir string) (row string, ok bool) {
	out := t.TempDir()
	bin := filepath.Join(out, "program")
	hipcc := filepath.Join(s.bundle, "bin", "hipcc")
	var objects []string
	row = fmt.Sprintf("| %s | ", x.name())
	if x.module != "" {
		argv := append([]string{hipcc, "--genco", "-w", "-O2", "--no-offload-compress", x.module, "-o", filepath.Join(out, strings.TrimSuffix(x.module, ".hip")+".co")}, x.flags...)
		if said, err := command(dir, append(argv, "--offload-arch=gfx942")...); err != nil {
			return row + "- | - | does not compile: " + firstError(said) + " |", false
		}
	}
	if x.file != "" {
		if err := os.WriteFile(filepath.Join(out, x.file), read(t, dir, x.file), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, source := range x.sources {
		object := filepath.Join(out, filepath.Base(source)+".o")
		argv := slices.Concat([]string{hipcc}, x.flags, []string{"-w", "-O2", "--no-offload-compress", "-c", source, "-o", object})
		for _, gpu := range sampleGPUs() {
			argv = append(argv, "--offload-arch="+gpu)
		}
		for _, i := range x.includes {
			argv = append(argv, "-I", i)
		}
		if said, err := command(dir, argv...); err != nil {
			return row + "- | - | does not compile: " + firstError(said) + " |", false
		}
		objects = append(objects, object)
	}
	counts, kernels := s.decode(t, objects)
	row += fmt.Sprintf("%d | %s | ", kernels, counts)
	argv := append(append([]string{hipcc, "-no-hip-rt"}, objects...), "-L"+s.runtime, "-lamdhip64", "-Wl,-rpath,"+s.runtime, "-o", bin)
	if said, err := command(dir, argv...); err != nil {
		return row + "not linked: " + firstError(said) + " |", false
	}
	if x.tooLarge {
		return row + "decoded alone: its size is fixed and large, and it has no check |", false
	}
	said, served, ended := emulated(t.Context(), t, "gfx942", dir, append([]string{bin}, x.args...)...)
	what := fmt.Sprintf("%d launches, %.3g million instructions", served.launches, float64(served.instructions)/1e6)
	switch {
	case served.failed != "":
		row += "ended: " + served.failed + " |"
	case ended != nil:
		row += "ends with " + ended.Error() + " |"
	case served.launches == 0 || !regexp.MustCompile(x.says).MatchString(said):
		row += "says something else, " + what + " |"
	case x.unchecked:
		row += "runs, has no check of its own, " + what + " |"
	case x.printed:
		row, ok = row+"prints what its formula gives, "+what+" |", true
	default:
		row, ok = row+"right, "+what+" |", true
	}
	if testing.Verbose() || !ok {
		t.Logf("%s", tail(said))
	}
	return row, ok
}

func tail(s string) string {
	if len(s) > 1500 {
		return s[:700] + "\n…\n" + s[len(s)-700:]
	}
	return s
}

var errorLine = regexp.MustCompile(`(?m)^.*(undefined (symbol|reference)|: (fatal )?error: ).*$`)

func firstError(said string) string {
	line := errorLine.FindString(said)
	return line[strings.LastIndex(line, "/")+1:]
}

// decode counts the kernels of objects, and in a word or two on which GPUs all of them
// are decoded. On GFX9 what is decoded must run as well: its functions are looked through
// too, since a kernel may call them.
func (s *sampling) decode(t *testing.T, objects []string) (word string, kernels int) {
	table, err := targets.Load()
	if err != nil {
		t.Fatal(err)
	}
	runs := gpu.Supported()
	missing := map[string][]string{}
	count := map[string]int{}
	for _, object := range objects {
		data, err := os.ReadFile(object)
		if err != nil {
			t.Fatal(err)
		}
		list, err := codeobj.Slices(data, codeobj.Limits{})
		if err != nil {
			t.Log(err) // there is no kernel in it
			continue
		}
		for _, one := range list {
			obj, err := codeobj.Parse(one.Data)
			if err != nil {
				t.Fatal(err)
			}
			target, err := obj.Target(table)
			if err != nil {
				t.Fatal(err)
			}
			count[target.Name] += len(obj.Kernels)
			dec, err := isa.NewDecoder(target.Name)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range obj.Symbols {
				if f.Type != codeobj.SymbolFunc || !f.Defined() || f.Size == 0 {
					continue
				}
				code, err := obj.At(f.Value, f.Size)
				if err != nil {
					t.Fatal(err)
				}
				for len(code) >= 4 {
					inst, err := dec.Decode(code)
					if err != nil {
						missing[target.Name] = append(missing[target.Name], err.Error())
						break
					}
					// printf has it on a path that only a runtime with signals goes.
					if dec.Generation() <= 9 && inst.Name() != "s_sendmsg" && !slices.Contains(runs, inst.Name()) {
						missing[target.Name] = append(missing[target.Name], inst.Name())
					}
					code = code[inst.Size:]
				}
			}
		}
	}
	var words []string
	for _, name := range sampleGPUs() {
		if len(missing[name]) > 0 {
			slices.Sort(missing[name])
			words = append(words, name+" lacks "+strings.Join(slices.Compact(missing[name]), " "))
		} else if s.decoded != nil {
			s.decoded[name] += count[name]
		}
	}
	kernels = count["gfx942"]
	s.kernels += kernels
	if len(words) == 0 {
		return "all", kernels
	}
	return strings.Join(words, "; "), kernels
}
