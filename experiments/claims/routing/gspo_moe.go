package routing

import (
	"context"
	"math"

	"driftlab/experiments/claim"
	"driftlab/experiments/stats"
	"driftlab/model"
	"driftlab/precision/elementary"
	"driftlab/trainer/batch"
	"driftlab/trainer/loss"
	"driftlab/trainer/measure"
)

// gspoRates are the learning rates of the single update of gspo-moe.
var gspoRates = []float64{1e-4, 3e-4, 1e-3, 3e-3}

func gspoMoE() claim.Claim {
	return claim.Claim{
		ID:        "gspo-moe",
		Title:     "One update reroutes tokens; a sequence clip cuts far more of them",
		Statement: "One update already changes a sizeable share of expert choices, so token ratios jump; sequence-level clipping absorbs this although it clips far more tokens.",
		Source:    "GSPO, 2507.18071.",
		Figure:    "about 10 % of the experts differ after one update (48 layers); the clipped share is two orders of magnitude above GRPO's",
		Threshold: "Share of tokens with another expert after one update: interval above 0, rank correlation with the learning rate exactly 1 in every seed. " +
			"Tokens in clipped responses under GSPO (3e-4, 4e-4) over tokens clipped under GRPO (0.2) after four updates at lr 1e-3: at least 10, interval above 1.",
		Setup:    "Chain-base, equal fp32 engines, so that nothing but the update changes a route. Controls: the dense twin, and replayed routes, for the token ratio's spread.",
		LeftOut:  "The efficiency half: reward at equal tokens.",
		Commands: []string{"simulate train headline --set loss=gspo --set learner.minibatches=4 --set learner.optimizer.lr=1e-3"},
		Unit:     claim.Model,
		Version:  2,
		Measure:  measureGSPO,
		Judge:    judgeGSPO,
	}
}

func measureGSPO(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	shipped, twin, err := e.Twins(ctx, 0)
	if err != nil {
		return nil, err
	}
	fp32 := claim.Numerics("fp32")
	b := e.Graded(shipped, fp32, fp32, e.Pick(48, 12, 2))
	var flips []float64
	for _, rate := range gspoRates {
		_, changed, err := afterUpdates(b, shipped, rate, 1, false)
		if err != nil {
			return nil, err
		}
		flips = append(flips, changed)
	}
	o.Set("changed", flips...)
	dense := e.Graded(twin, fp32, fp32, e.Pick(48, 12, 2))
	for _, a := range []struct {
		name   string
		params *model.Params
		batch  *batch.Batch
		replay bool
	}{{"MoE", shipped, b, false}, {"MoE, replayed", shipped, b, true}, {"dense", twin, dense, false}} {
		now, _, err := afterUpdates(a.batch, a.params, 1e-3, 4, a.replay)
		if err != nil {
			return nil, err
		}
		token, sequence, spread := clipShares(now)
		o.Set(a.name+" clipped", token, sequence)
		o.Set(a.name+" spread", spread)
	}
	return o, nil
}

// afterUpdates makes updates on a batch in as many minibatches and scores it
// again: log-probs and routes of the result are those of the new weights. changed is
// the share of tokens that visit another expert when routes are free.
func afterUpdates(b *batch.Batch, p *model.Params, rate float64, updates int, replay bool) (now *batch.Batch, changed float64, err error) {
	l := measure.NewLearner(p, claim.Numerics("fp32"))
	defer l.Close()
	if err := l.Update(claim.Minibatches(b, updates), loss.NewPPOClip(), rate, 1); err != nil {
		return nil, 0, err
	}
	now = claim.Minibatches(b, 1)[0]
	var after batch.Scored
	if replay {
		l.Score(&after, now, &now.Old)
	} else {
		l.Score(&after, now, nil)
	}
	now.Now.Logp, now.Old.Routes = after.Logp, after.Routes
	if p.Config.Dense() {
		return now, 0, nil
	}
	// Equal engines: the rollout's routes are those of the first weights.
	hits := 0
	for n := range now.Tokens() {
		for l := range now.Layers {
			if flipAt(now, n, l) {
				hits++
				break
			}
		}
	}
	return now, float64(hits) / float64(now.Tokens()), nil
}

// clipShares are the share of tokens that GRPO's clip at 0.2 cuts, the share in
// responses that GSPO's clip cuts, and the mean |log-ratio| of the tokens.
func clipShares(b *batch.Batch) (token, sequence, spread float64) {
	gspo := loss.NewGSPO()
	for i := range b.Len() {
		from, to := b.Span(i)
		sum := 0.0
		for n := from; n < to; n++ {
			e := b.Now.Logp[n] - b.Old.Logp[n]
			sum += e
			spread += math.Abs(e)
			if r, a := elementary.Exp(e), b.Advantage[n]; a > 0 && r > 1.2 || a < 0 && r < 0.8 {
				token++
			}
		}
		s := elementary.Exp(sum / float64(to-from))
		if a := b.Advantage[from]; a > 0 && s > 1+gspo.EpsHigh || a < 0 && s < 1-gspo.EpsLow {
			sequence += float64(to - from)
		}
	}
	n := float64(b.Tokens())
	return token / n, sequence / n, spread / n
}

func judgeGSPO(j *claim.Judge) {
	j.Primary(claim.Ratio(claim.Natural, "clipped share, GSPO over GRPO", j.Entry("MoE clipped", 1), j.Entry("MoE clipped", 0), 10))
	j.Also(claim.Above(claim.Natural, "tokens with another expert after one update, lr 1e-3", j.Entry("changed", 2), 0))
	j.Also(claim.AtMost(claim.Natural, "1 - rank correlation of that share with the learning rate", j.Each(func(o *claim.Observation) float64 {
		return 1 - stats.Spearman(gspoRates, o.List("changed"))
	}), 1e-9))
	j.Also(claim.ReportRatio(claim.Natural, "mean |log-ratio| after four updates, free over replayed", j.Column("MoE spread"), j.Column("MoE, replayed spread")))
	j.Also(claim.ReportRatio(claim.Natural, "mean |log-ratio| after four updates, MoE over dense", j.Column("MoE spread"), j.Column("dense spread")))
	j.Also(claim.ReportRatio(claim.Natural, "clipped share in the dense twin, GSPO over GRPO", j.Entry("dense clipped", 1), j.Entry("dense clipped", 0)))
	j.Evidence.Picture = claim.Chart("Tokens with another expert after one update", "learning rate", "share of tokens", "", true, j.Arm("chain-base", gspoRates, "changed"))
	j.Evidence.Table = j.NamedTable("Clipped tokens after four updates", "clip", []string{"GRPO, token", "GSPO, sequence"}, "MoE clipped", "MoE, replayed clipped", "dense clipped")
}
