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
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := generate(ctx, *bin, *out); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		stop()
		os.Exit(1)
	}
}

// targets are the columns of the table, in the order of its target bits. Those
// whose waves have 32 or 64 lanes have two columns, the second marked /64.
func targets() []string {
	return []string{"gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950",
		"gfx1030", "gfx1030/64", "gfx1100", "gfx1100/64", "gfx1201", "gfx1201/64"}
}

func generate(ctx context.Context, bin, out string) error {
	tab := newTable()
	for i, target := range targets() {
		if strings.HasSuffix(target, "/64") {
			continue // along with the column before
		}
		fam := layout.FamilyOf(target)
		if fam < 0 {
			return fmt.Errorf("%s is of no family", target)
		}
		l := &learner{family: tab.families[fam]}
		l.narrow = &oracle.Disassembler{MC: filepath.Join(bin, "llvm-mc"), Objdump: filepath.Join(bin, "llvm-objdump"), Target: target}
		if l.family.Generation > 9 {
			wide := *l.narrow
			wide.Wave64 = true
			l.wide = &wide
		}
		n := 0
		for e := range l.family.Encodings {
			got, err := l.learn(ctx, &l.family.Encodings[e])
			if err != nil {
				return fmt.Errorf("%s: %s: %w", target, l.family.Encodings[e].Name, err)
			}
			for _, r := range got.rows {
				tab.add(fam, e, i, r)
			}
			for _, r := range got.wide {
				tab.add(fam, e, i+1, r)
			}
			n += len(got.rows)
		}
		fmt.Fprintf(os.Stderr, "%s: %d rows\n", target, n)
		if n == 0 {
			return errors.New("nothing learned: is that LLVM built with AMDGPU?")
		}
	}
	return os.WriteFile(out, tab.text(), 0o644)
}
