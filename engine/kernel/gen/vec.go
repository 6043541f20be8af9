package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
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
	// on AVX-512 there are registers for that many.
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

func newVec(t *text, isa isa, consts map[string]uint32) *vec {
	v := &vec{text: t, v: isa, consts: consts, address: map[string]string{}, numbers: map[string]string{}, mask: "K1", resident: map[uint32]string{}}
	for i := isa.regs - 1; i >= 0; i-- {
		v.free = append(v.free, isa.r(i))
	}
	return v
}

func routineText(t *text, isa isa, e entry, consts map[string]uint32, write func(v *vec)) {
	name := t.open(isa, e)
	v := withConstants(t, isa, name, consts, write)
	if e.reports != "" {
		v.label("none")
	}
	v.end()
	v.table(name)
}

// withConstants writes vectors after the loading of their constants. Where there are 32
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

func splitNumber(s string) (name, goType string) {
	if n, ok := strings.CutSuffix(s, ":bits"); ok {
		return n, "uint32"
	}
	return s, "float32"
}

// assemble writes the routine. Go calls it with the slices: whoever calls sees to it that none
// is shorter than the first.
func (r routine) assemble(t *text, isa isa, consts map[string]uint32) {
	args := 24 * len(r.slices)
	e := entry{name: r.name + "Vector", chosen: true, reports: "ok"}
	parameters, result := strings.Join(r.slices, ", ")+" []float32", "ok bool"
	numberAt := make([]string, len(r.numbers))
	for i, s := range r.numbers {
		name, goType := splitNumber(s)
		parameters += ", " + name + " " + goType
		numberAt[i] = fmt.Sprintf("%s+%d(FP)", name, args)
		args += 4
	}
	args = (args + 7) / 8 * 8
	if r.result != "" {
		result = r.result + " float32, " + result
		args += 4
	}
	e.parameters, e.reports, e.args = fmt.Sprintf("(%s) (%s)", parameters, result), fmt.Sprintf("ok+%d(FP)", args), args+1
	routineText(t, isa, e, consts, func(v *vec) {
		v.op("MOVQ", r.slices[0]+"_len+8(FP)", "CX")
		for i, s := range r.slices {
			v.op("MOVQ", fmt.Sprintf("%s_base+%d(FP)", s, 24*i), pointers[i])
			v.address[s] = pointers[i]
		}
		for i, s := range r.numbers {
			name, _ := splitNumber(s)
			v.numbers[name] = v.broadcast(numberAt[i])
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

func (v *vec) takeMask() {
	if v.v == avx2 {
		v.mask = v.new()
	}
}

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

// zeroed takes a free register and sets it to zero.
func (v *vec) zeroed() string {
	r := v.new()
	return v.into(xorBits, r, r, r)
}

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

// loads reads that many vectors of a slice, the current one first.
func (v *vec) loads(slice string, vectors int) []string {
	regs := make([]string, vectors)
	for i := range regs {
		regs[i] = v.new()
		v.move(fmt.Sprintf("%s(%s)", offset(i*v.v.bytes), v.address[slice]), regs[i], true)
	}
	return regs
}

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

func (v *vec) preload(name string, consts []uint32) {
	if v.v == neon {
		v.preloadNEON(name, consts)
		return
	}
	for _, b := range consts {
		v.op("VBROADCASTSS", v.constant(b), v.residentBits(b))
	}
}

// constSection writes amd64's constants, in order of name: vectors of AVX2, of which AVX-512 reads
// the first element. One as wide as its registers may lie across two cache lines, for the linker
// aligns no more than 32 bytes.
func constSection(t *text, consts map[string]uint32) {
	for _, n := range slices.Sorted(maps.Keys(consts)) {
		fmt.Fprintln(t)
		for off := 0; off < avx2.bytes; off += 8 {
			fmt.Fprintf(t, "DATA %s<>+%d(SB)/8, $0x%08x%08x\n", n, off, consts[n], consts[n])
		}
		fmt.Fprintf(t, "GLOBL %s<>(SB), RODATA|NOPTR, $%d\n", n, avx2.bytes)
	}
}

// How arm64 spells what vec offers.

// moveNEON moves a vector, or of the rest one element: loaded into every lane,
// stored from the first.
func (v *vec) moveNEON(from, to string, load bool) {
	switch {
	case !load && v.masked:
		v.op("FMOVS", f(from), to)
	case !load:
		v.op("FMOVQ", f(from), to)
	case v.masked:
		v.op("VLD1R", from, "["+to+".S4]")
	default:
		v.op("FMOVQ", from, f(to))
	}
}

// preloadNEON reads a routine's constants from its table, two at a time.
func (v *vec) preloadNEON(name string, consts []uint32) {
	if len(consts) == 0 {
		return
	}
	v.op("MOVD", "$"+name+"Constants<>(SB)", "R15")
	for i, b := range consts {
		r := v.residentBits(b)
		switch {
		case i%2 == 1:
			v.op("FLDPQ", fmt.Sprintf("%d(R15)", 16*(i-1)), fmt.Sprintf("(%s, %s)", f(v.resident[consts[i-1]]), f(r)))
		case i == len(consts)-1:
			v.op("FMOVQ", fmt.Sprintf("%d(R15)", 16*i), f(r))
		}
	}
}

func (v *vec) table(name string) {
	if v.v != neon || len(v.order) == 0 {
		return
	}
	fmt.Fprintln(v)
	for i, b := range v.order {
		for off := 0; off < 16; off += 8 {
			fmt.Fprintf(v, "DATA %sConstants<>+%d(SB)/8, $0x%08x%08x\n", name, 16*i+off, b, b)
		}
	}
	fmt.Fprintf(v, "GLOBL %sConstants<>(SB), RODATA|NOPTR, $%d\n", name, 16*len(v.order))
}

// The arithmetic of vec, spelt for every instruction set.

// operation is one on two vectors, in the words of amd64 and arm64; lanes is what
// Go's assembler for arm64 adds to the registers, if it has the instruction.
type operation struct{ amd64, arm64, lanes string }

const bitLanes, integerLanes = ".B16", ".S4"

var (
	multiplication = operation{"VMULPS", "FMUL", ""}
	addition       = operation{"VADDPS", "FADD", ""}
	subtraction    = operation{"VSUBPS", "FSUB", ""}
	division       = operation{"VDIVPS", "FDIV", ""}
	andBits        = operation{"VPAND", "VAND", bitLanes}
	orBits         = operation{"VPOR", "VORR", bitLanes}
	xorBits        = operation{"VPXOR", "VEOR", bitLanes}
	addIntegers    = operation{"VPADDD", "VADD", integerLanes}
	subIntegers    = operation{"VPSUBD", "VSUB", integerLanes}
)

// into writes dst = a op b; on amd64 b may be memory.
func (v *vec) into(o operation, dst, a, b string) string {
	switch {
	case v.v == neon && o.lanes == "":
		v.word(o.arm64, dst, a, b)
	case v.v == neon:
		v.op(o.arm64, b+o.lanes, a+o.lanes, dst+o.lanes)
	case v.v == avx512:
		name := o.amd64
		if o.lanes == bitLanes { // names the lane
			name += "D"
		}
		v.op(name, b, a, dst)
	default:
		v.op(o.amd64, b, a, dst)
	}
	return dst
}

// The operations overwrite and return their first operand.
func (v *vec) mul(a, b string) string  { return v.into(multiplication, a, a, b) }
func (v *vec) add(a, b string) string  { return v.into(addition, a, a, b) }
func (v *vec) sub(a, b string) string  { return v.into(subtraction, a, a, b) }
func (v *vec) div(a, b string) string  { return v.into(division, a, a, b) }
func (v *vec) or(a, b string) string   { return v.into(orBits, a, a, b) }
func (v *vec) xor(a, b string) string  { return v.into(xorBits, a, a, b) }
func (v *vec) addI(a, b string) string { return v.into(addIntegers, a, a, b) }
func (v *vec) subI(a, b string) string { return v.into(subIntegers, a, a, b) }

// unary replaces a by what an operation makes of it.
func (v *vec) unary(amd64, arm64, a string) {
	if v.v == neon {
		v.word(arm64, a, a)
	} else {
		v.op(amd64, a, a)
	}
}

// prefetch asks for what comes eight kilobytes later in a slice that is not in a near cache.
func (v *vec) prefetch(slice string) {
	if v.v != neon && !v.masked {
		v.op("PREFETCHT0", "8192("+v.address[slice]+")")
	}
}

// fma adds a·b to acc with one rounding.
func (v *vec) fma(acc, a, b string) {
	if v.v == neon {
		v.op("VFMLA", a+".S4", b+".S4", acc+".S4")
	} else {
		v.op("VFMADD231PS", a, b, acc)
	}
}

// halved returns the integers of a shifted to the right by one, with their sign.
func (v *vec) halved(a string) string {
	r := v.new()
	if v.v == neon {
		v.raw(encodeShift(1, number(r), number(a)))
	} else {
		v.op("VPSRAD", "$1", a, r)
	}
	return r
}

func (v *vec) shift(amd64, arm64 string, n int, a, dst string) {
	if v.v == neon {
		v.op(arm64, fmt.Sprintf("$%d", n), a+".S4", dst+".S4")
	} else {
		v.op(amd64, fmt.Sprintf("$%d", n), a, dst)
	}
}

func (v *vec) copy(a string) string {
	r := v.new()
	v.set(r, a)
	return r
}

func (v *vec) set(r, a string) {
	if v.v == neon {
		v.op("VMOV", a+".B16", r+".B16")
	} else {
		v.op("VMOVUPS", a, r)
	}
}

// clampNaN returns min(max(x, lo), hi) where a NaN in x stays a NaN: so it is on
// arm64, and on amd64 the instructions return their second source if either is one.
func (v *vec) clampNaN(x, lo, hi string) string {
	if v.v == neon {
		v.word("FMIN", x, x, hi)
		v.word("FMAX", x, x, lo)
		return x
	}
	v.boundNaN("VMINPS", x, hi)
	v.atLeast(x, lo)
	return x
}

// atLeast returns max(x, bound) where a NaN in x stays a NaN.
func (v *vec) atLeast(x, bound string) {
	if v.v == neon {
		v.word("FMAX", x, x, bound)
	} else {
		v.boundNaN("VMAXPS", x, bound)
	}
}

// boundNaN is one side of clampNaN on amd64. AVX2's constants are in memory, which is no first
// source.
func (v *vec) boundNaN(name, x, bound string) {
	if v.v == avx2 {
		bound = v.copy(bound)
		defer v.drop(bound)
	}
	v.op(name, x, bound, x)
}
