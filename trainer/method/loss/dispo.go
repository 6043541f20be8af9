package loss

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// DISPO clips the detached importance weight by bounds that depend on whether
// the response is correct, so that four regimes can be tuned separately: correct or
// incorrect, weight above or below 1.
//
// (The survey derives the regimes from the sign of A and the label.) No token
// loses its gradient. The defaults are ours and neutral: CISPO's for all four.
type DISPO struct {
	// CorrectLow and CorrectHigh are the distances from 1 for correct responses.
	CorrectLow  float64 `yaml:"correct_low" default:"1" range:"[0,inf]"`
	CorrectHigh float64 `yaml:"correct_high" default:"4" range:"[0,inf]"`
	// IncorrectLow and IncorrectHigh are those for incorrect ones.
	IncorrectLow  float64 `yaml:"incorrect_low" default:"1" range:"[0,inf]"`
	IncorrectHigh float64 `yaml:"incorrect_high" default:"4" range:"[0,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

var dispoSpec = method.Spec{
	Name: "dispo", Unit: method.Token,
	Does:     "Clips the detached importance weight by separate bounds for correct and for incorrect responses.",
	When:     "Use it to tune the updates from correct and incorrect responses separately; its defaults are CISPO's.",
	Source:   "arXiv:2602.00983 (abstract)",
	Formula:  "L = -sg[clip(r, 1-ε_low(y), 1+ε_high(y))]·A·logp, y = correct or incorrect",
	Gradient: "-clip(r, 1-ε_low(y), 1+ε_high(y))·A",
	Needs:    batch.Columns{batch.Anchor, batch.Advantage, batch.Correct},
	Reconstruction: "regimes {correct, incorrect} × {weight above 1, below 1}, as the abstract says; the four bounds " +
		"are free. The abstract gives none, and the defaults are ours: equal for both labels, which is CISPO with upper bound 5 — set " +
		"them apart to run DISPO",
}

// Eval computes the loss over the active tokens.
func (p *DISPO) Eval(out *Grad, in *batch.Batch) error {
	f, err := start(out, in, p.Aggregation, batch.Anchor, batch.Advantage, batch.Correct)
	if err != nil {
		return err
	}
	changed := 0.0
	for i := range in.Len() {
		low, high := p.bounds(in.Correct[i])
		f.rowTokens(i, func(n int) (value, dlogp float64) {
			r, _ := ratio(f.sg[n]-in.Anchor[n], 20)
			w := clamp(r, low, high)
			changed += count(w != r)
			return detached(w, in.Advantage[n], in.Now.Logp[n])
		})
	}
	out.Add("actor/pg_clipfrac", f.mean(changed))
	f.addKL(in.Anchor, 20)
	return nil
}

// bounds are those of the weight in responses with that label.
func (p *DISPO) bounds(correct bool) (low, high float64) {
	if correct {
		return 1 - p.CorrectLow, 1 + p.CorrectHigh
	}
	return 1 - p.IncorrectLow, 1 + p.IncorrectHigh
}

func (p *DISPO) rule(r *rule) {
	r.ratio("r", "logp - old", 20)
	r.Figure("low", r.ofResponse(func(i int) float64 { low, _ := p.bounds(r.in.Correct[i]); return low }))
	r.Figure("high", r.ofResponse(func(i int) float64 { _, high := p.bounds(r.in.Correct[i]); return high }))
	r.detached("not(inside(r, low, high))", trace.Formula("w", "clip(r, low, high)"))
}
