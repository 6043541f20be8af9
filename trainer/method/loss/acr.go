package loss

import "driftlab/trainer/method/batch"

// ACR is QuRL's loss for quantised rollouts: where the weight for the engine's
// mismatch is truncated, the upper clip is relaxed by as much.
//
// The note that quotes the paper has the upper bound (1+ε)/r, with r the factor
// that truncation introduces. Reading that as κ is the one that relaxes the
// bound. The weight is part of the loss: use no correction with it.
type ACR struct {
	// EpsLow and EpsHigh are the distances of the bounds from 1.
	EpsLow  float64 `yaml:"eps_low" default:"0.2" range:"[0,inf]"`
	EpsHigh float64 `yaml:"eps_high" default:"0.2" range:"[0,inf]"`
	// Cap is c.
	Cap float64 `yaml:"cap" default:"2" range:"[1,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Eval computes the loss over the active tokens.
func (p *ACR) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{batch.Anchor, batch.LogpRoll, batch.Advantage}, func(f *frame) {
		clips, truncated := 0.0, 0.0
		f.eachToken(func(n int) (value, dlogp float64) {
			x, _ := ratio(in.Anchor[n]-in.LogpRoll[n], 20)
			w := min(x, p.Cap)
			truncated += count(w < x)
			f.note("w", w)
			r, dr := ratio(in.Now.Logp[n]-in.Anchor[n], 20)
			c := f.clipped(in.Advantage[n], r, dr, 1-p.EpsLow, (1+p.EpsHigh)*x/w, 0, 0)
			clips += count(c.clipped)
			return w * c.value, w * c.dlogp
		})
		out.Add("actor/pg_clipfrac", f.mean(clips))
		out.Add("acr/truncated", f.mean(truncated))
		f.addKL(in.Anchor, 20)
	})
}
