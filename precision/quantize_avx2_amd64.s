//go:build !purego

#include "textflag.h"
#include "go_asm.h"

// CHOOSE goes on to the routine of AVX-512 where that is the path.
#define CHOOSE(wide) \
	CMPB ·current(SB), $const_pathAVX512; \
	JNE  chosen;                          \
	JMP  wide;                            \
chosen:

// The loops of a Quantizer with AVX2: runs of n numbers that share a scale, one
// run after the other, eight numbers at a time, the rest of a run under a mask.
// Each routine spells the steps of its twin in runs.go.
//
// DI dst, SI src, R11 numbers in a run, CX those left, DX runs left, R9 the
// scale of the run, R8 the Rounder.
// Y0 holds the numbers, Y1 the result; Y15 the lanes of the rest.

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

// Eight lanes of ones, then eight of zeros: a mask of n lanes begins n lanes
// before the middle.
DATA lanes<>+0(SB)/8, $0xffffffffffffffff
DATA lanes<>+8(SB)/8, $0xffffffffffffffff
DATA lanes<>+16(SB)/8, $0xffffffffffffffff
DATA lanes<>+24(SB)/8, $0xffffffffffffffff
DATA lanes<>+32(SB)/8, $0
DATA lanes<>+40(SB)/8, $0
DATA lanes<>+48(SB)/8, $0
DATA lanes<>+56(SB)/8, $0
GLOBL lanes<>(SB), RODATA|NOPTR, $64

#define DIVIDE_ARGUMENTS \
	MOVQ         dst+0(FP), DI      \
	MOVQ         src+8(FP), SI      \
	MOVQ         n+16(FP), R11      \
	MOVQ         runs+24(FP), DX    \
	MOVQ         scales+32(FP), R9  \
	MOVQ         r+40(FP), R8       \
	MOVBLZX      restore+48(FP), BX \
	VBROADCASTSS one<>(SB), Y6

// MASK sets Y15 to the lanes of the rest of a run.
#define MASK \
	MOVQ         R11, CX           \
	ANDQ         $7, CX            \
	SHLQ         $2, CX            \
	LEAQ         lanes<>+32(SB), AX \
	SUBQ         CX, AX            \
	VMOVDQU      (AX), Y15

// EACH runs BODY over all vectors of all runs, and BEGIN before each run.
#define EACH(BEGIN, BODY) \
	MASK                         \
run:                             \
	BEGIN                        \
	MOVQ         R11, CX         \
	SUBQ         $8, CX          \
	JLT          rest            \
whole:                           \
	VMOVUPS      (SI), Y0        \
	BODY                         \
	VMOVUPS      Y1, (DI)        \
	ADDQ         $32, SI         \
	ADDQ         $32, DI         \
	SUBQ         $8, CX          \
	JGE          whole           \
rest:                            \
	ADDQ         $8, CX          \
	JEQ          next            \
	VMASKMOVPS   (SI), Y15, Y0   \
	BODY                         \
	VMASKMOVPS   Y1, Y15, (DI)   \
	LEAQ         (SI)(CX*4), SI  \
	LEAQ         (DI)(CX*4), DI  \
next:                            \
	ADDQ         $4, R9          \
	DECQ         DX              \
	JNE          run             \
	VZEROUPPER                   \
	RET

// SCALES takes the scale to divide by, Y5, and the one to multiply by, Y6, which
// stays 1 if nothing is to be restored.
#define SCALES \
	VBROADCASTSS (R9), Y5        \
	TESTL        BX, BX          \
	JEQ          2(PC)           \
	VBROADCASTSS (R9), Y6

// Y7 the largest magnitude, Y8 the exponent of the smallest normal number,
// Y9 lift, Y10 infinity, Y11 the sign bit, Y12 the other bits.
#define NARROW \
	VDIVPS     Y5, Y0, Y0  \
	VPAND      Y12, Y0, Y2 \
	VPMINUD    Y7, Y2, Y2  \
	VPAND      Y11, Y0, Y4 \
	VPAND      Y10, Y2, Y3 \
	VPMAXUD    Y8, Y3, Y3  \
	VPADDD     Y9, Y3, Y3  \
	VADDPS     Y3, Y2, Y1  \
	VSUBPS     Y3, Y1, Y1  \
	VPOR       Y4, Y1, Y1  \
	VMULPS     Y6, Y1, Y1

// func divideNarrowVector(dst, src *float32, n, runs int, scales *float32, r *Rounder, restore bool)
TEXT ·divideNarrowVector(SB), NOSPLIT, $0-49
	CHOOSE(·divideNarrow512(SB))
	DIVIDE_ARGUMENTS
	VPBROADCASTD Rounder_top(R8), Y7
	VPBROADCASTD Rounder_normal(R8), Y8
	VPBROADCASTD Rounder_lift(R8), Y9
	VPBROADCASTD infinity<>(SB), Y10
	VPBROADCASTD signBit<>(SB), Y11
	VPBROADCASTD absBits<>(SB), Y12
	EACH(SCALES, NARROW)

// Y7 the largest number, Y8 its negative, Y9 the power.
#define WHOLE \
	VDIVPS     Y5, Y0, Y1 \
	VMINPS     Y7, Y1, Y1 \
	VMAXPS     Y8, Y1, Y1 \
	VADDPS     Y9, Y1, Y1 \
	VSUBPS     Y9, Y1, Y1 \
	VMULPS     Y6, Y1, Y1

// func divideWholeVector(dst, src *float32, n, runs int, scales *float32, r *Rounder, restore bool)
TEXT ·divideWholeVector(SB), NOSPLIT, $0-49
	CHOOSE(·divideWhole512(SB))
	DIVIDE_ARGUMENTS
	VBROADCASTSS Rounder_top(R8), Y7
	VPBROADCASTD signBit<>(SB), Y8
	VPOR         Y7, Y8, Y8
	VBROADCASTSS integerPower<>(SB), Y9
	EACH(SCALES, WHOLE)

#define SCALE \
	VBROADCASTSS (R9), Y5

#define TIMES \
	VMULPS     Y5, Y0, Y1

// func multiplyVector(dst, src *float32, n, runs int, scales *float32)
TEXT ·multiplyVector(SB), NOSPLIT, $0-40
	CHOOSE(·multiply512(SB))
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), R11
	MOVQ runs+24(FP), DX
	MOVQ scales+32(FP), R9
	EACH(SCALE, TIMES)

// func magnitudesVector(amax, src *float32, n, runs int)
TEXT ·magnitudesVector(SB), NOSPLIT, $0-32
	CHOOSE(·magnitudes512(SB))
	MOVQ         amax+0(FP), R9
	MOVQ         src+8(FP), SI
	MOVQ         n+16(FP), R11
	MOVQ         runs+24(FP), DX
	VPBROADCASTD absBits<>(SB), Y2
	MASK

run:
	VPXOR Y0, Y0, Y0
	MOVQ  R11, CX
	SUBQ  $8, CX
	JLT   rest

whole:
	VPAND   (SI), Y2, Y1
	VPMAXUD Y1, Y0, Y0
	ADDQ    $32, SI
	SUBQ    $8, CX
	JGE     whole

rest:
	ADDQ       $8, CX
	JEQ        fold
	VMASKMOVPS (SI), Y15, Y1
	VPAND      Y2, Y1, Y1
	VPMAXUD    Y1, Y0, Y0
	LEAQ       (SI)(CX*4), SI

fold:
	VEXTRACTI128 $1, Y0, X1
	VPMAXUD      X1, X0, X0
	VPSHUFD      $0x4e, X0, X1
	VPMAXUD      X1, X0, X0
	VPSHUFD      $0xb1, X0, X1
	VPMAXUD      X1, X0, X0
	VMOVD        X0, (R9)
	ADDQ         $4, R9
	DECQ         DX
	JNE          run
	VZEROUPPER
	RET
