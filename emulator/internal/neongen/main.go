// Command neongen writes the loops over lanes that ARM64 has in NEON. Go's assembler
// does not know most vector instructions, so they stand in its files as words; what
// each word means stands beside it.
//
// The loops are described in the text files of this folder, in the assembly of ARM's
// documents. llvm-mc assembles them, for the first version of the architecture: an
// instruction that only later processors have is refused. The package that is made
// needs no LLVM.
package main

import (
	"context"
	"embed"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

//go:embed *.txt
var sources embed.FS

func main() {
	dir := flag.String("o", ".", "folder to write to")
	mc := flag.String("llvm-mc", "/usr/lib/llvm-22/bin/llvm-mc", "LLVM's assembler")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := write(ctx, *mc, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "neongen:", err)
		stop()
		os.Exit(1)
	}
}

func write(ctx context.Context, mc, dir string) error {
	files, err := generate(ctx, mc)
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns the assembly files by name.
func generate(ctx context.Context, mc string) (map[string][]byte, error) {
	names, err := sources.ReadDir(".")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, e := range names {
		text, err := sources.ReadFile(e.Name())
		if err != nil {
			return nil, err
		}
		name, loops, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
		w := &writer{}
		for _, l := range loops {
			if err := w.loop(l); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", e.Name(), l.name, err)
			}
		}
		words, err := assemble(ctx, mc, w.instructions())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
		files[name] = w.text(words)
	}
	return files, nil
}
