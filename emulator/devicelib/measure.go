// Package devicelib measures the device library: the mathematical functions that HIP
// has on the device and those of the library below them, in f16, f32 and f64, as they
// are compiled and run on the emulator, against a reference (Functions, Measure), and
// those that have one right result (OCML, OCKL, HIP, Check).
//
// The reference of f16 and f32 is Go's package math in f64, exact enough by far. That of
// f64 is computed with 256 bits, save for pow of negative numbers; so is that of f32
// where Go's function is not exact enough (Bessel functions).
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

// samples of each function in f32 and f64: evenly over the range of the first argument,
// by chance over those of the others. In f16 there are all numbers of one argument, and
// so many by chance of more.
const (
	samples = 1024
	halves  = 1 << 16
	chances = 1 << 14
	block   = 256
)

// Error is how far a function is from its reference, in units of the last place.
type Error struct {
	Tried  bool       // it has the type
	Worst  float64    // over all samples
	At     [4]float64 // the arguments there
	AtMost float64    // where the absolute error is the largest, as AMD counts
	Bound  float64    // that AMD publishes for AtMost; -1: none
	Limit  float64    // our own for Worst, where AMD has none; 0: none
	Packed int        // in f16: pairs of which the packed form gives something else
	Known  string     // why the library is beyond them, where that is known
	Failed string     // why there is no result
}

// OK reports that the function ran, and is within what AMD publishes, or, where that is
// nothing, within our own limit.
func (e Error) OK() bool {
	within := e.AtMost <= e.Bound
	if e.Bound < 0 {
		within = e.Limit == 0 || e.Worst <= e.Limit
	}
	return e.Failed == "" && within && e.Packed == 0
}

// Row is a function with its errors.
type Row struct {
	Name          string
	F16, F32, F64 Error
}

// form is a function in one type.
type form struct {
	Function
	typed
	symbol string
	bound  float64
	packed bool
}

// forms lists a function's.
func (f Function) forms() []form {
	types := f.Types
	if types == "" {
		types = "f32 f64"
	}
	if f.OCML != "" {
		types += " f16"
	}
	symbol := strings.Map(func(r rune) rune {
		if r == ' ' || r == ':' {
			return '_'
		}
		return r
	}, f.Name)
	var list []form
	for _, t := range floats() {
		if strings.Contains(types, t.name) {
			bound := map[Kind]float64{F16: -1, F32: f.Bound32, F64: f.Bound64}[t.kind]
			packed := t.kind == F16 && f.OCML != "" && !strings.HasPrefix(f.OCML, "native_") && !strings.Contains(f.OCML, "len")
			list = append(list, form{f, t, t.name + "_" + symbol, bound, packed})
		}
	}
	return list
}

// call is the expression in C++: of HIP, or of the library with this behind its name.
func (f form) call(ocml string) string {
	plain := "@(" + strings.Join([]string{"x", "y", "z", "w"}[:len(f.From)], ", ") + ")"
	call, suffix := f.Call, map[Kind]string{F32: "f"}[f.kind]
	switch {
	case ocml != "":
		if _, args, ok := strings.Cut(call, "("); ok && args != "" && call[0] != '(' {
			plain = "@(" + args
		}
		return strings.ReplaceAll(plain, "@", "__ocml_"+f.OCML+"_"+ocml)
	case call == "":
		call = plain
	}
	// @ alone is the name; behind a name it is what the type adds to that.
	if strings.HasPrefix(call, "@") {
		call = f.Name + call
	}
	return strings.NewReplacer("@", suffix, "$", f.name(), "%", f.cpp).Replace(call)
}

func (f form) name() string { return f.typed.name }

// declare is the library's function that is called, as HIP's headers may not have it.
func (f form) declare(name, cpp, whole string) string {
	var params []string
	for i := range f.From {
		param := cpp
		if i == 1 && strings.Contains(f.Call, "(int)y") {
			param = whole
		}
		params = append(params, param)
	}
	return fmt.Sprintf("extern \"C\" DEVICE %s %s(%s);\n", cpp, name, strings.Join(params, ", "))
}

// Source returns the HIP source with a kernel for each function and type, behind the
// given head, which includes what declares HIP's functions.
func Source(before string, list []Function) string {
	var b strings.Builder
	b.WriteString(before)
	b.WriteString("#define GLOBAL extern \"C\" __attribute__((global))\n#define DEVICE __attribute__((device))\n#define PRIVATE __attribute__((address_space(5)))\n")
	b.WriteString("typedef _Float16 half2v __attribute__((ext_vector_type(2))); typedef int int2v __attribute__((ext_vector_type(2)));\n")
	b.WriteString("typedef float float2v __attribute__((ext_vector_type(2))); typedef double double2v __attribute__((ext_vector_type(2)));\n")
	const at = "  unsigned i = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();\n"
	for _, fn := range list {
		for _, f := range fn.forms() {
			ocml := ""
			if f.kind == F16 && f.OCML != "" {
				ocml = "f16"
				b.WriteString(f.declare("__ocml_"+f.OCML+"_f16", "_Float16", "int"))
			} else if name, _, ok := strings.Cut(f.Call, "_$("); ok && !strings.Contains(name, "(") {
				b.WriteString(f.declare(name+"_"+f.name(), f.cpp, "int"))
			} else if _, call, ok := strings.Cut(f.call(""), "; __ocml_"); ok && strings.Contains(call, "(PRIVATE") {
				name, rest, _ := strings.Cut(call, "(x, (")
				pointer, _, _ := strings.Cut(rest, ")")
				fmt.Fprintf(&b, "extern \"C\" DEVICE %s __ocml_%s(%s, %s);\n", f.cpp, name, f.cpp, pointer)
			} else if name, _, ok := strings.Cut(f.Name, ":"); ok && strings.Contains(f.Call, "(V)") || f.Name == "cabs" {
				vector := map[Kind]string{F32: "float2v", F64: "double2v"}[f.kind]
				params, result := vector, vector
				if name == "cdiv" {
					params += ", " + vector
				} else if name == "cabs" {
					result = f.cpp
				}
				fmt.Fprintf(&b, "extern \"C\" DEVICE %s __ocml_%s_%s(%s);\n", result, name, f.name(), params)
			}
			fmt.Fprintf(&b, "GLOBAL void %s(const %s *a, %s *out, unsigned n) {\n%s", f.symbol, f.cpp, f.cpp, at)
			fmt.Fprintf(&b, "  %s x = a[i], y = a[i + n], z = a[i + 2 * n], w = a[i + 3 * n]; (void)y; (void)z; (void)w;\n", f.cpp)
			fmt.Fprintf(&b, "  out[i] = (%s)(%s);\n}\n", f.cpp, f.call(ocml))
			if !f.packed {
				continue
			}
			b.WriteString(f.declare("__ocml_"+f.OCML+"_2f16", "half2v", "int2v"))
			fmt.Fprintf(&b, "GLOBAL void packed_%s(const half2v *a, half2v *out, unsigned n) {\n%s", f.symbol, at)
			b.WriteString("  half2v x = a[i], y = a[i + n / 2], z = a[i + n], w = a[i + n + n / 2]; (void)y; (void)z; (void)w;\n")
			fmt.Fprintf(&b, "  out[i] = %s;\n}\n", strings.ReplaceAll(f.call("2f16"), "(int)y", "__builtin_convertvector(y, int2v)"))
		}
	}
	return b.String()
}

// bench is the memory that the functions work in.
type bench struct {
	mod     *emulator.Module
	args    [][]byte // pointers
	in, out []byte
}

// Measure runs all functions of a code object that Source was compiled to.
func Measure(ctx context.Context, dev *emulator.Device, mod *emulator.Module, list []Function) ([]Row, error) {
	w := &bench{mod: mod}
	for _, m := range []struct {
		to *[]byte
		n  uint64
	}{{&w.in, 4 * max(halves*2, samples*8)}, {&w.out, max(halves*2, samples*8)}} {
		p, err := dev.Alloc(m.n)
		if err != nil {
			return nil, err
		}
		defer func() { _ = dev.Free(p) }() // it was allocated here
		if *m.to, err = dev.Bytes(p, m.n); err != nil {
			return nil, err
		}
		w.args = append(w.args, binary.LittleEndian.AppendUint64(nil, uint64(p)))
	}
	var rows []Row
	for _, fn := range list {
		row := Row{Name: fn.Name}
		for _, f := range fn.forms() {
			e := w.measure(ctx, f)
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			e.Tried, e.Bound = true, f.bound
			if e.Limit = f.Limit; e.Limit == 0 {
				e.Limit = 2
			}
			if strings.Contains(f.KnownIn, f.name()) {
				e.Known = f.Known
			}
			*map[Kind]*Error{F16: &row.F16, F32: &row.F32, F64: &row.F64}[f.kind] = e
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (w *bench) measure(ctx context.Context, f form) Error {
	points := f.points()
	f.fill(w.in, points)
	n := len(points)
	launch := func(symbol string, items int) error {
		clear(w.out)
		_, err := w.mod.Launch(ctx, symbol, emulator.Dim3{X: uint32(items / block), Y: 1, Z: 1}, emulator.Dim3{X: block, Y: 1, Z: 1},
			append(w.args, binary.LittleEndian.AppendUint32(nil, uint32(n))), emulator.Options{Budget: 1e9})
		return err
	}
	if err := launch(f.symbol, n); err != nil {
		return Error{Failed: err.Error()}
	}
	e := f.judge(points, w.out)
	if !f.packed {
		return e
	}
	single := append([]byte(nil), w.out[:2*n]...)
	if err := launch("packed_"+f.symbol, n/2); err != nil {
		return Error{Failed: err.Error()}
	}
	for i := range n {
		if a, b := read(F16, single, i), read(F16, w.out, i); !F16.same(a, b) {
			e.Packed++
		}
	}
	return e
}

// read returns an element of a type.
func read(k Kind, b []byte, i int) uint64 {
	le := binary.LittleEndian
	switch k {
	case F16:
		return uint64(le.Uint16(b[2*i:]))
	case F32:
		return uint64(le.Uint32(b[4*i:]))
	}
	return le.Uint64(b[8*i:])
}

// points are the arguments, which the type can hold.
func (f form) points() [][4]float64 {
	rng := rand.New(rand.NewPCG(1, 2))
	if f.kind == F16 {
		n := halves
		if len(f.From) > 1 {
			n = chances
		}
		list := make([][4]float64, n)
		for i := range list {
			for k := range f.From {
				v := uint64(i)
				if n == chances {
					v = F16.random(rng)
				}
				list[i][k] = F16.value(v)
				if k == 1 && strings.Contains(f.Call, "(int)y") {
					list[i][k] = float64(rng.IntN(41) - 20)
				}
			}
		}
		return list
	}
	list := make([][4]float64, samples)
	for i := range list {
		for k := range f.From {
			at := float64(i) / (samples - 1)
			if k > 0 {
				at = rng.Float64()
			}
			v := f.From[k] + at*(f.To[k]-f.From[k])
			list[i][k] = f.kind.value(f.kind.bits(v))
		}
	}
	return list
}

func (f form) fill(args []byte, points [][4]float64) {
	le, n := binary.LittleEndian, len(points)
	for i, p := range points {
		for k, v := range p {
			bits := f.kind.bits(v)
			switch f.kind {
			case F16:
				le.PutUint16(args[2*(k*n+i):], uint16(bits))
			case F32:
				le.PutUint32(args[4*(k*n+i):], uint32(bits))
			default:
				le.PutUint64(args[8*(k*n+i):], bits)
			}
		}
	}
}

func (f form) judge(points [][4]float64, results []byte) Error {
	var e Error
	largest := 0.0
	reference := f.reference(f.kind)
	precision, low, _ := f.kind.format()
	for i, p := range points {
		want := f.kind.value(f.kind.bits(reference(p)))
		got := f.kind.value(read(f.kind, results, i))
		if got == want || math.IsNaN(got) && math.IsNaN(want) {
			continue
		}
		off := math.Abs(got - want)
		_, exponent := math.Frexp(want)
		ulp := math.Ldexp(off, precision-max(exponent, low+1))
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
