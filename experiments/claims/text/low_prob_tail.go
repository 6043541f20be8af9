package text

import (
	"context"
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/experiments/measure"
	"driftlab/model"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method/batch"
)

func lowProbTail() claim.Claim {
	return claim.Claim{
		ID:        "low-prob-tail",
		Title:     "Tokens with p < 0.01 have at least five times the gap of those with p > 0.99",
		Statement: "The engine gap concentrates on low-probability tokens: mean |dlogp| of sampled tokens with p < 0.01 is at least five times that of tokens with p > 0.99.",
		Source:    "Taming the Tail, 2512.23087; When Speed Kills Stability.",
		Figure:    "|dlogp| bounded in proportion to (1 - p); the trainer assigns less",
		Threshold: "Mean |dlogp| of tokens with p < 0.01 over those with p > 0.99, one ratio per model: interval above 5.",
		Setup: "bf16 rollouts scored in fp32, past the stop token. Natural: chain-base and its dense counterpart (a vocabulary of 32). Amplified: a random model of 8 layers with 256 tokens and logits twice as large as the other claims' random models, since a preview found hardly a token with p > 0.99 without. " +
			"Also examined: how often |dlogp| exceeds 0.01 there and here, all models' tokens counted together; the rank correlation of 1 - p and |dlogp| over ten bins, above 0.8; " +
			"the exact token chi2 with the vocabulary pruned to p > 1e-4 over that of the full one, both sides renormalised, below 1; and equal engines, exactly 0.",
		LeftOut:  "That the trainer rates rolled-out rare tokens lower: the sampler draws what it overrates, so a sign is there without any tail. It is reported.",
		Commands: []string{"simulate measure --rollout bf16 --learner fp32"},
		Declared: claim.Declaration{When: claim.Revised, Date: "2026-11-21", Verdict: claim.Reproduced,
			Check: "all 10 checks in five seeds, met; the leading one: natural, |dlogp|, p < 0.01 over p > 0.99, MoE: ≥ 5, interval above 1"},
		Unit:    claim.Model,
		Version: 3,
		Measure: measureTail,
		Judge:   judgeTail,
	}
}

func measureTail(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	shipped, twin, err := e.MoEAndDense(ctx, 256)
	if err != nil {
		return nil, err
	}
	deep := e.Deep(8, 8, 256, 128)
	for i := range deep.Head {
		deep.Head[i] *= 2
	}
	for _, m := range []struct {
		name   string
		params *model.Params
		n, t   int
	}{{"MoE", shipped, e.Pick(256, 64, 4), e.Pick(128, 64, 16)}, {"dense", twin, e.Pick(256, 64, 4), e.Pick(128, 64, 16)}, {"deep", deep, e.Pick(48, 12, 2), e.Pick(96, 64, 16)}} {
		b, g := e.Measure(claim.Probe{Params: m.params, Rollout: claim.Numerics("bf16"), Sequences: m.n, Tokens: m.t, Distributions: true}, claim.Numerics("fp32"))
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
	b := e.Sample(claim.Probe{Params: shipped, Rollout: claim.Numerics("bf16"), Sequences: 8, Tokens: 16})
	measure.Score(b, shipped, measure.Scoring{Numerics: claim.Numerics("bf16")})
	o.Set("control", stats.Max(stats.Magnitudes(claim.LogRatios(b))))
	return o, nil
}

// byProbability returns, per bin of equally many tokens by the rollout
// probability, the mean probability, mean |log-ratio| and mean log-ratio.
func byProbability(b *batch.Batch, bins int) (p, gap, signed []float64) {
	order := stats.Order(b.LogpRoll)
	e := claim.LogRatios(b)
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
	for n, e := range claim.LogRatios(b) {
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

func judgeTail(j *claim.Judge) {
	for i, m := range []struct {
		name  string
		level claim.Level
	}{{"MoE", claim.Natural}, {"dense", claim.Natural}, {"deep", claim.Amplified}} {
		c := claim.Ratio(m.level, "|dlogp|, p < 0.01 over p > 0.99, "+m.name, j.Entry(m.name+" extremes", 0), j.Entry(m.name+" extremes", 1), 5)
		if i == 0 {
			j.Primary(c)
		} else {
			j.Secondary(c)
		}
		j.Secondary(claim.Rates(m.level, "share of tokens with |dlogp| > 0.01, p < 0.01 over p > 0.99, "+m.name,
			j.Entry(m.name+" wide", 0), j.Entry(m.name+" tokens", 0), j.Entry(m.name+" wide", 1), j.Entry(m.name+" tokens", 1), 1))
		fewest := func(k int) float64 { return -stats.Max(stats.Negated(j.Entry(m.name+" tokens", k))) }
		j.Note("%s: at least %.0f tokens with p < 0.01 and %.0f with p > 0.99 in every model.", m.name, fewest(0), fewest(1))
		j.Secondary(claim.Above(m.level, "rank correlation of 1 - p and |dlogp|, "+m.name, j.Each(func(o *claim.Observation) float64 {
			return stats.Spearman(stats.Complement(o.List(m.name+" p")), o.List(m.name+" gap"))
		}), 0.8))
		j.Secondary(claim.RatioBelow(m.level, "exact chi2, pruned over full vocabulary, "+m.name, j.Entry(m.name+" chi2", 1), j.Entry(m.name+" chi2", 0), 1))
		j.Secondary(claim.Report(m.level, "mean log-ratio of the rarest tenth, "+m.name, j.Entry(m.name+" signed", 0)))
	}
	j.Secondary(claim.Zero(claim.Exact, "largest gap between equal engines", j.Column("control")))
	bins := claim.Counting(10)
	j.Evidence.Picture = claim.Chart("Mean |dlogp| by rollout probability", "tenth of the tokens, from the least probable", "nats", "bf16 rollouts scored in fp32.", true,
		j.Arm("chain-base", bins, "MoE gap"), j.Arm("dense counterpart", bins, "dense gap"), j.Arm("8 random layers", bins, "deep gap"))
	j.Evidence.Table = j.CurvesTable("By tenth of the rollout probability", "tenth", bins, "MoE p", "MoE gap", "MoE signed", "dense p", "dense gap", "dense signed", "deep p", "deep gap", "deep signed")
}
