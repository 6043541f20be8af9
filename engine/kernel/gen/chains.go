package main

import "fmt"

// A chain routine advances several in-order sums side by side, one per row: a
// single chain waits for the latency of each addition, eight fill the adders.
// It is scalar code, on amd64 the same for both instruction sets.
//
//	func chains8(k chainSet, sums, a, b, c *float32, stride, n int)
//
// sums[r] continues over elements 0..n-1 of row r; b is read by dots alone, c,
// one row for all, by weighted dots. A routine has a loop for each kind.
//
// On amd64 as many rows as a register has lanes go square by square (chainSquares):
// products along the rows, then a transposition, then a step of all sums per column.
// n is a multiple of the lanes.

// chainKind is what one step adds to a sum.
type chainKind struct {
	name string
	step func(s chainStep)
	// shared says that the last register holds the current element of c.
	shared bool
	// paired says that b is read, squared that an element is multiplied by itself.
	paired, squared bool
}

var chainKinds = []chainKind{
	{name: "sum", step: func(s chainStep) { s.addFrom("AX") }},
	{name: "square", squared: true, step: func(s chainStep) {
		s.load("AX")
		s.addSquare()
	}},
	{name: "dot", paired: true, step: func(s chainStep) {
		s.load("AX")
		s.timesFrom("BX")
		s.add()
	}},
	{name: "weighted", shared: true, paired: true, step: func(s chainStep) {
		s.scaled("AX")
		s.timesFrom("BX")
		s.add()
	}},
}

var chainRows = []int{8, 4, 1}

func chainFile(v isa) *text {
	t := newText(v)
	for _, rows := range chainRows {
		chains(t, v, rows)
	}
	if !t.arm() {
		chainSquares(t, avx512)
		chainSquares(t, avx2)
	}
	return t
}

func openChains(t *text, v isa, e entry) {
	e.parameters, e.args = "(k chainSet, sums, a, b, c *float32, stride, n int)", 56
	t.open(v, e)
	t.arguments("k R9", "sums DI", "a AX", "b BX", "c R8", "stride DX", "n CX")
	t.op("SHLQ", "$2", "DX")
}

// chooseChain goes to the loop of the kind in R9.
func chooseChain(t *text) {
	for i, k := range chainKinds[1:] {
		t.op("CMPQ", "R9", fmt.Sprintf("$%d", i+1))
		t.op("JEQ", k.name)
	}
}

// chainSquares writes a routine of whole squares. SI and R13 go down the rows that AX and
// BX begin.
func chainSquares(t *text, v isa) {
	n := v.lanes()
	openChains(t, v, entry{name: "chainSquares", chosen: true})
	sums := v.r(0)
	chooseChain(t)
	for _, k := range chainKinds {
		t.label(k.name)
		t.op("MOVQ", "AX", "SI")
		t.op("MOVQ", "BX", "R13")
		if k.shared {
			t.op("VMOVUPS", "(R8)", v.r(n))
			t.advance(v.bytes, "R8")
		}
		for i := range n {
			if k.shared {
				t.op("VMULPS", "(SI)", v.r(n), v.r(i))
			} else {
				t.op("VMOVUPS", "(SI)", v.r(i))
			}
			t.op("ADDQ", "DX", "SI")
			if k.paired {
				t.op("VMULPS", "(R13)", v.r(i), v.r(i))
				t.op("ADDQ", "DX", "R13")
			}
		}
		transposeSquare(t, v)
		t.op("VMOVUPS", "(DI)", sums)
		for c := range n {
			if k.squared {
				t.op("VFMADD231PS", v.r(n+c), v.r(n+c), sums)
			} else {
				t.op("VADDPS", v.r(n+c), sums, sums)
			}
		}
		t.op("VMOVUPS", sums, "(DI)")
		t.advance(v.bytes, "AX", "BX")
		t.op("SUBQ", fmt.Sprintf("$%d", n), "CX")
		t.op("JNZ", k.name)
		t.end()
	}
}

// chainStep spells a step of one row: tmp is the value to be added, other a
// second register for arm64, whose operations do not read memory.
type chainStep struct {
	*text
	at                      func(base string) string
	acc, tmp, other, shared string
}

func (s chainStep) load(base string) { s.scalar(s.at(base), s.tmp) }

func (s chainStep) addFrom(base string) {
	if s.arm() {
		s.load(base)
		s.add()
	} else {
		s.op("VADDSS", s.at(base), s.acc, s.acc)
	}
}

func (s chainStep) add() {
	if s.arm() {
		s.op("FADDS", s.tmp, s.acc, s.acc)
	} else {
		s.op("VADDSS", s.tmp, s.acc, s.acc)
	}
}

func (s chainStep) addSquare() {
	if s.arm() {
		s.op("FMADDS", s.tmp, s.acc, s.tmp, s.acc)
	} else {
		s.op("VFMADD231SS", s.tmp, s.tmp, s.acc)
	}
}

func (s chainStep) timesFrom(base string) {
	if s.arm() {
		s.scalar(s.at(base), s.other)
		s.op("FMULS", s.other, s.tmp, s.tmp)
	} else {
		s.op("VMULSS", s.at(base), s.tmp, s.tmp)
	}
}

func (s chainStep) scaled(base string) {
	if s.arm() {
		s.load(base)
		s.op("FMULS", s.shared, s.tmp, s.tmp)
	} else {
		s.op("VMULSS", s.at(base), s.shared, s.tmp)
	}
}

// scalar moves one float32 between memory and a register.
func (t *text) scalar(from, to string) {
	if t.arm() {
		t.op("FMOVS", from, to)
	} else {
		t.op("VMOVSS", from, to)
	}
}

// address sets to = base + index·2^shift.
func (t *text) address(base, index string, shift int, to string) {
	if t.arm() {
		t.op("ADD", fmt.Sprintf("%s<<%d", index, shift), base, to)
	} else {
		t.op("LEAQ", fmt.Sprintf("(%s)(%s*%d)", base, index, 1<<shift), to)
	}
}

// chains writes the routine for a number of rows. DX, R14 and R12 are one, two and three strides;
// SI and R13 point at rows 4 of AX and BX, so that four addresses reach all rows from each.
func chains(t *text, v isa, rows int) {
	openChains(t, isa{arch: v.arch}, entry{name: fmt.Sprintf("chains%d", rows)})
	t.address("DX", "DX", 1, "R12")
	t.address("AX", "DX", 2, "SI")
	t.address("BX", "DX", 2, "R13")
	register, last := "X%d", 15
	strides := []string{"", "(DX*1)", "(DX*2)", "(R12*1)"}
	if t.arm() {
		register, last = "F%d", 31
		strides = []string{"", "(DX)", "(R14)", "(R12)"}
		t.op("ADD", "DX", "DX", "R14")
	}
	r := func(n int) string { return fmt.Sprintf(register, n) }
	for i := range rows {
		t.scalar(fmt.Sprintf("%d(DI)", 4*i), r(i))
	}
	t.op("TESTQ", "CX", "CX")
	t.op("JEQ", "done")
	chooseChain(t)
	for kind, k := range chainKinds {
		t.loop(k.name, "CX", func() {
			if k.shared {
				t.scalar("(R8)", r(last))
				t.op("ADDQ", "$4", "R8")
			}
			for i := range rows {
				at := func(base string) string {
					if i >= 4 {
						base = map[string]string{"AX": "SI", "BX": "R13"}[base]
					}
					return fmt.Sprintf("(%s)%s", base, strides[i%4])
				}
				k.step(chainStep{text: t, at: at, acc: r(i), tmp: r(8 + i%7), other: r(last - 1 - i), shared: r(last)})
			}
			t.advance(4, "AX", "BX", "SI", "R13")
		})
		if kind+1 < len(chainKinds) {
			t.op("JMP", "done")
		}
	}
	t.label("done")
	for i := range rows {
		t.scalar(r(i), fmt.Sprintf("%d(DI)", 4*i))
	}
	t.end()
}
