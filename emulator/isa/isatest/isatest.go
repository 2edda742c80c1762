// Package isatest compares the decoder with llvm-objdump in tests: every code object
// that a test compiles can pass through it.
package isatest

import (
	"encoding/binary"
	"strconv"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/emulator/isa"
	"github.com/stonemason-hip/stonemason/emulator/isa/internal/oracle"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

// Agrees fails the test where the decoder says other than llvm-objdump of an
// instruction in a code object: another text, or another size. It returns how many
// were compared. The processor is gfx942, or gfx1100/64 for waves of 64 lanes where
// there are such of 32.
func Agrees(t testing.TB, path, processor string) int {
	t.Helper()
	name, wave, _ := strings.Cut(processor, "/")
	decoder := isa.NewDecoder
	if wave == "64" {
		decoder = isa.NewWave64Decoder
	}
	d, err := decoder(name)
	if err != nil {
		t.Fatal(err)
	}
	llvm := oracle.Disassembler{Target: name, Wave64: wave == "64"}
	n, bad := 0, 0
	for line := range strings.Lines(llvmtest.Run(t, "llvm-objdump", append(llvm.Args(), "-d", path)...)) {
		l, ok := oracle.ParseLine(strings.TrimRight(line, "\n"))
		if !ok || strings.HasPrefix(l.Text, ".long") || l.Text == "" || l.Text == "v_illegal" {
			continue
		}
		var code []byte
		for _, w := range l.Words {
			v, err := strconv.ParseUint(w, 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			code = binary.LittleEndian.AppendUint32(code, uint32(v))
		}
		n++
		inst, err := d.Decode(code)
		if err == nil && inst.String() == l.Text && int(inst.Size) == len(code) {
			continue
		}
		if bad++; bad <= 20 {
			t.Errorf("0x%x: %q (%d bytes, %v)\nwant %q (%d bytes)", l.Address, inst.String(), inst.Size, err, l.Text, len(code))
		}
	}
	if bad > 0 {
		t.Errorf("%s: %d of %d instructions differ from what llvm-objdump says", processor, bad, n)
	}
	return n
}
