package task

import "math/rand/v2"

// A program is a chain of operations on a digit, applied in order, modulo 10.
// It is written "c + 3 b * 4 a - 2": the markers count down to a.
type program struct {
	ops [markers]operation
	n   int
	// after is the number of operations after these, where they are a part of a program.
	after int
}

// half is the first or the second half of a program, with the markers that it has there.
func (g *program) half(second int) program {
	from, to := g.n/2*second, g.n/2+(g.n+1)/2*second
	h := program{n: to - from, after: g.n - to}
	copy(h.ops[:], g.ops[from:to])
	return h
}

// operation is one step of a program: v -> v op operand (mod 10).
type operation struct {
	op      int32 // plus, minus or times
	operand int
}

// apply returns v op operand modulo 10, as a digit.
func (o operation) apply(v int) int {
	switch o.op {
	case plus:
		v += o.operand
	case minus:
		v += 10 - o.operand
	default:
		v *= o.operand
	}
	return v % 10
}

func (g *program) run(v int) int {
	for _, o := range g.ops[:g.n] {
		v = o.apply(v)
	}
	return v
}

// marker is the letter of step i of n, counted from 0: the last step is a.
func marker(i, n int) int32 { return marker0 + int32(n-1-i) }

// drawProgram draws n operations, operators and operands uniform.
func drawProgram(rng *rand.Rand, n int) program {
	g := program{n: n}
	for i := range n {
		g.ops[i] = operation{plus + rng.Int32N(3), rng.IntN(10)}
	}
	return g
}

func programTokens(n int) int { return 3 * n }

func appendProgram(dst []int32, g *program) []int32 {
	for i, o := range g.ops[:g.n] {
		dst = append(dst, marker(i, g.n), o.op, digit(o.operand))
	}
	return dst
}

// parsePrompt reads "BOS program sep value", a value of the given number of digits; ok is false for any other text.
func parsePrompt(tokens []int32, sep int32, digits int) (g program, value int, ok bool) {
	g.n = (len(tokens) - 2 - digits) / 3
	if g.n < 1 || g.n > markers || len(tokens) != programTokens(g.n)+2+digits || tokens[0] != BOS {
		return program{}, 0, false
	}
	for i := range g.n {
		at := tokens[1+3*i:]
		operand, isDigit := digitOf(at[2])
		if at[0] != marker(i, g.n) || at[1] < plus || at[1] > times || !isDigit {
			return program{}, 0, false
		}
		g.ops[i] = operation{at[1], operand}
	}
	last := len(tokens) - digits
	value, ok = numberOf(tokens[last:])
	return g, value, ok && tokens[last-1] == sep
}

// noisy returns v, or with probability q a random digit, which may be v again.
func noisy(v int, q float64, rng *rand.Rand) int {
	if rng.Float64() < q {
		return rng.IntN(10)
	}
	return v
}

// readRun reads "marker value" pairs of one pass through the program from the
// start of work, and adds a verdict per value. from is the value the pass
// starts with, base the index of work within the response. It returns the
// number of tokens read, and whether the pass is complete.
func (g *program) readRun(v *Verdict, work []int32, from, base int) (read int, complete bool) {
	return g.readCalls(v, work, from, base, func([]int32) int { return 0 })
}

// readCalls is readRun where other tokens may stand between a marker and its value:
// skip says how many of those that follow the marker.
func (g *program) readCalls(v *Verdict, work []int32, from, base int, skip func(work []int32) int) (read int, complete bool) {
	written, exact := from, from
	for i, o := range g.ops[:g.n] {
		if read >= len(work) || work[read] != marker(i, g.n+g.after) {
			return read, false
		}
		at := read + 1 + skip(work[read+1:])
		if at >= len(work) || !isDigits(work[at:at+1]) {
			return read, false
		}
		value, _ := digitOf(work[at])
		exact = o.apply(exact)
		v.add(Step{End: uint16(base + at), Valid: value == o.apply(written), Exact: value == exact})
		written = value
		read = at + 1
	}
	return read, true
}
