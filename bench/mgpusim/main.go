// Command mgpusim runs kernels on the functional emulator of MGPUSim, for bench to
// set beside ours. It is a module of its own so that nothing else depends on it.
//
// It reads a Job as JSON from standard input and writes a Report to standard
// output. An instruction that MGPUSim does not know ends it with a panic of
// MGPUSim's.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/sarchlab/akita/v4/sim"
	"github.com/sarchlab/akita/v4/simulation"
	"github.com/sarchlab/mgpusim/v4/amd/arch"
	"github.com/sarchlab/mgpusim/v4/amd/driver"
	"github.com/sarchlab/mgpusim/v4/amd/emu"
	"github.com/sarchlab/mgpusim/v4/amd/insts"
	"github.com/sarchlab/mgpusim/v4/amd/samples/runner/emusystem"
)

// Job is one kernel to be run several times, each time with fresh buffers.
type Job struct {
	Code   string    // path of a code object for gfx942
	Kernel string    // its name
	Grid   [3]uint32 // in work-groups
	Block  [3]uint16 // in work-items
	// Args are the bytes of the explicit arguments as the kernel finds them. At each
	// of Pointers lies the address of a buffer.
	Args     []byte
	Pointers []Pointer
	Runs     int
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

// maxArgs bounds the arguments: what a struct of MGPUSim's driver must be told.
const maxArgs = 256

// counter counts the instructions that compute units tell of.
type counter struct{ n int64 }

// Func is called after each instruction.
func (c *counter) Func(ctx sim.HookCtx) {
	if _, ok := ctx.Detail.(*insts.Inst); ok {
		c.n++
	}
}

func main() {
	log.SetFlags(0)
	out := os.Stdout
	os.Stdout = os.Stderr // MGPUSim prints there
	if err := run(os.Stdin, out); err != nil {
		log.Fatal(err)
	}
}

func run(in io.Reader, out io.Writer) error {
	var job Job
	if err := json.NewDecoder(in).Decode(&job); err != nil {
		return fmt.Errorf("the job: %w", err)
	}
	if len(job.Args) > maxArgs {
		return fmt.Errorf("%d bytes of arguments: at most %d", len(job.Args), maxArgs)
	}
	for _, p := range job.Pointers {
		if p.At < 0 || p.At+8 > len(job.Args) {
			return errors.New("a pointer beyond the arguments")
		}
	}
	var report Report
	// Counting costs time, so that it is done in a launch of its own.
	if _, _, err := launch(&job, &report.Instructions); err != nil {
		return err
	}
	for range job.Runs {
		took, result, err := launch(&job, nil)
		if err != nil {
			return err
		}
		report.Seconds, report.Result = append(report.Seconds, took.Seconds()), result
	}
	return json.NewEncoder(out).Encode(report)
}

func launch(job *Job, instructions *int64) (took time.Duration, result string, err error) {
	s := simulation.MakeBuilder().WithoutMonitoring().Build()
	emusystem.MakeBuilder().WithSimulation(s).WithNumGPUs(1).WithArchitecture(arch.CDNA3).Build()
	d, ok := s.GetComponentByName("Driver").(*driver.Driver)
	if !ok {
		return 0, "", errors.New("MGPUSim has no driver")
	}
	count := &counter{}
	if instructions != nil {
		for _, c := range s.Components() {
			if cu, ok := c.(*emu.ComputeUnit); ok {
				cu.AcceptHook(count)
			}
		}
	}
	d.Run()
	ctx := d.Init()
	d.SelectGPU(ctx, 1)
	args := struct{ Raw [maxArgs]byte }{}
	copy(args.Raw[:], job.Args)
	buffers := make([]driver.Ptr, len(job.Pointers))
	for n, p := range job.Pointers {
		buffers[n] = d.AllocateMemory(ctx, uint64(len(p.Data)))
		d.MemCopyH2D(ctx, buffers[n], p.Data)
		for k := range 8 {
			args.Raw[p.At+k] = byte(buffers[n] >> (8 * k))
		}
	}
	co := insts.LoadKernelCodeObjectFromFS(job.Code, job.Kernel)
	co.KernargSegmentByteSize = maxArgs
	// What it takes for the place of the first instruction is relative to the
	// descriptor, and its data begin there.
	co.KernelCodeEntryByteOffset = 0
	grid := [3]uint32{job.Grid[0] * uint32(job.Block[0]), job.Grid[1] * uint32(job.Block[1]), job.Grid[2] * uint32(job.Block[2])}
	begun := time.Now()
	d.LaunchKernel(ctx, co, grid, job.Block, &args)
	took = time.Since(begun)
	sum := sha256.New()
	for n, p := range job.Pointers {
		if p.Result {
			data := make([]byte, len(p.Data))
			d.MemCopyD2H(ctx, data, buffers[n])
			sum.Write(data)
		}
	}
	d.Terminate()
	s.Terminate()
	if instructions != nil {
		*instructions = count.n
	}
	return took, hex.EncodeToString(sum.Sum(nil)), nil
}
