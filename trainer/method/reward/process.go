package reward

import (
	"math/rand/v2"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
)

// Process scores every step of the working: Coef for a right one, -Coef for a
// wrong one, placed on the step's last token. An estimator that uses
// TokenReward can give credit where the mistake is; one that uses only the sum
// cannot.
type Process struct {
	// Coef is the size of one step's score.
	Coef float64 `yaml:"coef" default:"0.03" range:"[0,1e6]"`
	// Label says which steps are right: "valid" ones follow from what was
	// written before, "exact" ones are the steps of the faultless working.
	Label string `yaml:"label" default:"valid" oneof:"valid exact"`
	// Placebo is a control: "none"; "shuffled" permutes the labels within the
	// response, so that their sum stays; "random" tosses a coin per step.
	Placebo string `yaml:"placebo" default:"none" oneof:"none shuffled random"`

	coin rand.PCG
}

// The values of Process.Label and Process.Placebo.
const (
	labelValid      = "valid"
	labelExact      = "exact"
	placeboNone     = "none"
	placeboShuffled = "shuffled"
	placeboRandom   = "random"
)

// Part implements Shaper.
func (p *Process) Part(dst []float64, b *batch.Batch, verdicts []task.Verdict) error {
	clear(dst)
	return p.each(b, verdicts, func(i, _ int, score float64) { dst[i] += score })
}

// Place implements Placer. A step that ends in the environment's text is
// credited to the generated token before it.
func (p *Process) Place(dst []float64, b *batch.Batch, verdicts []task.Verdict) error {
	return p.each(b, verdicts, func(i, end int, score float64) {
		from, _ := b.Span(i)
		if at := lastGenerated(b, from, from+end+1); at >= 0 {
			dst[at] += score
		}
	})
}

// each calls f with response, last token and score of every step.
func (p *Process) each(b *batch.Batch, verdicts []task.Verdict, f func(i, end int, score float64)) error {
	if p.Placebo != placeboNone {
		if err := requirePrompts(b); err != nil {
			return err
		}
	}
	for i := range verdicts {
		steps := verdicts[i].Steps()
		var right [task.MaxSteps]bool
		for s := range steps {
			right[s] = p.Label == labelValid && steps[s].Valid || p.Label == labelExact && steps[s].Exact
		}
		if p.Placebo != placeboNone {
			seedFor(&p.coin, b, i)
			p.disturb(right[:len(steps)])
		}
		for s := range steps {
			score := -p.Coef
			if right[s] {
				score = p.Coef
			}
			f(i, int(steps[s].End), score)
		}
	}
	return nil
}

// disturb replaces the labels by those of the placebo.
func (p *Process) disturb(right []bool) {
	if p.Placebo == placeboShuffled {
		shuffle(&p.coin, right)
		return
	}
	for s := range right {
		right[s] = p.coin.Uint64()>>63 == 1
	}
}

// shuffle is the Fisher-Yates shuffle; 2^64 against at most some thousand leaves no
// bias to speak of.
func shuffle[T any](coin *rand.PCG, x []T) {
	for s := range x {
		other := s + int(coin.Uint64()%uint64(len(x)-s))
		x[s], x[other] = x[other], x[s]
	}
}

// seedFor starts a source of chance that depends on what is judged and on the
// learner's version, and on nothing else: a run can be repeated and resumed.
func seedFor(src *rand.PCG, b *batch.Batch, i int) {
	src.Seed(uint64(b.PromptID[i]), uint64(b.LearnerVersion)<<32|uint64(i))
}
