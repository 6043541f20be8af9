package task

import (
	"math/rand/v2"

	"driftlab/trainer/method"
)

// Chain is chained modular arithmetic: a program of Difficulty operations
// (+ - * modulo 10) and a start value; the answer is the program's result.
//
// The working is compact: one running value per operation. Without it a
// network of two layers cannot follow the chain; with it every value needs
// three things, each within reach. The value before is the token just before
// the marker (layer one, fixed offset). Operator and operand carry the same
// marker in the prompt, one and two tokens before them (layer one, fixed
// offsets), so the response's marker finds them by content (layer two). The
// next marker follows from the one before the value, and "#" follows step a.
// The start value ends the prompt so that the first step looks like the rest.
type Chain struct {
	// Difficulty is the range of the number of operations.
	Difficulty Range `yaml:"difficulty,flow" default:"3 8" range:"[1,12]"`
	// Noise is the chance that a demonstration replaces a value by a random digit.
	Noise float64 `yaml:"noise" default:"0.15" range:"[0,1]"`
	// Direct is the share of demonstrations that answer at once, without
	// working, so that the policy has a choice of length.
	Direct float64 `yaml:"direct" range:"[0,1]"`
}

// NewChain returns the default chain task: 3 to 8 operations, noise 0.15, all
// demonstrations worked.
func NewChain() *Chain { return method.New[Chain]() }

// Vocab implements Task.
func (c *Chain) Vocab() []string { return sharedVocab }

// Reproduce implements Task.
func (c *Chain) Reproduce(id int64) Prompt {
	return reproduce(id, "chain", c.Difficulty, drawChain)
}

// drawChain draws a program of n operations with a start value.
func drawChain(rng *rand.Rand, n int) (tokens, answer []int32) {
	g := drawProgram(rng, n)
	start := rng.IntN(10)
	tokens = appendProgram(append(make([]int32, 0, programTokens(n)+3), BOS), &g)
	return append(tokens, colon, digit(start)), []int32{digit(g.run(start))}
}

// Verify implements Task. A response is correct if it ends with "# v <eos>",
// v the result, and has no other mark. It has the form if the working is a
// whole pass through the program or, where Direct is positive, empty.
func (c *Chain) Verify(p Prompt, response []int32) (v Verdict) {
	g, start, ok := parsePrompt(p.Tokens, colon, 1)
	if !ok {
		return v
	}
	work := working(response)
	read, complete := g.readRun(&v, work, start, 0)
	return v.answered(p, response, complete && read == len(work) || c.Direct > 0 && len(work) == 0, isDigits)
}

// Demonstration implements Task. A direct answer is noisy like any value.
func (c *Chain) Demonstration(dst []int32, p Prompt, rng *rand.Rand) []int32 {
	if c.Direct > 0 && rng.Float64() < c.Direct {
		right, _ := digitOf(p.Answer[0])
		return append(dst, answerMark, digit(noisy(right, c.Noise, rng)), EOS)
	}
	dst, value := appendPass(dst, p, c.Noise, rng)
	return append(dst, answerMark, digit(value), EOS)
}

// appendPass writes a noisy pass through the program of a chain prompt and
// returns the value it ended with.
func appendPass(dst []int32, p Prompt, q float64, rng *rand.Rand) ([]int32, int) {
	g, value, ok := parsePrompt(p.Tokens, colon, 1)
	if !ok {
		panic("task: not a chain prompt: " + Text(sharedVocab, p.Tokens))
	}
	for i, o := range g.ops[:g.n] {
		value = noisy(o.apply(value), q, rng)
		dst = append(dst, marker(i, g.n), digit(value))
	}
	return dst, value
}

// MaxPrompt implements Task.
func (c *Chain) MaxPrompt() int { return programTokens(c.Difficulty[1]) + 3 }

// MaxResponse implements Task.
func (c *Chain) MaxResponse() int { return 2*c.Difficulty[1] + 3 }
