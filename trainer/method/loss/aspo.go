package loss

import (
	"math"
	"slices"

	"driftlab/results/stats"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// ASPO flips the importance ratio of positive tokens, so that the ones the
// policy has not learned yet get the larger weight.
//
// ε depends on the entropy of the token: one value up to the q quantile of its
// own response, another above. The survey says the upper guard is lifted on
// positive tokens; the code keeps it and flips below it, as here. In the code a
// mask named high_entropy marks the low-entropy tokens. The caps c keep a
// gradient, unlike PPO's dual clip.
type ASPO struct {
	// LowEntropyEpsNeg and HighEntropyEpsNeg are ε below 1 for A < 0.
	LowEntropyEpsNeg  float64 `yaml:"low_entropy_eps_neg" default:"0.2" range:"[0,inf]"`
	HighEntropyEpsNeg float64 `yaml:"high_entropy_eps_neg" default:"0.4" range:"[0,inf]"`
	// LowEntropyEpsPos and HighEntropyEpsPos are ε above 1 for A ≥ 0.
	LowEntropyEpsPos  float64 `yaml:"low_entropy_eps_pos" default:"0.2" range:"[0,inf]"`
	HighEntropyEpsPos float64 `yaml:"high_entropy_eps_pos" default:"0.4" range:"[0,inf]"`
	// CapNeg and CapPos are c for the two signs.
	CapNeg float64 `yaml:"cap_neg" default:"3" range:"(1,inf]"`
	CapPos float64 `yaml:"cap_pos" default:"3" range:"(1,inf]"`
	// Quantile splits the entropies of a response.
	Quantile float64 `yaml:"quantile" default:"0.8" range:"[0,1]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Eval computes the loss over the active tokens.
func (p *ASPO) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{batch.Anchor, batch.Advantage, batch.Entropy}, func(f *frame) {
		upper, lower, negDual, posDual, negatives := 0.0, 0.0, 0.0, 0.0, 0.0
		for i := range in.Len() {
			threshold := f.entropyQuantile(i, p.Quantile)
			f.rowTokens(i, func(n int) (value, dlogp float64) {
				a, eps := in.Advantage[n], p.epsilon(f, n, threshold)
				r, dr := ratio(in.Now.Logp[n]-in.Anchor[n], 20)
				if a < 0 {
					negatives++
					lower += count(r < 1-eps)
					if max(r, 1-eps) > p.CapNeg {
						f.took(trace.Capped)
						negDual++
						return f.detached(p.CapNeg, a, in.Now.Logp[n])
					}
					c := f.clipped(a, r, dr, 1-eps, math.Inf(1), 0, 0)
					return c.value, c.dlogp
				}
				upper += count(r > 1+eps)
				posDual += count(1/min(r, 1+eps) > p.CapPos)
				return p.flipped(f, n, r, dr, 1+eps)
			})
		}
		out.Add("actor/pg_clipfrac", f.mean(upper))
		out.Add("actor/pg_clipfrac_lower", f.mean(lower))
		out.Add("aspo/neg_dual", negDual/(negatives+1e-8))
		out.Add("aspo/pos_dual", posDual/(f.tokens-negatives+1e-8))
		f.addKL(in.Anchor, 20)
	})
}

// flipped is the term of a token with A ≥ 0: in value -A/u, with the gradient
// of -A·r/sg[u²], so that d/d logp = -A/r below the bound.
func (p *ASPO) flipped(f *frame, n int, r, dr, bound float64) (value, dlogp float64) {
	a := f.in.Advantage[n]
	held, _ := ratio(f.sg[n]-f.in.Anchor[n], 20)
	u := min(held, bound)
	f.note("r", r)
	f.note("high", bound)
	switch {
	case 1/u > p.CapPos:
		f.took(trace.Capped)
		return f.detached(p.CapPos, a, f.in.Now.Logp[n])
	case r > bound:
		f.took(trace.ClippedHigh)
		return -a / bound, 0
	}
	return -a * r / (u * u), -a * dr / (u * u)
}

// epsilon is ε of token n, by the sign of its advantage and by its entropy.
func (p *ASPO) epsilon(f *frame, n int, threshold float64) float64 {
	lowEntropy := f.in.Now.Entropy[n] <= threshold
	switch negative := f.in.Advantage[n] < 0; {
	case negative && lowEntropy:
		return p.LowEntropyEpsNeg
	case negative:
		return p.HighEntropyEpsNeg
	case lowEntropy:
		return p.LowEntropyEpsPos
	}
	return p.HighEntropyEpsPos
}

// entropyQuantile is the q quantile of the entropies of response i's active tokens.
func (f *frame) entropyQuantile(i int, q float64) float64 {
	row := f.out.work(1, f.in.Tokens())[:0]
	for n := range f.in.Where(i, f.active) {
		row = append(row, f.in.Now.Entropy[n])
	}
	return quantile(row, q)
}

// quantile sorts x, and is its q quantile, 0 without any.
func quantile(x []float64, q float64) float64 {
	if len(x) == 0 {
		return 0
	}
	slices.Sort(x)
	return stats.Quantile(x, q)
}
