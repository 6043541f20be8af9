package loss

import (
	"cmp"
	"slices"

	"driftlab/trainer/method/batch"
)

// ESPO shares one ratio among the tokens of a response with similar entropy,
// and clips confident buckets more tightly than uncertain ones.
//
// The paper's text names the parts: ratios grouped by entropy and normalised by
// length, a stop-gradient, a clip that adapts to entropy. One bucket is
// GSPO-token; as many buckets as tokens is PPO.
//
// It logs mean, minimum and maximum over buckets of H̄_b (espo/entropy) and ε_b (espo/eps), and
// the shares of tokens that are clipped in buckets with ε_b < ε (espo/clipped_confident)
// and in others (espo/clipped_uncertain): they add up to actor/pg_clipfrac.
type ESPO struct {
	// Buckets is K.
	Buckets int `yaml:"buckets" default:"4" range:"[1,inf]"`
	// Eps is the clip at the mean entropy.
	Eps float64 `yaml:"eps" default:"0.2" range:"[0,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation" default:"seq-mean-token-mean"`
}

// Eval computes the loss over the active tokens.
func (p *ESPO) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{batch.Anchor, batch.Advantage, batch.Entropy}, func(f *frame) {
		logs, eps := out.work(1, in.Tokens()), out.work(2, in.Tokens())
		confident, uncertain := 0.0, 0.0
		entropies, widths := newSpread(), newSpread()
		for i := range in.Len() {
			p.bucket(f, i, logs, eps, &entropies, &widths)
			f.rowTokens(i, func(n int) (value, dlogp float64) {
				s, ds := cappedExp(logs[n]+in.Now.Logp[n]-f.sg[n], sequenceCap)
				c := f.clipped(in.Advantage[n], s, ds, 1-eps[n], 1+eps[n], 0, 0)
				confident += count(c.clipped && eps[n] < p.Eps)
				uncertain += count(c.clipped && eps[n] >= p.Eps)
				return c.value, c.dlogp
			})
		}
		out.Add("actor/pg_clipfrac", f.mean(confident+uncertain))
		out.Add("espo/clipped_confident", f.mean(confident))
		out.Add("espo/clipped_uncertain", f.mean(uncertain))
		entropies.log(out, "espo/entropy", "espo/entropy_min", "espo/entropy_max")
		widths.log(out, "espo/eps", "espo/eps_min", "espo/eps_max")
		f.addKL(in.Anchor, 0)
	})
}

// bucket writes the bucket's mean log-ratio and clip of every active token of
// response i, and adds the buckets' mean entropies and clips to the spreads.
func (p *ESPO) bucket(f *frame, i int, logs, eps []float64, entropies, widths *spread) {
	order := f.out.indices(f.in.Tokens())
	total := 0.0
	for n := range f.in.Where(i, f.active) {
		order = append(order, n)
		total += f.in.Now.Entropy[n]
	}
	entropy := f.in.Now.Entropy
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(entropy[x], entropy[y]) })
	mean := total / max(float64(len(order)), 1)
	for b := range p.Buckets {
		tokens := order[b*len(order)/p.Buckets : (b+1)*len(order)/p.Buckets]
		lr, h := 0.0, 0.0
		for _, n := range tokens {
			lr += f.sg[n] - f.in.Anchor[n]
			h += entropy[n]
		}
		if len(tokens) == 0 {
			continue // the response has fewer than K
		}
		size, width := float64(len(tokens)), p.Eps
		if mean > 0 {
			width *= clamp(h/size/mean, 0.5, 2)
		}
		entropies.add(h / size)
		widths.add(width)
		for _, n := range tokens {
			logs[n], eps[n] = lr/size, width
		}
	}
}
