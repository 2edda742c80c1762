// Package emubench measures the emulator of GPUs, beside another one where that
// can run the same code object.
package emubench

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/stonemason-hip/stonemason/emulator"
)

//go:embed kernels.hip
var source []byte

// Target is a GPU, and what kernels are compiled for it with.
type Target struct {
	Processor string
	Wide      bool // waves of 64 lanes, where RDNA has those of 32
	Apart     bool // products and sums are not fused, as compilers have it: MGPUSim rounds those twice
}

// String is the processor, and the size of the waves where it has two.
func (t Target) String() string {
	switch {
	case strings.HasPrefix(t.Processor, "gfx9"):
		return t.Processor
	case t.Wide:
		return t.Processor + ", waves of 64 lanes"
	}
	return t.Processor + ", waves of 32 lanes"
}

// Code is what Compile has made.
type Code struct{ Path, Processor string }

// Compile compiles the kernels in a folder for a GPU.
func Compile(ctx context.Context, clang, dir string, t Target) (Code, error) {
	contract := map[bool]string{false: "fast", true: "off"}[t.Apart]
	in := filepath.Join(dir, "kernels.hip")
	code := Code{filepath.Join(dir, fmt.Sprintf("kernels-%s-%s-%t.co", t.Processor, contract, t.Wide)), t.Processor}
	if err := os.WriteFile(in, source, 0o644); err != nil {
		return Code{}, err
	}
	argv := []string{"-x", "hip", "-nogpuinc", "-nogpulib", "--offload-device-only", "--no-gpu-bundle-output", "-O3", "-fuse-cuid=none",
		"-ffp-contract=" + contract, "--offload-arch=" + t.Processor, in, "-o", code.Path}
	if t.Wide && !strings.HasPrefix(t.Processor, "gfx9") {
		argv = append(argv, "-mwavefrontsize64")
	}
	cmd := exec.CommandContext(ctx, clang, argv...)
	if said, err := cmd.CombinedOutput(); err != nil {
		return Code{}, fmt.Errorf("compiling the kernels of the benchmark for %s: %w\n%.2000s", t, err, said)
	}
	return code, nil
}

// Job is one kernel with its arguments. As JSON it is what the program in
// bench/mgpusim reads.
type Job struct {
	Code   string    // path of the code object
	Kernel string    // its name
	Grid   [3]uint32 // in work-groups
	Block  [3]uint16 // in work-items
	// Args are the bytes of the explicit arguments as the kernel finds them. At each
	// of Pointers lies the address of a buffer.
	Args     []byte
	Pointers []Pointer
	Runs     int

	sizes     []int // of the arguments
	processor string
}

// Pointer is an argument that is a buffer.
type Pointer struct {
	At     int    // in Args, in bytes
	Data   []byte // what it begins with
	Result bool   // its bytes are part of Report.Result
}

// Report is what came out.
type Report struct {
	Seconds      []float64 // of each launch, copies left out
	Instructions int64     // of waves, in one launch
	Result       string    // SHA-256 of the results of the last run
}

// block is how many work-items the kernels have in a work-group.
const block = 256

func job(code Code, kernel string, groups uint32) Job {
	return Job{Code: code.Path, processor: code.Processor, Kernel: kernel, Grid: [3]uint32{groups, 1, 1}, Block: [3]uint16{block, 1, 1}, Runs: 1}
}

func (j *Job) buffer(data []byte, result bool) {
	j.Pointers = append(j.Pointers, Pointer{At: len(j.Args), Data: data, Result: result})
	j.Args = binary.LittleEndian.AppendUint64(j.Args, 0)
	j.sizes = append(j.sizes, 8)
}

func (j *Job) word(v uint32) {
	j.Args = binary.LittleEndian.AppendUint32(j.Args, v)
	j.sizes = append(j.sizes, 4)
}

// Loop is a kernel that computes in a loop of n rounds: integer, f32 or f64.
func Loop(code Code, kernel string, groups, n uint32) Job {
	j := job(code, kernel, groups)
	size := 4
	if kernel == "f64" {
		size = 8
	}
	j.buffer(make([]byte, size*block*int(groups)), true)
	j.word(n)
	return j
}

// Reduce sums up n rows a work-group in local memory.
func Reduce(code Code, groups, n uint32) Job {
	j := job(code, "reduce", groups)
	in := make([]byte, 4*(int(groups)*block+int(n)))
	for k := 0; k < len(in); k += 4 {
		binary.LittleEndian.PutUint32(in[k:], uint32(k)*2654435761)
	}
	j.buffer(in, false)
	j.buffer(make([]byte, 4*groups), true)
	j.word(n)
	return j
}

// Saxpy is y += 2.5*x on n elements, a multiple of a work-group.
func Saxpy(code Code, n uint32) Job {
	j := job(code, "saxpy", n/block)
	numbers := func(mod uint32) []byte {
		data := make([]byte, 0, 4*n)
		for k := range n {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(k%mod)))
		}
		return data
	}
	j.buffer(numbers(1000), false)
	j.buffer(numbers(7), true)
	j.word(math.Float32bits(2.5))
	j.word(n)
	return j
}

// Run does the job on a device of its own, so many cores at a time; 0: all. Load,
// allocation and copies are part of the time that whole has.
func (j *Job) Run(ctx context.Context, cores int) (r Report, whole time.Duration, err error) {
	begun := time.Now()
	code, err := os.ReadFile(j.Code)
	if err != nil {
		return r, 0, err
	}
	dev, err := emulator.NewDevice(j.processor)
	if err != nil {
		return r, 0, err
	}
	mod, err := dev.Load(code)
	if err != nil {
		return r, 0, err
	}
	given := append([]byte(nil), j.Args...)
	memory := make([][]byte, len(j.Pointers))
	for k, p := range j.Pointers {
		at, err := dev.Alloc(uint64(len(p.Data)))
		if err != nil {
			return r, 0, err
		}
		if memory[k], err = dev.Bytes(at, uint64(len(p.Data))); err != nil {
			return r, 0, err
		}
		copy(memory[k], p.Data)
		binary.LittleEndian.PutUint64(given[p.At:], uint64(at))
	}
	var args [][]byte
	for _, size := range j.sizes {
		args, given = append(args, given[:size]), given[size:]
	}
	launched := time.Now()
	counters, err := mod.Launch(ctx, j.Kernel, emulator.Dim3{X: j.Grid[0], Y: j.Grid[1], Z: j.Grid[2]},
		emulator.Dim3{X: uint32(j.Block[0]), Y: uint32(j.Block[1]), Z: uint32(j.Block[2])}, args, emulator.Options{Workers: cores})
	if err != nil {
		return r, 0, err
	}
	r.Seconds, r.Instructions = []float64{time.Since(launched).Seconds()}, counters.Instructions
	results := make([][]byte, 0, len(memory))
	for k, p := range j.Pointers {
		if p.Result {
			results = append(results, append([]byte(nil), memory[k]...))
		}
	}
	whole = time.Since(begun)
	r.Result = digest(results...)
	return r, whole, nil
}

func digest(parts ...[]byte) string {
	sum := sha256.New()
	for _, b := range parts {
		sum.Write(b)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
