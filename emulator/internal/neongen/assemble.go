package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os/exec"
	"strings"
)

// word is an instruction as LLVM writes it, and its bits.
type word struct {
	text string
	bits uint32
}

// assemble returns the words of instructions, by what was given. Each must be one
// that every ARM64 has.
func assemble(ctx context.Context, mc string, list []string) (map[string]word, error) {
	cmd := exec.CommandContext(ctx, mc, "-triple=aarch64", "-mattr=+neon", "-show-encoding")
	cmd.Stdin = strings.NewReader(strings.Join(list, "\n") + "\n")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", mc, err, stderr.Bytes())
	}
	var words []word
	sc := bufio.NewScanner(bytes.NewReader(out))
	for sc.Scan() {
		text, code, ok := strings.Cut(sc.Text(), "// encoding: [")
		if !ok {
			continue
		}
		raw, err := hex.DecodeString(strings.NewReplacer("0x", "", ",", "", "]", "").Replace(strings.TrimSpace(code)))
		if err != nil || len(raw) != 4 {
			return nil, fmt.Errorf("%s: no encoding in %q", mc, sc.Text())
		}
		words = append(words, word{plain(text), binary.LittleEndian.Uint32(raw)})
	}
	if len(words) != len(list) {
		return nil, fmt.Errorf("%s: %d encodings of %d instructions", mc, len(words), len(list))
	}
	byText := map[string]word{}
	for n, text := range list {
		byText[text] = words[n]
	}
	return byText, nil
}

// plain is an instruction with single spaces.
func plain(text string) string { return strings.Join(strings.Fields(text), " ") }
