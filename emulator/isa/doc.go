// Package isa decodes the machine code of AMD GPUs into instructions, and
// writes them as llvm-objdump does.
//
// What there is to know of each opcode lies in table.txt, which the command in
// gen learns from LLVM's disassembler: at run time no LLVM is needed. The tables
// cover GFX9 for compute: gfx900, gfx906, gfx908, gfx90a, gfx942 and gfx950;
// instructions of graphics alone (VINTRP, MIMG, MTBUF, EXP) are not in them.
//
// A number of an opcode (Op) is the same on all targets, and e32, e64, SDWA and
// DPP forms of one operation have the same Op and the same order of operands:
// results first, a carry or a comparison's result included even where the
// encoding leaves it unsaid (vcc).
//
// Origins: AMD's instruction set documents "Vega", "Vega 7nm", "CDNA", "CDNA 2",
// "CDNA 3" (chapter 13, "Microcode Formats"), and LLVM 22's AMDGPU backend for
// the text.
package isa

//go:generate go run ./gen -o table.txt
