#include "textflag.h"

// func laneOffsets(at *[64]uint64, lo, hi *vec, base, limit, step, n uint64) (bad, apart uint64):
// at = lo + hi<<32 + base, for the first n lanes, 32 or 64. bad has the lanes beyond limit, which is below 1<<63, and
// those that are no multiple of 4; apart is 0 where each lane is step behind the
// one before.
TEXT ·laneOffsets(SB), NOSPLIT, $0-72
	MOVQ at+0(FP), DI
	MOVQ lo+8(FP), SI
	MOVQ hi+16(FP), DX
	MOVQ base+24(FP), R8
	VMOVQ R8, X12
	VPBROADCASTQ X12, Y12
	MOVQ limit+32(FP), R9
	VMOVQ R9, X13
	VPBROADCASTQ X13, Y13
	VPCMPEQD Y15, Y15, Y15
	VPSRLQ $62, Y15, Y14 // 3
	VPXOR Y15, Y15, Y15
	// Y11 is where the next four lanes are, if they follow each other.
	MOVL (SI), AX
	MOVL (DX), CX
	SHLQ $32, CX
	ORQ CX, AX
	ADDQ R8, AX
	MOVQ step+40(FP), R8
	VMOVQ AX, X11
	ADDQ R8, AX
	VMOVQ AX, X0
	VPUNPCKLQDQ X0, X11, X11
	ADDQ R8, AX
	VMOVQ AX, X0
	ADDQ R8, AX
	VMOVQ AX, X1
	VPUNPCKLQDQ X1, X0, X0
	VINSERTI128 $1, X0, Y11, Y11
	SHLQ $2, R8
	VMOVQ R8, X10
	VPBROADCASTQ X10, Y10
	VPXOR Y9, Y9, Y9
	MOVQ n+48(FP), BX
	SHLQ $2, BX
	XORQ R10, R10
	XORQ AX, AX
next:
	VPMOVZXDQ (SI)(AX*1), Y0
	VPMOVZXDQ (DX)(AX*1), Y1
	VPSLLQ $32, Y1, Y1
	VPOR Y1, Y0, Y0
	VPADDQ Y12, Y0, Y0
	VMOVDQU Y0, (DI)(AX*2)
	VPXOR Y11, Y0, Y2
	VPOR Y2, Y9, Y9
	VPADDQ Y10, Y11, Y11
	VPCMPGTQ Y13, Y0, Y3
	VPOR Y0, Y3, Y3 // a sign is beyond it too
	VPAND Y14, Y0, Y2
	VPCMPGTQ Y15, Y2, Y2
	VPOR Y2, Y3, Y3
	VMOVMSKPD Y3, R9
	SHLQ $60, R9
	SHRQ $4, R10
	ORQ R9, R10
	ADDQ $16, AX
	CMPQ AX, BX
	JB next
	MOVQ $64, CX // what 32 lanes have said is in the upper half
	SUBQ n+48(FP), CX
	SHRQ CX, R10
	MOVQ R10, bad+56(FP)
	XORQ AX, AX
	VPTEST Y9, Y9
	SETNE AX
	MOVQ AX, apart+64(FP)
	VZEROUPPER
	RET

// func localOffsets(at *[64]uint64, addr *vec, off, limit uint32, n uint64) (bad uint64):
// at = addr + off in 32 bits, for the first n lanes; bad has the lanes beyond limit.
TEXT ·localOffsets(SB), NOSPLIT, $0-40
	MOVQ at+0(FP), DI
	MOVQ addr+8(FP), SI
	MOVL off+16(FP), AX
	VMOVD AX, X12
	VPBROADCASTD X12, Y12
	MOVL limit+20(FP), AX
	VMOVD AX, X13
	VPBROADCASTD X13, Y13
	MOVQ n+24(FP), BX
	SHLQ $2, BX
	XORQ R10, R10
	XORQ AX, AX
next:
	VPADDD (SI)(AX*1), Y12, Y0
	VPMOVZXDQ X0, Y1
	VMOVDQU Y1, (DI)(AX*2)
	VEXTRACTI128 $1, Y0, X2
	VPMOVZXDQ X2, Y2
	VMOVDQU Y2, 32(DI)(AX*2)
	VPMINUD Y13, Y0, Y1
	VPCMPEQD Y0, Y1, Y1 // within
	VMOVMSKPS Y1, R9
	SHLQ $56, R9
	SHRQ $8, R10
	ORQ R9, R10
	ADDQ $32, AX
	CMPQ AX, BX
	JB next
	MOVQ $64, CX
	SUBQ n+24(FP), CX
	SHRQ CX, R10
	NOTQ R10
	MOVQ R10, bad+32(FP)
	VZEROUPPER
	RET

// func loadWords(d *vec, data *byte, at *[64]uint64, mask uint64): each lane a word.
TEXT ·loadWords(SB), NOSPLIT, $0-32
	MOVQ d+0(FP), DI
	MOVQ data+8(FP), SI
	MOVQ at+16(FP), DX
	MOVQ mask+24(FP), R8
	CMPQ R8, $-1
	JE all
	TESTQ R8, R8
	JE done
some:
	BSFQ R8, AX
	MOVQ (DX)(AX*8), CX
	MOVL (SI)(CX*1), R9
	MOVL R9, (DI)(AX*4)
	LEAQ -1(R8), CX
	ANDQ CX, R8
	JNE some
done:
	RET
all:
	XORQ AX, AX
next:
	MOVQ (DX)(AX*8), CX
	MOVQ 8(DX)(AX*8), R10
	MOVL (SI)(CX*1), R9
	MOVL (SI)(R10*1), R11
	MOVL R9, (DI)(AX*4)
	MOVL R11, 4(DI)(AX*4)
	ADDQ $2, AX
	CMPQ AX, $64
	JB next
	RET

// func storeWords(data *byte, at *[64]uint64, v *vec, mask, count uint64): count words
// of each lane, from registers that follow each other, in the order of the lanes.
TEXT ·storeWords(SB), NOSPLIT, $0-40
	MOVQ data+0(FP), DI
	MOVQ at+8(FP), DX
	MOVQ v+16(FP), SI
	MOVQ mask+24(FP), R8
	MOVQ count+32(FP), BX
	TESTQ R8, R8
	JE done
	CMPQ BX, $1
	JNE some
	CMPQ R8, $-1
	JE all
some:
	BSFQ R8, AX
	MOVQ (DX)(AX*8), CX
	ADDQ DI, CX
	LEAQ (SI)(AX*4), R10
	MOVQ BX, R11
word:
	MOVL (R10), R9
	MOVL R9, (CX)
	ADDQ $256, R10
	ADDQ $4, CX
	DECQ R11
	JNE word
	LEAQ -1(R8), CX
	ANDQ CX, R8
	JNE some
done:
	RET
all:
	XORQ AX, AX
next:
	MOVQ (DX)(AX*8), CX
	MOVQ 8(DX)(AX*8), R10
	MOVL (SI)(AX*4), R9
	MOVL 4(SI)(AX*4), R11
	MOVL R9, (DI)(CX*1)
	MOVL R11, (DI)(R10*1)
	ADDQ $2, AX
	CMPQ AX, $64
	JB next
	RET

// func copyWords(to, from *uint32, n uint64): n words, a multiple of 4, one at a time.
TEXT ·copyWords(SB), NOSPLIT, $0-24
	MOVQ to+0(FP), DI
	MOVQ from+8(FP), SI
	MOVQ n+16(FP), BX
	XORQ AX, AX
next:
	MOVL (SI)(AX*4), CX
	MOVL 4(SI)(AX*4), DX
	MOVL 8(SI)(AX*4), R8
	MOVL 12(SI)(AX*4), R9
	MOVL CX, (DI)(AX*4)
	MOVL DX, 4(DI)(AX*4)
	MOVL R8, 8(DI)(AX*4)
	MOVL R9, 12(DI)(AX*4)
	ADDQ $4, AX
	CMPQ AX, BX
	JB next
	RET

// func fence(): what was stored before is seen before anything that is loaded later.
TEXT ·fence(SB), NOSPLIT, $0-0
	LOCK
	ADDL $0, (SP)
	RET
