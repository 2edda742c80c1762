package launchfile

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"go/token"
	"math"
	"math/rand/v2"
	"time"

	"github.com/stonemason-hip/stonemason/emulator"
)

const lessOrSame = token.LEQ

// Preview is how many elements of a buffer a result shows, Mismatches how many of the
// wrong ones.
const (
	Preview    = 8
	Mismatches = 10
)

// Report tells what the launches of a file did.
type Report struct {
	Target   string   `json:"target"`
	Launches []Result `json:"launches"` // up to the first that ended before its time
	OK       bool     `json:"ok"`
}

// Result is that of one launch.
type Result struct {
	Kernel   string             `json:"kernel"`    // as in the source
	Symbol   string             `json:"symbol"`    // mangled
	Grid     [3]uint32          `json:"grid"`      // in work-groups
	Block    [3]uint32          `json:"block"`     // in work-items
	LDS      uint32             `json:"lds_bytes"` // dynamic
	Counters emulator.Counters  `json:"counters"`
	Seconds  float64            `json:"seconds"`
	Buffers  []Buffer           `json:"buffers"`
	Error    string             `json:"error,omitempty"`
	Fault    *emulator.Fault    `json:"fault,omitempty"`
	Findings *emulator.Findings `json:"findings,omitempty"` // of -check; Fault is the first
	OK       bool               `json:"ok"`
}

// Buffer is one buffer after a launch.
type Buffer struct {
	Name     string   `json:"name"`
	Type     Type     `json:"type"`
	Count    int      `json:"count"`
	First    []string `json:"first"`                // the first elements
	Checked  bool     `json:"checked"`              // something was expected
	Wrong    int      `json:"wrong"`                // elements beyond the tolerance
	WorstULP float64  `json:"worst_ulp"`            // over all elements; +Inf is written as the largest number
	Mismatch string   `json:"mismatch,omitempty"`   // the first wrong element
	At       int      `json:"worst_at"`             // the element with the worst difference
	Expected []string `json:"expected,omitempty"`   // beside First, where something is wrong
	Bad      []Wrong  `json:"mismatches,omitempty"` // the first wrong elements
	ULP      float64  `json:"tolerance_ulp"`        // allowed
	Abs      float64  `json:"tolerance_abs"`        // allowed
}

// Wrong is an element that is not as expected.
type Wrong struct {
	Element  int     `json:"element"`
	Got      string  `json:"got"`
	Expected string  `json:"expected"`
	ULP      float64 `json:"ulp"` // how far off; +Inf is written as the largest number
	Abs      float64 `json:"abs"` // the same
}

// Run performs the launches in their order on the device that the module is loaded
// on. A launch that ends before its time, or a buffer with other contents than
// expected, is a result; the error is one of memory, of an expression, or that of the
// context.
func (p *Plan) Run(ctx context.Context, dev *emulator.Device, mod *emulator.Module, opts emulator.Options) (*Report, error) {
	r := &Report{Target: dev.Target().String(), OK: true}
	for _, b := range p.Launches {
		res, err := b.run(ctx, dev, mod, opts)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.Signature.Name, err)
		}
		r.Launches = append(r.Launches, *res)
		r.OK = r.OK && res.OK
		if res.Error != "" {
			break // what follows may build on it
		}
	}
	return r, nil
}

func dims(d emulator.Dim3) [3]uint32 { return [3]uint32{d.X, d.Y, d.Z} }

func (b *Bound) run(ctx context.Context, dev *emulator.Device, mod *emulator.Module, opts emulator.Options) (*Result, error) {
	res := &Result{Kernel: b.Signature.Full, Symbol: b.Kernel.Name, Grid: dims(b.Grid), Block: dims(b.Block), LDS: b.LDS, OK: true}
	e := &env{ctx: ctx, args: map[string]*operand{}}
	var args [][]byte
	var buffers [][]byte
	for _, a := range b.args {
		if !a.arg.Buffer() {
			e.name(a, &operand{value: a.typ.decode(a.value), typ: a.typ})
		}
	}
	for _, a := range b.args {
		if !a.arg.Buffer() {
			args, buffers = append(args, a.value), append(buffers, nil)
			continue
		}
		ptr, err := dev.Alloc(a.bytes)
		if err != nil {
			return nil, err
		}
		defer func() { _ = dev.Free(ptr) }() // it was allocated here
		mem, err := dev.Bytes(ptr, a.bytes)
		if err != nil {
			return nil, err
		}
		if a.name != "" {
			_ = dev.Name(ptr, a.name) // it was allocated here
		}
		if err := a.fillIn(e, mem); err != nil {
			return nil, fmt.Errorf("%s: %w", a.arg.node.Pos(), err)
		}
		// Expectations speak of what was there before the launch.
		e.name(a, &operand{typ: a.typ, data: append([]byte(nil), mem...)})
		args, buffers = append(args, binary.LittleEndian.AppendUint64(nil, uint64(ptr))), append(buffers, mem)
	}
	opts.DynamicLDS = b.LDS
	begun := time.Now()
	var err error
	res.Counters, err = mod.Launch(ctx, b.Kernel.Name, b.Grid, b.Block, args, opts)
	res.Seconds = time.Since(begun).Seconds()
	if err != nil {
		if ctx.Err() != nil && !errors.As(err, &res.Fault) {
			return nil, context.Cause(ctx)
		}
		errors.As(err, &res.Fault)
		errors.As(err, &res.Findings)
		res.Error, res.OK = err.Error(), false
		return res, nil
	}
	for i, a := range b.args {
		if buffers[i] == nil {
			continue
		}
		got, err := a.compare(e, buffers[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.arg.Expect.node.Pos(), err)
		}
		if got.Name == "" {
			got.Name = fmt.Sprintf("argument %d", i)
		}
		res.Buffers = append(res.Buffers, got)
		res.OK = res.OK && got.Wrong == 0
	}
	return res, nil
}

func (e *env) name(b *bound, o *operand) {
	if b.arg.Name != "" {
		e.args[b.arg.Name] = o
	}
}

// fillIn puts a buffer's first contents into its memory, which is zero.
func (b *bound) fillIn(e *env, mem []byte) error {
	a, size := b.arg, b.typ.Size()
	if b.data != nil {
		copy(mem, b.data)
		return nil
	}
	count := int64(len(mem) / size)
	var each func(i int64) (number, error)
	switch {
	case a.Constant != nil:
		for at := 0; at < len(mem); at += size {
			copy(mem[at:], b.seeds[0])
		}
		return nil
	case a.Range != nil:
		from, step := b.typ.decode(b.seeds[0]), b.typ.decode(b.seeds[1])
		each = func(i int64) (number, error) {
			if b.typ.Float() {
				return floating(from.float() + float64(i)*step.float()), nil
			}
			return number{unsigned, from.bits + uint64(i)*step.bits}, nil
		}
	case a.Random != nil:
		rng := rand.New(rand.NewPCG(a.Random.Seed, 0))
		from, to := b.typ.decode(b.seeds[0]), b.typ.decode(b.seeds[1])
		each = func(int64) (number, error) {
			if b.typ.Float() {
				return floating(from.float() + rng.Float64()*(to.float()-from.float())), nil
			}
			span := to.bits - from.bits // to is above from
			if span == math.MaxUint64 {
				return number{unsigned, rng.Uint64()}, nil
			}
			return number{unsigned, from.bits + rng.Uint64N(span+1)}, nil
		}
	case a.expr != nil:
		e.n, e.steps = count, 0
		each = func(i int64) (number, error) { return a.expr.at(e, i) }
	default:
		return nil
	}
	for i := range count {
		if i%65536 == 0 && e.ctx.Err() != nil {
			return context.Cause(e.ctx)
		}
		v, err := each(i)
		if err != nil {
			return err
		}
		at := int(i) * size
		b.typ.encode(mem[at:at:at+size], v)
	}
	return nil
}

// compare holds a buffer against what is expected of it.
func (b *bound) compare(e *env, mem []byte) (Buffer, error) {
	size := b.typ.Size()
	out := Buffer{Name: b.name, Type: b.typ, Count: len(mem) / size}
	for i := range min(out.Count, Preview) {
		out.First = append(out.First, b.typ.text(mem[i*size:]))
	}
	x := b.arg.Expect
	if x == nil {
		return out, nil
	}
	out.Checked, out.ULP, out.Abs = true, x.ULP, x.Abs
	e.n, e.steps, e.err = int64(out.Count), 0, nil
	var room [8]byte
	worst := 0.0
	for i := range out.Count {
		at := i * size
		var want []byte
		switch {
		case b.want != nil:
			want = b.want[at : at+size]
		case b.fill != nil:
			want = b.fill
		default:
			v, err := x.expr.at(e, int64(i))
			if err != nil {
				return out, err
			}
			want = b.typ.encode(room[:0], v)
		}
		got := mem[at : at+size]
		ulp, abs := b.typ.distance(got, want)
		if ulp > worst {
			worst, out.At = ulp, i
		}
		if i < Preview {
			out.Expected = append(out.Expected, b.typ.text(want))
		}
		if ulp <= x.ULP || abs <= x.Abs {
			continue
		}
		if out.Wrong++; out.Wrong <= Mismatches {
			out.Bad = append(out.Bad, Wrong{i, b.typ.text(got), b.typ.text(want), min(ulp, math.MaxFloat64), min(abs, math.MaxFloat64)})
		}
		if out.Wrong == 1 {
			out.Mismatch = fmt.Sprintf("element %d is %s, expected %s", i, b.typ.text(got), b.typ.text(want))
			if b.typ.Float() && !math.IsInf(ulp, 0) {
				out.Mismatch += fmt.Sprintf(" (%.3g ulp)", ulp)
			}
		}
	}
	out.WorstULP = min(worst, math.MaxFloat64)
	if out.Wrong == 0 {
		out.Expected = nil
	}
	return out, nil
}
