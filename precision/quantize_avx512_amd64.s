//go:build !purego

#include "textflag.h"
#include "go_asm.h"

// The loops of a Quantizer with AVX-512 F: runs of n numbers that share a scale,
// one run after the other, sixteen numbers at a time, the rest of a run under a
// mask. Each routine spells the steps of its twin in runs.go.
//
// DI dst, SI src, R11 numbers in a run, CX those left, DX runs left, R9 the
// scale of the run, R8 the Rounder.
// Z0 holds the numbers, Z1 the result; K1 the lanes of the rest.

DATA absBits<>+0(SB)/4, $0x7fffffff
GLOBL absBits<>(SB), RODATA|NOPTR, $4
DATA signBit<>+0(SB)/4, $0x80000000
GLOBL signBit<>(SB), RODATA|NOPTR, $4
DATA infinity<>+0(SB)/4, $0x7f800000
GLOBL infinity<>(SB), RODATA|NOPTR, $4
DATA integerPower<>+0(SB)/4, $0x4b400000
GLOBL integerPower<>(SB), RODATA|NOPTR, $4
DATA one<>+0(SB)/4, $0x3f800000
GLOBL one<>(SB), RODATA|NOPTR, $4

#define DIVIDE_ARGUMENTS \
	MOVQ         dst+0(FP), DI      \
	MOVQ         src+8(FP), SI      \
	MOVQ         n+16(FP), R11      \
	MOVQ         runs+24(FP), DX    \
	MOVQ         scales+32(FP), R9  \
	MOVQ         r+40(FP), R8       \
	MOVBLZX      restore+48(FP), BX \
	VBROADCASTSS one<>(SB), Z17

// MASK sets K1 to the lanes of the rest of a run.
#define MASK \
	MOVQ         R11, CX         \
	ANDQ         $15, CX         \
	MOVL         $1, AX          \
	SHLL         CX, AX          \
	DECL         AX              \
	KMOVW        AX, K1

// EACH runs BODY over all vectors of all runs, and BEGIN before each run.
#define EACH(BEGIN, BODY) \
	MASK                         \
run:                             \
	BEGIN                        \
	MOVQ         R11, CX         \
	SUBQ         $16, CX         \
	JLT          rest            \
whole:                           \
	VMOVUPS      (SI), Z0        \
	BODY                         \
	VMOVUPS      Z1, (DI)        \
	ADDQ         $64, SI         \
	ADDQ         $64, DI         \
	SUBQ         $16, CX         \
	JGE          whole           \
rest:                            \
	ADDQ         $16, CX         \
	JEQ          next            \
	VMOVUPS.Z    (SI), K1, Z0    \
	BODY                         \
	VMOVUPS      Z1, K1, (DI)    \
	LEAQ         (SI)(CX*4), SI  \
	LEAQ         (DI)(CX*4), DI  \
next:                            \
	ADDQ         $4, R9          \
	DECQ         DX              \
	JNE          run             \
	VZEROUPPER                   \
	RET

// SCALES takes the scale to divide by, Z16, and the one to multiply by, Z17,
// which stays 1 if nothing is to be restored.
#define SCALES \
	VBROADCASTSS (R9), Z16       \
	TESTL        BX, BX          \
	JEQ          2(PC)           \
	VBROADCASTSS (R9), Z17

// Z18 the largest magnitude, Z19 the exponent of the smallest normal number,
// Z20 lift, Z21 infinity, Z22 the sign bit, Z23 the other bits.
#define NARROW \
	VDIVPS     Z16, Z0, Z0        \
	VPANDD     Z23, Z0, Z2        \
	VPMINUD    Z18, Z2, Z2        \
	VPANDD     Z21, Z2, Z3        \
	VPMAXUD    Z19, Z3, Z3        \
	VPADDD     Z20, Z3, Z3        \
	VADDPS     Z3, Z2, Z1         \
	VSUBPS     Z3, Z1, Z1         \
	VPTERNLOGD $0xf8, Z22, Z0, Z1 \
	VMULPS     Z17, Z1, Z1

// func divideNarrow512(dst, src *float32, n, runs int, scales *float32, r *Rounder, restore bool)
TEXT ·divideNarrow512(SB), NOSPLIT, $0-49
	DIVIDE_ARGUMENTS
	VPBROADCASTD Rounder_top(R8), Z18
	VPBROADCASTD Rounder_normal(R8), Z19
	VPBROADCASTD Rounder_lift(R8), Z20
	VPBROADCASTD infinity<>(SB), Z21
	VPBROADCASTD signBit<>(SB), Z22
	VPBROADCASTD absBits<>(SB), Z23
	EACH(SCALES, NARROW)

// Z18 the largest number, Z19 its negative, Z20 the power.
#define WHOLE \
	VDIVPS     Z16, Z0, Z1 \
	VMINPS     Z18, Z1, Z1 \
	VMAXPS     Z19, Z1, Z1 \
	VADDPS     Z20, Z1, Z1 \
	VSUBPS     Z20, Z1, Z1 \
	VMULPS     Z17, Z1, Z1

// func divideWhole512(dst, src *float32, n, runs int, scales *float32, r *Rounder, restore bool)
TEXT ·divideWhole512(SB), NOSPLIT, $0-49
	DIVIDE_ARGUMENTS
	VBROADCASTSS Rounder_top(R8), Z18
	VPBROADCASTD signBit<>(SB), Z19
	VPORD        Z18, Z19, Z19
	VBROADCASTSS integerPower<>(SB), Z20
	EACH(SCALES, WHOLE)

#define SCALE \
	VBROADCASTSS (R9), Z16

#define TIMES \
	VMULPS     Z16, Z0, Z1

// func multiply512(dst, src *float32, n, runs int, scales *float32)
TEXT ·multiply512(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), R11
	MOVQ runs+24(FP), DX
	MOVQ scales+32(FP), R9
	EACH(SCALE, TIMES)

// func magnitudes512(amax, src *float32, n, runs int)
TEXT ·magnitudes512(SB), NOSPLIT, $0-32
	MOVQ         amax+0(FP), R9
	MOVQ         src+8(FP), SI
	MOVQ         n+16(FP), R11
	MOVQ         runs+24(FP), DX
	VPBROADCASTD absBits<>(SB), Z2
	MASK

run:
	VPXORD Z0, Z0, Z0
	MOVQ   R11, CX
	SUBQ   $16, CX
	JLT    rest

whole:
	VPANDD  (SI), Z2, Z1
	VPMAXUD Z1, Z0, Z0
	ADDQ    $64, SI
	SUBQ    $16, CX
	JGE     whole

rest:
	ADDQ      $16, CX
	JEQ       fold
	VMOVUPS.Z (SI), K1, Z1
	VPANDD    Z2, Z1, Z1
	VPMAXUD   Z1, Z0, Z0
	LEAQ      (SI)(CX*4), SI

fold:
	VEXTRACTI64X4 $1, Z0, Y1
	VPMAXUD       Y1, Y0, Y0
	VEXTRACTI128  $1, Y0, X1
	VPMAXUD       X1, X0, X0
	VPSHUFD       $0x4e, X0, X1
	VPMAXUD       X1, X0, X0
	VPSHUFD       $0xb1, X0, X1
	VPMAXUD       X1, X0, X0
	VMOVD         X0, (R9)
	ADDQ          $4, R9
	DECQ          DX
	JNE           run
	VZEROUPPER
	RET
