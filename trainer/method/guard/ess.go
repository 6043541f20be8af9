package guard

import (
	"math"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// ESSLearningRate scales the learning rate by how many effective samples the
// minibatch holds, so that steps shrink as the data become stale.
//
// old is the learner at the start of the step, so w includes engine and lag. The
// weights are not truncated. The rate is restored after the step. In bypass mode
// old is the rollout's own log-prob and w would be 1: the current weights are compared
// there. Rule linear has no square root.
type ESSLearningRate struct {
	// Base is the ESS share of on-policy data; 0.55 is reported for long tool use.
	Base float64 `yaml:"base" default:"1" range:"(0,inf]"`
	// Rule says how the scale follows the share.
	Rule string `yaml:"rule" default:"sqrt" oneof:"sqrt linear"`
	// Current compares Logp, the weights of this gradient step, in place of
	// LogpOld.
	Current bool `yaml:"current"`

	ess, scale float64
}

var essLrSpec = method.Spec{
	Name: "ess_lr", Aliases: []string{"vcpo_lr"}, Unit: method.Optimiser,
	Does:    "Multiplies the learning rate by the square root of the minibatch's effective sample size relative to base.",
	When:    "Use it for stale data or several updates per batch: the step shrinks when few samples have most of the weight.",
	Source:  "VCPO, arXiv 2602.17616; mit-han-lab/vcpo",
	Formula: "lr ← lr·sqrt(min(1, ess/base)),  ess = (Σw)²/(Σw² + 1e-8)/B,  w_i = exp(Σ_t (old_t − roll_t))",
	Needs:   batch.Columns{batch.LogpOld, batch.LogpRoll},
}

// Guard scales the learning rate.
func (g *ESSLearningRate) Guard(_ []float32, in Input) (Decision, error) {
	if err := in.Batch.Require(batch.Mask, batch.LogpRoll); err != nil {
		return Decision{}, err
	}
	upper, column := in.Batch.Old.Logp, batch.LogpOld
	if g.Current {
		upper, column = in.Batch.Now.Logp, batch.Logp
	}
	if err := in.Batch.Require(column); err != nil {
		return Decision{}, err
	}
	g.ess = EffectiveShare(in.Batch, upper)
	g.scale = min(1, g.ess/g.Base)
	if g.Rule == "sqrt" {
		g.scale = math.Sqrt(g.scale)
	}
	return Decision{Scale: g.scale}, nil
}

// EffectiveShare is (Σw)²/(Σw² + 1e-8)/B over the responses of a batch, with
// sequence weights exp(Σ_t (upper_t − roll_t)) that are not truncated. Weights
// beyond the range of float64 are scaled down together, where the 1e-8 no longer
// matters.
func EffectiveShare(b *batch.Batch, upper []float64) float64 {
	largest := 0.0
	for i := range b.Len() {
		largest = max(largest, logWeight(b, upper, i)-100)
	}
	sum, squares := 0.0, 0.0
	for i := range b.Len() {
		w := elementary.Exp(logWeight(b, upper, i) - largest)
		sum, squares = sum+w, squares+float64(w*w)
	}
	if b.Len() == 0 {
		return 0
	}
	return sum * sum / (squares + 1e-8) / float64(b.Len())
}

// logWeight is Σ_t (upper_t − roll_t) of response i.
func logWeight(b *batch.Batch, upper []float64, i int) float64 {
	sum := 0.0
	for n := range b.Where(i, b.Mask) {
		sum += upper[n] - b.LogpRoll[n]
	}
	return sum
}

// Metrics appends the effective share and the scale.
func (g *ESSLearningRate) Metrics(dst []batch.Metric) []batch.Metric {
	return append(dst, batch.Metric{Name: "guard/ess_ratio", Value: g.ess}, batch.Metric{Name: "guard/ess_lr_scale", Value: g.scale})
}
