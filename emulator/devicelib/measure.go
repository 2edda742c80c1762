// Package devicelib measures the device library: each mathematical function that HIP
// has on the device, in f32 and f64, as it is compiled and run on the emulator,
// against a reference.
//
// The reference of f32 is Go's package math in f64, exact enough by far. That of f64 is
// computed with 256 bits, save for Bessel functions and the inverses of erf and erfc,
// where Go's own errors count as the device's.
package devicelib

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/stonemason-hip/stonemason/emulator"
)

// samples of each function: evenly over the range of the first argument, by chance
// over those of the others.
const (
	samples = 1024
	block   = 256
)

// Error is how far a function is from its reference, in units of the last place.
type Error struct {
	Worst  float64    // over all samples
	At     [4]float64 // the arguments there
	AtMost float64    // where the absolute error is the largest, as AMD counts
	Bound  float64    // that AMD publishes for AtMost; -1: none
	Failed string     // why there is no result
}

// OK reports that the function ran, and is within what AMD publishes.
func (e Error) OK() bool { return e.Failed == "" && (e.Bound < 0 || e.AtMost <= e.Bound) }

// Row is a function with its errors.
type Row struct {
	Name     string
	F32, F64 Error
}

// Source returns the HIP source with a kernel for each function and type, behind the
// given head, which includes what declares the functions.
func Source(head string, list []Function) string {
	var b strings.Builder
	b.WriteString(head)
	for _, f := range list {
		for _, t := range []struct{ name, suffix, label string }{{"float", "f", "f32"}, {"double", "", "f64"}} {
			call := f.Call
			if call == "" {
				call = "@(" + strings.Join([]string{"x", "y", "z", "w"}[:len(f.From)], ", ") + ")"
			}
			call = strings.ReplaceAll(call, "@", f.Name+t.suffix)
			fmt.Fprintf(&b, "extern \"C\" __global__ void %s_%s(const %s *a, %s *out) {\n", t.label, f.Name, t.name, t.name)
			b.WriteString("  unsigned i = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();\n")
			fmt.Fprintf(&b, "  %s x = a[i], y = a[i + %d], z = a[i + %d], w = a[i + %d]; (void)y; (void)z; (void)w;\n", t.name, samples, 2*samples, 3*samples)
			fmt.Fprintf(&b, "  out[i] = (%s)%s;\n}\n", t.name, call)
		}
	}
	return b.String()
}

// Measure runs all functions of a code object that Source was compiled to.
func Measure(ctx context.Context, dev *emulator.Device, mod *emulator.Module, list []Function) ([]Row, error) {
	in, err := dev.Alloc(4 * samples * 8)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dev.Free(in) }() // it was allocated here
	out, err := dev.Alloc(samples * 8)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dev.Free(out) }()
	args, err := dev.Bytes(in, 4*samples*8)
	if err != nil {
		return nil, err
	}
	results, err := dev.Bytes(out, samples*8)
	if err != nil {
		return nil, err
	}
	var rows []Row
	for _, f := range list {
		row := Row{Name: f.Name}
		for _, t := range []struct {
			to     *Error
			label  string
			bits32 bool
			bound  float64
		}{{&row.F32, "f32", true, f.Bound32}, {&row.F64, "f64", false, f.Bound64}} {
			points := f.points(t.bits32)
			fill(args, points, t.bits32)
			_, err := mod.Launch(ctx, t.label+"_"+f.Name, emulator.Dim3{X: samples / block, Y: 1, Z: 1}, emulator.Dim3{X: block, Y: 1, Z: 1},
				[][]byte{binary.LittleEndian.AppendUint64(nil, uint64(in)), binary.LittleEndian.AppendUint64(nil, uint64(out))}, emulator.Options{Budget: 1e8})
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if err != nil {
				*t.to = Error{Bound: t.bound, Failed: err.Error()}
				continue
			}
			*t.to = judge(f, points, results, t.bits32)
			t.to.Bound = t.bound
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// points are the arguments, which f32 can hold where it is asked for.
func (f Function) points(bits32 bool) [][4]float64 {
	rng := rand.New(rand.NewPCG(1, 2))
	list := make([][4]float64, samples)
	for i := range list {
		for k := range f.From {
			at := float64(i) / (samples - 1)
			if k > 0 {
				at = rng.Float64()
			}
			v := f.From[k] + at*(f.To[k]-f.From[k])
			if bits32 {
				v = float64(float32(v))
			}
			list[i][k] = v
		}
	}
	return list
}

func fill(args []byte, points [][4]float64, bits32 bool) {
	for i, p := range points {
		for k, v := range p {
			if bits32 {
				binary.LittleEndian.PutUint32(args[4*(k*samples+i):], math.Float32bits(float32(v)))
			} else {
				binary.LittleEndian.PutUint64(args[8*(k*samples+i):], math.Float64bits(v))
			}
		}
	}
}

func judge(f Function, points [][4]float64, results []byte, bits32 bool) Error {
	var e Error
	largest := 0.0
	reference := f.reference(bits32)
	for i, p := range points {
		want := reference(p)
		var got, unit float64
		if bits32 {
			got = float64(math.Float32frombits(binary.LittleEndian.Uint32(results[4*i:])))
			w := float32(want)
			want = float64(w)
			unit = float64(math.Nextafter32(abs32(w), float32(math.Inf(1)))) - float64(abs32(w))
		} else {
			got = math.Float64frombits(binary.LittleEndian.Uint64(results[8*i:]))
			unit = math.Nextafter(math.Abs(want), math.Inf(1)) - math.Abs(want)
		}
		if got == want || math.IsNaN(got) && math.IsNaN(want) {
			continue
		}
		off := math.Abs(got - want)
		ulp := off / unit
		if math.IsNaN(off) || math.IsInf(off, 0) {
			off, ulp = math.Inf(1), math.Inf(1)
		}
		if ulp > e.Worst {
			e.Worst, e.At = ulp, p
		}
		if off > largest {
			largest, e.AtMost = off, ulp
		}
	}
	return e
}

func abs32(f float32) float32 { return float32(math.Abs(float64(f))) }
