package loss

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// TBPO is GSPO with a second bound on negative responses: a trust band on both
// sides, for responses that a quantised policy has garbled.
//
// It is the dual clip of PPO at the level of responses. Both policies of the
// ratio are the quantised learner.
type TBPO struct {
	// EpsLow and EpsHigh are the distances of the bounds from 1.
	EpsLow  float64 `yaml:"eps_low" default:"3e-4" range:"[0,inf]"`
	EpsHigh float64 `yaml:"eps_high" default:"4e-4" range:"[0,inf]"`
	// Dual is c, above 1.
	Dual float64 `yaml:"dual" default:"1.05" range:"(1,inf]"`
	// Aggregation over tokens, each with the response's term.
	Aggregation Aggregation `yaml:"aggregation" default:"seq-mean-token-mean"`
}

var tbpoSpec = method.Spec{
	Name: "tbpo", Aliases: []string{"qarl"}, Unit: method.Sequence,
	Does:           "Is GSPO with a second bound for responses with a negative advantage: a dual clip per response.",
	When:           "Use it with quantised rollouts, whose broken responses have extreme ratios.",
	Source:         "arXiv:2604.07853 (QaRL, notes)",
	Formula:        "A≥0: -min(A·s, A·clip(s)); A<0: -max(min(A·s, A·clip(s)), c·A); s = exp(mean_t lr)",
	Gradient:       "-A·s/T on every token; 0 for A>0 and s>1+ε_high, for A<0 and s<1-ε_low or s>c",
	Needs:          batch.Columns{batch.Anchor, batch.Advantage},
	Reconstruction: "dual clip at sequence level; bounds as GSPO, c = 1.05 ours",
}

// Eval computes the loss over the active tokens.
func (p *TBPO) Eval(out *Grad, in *batch.Batch) error {
	return p.gspo().Eval(out, in)
}

func (p *TBPO) rule(r *rule) { p.gspo().rule(r) }

func (p *TBPO) gspo() *GSPO {
	return &GSPO{EpsLow: p.EpsLow, EpsHigh: p.EpsHigh, DualClip: p.Dual, LogCap: sequenceCap, MeanAdvantage: true, Aggregation: p.Aggregation}
}
