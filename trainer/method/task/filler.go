package task

import (
	"math/rand/v2"
	"slices"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
)

// Filler is the chain task with idle talk: between working and answer a
// demonstration writes fillers, tokens that have no bearing on the reward.
//
// The vocabulary has 64 tokens, 32 of them fillers, and the entropy stays high
// however well the arithmetic is known. That is where an inexact rollout
// engine does harm: most of what is reinforced or pushed down is noise.
//
// The working is learnable for the reasons given at Chain. The answer is the
// last digit written, which its recency and its marker tell from the digits of
// the prompt.
type Filler struct {
	// Difficulty is the range of the number of operations.
	Difficulty Range `yaml:"difficulty,flow" default:"3 6" range:"[1,12]"`
	// Noise is the chance that a demonstration replaces a value by a random digit.
	Noise float64 `yaml:"noise" default:"0.15" range:"[0,1]"`
	// Continue is the chance that a demonstration writes one more filler.
	Continue float64 `yaml:"continue" default:"0.9" range:"[0,1]"`
	// MaxFillers is the most fillers that a demonstration writes.
	MaxFillers int `yaml:"max_fillers" default:"40" range:"[0,4096]"`
	// Zipf is the exponent s of the fillers' frequencies, rank^-s; 0 is uniform.
	// With s = 0.4 and Continue = 0.9 no filler is likelier than the mark, so
	// the greedy policy answers at once; with s = 1.2 it would have to count up
	// to MaxFillers before it may stop.
	Zipf float64 `yaml:"zipf" default:"0.4" range:"[0,10]"`
}

var fillerSpec = method.Spec{
	Name: "filler", Unit: method.Sequence,
	Does:    "Adds fillers, tokens without any effect on the reward, between the working and the answer of the chain task.",
	When:    "Use it to study mismatch at high entropy, where many tokens with a gradient are noise.",
	Source:  "this project; idle tokens between working and answer",
	Formula: "chain, then m fillers: P(m ≥ k) = continueᵏ up to max_fillers, P(rank r) ∝ r^−zipf",
}

// NewFiller returns the default filler task: 3 to 6 operations, noise 0.15,
// about nine fillers, at most 40.
func NewFiller() *Filler { return method.New[Filler]() }

// Vocab implements Task.
func (f *Filler) Vocab() []string { return fillerVocab }

// Reproduce implements Task.
func (f *Filler) Reproduce(id int64) Prompt {
	return reproduce(id, "filler", f.Difficulty, drawChain)
}

// Verify implements Task. A response is correct as in Chain; it has the form
// if the working is a whole pass through the program, then fillers only.
func (f *Filler) Verify(p Prompt, response []int32) Verdict {
	var v Verdict
	g, start, ok := parsePrompt(p.Tokens, colon)
	if !ok {
		return v
	}
	work := working(response)
	read, complete := g.readRun(&v, work, start, 0)
	answer, ended := splitAnswer(response)
	if !ended {
		return v
	}
	v.Correct = slices.Equal(answer, p.Answer)
	v.Format = complete && isDigit(answer)
	for _, id := range work[read:] {
		v.Format = v.Format && id >= int32(sharedSize) && id < int32(len(fillerVocab))
	}
	return v
}

// Demonstration implements Task.
func (f *Filler) Demonstration(dst []int32, p Prompt, rng *rand.Rand) []int32 {
	dst, value := appendPass(dst, p, f.Noise, rng)
	var cumulative [fillerSize]float64
	total := 0.0
	for r := range cumulative {
		total += elementary.Pow(float64(r+1), -f.Zipf)
		cumulative[r] = total
	}
	for n := 0; n < f.MaxFillers && rng.Float64() < f.Continue; n++ {
		u := rng.Float64() * total
		r := 0
		for r < fillerSize-1 && u >= cumulative[r] {
			r++
		}
		dst = append(dst, int32(sharedSize+r))
	}
	return append(dst, answerMark, digit(value), EOS)
}

// MaxPrompt implements Task.
func (f *Filler) MaxPrompt() int { return programTokens(f.Difficulty[1]) + 3 }

// MaxResponse implements Task.
func (f *Filler) MaxResponse() int { return 2*f.Difficulty[1] + f.MaxFillers + 3 }
