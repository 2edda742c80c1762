#include "textflag.h"
#include "loops_amd64.h"

// Loops over the lanes of a vector register with AVX2 and FMA, eight lanes at a
// time. Each does what the loop in Go of the same operation does, to the bit but
// for what a NaN says beside being one; TestLoops compares them.
//
// A loop is func(d, a, b, c *vec, n uint64) for the first n lanes, 32 or 64. The
// body finds eight lanes of the sources in Y0, Y1 and Y2 and leaves the result in
// Y0; Y3 to Y9 are its own, Y10 to Y15 are what PRE made.

#define LOOP1(NAME, PRE, BODY) \
	BEGIN(NAME); \
	PRE; \
next: \
	VMOVDQU (SI)(AX*1), Y0; \
	BODY; \
	END

#define LOOP2(NAME, PRE, BODY) \
	BEGIN(NAME); \
	PRE; \
next: \
	VMOVDQU (SI)(AX*1), Y0; \
	VMOVDQU (DX)(AX*1), Y1; \
	BODY; \
	END

#define LOOP3(NAME, PRE, BODY) \
	BEGIN(NAME); \
	PRE; \
next: \
	VMOVDQU (SI)(AX*1), Y0; \
	VMOVDQU (DX)(AX*1), Y1; \
	VMOVDQU (CX)(AX*1), Y2; \
	BODY; \
	END

// Constants.
#define ONES VPCMPEQD Y15, Y15, Y15
#define LOW5 ONES; VPSRLD $27, Y15, Y14
#define LOW24 ONES; VPSRLD $8, Y15, Y14
#define SIGN ONES; VPSLLD $31, Y15, Y14
#define LOW16 ONES; VPSRLD $16, Y15, Y14
#define LOW8 ONES; VPSRLD $24, Y15, Y14
#define BITS LOW5; VPSRLD $31, Y15, Y13; VPSLLD $5, Y13, Y12 // 31, 1, 32

// Integers.
#define NOT VPXOR Y15, Y0, Y0
#define ADD VPADDD Y1, Y0, Y0
#define SUB VPSUBD Y1, Y0, Y0
#define SUBREV VPSUBD Y0, Y1, Y0
#define MUL VPMULLD Y1, Y0, Y0
#define AND VPAND Y1, Y0, Y0
#define OR VPOR Y1, Y0, Y0
#define XOR VPXOR Y1, Y0, Y0
#define XNOR XOR; NOT
#define MINU VPMINUD Y1, Y0, Y0
#define MAXU VPMAXUD Y1, Y0, Y0
#define MINI VPMINSD Y1, Y0, Y0
#define MAXI VPMAXSD Y1, Y0, Y0
#define LSHL VPAND Y14, Y0, Y0; VPSLLVD Y0, Y1, Y0
#define LSHR VPAND Y14, Y0, Y0; VPSRLVD Y0, Y1, Y0
#define ASHR VPAND Y14, Y0, Y0; VPSRAVD Y0, Y1, Y0
#define MULU24 VPAND Y14, Y0, Y0; VPAND Y14, Y1, Y1; MUL
#define MULI24 VPSLLD $8, Y0, Y0; VPSRAD $8, Y0, Y0; VPSLLD $8, Y1, Y1; VPSRAD $8, Y1, Y1; MUL
#define ODD VPSRLQ $32, Y0, Y3; VPSRLQ $32, Y1, Y4
#define UPPER VPSRLQ $32, Y0, Y0; VPBLENDD $0xaa, Y3, Y0, Y0
#define MULHIU ODD; VPMULUDQ Y1, Y0, Y0; VPMULUDQ Y4, Y3, Y3; UPPER
#define MULHII ODD; VPMULDQ Y1, Y0, Y0; VPMULDQ Y4, Y3, Y3; UPPER
#define BFM VPAND Y14, Y0, Y0; VPAND Y14, Y1, Y1; VPSLLVD Y0, Y13, Y0; VPSUBD Y13, Y0, Y0; VPSLLVD Y1, Y0, Y0
#define BFEU VPAND Y14, Y1, Y1; VPAND Y14, Y2, Y2; VPSRLVD Y1, Y0, Y0; VPSLLVD Y2, Y13, Y3; VPSUBD Y13, Y3, Y3; VPAND Y3, Y0, Y0
#define BFEI VPAND Y14, Y1, Y1; VPAND Y14, Y2, Y2; VPSRLVD Y1, Y0, Y0; VPSUBD Y2, Y12, Y2; VPMAXUD Y1, Y2, Y2; VPSLLVD Y2, Y0, Y0; VPSRAVD Y2, Y0, Y0
#define BFI VPAND Y0, Y1, Y1; VPANDN Y2, Y0, Y0; VPOR Y1, Y0, Y0
#define ALIGNBIT VPAND Y14, Y2, Y2; VPSRLVD Y2, Y1, Y1; VPSUBD Y2, Y12, Y2; VPSLLVD Y2, Y0, Y0; VPOR Y1, Y0, Y0
#define ADD3 ADD; VPADDD Y2, Y0, Y0
#define LSHLADD VPAND Y14, Y1, Y1; VPSLLVD Y1, Y0, Y0; VPADDD Y2, Y0, Y0
#define ADDLSHL ADD; VPAND Y14, Y2, Y2; VPSLLVD Y2, Y0, Y0
#define LSHLOR VPAND Y14, Y1, Y1; VPSLLVD Y1, Y0, Y0; VPOR Y2, Y0, Y0
#define ANDOR AND; VPOR Y2, Y0, Y0
#define OR3 OR; VPOR Y2, Y0, Y0
#define XAD XOR; VPADDD Y2, Y0, Y0
#define MADU24 MULU24; VPADDD Y2, Y0, Y0
#define MADI24 MULI24; VPADDD Y2, Y0, Y0
#define MIN3U MINU; VPMINUD Y2, Y0, Y0
#define MAX3U MAXU; VPMAXUD Y2, Y0, Y0
#define MIN3I MINI; VPMINSD Y2, Y0, Y0
#define MAX3I MAXI; VPMAXSD Y2, Y0, Y0
#define MED3U VPMINUD Y1, Y0, Y3; VPMAXUD Y1, Y0, Y0; VPMINUD Y2, Y0, Y0; VPMAXUD Y3, Y0, Y0
#define MED3I VPMINSD Y1, Y0, Y3; VPMAXSD Y1, Y0, Y0; VPMINSD Y2, Y0, Y0; VPMAXSD Y3, Y0, Y0
#define SAD VPMAXUD Y1, Y0, Y3; VPMINUD Y1, Y0, Y0; VPSUBD Y0, Y3, Y0; VPADDD Y2, Y0, Y0

LOOP1(·loopMove, NONE, NONE)
LOOP1(·loopNot, ONES, NOT)
LOOP2(·loopAdd, NONE, ADD)
LOOP2(·loopSub, NONE, SUB)
LOOP2(·loopSubrev, NONE, SUBREV)
LOOP2(·loopMul, NONE, MUL)
LOOP2(·loopAnd, NONE, AND)
LOOP2(·loopOr, NONE, OR)
LOOP2(·loopXor, NONE, XOR)
LOOP2(·loopXnor, ONES, XNOR)
LOOP2(·loopMinU, NONE, MINU)
LOOP2(·loopMaxU, NONE, MAXU)
LOOP2(·loopMinI, NONE, MINI)
LOOP2(·loopMaxI, NONE, MAXI)
LOOP2(·loopShl, LOW5, LSHL)
LOOP2(·loopShr, LOW5, LSHR)
LOOP2(·loopSar, LOW5, ASHR)
LOOP2(·loopMulU24, LOW24, MULU24)
LOOP2(·loopMulI24, NONE, MULI24)
LOOP2(·loopMulHiU, NONE, MULHIU)
LOOP2(·loopMulHiI, NONE, MULHII)
LOOP2(·loopBfm, BITS, BFM)
LOOP3(·loopBfeU, BITS, BFEU)
LOOP3(·loopBfeI, BITS, BFEI)
LOOP3(·loopBfi, NONE, BFI)
LOOP3(·loopAlignBit, BITS, ALIGNBIT)
LOOP3(·loopAdd3, NONE, ADD3)
LOOP3(·loopShlAdd, LOW5, LSHLADD)
LOOP3(·loopAddShl, LOW5, ADDLSHL)
LOOP3(·loopShlOr, LOW5, LSHLOR)
LOOP3(·loopAndOr, NONE, ANDOR)
LOOP3(·loopOr3, NONE, OR3)
LOOP3(·loopXad, NONE, XAD)
LOOP3(·loopMadU24, LOW24, MADU24)
LOOP3(·loopMadI24, NONE, MADI24)
LOOP3(·loopMin3U, NONE, MIN3U)
LOOP3(·loopMax3U, NONE, MAX3U)
LOOP3(·loopMin3I, NONE, MIN3I)
LOOP3(·loopMax3I, NONE, MAX3I)
LOOP3(·loopMed3U, NONE, MED3U)
LOOP3(·loopMed3I, NONE, MED3I)
LOOP3(·loopSad, NONE, SAD)

// Floats of 32 bits.
#define SMALLEST SIGN; VPSRLD $31, Y15, Y13; VPSLLD $23, Y13, Y13 // the smallest normal number
#define FADD VADDPS Y1, Y0, Y0
#define FSUB VSUBPS Y1, Y0, Y0
#define FSUBREV VSUBPS Y0, Y1, Y0
#define FMUL VMULPS Y1, Y0, Y0
#define FMA VFMADD213PS Y2, Y1, Y0
// The product loses its bits but for the sign where it is denormal.
#define FMAD VMULPS Y1, Y0, Y0; VANDNPS Y0, Y14, Y3; VCMPPS $0x11, Y13, Y3, Y3; VANDPS Y14, Y0, Y4; VBLENDVPS Y3, Y4, Y0, Y0; VADDPS Y2, Y0, Y0
// MINPS gives the second of two zeros, and of two of which one is a NaN.
#define FMIN2(A, B, D, T) VMINPS B, A, T; VMINPS A, B, D; VORPS T, D, D
#define FMAX2(A, B, D, T) VMAXPS B, A, T; VMAXPS A, B, D; VANDPS T, D, D
#define NUMBER(A, B, D, T) VCMPPS $3, B, B, T; VBLENDVPS T, A, D, D; VCMPPS $3, A, A, T; VBLENDVPS T, B, D, D
#define FMIN FMIN2(Y0, Y1, Y5, Y6); NUMBER(Y0, Y1, Y5, Y6); VMOVAPS Y5, Y0
#define FMAX FMAX2(Y0, Y1, Y5, Y6); NUMBER(Y0, Y1, Y5, Y6); VMOVAPS Y5, Y0
#define FMIN3 FMIN; VMOVAPS Y2, Y1; FMIN
#define FMAX3 FMAX; VMOVAPS Y2, Y1; FMAX
#define FMED3 FMIN2(Y0, Y1, Y3, Y6); FMAX2(Y0, Y1, Y4, Y6); FMIN2(Y4, Y2, Y5, Y6); FMAX2(Y3, Y5, Y9, Y6); \
	VCMPPS $3, Y1, Y0, Y7; VCMPPS $3, Y2, Y2, Y8; VORPS Y8, Y7, Y8; FMIN3; VBLENDVPS Y8, Y0, Y9, Y0
#define ONE VPCMPEQD Y15, Y15, Y15; VPSRLD $25, Y15, Y14; VPSLLD $23, Y14, Y14 // 1.0
#define RCP VDIVPS Y0, Y14, Y0
#define SQRT VSQRTPS Y0, Y0
#define RSQ VEXTRACTF128 $1, Y0, X1; VCVTPS2PD X0, Y0; VCVTPS2PD X1, Y1; VSQRTPD Y0, Y0; VSQRTPD Y1, Y1; VDIVPD Y0, Y14, Y0; VDIVPD Y1, Y14, Y1; \
	VCVTPD2PSY Y0, X0; VCVTPD2PSY Y1, X1; VINSERTF128 $1, X1, Y0, Y0
#define RNDNE VROUNDPS $8, Y0, Y0
#define FLOOR VROUNDPS $9, Y0, Y0
#define CEIL VROUNDPS $10, Y0, Y0
#define TRUNC VROUNDPS $11, Y0, Y0
#define FROMI VCVTDQ2PS Y0, Y0
// Both halves are exact, so that the sum is rounded once.
#define TWO16 LOW16; VPSRLD $31, Y15, Y13; VPSLLD $4, Y13, Y12; VPADDD Y12, Y12, Y12; MOVL $0x47800000, R8; VMOVD R8, X13; VPBROADCASTD X13, Y13
#define FROMU VPAND Y14, Y0, Y1; VPSRLD $16, Y0, Y0; VCVTDQ2PS Y0, Y0; VCVTDQ2PS Y1, Y1; VMULPS Y13, Y0, Y0; VADDPS Y1, Y0, Y0
#define FROMBYTE0 VPAND Y14, Y0, Y0; FROMI
#define FROMBYTE1 VPSRLD $8, Y0, Y0; FROMBYTE0
#define FROMBYTE2 VPSRLD $16, Y0, Y0; FROMBYTE0
#define FROMBYTE3 VPSRLD $24, Y0, Y0; FROMI
// VCVTTPS2DQ gives 0x80000000 for what does not fit.
#define TWO31 ONES; MOVL $0x4f000000, R8; VMOVD R8, X13; VPBROADCASTD X13, Y13; MOVL $0x4f800000, R8; VMOVD R8, X12; VPBROADCASTD X12, Y12; VPSLLD $31, Y15, Y14; VPXOR Y11, Y11, Y11
#define TOI VCVTTPS2DQ Y0, Y1; VCMPPS $0x1d, Y13, Y0, Y2; VPXOR Y2, Y1, Y1; VCMPPS $7, Y0, Y0, Y2; VPAND Y2, Y1, Y0
#define TOU VMAXPS Y11, Y0, Y0; VCMPPS $0x1d, Y13, Y0, Y1; VCMPPS $0x1d, Y12, Y0, Y2; VANDPS Y1, Y13, Y3; VSUBPS Y3, Y0, Y0; VCVTTPS2DQ Y0, Y0; \
	VPAND Y14, Y1, Y1; VPXOR Y1, Y0, Y0; VPOR Y2, Y0, Y0

LOOP2(·loopFAdd, NONE, FADD)
LOOP2(·loopFSub, NONE, FSUB)
LOOP2(·loopFSubrev, NONE, FSUBREV)
LOOP2(·loopFMul, NONE, FMUL)
LOOP2(·loopFMin, NONE, FMIN)
LOOP2(·loopFMax, NONE, FMAX)
LOOP3(·loopFMA, NONE, FMA)
LOOP3(·loopFMad, SMALLEST, FMAD)
LOOP3(·loopFMin3, NONE, FMIN3)
LOOP3(·loopFMax3, NONE, FMAX3)
LOOP3(·loopFMed3, NONE, FMED3)
LOOP1(·loopRcp, ONE, RCP)
LOOP1(·loopSqrt, NONE, SQRT)
LOOP1(·loopRsq, ONED, RSQ)
LOOP1(·loopRndne, NONE, RNDNE)
LOOP1(·loopFloor, NONE, FLOOR)
LOOP1(·loopCeil, NONE, CEIL)
LOOP1(·loopTrunc, NONE, TRUNC)
LOOP1(·loopFromI, NONE, FROMI)
LOOP1(·loopFromU, TWO16, FROMU)
LOOP1(·loopFromByte0, LOW8, FROMBYTE0)
LOOP1(·loopFromByte1, LOW8, FROMBYTE1)
LOOP1(·loopFromByte2, LOW8, FROMBYTE2)
LOOP1(·loopFromByte3, LOW8, FROMBYTE3)
LOOP1(·loopToI, TWO31, TOI)
LOOP1(·loopToU, TWO31, TOU)

// Floats of 16 bits, in the lower half of each lane; that of the result is zero.
// Sums, and products, of two are rounded once although they go by way of 32 bits:
// these have more than twice the bits. A fused multiply-add goes by way of 64, and
// what does not fit in 32 is kept as one bit, so that it is rounded once as well.
#define HALFIN(X, Y) VPAND Y14, Y, Y; VPACKUSDW Y, Y, Y; VPERMQ $8, Y, Y; VCVTPH2PS X, Y
#define HALFOUT VCVTPS2PH $0, Y0, X0; VPMOVZXWD X0, Y0
#define HALF1 HALFIN(X0, Y0)
#define HALF2 HALF1; HALFIN(X1, Y1)
#define HALF3 HALF2; HALFIN(X2, Y2)
#define LOW29 LOW16; VPSRLQ $35, Y15, Y13; VPSRLQ $63, Y15, Y12; VPSLLQ $29, Y12, Y12; VPXOR Y11, Y11, Y11
#define ODDER(Y) VPAND Y13, Y, Y9; VPCMPEQQ Y11, Y9, Y9; VPANDN Y12, Y9, Y9; VPANDN Y, Y13, Y; VPOR Y9, Y, Y
#define FMA16 HALF3; \
	VCVTPS2PD X0, Y3; VCVTPS2PD X1, Y4; VCVTPS2PD X2, Y5; \
	VEXTRACTF128 $1, Y0, X6; VEXTRACTF128 $1, Y1, X7; VEXTRACTF128 $1, Y2, X8; VCVTPS2PD X6, Y6; VCVTPS2PD X7, Y7; VCVTPS2PD X8, Y8; \
	VFMADD213PD Y5, Y4, Y3; VFMADD213PD Y8, Y7, Y6; ODDER(Y3); ODDER(Y6); \
	VCVTPD2PSY Y3, X3; VCVTPD2PSY Y6, X6; VINSERTF128 $1, X6, Y3, Y0; HALFOUT
#define MAD16 HALF3; FMUL; VCVTPS2PH $0, Y0, X0; VCVTPH2PS X0, Y0; VADDPS Y2, Y0, Y0; HALFOUT
#define ADD16 HALF2; FADD; HALFOUT
#define SUB16 HALF2; FSUB; HALFOUT
#define SUBREV16 HALF2; FSUBREV; HALFOUT
#define MUL16 HALF2; FMUL; HALFOUT
#define MIN16 HALF2; FMIN; HALFOUT
#define MAX16 HALF2; FMAX; HALFOUT

LOOP2(·loopHAdd, LOW16, ADD16)
LOOP2(·loopHSub, LOW16, SUB16)
LOOP2(·loopHSubrev, LOW16, SUBREV16)
LOOP2(·loopHMul, LOW16, MUL16)
LOOP2(·loopHMin, LOW16, MIN16)
LOOP2(·loopHMax, LOW16, MAX16)
LOOP3(·loopHFMA, LOW29, FMA16)
LOOP3(·loopHMad, LOW16, MAD16)
LOOP1(·loopFromHalf, LOW16, HALF1)
LOOP1(·loopToHalf, NONE, HALFOUT)

// func loopSpread(d *vec, v uint32)
TEXT ·loopSpread(SB), NOSPLIT, $0-12
	MOVQ d+0(FP), DI
	MOVL v+8(FP), AX
	VMOVD AX, X0
	VPBROADCASTD X0, Y0
	VMOVDQU Y0, (DI)
	VMOVDQU Y0, 32(DI)
	VMOVDQU Y0, 64(DI)
	VMOVDQU Y0, 96(DI)
	VMOVDQU Y0, 128(DI)
	VMOVDQU Y0, 160(DI)
	VMOVDQU Y0, 192(DI)
	VMOVDQU Y0, 224(DI)
	VZEROUPPER
	RET

// func loopSign(d, a *vec, keep, flip uint32): d = a&keep ^ flip
TEXT ·loopSign(SB), NOSPLIT, $0-24
	MOVQ d+0(FP), DI
	MOVQ a+8(FP), SI
	MOVL keep+16(FP), AX
	VMOVD AX, X1
	VPBROADCASTD X1, Y1
	MOVL flip+20(FP), AX
	VMOVD AX, X2
	VPBROADCASTD X2, Y2
	XORQ AX, AX
next:
	VPAND (SI)(AX*1), Y1, Y0
	VPXOR Y2, Y0, Y0
	VMOVDQU Y0, (DI)(AX*1)
	ADDQ $32, AX
	CMPQ AX, $256
	JB next
	VZEROUPPER
	RET

DATA ·laneBits+0(SB)/4, $1
DATA ·laneBits+4(SB)/4, $2
DATA ·laneBits+8(SB)/4, $4
DATA ·laneBits+12(SB)/4, $8
DATA ·laneBits+16(SB)/4, $16
DATA ·laneBits+20(SB)/4, $32
DATA ·laneBits+24(SB)/4, $64
DATA ·laneBits+28(SB)/4, $128
GLOBL ·laneBits(SB), RODATA|NOPTR, $32

// MASK makes all ones or zeros of the low eight bits of R8, in Y9, and drops them.
#define MASK VMOVD R8, X9; VPBROADCASTD X9, Y9; VPAND Y10, Y9, Y9; VPCMPEQD Y10, Y9, Y9; SHRQ $8, R8

// func loopSelect(d, a, b *vec, mask uint64): b where the mask has the lane, else a
TEXT ·loopSelect(SB), NOSPLIT, $0-32
	MOVQ d+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DX
	MOVQ mask+24(FP), R8
	VMOVDQU ·laneBits(SB), Y10
	XORQ AX, AX
next:
	MASK
	VMOVDQU (SI)(AX*1), Y0
	VMOVDQU (DX)(AX*1), Y1
	VPBLENDVB Y9, Y1, Y0, Y0
	VMOVDQU Y0, (DI)(AX*1)
	ADDQ $32, AX
	CMPQ AX, $256
	JB next
	VZEROUPPER
	RET

// Sums with a carry: func(d, a, b *vec, in uint64) (out uint64).
#define CARRY(NAME, BODY) \
TEXT NAME(SB), NOSPLIT, $0-40; \
	MOVQ d+0(FP), DI; \
	MOVQ a+8(FP), SI; \
	MOVQ b+16(FP), DX; \
	MOVQ in+24(FP), R8; \
	VMOVDQU ·laneBits(SB), Y10; \
	VPCMPEQD Y15, Y15, Y15; \
	XORQ AX, AX; \
	XORQ R10, R10; \
next: \
	MASK; \
	VMOVDQU (SI)(AX*1), Y0; \
	VMOVDQU (DX)(AX*1), Y1; \
	BODY; \
	VMOVDQU Y3, (DI)(AX*1); \
	VMOVMSKPS Y4, R9; \
	SHLQ $56, R9; \
	SHRQ $8, R10; \
	ORQ R9, R10; \
	ADDQ $32, AX; \
	CMPQ AX, $256; \
	JB next; \
	MOVQ R10, out+32(FP); \
	VZEROUPPER; \
	RET

// The carry out of the top bit: both, or either and no sum. Y9 is -1 for a carry.
#define ADDC VPADDD Y1, Y0, Y3; VPSUBD Y9, Y3, Y3; VPAND Y1, Y0, Y4; VPOR Y1, Y0, Y5; VPANDN Y5, Y3, Y5; VPOR Y5, Y4, Y4
#define SUBB VPSUBD Y1, Y0, Y3; VPADDD Y9, Y3, Y3; VPXOR Y15, Y0, Y6; VPAND Y1, Y6, Y4; VPOR Y1, Y6, Y5; VPAND Y5, Y3, Y5; VPOR Y5, Y4, Y4

CARRY(·loopAddCarry, ADDC)
CARRY(·loopSubBorrow, SUBB)

// Comparisons: func(a, b *vec) uint64.
#define COMPARE(NAME, PRE, BODY) \
TEXT NAME(SB), NOSPLIT, $0-24; \
	MOVQ a+0(FP), SI; \
	MOVQ b+8(FP), DX; \
	XORQ AX, AX; \
	XORQ R10, R10; \
	PRE; \
next: \
	VMOVDQU (SI)(AX*1), Y0; \
	VMOVDQU (DX)(AX*1), Y1; \
	BODY; \
	VMOVMSKPS Y0, R9; \
	SHLQ $56, R9; \
	SHRQ $8, R10; \
	ORQ R9, R10; \
	ADDQ $32, AX; \
	CMPQ AX, $256; \
	JB next; \
	MOVQ R10, ret+16(FP); \
	VZEROUPPER; \
	RET

#define FLT VCMPPS $0x11, Y1, Y0, Y0
#define FLE VCMPPS $0x12, Y1, Y0, Y0
#define FEQ VCMPPS $0, Y1, Y0, Y0
#define ILT VPCMPGTD Y0, Y1, Y0
#define IEQ VPCMPEQD Y1, Y0, Y0
#define ULT VPXOR Y14, Y0, Y0; VPXOR Y14, Y1, Y1; ILT

COMPARE(·compareFLT, NONE, FLT)
COMPARE(·compareFLE, NONE, FLE)
COMPARE(·compareFEQ, NONE, FEQ)
COMPARE(·compareILT, NONE, ILT)
COMPARE(·compareIEQ, NONE, IEQ)
COMPARE(·compareULT, SIGN, ULT)
