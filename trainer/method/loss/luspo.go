package loss

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// LUSPO is GSPO with each response's term multiplied by its length, which
// undoes the bias towards short responses that the mean over tokens has.
//
// TRL's mean is over all responses. At level token TRL averages over padding as
// well, which lets a gradient into masked tokens: not offered.
type LUSPO struct {
	// EpsLow and EpsHigh are the distances of the bounds from 1.
	EpsLow  float64 `yaml:"eps_low" default:"3e-4" range:"[0,inf]"`
	EpsHigh float64 `yaml:"eps_high" default:"4e-4" range:"[0,inf]"`
	// LogCap bounds the sequence log-ratio from above before the exponential; 0
	// is no bound, as in TRL.
	LogCap float64 `yaml:"log_cap" default:"10"`
}

var luspoSpec = method.Spec{
	Name: "luspo", Unit: method.Sequence,
	Does:     "Is GSPO with each response's term multiplied by the length of the response.",
	When:     "Use it if GSPO makes responses shorter than the task needs.",
	Source:   "arXiv:2602.05261; TRL luspo",
	Formula:  "L = mean_i T_i·max(-A·s, -A·clip(s, 1-ε_low, 1+ε_high)), s = exp(mean_t lr)",
	Gradient: "-A·s/B on every token, or 0 where s is clipped",
	Needs:    batch.Columns{batch.Anchor, batch.Advantage},
}

// Eval computes the loss: GSPO's term on every token, summed and divided by B,
// is T_i times the term.
func (p *LUSPO) Eval(out *Grad, in *batch.Batch) error {
	return p.gspo().Eval(out, in)
}

func (p *LUSPO) rule(r *rule) { p.gspo().rule(r) }

func (p *LUSPO) gspo() *GSPO {
	return &GSPO{EpsLow: p.EpsLow, EpsHigh: p.EpsHigh, LogCap: p.LogCap, MeanAdvantage: true, Aggregation: Aggregation{Mode: "seq-all-token-sum"}}
}
