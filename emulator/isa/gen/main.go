// Command gen writes the tables of package isa. It asks llvm-objdump what every
// opcode of every encoding is on every target, and learns from the answers which
// operands it has, where they lie, and which modifier bits it knows.
//
// It needs llvm-mc and llvm-objdump of LLVM 22, here alone: the decoder that the
// tables are for needs neither.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/stonemason-hip/stonemason/emulator/isa/internal/layout"
	"github.com/stonemason-hip/stonemason/emulator/isa/internal/oracle"
)

func main() {
	out := flag.String("o", "table.txt", "file to write")
	bin := flag.String("llvm", "/usr/lib/llvm-22/bin", "folder of LLVM's tools")
	only := flag.String("only", strings.Join(processors(), ","), "processors, to try how one is learned")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := generate(ctx, *bin, *out, strings.Split(*only, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		stop()
		os.Exit(1)
	}
}

// processors are what the table is of, in the order of its columns. One that
// answers as another before it does shares that one's column.
func processors() []string {
	return []string{
		"gfx900", "gfx902", "gfx904", "gfx906", "gfx908", "gfx909", "gfx90a", "gfx90c", "gfx942", "gfx950", "gfx9-generic", "gfx9-4-generic",
		"gfx1010", "gfx1011", "gfx1012", "gfx1013", "gfx10-1-generic",
		"gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036", "gfx10-3-generic",
		"gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153", "gfx11-generic",
		"gfx1200", "gfx1201", "gfx12-generic",
		"gfx1250", "gfx1251",
	}
}

func generate(ctx context.Context, bin, out string, list []string) error {
	tab := newTable()
	known := map[string]*column{} // by what they answer
	for _, processor := range list {
		fam := layout.FamilyOf(processor)
		if fam < 0 {
			return fmt.Errorf("%s is of no family", processor)
		}
		l := &learner{family: tab.families[fam]}
		l.narrow = &oracle.Disassembler{MC: filepath.Join(bin, "llvm-mc"), Objdump: filepath.Join(bin, "llvm-objdump"), Target: processor}
		if l.family.Wave64 {
			wide := *l.narrow
			wide.Wave64 = true
			l.wide = &wide
		}
		print, err := l.fingerprint(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", processor, err)
		}
		if c := known[print]; c != nil {
			c.processors = append(c.processors, processor)
			fmt.Fprintf(os.Stderr, "%s: as %s\n", processor, c.processors[0])
			continue
		}
		c := &column{processors: []string{processor}, bit: tab.bits, both: l.wide != nil}
		known[print] = c
		tab.columns = append(tab.columns, c)
		tab.bits++
		if c.both {
			tab.bits++
		}
		n := 0
		var wrong []error // of all encodings at once: it takes minutes
		for e := range l.family.Encodings {
			got, err := l.learn(ctx, &l.family.Encodings[e])
			if err != nil {
				wrong = append(wrong, fmt.Errorf("%s: %s: %w", processor, l.family.Encodings[e].Name, err))
				continue
			}
			for _, r := range got.rows {
				tab.add(fam, e, c.bit, r)
			}
			for _, r := range got.wide {
				tab.add(fam, e, c.bit+1, r)
			}
			n += len(got.rows)
		}
		if err := errors.Join(wrong...); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%s: %d rows\n", processor, n)
		if n == 0 {
			return errors.New("nothing learned: is that LLVM built with AMDGPU?")
		}
	}
	if tab.bits > 64 {
		return fmt.Errorf("%d columns: there is room for 64", tab.bits)
	}
	return os.WriteFile(out, tab.text(), 0o644)
}
