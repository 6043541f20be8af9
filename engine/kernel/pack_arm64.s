//go:build !purego

#include "textflag.h"

// These routines are those of amd64.
//
//	R0 dst   R1 src   R2 rows left   R3 columns   R4 from row to row of src, R5 of a panel
//	R6 from panel to panel   R7, R8, R9 dst, src and columns left within a row   R10 four rows on
#define BEGIN \
	MOVD dst+0(FP), R0; \
	MOVD src+8(FP), R1; \
	MOVD rows+16(FP), R2; \
	MOVD columns+24(FP), R3; \
	MOVD ld+32(FP), R4; \
	MOVD step+40(FP), R5; \
	MOVD panel+48(FP), R6; \
row: \
	MOVD R0, R7; \
	MOVD R1, R8; \
	MOVD R3, R9; \
	ADD  R4<<2, R1, R10

#define END \
	ADD  R4, R1; \
	ADD  R5, R0; \
	SUBS $1, R2; \
	BNE  row; \
	RET

// func packPanels8(dst, src *float32, rows, columns, ld, step, panel uintptr)
TEXT ·packPanels8(SB), NOSPLIT, $0-56
	BEGIN

columns:
	PRFM   (R10), PLDL1KEEP
	VLD1.P 32(R8), [V0.B16, V1.B16]
	VST1   [V0.B16, V1.B16], (R7)
	ADD    $32, R10
	ADD    R6, R7
	SUBS   $8, R9
	BNE    columns
	END

// func packPanels16(dst, src *float32, rows, columns, ld, step, panel uintptr)
TEXT ·packPanels16(SB), NOSPLIT, $0-56
	BEGIN

columns:
	PRFM   (R10), PLDL1KEEP
	VLD1.P 64(R8), [V0.B16, V1.B16, V2.B16, V3.B16]
	VST1   [V0.B16, V1.B16, V2.B16, V3.B16], (R7)
	ADD    $64, R10
	ADD    R6, R7
	SUBS   $16, R9
	BNE    columns
	END
