package task

import (
	"fmt"
	"iter"
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
// With Pairs a root has two digits: one half of the program turns its first digit into
// zero, the other half its second. There are 100 candidates, and a working that tries
// them all has a thousand tokens. The prompt ends with the candidate to begin with, so
// that a policy that has seen short searches alone has seen each candidate follow the
// one before it.
//
// With Overlook a demonstration may pass by what seems to be the root and try on: a
// verbose start, whose first gain is to stop in time.
//
// It is learnable for the reasons given at Chain. Whether to stop is seen from
// the value after marker a alone, since the target is always zero (with a
// free target the comparison was what the warm start failed to learn; a pair has two
// values to look at), and the next candidate and the answer lie a fixed number of tokens earlier.
type Search struct {
	// Difficulty is the range of the number of candidates needed: up to 10, or 100 with pairs.
	Difficulty Range `yaml:"difficulty,flow" default:"1 10" range:"[1,100]"`
	// Operations is the length of the program, within [2, 6]. With one operation some roots would have two programs in all;
	// with six the longest demonstration has 143 tokens, or 1,504 with pairs.
	Operations int `yaml:"operations" default:"2" range:"[2,6]"`
	// Noise is the chance that a demonstration replaces a value by a random digit.
	Noise float64 `yaml:"noise" default:"0.05" range:"[0,1]"`
	// Patience is the chance that a demonstration tries one more candidate.
	Patience float64 `yaml:"patience" default:"0.85" range:"[0,1]"`
	// Recheck is the chance that a demonstration runs a candidate that seems to be
	// the root once more, at most four times in all.
	Recheck float64 `yaml:"recheck" range:"[0,1]"`
	// Overlook is the chance that a demonstration goes on although a candidate seems to
	// be the root.
	Overlook float64 `yaml:"overlook" range:"[0,1]"`
	// Pairs asks for a root of two digits among 100 candidates.
	Pairs bool `yaml:"pairs"`
}

const maxRechecks = 4

// NewSearch returns the default search task: 1 to 10 candidates, two
// operations, noise 0.05, patience 0.85, nothing checked twice.
func NewSearch() *Search { return method.New[Search]() }

// Validate checks the difficulty against the number of candidates.
func (s *Search) Validate() error {
	if _, candidates := s.size(); s.Difficulty[1] > candidates {
		return fmt.Errorf("difficulty: %d of %d candidates: use fewer, or pairs: true", s.Difficulty[1], candidates)
	}
	return nil
}

// size is the number of a candidate's digits, and how many candidates there are.
func (s *Search) size() (digits, candidates int) {
	if s.Pairs {
		return 2, 100
	}
	return 1, 10
}

// parts are the digits of a candidate, each with what is run on it: the program, or its half.
func (s *Search) parts(g *program, candidate int) iter.Seq2[int, program] {
	return func(yield func(int, program) bool) {
		if !s.Pairs {
			yield(candidate, *g)
		} else if yield(candidate/10, g.half(0)) {
			yield(candidate%10, g.half(1))
		}
	}
}

// Vocab implements Task.
func (s *Search) Vocab() []string { return sharedVocab }

// Reproduce implements Task.
func (s *Search) Reproduce(id int64) Prompt {
	return reproduce(id, "search", s.Difficulty, func(rng *rand.Rand, difficulty int) (tokens, answer []int32) {
		var g program
		start := 0
		digits, candidates := s.size()
		if s.Pairs {
			start = rng.IntN(candidates)
		}
		root := (start + difficulty - 1) % candidates
		for missed := true; missed; { // one program in ten passes for each digit
			g, missed = drawPermutation(rng, s.Operations), false
			for x, part := range s.parts(&g, root) {
				missed = missed || part.run(x) != 0
			}
		}
		tokens = appendProgram(append(make([]int32, 0, s.MaxPrompt()), BOS), &g)
		return appendDigits(append(tokens, equals), start, digits), appendDigits(nil, root, digits)
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
func (s *Search) Verify(p Prompt, response []int32) (v Verdict) {
	digits, _ := s.size()
	g, _, ok := parsePrompt(p.Tokens, equals, digits)
	if !ok {
		return v
	}
	whole := s.readCandidates(&v, &g, working(response))
	return v.answered(p, response, whole, isDigits)
}

// readCandidates adds a verdict per value of the candidates in work, and
// reports whether all of work could be read.
func (s *Search) readCandidates(v *Verdict, g *program, work []int32) (whole bool) {
	for at := 0; at < len(work); {
		if work[at] != try {
			return false
		}
		at++
		for _, part := range s.parts(g, 0) {
			if at == len(work) {
				return false
			}
			x, isDigit := digitOf(work[at])
			if !isDigit {
				return false
			}
			read, complete := part.readRun(v, work[at+1:], x, at+1)
			if !complete {
				return false
			}
			at += 1 + read
		}
	}
	return true
}

// Demonstration implements Task.
func (s *Search) Demonstration(dst []int32, p Prompt, rng *rand.Rand) []int32 {
	digits, candidates := s.size()
	g, start, ok := parsePrompt(p.Tokens, equals, digits)
	if !ok {
		panic("task: not a search prompt: " + Text(sharedVocab, p.Tokens))
	}
	tried, again, rechecks := 0, false, 0
	for tried < candidates && (again || rng.Float64() < s.Patience) {
		x := (start + tried) % candidates
		dst = append(dst, try)
		zero := true
		for value, part := range s.parts(&g, x) {
			dst = append(dst, digit(value))
			for i, o := range part.ops[:part.n] {
				value = noisy(o.apply(value), s.Noise, rng)
				dst = append(dst, marker(i, part.n+part.after), digit(value))
			}
			zero = zero && value == 0
		}
		if !zero || s.Overlook > 0 && rng.Float64() < s.Overlook {
			tried, again = tried+1, false
			continue
		}
		again = s.Recheck > 0 && rechecks < maxRechecks && rng.Float64() < s.Recheck
		if !again {
			return append(appendDigits(append(dst, answerMark), x, digits), EOS)
		}
		rechecks++
	}
	if tried < candidates {
		tried += rng.IntN(candidates - tried)
	} else {
		tried = rng.IntN(candidates) // every candidate missed, one of them by a slip
	}
	return append(appendDigits(append(dst, answerMark), (start+tried)%candidates, digits), EOS)
}

// MaxPrompt implements Task.
func (s *Search) MaxPrompt() int {
	digits, _ := s.size()
	return programTokens(s.Operations) + 2 + digits
}

// MaxResponse implements Task.
func (s *Search) MaxResponse() int {
	digits, runs := s.size()
	if s.Recheck > 0 {
		runs += maxRechecks
	}
	return runs*(1+digits+2*s.Operations) + 2 + digits
}
