//go:build !purego

#include "textflag.h"

// func cpuid(leaf uint32) (a, c uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-16
	MOVL leaf+0(FP), AX
	XORL CX, CX
	CPUID
	MOVL AX, a+8(FP)
	MOVL CX, c+12(FP)
	RET
