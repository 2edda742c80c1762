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

// targets are the columns of the table, in the order of its target bits.
func targets() []string {
	return []string{"gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950"}
}

func generate(ctx context.Context, bin, out string) error {
	tab := newTable()
	for i, target := range targets() {
		d := &oracle.Disassembler{MC: filepath.Join(bin, "llvm-mc"), Objdump: filepath.Join(bin, "llvm-objdump"), Target: target}
		n := 0
		for e := range tab.encodings {
			rows, err := learn(ctx, d, tab.encodings, &tab.encodings[e])
			if err != nil {
				return fmt.Errorf("%s: %s: %w", target, tab.encodings[e].Name, err)
			}
			for _, r := range rows {
				tab.add(e, i, r)
			}
			n += len(rows)
		}
		fmt.Fprintf(os.Stderr, "%s: %d rows\n", target, n)
		if n == 0 {
			return errors.New("nothing learned: is that LLVM built with AMDGPU?")
		}
	}
	return os.WriteFile(out, tab.text(), 0o644)
}
