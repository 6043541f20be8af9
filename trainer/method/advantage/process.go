package advantage

import (
	"slices"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// Process is a group estimator that preserves tokens: process rewards keep
// their place in the response, and outcome and process rewards are normalised
// apart, so that neither drowns the other.
//
// Kinds of outcome reward (OutcomeParts) are each normalised and summed; without
// any, the outcome's part is 0. The process reward is StepReward: what has a place
// counts there and nowhere else, and an outcome never does. A token is judged if
// its StepReward is not 0; a response with more steps collects more terms, which the sum to
// come keeps and a mean would hide.
//
// With joint one mean and one std serve the outcomes (their sum per response) and the
// judged tokens: a process reward of a few hundredths next to an outcome of 0 or 1 drowns.
type Process struct {
	Asymmetry `yaml:",inline"`
	// OutcomeWeight multiplies the outcome's part.
	OutcomeWeight float64 `yaml:"outcome_weight" default:"1" range:"[0,inf]"`
	// ProcessWeight multiplies the process part.
	ProcessWeight float64 `yaml:"process_weight" default:"1" range:"[0,inf]"`
	// Joint normalises outcome and process rewards together.
	Joint bool `yaml:"joint"`
	// Credit is to_come (P_t as above) or step (a token gets the p̃ of the next judged
	// one, that of its own step, and nothing of later steps).
	Credit string `yaml:"credit" default:"to_come" oneof:"to_come step"`
	// Std divides by the group's standard deviations.
	Std bool `yaml:"std" default:"true"`
	// Eps is added to standard deviations.
	Eps float64 `yaml:"eps" default:"1e-6" range:"[0,inf]"`

	groups        groups
	reward, score []float64
}

var processSpec = method.Spec{
	Name: "process", Aliases: []string{"grpo_process"}, Unit: method.Token,
	Does:    "Normalises outcome and process rewards separately and leaves process rewards at their tokens.",
	When:    "Use it with the reward process or marginal_utility, so that credit reaches the step that earned it.",
	Source:  "arXiv 2402.03300 section 4.1.3; normalisation per kind as arXiv 2601.05242",
	Formula: "A_t = outcome_weight·O_i + process_weight·Σ_{s≥t} p̃_s, each normalised in the group, or both together",
	Needs:   batch.Columns{batch.OutcomeParts, batch.StepReward, batch.Group},
}

// The values of Process.Credit.
const (
	creditToCome = "to_come"
	creditStep   = "step"
)

// Estimate fills b.Advantage from StepReward and OutcomeParts.
func (e *Process) Estimate(b *batch.Batch) error {
	if err := b.Require(batch.Mask, batch.StepReward, batch.OutcomeParts); err != nil {
		return err
	}
	if err := e.groups.find(b); err != nil {
		return err
	}
	b.Advantage = batch.Zeroed(b.Advantage, b.Tokens())
	for k := range e.groups.Len() {
		rows := e.groups.Rows(k)
		e.judged(b, rows)
		steps := len(e.reward)
		if e.Joint {
			for _, i := range rows {
				sum := 0.0
				for _, r := range b.OutcomeParts[i] {
					sum += r
				}
				e.reward = append(e.reward, sum)
			}
			e.normalise()
			e.process(b, rows, e.score[:steps])
			e.outcome(b, rows, e.score[steps:])
			continue
		}
		e.normalise()
		e.process(b, rows, e.score)
		for kind := range b.OutcomeParts[rows[0]] {
			e.reward = e.reward[:0]
			for _, i := range rows {
				e.reward = append(e.reward, b.OutcomeParts[i][kind])
			}
			e.normalise()
			e.outcome(b, rows, e.score)
		}
	}
	e.apply(b)
	return nil
}

// judged lists the process rewards of a group.
func (e *Process) judged(b *batch.Batch, rows []int) {
	e.reward = e.reward[:0]
	for _, i := range rows {
		from, to := b.Span(i)
		for _, r := range b.StepReward[from:to] {
			if r != 0 {
				e.reward = append(e.reward, r)
			}
		}
	}
}

// normalise fills the scores of the rewards.
func (e *Process) normalise() {
	e.score = batch.Zeroed(e.score, len(e.reward))
	if len(e.reward) > 0 {
		one := GRPO{Std: e.Std, Eps: e.Eps, Singleton: "raw"}
		one.normalise(e.score, e.reward)
	}
}

// outcome adds the outcome's part for the responses of a group, a score each.
func (e *Process) outcome(b *batch.Batch, rows []int, score []float64) {
	for j, i := range rows {
		for n := range b.Where(i, b.Mask) {
			b.Advantage[n] += float64(e.OutcomeWeight * score[j])
		}
	}
}

// process adds the process part for the responses of a group, a score for each
// judged token.
func (e *Process) process(b *batch.Batch, rows []int, score []float64) {
	next := len(score)
	for _, i := range slices.Backward(rows) {
		start, end := b.Span(i)
		sum := 0.0
		for n := end - 1; n >= start; n-- {
			if b.StepReward[n] != 0 {
				next--
				if e.Credit == creditStep {
					sum = 0
				}
				sum += score[next]
			}
			if b.Mask[n] {
				b.Advantage[n] += float64(e.ProcessWeight * sum)
			}
		}
	}
}
