package emulator

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
)

const traceSource = `
extern __shared__ float tile[];
KERNEL grow(const float *x, float *y, u32 n) {
  u32 i = GID, t = TID;
  float v = x[i];
  for (u32 k = 0; k < t % 3 + 1; k++) v = v * 1.5f + 2.0f;
  tile[t] = v;
  SYNC;
  if (t & 1) y[i] = tile[t ^ 1]; else y[i] = v;
}
KERNEL wild(u32 *out) { if (TID == 70) out[100000] = 1; }
`

// replay is what a trace says the registers hold, one step after another.
type replay map[string]uint32

func (r replay) add(s TraceStep) {
	for _, w := range s.Wrote {
		name, first, many := w.Name, 0, false
		if at := strings.IndexByte(name, '['); at > 0 {
			many = true
			for _, c := range name[at+1 : strings.IndexByte(name, ':')] {
				first = first*10 + int(c-'0')
			}
			name = name[:at]
		}
		for k, v := range w.Words {
			switch {
			case many:
				r[name+string(rune('0'+(first+k)/10))+string(rune('0'+(first+k)%10))] = v
			case len(name) < 3 && name[1] >= '0': // s3 as s03
				r[name[:1]+"0"+name[1:]] = v
			case k == 0:
				r[name] = v
			}
		}
	}
}

// A trace is the wave's own story: its instructions in the order in which they ran,
// what each wrote and where it went, and the launch gives the same as without.
func TestTrace(t *testing.T) {
	for _, arch := range []string{"gfx900", "gfx942", "gfx1100"} {
		t.Run(arch, func(t *testing.T) {
			m := loadHIP(t, arch, "-O1", traceSource)
			px, x := alloc(t, m, 4*512)
			py, y := alloc(t, m, 4*512)
			if err := errors.Join(m.dev.Name(px, "x"), m.dev.Name(py, "y")); err != nil {
				t.Fatal(err)
			}
			for i := range 512 {
				binary.LittleEndian.PutUint32(x[4*i:], math.Float32bits(float32(i)/4))
			}
			args := [][]byte{u64arg(uint64(px)), u64arg(uint64(py)), u32arg(512)}
			run := func(trace *Trace, check Check) string {
				t.Helper()
				clear(y)
				_, err := m.Launch(t.Context(), "grow", Dim3{4, 1, 1}, Dim3{128, 1, 1}, args, Options{DynamicLDS: 512, Trace: trace, Check: check, Budget: 1e6})
				if err != nil {
					t.Fatal(err)
				}
				return string(y)
			}
			want := run(nil, 0)
			for _, check := range []Check{0, CheckRace | CheckInit | CheckWait} {
				var steps []TraceStep
				if got := run(&Trace{Group: Dim3{X: 2}, Wave: 1, Lane: 5, Step: func(s TraceStep) { steps = append(steps, s) }}, check); got != want {
					t.Errorf("a launch that is traced has other results")
				}
				size := uint64(32)
				if m.obj.Kernels[0].WavefrontSize == 64 {
					size = 64
				}
				item := 2*128 + size + 5
				if len(steps) < 20 || steps[0].Kernel != "grow" || steps[0].Number != 0 || steps[len(steps)-1].Instruction != "s_endpgm" {
					t.Fatalf("%d steps: %+v … %+v", len(steps), steps[0], steps[len(steps)-1])
				}
				regs, jumps, stored, loaded := replay{}, 0, false, false
				exec := steps[0].Exec
				for n, s := range steps {
					if s.Exec != exec {
						t.Errorf("step %d: 0x%x took part, 0x%x was written", n, s.Exec, exec)
					}
					for _, w := range s.Wrote {
						switch w.Name {
						case "exec":
							exec = uint64(w.Words[1])<<32 | uint64(w.Words[0])
						case "exec_lo":
							exec = uint64(w.Words[0])
						}
					}
					if s.Number != int64(n) || s.Exec>>5&1 == 0 && len(s.Memory) > 0 && !s.Memory[0].Scalar {
						t.Errorf("step %d: %+v", n, s)
					}
					if n > 1 && steps[n-1].Next == 0 && (s.PC <= steps[n-1].PC || s.PC > steps[n-1].PC+12) {
						t.Errorf("0x%x is followed by 0x%x", steps[n-1].PC, s.PC)
					}
					if n > 1 && steps[n-1].Next != 0 {
						if jumps++; s.PC != steps[n-1].Next {
							t.Errorf("jumped to 0x%x, and went on at 0x%x", steps[n-1].Next, s.PC)
						}
					}
					for _, a := range s.Memory {
						switch {
						case a.Kind == "load" && a.Memory == "x":
							regs.add(s)
							loaded = a.Offset == 4*item && a.Bytes == 4 && len(s.Wrote) == 1 && s.Wrote[0].Words[0] == binary.LittleEndian.Uint32(x[4*item:])
						case a.Kind == "store" && a.Memory == "y" && a.Offset == 4*item:
							// The last operand before "off", or behind the first comma.
							args := strings.FieldsFunc(s.Instruction, func(r rune) bool { return r == ' ' || r == ',' })
							reg := args[2]
							if len(reg) == 2 {
								reg = reg[:1] + "0" + reg[1:]
							}
							stored = regs[reg] == binary.LittleEndian.Uint32(y[4*item:]) && regs[reg] != 0
						}
					}
					regs.add(s)
				}
				if jumps < 2 || !loaded || !stored {
					t.Errorf("%d jumps, load %v, store %v", jumps, loaded, stored)
					for _, s := range steps {
						t.Logf("%x %s %v %v", s.PC, s.Instruction, s.Wrote, s.Memory)
					}
				}
				fraction := false
				for _, s := range steps {
					for _, w := range s.Wrote {
						fraction = fraction || w.Float == 32 && strings.HasPrefix(w.String(), w.Name+"=") && strings.HasSuffix(w.String(), ")")
					}
				}
				if !fraction {
					t.Error("no result is shown as a fraction")
				}
			}
		})
	}
}

// The last step before a fault is the one that failed; who asks for a wave that is
// not there hears nothing.
func TestTraceOfAFault(t *testing.T) {
	m := loadHIP(t, "gfx942", "-O1", traceSource)
	p, _ := alloc(t, m, 400)
	if err := m.dev.Name(p, "out"); err != nil {
		t.Fatal(err)
	}
	var last TraceStep
	calls := 0
	trace := &Trace{Wave: 1, Lane: 6, Step: func(s TraceStep) { last, calls = s, calls+1 }}
	_, err := m.Launch(t.Context(), "wild", Dim3{1, 1, 1}, Dim3{128, 1, 1}, [][]byte{u64arg(uint64(p))}, Options{Trace: trace})
	var f *Fault
	if !errors.As(err, &f) || last.Fault != f.Reason || last.PC != f.PC || last.Instruction != f.Instruction || f.Lane != 6 || last.Exec != 1<<6 {
		t.Errorf("%v: %+v", err, last)
	}
	trace.Wave, calls = 2, 0
	if _, err := m.Launch(t.Context(), "wild", Dim3{1, 1, 1}, Dim3{64, 1, 1}, [][]byte{u64arg(uint64(p))}, Options{Trace: trace}); err != nil || calls != 0 {
		t.Errorf("%v, %d calls", err, calls)
	}
	if err := m.dev.Name(p+4, "middle"); err == nil {
		t.Error("the middle of an allocation got a name")
	}
}

// An address in the gap beside an allocation is told by it.
func TestFaultsNameWhatIsNear(t *testing.T) {
	m := loadHIP(t, "gfx942", "-O1", `KERNEL at(u32 *out, long off) { *(u32 *)((char *)out + off) = 1; }`)
	p, _ := alloc(t, m, 400)
	if err := m.dev.Name(p, "out"); err != nil {
		t.Fatal(err)
	}
	for off, want := range map[int64]string{
		400:     "nothing is allocated there, directly behind out (400 bytes)",
		1000:    "nothing is allocated there, 600 bytes behind the end of out (400 bytes)",
		-8:      "nothing is allocated there, 8 bytes before out (400 bytes)",
		398:     "out ends at 0x",
		1 << 30: "nothing is allocated there",
	} {
		_, err := m.Launch(t.Context(), "at", Dim3{1, 1, 1}, Dim3{1, 1, 1}, [][]byte{u64arg(uint64(p)), u64arg(uint64(off))}, Options{})
		var f *Fault
		if !errors.As(err, &f) || !strings.Contains(f.Reason, want) || off == 1<<30 && strings.Contains(f.Reason, "behind") {
			t.Errorf("%d: %v", off, err)
		}
	}
}
