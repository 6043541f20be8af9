package correction

import (
	"context"
	"fmt"
	"math"

	"driftlab/experiments/claim"
	"driftlab/experiments/stats"
	"driftlab/precision/elementary"
	"driftlab/results/record"
	"driftlab/trainer/batch"
	"driftlab/trainer/correction"
	"driftlab/trainer/loss"
	"driftlab/trainer/measure"
)

// opsmArms are the runs of opsm-is-geo.
var opsmArms = []struct{ name, signs string }{{"no mask", ""}, {"negatives", "negative"}, {"both signs", "both"}, {"positives", "positive"}}

func opsmIsGeo() claim.Claim {
	return claim.Claim{
		ID:        "opsm-is-geo",
		Title:     "OPSM is a one-sided geometric mask, and masking only negatives costs less",
		Statement: "Off-policy sequence masking equals a one-sided geometric mask on negative-advantage sequences, and masking only negatives costs less reward than masking both signs.",
		Source:    "DeepSeek-V3.2, 2512.02556; TRL PR 4891.",
		Figure:    "mask iff A < 0 and mean log(mu/pi) > delta, i.e. geometric ratio below exp(-delta)",
		Threshold: "The two sets of tokens are equal at every delta. Pass rate after training on rollouts eight updates old: negatives only minus both signs above 0 in every seed, interval above 0; positives only is worst in every seed.",
		Setup:     "Sets: a batch after four updates, delta 0.001, 0.01, 0.05. Training: GRPO on chain-base, equal fp32 engines, lag 8, delta 0.01; pass rate over the last three evaluations of 256 held-out prompts.",
		Commands:  []string{"simulate train headline --set 'schedule={name: lag, k: 8}' --set 'correction.masks=[{name: opsm, delta: 0.01}]' --set steps=120"},
		Unit:      claim.Run,
		Version:   2,
		Measure:   measureOPSM,
		Judge:     judgeOPSM,
	}
}

func measureOPSM(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	different, masked, err := opsmSets(ctx, e)
	if err != nil {
		return nil, err
	}
	o.Set("tokens in one set only", different)
	o.Set("tokens masked", masked...)
	var rates []float64
	steps := e.Pick(120, 30, 2)
	for _, a := range opsmArms {
		set := []string{"schedule={name: lag, k: 8}", fmt.Sprintf("eval={every: %d, prompts: %d}", max(steps/6, 1), e.Pick(256, 64, 8))}
		if a.signs != "" {
			set = append(set, fmt.Sprintf("correction.masks=[{name: opsm, delta: 0.01, signs: %s}]", a.signs))
		}
		c, err := e.Train(ctx, []string{"val/learner/pass_rate"}, steps, set...)
		if err != nil {
			return nil, err
		}
		o.Set(a.name+" curve", c[0]...)
		_, final, _ := record.PeakAndEnd(c[0])
		rates = append(rates, final)
	}
	o.Set("pass rate", rates...)
	return o, nil
}

// opsmSets updates on a batch and compares what OPSM drops with what the
// geometric mask rejects among negative advantages, over three thresholds. It
// returns the number of tokens in one set only, and the masked ones by threshold.
func opsmSets(ctx context.Context, e *claim.Env) (different float64, masked []float64, err error) {
	p, err := e.Base(ctx, 0)
	if err != nil {
		return 0, nil, err
	}
	fp32 := claim.Numerics("fp32")
	l := measure.NewLearner(p, fp32)
	defer l.Close()
	parts := claim.Minibatches(e.Graded(p, claim.Numerics("bf16"), fp32, e.Pick(16, 8, 2)), 1)
	if err := l.Update(parts, loss.NewPPOClip(), 1e-3, 5); err != nil {
		return 0, nil, err
	}
	b := parts[0]
	for _, delta := range []float64{0.001, 0.01, 0.05} {
		dropped, err := rejected(b, &correction.OPSM{Delta: delta, Signs: correction.Negative})
		if err != nil {
			return 0, nil, err
		}
		low, err := rejected(b, &correction.Geometric{Low: elementary.Exp(-delta), High: math.Inf(1)})
		if err != nil {
			return 0, nil, err
		}
		count := 0.0
		for n := range dropped {
			if dropped[n] != (low[n] && b.Advantage[n] < 0) {
				different++
			}
			if dropped[n] {
				count++
			}
		}
		masked = append(masked, count)
	}
	return different, masked, nil
}

// rejected says which tokens a mask removes from the policy term of the current
// weights, with the ratio taken against the rollout engine.
func rejected(b *batch.Batch, m correction.Masking) ([]bool, error) {
	own := claim.Minibatches(b, 1)[0]
	p := correction.Pipeline{Mode: correction.Bypass, Masks: []correction.Masking{m}}
	for _, s := range []correction.Stage{correction.AtBatch, correction.AtStep} {
		if err := p.Apply(own, s); err != nil {
			return nil, err
		}
	}
	out := make([]bool, own.Tokens())
	for n := range out {
		out[n] = !own.LossMask[n] || own.Gate != nil && !own.Gate[n]
	}
	return out, nil
}

func judgeOPSM(j *claim.Judge) {
	const none, negatives, both, positives = 0, 1, 2, 3
	rate := func(k int) []float64 { return j.Entry("pass rate", k) }
	j.Primary(claim.Above(claim.Natural, "pass rate, negatives only minus both signs", stats.Differences(rate(negatives), rate(both)), 0))
	j.Also(claim.Above(claim.Natural, "the same, seed by seed", stats.Differences(rate(negatives), rate(both)), 0))
	j.Also(claim.Above(claim.Natural, "least of the other arms minus positives only", j.Each(func(o *claim.Observation) float64 {
		r := o.List("pass rate")
		return min(r[none], r[negatives], r[both]) - r[positives]
	}), 0))
	j.Also(claim.Zero(claim.Exact, "tokens in one of the two sets only", j.Column("tokens in one set only")))
	j.Also(claim.Report(claim.Exact, "tokens masked at delta 0.01", j.Entry("tokens masked", 1)))
	j.Also(claim.Report(claim.Natural, "pass rate, negatives only minus no mask", stats.Differences(rate(negatives), rate(none))))
	y := j.Runs[0].List("no mask curve")
	c := claim.Chart("Pass rate on held-out prompts, rollouts eight updates old", "evaluation", "pass rate", "", false)
	for _, a := range opsmArms {
		c.Arms = append(c.Arms, j.Arm(a.name, claim.Counting(len(y)), a.name+" curve"))
	}
	j.Evidence.Picture = c
}
