// Package oracle asks LLVM what bytes mean: for the generator of the tables, and
// for the tests that compare the decoder with it.
package oracle

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Disassembler is llvm-objdump for one processor.
type Disassembler struct {
	MC, Objdump string // paths of the tools
	Target      string // gfx942
	Wave64      bool   // of waves of 64 lanes, where there are such of 32 too
}

// Answer is what LLVM says of one probe. An invalid one has an empty text.
type Answer struct {
	Text string
	Size int // in bytes
}

// slot is how many words a probe has, the rest filled with s_nop: so many that what
// follows a word that is no instruction ends before the next probe.
const slot = 6

// Ask disassembles each probe by itself, in one run. Where llvm-objdump crashes,
// it is asked in halves, so that what it crashes on counts as invalid.
func (d *Disassembler) Ask(ctx context.Context, probes [][]uint32) ([]Answer, error) {
	if len(probes) == 0 {
		return nil, nil
	}
	answers, err := d.run(ctx, probes)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() >= 0 || ctx.Err() != nil {
		return answers, err // not ended by a signal
	}
	if len(probes) == 1 {
		return make([]Answer, 1), nil
	}
	half := len(probes) / 2
	left, err := d.Ask(ctx, probes[:half])
	if err != nil {
		return nil, err
	}
	right, err := d.Ask(ctx, probes[half:])
	return append(left, right...), err
}

// Args are the arguments that name the processor to llvm-objdump.
func (d *Disassembler) Args() []string {
	if d.Wave64 {
		return []string{"--mcpu=" + d.Target, "--mattr=+wavefrontsize64"}
	}
	return []string{"--mcpu=" + d.Target}
}

func (d *Disassembler) run(ctx context.Context, probes [][]uint32) ([]Answer, error) {
	answers := make([]Answer, len(probes))
	dir, err := os.MkdirTemp("", "isa-gen-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var src bytes.Buffer
	for _, p := range probes {
		words := [slot]uint32{}
		for i := range words {
			words[i] = 0xbf800000
			if i < len(p) {
				words[i] = p[i]
			}
		}
		fmt.Fprintf(&src, ".long %d,%d,%d,%d,%d,%d\n", words[0], words[1], words[2], words[3], words[4], words[5])
	}
	obj := filepath.Join(dir, "probe.o")
	mc := exec.CommandContext(ctx, d.MC, "-triple=amdgcn-amd-amdhsa", "-mcpu="+d.Target, "-filetype=obj", "-o", obj)
	mc.Stdin, mc.Stderr = &src, os.Stderr
	if err := mc.Run(); err != nil {
		return nil, fmt.Errorf("llvm-mc: %w", err)
	}
	dump := exec.CommandContext(ctx, d.Objdump, append(d.Args(), "-d", "-z", obj)...)
	dump.Env = append(os.Environ(), "LLVM_DISABLE_SYMBOLIZATION=1", "LLVM_DISABLE_CRASH_REPORT=1") // crashes are answers
	pipe, err := dump.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := dump.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(pipe)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		l, ok := ParseLine(lines.Text())
		if !ok || l.Address%(slot*4) != 0 || strings.HasPrefix(l.Text, ".long") {
			continue
		}
		answers[l.Address/(slot*4)] = Answer{l.Text, 4 * len(l.Words)}
	}
	if err := dump.Wait(); err != nil {
		return nil, fmt.Errorf("llvm-objdump: %w", err)
	}
	return answers, lines.Err()
}

// Line is an instruction as llvm-objdump shows it.
type Line struct {
	Text    string
	Address uint64
	Words   []string // hexadecimal
}

// ParseLine reads "	text // ADDRESS: WORD WORD <label>"; other lines are none.
func ParseLine(line string) (Line, bool) {
	i := strings.LastIndex(line, "// ")
	if i < 0 || !strings.HasPrefix(line, "\t") {
		return Line{}, false
	}
	addr, words, found := strings.Cut(line[i+3:], ": ")
	a, err := strconv.ParseUint(addr, 16, 64)
	if !found || err != nil {
		return Line{}, false
	}
	l := Line{Text: strings.TrimSpace(line[:i]), Address: a}
	for _, w := range strings.Fields(words) {
		if _, err := strconv.ParseUint(w, 16, 32); err != nil || len(w) != 8 {
			break // a label, or a warning
		}
		l.Words = append(l.Words, w)
	}
	return l, true
}
