package app

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stonemason-hip/stonemason/emulator"
	"github.com/stonemason-hip/stonemason/emulator/launchfile"
	"github.com/stonemason-hip/stonemason/internal/exit"
)

// traceSteps is how many instructions of a trace are kept where nobody says another
// number, and maxTraceSteps the most that can be asked for.
const (
	traceSteps    = 400
	maxTraceSteps = 1 << 20
)

// kernelTrace is what one wave of one launch did: its first instructions and its last.
type kernelTrace struct {
	Kernel  string               `json:"kernel"` // mangled
	Group   [3]uint32            `json:"group"`
	Wave    int                  `json:"wave"`
	Lane    int                  `json:"lane"`
	Steps   []emulator.TraceStep `json:"steps"`
	LeftOut int64                `json:"left_out"` // instructions in the middle
	first   int                  // how many of Steps lie before those left out

	total int64
	ring  []emulator.TraceStep // the last ones
}

// tracing follows a wave through the launches of a file.
type tracing struct {
	group      emulator.Dim3
	wave, lane int
	limit      int
	list       []*kernelTrace
}

// newTracing reads GROUP,WAVE[,LANE], where GROUP is x or x:y:z; nil where there is no
// wish.
func newTracing(text string, limit *int) (*tracing, error) {
	bad := func() (*tracing, error) {
		return nil, exit.Withf(exit.Usage, "-trace: found %q, expected GROUP,WAVE or GROUP,WAVE,LANE, each a number from 0; GROUP may be x:y:z", text)
	}
	if text == "" {
		if limit != nil {
			return nil, exit.Withf(exit.Usage, "-steps goes with -trace")
		}
		return nil, nil
	}
	parts := strings.Split(text, ",")
	group := strings.Split(parts[0], ":")
	if len(parts) < 2 || len(parts) > 3 || len(group) > 3 {
		return bad()
	}
	var numbers [6]uint32
	for n, s := range append(parts[1:], group...) {
		v, err := strconv.ParseUint(s, 10, 31)
		if err != nil {
			return bad()
		}
		at := n
		if n >= len(parts)-1 {
			at = 3 + n - (len(parts) - 1)
		}
		numbers[at] = uint32(v)
	}
	t := &tracing{wave: int(numbers[0]), lane: int(numbers[1]), group: emulator.Dim3{X: numbers[3], Y: numbers[4], Z: numbers[5]}, limit: traceSteps}
	if limit != nil {
		if t.limit = *limit; t.limit < 2 || t.limit > maxTraceSteps {
			return nil, exit.Withf(exit.Usage, "-steps: found %d, expected 2 to %d", t.limit, maxTraceSteps)
		}
	}
	return t, nil
}

// applies sees to it that some launch has the wave.
func (t *tracing) applies(plan *launchfile.Plan) error {
	if t == nil {
		return nil
	}
	why := ""
	for _, b := range plan.Launches {
		size := max(int(b.Kernel.WavefrontSize), 1)
		waves := (int(b.Block.X*b.Block.Y*b.Block.Z) + size - 1) / size
		switch {
		case t.group.X >= b.Grid.X || t.group.Y >= b.Grid.Y || t.group.Z >= b.Grid.Z:
			why = fmt.Sprintf("its work-groups are 0 to %d:%d:%d", b.Grid.X-1, b.Grid.Y-1, b.Grid.Z-1)
		case t.wave >= waves:
			why = fmt.Sprintf("its work-groups have %s", plural(waves, "wave", "waves"))
		case t.lane >= size:
			why = fmt.Sprintf("its waves have %d lanes", size)
		default:
			return nil
		}
		why = b.Signature.Name + ": " + why
	}
	return exit.Withf(exit.Usage, "-trace: no launch has work-group %s, wave %d, lane %d: %s", place(t.group), t.wave, t.lane, why)
}

// place writes a work-group as -trace reads it.
func place(d emulator.Dim3) string {
	switch {
	case d.Z > 0:
		return fmt.Sprintf("%d:%d:%d", d.X, d.Y, d.Z)
	case d.Y > 0:
		return fmt.Sprintf("%d:%d", d.X, d.Y)
	}
	return fmt.Sprint(d.X)
}

// options returns what the emulator is asked for; nil without a wish.
func (t *tracing) options() *emulator.Trace {
	if t == nil {
		return nil
	}
	return &emulator.Trace{Group: t.group, Wave: t.wave, Lane: t.lane, Step: t.step}
}

func (t *tracing) step(s emulator.TraceStep) {
	if s.Number == 0 {
		t.list = append(t.list, &kernelTrace{Kernel: s.Kernel, Group: [3]uint32{t.group.X, t.group.Y, t.group.Z}, Wave: t.wave, Lane: t.lane, Steps: []emulator.TraceStep{s}})
		return
	}
	k := t.list[len(t.list)-1]
	k.total++
	head := t.limit / 2
	if len(k.Steps) <= head {
		k.Steps = append(k.Steps, s)
		return
	}
	tail := t.limit - head
	if len(k.ring) < tail {
		k.ring = append(k.ring, s)
		return
	}
	k.ring[(k.total-1-int64(head))%int64(tail)] = s
}

// finished returns what was followed, each with its steps in order.
func (t *tracing) finished() []*kernelTrace {
	if t == nil {
		return nil
	}
	for _, k := range t.list {
		k.first = len(k.Steps)
		if n := int64(len(k.ring)); n > 0 {
			begun := k.total - int64(k.first-1) // instructions that came to the ring
			k.LeftOut = begun - n
			for i := range n {
				k.Steps = append(k.Steps, k.ring[(begun+i)%n])
			}
			k.ring = nil
		}
	}
	list := t.list
	t.list = nil
	return list
}

// tellTrace prints a trace: where it is known the line of the source, and of each
// instruction what it wrote and accessed.
func (a *App) tellTrace(k *kernelTrace, source *sourceLines) {
	fmt.Fprintf(a.Out, "  trace of work-group %s, wave %d, lane %d: %s\n", place(emulator.Dim3{X: k.Group[0], Y: k.Group[1], Z: k.Group[2]}), k.Wave, k.Lane, plural(int(k.total), "instruction", "instructions"))
	width := 0
	for _, s := range k.Steps {
		width = max(width, min(len(s.Instruction), 48))
	}
	at, on := "", true
	for n, s := range k.Steps {
		if n == k.first && k.LeftOut > 0 {
			fmt.Fprintf(a.Out, "    … %s left out (-steps=%d) …\n", plural(int(k.LeftOut), "instruction", "instructions"), len(k.Steps)-1)
		}
		if now := source.at(s.PC); now != "" && now != at && n > 0 {
			at = now
			fmt.Fprintf(a.Out, "    %s\n", at)
		}
		if now := s.Exec>>k.Lane&1 != 0; now != on {
			on = now
			fmt.Fprintf(a.Out, "    lane %d is %s\n", k.Lane, map[bool]string{true: "on", false: "off"}[on])
		}
		var words []string
		for _, r := range s.Wrote {
			words = append(words, r.String())
		}
		for _, m := range s.Memory {
			words = append(words, m.String())
		}
		if s.Next != 0 {
			words = append(words, fmt.Sprintf("to 0x%x", s.Next))
		}
		if s.Fault != "" {
			words = append(words, "FAULT: "+s.Fault)
		}
		if s.Number == 0 {
			fmt.Fprintf(a.Out, "    begins with %s\n", strings.Join(words, ", "))
			continue
		}
		fmt.Fprintln(a.Out, strings.TrimRight(fmt.Sprintf("  %6d  %6x  %-*s  %s", s.Number, s.PC, width, s.Instruction, strings.Join(words, ", ")), " "))
	}
}
