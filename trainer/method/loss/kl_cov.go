package loss

import (
	"cmp"
	"math"
	"slices"

	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// KLCov restrains the few tokens with the largest covariance of advantage and
// log-prob, which drive entropy down, by a penalty |logp - old|; no clip.
//
// Where all advantages are equal every c is 0 and verl still selects by index;
// we select nothing where no c is above 0. exact replaces the penalty by
// KL(old‖current) of the full distributions, which a simulator has.
type KLCov struct {
	// Share is the fraction of tokens selected; the authors use 2e-3 for 7B models.
	Share float64 `yaml:"share" default:"2e-4" range:"(0,1]"`
	// Beta is the coefficient of the penalty; verl's configuration has 0.1.
	Beta float64 `yaml:"beta" default:"1" range:"[0,inf]"`
	// Random draws as many tokens at random instead: the control. The draw is seeded
	// by Seed and the version of the learner's weights.
	Random bool   `yaml:"random"`
	Seed   uint64 `yaml:"seed" default:"1"`
	// Exact penalises KL(old‖current) at the state; needs DistOld and Dist.
	Exact bool `yaml:"exact"`
	// LogClamp bounds the log-ratio inside r; 0 is no bound, as published.
	LogClamp float64 `yaml:"log_clamp" default:"20" range:"[0,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Eval computes the loss over the active tokens.
func (p *KLCov) Eval(out *Grad, in *batch.Batch) error {
	needs := batch.Columns{batch.Anchor, batch.Advantage, either(p.Exact, batch.DistOld, batch.Mask), either(p.Exact, batch.Dist, batch.Mask)}
	return withFrame(out, in, p.Aggregation, needs, func(f *frame) {
		if p.Exact {
			out.NeedLogits(in.Tokens(), in.Vocab)
		}
		chosen, absolute := p.choose(f, f.covariance()), 0.0
		f.eachToken(func(n int) (value, dlogp float64) {
			lr := in.Now.Logp[n] - in.Anchor[n]
			absolute += math.Abs(lr)
			r, dr := ratio(lr, p.LogClamp)
			value, dlogp = float64(-in.Advantage[n]*r), float64(-in.Advantage[n]*dr)
			f.note("r", r)
			switch {
			case chosen[n] == 0:
			case p.Exact:
				from, to := n*in.Vocab, (n+1)*in.Vocab
				value += float64(p.Beta * reverseKLRow(out.DLogits[from:to], in.Old.Dist[from:to], in.Now.Dist[from:to], p.Beta*f.weight(f.row, n)))
			default:
				value += float64(p.Beta * math.Abs(lr))
				dlogp += float64(p.Beta * sign(lr))
			}
			return value, dlogp
		})
		out.Add("actor/ppo_kl", f.mean(absolute))
	})
}

// choose marks the tokens to hold back by 1.
func (p *KLCov) choose(f *frame, cov []float64) []float64 {
	chosen := f.out.work(2, f.in.Tokens())
	order := f.out.indices(f.in.Tokens())
	for n := range masked.Kept(f.active) {
		order = append(order, n)
	}
	k := min(len(order), max(1, int(float64(len(order))*p.Share)))
	if p.Random {
		shuffle(order, k, p.Seed, f.in.LearnerVersion)
		for _, n := range order[:k] {
			chosen[n] = 1
		}
		return chosen
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(cov[y], cov[x]) })
	for _, n := range order[:k] {
		chosen[n] = count(cov[order[0]] > 0)
	}
	return chosen
}

// covariance returns (A - mean A)·(sg[logp] - mean logp) of every active token.
func (f *frame) covariance() []float64 {
	cov := f.out.work(1, f.in.Tokens())
	sumA, sumLogp := 0.0, 0.0
	for n := range masked.Kept(f.active) {
		sumA += f.in.Advantage[n]
		sumLogp += f.sg[n]
	}
	meanA, meanLogp := sumA/max(f.tokens, 1), sumLogp/max(f.tokens, 1)
	for n := range masked.Kept(f.active) {
		cov[n] = (f.in.Advantage[n] - meanA) * (f.sg[n] - meanLogp)
	}
	return cov
}

// reverseKLRow returns KL(q‖p) of two rows of log-probs and adds scale times
// its derivative with respect to p's logits, p - q, to dlogits.
func reverseKLRow[F ~float32 | ~float64](dlogits []float64, logq, logp []F, scale float64) float64 {
	for a, lq := range logq {
		dlogits[a] += float64(scale * (elementary.Exp(float64(logp[a])) - elementary.Exp(float64(lq))))
	}
	return klRow(nil, logq, logp, 0)
}
