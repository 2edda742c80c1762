// What the loops over lanes have in common: see loops_amd64.s.

#define BEGIN(NAME) \
TEXT NAME(SB), NOSPLIT, $0-40; \
	MOVQ d+0(FP), DI; \
	MOVQ a+8(FP), SI; \
	MOVQ b+16(FP), DX; \
	MOVQ c+24(FP), CX; \
	MOVQ n+32(FP), BX; \
	SHLQ $2, BX; \
	XORQ AX, AX

#define END \
	VMOVDQU Y0, (DI)(AX*1); \
	ADDQ $32, AX; \
	CMPQ AX, BX; \
	JB next; \
	VZEROUPPER; \
	RET

#define NONE
#define ONED VPCMPEQD Y15, Y15, Y15; VPSRLQ $54, Y15, Y14; VPSLLQ $52, Y14, Y14 // 1.0 in 64 bits
