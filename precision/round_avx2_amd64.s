//go:build !purego

#include "textflag.h"
#include "go_asm.h"

// CHOOSE goes on to the routine of AVX-512 where that is the path.
#define CHOOSE(wide) \
	CMPB ·current(SB), $const_pathAVX512; \
	JNE  chosen;                          \
	JMP  wide;                            \
chosen:

// Rounding of slices with AVX2. Each routine spells the steps of its twin in
// round_slice.go, eight numbers at a time, the rest under a mask.
//
// DI dst, SI src, CX elements left, R8 the Rounder.
// Y0 holds the numbers, Y1 the result; Y15 the lanes of the rest.

DATA absBits<>+0(SB)/4, $0x7fffffff
GLOBL absBits<>(SB), RODATA|NOPTR, $4
DATA signBit<>+0(SB)/4, $0x80000000
GLOBL signBit<>(SB), RODATA|NOPTR, $4
DATA infinity<>+0(SB)/4, $0x7f800000
GLOBL infinity<>(SB), RODATA|NOPTR, $4
DATA integerPower<>+0(SB)/4, $0x4b400000
GLOBL integerPower<>(SB), RODATA|NOPTR, $4
DATA one<>+0(SB)/4, $1
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

#define ARGUMENTS \
	MOVQ dst+0(FP), DI \
	MOVQ src+8(FP), SI \
	MOVQ n+16(FP), CX  \
	MOVQ r+24(FP), R8

// EACH runs BODY over all vectors.
#define EACH(BODY) \
	SUBQ       $8, CX           \
	JLT        rest             \
whole:                          \
	VMOVUPS    (SI), Y0         \
	BODY                        \
	VMOVUPS    Y1, (DI)         \
	ADDQ       $32, SI          \
	ADDQ       $32, DI          \
	SUBQ       $8, CX           \
	JGE        whole            \
rest:                           \
	ADDQ       $8, CX           \
	JEQ        done             \
	LEAQ       lanes<>+32(SB), AX \
	SHLQ       $2, CX           \
	SUBQ       CX, AX           \
	VMOVDQU    (AX), Y15        \
	VMASKMOVPS (SI), Y15, Y0    \
	BODY                        \
	VMASKMOVPS Y1, Y15, (DI)    \
done:                           \
	VZEROUPPER                  \
	RET

// DROP adds just under half of the dropped range, and one more where the kept
// part is odd, and drops: Y5 half, Y6 drop, Y7 one, Y8 keep.
#define DROP \
	VPSRLVD    Y6, Y0, Y1  \
	VPADDD     Y5, Y0, Y3  \
	VPAND      Y7, Y1, Y1  \
	VPADDD     Y3, Y1, Y1  \
	VPAND      Y8, Y1, Y1

#define DROP_CONSTANTS \
	VPBROADCASTD Rounder_half(R8), Y5 \
	VPBROADCASTD Rounder_drop(R8), Y6 \
	VPBROADCASTD one<>(SB), Y7        \
	VPBROADCASTD Rounder_keep(R8), Y8

// OUTSIDE replaces results where the magnitude Y2 is above the last that fits,
// sets the sign, and puts NaNs back: Y11 last, Y12 over, Y13 the sign bit.
#define OUTSIDE \
	VPCMPGTD   Y11, Y2, Y3      \
	VPAND      Y13, Y0, Y4      \
	VBLENDVPS  Y3, Y12, Y1, Y1  \
	VCMPPS     $3, Y0, Y0, Y3   \
	VPOR       Y4, Y1, Y1       \
	VBLENDVPS  Y3, Y0, Y1, Y1

#define OUTSIDE_CONSTANTS \
	VPBROADCASTD Rounder_last(R8), Y11 \
	VPBROADCASTD Rounder_over(R8), Y12 \
	VPBROADCASTD signBit<>(SB), Y13    \
	VPBROADCASTD absBits<>(SB), Y14

// The carry out of the largest number is the infinity wanted.
#define WIDE_INFINITE \
	DROP                           \
	VCMPPS     $3, Y0, Y0, Y3      \
	VBLENDVPS  Y3, Y0, Y1, Y1

// func roundWideInfiniteVector(dst, src *float32, n int, r *Rounder)
TEXT ·roundWideInfiniteVector(SB), NOSPLIT, $0-32
	CHOOSE(·roundWideInfinite512(SB))
	ARGUMENTS
	DROP_CONSTANTS
	EACH(WIDE_INFINITE)

#define WIDE \
	DROP                   \
	VPAND      Y14, Y0, Y2 \
	OUTSIDE

// func roundWideVector(dst, src *float32, n int, r *Rounder)
TEXT ·roundWideVector(SB), NOSPLIT, $0-32
	CHOOSE(·roundWide512(SB))
	ARGUMENTS
	DROP_CONSTANTS
	OUTSIDE_CONSTANTS
	EACH(WIDE)

// Y5 the exponent of the smallest normal number, Y6 lift, Y7 infinity.
#define NARROW \
	VPAND      Y7, Y0, Y3  \
	VPAND      Y14, Y0, Y2 \
	VPMAXUD    Y5, Y3, Y3  \
	VPADDD     Y6, Y3, Y3  \
	VADDPS     Y3, Y2, Y1  \
	VSUBPS     Y3, Y1, Y1  \
	OUTSIDE

// func roundNarrowVector(dst, src *float32, n int, r *Rounder)
TEXT ·roundNarrowVector(SB), NOSPLIT, $0-32
	CHOOSE(·roundNarrow512(SB))
	ARGUMENTS
	OUTSIDE_CONSTANTS
	VPBROADCASTD Rounder_normal(R8), Y5
	VPBROADCASTD Rounder_lift(R8), Y6
	VPBROADCASTD infinity<>(SB), Y7
	EACH(NARROW)

// Y5 the largest number, Y6 its negative, Y7 the power.
#define WHOLE \
	VMINPS     Y5, Y0, Y1      \
	VCMPPS     $3, Y0, Y0, Y3  \
	VMAXPS     Y6, Y1, Y1      \
	VADDPS     Y7, Y1, Y1      \
	VSUBPS     Y7, Y1, Y1      \
	VBLENDVPS  Y3, Y0, Y1, Y1

// func roundWholeVector(dst, src *float32, n int, r *Rounder)
TEXT ·roundWholeVector(SB), NOSPLIT, $0-32
	CHOOSE(·roundWhole512(SB))
	ARGUMENTS
	VBROADCASTSS Rounder_top(R8), Y5
	VPBROADCASTD signBit<>(SB), Y6
	VPOR         Y5, Y6, Y6
	VBROADCASTSS integerPower<>(SB), Y7
	EACH(WHOLE)
