// Package isa decodes the machine code of AMD GPUs into instructions, and
// writes them as llvm-objdump does.
//
// What there is to know of each opcode lies in table.txt, which the command in
// gen learns from LLVM's disassembler: at run time no LLVM is needed. The tables
// cover compute on all processors from GFX9 to RDNA 4, and gfx1250 and gfx1251;
// instructions of graphics alone (VINTRP, MIMG, MTBUF, EXP, LDSDIR) are not in them.
//
// A family of processors has a layout of its own; formats that do the same have
// the same Encoding, and the methods of Inst read the modifiers from wherever the
// family keeps them. RDNA's waves have 32 or 64 lanes. The code does not say
// which: a decoder is made for one of them, and what is a mask of lanes (vcc, exec,
// results of comparisons) is one register wide or two. Halves of registers, from
// gfx11 on, are operands with Half set, whether the number of the register said so
// or OP_SEL. The registers m0 and null have the same numbers on all targets.
// An instruction of two operations (VOPD) decodes to the first, with the second
// in Dual; each has the Op of the operation alone.
//
// A number of an opcode (Op) is the same on all targets, and e32, e64, SDWA and
// DPP forms of one operation have the same Op and the same order of operands:
// results first, a carry or a comparison's result included even where the
// encoding leaves it unsaid (vcc; exec of RDNA's v_cmpx, which is not written
// either).
//
// Origins: AMD's instruction set documents "Vega", "Vega 7nm", "CDNA", "CDNA 2",
// "CDNA 3" (chapter 13, "Microcode Formats"), the same chapter of "RDNA 2",
// "RDNA 3" and "RDNA 4", and LLVM 22's AMDGPU backend for the text.
package isa

//go:generate go run ./gen -o table.txt
