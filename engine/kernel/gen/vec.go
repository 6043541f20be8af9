package main

import (
	"fmt"
	"math"
	"sort"
	"strings"
)

// An elementwise routine runs one body over vectors of its slices, whole ones
// first and then the rest under a mask. The body is written against vec, which
// spells each operation for either instruction set.
//
// General registers: CX elements left, AX, BX, ... slices in the order of the
// parameters, R15 the mask table.

// routine is one elementwise kernel.
type routine struct {
	name    string
	slices  []string
	numbers []string // float32, or uint32 with the suffix ":bits"
	body    func(v *vec)
	// result names a float32 result; start and finish run before and after the loop.
	result        string
	start, finish func(v *vec)
}

// vec writes the body of a routine.
type vec struct {
	*text
	v       isa
	masked  bool // the tail
	free    []string
	address map[string]string
	numbers map[string]string
	consts  map[string]uint32
	mask    string
}

var pointers = []string{"AX", "BX", "DX", "SI", "DI", "R8", "R9", "R10"}

// splitNumber returns the name and Go type of a numeric parameter.
func splitNumber(s string) (name, goType string) {
	if n, ok := strings.CutSuffix(s, ":bits"); ok {
		return n, "uint32"
	}
	return s, "float32"
}

// signature is the routine's Go declaration.
func (r routine) signature(v isa) string {
	params := strings.Join(r.slices, ", ") + " *float32, n int"
	for _, s := range r.numbers {
		name, goType := splitNumber(s)
		params += ", " + name + " " + goType
	}
	result := ""
	if r.result != "" {
		result = " (" + r.result + " float32)"
	}
	return fmt.Sprintf("func %s%s(%s)%s", r.name, v.name, params, result)
}

// assemble writes the routine and returns the constants it names.
func (r routine) assemble(t *text, isa isa, consts map[string]uint32) {
	args := 8*(len(r.slices)+1) + 4*len(r.numbers)
	if r.result != "" {
		args = (args+7)/8*8 + 4
	}
	fmt.Fprintf(t, "\n// %s\nTEXT ·%s%s(SB), NOSPLIT, $0-%d\n", r.signature(isa), r.name, isa.name, args)
	v := &vec{text: t, v: isa, consts: consts, address: map[string]string{}, numbers: map[string]string{}}
	for i := isa.regs - 1; i >= 0; i-- {
		v.free = append(v.free, isa.r(i))
	}
	for i, s := range r.slices {
		v.op("MOVQ", fmt.Sprintf("%s+%d(FP)", s, 8*i), pointers[i])
		v.address[s] = pointers[i]
	}
	off := 8 * len(r.slices)
	v.op("MOVQ", fmt.Sprintf("n+%d(FP)", off), "CX")
	off += 8
	for _, s := range r.numbers {
		name, _ := splitNumber(s)
		reg := v.new()
		v.op("VBROADCASTSS", fmt.Sprintf("%s+%d(FP)", name, off), reg)
		v.numbers[name] = reg
		off += 4
	}
	if isa == avx2 {
		v.mask = v.new()
	} else {
		v.mask = "K1"
	}
	if r.start != nil {
		r.start(v)
	}
	v.overLanes(pointers[:len(r.slices)], func() { r.body(v) })
	if r.finish != nil {
		r.finish(v)
	}
	v.end()
}

// tailMask sets the mask of the CX elements that are left.
func (v *vec) tailMask() {
	if v.v == avx512 {
		v.op("MOVL", "$1", "R15")
		v.op("SHLL", "CX", "R15")
		v.op("DECL", "R15")
		v.op("KMOVW", "R15", "K1")
		return
	}
	// masks256 has 16 lanes of ones, then 16 of zeros.
	v.op("LEAQ", "·masks256+64(SB)", "R15")
	v.op("SHLQ", "$2", "CX")
	v.op("SUBQ", "CX", "R15")
	v.op("VMOVUPS", "(R15)", v.mask)
}

// new takes a free register; drop gives registers back.
func (v *vec) new() string {
	if len(v.free) == 0 {
		panic("out of vector registers")
	}
	r := v.free[len(v.free)-1]
	v.free = v.free[:len(v.free)-1]
	return r
}

func (v *vec) drop(regs ...string) {
	for _, r := range regs {
		if strings.HasPrefix(r, v.v.reg) && !strings.Contains(r, "(") {
			v.free = append(v.free, r)
		}
	}
}

// load reads the current vector of a slice; lanes beyond the end are zero.
func (v *vec) load(slice string) string {
	r, at := v.new(), "("+v.address[slice]+")"
	switch {
	case !v.masked:
		v.op("VMOVUPS", at, r)
	case v.v == avx512:
		v.op("VMOVUPS.Z", at, v.mask, r)
	default:
		v.op("VMASKMOVPS", at, v.mask, r)
	}
	return r
}

// store writes and drops r.
func (v *vec) store(r, slice string) {
	at := "(" + v.address[slice] + ")"
	switch {
	case !v.masked:
		v.op("VMOVUPS", r, at)
	case v.v == avx512:
		v.op("VMOVUPS", r, v.mask, at)
	default:
		v.op("VMASKMOVPS", r, v.mask, at)
	}
	v.drop(r)
}

// c is a constant in memory, repeated over a register's width.
func (v *vec) c(x float32) string { return v.bits(math.Float32bits(x)) }

func (v *vec) bits(b uint32) string {
	name := fmt.Sprintf("c_%08x", b)
	v.consts[name] = b
	return name + "<>(SB)"
}

// three writes dst = a op b in place of a; b may be memory.
func (v *vec) three(op, a, b string) string {
	v.op(op, b, a, a)
	return a
}

// The operations overwrite and return their first operand.
func (v *vec) mul(a, b string) string { return v.three("VMULPS", a, b) }
func (v *vec) add(a, b string) string { return v.three("VADDPS", a, b) }
func (v *vec) sub(a, b string) string { return v.three("VSUBPS", a, b) }
func (v *vec) div(a, b string) string { return v.three("VDIVPS", a, b) }

// logic picks the spelling of an operation on bits: AVX-512 names the lane.
func (v *vec) logic(op string) string {
	if v.v == avx512 {
		return op + "D"
	}
	return op
}

func (v *vec) or(a, b string) string   { return v.three(v.logic("VPOR"), a, b) }
func (v *vec) xor(a, b string) string  { return v.three(v.logic("VPXOR"), a, b) }
func (v *vec) addI(a, b string) string { return v.three("VPADDD", a, b) }
func (v *vec) subI(a, b string) string { return v.three("VPSUBD", a, b) }

// shift by a constant.
func (v *vec) shift(op string, n int, a string) string {
	v.op(op, fmt.Sprintf("$%d", n), a, a)
	return a
}

// copy returns a copy of a register or of a constant.
func (v *vec) copy(a string) string {
	r := v.new()
	v.op("VMOVUPS", a, r)
	return r
}

// clampNaN returns min(max(x, lo), hi) where a NaN in x stays a NaN: the
// instructions return their second source if either is one.
func (v *vec) clampNaN(x, lo, hi string) string {
	t := v.copy(hi)
	v.op("VMINPS", x, t, x)
	v.op("VMOVUPS", lo, t)
	v.op("VMAXPS", x, t, x)
	v.drop(t)
	return x
}

// zero clears a new register.
func (v *vec) zero() string {
	r := v.new()
	v.op(v.logic("VPXOR"), r, r, r)
	return r
}

// constSection writes the constants, in order of name.
func constSection(t *text, v isa, consts map[string]uint32) {
	names := make([]string, 0, len(consts))
	for n := range consts {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		fmt.Fprintf(t, "\n")
		double := uint64(consts[n])<<32 | uint64(consts[n])
		for off := 0; off < v.bytes; off += 8 {
			fmt.Fprintf(t, "DATA %s<>+%d(SB)/8, $0x%016x\n", n, off, double)
		}
		fmt.Fprintf(t, "GLOBL %s<>(SB), RODATA|NOPTR, $%d\n", n, v.bytes)
	}
}

// overLanes writes the body once for whole vectors, in a loop over the CX
// elements that moves the pointers along, and once under the mask for the rest.
func (v *vec) overLanes(pointers []string, body func()) {
	v.label("whole")
	v.op("CMPQ", "CX", fmt.Sprintf("$%d", v.v.lanes()))
	v.op("JLT", "rest")
	body()
	for _, p := range pointers {
		v.op("ADDQ", fmt.Sprintf("$%d", v.v.bytes), p)
	}
	v.op("SUBQ", fmt.Sprintf("$%d", v.v.lanes()), "CX")
	v.op("JMP", "whole")
	v.label("rest")
	v.op("TESTQ", "CX", "CX")
	v.op("JEQ", "done")
	v.tailMask()
	v.masked = true
	body()
	v.masked = false
	v.label("done")
}
