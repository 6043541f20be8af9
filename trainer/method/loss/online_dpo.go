package loss

import (
	"cmp"
	"math"
	"slices"

	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
)

// OnlineDPO prefers the better response of a pair from the same prompt. No
// ratio to the sampling policy appears, which is why it tolerates staleness.
//
// A group gives one pair, its best and its worst response (the first of equals);
// equal rewards give none. Importance weights and gates have no effect. The default β is
// ours.
type OnlineDPO struct {
	// Beta is the strength of the implicit KL.
	Beta float64 `yaml:"beta" default:"0.1" range:"(0,inf]"`
	// AllPairs takes every pair of a group with different rewards.
	AllPairs bool `yaml:"all_pairs"`
}

// Eval computes the loss over the pairs.
func (p *OnlineDPO) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, Aggregation{Mode: "token-sum"}, batch.Columns{batch.LogpRef, batch.Reward, batch.Group}, func(f *frame) {
		pairs, accurate := 0.0, 0.0
		p.eachPair(f, func(w, l int) { pairs++ })
		p.eachPair(f, func(w, l int) {
			d := p.Beta * (f.sumLogRatio(w, in.Now.Logp, in.Ref.Logp) - f.sumLogRatio(l, in.Now.Logp, in.Ref.Logp)) // of the implicit rewards
			accurate += count(d > 0)
			f.share(w, "D", d)
			f.share(l, "D", d)
			f.addResponse(w, softplus(-d)/pairs) // the pair's, under its winner
			slope := p.Beta * sigmoid(-d) / pairs
			f.spread(w, -slope)
			f.spread(l, slope)
		})
		out.Add("dpo/pairs", pairs)
		out.Add("dpo/accuracy", accurate/max(pairs, 1))
	})
}

// eachPair calls visit with winner and loser of every pair.
func (p *OnlineDPO) eachPair(f *frame, visit func(w, l int)) {
	in := f.in
	byReward := func(i, j int) int { return cmp.Compare(in.Reward[i], in.Reward[j]) }
	for rows := range f.groups().All() {
		best, worst := slices.MaxFunc(rows, byReward), slices.MinFunc(rows, byReward)
		if !p.AllPairs && in.Reward[best] > in.Reward[worst] {
			visit(best, worst)
		}
		if p.AllPairs {
			for _, w := range rows {
				for _, l := range rows {
					if in.Reward[w] > in.Reward[l] {
						visit(w, l)
					}
				}
			}
		}
	}
}

// softplus is log(1 + exp(x)), without overflow.
func softplus(x float64) float64 { return max(x, 0) + elementary.Log1p(elementary.Exp(-math.Abs(x))) }
