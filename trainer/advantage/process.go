package advantage

import (
	"fmt"
	"slices"

	"driftlab/trainer/batch"
)

// Process is a group estimator that preserves tokens: process rewards keep
// their place in the response, and outcome and process rewards are normalised
// apart, so that neither drowns the other.
//
//	outcome   O_i = (R_i − mean_g)/(std_g + eps), on every token
//	process   p̃_t = (r_t − mean_g)/(std_g + eps), over the judged tokens of the group
//	          P_t = Σ_{s≥t} p̃_s, over the judged tokens from t on
//	A_t = outcome_weight·O_i + process_weight·P_t
//
// Kinds of outcome reward (OutcomeParts) are each normalised and summed; without
// any, the outcome's part is 0. The process reward is StepReward: what has a place
// counts there and nowhere else, and an outcome never does. A token is judged if
// its StepReward is not 0; where every step end is, a
// response with more steps collects more terms, which the sum to come keeps and
// a mean would hide.
//
// Source: DeepSeekMath, arXiv 2402.03300, section 4.1.3 (process supervision),
// with separate normalisation per kind as in GDPO, arXiv 2601.05242.
type Process struct {
	Asymmetry `yaml:",inline"`
	// OutcomeWeight multiplies the outcome's part. Default 1.
	OutcomeWeight float64 `yaml:"outcome_weight"`
	// ProcessWeight multiplies the process part. Default 1.
	ProcessWeight float64 `yaml:"process_weight"`
	// Std divides by the group's standard deviations. Default true.
	Std bool `yaml:"std"`
	// Eps is added to standard deviations. Default 1e-6.
	Eps float64 `yaml:"eps"`

	groups        groups
	reward, score []float64
}

// Estimate fills b.Advantage from StepReward and OutcomeParts.
func (e *Process) Estimate(b *batch.Batch) error {
	if err := b.Require(batch.Mask, batch.StepReward, batch.OutcomeParts); err != nil {
		return err
	}
	if err := e.groups.find(b); err != nil {
		return err
	}
	one := GRPO{Std: e.Std, Eps: e.Eps, Singleton: "raw"}
	b.Advantage = batch.Zeroed(b.Advantage, b.Tokens())
	for k := range e.groups.Len() {
		rows := e.groups.Rows(k)
		e.outcome(b, &one, rows)
		e.process(b, &one, rows)
	}
	e.apply(b)
	return nil
}

// outcome adds the outcome's part for the responses of a group.
func (e *Process) outcome(b *batch.Batch, one *GRPO, rows []int) {
	for k := range b.OutcomeParts[rows[0]] {
		e.reward = e.reward[:0]
		for _, i := range rows {
			e.reward = append(e.reward, b.OutcomeParts[i][k])
		}
		e.score = batch.Zeroed(e.score, len(rows))
		one.normalise(e.score, e.reward)
		for j, i := range rows {
			for n := range b.Where(i, b.Mask) {
				b.Advantage[n] += float64(e.OutcomeWeight * e.score[j])
			}
		}
	}
}

// process adds the process part for the responses of a group.
func (e *Process) process(b *batch.Batch, one *GRPO, rows []int) {
	e.reward = e.reward[:0]
	for _, i := range rows {
		from, to := b.Span(i)
		for _, r := range b.StepReward[from:to] {
			if r != 0 {
				e.reward = append(e.reward, r)
			}
		}
	}
	if len(e.reward) == 0 {
		return
	}
	e.score = batch.Zeroed(e.score, len(e.reward))
	one.normalise(e.score, e.reward)
	next := len(e.reward)
	for _, i := range slices.Backward(rows) {
		start, end := b.Span(i)
		sum := 0.0
		for n := end - 1; n >= start; n-- {
			if b.StepReward[n] != 0 {
				next--
				sum += e.score[next]
			}
			if b.Mask[n] {
				b.Advantage[n] += float64(e.ProcessWeight * sum)
			}
		}
	}
}

// Validate checks the weights and eps.
func (e *Process) Validate() error {
	if !(e.OutcomeWeight >= 0) || !(e.ProcessWeight >= 0) {
		return fmt.Errorf("outcome_weight and process_weight are %v and %v, must not be negative", e.OutcomeWeight, e.ProcessWeight)
	}
	if err := checkEps(e.Eps); err != nil {
		return err
	}
	return e.Asymmetry.Validate()
}
