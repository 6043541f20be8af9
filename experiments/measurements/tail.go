package measurements

import (
	"math"

	"driftlab/experiments/measure"
	"driftlab/experiments/study/claims/claim"
	"driftlab/model"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method/batch"
)

// probabilityTail has the gap of tokens by their probability, in three models.
type probabilityTail struct{}

func (*probabilityTail) Measure(e *claim.Env, o *claim.Observation) {
	twin := e.Dense(256)
	shipped := e.Base(256)
	deep := e.Deep(8, 8, 256, 128)
	for i := range deep.Head {
		deep.Head[i] *= 2
	}
	for _, m := range []struct {
		name   string
		params *model.Params
		n, t   int
	}{{"MoE", shipped, e.Pick(256, 64, 4), e.Pick(128, 64, 16)}, {"dense", twin, e.Pick(256, 64, 4), e.Pick(128, 64, 16)}, {"deep", deep, e.Pick(48, 12, 2), e.Pick(96, 64, 16)}} {
		b, g := measuredGap(e, probe{Params: m.params, Rollout: numerics("bf16"), Sequences: m.n, Tokens: m.t, Distributions: true}, numerics("fp32"))
		p, gap, signed := byProbability(b, 10)
		o.Set(m.name+" p", p...)
		o.Set(m.name+" gap", gap...)
		o.Set(m.name+" signed", signed...)
		rare, sure := extremes(b)
		o.Set(m.name+" extremes", rare.mean(), sure.mean())
		o.Set(m.name+" tokens", rare.tokens, sure.tokens)
		o.Set(m.name+" wide", rare.wide, sure.wide)
		full, pruned := exactChi2(b)
		o.Set(m.name+" chi2", full, pruned)
		o.Set(m.name+" k1", g.K1)
	}
	b := sample(e, probe{Params: shipped, Rollout: numerics("bf16"), Sequences: 8, Tokens: 16})
	measure.Score(b, shipped, measure.Scoring{Numerics: numerics("bf16")})
	o.Set("control", stats.Max(stats.Magnitudes(logRatiosOf(b))))
}

// byProbability returns, per bin of equally many tokens by the rollout
// probability, the mean probability, mean |log-ratio| and mean log-ratio.
func byProbability(b *batch.Batch, bins int) (p, gap, signed []float64) {
	order := stats.Order(b.LogpRoll)
	e := logRatiosOf(b)
	for k := range bins {
		part := order[k*len(order)/bins : (k+1)*len(order)/bins]
		var sp, sg, ss float64
		for _, n := range part {
			sp += elementary.Exp(b.LogpRoll[n])
			sg += math.Abs(e[n])
			ss += e[n]
		}
		c := float64(len(part))
		p, gap, signed = append(p, sp/c), append(gap, sg/c), append(signed, ss/c)
	}
	return p, gap, signed
}

// wideGap is the |log-ratio| from which a token counts as wide, one per cent.
const wideGap = 0.01

// gapsOf are the gaps of a kind of tokens: how many, how many of them wide, and
// the sum of |log-ratio|.
type gapsOf struct{ tokens, wide, sum float64 }

func (g *gapsOf) add(e float64) {
	g.tokens++
	g.sum += math.Abs(e)
	if math.Abs(e) > wideGap {
		g.wide++
	}
}

// mean is NaN where there is no such token.
func (g gapsOf) mean() float64 { return g.sum / g.tokens }

// extremes are the gaps of the tokens with p < 0.01 and p > 0.99.
func extremes(b *batch.Batch) (rare, sure gapsOf) {
	for n, e := range logRatiosOf(b) {
		switch p := elementary.Exp(b.LogpRoll[n]); {
		case p < 0.01:
			rare.add(e)
		case p > 0.99:
			sure.add(e)
		}
	}
	return rare, sure
}

// pruneBelow is the probability below which the pruned arm drops tokens.
const pruneBelow = 1e-4

// exactChi2 is the mean over tokens of Σ_v π(v)²/μ(v) - 1, over the whole
// vocabulary and over the tokens with μ > 1e-4, both sides renormalised there.
func exactChi2(b *batch.Batch) (full, pruned float64) {
	v := b.Vocab
	for n := range b.Tokens() {
		mu, pi := b.DistRoll[n*v:(n+1)*v], b.Old.Dist[n*v:(n+1)*v]
		var all, kept, massMu, massPi float64
		for i := range mu {
			m, p := elementary.Exp(float64(mu[i])), elementary.Exp(float64(pi[i]))
			if m == 0 {
				continue
			}
			all += p * p / m
			if m > pruneBelow {
				kept += p * p / m
				massMu += m
				massPi += p
			}
		}
		full += all - 1
		pruned += kept*massMu/(massPi*massPi) - 1
	}
	return full / float64(b.Tokens()), pruned / float64(b.Tokens())
}
