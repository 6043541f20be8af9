package task

import (
	"math/rand/v2"

	"driftlab/trainer/method"
)

// Addition is the sum of two numbers of Difficulty digits, with a scratchpad
// that carries column by column. Columns come units first and their markers
// count down; the answer is the sum, highest digit first, each digit but the
// leading carry after its column's marker. Here 297 + 34 = 331:
//
//	prompt    <bos> c 7 + 4 b 9 + 3 a 2 + 0 =
//	response  c 1 1 b 1 3 a 0 3 # 0 a 3 b 3 c 1 <eos>
//
// Every column of the working is the two-digit sum of its digits and the
// carry, so the carry of the column before is the token two before the marker
// (layer one, fixed offset), or zero after "=". The digits carry the same
// marker in the prompt, one and three tokens before them (layer one), and the
// response's marker finds them by content (layer two). In the answer a marker
// finds the units of its column the same way, two tokens after the marker.
// The leading digit is the last carry, two tokens before "#".
type Addition struct {
	// Difficulty is the range of the number of digits.
	Difficulty Range `yaml:"difficulty,flow" default:"2 4" range:"[1,12]"`
	// Noise is the chance that a demonstration replaces a column's sum by a
	// random one of 0 to 19.
	Noise float64 `yaml:"noise" default:"0.15" range:"[0,1]"`
}

// columns holds the digits of both summands, units first.
type columns struct {
	x, y [markers]int
	n    int
}

// NewAddition returns the default addition task: 2 to 4 digits, noise 0.15.
func NewAddition() *Addition { return method.New[Addition]() }

// Vocab implements Task.
func (a *Addition) Vocab() []string { return sharedVocab }

// Reproduce implements Task.
func (a *Addition) Reproduce(id int64) Prompt {
	return reproduce(id, "addition", a.Difficulty, func(rng *rand.Rand, n int) (tokens, answer []int32) {
		tokens = append(make([]int32, 0, 4*n+2), BOS)
		var sums [markers]int
		carry := 0
		for i := range n {
			x, y := rng.IntN(10), rng.IntN(10)
			tokens = append(tokens, marker(i, n), digit(x), plus, digit(y))
			sums[i] = x + y + carry
			carry = sums[i] / 10
		}
		return append(tokens, equals), appendNumber(make([]int32, 0, 2*n+1), sums[:n])
	})
}

// appendNumber writes the number whose columns, units first, have these sums:
// the last carry, then the units of each column from the highest down.
func appendNumber(dst []int32, sums []int) []int32 {
	n := len(sums)
	dst = append(dst, digit(sums[n-1]/10))
	for i := n - 1; i >= 0; i-- {
		dst = append(dst, marker(i, n), digit(sums[i]%10))
	}
	return dst
}

func parseColumns(tokens []int32) (c columns, ok bool) {
	c.n = (len(tokens) - 2) / 4
	if c.n < 1 || c.n > markers || len(tokens) != 4*c.n+2 || tokens[0] != BOS || tokens[len(tokens)-1] != equals {
		return columns{}, false
	}
	for i := range c.n {
		at := tokens[1+4*i:]
		x, okX := digitOf(at[1])
		y, okY := digitOf(at[3])
		if at[0] != marker(i, c.n) || at[2] != plus || !okX || !okY {
			return columns{}, false
		}
		c.x[i], c.y[i] = x, y
	}
	return c, true
}

// Verify implements Task. A response is correct if it ends with "#", the sum
// in the form above and EOS, and has no other mark. It has the form if the
// working has all columns in order. Each column is a step.
func (a *Addition) Verify(p Prompt, response []int32) (v Verdict) {
	c, ok := parseColumns(p.Tokens)
	if !ok {
		return v
	}
	work := working(response)
	complete := c.readWorking(&v, work)
	return v.answered(p, response, complete && len(work) == 3*c.n, func(answer []int32) bool { return isNumber(answer, c.n) })
}

func (c *columns) readWorking(v *Verdict, work []int32) (complete bool) {
	written, exact := 0, 0 // carries
	for i := range c.n {
		if len(work) < 3*i+3 || work[3*i] != marker(i, c.n) {
			return false
		}
		tens, okTens := digitOf(work[3*i+1])
		units, okUnits := digitOf(work[3*i+2])
		if !okTens || !okUnits {
			return false
		}
		got, column := 10*tens+units, c.x[i]+c.y[i]
		v.add(Step{End: uint16(3*i + 2), Valid: got == column+written, Exact: got == column+exact})
		written, exact = tens, (column+exact)/10
	}
	return true
}

func isNumber(tokens []int32, n int) bool {
	if len(tokens) != 2*n+1 || !isDigits(tokens[:1]) {
		return false
	}
	for i := n - 1; i >= 0; i-- {
		at := tokens[1+2*(n-1-i):]
		if at[0] != marker(i, n) || !isDigits(at[1:2]) {
			return false
		}
	}
	return true
}

// Demonstration implements Task.
func (a *Addition) Demonstration(dst []int32, p Prompt, rng *rand.Rand) []int32 {
	c, ok := parseColumns(p.Tokens)
	if !ok {
		panic("task: not an addition prompt: " + Text(sharedVocab, p.Tokens))
	}
	var sums [markers]int
	carry := 0
	for i := range c.n {
		sums[i] = c.x[i] + c.y[i] + carry
		if rng.Float64() < a.Noise {
			sums[i] = rng.IntN(20)
		}
		carry = sums[i] / 10
		dst = append(dst, marker(i, c.n), digit(carry), digit(sums[i]%10))
	}
	dst = appendNumber(append(dst, answerMark), sums[:c.n])
	return append(dst, EOS)
}

// MaxPrompt implements Task.
func (a *Addition) MaxPrompt() int { return 4*a.Difficulty[1] + 2 }

// MaxResponse implements Task.
func (a *Addition) MaxResponse() int { return 5*a.Difficulty[1] + 3 }
