package main

import (
	"fmt"
	"strings"
)

// loop writes one function.
func (w *writer) loop(l *loop) error {
	w.put("")
	for _, a := range l.about {
		w.put("%s", a)
	}
	switch l.kind {
	case "func":
		w.raw(l)
		return nil
	case "loop":
		return w.counted(l)
	}
	return w.masked(l)
}

// arguments loads the addresses of result and sources, to R0, and from R1 on.
func (w *writer) arguments(l *loop) {
	at := 0
	if l.out != "" {
		w.put("\tMOVD d+0(FP), R0")
		at = 8
	}
	for n := range l.in {
		w.put("\tMOVD %c+%d(FP), R%d", 'a'+n, at+8*n, n+1)
	}
}

// counted is a loop for the first n lanes, 32 or 64.
func (w *writer) counted(l *loop) error {
	w.put("TEXT ·%s(SB), NOSPLIT, $0-40", l.name)
	w.arguments(l)
	w.put("\tMOVD n+32(FP), R4")
	consts, err := w.constants(l.body, 8)
	if err != nil {
		return err
	}
	r, ok := register(l.result)
	if !ok {
		return fmt.Errorf("no register %q", l.result)
	}
	w.put("next:")
	w.sources(l)
	w.spread(l.body, consts)
	w.store(l.out, r)
	w.put("\tSUBS $%d, R4, R4", block(l))
	w.put("\tBNE next")
	w.put("\tRET")
	return nil
}

// block is how many lanes are done at a time.
func block(l *loop) int {
	if wide(l.in) {
		return 8
	}
	return 16
}

func (w *writer) sources(l *loop) {
	for n := range l.in {
		w.load(l.in[n], 4*n, n+1)
	}
	if strings.HasPrefix(l.in, "pp") {
		first := len(w.lines)
		for n := range 2 {
			w.do("umull v%d.2d, v%d.2s, v%d.2s", regT+2*n, regA+n, regB+n)
			w.do("umull2 v%d.2d, v%d.4s, v%d.4s", regT+2*n+1, regA+n, regB+n)
		}
		w.join(first)
	}
}

// masked is a function for all lanes, without a loop, whose body leaves all ones in
// u where the bit of a lane is to be set. With carry t is all ones where the bit of
// the argument is set.
func (w *writer) masked(l *loop) error {
	size, result := 24, "ret+16"
	switch l.kind {
	case "carry":
		size, result = 40, "out+32"
	case "sum":
		size, result = 40, "out+32"
	}
	w.put("TEXT ·%s(SB), NOSPLIT, $0-%d", l.name, size)
	w.arguments(l)
	if l.kind == "carry" {
		w.put("\tMOVD in+24(FP), R8")
		w.laneBits(regX)
	}
	w.put("\tMOVD $0x8040201008040201, R9")
	w.put("\tVDUP R9, V%d.D2", regConst+3)
	consts, err := w.constants(l.body, 2)
	if err != nil {
		return err
	}
	r, ok := register(l.result)
	if !ok {
		return fmt.Errorf("no register %q", l.result)
	}
	for n := range 64 / block(l) {
		w.sources(l)
		if l.kind == "carry" {
			w.expand(regX, regT, regConst+2)
		}
		w.spread(l.body, consts)
		if l.out != "" {
			w.store(l.out, r)
		}
		w.pack(n, block(l))
	}
	w.collect()
	w.put("\tMOVD R9, %s(FP)", result)
	w.put("\tRET")
	return nil
}

// laneBits fills four registers with 1, 2, 4 and so on: a bit for each of 16 lanes.
func (w *writer) laneBits(r int) {
	w.put("\tMOVD $0x200000001, R9")
	w.put("\tVMOV R9, V%d.D[0]", r)
	w.put("\tMOVD $0x800000004, R9")
	w.put("\tVMOV R9, V%d.D[1]", r)
	for n := 1; n < 4; n++ {
		w.do("shl v%d.4s, v%d.4s, #%d", r+n, r, 4*n)
	}
}

// expand makes all ones or zeros of the low 16 bits of R8, and drops them.
func (w *writer) expand(bits, d, t int) {
	w.put("\tVDUP R8, V%d.S4", t)
	first := len(w.lines)
	for n := range 4 {
		w.do("cmtst v%d.4s, v%d.4s, v%d.4s", d+n, t, bits+n)
	}
	w.join(first)
	w.put("\tLSR $16, R8, R8")
}

// pack keeps a byte of each lane of a block of 8 or 16 in the registers for bits,
// with the bit of the lane among eight.
func (w *writer) pack(n, lanes int) {
	u, first := regU, len(w.lines)
	defer func() { w.join(first) }()
	if lanes == 16 {
		w.do("uzp1 v%d.8h, v%d.8h, v%d.8h", u, u, u+1)
		w.do("uzp1 v%d.8h, v%d.8h, v%d.8h", u+2, u+2, u+3)
		w.do("uzp1 v%d.16b, v%d.16b, v%d.16b", regBits+n, u, u+2)
		w.do("and v%d.16b, v%d.16b, v%d.16b", regBits+n, regBits+n, regConst+3)
		return
	}
	w.do("uzp1 v%d.4s, v%d.4s, v%d.4s", u, u, u+1)
	w.do("uzp1 v%d.4s, v%d.4s, v%d.4s", u+2, u+2, u+3)
	r := regBits + n/2
	if n%2 == 0 {
		w.do("uzp1 v%d.8h, v%d.8h, v%d.8h", r, u, u+2)
		return
	}
	w.do("uzp1 v%d.8h, v%d.8h, v%d.8h", u, u, u+2)
	w.do("uzp1 v%d.16b, v%d.16b, v%d.16b", r, r, u)
	w.do("and v%d.16b, v%d.16b, v%d.16b", r, r, regConst+3)
}

// collect sums the bytes of eight lanes up, in R9.
func (w *writer) collect() {
	r, first := regBits, len(w.lines)
	w.do("addp v%d.16b, v%d.16b, v%d.16b", r, r, r+1)
	w.do("addp v%d.16b, v%d.16b, v%d.16b", r+2, r+2, r+3)
	w.do("addp v%d.16b, v%d.16b, v%d.16b", r, r, r+2)
	w.do("addp v%d.16b, v%d.16b, v%d.16b", r, r, r)
	w.join(first)
	w.put("\tVMOV V%d.D[0], R9", r)
}

// raw writes a function as it is: instructions in Go's words begin with an upper
// letter, those in ARM's with a lower one; labels end with a colon.
func (w *writer) raw(l *loop) {
	w.put("TEXT ·%s(SB), NOSPLIT, %s", l.name, l.in)
	for _, i := range l.body {
		switch {
		case strings.HasSuffix(i, ":"):
			w.put("%s", i)
		case names().MatchString(i):
			w.spread([]string{i}, nil)
		case i[0] >= 'a' && i[0] <= 'z':
			w.do("%s", i)
		default:
			w.put("\t%s", i)
		}
	}
}
