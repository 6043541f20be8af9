package main

import "fmt"

// The tiles of arm64. They are those of tiles.go, with two differences. A is
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

// tileKind is what distinguishes sets of tiles, except their shapes.
type tileKind struct{ unfused, banded, narrow bool }

func (k tileKind) name(s shape) string {
	order, kind := "fused", ""
	switch {
	case k.banded:
		kind = "Banded"
	case k.narrow:
		kind = "Narrow"
	}
	if k.unfused {
		order = "unfused"
	}
	return fmt.Sprintf("%s%s%sx%dx%d", order, neon.name, kind, s.rows, s.groups)
}

// neonTiles calls f with every tile.
func neonTiles(f func(s shape, k tileKind)) {
	for _, unfused := range []bool{false, true} {
		for _, s := range shapes256 {
			f(s, tileKind{unfused: unfused})
		}
		for _, s := range shapesNarrow {
			f(s, tileKind{unfused: unfused, narrow: true})
		}
		for _, s := range shapesBanded {
			f(s, tileKind{unfused: unfused, banded: true})
		}
	}
}

func neonTileFile() string {
	t := newText(neon)
	neonTiles(func(s shape, k tileKind) { neonTile(t, s, k) })
	return t.String()
}

// neonTiler writes one routine.
type neonTiler struct {
	*text
	rows  int
	width int // columns
	tileKind
}

func neonTile(t *text, s shape, k tileKind) {
	w := neonTiler{t, s.rows, 16 * s.groups, k}
	if k.narrow {
		w.width = s.groups
	}
	fmt.Fprintf(t, "\n// func %s(call *tileCall)\nTEXT ·%s(SB), NOSPLIT, $0-8\n", k.name(s), k.name(s))
	w.prologue()
	w.label("tile")
	w.start()
	w.label("chain")
	w.step()
	w.op("ADD", "R6", "R10")
	for _, b := range w.pointers() {
		w.op("ADD", "R7", b)
	}
	w.op("SUBS", "$1", "R4")
	w.op("BNE", "chain")
	w.store()
	w.op("SUBS", "$1", "R19")
	w.op("BNE", "tile")
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
	w.op("MOVD", "call+0(FP)", "R0")
	for i, field := range []string{"a", "c", "", "", "ais", "aks", "ldb", "group", "ldc"} {
		if field != "" {
			w.op("MOVD", "tileCall_"+field+"(R0)", fmt.Sprintf("R%d", 1+i))
		}
	}
	w.op("MOVD", "tileCall_tiles(R0)", "R19")
	for i := 2; i < w.rows; i++ {
		w.op("ADD", multiple(i-1), "R5", multiple(i))
	}
}

// acc is the register of a sum.
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

// eachC moves the tile of C to or from the accumulators.
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

// next is the register after r.
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

// store writes the tile and moves to the next rows.
func (w neonTiler) store() {
	w.eachC(false)
	w.op("MOVD", "R11", "R2")
	by := map[int]string{1: "R5", 2: "R5<<1", 4: "R5<<2", 6: multiple(3) + "<<1", 8: "R5<<3"}[w.rows]
	w.op("ADD", by, "R1")
}
