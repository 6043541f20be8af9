package main

import (
	"fmt"
	"strings"
)

// Go's assembler knows the integer vectors of arm64, but of their float32
// arithmetic only FMLA. What it lacks is written as the instruction's word, with
// Arm's spelling in a comment. The words are those of the Arm Architecture
// Reference Manual (DDI 0487, section C7.2); all name registers in the same
// places: destination from bit 0, first operand from bit 5, second from bit 16.

// encoding is an instruction of which the registers are missing.
type encoding struct {
	word    uint32
	operand string // how Arm writes the operands, as a format of their numbers
}

const (
	threeVectors = "V%d.4S, V%d.4S, V%d.4S"
	byElement    = "V%d.4S, V%d.4S, V%d.S[0]"
	twoVectors   = "V%d.4S, V%d.4S"
	acrossLanes  = "S%d, V%d.4S"
)

var encodings = map[string]encoding{
	"FADD":  {0x4e20d400, threeVectors},
	"FSUB":  {0x4ea0d400, threeVectors},
	"FMUL":  {0x6e20dc00, threeVectors},
	"FDIV":  {0x6e20fc00, threeVectors},
	"FMAX":  {0x4e20f400, threeVectors}, // a NaN in either operand is the result
	"FMIN":  {0x4ea0f400, threeVectors},
	"FCMEQ": {0x4e20e400, threeVectors},
	"CMHI":  {0x6ea03400, threeVectors}, // unsigned

	"FMLA by element": {0x4f801000, byElement},
	"FMUL by element": {0x4f809000, byElement},

	"FCVTNS": {0x4e21a800, twoVectors}, // to nearest even, and NaN to 0
	"FSQRT":  {0x6ea1f800, twoVectors},
	"FMAXV":  {0x6e30f800, acrossLanes},
	"UMAXV":  {0x6eb0a800, acrossLanes},
}

// encode returns the word of an instruction and Arm's spelling of it.
func encode(name string, registers ...int) (word uint32, spelling string) {
	e, ok := encodings[name]
	if !ok {
		panic("no encoding of " + name)
	}
	word = e.word
	operands := make([]any, len(registers))
	for i, n := range registers {
		word |= uint32(n) << []int{0, 5, 16}[i]
		operands[i] = n
	}
	mnemonic, _, _ := strings.Cut(name, " ")
	return word, mnemonic + " " + fmt.Sprintf(e.operand, operands...)
}

// encodeShift is encode for SSHR, the arithmetic shift to the right of 1 to 32
// places, whose distance stands where others have a register.
func encodeShift(n, dst, src int) (word uint32, spelling string) {
	return 0x4f000400 | uint32(64-n)<<16 | uint32(src)<<5 | uint32(dst), fmt.Sprintf("SSHR V%d.4S, V%d.4S, #%d", dst, src, n)
}
