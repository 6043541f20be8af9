package task

import (
	"math/rand/v2"

	"driftlab/trainer/method"
)

// Search asks for the root of a program: the digit that it turns into zero.
// The working is guess and check: a candidate, the program run on it, the next
// candidate. The number of candidates is free, and every one raises the chance
// to find the answer: length pays.
//
// Programs are permutations of the digits (multipliers are 1, 3, 7 and 9), so
// there is exactly one root. Difficulty is the number of candidates, counted
// up from 0, up to and including the root; the prompt does not show it.
//
// A demonstration counts candidates up from 0. Before each one it gives up
// with probability 1 - Patience and answers a digit that it has not tried. It
// answers as soon as a candidate seems to be the root. With k candidates a
// faultless searcher is right with probability (k+1)/10, and a policy that
// sharpens towards "go on" finds every root.
//
// With Recheck a demonstration looks again, now and then, at a candidate that seems
// to be the root, and goes on if it is none after all. A second look tells a slip
// from a root, which pays where many candidates were tried; after the first few it
// is length for nothing: a policy can waste.
//
// It is learnable for the reasons given at Chain. Whether to stop is seen from
// the value after marker a alone, since the target is always zero (with a
// free target the comparison was what the warm start failed to learn), and the
// next candidate and the answer lie a fixed distance behind.
type Search struct {
	// Difficulty is the range of the number of candidates needed.
	Difficulty Range `yaml:"difficulty,flow" default:"1 10" range:"[1,10]"`
	// Operations is the length of the program, within [2, 6]: fewer leave no choice of prompts.
	Operations int `yaml:"operations" default:"2" range:"[2,6]"`
	// Noise is the chance that a demonstration replaces a value by a random digit.
	Noise float64 `yaml:"noise" default:"0.05" range:"[0,1]"`
	// Patience is the chance that a demonstration tries one more candidate.
	Patience float64 `yaml:"patience" default:"0.85" range:"[0,1]"`
	// Recheck is the chance that a demonstration runs a candidate that seems to be
	// the root once more, at most four times in all.
	Recheck float64 `yaml:"recheck" range:"[0,1]"`
}

// With one operation some roots would have two programs in all; with six the
// longest demonstration has 143 tokens.
const (
	maxRechecks = 4
)

// NewSearch returns the default search task: 1 to 10 candidates, two
// operations, noise 0.05, patience 0.85, nothing checked twice.
func NewSearch() *Search { return method.New[Search]() }

// Vocab implements Task.
func (s *Search) Vocab() []string { return sharedVocab }

// Reproduce implements Task.
func (s *Search) Reproduce(id int64) Prompt {
	return reproduce(id, "search", s.Difficulty, func(rng *rand.Rand, difficulty int) (tokens, answer []int32) {
		root := difficulty - 1
		g := drawPermutation(rng, s.Operations)
		for g.run(root) != 0 { // one program in ten passes
			g = drawPermutation(rng, s.Operations)
		}
		tokens = appendProgram(append(make([]int32, 0, s.MaxPrompt()), BOS), &g)
		return append(tokens, equals, digit(0)), []int32{digit(root)}
	})
}

// drawPermutation draws n operations that can be undone: multipliers are
// coprime to ten.
func drawPermutation(rng *rand.Rand, n int) program {
	g := drawProgram(rng, n)
	for i, o := range g.ops[:n] {
		if o.op == times {
			g.ops[i].operand = [...]int{1, 3, 7, 9}[rng.IntN(4)]
		}
	}
	return g
}

// Verify implements Task. A response is correct if it ends with "# x <eos>",
// x the answer, and has no other mark. It has the form if the working is any
// number of whole candidates, none included. Each value is a step.
func (s *Search) Verify(p Prompt, response []int32) Verdict {
	var v Verdict
	g, zero, ok := parsePrompt(p.Tokens, equals)
	if !ok || zero != 0 {
		return v
	}
	whole := g.readCandidates(&v, working(response))
	return v.answered(p, response, whole, isDigit)
}

// readCandidates adds a verdict per value of the candidates in work, and
// reports whether all of work could be read.
func (g *program) readCandidates(v *Verdict, work []int32) (whole bool) {
	for at := 0; at < len(work); {
		if work[at] != try || at+1 == len(work) {
			return false
		}
		x, isDigit := digitOf(work[at+1])
		if !isDigit {
			return false
		}
		at += 2
		read, complete := g.readRun(v, work[at:], x, at)
		if !complete {
			return false
		}
		at += read
	}
	return true
}

// Demonstration implements Task.
func (s *Search) Demonstration(dst []int32, p Prompt, rng *rand.Rand) []int32 {
	g, zero, ok := parsePrompt(p.Tokens, equals)
	if !ok || zero != 0 {
		panic("task: not a search prompt: " + Text(sharedVocab, p.Tokens))
	}
	x, again, rechecks := 0, false, 0
	for x < 10 && (again || rng.Float64() < s.Patience) {
		dst = append(dst, try, digit(x))
		value := x
		for i, o := range g.ops[:g.n] {
			value = noisy(o.apply(value), s.Noise, rng)
			dst = append(dst, marker(i, g.n), digit(value))
		}
		if value != 0 {
			x, again = x+1, false
			continue
		}
		again = s.Recheck > 0 && rechecks < maxRechecks && rng.Float64() < s.Recheck
		if !again {
			return append(dst, answerMark, digit(x), EOS)
		}
		rechecks++
	}
	if x < 10 {
		x += rng.IntN(10 - x)
	} else {
		x = rng.IntN(10) // every candidate missed, one of them by a slip
	}
	return append(dst, answerMark, digit(x), EOS)
}

// MaxPrompt implements Task.
func (s *Search) MaxPrompt() int { return programTokens(s.Operations) + 3 }

// MaxResponse implements Task.
func (s *Search) MaxResponse() int {
	runs := 10
	if s.Recheck > 0 {
		runs += maxRechecks
	}
	return runs*(2+2*s.Operations) + 3
}
