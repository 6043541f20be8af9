//go:build !purego

#include "textflag.h"

// The routines copy rows to panels of 8 or 16 columns: a row goes on from one panel to the next,
// and the next row stands behind it in each. What lies four rows on is asked for in advance, for
// no prefetcher follows rows that are far apart.
//
//	AX dst   BX src   CX rows left   DX columns   R8 from row to row of src, R9 of a panel
//	R10 from panel to panel   DI, SI, R11 the same within a row
#define BEGIN \
	MOVQ dst+0(FP), AX; \
	MOVQ src+8(FP), BX; \
	MOVQ rows+16(FP), CX; \
	MOVQ columns+24(FP), DX; \
	MOVQ ld+32(FP), R8; \
	MOVQ step+40(FP), R9; \
	MOVQ panel+48(FP), R10; \
row: \
	MOVQ AX, DI; \
	MOVQ BX, SI; \
	MOVQ DX, R11

#define END \
	ADDQ R8, BX; \
	ADDQ R9, AX; \
	DECQ CX; \
	JNZ  row; \
	VZEROUPPER; \
	RET

// func packPanels8(dst, src *float32, rows, columns, ld, step, panel uintptr)
TEXT ·packPanels8(SB), NOSPLIT, $0-56
	BEGIN

columns:
	PREFETCHT0 (SI)(R8*4)
	VMOVUPS    (SI), Y0
	VMOVUPS    Y0, (DI)
	ADDQ       $32, SI
	ADDQ       R10, DI
	SUBQ       $8, R11
	JNZ        columns
	END

// func packPanels16(dst, src *float32, rows, columns, ld, step, panel uintptr)
TEXT ·packPanels16(SB), NOSPLIT, $0-56
	BEGIN

columns:
	PREFETCHT0 (SI)(R8*4)
	VMOVUPS    (SI), Y0
	VMOVUPS    32(SI), Y1
	VMOVUPS    Y0, (DI)
	VMOVUPS    Y1, 32(DI)
	ADDQ       $64, SI
	ADDQ       R10, DI
	SUBQ       $16, R11
	JNZ        columns
	END
