package routing

import (
	"context"
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/experiments/measure"
	"driftlab/model"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/metrics"
)

// gspoRates are the learning rates of the single update of gspo-moe.
var gspoRates = []float64{1e-4, 3e-4, 1e-3, 3e-3}

// judgedRate is the place of 1e-3 among them.
const judgedRate = 2

func gspoMoE() claim.Claim {
	return claim.Claim{
		ID:        "gspo-moe",
		Title:     "Token ratios jump after an update because experts change (2 layers)",
		Statement: "An update changes expert choices, and that, more than the change of the weights themselves, is why token ratios of a mixture of experts jump.",
		Source:    "GSPO, 2507.18071.",
		Figure:    "about 10 % of the experts differ after one update (48 layers); without replay of the old routes the token ratios fluctuate too much to train; the clipped share is two orders of magnitude above GRPO's",
		Threshold: "Mean |log-ratio| of the tokens after four updates at lr 1e-3, scored along the new routes over along the old ones, at the same weights: interval above 1.5. " +
			"Reported: share of tokens that one update reroutes, and its rank correlation with the learning rate; the dense counterpart's |log-ratio|; " +
			"tokens in clipped responses under GSPO (3e-4, 4e-4) over tokens clipped under GRPO (0.2), pooled counts, against 10, in both models.",
		Setup: "Chain-base and its dense counterpart, equal fp32 engines, so that nothing but the update changes a route. The primary check judges the mechanism: an earlier version judged the " +
			"clipped shares, which its controls of then (the dense counterpart, replayed routes) showed to come from the width of the clip and not from routes. Also reported: eight thin layers.",
		LeftOut:  "The efficiency half: reward at equal tokens.",
		Commands: []string{"simulate train headline --set loss=gspo --set learner.minibatches=4 --set learner.optimizer.lr=1e-3"},
		Declared: claim.Declaration{When: claim.Revised, Date: "2026-11-21", Verdict: claim.Reproduced,
			Check: "all 3 checks in five seeds, met; the leading one: natural, clipped share, GSPO over GRPO: ≥ 10, interval above 1"},
		Unit:    claim.Model,
		Version: 4,
		Measure: measureGSPO,
		Judge:   judgeGSPO,
	}
}

func measureGSPO(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	base, twin, err := e.MoEAndDense(ctx, 0)
	if err != nil {
		return nil, err
	}
	deep, err := eightLayers(ctx, e, 8, 0)
	if err != nil {
		return nil, err
	}
	fp32 := claim.Numerics("fp32")
	for _, m := range []struct {
		name   string
		params *model.Params
		rates  []float64
	}{{"MoE", base, gspoRates}, {"dense", twin, nil}, {"8 layers", deep, []float64{1e-3}}} {
		b := e.Graded(m.params, fp32, fp32, e.Pick(48, 12, 2))
		if m.rates != nil {
			var changed []float64
			for _, rate := range m.rates {
				l, err := updated(b, m.params, rate, 1)
				if err != nil {
					return nil, err
				}
				changed = append(changed, rerouted(rescored(l, b, false)))
				l.Close()
			}
			o.Set(m.name+" changed", changed...)
		}
		l, err := updated(b, m.params, 1e-3, 4)
		if err != nil {
			return nil, err
		}
		now := rescored(l, b, false)
		clipped, spread := clips(now)
		o.Set(m.name+" clipped", clipped...)
		o.Set(m.name+" tokens", float64(now.Tokens()))
		o.Set(m.name+" spread", spread)
		if m.rates != nil {
			clipped, spread = clips(rescored(l, b, true))
			o.Set(m.name+", old routes clipped", clipped...)
			o.Set(m.name+", old routes spread", spread)
		}
		l.Close()
	}
	return o, nil
}

// updated is a learner that has made updates on a batch, in as many minibatches.
func updated(b *batch.Batch, p *model.Params, rate float64, updates int) (*measure.Learner, error) {
	l := measure.NewLearner(p, claim.Numerics("fp32"))
	if err := l.Update(claim.Minibatches(b, updates), method.New[loss.PPOClip](), rate, 1); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// rescored is a batch with the log-probs and routes of a learner's new weights,
// which replay keeps on the old routes.
func rescored(l *measure.Learner, b *batch.Batch, replay bool) *batch.Batch {
	now := claim.Minibatches(b, 1)[0]
	var along *batch.Scored
	if replay {
		along = &now.Old
	}
	var after batch.Scored
	l.Score(&after, now, along)
	now.Now.Logp, now.Old.Routes = after.Logp, after.Routes
	return now
}

// rerouted is the share of tokens that visit another expert than in the
// rollout, whose routes are those of the first weights: engines are equal.
func rerouted(b *batch.Batch) float64 {
	hits := 0
	for n := range b.Tokens() {
		for l := range b.Layers {
			if metrics.Flipped(b, n, l) {
				hits++
				break
			}
		}
	}
	return float64(hits) / float64(b.Tokens())
}

// clips counts the tokens that GRPO's clip at 0.2 cuts and those of the
// responses that GSPO's clip cuts; spread is the mean |log-ratio| of the tokens.
func clips(b *batch.Batch) (clipped []float64, spread float64) {
	gspo := method.New[loss.GSPO]()
	token, sequence := 0.0, 0.0
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
	return []float64{token, sequence}, spread / float64(b.Tokens())
}

func judgeGSPO(j *claim.Judge) {
	j.Primary(claim.Ratio(claim.Natural, "mean |log-ratio| after four updates, new routes over old ones", j.Column("MoE spread"), j.Column("MoE, old routes spread"), 1.5))
	j.Secondary(claim.ReportRatio(claim.Natural, "the same, 8 layers", j.Column("8 layers spread"), j.Column("8 layers, old routes spread")))
	j.Secondary(claim.ReportRatio(claim.Natural, "mean |log-ratio| after four updates, MoE over dense", j.Column("MoE spread"), j.Column("dense spread")))
	j.Secondary(claim.Above(claim.Natural, "tokens with another expert after one update, lr 1e-3", j.Entry("MoE changed", judgedRate), 0))
	j.Secondary(claim.Above(claim.Natural, "tokens with another expert after one update, lr 1e-3, 8 layers", j.Column("8 layers changed"), 0))
	j.Secondary(claim.AtMost(claim.Natural, "1 - rank correlation of that share with the learning rate", j.Each(func(o *claim.Observation) float64 {
		return 1 - stats.Spearman(gspoRates, o.List("MoE changed"))
	}), 1e-9))
	for _, model := range []string{"MoE", "dense"} {
		all := j.Column(model + " tokens")
		j.Secondary(claim.Rates(claim.Natural, "clipped tokens, GSPO over GRPO, "+model, j.Entry(model+" clipped", 1), all, j.Entry(model+" clipped", 0), all, 10))
	}
	j.Evidence.Picture = claim.Chart("Tokens with another expert after one update", "learning rate", "share of tokens", "", true, j.Arm("chain-base", gspoRates, "MoE changed"))
	j.Evidence.Table = j.NamedTable("Clipped tokens after four updates, counts", "clip", []string{"GRPO, token", "GSPO, sequence"}, "MoE clipped", "MoE, old routes clipped", "dense clipped", "8 layers clipped")
}
