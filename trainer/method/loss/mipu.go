package loss

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// MIPU is decoupled_ppo, with a rule that takes back the updates of a step if the rollout engine lost by them. With π the learner's
// policy and μ the rollout engine's, primed after the updates of the step, J(μ') - J(μ) is the sum of J(μ') - J(π'), J(π') - J(π) and
// J(π) - J(μ). The loss raises the last two terms. The first is T_post: μ' answers extra prompts, both policies score the responses, and the step is
// kept if T_post ≥ -c. Its proxy in the source is not published. Here both policies give the log-prob of every token, so T_post is an
// unbiased estimate of J(μ') - J(π') itself where μ' may draw every token. The numbers of prompts and responses and the ends of c are
// ours; the source's figures show |T_post| below 0.0008 and 53.5 % of the steps taken back. Guards and a critic are not taken back.
type MIPU struct {
	// DecoupledPPO has the loss. One note on the source has the weight per sequence: behave sequence_truncate.
	DecoupledPPO `yaml:",inline"`
	// Tolerance is c in the first step, and FinalTolerance in the last; it is linear between them.
	Tolerance      float64 `yaml:"tolerance" default:"0.001" range:"[0,inf)"`
	FinalTolerance float64 `yaml:"final_tolerance" range:"[0,inf)"`
	// Prompts is the number of extra prompts of a step, Responses that to each.
	Prompts   int `yaml:"prompts" default:"16" range:"[1,2^16]"`
	Responses int `yaml:"responses" default:"4" range:"[1,2^16]"`
}

// NewMIPU returns the loss with the cap of the source.
func NewMIPU() *MIPU {
	p := method.New[MIPU]()
	p.Cap = 2
	return p
}

// Accepts reports whether a step with that T_post is kept, done being the share of the run before it. What cannot be computed is not.
func (p *MIPU) Accepts(post, done float64) bool {
	return post >= -(p.Tolerance + float64(done*(p.FinalTolerance-p.Tolerance)))
}

// PostTerm is T_post of graded responses of the rollout engine, and logp the learner's log-probs of their tokens:
//
//	mean_i (R_i - b_i)·(1 - π'(y_i)/μ'(y_i))
//
// The baseline b_i, the mean reward of the prompt's other responses, does not move the expectation. Log-ratios are capped at 30, to be finite.
func PostTerm(in *batch.Batch, logp []float64) float64 {
	var groups batch.Groups
	groups.Find(in.Group)
	sum := 0.0
	for rows := range groups.All() {
		total := 0.0
		for _, i := range rows {
			total += in.Reward[i]
		}
		for _, i := range rows {
			x := 0.0
			for n := range in.Where(i, in.Mask) {
				x += logp[n] - in.LogpRoll[n]
			}
			others := (total - in.Reward[i]) / float64(max(len(rows)-1, 1))
			sum += float64((in.Reward[i] - others) * (1 - elementary.Exp(min(x, 30))))
		}
	}
	return sum / float64(max(in.Len(), 1))
}
