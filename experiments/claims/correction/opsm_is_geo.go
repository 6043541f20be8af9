package correction

import (
	"context"
	"fmt"
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/experiments/measure"
	"driftlab/precision/elementary"
	"driftlab/results/record"
	"driftlab/results/stats"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
)

// opsmArms are the runs of opsm-is-geo.
var opsmArms = []struct{ name, signs string }{{"no mask", ""}, {"negatives", "negative"}, {"both signs", "both"}, {"positives", "positive"}}

func opsmIsGeo() claim.Claim {
	return claim.Claim{
		ID:        "opsm-is-geo",
		Title:     "OPSM masks what a one-sided geometric mask rejects among negatives",
		Statement: "Off-policy sequence masking drops exactly those tokens that a one-sided geometric mask rejects among the responses of negative advantage.",
		Source:    "DeepSeek-V3.2, 2512.02556; TRL PR 4891.",
		Figure:    "mask iff A < 0 and mean log(mu/pi) > delta, i.e. geometric ratio below exp(-delta)",
		Threshold: "Tokens in one of the two sets only: none, at any delta and staleness, on any model.",
		Setup: "A batch of 128 responses, bf16 rollouts, after 1, 5 and 25 updates of the learner (lr 1e-3), delta 0.001, 0.01 and 0.05. " +
			"What masking costs is reported: one GRPO run per model and arm, equal fp32 engines, lag 8, delta 0.01, 100 updates; pass rate over the last three evaluations of 128 held-out prompts.",
		Commands: []string{"simulate train headline --set 'schedule={name: lag, k: 8}' --set 'correction.masks=[{name: opsm, delta: 0.01}]' --set steps=100"},
		Declared: claim.Declaration{When: claim.Revised, Date: "2026-11-21", Verdict: claim.NotReproduced,
			Check: "all 4 checks in five seeds; decisive: natural, pass rate, negatives only minus both signs, seed by seed: > 0 in every seed, not met"},
		Unit:    claim.Model,
		Version: 3,
		Measure: measureOPSM,
		Judge:   judgeOPSM,
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
	steps := e.Pick(100, 30, 2)
	for _, a := range opsmArms {
		set := []string{"schedule={name: lag, k: 8}", fmt.Sprintf("eval={every: %d, prompts: %d}", max(steps/6, 1), e.Pick(128, 64, 8))}
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

// opsmDeltas are the thresholds at which the sets are compared.
var opsmDeltas = []float64{0.001, 0.01, 0.05}

// opsmSets compares what OPSM drops with what the geometric mask rejects among
// negative advantages, as updates on the batch go on. It returns the number of
// tokens in one set only, and the masked ones by threshold.
func opsmSets(ctx context.Context, e *claim.Env) (different float64, masked []float64, err error) {
	p, err := e.Base(ctx, 0)
	if err != nil {
		return 0, nil, err
	}
	fp32 := claim.Numerics("fp32")
	l := measure.NewLearner(p, fp32)
	defer l.Close()
	parts := claim.Minibatches(e.Graded(p, claim.Numerics("bf16"), fp32, e.Pick(16, 8, 2)), 1)
	masked = make([]float64, len(opsmDeltas))
	for _, rounds := range []int{1, 4, 20} {
		if err := l.Update(parts, method.New[loss.PPOClip](), 1e-3, rounds); err != nil {
			return 0, nil, err
		}
		for k, delta := range opsmDeltas {
			alone, dropped, err := compareOPSM(parts[0], delta)
			if err != nil {
				return 0, nil, err
			}
			different += alone
			masked[k] += dropped
		}
	}
	return different, masked, nil
}

// compareOPSM counts the tokens in one of the two sets only, and those that
// OPSM drops.
func compareOPSM(b *batch.Batch, delta float64) (alone, dropped float64, err error) {
	opsm, err := rejected(b, &correction.OPSM{Delta: delta, Signs: correction.Negative})
	if err != nil {
		return 0, 0, err
	}
	low, err := rejected(b, &correction.Geometric{Low: elementary.Exp(-delta), High: math.Inf(1)})
	if err != nil {
		return 0, 0, err
	}
	for n := range opsm {
		if opsm[n] != (low[n] && b.Advantage[n] < 0) {
			alone++
		}
		if opsm[n] {
			dropped++
		}
	}
	return alone, dropped, nil
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
	j.Primary(claim.Zero(claim.Exact, "tokens in one of the two sets only", j.Column("tokens in one set only")))
	for k, delta := range opsmDeltas {
		j.Secondary(claim.Report(claim.Exact, fmt.Sprintf("tokens masked at delta %v", delta), j.Entry("tokens masked", k)))
	}
	worst := j.Each(func(o *claim.Observation) float64 {
		r := o.List("pass rate")
		return min(r[none], r[negatives], r[both]) - r[positives]
	})
	cost := stats.Differences(rate(negatives), rate(both))
	j.Secondary(claim.Same(claim.Natural, "pass rate, negatives only minus both signs", cost, stats.Differences(rate(none), rate(positives))))
	j.Secondary(claim.Better(claim.Natural, "pass rate, negatives only minus both signs", cost))
	j.Secondary(claim.Above(claim.Natural, "pass rate, least of the other arms minus positives only", worst, 0))
	j.Secondary(claim.Report(claim.Natural, "pass rate, negatives only minus no mask", stats.Differences(rate(negatives), rate(none))))
	y := j.Runs[0].List("no mask curve")
	c := claim.Chart("Pass rate on held-out prompts, rollouts with a staleness of eight updates", "evaluation", "pass rate", "", false)
	for _, a := range opsmArms {
		c.Series = append(c.Series, j.Arm(a.name, claim.Counting(len(y)), a.name+" curve"))
	}
	j.Evidence.Picture = c
}
