package main

import (
	"fmt"
	"slices"
)

// A tile routine computes rows x (16·groups) elements of a product: each
// accumulator lane is one chain over k. It takes one pointer to a tileCall and
// walks down as many tiles of rows as the call says.
//
// General registers:
//
//	DI call   AX a of this tile   DX c of this tile   BX b at k   CX k left
//	SI stride of a's rows   R8 of its k   R9 stride of b's rows   R10 of its groups
//	R11 stride of c's rows   R12 3·SI   R13 a at k   R14 3·R10, or 7·SI where rows are
//	more than four   R15 5·SI, or b at k of groups 4 and beyond

// shape is a tile: rows and groups of 16 columns.
type shape struct{ rows, groups int }

// The shapes, the rows in the order in which a matrix is cut; the AVX2 ones
// are bounded by 16 registers.
var (
	shapes512 = []shape{{8, 2}, {8, 1}, {4, 4}, {4, 2}, {4, 1}, {2, 4}, {2, 2}, {2, 1}, {1, 8}, {1, 4}, {1, 2}, {1, 1}}
	shapes256 = []shape{{6, 1}, {4, 1}, {2, 2}, {2, 1}, {1, 4}, {1, 2}, {1, 1}}
	// Tiles of one group of columns under a mask.
	shapesMasked512 = []shape{{8, 1}, {4, 1}, {2, 1}, {1, 1}}
	shapesMasked256 = shapesMasked512[1:]
	// Tiles in which every row has its own B; on amd64 always under the mask.
	shapesBanded = []shape{{4, 1}, {2, 1}}
)

// tileSet are the tiles of one kind for an instruction set.
type tileSet struct {
	v      isa
	kind   string // empty for full groups of columns
	shapes []shape
}

// The tiles of the two processors, three sets for an instruction set: full groups of columns, what
// is left of one, and rows with a B each.
var (
	tilesAMD64 = []tileSet{
		{avx2, "", shapes256}, {avx2, "Masked", shapesMasked256}, {avx2, "Banded", shapesBanded},
		{avx512, "", shapes512}, {avx512, "Masked", shapesMasked512}, {avx512, "Banded", shapesBanded},
	}
	tilesARM64 = []tileSet{{neon, "", shapes256}, {neon, "Narrow", shapesNarrow}, {neon, "Banded", shapesBanded}}
)

// tileFile is the assembly of a processor's tiles.
func tileFile(sets []tileSet) *text {
	t := newText(sets[0].v)
	for _, unfused := range []bool{false, true} {
		for _, set := range sets {
			for _, s := range set.shapes {
				if t.arm() {
					neonTile(t, s, unfused, set.kind)
				} else {
					tile(t, set.v, s, unfused, set.kind)
				}
			}
		}
	}
	tileTable(t, sets)
	return t
}

// tileTable writes the addresses of tile routines. Go calls a routine by its address.
func tileTable(t *text, sets []tileSet) {
	const bytes = 16 * (8<<4 + 9) // of the kernel's tileSet
	index := func(s shape) int { return s.rows<<4 | s.groups }
	fmt.Fprintln(t)
	for i, set := range sets {
		// The assembler wants data in order.
		for _, s := range slices.SortedFunc(slices.Values(set.shapes), func(a, b shape) int { return index(a) - index(b) }) {
			for k, unfused := range []bool{false, true} {
				fmt.Fprintf(t, "DATA tiles<>+%d(SB)/8, $%s<>(SB)\n", i*bytes+16*index(s)+8*k, tileName(set.v, s, unfused, set.kind))
			}
		}
	}
	fmt.Fprintf(t, "GLOBL tiles<>(SB), RODATA, $%d\n", len(sets)*bytes)
	v := isa{arch: t.arch}
	t.open(v, entry{name: "tileTable", parameters: fmt.Sprintf("() *[%d][3]tileSet", len(sets)/3), args: 8})
	t.op("MOVQ", "$tiles<>(SB)", "AX")
	t.op("MOVQ", "AX", "ret+0(FP)")
	t.end()
	t.open(v, entry{name: "callTile", parameters: "(call *tileCall, routine uintptr)", args: 16})
	t.op("MOVQ", "routine+8(FP)", "AX")
	if t.arm() {
		t.op("JMP", "(AX)")
	} else {
		t.op("JMP", "AX")
	}
}

// tileName is the routine's name without the package; kind is empty for plain tiles.
func tileName(v isa, s shape, unfused bool, kind string) string {
	order := "fused"
	if unfused {
		order = "unfused"
	}
	return fmt.Sprintf("%s%s%sx%dx%d", order, v.name, kind, s.rows, s.groups)
}

// tiler writes one routine.
type tiler struct {
	*text
	v       isa
	s       shape
	unfused bool
	masked  bool // not all of the sixteen columns
	banded  bool // R10 and R14 are strides from one row's B to the next's
	per     int  // registers per group
}

func tile(t *text, v isa, s shape, unfused bool, kind string) {
	w := tiler{t, v, s, unfused, kind != "", kind == "Banded", 16 / v.lanes()}
	t.begin(tileName(v, s, unfused, kind)+"<>", 8)
	w.prologue()
	w.loop("tile", "tileCall_tiles(DI)", func() {
		w.start()
		if w.prefetches() {
			w.op("CMPQ", "tileCall_ahead(DI)", "$0")
			w.op("JEQ", "chain")
			w.op("MOVQ", "$0", "tileCall_ahead(DI)")
			w.op("LEAQ", "(R10)(R10*2)", "DX") // c is the call's c again after the first tile
			w.chain("ahead", "(BX)(R10*2)", "(BX)(DX*1)")
			w.op("MOVQ", "tileCall_c(DI)", "DX")
			w.op("JMP", "summed")
		}
		w.chain("chain")
		w.label("summed")
		w.store()
	})
	w.end()
}

// chain takes all k, and asks for what is to come of B.
func (w tiler) chain(name string, ahead ...string) {
	w.loop(name, "CX", func() {
		for _, at := range ahead {
			w.op("PREFETCHT1", at)
		}
		w.step()
		w.op("ADDQ", "R8", "R13")
		w.op("ADDQ", "R9", "BX")
	})
}

func (w tiler) prologue() {
	w.call("tileCall", "DI", "a AX", "c DX", "ais SI", "aks R8", "ldb R9", "group R10", "ldc R11")
	w.op("LEAQ", "(SI)(SI*2)", "R12")
	if w.s.rows > 4 {
		w.op("LEAQ", "(SI)(SI*4)", "R15")
		w.op("LEAQ", "(R12)(SI*4)", "R14")
	} else {
		w.op("LEAQ", "(R10)(R10*2)", "R14")
	}
	if w.masked {
		w.op("MOVQ", "tileCall_mask(DI)", "R13")
		if w.v == avx512 {
			w.op("KMOVW", "(R13)", "K1")
		} else {
			w.op("VMOVUPS", "(R13)", w.mask(0))
			w.op("VMOVUPS", "32(R13)", w.mask(1))
		}
	}
}

// Registers: accumulators first, then B, then the broadcast, the product of an
// unfused step, and AVX2's masks last.
func (w tiler) acc(row, col int) string { return w.v.r(row*w.s.groups*w.per + col) }
func (w tiler) bReg(col int) string     { return w.v.r(w.s.rows*w.s.groups*w.per + col) }
func (w tiler) bcast() string {
	if w.bInMemory() {
		return w.v.r(w.s.rows * w.s.groups * w.per)
	}
	return w.bReg(w.s.groups * w.per)
}
func (w tiler) product() string {
	n := w.s.rows*w.s.groups*w.per + 1
	if !w.bInMemory() {
		n += w.s.groups * w.per
	}
	return w.v.r(n)
}
func (w tiler) mask(i int) string { return w.v.r(w.v.regs - 2 + i) }

// bInMemory: a single row uses each element of B once.
func (w tiler) bInMemory() bool { return w.s.rows == 1 }

// start points R13, BX and CX at the tile and loads or clears its sums.
func (w tiler) start() {
	w.op("MOVQ", "tileCall_b(DI)", "BX")
	w.op("MOVQ", "tileCall_k(DI)", "CX")
	w.op("CMPQ", "tileCall_add(DI)", "$0")
	w.op("JEQ", "zero")
	w.eachC(true)
	if w.prefetches() {
		for range w.s.rows {
			w.op("ADDQ", "R11", "R13")
			w.op("PREFETCHT0", "(R13)")
			w.op("PREFETCHT0", "64(R13)")
		}
	}
	w.op("JMP", "ready")
	w.label("zero")
	for i := range w.s.rows {
		for c := range w.s.groups * w.per {
			r := w.acc(i, c)
			if w.v == avx512 {
				w.op("VPXORD", r, r, r)
			} else {
				w.op("VXORPS", r, r, r)
			}
		}
	}
	w.label("ready")
	if w.prefetches() { // where the next tile's rows of A begin
		w.op("MOVQ", "AX", "R13")
		w.op("ADDQ", "tileCall_next(DI)", "R13")
		for i := range w.s.rows {
			w.op("PREFETCHT0", w.aAt(i))
		}
	}
	w.op("MOVQ", "AX", "R13")
}

func (w tiler) eachC(load bool) {
	w.op("MOVQ", "DX", "R13")
	for i := range w.s.rows {
		for c := range w.s.groups * w.per {
			at := fmt.Sprintf("%d(R13)", c*w.v.bytes)
			if load {
				w.move(at, w.acc(i, c), c, true)
			} else {
				w.move(w.acc(i, c), at, c, false)
			}
		}
		if i+1 < w.s.rows {
			w.op("ADDQ", "R11", "R13")
		}
	}
}

// move loads or stores vector column c, under the mask where there is one.
func (w tiler) move(from, to string, c int, load bool) {
	switch {
	case !w.masked:
		w.op("VMOVUPS", from, to)
	case w.v != avx512:
		w.op("VMASKMOVPS", from, w.mask(c%w.per), to)
	case load:
		w.op("VMOVUPS.Z", from, "K1", to)
	default:
		w.op("VMOVUPS", from, "K1", to)
	}
}

// bAt is the address of vector column c of B at the current k.
func (w tiler) bAt(c int) string {
	group, off := c/w.per, c%w.per*w.v.bytes
	index := []string{"", "(R10*1)", "(R10*2)", "(R14*1)", "(R10*4)"}
	if group < len(index) {
		return fmt.Sprintf("%d(BX)%s", off, index[group])
	}
	// Groups 5..7: from R15, which points at group 4 in single-row tiles.
	return fmt.Sprintf("%d(R15)%s", off, index[group-4])
}

// aAt is the address of A in row i at the current k.
func (w tiler) aAt(i int) string {
	return "(R13)" + []string{"", "(SI*1)", "(SI*2)", "(R12*1)", "(SI*4)", "(R15*1)", "(R12*2)", "(R14*1)"}[i]
}

// prefetches says that a tile asks ahead for A, for the next rows of C and, where the call wants
// it, for the next columns of B: the one that does nearly all of the work.
func (w tiler) prefetches() bool { return w.v == avx512 && w.s == (shape{8, 2}) }

func (w tiler) step() {
	cols := w.s.groups * w.per
	if w.prefetches() {
		w.op("PREFETCHT0", "64(R13)")
	}
	if w.s.groups > 5 {
		w.op("LEAQ", "(BX)(R10*4)", "R15")
	}
	if !w.bInMemory() && !w.banded {
		for c := range cols {
			w.move(w.bAt(c), w.bReg(c), c, true)
		}
	}
	for i := range w.s.rows {
		if w.banded {
			for c := range cols {
				w.move(fmt.Sprint(c*w.v.bytes, rowAt([]string{"BX"}, "R10", "R14", i)), w.bReg(c), c, true)
			}
		}
		w.op("VBROADCASTSS", w.aAt(i), w.bcast())
		for c := range cols {
			w.fma(i, c)
		}
	}
}

// fma adds bcast·B[c] to one accumulator.
func (w tiler) fma(i, c int) {
	acc, x := w.acc(i, c), w.bcast()
	b := w.bAt(c)
	if !w.bInMemory() {
		b = w.bReg(c)
	} else if w.masked {
		// A partial group in memory is loaded under the mask first.
		w.move(b, w.product(), c, true)
		b = w.product()
	}
	if w.unfused {
		w.op("VMULPS", b, x, w.product())
		w.op("VADDPS", w.product(), acc, acc)
		return
	}
	w.op("VFMADD231PS", b, x, acc)
}

func (w tiler) store() {
	w.eachC(false)
	w.op("ADDQ", "R11", "R13")
	w.op("MOVQ", "R13", "DX")
	w.op("ADDQ", "tileCall_next(DI)", "AX")
}

// The tiles of arm64 are the tiles of amd64 with two differences. A is
// loaded into the first lane of a register and multiplied from there, "by
// element", so nothing is broadcast. And there are no masks: the columns of a
// last group that is not full are taken eight, four, two and one at a time by
// narrow tiles, in which a register is loaded and stored only as far as that.
//
// General registers:
//
//	R0 call   R1 a of this tile   R2 c of this tile   R3 b at k   R4 k left
//	R5 stride of a's rows   R6 of its k   R7 stride of b's rows   R8 of its groups
//	R9 stride of c's rows   R10 a at k   R11 row of c   R12..R17 2..7 times R5
//	R19 tiles left   R20..R22 b at k of groups (or, banded, rows) 1..3

// The shapes of narrow tiles: rows and columns.
var shapesNarrow = []shape{{8, 8}, {4, 8}, {1, 8}, {8, 4}, {4, 4}, {1, 4}, {8, 2}, {4, 2}, {1, 2}, {8, 1}, {4, 1}, {1, 1}}

// neonTiler writes one routine.
type neonTiler struct {
	*text
	rows    int
	width   int // columns
	unfused bool
	banded  bool
}

func neonTile(t *text, s shape, unfused bool, kind string) {
	w := neonTiler{t, s.rows, 16 * s.groups, unfused, kind == "Banded"}
	if kind == "Narrow" {
		w.width = s.groups
	}
	t.begin(tileName(neon, s, unfused, kind)+"<>", 8)
	w.prologue()
	w.loop("tile", "R19", func() {
		w.start()
		w.loop("chain", "R4", func() {
			w.step()
			w.op("ADD", "R6", "R10")
			for _, b := range w.pointers() {
				w.op("ADD", "R7", b)
			}
		})
		w.store()
	})
	w.end()
}

// vectors is the number of registers that hold a row of the tile.
func (w neonTiler) vectors() int { return (w.width + 3) / 4 }

// pointers are those that walk down B: one for each group, or each band.
func (w neonTiler) pointers() []string {
	n := (w.width + 15) / 16
	if w.banded {
		n = w.rows
	}
	return []string{"R3", "R20", "R21", "R22"}[:n]
}

// multiple is the register with i times the stride of a's rows.
func multiple(i int) string {
	if i == 1 {
		return "R5"
	}
	return fmt.Sprintf("R%d", 10+i)
}

func (w neonTiler) prologue() {
	w.call("tileCall", "R0", "a R1", "c R2", "ais R5", "aks R6", "ldb R7", "group R8", "ldc R9", "tiles R19")
	for i := 2; i < w.rows; i++ {
		w.op("ADD", multiple(i-1), "R5", multiple(i))
	}
}

func (w neonTiler) acc(row, vector int) string { return neon.r(row*w.vectors() + vector) }

// start points R10, R4 and those of B at the tile and loads or clears its sums.
func (w neonTiler) start() {
	w.op("MOVD", "tileCall_b(R0)", "R3")
	for i, b := range w.pointers()[1:] {
		w.op("ADD", "R8", w.pointers()[i], b)
	}
	w.op("MOVD", "tileCall_k(R0)", "R4")
	w.op("MOVD", "R1", "R10")
	w.op("MOVD", "tileCall_add(R0)", "R11")
	w.op("CBZ", "R11", "zero")
	w.eachC(true)
	w.op("JMP", "chain")
	w.label("zero")
	for i := range w.rows * w.vectors() {
		w.op("VMOVI", "$0", neon.r(i)+".B16")
	}
}

func (w neonTiler) eachC(load bool) {
	w.op("MOVD", "R2", "R11")
	for i := range w.rows {
		for c := 0; c < w.vectors(); c += 2 {
			if load {
				w.load("R11", c, w.acc(i, c), w.next(w.acc(i, c)))
			} else {
				w.save(w.acc(i, c), "R11", c)
			}
		}
		if !load || i+1 < w.rows {
			w.op("ADD", "R9", "R11")
		}
	}
}

func (w neonTiler) next(r string) string { return neon.r((number(r) + 1) % neon.regs) }

// load reads vectors c and c+1 of a row, as many as there are, into two registers.
func (w neonTiler) load(base string, c int, first, second string) {
	at := fmt.Sprintf("%d(%s)", 16*c, base)
	if w.vectors() > 1 {
		w.op("FLDPQ", at, fmt.Sprintf("(%s, %s)", f(first), f(second)))
		return
	}
	w.op(w.move(), at, f(first))
}

// save writes two vectors of a row, of which first is the first.
func (w neonTiler) save(first, base string, c int) {
	at := fmt.Sprintf("%d(%s)", 16*c, base)
	if w.vectors() > 1 {
		w.op("FSTPQ", fmt.Sprintf("(%s, %s)", f(first), f(w.next(first))), at)
		return
	}
	w.op(w.move(), f(first), at)
}

// move is the instruction that moves a row of at most four columns; loading, it
// clears the lanes above.
func (w neonTiler) move() string { return map[int]string{4: "FMOVQ", 2: "FMOVD", 1: "FMOVS"}[w.width] }

// f is the name of a vector register where a part of it is moved.
func f(r string) string { return "F" + r[1:] }

// step advances all chains by one k. Beyond the accumulators it takes registers for
// two products, if it is unfused, for B and for A.
func (w neonTiler) step() {
	free := w.rows * w.vectors()
	take := func(n int) []string {
		list := make([]string, n)
		for i := range list {
			list[i] = neon.r(free)
			free++
		}
		return list
	}
	products := []string{"", ""}
	if w.unfused {
		products = take(2)
	}
	if w.rows == 1 {
		w.singleRow(take(1)[0], take(min(8, 2*((w.vectors()+1)/2))), products)
		return
	}
	b := take(w.vectors() + w.vectors()%2)
	a := take(min(4, w.rows, neon.regs-free))
	for i := range w.rows {
		if i == 0 || w.banded {
			for c := 0; c < w.vectors(); c += 2 {
				pointer := w.pointers()[c/4]
				if w.banded {
					pointer = w.pointers()[i]
				}
				w.load(pointer, c%4, b[c], b[c+1])
			}
		}
		x, at := a[i%len(a)], "(R10)"
		if i > 0 {
			at += "(" + multiple(i) + ")"
		}
		w.op("FMOVS", at, f(x))
		for c := range w.vectors() {
			w.fma(w.acc(i, c), b[c], x, products[c%2])
		}
	}
}

// singleRow is step where each element of B is used once: a few registers take turns.
func (w neonTiler) singleRow(x string, b, products []string) {
	w.op("FMOVS", "(R10)", f(x))
	for c := 0; c < w.vectors(); c += 2 {
		pair := b[c%len(b):][:2]
		w.load(w.pointers()[c/4], c%4, pair[0], pair[1])
		for i := range min(2, w.vectors()-c) {
			w.fma(w.acc(0, c+i), pair[i], x, products[i])
		}
	}
}

// fma adds x·b to a sum, x in the first lane of its register.
func (w neonTiler) fma(acc, b, x, product string) {
	if w.unfused {
		w.word("FMUL by element", product, b, x)
		w.word("FADD", acc, acc, product)
		return
	}
	w.word("FMLA by element", acc, b, x)
}

func (w neonTiler) store() {
	w.eachC(false)
	w.op("MOVD", "R11", "R2")
	by := map[int]string{1: "R5", 2: "R5<<1", 4: "R5<<2", 6: multiple(3) + "<<1", 8: "R5<<3"}[w.rows]
	w.op("ADD", by, "R1")
}
