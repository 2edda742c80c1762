package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

const folder = "../.." // where the files lie

// The files are what the descriptions say, and there are no others.
func TestCurrent(t *testing.T) {
	dir := t.TempDir()
	if err := write(t.Context(), llvmtest.Tool(t, "llvm-mc"), dir); err != nil {
		t.Fatal(err)
	}
	made, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(made) == 0 {
		t.Fatal("nothing was made", err)
	}
	for _, path := range made {
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(folder, filepath.Base(path)))
		if err != nil {
			t.Error(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the descriptions say: go generate ./emulator", filepath.Base(path))
		}
	}
	if there := assembly(t); len(there) != len(made) {
		t.Errorf("%d files of assembly for ARM64, %d of them described", len(there), len(made))
	}
}

func assembly(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(folder, "*_arm64.s"))
	if err != nil || len(list) == 0 {
		t.Fatal("no assembly for ARM64", err)
	}
	return list
}

// Every word is the instruction that is said behind it: LLVM's disassembler reads the
// words, and knows no extension of the architecture.
func TestWords(t *testing.T) {
	re := regexp.MustCompile(`WORD \$0x([0-9a-f]{8})`)
	n := 0
	for _, path := range assembly(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var input bytes.Buffer
		var want []string
		for _, line := range strings.Split(string(text), "\n") {
			words := re.FindAllStringSubmatch(line, -1)
			_, about, said := strings.Cut(line, " // ")
			if len(words) == 0 {
				continue
			}
			all := strings.Split(about, "; ")
			if len(all) == 1 {
				for k := range words {
					all = append(all, nth(about, k))
				}
				all = all[1:]
			}
			if !said || len(all) != len(words) {
				t.Fatalf("%s: %q", path, line)
			}
			want = append(want, all...)
			for _, w := range words {
				bits, err := strconv.ParseUint(w[1], 16, 32)
				if err != nil {
					t.Fatal(err)
				}
				for _, b := range binary.LittleEndian.AppendUint32(nil, uint32(bits)) {
					fmt.Fprintf(&input, "0x%02x ", b)
				}
				input.WriteString("\n")
			}
		}
		n += len(want)
		if len(want) == 0 {
			continue
		}
		cmd := exec.CommandContext(t.Context(), llvmtest.Tool(t, "llvm-mc"), "-disassemble", "-triple=aarch64", "-mattr=+neon")
		cmd.Stdin = &input
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		var got []string
		for _, line := range strings.Split(string(out), "\n") {
			if line = plain(line); line != "" && line[0] != '.' {
				got = append(got, line)
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%s: %d words are %d instructions", path, len(want), len(got))
		}
		for k := range got {
			if got[k] != want[k] {
				t.Errorf("%s: a word is %q, and said to be %q", filepath.Base(path), got[k], want[k])
			}
		}
	}
	if n < 1000 {
		t.Errorf("%d words", n)
	}
}

// What only some processors have is refused, and so is what none has.
func TestAssemble(t *testing.T) {
	mc := llvmtest.Tool(t, "llvm-mc")
	for _, i := range []string{"sdot v0.4s, v1.16b, v2.16b", "fadd v0.8h, v1.8h, v2.8h", "sqrdmlah v0.4s, v1.4s, v2.4s", "frint32z v0.4s, v1.4s", "add v0.4s, v1.4s", "nop; nop"} {
		if got, err := assemble(t.Context(), mc, []string{i}); err == nil {
			t.Errorf("%s is %x", i, got[i].bits)
		}
	}
	got, err := assemble(t.Context(), mc, []string{"mov  v0.16b, v1.16b", "fmla v2.4s, v1.4s, v0.4s"})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]word{"mov  v0.16b, v1.16b": {"mov v0.16b, v1.16b", 0x4ea11c20}, "fmla v2.4s, v1.4s, v0.4s": {"fmla v2.4s, v1.4s, v0.4s", 0x4e20cc22}} {
		if got[text] != want {
			t.Errorf("%s is %+v, want %+v", text, got[text], want)
		}
	}
}

func TestParse(t *testing.T) {
	file, loops, err := parse("x_arm64.s\n\n// About.\nloop one ss>s=c\n\tadd a.4s, b.4s, c.4s; neg c.4s, a.4s\nfunc two $0-8\nnext:\n\tRET\n")
	if err != nil || file != "x_arm64.s" || len(loops) != 2 {
		t.Fatal(file, loops, err)
	}
	one, two := loops[0], loops[1]
	if one.kind != "loop" || one.in != "ss" || one.out != "s" || one.result != "c" || !slices.Equal(one.about, []string{"// About."}) || len(one.body) != 2 {
		t.Errorf("%+v", one)
	}
	if two.in != "$0-8" || !slices.Equal(two.body, []string{"next:", "RET"}) || two.about != nil {
		t.Errorf("%+v", two)
	}
	for _, text := range []string{"x\nloop one", "x\n\tadd", "x\nloops one ss>s", "x\nloop one ss>", "x\nloop one ss>sd"} {
		if _, _, err := parse(text); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A loop that names what is not there has no file.
func TestLoopErrors(t *testing.T) {
	for body, want := range map[string]string{
		"and a.16b, a.16b, k99.16b": "k99", "add a.4s, a.4s, k1.4s; add a.4s, k3.4s, k7.4s": "",
		"add a.4s, k1.4s, k3.4s; add a.4s, k7.4s, k31.4s; add a.4s, k32.4s, k63.4s; add a.4s, k255.4s, ktiny.4s; add a.4s, a.4s, kone.4s": "kone",
	} {
		err := new(writer).loop(&loop{kind: "loop", name: "x", in: "s", out: "s", result: "a", body: strings.Split(body, "; ")})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", body, err)
		}
	}
	if err := new(writer).loop(&loop{kind: "compare", name: "x", in: "ss", result: "q"}); err == nil {
		t.Error("a register that is none")
	}
}

func TestShort(t *testing.T) {
	for _, c := range []struct{ list, want string }{
		{"neg v0.4s, v4.4s; neg v1.4s, v5.4s; neg v2.4s, v6.4s; neg v3.4s, v7.4s", "neg v0-3.4s, v4-7.4s"},
		{"neg v0.4s, v24.4s; neg v1.4s, v24.4s", "neg v0-1.4s, v24.4s"},
		{"neg v0.4s, v4.4s; neg v2.4s, v5.4s", "neg v0.4s, v4.4s; neg v2.4s, v5.4s"},
		{"neg v0.4s, v4.4s; mvn v1.16b, v5.16b", "neg v0.4s, v4.4s; mvn v1.16b, v5.16b"},
		{"neg v0.4s, v4.4s", "neg v0.4s, v4.4s"},
	} {
		if got := short(strings.Split(c.list, "; ")); got != c.want {
			t.Errorf("%s: %s, want %s", c.list, got, c.want)
		}
	}
}
