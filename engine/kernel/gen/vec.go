package main

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
)

// An elementwise routine runs one body over vectors of its slices, whole ones
// first and then the rest: on amd64 under a mask, on arm64 one element at a time
// in a vector of its copies. The body is written against vec, which spells each
// operation for every instruction set.
//
// General registers: CX elements left, AX, BX, ... slices in the order of the
// parameters, R15 the mask table or that of constants.

// routine is one elementwise kernel.
type routine struct {
	name    string
	slices  []string
	numbers []string // float32, or uint32 with the suffix ":bits"
	body    func(v *vec)
	// bodies is the body of several vectors side by side, for what waits for itself otherwise;
	// on AVX-512 there are registers for so many.
	bodies  func(v *vec, vectors int)
	several int
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
	// What AVX2 reads from memory in its operations, the others hold in registers.
	resident map[uint32]string
	order    []uint32
}

// newVec has all registers free.
func newVec(t *text, isa isa, consts map[string]uint32) *vec {
	v := &vec{text: t, v: isa, consts: consts, address: map[string]string{}, numbers: map[string]string{}, mask: "K1", resident: map[uint32]string{}}
	for i := isa.regs - 1; i >= 0; i-- {
		v.free = append(v.free, isa.r(i))
	}
	return v
}

// routineText writes a routine of vectors.
func routineText(t *text, isa isa, name, signature string, args int, consts map[string]uint32, write func(v *vec)) {
	fmt.Fprintf(t, "\n// func %s\nTEXT ·%s(SB), NOSPLIT, $0-%d\n", signature, name, args)
	v := withConstants(t, isa, name, consts, write)
	v.end()
	v.table(name)
}

// withConstants writes vectors behind the loading of their constants. Where there are 32
// registers, a trial run finds out which are wanted in some of them.
func withConstants(t *text, isa isa, name string, consts map[string]uint32, write func(v *vec)) *vec {
	v := newVec(t, isa, consts)
	if isa.regs == 32 {
		trial := newVec(&text{arch: isa.arch}, isa, consts)
		write(trial)
		v.preload(name, trial.order)
	}
	write(v)
	return v
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
	return fmt.Sprintf("%s%s(%s)%s", r.name, v.name, params, result)
}

// assemble writes the routine.
func (r routine) assemble(t *text, isa isa, consts map[string]uint32) {
	args := 8*(len(r.slices)+1) + 4*len(r.numbers)
	if r.result != "" {
		args = (args+7)/8*8 + 4
	}
	routineText(t, isa, r.name+isa.name, r.signature(isa), args, consts, func(v *vec) {
		for i, s := range r.slices {
			v.op("MOVQ", fmt.Sprintf("%s+%d(FP)", s, 8*i), pointers[i])
			v.address[s] = pointers[i]
		}
		off := 8 * len(r.slices)
		v.op("MOVQ", fmt.Sprintf("n+%d(FP)", off), "CX")
		off += 8
		for _, s := range r.numbers {
			name, _ := splitNumber(s)
			v.numbers[name] = v.broadcast(fmt.Sprintf("%s+%d(FP)", name, off))
			off += 4
		}
		v.takeMask()
		if r.start != nil {
			r.start(v)
		}
		several := 1
		if isa == avx512 {
			several = r.several
		}
		v.overGroups(several, pointers[:len(r.slices)], func(vectors int) {
			if r.body != nil {
				r.body(v)
			} else {
				r.bodies(v, vectors)
			}
		})
		if r.finish != nil {
			r.finish(v)
		}
	})
}

// takeMask reserves the register for the mask of the rest.
func (v *vec) takeMask() {
	if v.v == avx2 {
		v.mask = v.new()
	}
}

// tailMask sets the mask of the CX elements that are left.
func (v *vec) tailMask() {
	v.maskLeft("R15")
	if v.v == avx2 {
		v.op("VMOVUPS", "(R15)", v.mask)
	}
}

// maskLeft has K1, or memory at a general register, tell the CX elements that are left.
func (v *vec) maskLeft(r string) {
	if v.v == avx512 {
		v.op("MOVL", "$1", r)
		v.op("SHLL", "CX", r)
		v.op("DECL", r)
		v.op("KMOVW", r, "K1")
		return
	}
	// masks256 has 16 lanes of ones, then 16 of zeros.
	v.op("LEAQ", "·masks256+64(SB)", r)
	v.op("SHLQ", "$2", "CX")
	v.op("SUBQ", "CX", r)
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

// take takes the free register of a number.
func (v *vec) take(i int) string {
	at := slices.Index(v.free, v.v.r(i))
	if at < 0 {
		panic("register in use: " + v.v.r(i))
	}
	v.free = slices.Delete(v.free, at, at+1)
	return v.v.r(i)
}

func (v *vec) drop(regs ...string) {
	for _, r := range regs {
		if strings.HasPrefix(r, v.v.reg) && !strings.Contains(r, "(") {
			v.free = append(v.free, r)
		}
	}
}

// load reads the current vector of a slice; lanes beyond the end are zero, or on
// arm64 copies of the one element.
func (v *vec) load(slice string) string { return v.loads(slice, 1)[0] }

// loads reads so many vectors of a slice, the current one first.
func (v *vec) loads(slice string, vectors int) []string {
	regs := make([]string, vectors)
	for i := range regs {
		regs[i] = v.new()
		v.move(fmt.Sprintf("%s(%s)", offset(i*v.v.bytes), v.address[slice]), regs[i], true)
	}
	return regs
}

// stores writes and drops the vectors.
func (v *vec) stores(regs []string, slice string) {
	for i, r := range regs {
		v.move(r, fmt.Sprintf("%s(%s)", offset(i*v.v.bytes), v.address[slice]), false)
	}
	v.drop(regs...)
}

// offset spells an offset, none as nothing.
func offset(bytes int) string {
	if bytes == 0 {
		return ""
	}
	return fmt.Sprint(bytes)
}

// store writes and drops r.
func (v *vec) store(r, slice string) { v.stores([]string{r}, slice) }

// move loads or stores a vector, or what is left of one.
func (v *vec) move(from, to string, load bool) {
	switch {
	case v.v == neon:
		v.moveNEON(from, to, load)
	case !v.masked:
		v.op("VMOVUPS", from, to)
	case v.v == avx512 && load:
		v.op("VMOVUPS.Z", from, v.mask, to)
	case v.v == avx512:
		v.op("VMOVUPS", from, v.mask, to)
	default:
		v.op("VMASKMOVPS", from, v.mask, to)
	}
}

// broadcast returns a register filled with a float32 in memory.
func (v *vec) broadcast(from string) string {
	r := v.new()
	if v.v == neon {
		v.op("FMOVS", from, f(r))
		v.spread(r)
	} else {
		v.op("VBROADCASTSS", from, r)
	}
	return r
}

// spread copies the first lane of r to all.
func (v *vec) spread(r string) {
	if v.v == neon {
		v.op("VDUP", r+".S[0]", r+".S4")
	} else {
		v.op("VBROADCASTSS", half(r), r)
	}
}

// c is a constant in every lane.
func (v *vec) c(x float32) string { return v.bits(math.Float32bits(x)) }

func (v *vec) bits(b uint32) string {
	if v.v != avx2 {
		return v.residentBits(b)
	}
	return v.constant(b)
}

// constant is one in amd64's memory.
func (v *vec) constant(b uint32) string {
	name := fmt.Sprintf("c_%08x", b)
	v.consts[name] = b
	return name + "<>(SB)"
}

// residentBits returns the register that holds a constant, one of the last. A trial run
// hands them out as they are asked for.
func (v *vec) residentBits(b uint32) string {
	r, ok := v.resident[b]
	if !ok {
		r, v.free = v.free[0], v.free[1:]
		v.resident[b] = r
		v.order = append(v.order, b)
	}
	return r
}

// preload reads a routine's constants.
func (v *vec) preload(name string, consts []uint32) {
	if v.v == neon {
		v.preloadNEON(name, consts)
		return
	}
	for _, b := range consts {
		v.op("VBROADCASTSS", v.constant(b), v.residentBits(b))
	}
}

// constSection writes amd64's constants, in order of name. Those of AVX-512 are no vectors: a
// constant as wide as a register may lie across two cache lines, for the linker aligns no
// more than 32 bytes.
func constSection(t *text, v isa, consts map[string]uint32) {
	names := make([]string, 0, len(consts))
	for n := range consts {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		fmt.Fprintf(t, "\n")
		if v == avx512 {
			fmt.Fprintf(t, "DATA %s<>+0(SB)/4, $0x%08x\nGLOBL %s<>(SB), RODATA|NOPTR, $4\n", n, consts[n], n)
			continue
		}
		double := uint64(consts[n])<<32 | uint64(consts[n])
		for off := 0; off < v.bytes; off += 8 {
			fmt.Fprintf(t, "DATA %s<>+%d(SB)/8, $0x%016x\n", n, off, double)
		}
		fmt.Fprintf(t, "GLOBL %s<>(SB), RODATA|NOPTR, $%d\n", n, v.bytes)
	}
}
