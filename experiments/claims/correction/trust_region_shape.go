package correction

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

func trustRegionShape() claim.Claim {
	return claim.Claim{
		ID:        "trust-region-shape",
		Title:     "Where probabilities moved alike, a ratio clip cuts the rare tokens",
		Statement: "Among tokens whose probability an update has moved by the same amount, the ratio clip (0.2, 0.28) cuts a rare one more often than a frequent one.",
		Source:    "DPPO, 2602.04879; CISPO, 2506.13585.",
		Figure:    "1e-5 to 1e-3 is a ratio of 100 with TV 1e-3; 0.99 to 0.8 is a ratio of 0.81 with TV 0.19",
		Threshold: "Slope of the share that the ratio clip cuts on log p, at matched |shift of p|: interval below 0. Also checked: the slope of the TV mask (0.15), flat within half of the clip's; " +
			"exact KL(mu||pi) after the updates, CISPO over DPPO, above 1.",
		Setup: "One batch of responses from bf16 rollouts and 24 updates in minibatches, lr 1e-3, by importance sampling without a bound, to see what each rule would cut among the tokens that moved the way their advantage pushes. " +
			"They are put into bins of equal |shift of p|, and into tenths by the probability within their bin. Natural: the chain task, vocabulary 32. " +
			"Amplified: random weights with a vocabulary of 1,024, where every other response is called good, lr 3e-4 (at 1e-3, seeds 9001 and 9002, the clip cut all but the most probable tenth). CISPO and DPPO-TV then show how far each goes from the first weights of the chain task. " +
			"An earlier version took the slope without matching, and vocabulary 32 alone.",
		LeftOut:  "The reward.",
		Commands: []string{"simulate train headline --set loss=dppo_tv --set learner.minibatches=4 --set learner.optimizer.lr=1e-3"},
		Declared: claim.Declaration{When: claim.Revised, Date: "2026-11-21", Verdict: claim.NotReproduced,
			Check: "all 6 checks in five seeds; decisive: amplified, slope of the TV mask's share on log p: interval not below 0, not met"},
		Unit:    claim.Model,
		Version: 3,
		Measure: measureTrust,
		Judge:   judgeTrust,
	}
}

func measureTrust(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	chain, err := e.Base(ctx, 0)
	if err != nil {
		return nil, err
	}
	bf16, fp32 := claim.Numerics("bf16"), claim.Numerics("fp32")
	graded := e.Graded(chain, bf16, fp32, e.Pick(48, 12, 2))
	large := e.Deep(2, 8, e.Pick(1024, 1024, 64), 64)
	alternate := e.Sample(claim.Probe{Params: large, Rollout: bf16, Sequences: e.Pick(128, 32, 8), Tokens: 40})
	measure.Score(alternate, large, measure.Scoring{Numerics: fp32})
	alternate.Anchor, alternate.Advantage = alternate.Old.Logp, make([]float64, alternate.Tokens())
	for i := range alternate.Len() {
		from, to := alternate.Span(i)
		for n := from; n < to; n++ {
			alternate.Advantage[n] = float64(1 - 2*(i%2))
		}
	}
	rounds := e.Pick(6, 6, 1)
	for _, d := range []struct {
		level claim.Level
		model *model.Params
		batch *batch.Batch
		rate  float64
	}{{claim.Natural, chain, graded, 1e-3}, {claim.Amplified, large, alternate, 3e-4}} {
		now, err := after(ctx, d.model, d.batch, method.New[loss.ImportanceSampling](), d.rate, rounds)
		if err != nil {
			return nil, err
		}
		setCut(o, string(d.level), now)
	}
	for _, arm := range []struct {
		name string
		loss loss.Loss
	}{{"unbounded", method.New[loss.ImportanceSampling]()}, {"CISPO", method.New[loss.CISPO]()}, {"ratio clip", loss.NewPPOMask()}, {"DPPO", loss.NewDPPOTV()}} {
		now, err := after(ctx, chain, graded, arm.loss, 1e-3, rounds)
		if err != nil {
			return nil, err
		}
		o.Set("KL "+arm.name, metrics.Compare(now).ExactKL)
	}
	return o, nil
}

// after is the batch as the weights score it after updates by a loss.
func after(ctx context.Context, p *model.Params, b *batch.Batch, objective loss.Loss, rate float64, rounds int) (*batch.Batch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l := measure.NewLearner(p, claim.Numerics("fp32"))
	defer l.Close()
	if err := l.Update(claim.Minibatches(b, 4), objective, rate, rounds); err != nil {
		return nil, err
	}
	now := claim.Minibatches(b, 1)[0]
	l.Score(&now.Old, now, nil)
	return now, nil
}

// moved is a token that went where its advantage pushes it: its log-prob at the
// rollout, its ratio now and the shift of its probability.
type moved struct{ logp, ratio, shift float64 }

// cutByRatio and cutByTV are the rules: PPO's clip and DPPO's mask.
func (m *moved) cutByRatio() bool { return m.ratio > 1.28 || m.ratio < 0.8 }
func (m *moved) cutByTV() bool    { return math.Abs(m.shift) > 0.15 }

// trustTenths is how many parts of a bin of like shifts are distinguished by the
// probability, and trustBins the most bins.
const (
	trustTenths = 10
	trustBins   = 20
)

// setCut records, by tenth of the probability among tokens of the same shift,
// which share each rule would cut.
func setCut(o *claim.Observation, level string, now *batch.Batch) {
	var list []moved
	for n, a := range now.Advantage {
		p, q := elementary.Exp(now.LogpRoll[n]), elementary.Exp(now.Old.Logp[n])
		if shift := q - p; float64(shift*a) > 0 {
			list = append(list, moved{now.LogpRoll[n], elementary.Exp(now.Old.Logp[n] - now.LogpRoll[n]), shift})
		}
	}
	var logp, ratio, tv, count [trustTenths]float64
	bins := max(1, min(trustBins, len(list)/(5*trustTenths)))
	byShift := stats.Order(each(list, func(m *moved) float64 { return math.Abs(m.shift) }))
	for bin := range bins {
		part := byShift[bin*len(list)/bins : (bin+1)*len(list)/bins]
		for rank, at := range stats.Order(each(part, func(n *int) float64 { return list[*n].logp })) {
			m, k := &list[part[at]], rank*trustTenths/len(part)
			logp[k] += m.logp
			count[k]++
			if m.cutByRatio() {
				ratio[k]++
			}
			if m.cutByTV() {
				tv[k]++
			}
		}
	}
	o.Set(level+" log p", stats.Quotients(logp[:], count[:])...)
	o.Set(level+" cut by the ratio clip", stats.Quotients(ratio[:], count[:])...)
	o.Set(level+" cut by the TV mask", stats.Quotients(tv[:], count[:])...)
	var small, cut, left, far float64
	for i := range list {
		m := &list[i]
		if m.cutByRatio() {
			cut++
			if math.Abs(m.shift) < 0.01 {
				small++
			}
		}
		if m.cutByTV() {
			far++
			if !m.cutByRatio() {
				left++
			}
		}
	}
	o.Set(level+" cut after a small shift", small, cut)
	o.Set(level+" left after a large shift", left, far)
}

func each[T any](list []T, of func(*T) float64) []float64 {
	out := make([]float64, len(list))
	for i := range list {
		out[i] = of(&list[i])
	}
	return out
}

func judgeTrust(j *claim.Judge) {
	for _, d := range []claim.Level{claim.Natural, claim.Amplified} {
		a := string(d)
		slope := func(figure string) []float64 {
			return j.Each(func(o *claim.Observation) float64 { return stats.Slope(o.List(a+" log p"), o.List(figure)) })
		}
		clip, mask := slope(a+" cut by the ratio clip"), slope(a+" cut by the TV mask")
		j.Primary(claim.Below(d, "slope of the ratio clip's share on log p, at matched shifts", clip, 0))
		j.Secondary(claim.Same(d, "slope of the TV mask's share on log p, at matched shifts", mask, clip))
		shareOf := func(figure string) []float64 {
			return j.Each(func(o *claim.Observation) float64 { v := o.List(a + " " + figure); return v[0] / max(v[1], 1) })
		}
		j.Secondary(claim.Report(d, "of the tokens that the ratio clip cuts, share that moved by less than 0.01", shareOf("cut after a small shift")))
		j.Secondary(claim.Report(d, "of the tokens that moved by more than 0.15, share that the ratio clip leaves", shareOf("left after a large shift")))
	}
	for _, arm := range []string{"CISPO", "unbounded", "ratio clip"} {
		j.Secondary(claim.Ratio(claim.Natural, "exact KL after the updates, "+arm+" over DPPO-TV", j.Column("KL "+arm), j.Column("KL DPPO"), 1))
	}
	x := claim.Counting(trustTenths)
	j.Evidence.Picture = claim.Chart("Share of tokens that a rule would cut, at the same shift of probability", "tenth of the tokens of like shift, from the least probable", "share cut", "", false,
		j.Arm("ratio clip, vocabulary 32", x, "natural cut by the ratio clip"), j.Arm("TV mask, vocabulary 32", x, "natural cut by the TV mask"),
		j.Arm("ratio clip, vocabulary 1,024", x, "amplified cut by the ratio clip"), j.Arm("TV mask, vocabulary 1,024", x, "amplified cut by the TV mask"))
	j.Evidence.Table = j.CurvesTable("Share of tokens cut, at the same shift of probability", "tenth", x, "natural log p", "natural cut by the ratio clip", "natural cut by the TV mask",
		"amplified log p", "amplified cut by the ratio clip", "amplified cut by the TV mask")
}
