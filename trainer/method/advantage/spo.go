package advantage

import (
	"fmt"
	"math"
	"slices"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// SPO is single-stream policy optimisation's advantage: the reward less the success rate
// of its prompt in earlier steps, normalised over the responses of the batch.
//
// The success rate is the mean of a Beta distribution per prompt. The batch is compared with the
// distribution before its own rewards enter. A prompt without a past starts at Beta(0.5, 0.5), which
// is the published start without offline samples. Several responses to one prompt in a batch
// are one update. Rewards outside [0, 1] enter the distribution as 0 or 1.
type SPO struct {
	Asymmetry `yaml:",inline"`
	// Rho is the share of the past that an update of the prompt's distribution keeps.
	Rho float64 `yaml:"rho" default:"0.9" range:"[0,1]"`
	// Eps is added to the standard deviation over the responses of the batch.
	Eps float64 `yaml:"eps" default:"1e-8" range:"[0,inf]"`

	// The past: prompts in the order of their ids, with the parameters of their distributions.
	prompts     []int
	alpha, beta []float64
	score       []float64 // per response of the batch
	fresh       []bool    // per prompt: not updated yet in this batch
}

// Estimate fills b.Advantage from Reward and updates the prompts' distributions.
func (e *SPO) Estimate(b *batch.Batch) error {
	if err := b.Require(batch.Mask, batch.Reward, batch.PromptID); err != nil {
		return err
	}
	e.score = e.score[:0]
	for i, r := range b.Reward {
		at := e.find(int(b.PromptID[i]))
		e.score = append(e.score, r-e.alpha[at]/(e.alpha[at]+e.beta[at]))
	}
	m, scale := mean(e.score), deviation(e.score)+e.Eps
	for i, a := range e.score {
		e.score[i] = 0
		if scale > 0 {
			e.score[i] = (a - m) / scale
		}
	}
	broadcast(b, e.score)
	e.apply(b)
	e.update(b)
	return nil
}

// find is the place of a prompt among those of the past, to which it adds an unknown one.
func (e *SPO) find(id int) int {
	at, known := slices.BinarySearch(e.prompts, id)
	if !known {
		e.prompts = slices.Insert(e.prompts, at, id)
		e.alpha, e.beta = slices.Insert(e.alpha, at, 0.5), slices.Insert(e.beta, at, 0.5)
	}
	return at
}

// update takes the rewards of the batch into the distributions.
func (e *SPO) update(b *batch.Batch) {
	e.fresh = batch.Zeroed(e.fresh, len(e.prompts))
	for i, r := range b.Reward {
		at := e.find(int(b.PromptID[i]))
		if !e.fresh[at] {
			e.fresh[at] = true
			e.alpha[at] *= e.Rho
			e.beta[at] *= e.Rho
		}
		r = min(max(r, 0), 1)
		e.alpha[at] += r
		e.beta[at] += 1 - r
	}
}

// AppendState appends the prompts and their distributions.
func (e *SPO) AppendState(dst []byte) []byte {
	return method.AppendState(dst, e.alpha, e.beta, e.prompts)
}

// SetState replaces them by those of AppendState.
func (e *SPO) SetState(state []byte) error {
	var alpha, beta []float64
	var prompts []int
	if err := method.ReadState(state, &alpha, &beta, &prompts); err != nil {
		return err
	}
	if len(alpha) != len(beta) || len(alpha) != len(prompts) {
		return fmt.Errorf("advantage: a state of %d bytes is not one of spo", len(state))
	}
	for i := range prompts {
		if !(alpha[i] >= 0 && beta[i] >= 0 && alpha[i]+beta[i] > 0) || math.IsInf(alpha[i]+beta[i], 0) || i > 0 && prompts[i] <= prompts[i-1] {
			return fmt.Errorf("advantage: spo's state of prompt %d is not a distribution", prompts[i])
		}
	}
	e.alpha, e.beta, e.prompts = alpha, beta, prompts
	return nil
}
