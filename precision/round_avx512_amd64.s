//go:build !purego

#include "textflag.h"
#include "go_asm.h"

// Rounding of slices with AVX-512 F. Each routine spells the steps of its twin
// in round_slice.go, sixteen numbers at a time, the rest under a mask.
//
// DI dst, SI src, CX elements left, R8 the Rounder.
// Z0 holds the numbers, Z1 the result; K1 the lanes of the rest.

DATA absBits<>+0(SB)/4, $0x7fffffff
GLOBL absBits<>(SB), RODATA|NOPTR, $4
DATA signBit<>+0(SB)/4, $0x80000000
GLOBL signBit<>(SB), RODATA|NOPTR, $4
DATA infinity<>+0(SB)/4, $0x7f800000
GLOBL infinity<>(SB), RODATA|NOPTR, $4
DATA integerPower<>+0(SB)/4, $0x4b400000
GLOBL integerPower<>(SB), RODATA|NOPTR, $4

#define ARGUMENTS \
	MOVQ dst+0(FP), DI \
	MOVQ src+8(FP), SI \
	MOVQ n+16(FP), CX  \
	MOVQ r+24(FP), R8

// EACH runs BODY over all vectors.
#define EACH(BODY) \
	SUBQ       $16, CX        \
	JLT        rest           \
whole:                        \
	VMOVUPS    (SI), Z0       \
	BODY                      \
	VMOVUPS    Z1, (DI)       \
	ADDQ       $64, SI        \
	ADDQ       $64, DI        \
	SUBQ       $16, CX        \
	JGE        whole          \
rest:                         \
	ADDQ       $16, CX        \
	JEQ        done           \
	MOVL       $1, AX         \
	SHLL       CX, AX         \
	DECL       AX             \
	KMOVW      AX, K1         \
	VMOVUPS.Z  (SI), K1, Z0   \
	BODY                      \
	VMOVUPS    Z1, K1, (DI)   \
done:                         \
	VZEROUPPER                \
	RET

// DROP adds just under half of the dropped range, and one more where the kept
// part is odd: Z16 half, Z17 half+1, Z18 the last kept bit.
#define DROP \
	VPTESTMD   Z18, Z0, K2     \
	VPADDD     Z16, Z0, Z1     \
	VPADDD     Z17, Z0, K2, Z1

#define DROP_CONSTANTS \
	VPBROADCASTD Rounder_half(R8), Z16 \
	MOVL         Rounder_half(R8), AX  \
	INCL         AX                    \
	VPBROADCASTD AX, Z17               \
	ADDL         AX, AX                \
	VPBROADCASTD AX, Z18               \
	VPBROADCASTD Rounder_keep(R8), Z19

// OUTSIDE replaces results where the magnitude Z2 is above the last that fits,
// sets the sign, and puts NaNs back: Z20 last, Z21 over, Z22 the sign bit.
#define OUTSIDE \
	VPCMPGTD   Z20, Z2, K2        \
	VMOVDQA32  Z21, K2, Z1        \
	VPTERNLOGD $0xf8, Z22, Z0, Z1 \
	VCMPPS     $3, Z0, Z0, K3     \
	VMOVDQA32  Z0, K3, Z1

#define OUTSIDE_CONSTANTS \
	VPBROADCASTD Rounder_last(R8), Z20 \
	VPBROADCASTD Rounder_over(R8), Z21 \
	VPBROADCASTD signBit<>(SB), Z22    \
	VPBROADCASTD absBits<>(SB), Z23

// The carry out of the largest number is the infinity wanted.
#define WIDE_INFINITE \
	DROP                           \
	VCMPPS     $3, Z0, Z0, K3      \
	VPANDD     Z19, Z1, Z1         \
	VMOVDQA32  Z0, K3, Z1

// func roundWideInfinite512(dst, src *float32, n int, r *Rounder)
TEXT ·roundWideInfinite512(SB), NOSPLIT, $0-32
	ARGUMENTS
	DROP_CONSTANTS
	EACH(WIDE_INFINITE)

#define WIDE \
	DROP                    \
	VPANDD     Z23, Z0, Z2  \
	VPANDD     Z19, Z1, Z1  \
	OUTSIDE

// func roundWide512(dst, src *float32, n int, r *Rounder)
TEXT ·roundWide512(SB), NOSPLIT, $0-32
	ARGUMENTS
	DROP_CONSTANTS
	OUTSIDE_CONSTANTS
	EACH(WIDE)

// Z16 the exponent of the smallest normal number, Z17 lift, Z18 infinity.
#define NARROW \
	VPANDD     Z18, Z0, Z3  \
	VPANDD     Z23, Z0, Z2  \
	VPMAXUD    Z16, Z3, Z3  \
	VPADDD     Z17, Z3, Z3  \
	VADDPS     Z3, Z2, Z1   \
	VSUBPS     Z3, Z1, Z1   \
	OUTSIDE

// func roundNarrow512(dst, src *float32, n int, r *Rounder)
TEXT ·roundNarrow512(SB), NOSPLIT, $0-32
	ARGUMENTS
	OUTSIDE_CONSTANTS
	VPBROADCASTD Rounder_normal(R8), Z16
	VPBROADCASTD Rounder_lift(R8), Z17
	VPBROADCASTD infinity<>(SB), Z18
	EACH(NARROW)

// Z16 the largest number, Z17 its negative, Z18 the power.
#define WHOLE \
	VMINPS     Z16, Z0, Z1     \
	VCMPPS     $3, Z0, Z0, K3  \
	VMAXPS     Z17, Z1, Z1     \
	VADDPS     Z18, Z1, Z1     \
	VSUBPS     Z18, Z1, Z1     \
	VMOVDQA32  Z0, K3, Z1

// func roundWhole512(dst, src *float32, n int, r *Rounder)
TEXT ·roundWhole512(SB), NOSPLIT, $0-32
	ARGUMENTS
	VBROADCASTSS Rounder_top(R8), Z16
	VPBROADCASTD signBit<>(SB), Z17
	VPORD        Z16, Z17, Z17
	VBROADCASTSS integerPower<>(SB), Z18
	EACH(WHOLE)
