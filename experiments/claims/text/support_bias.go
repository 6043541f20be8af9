package text

import (
	"context"
	"fmt"
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/experiments/measure"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method/batch"
)

// supportTopP are the arms of support-bias; the first is the control.
var supportTopP = []float64{1, 0.95, 0.9, 0.8}

func supportBias() claim.Claim {
	return claim.Claim{
		ID:        "support-bias",
		Title:     "Truncated sampling biases the ratio by the kept mass",
		Statement: "Log-probs taken after top-p renormalisation bias the ratio by the kept probability mass: over top-p 0.8 to 0.95 the mean ratio is the mean kept mass within 2 %.",
		Source:    "TRL issues 6789 and 4159, PR 7269; vLLM PR 42259.",
		Figure:    "kept mass 0.895: mean ratio 0.896, 51.8 % of the tokens outside [0.9, 1.1], 4.3 % after renormalising",
		Threshold: "|mean ratio over mean kept mass - 1|, the largest of top-p 0.95, 0.9 and 0.8: interval below 0.02.",
		Setup: "Chain-base past the stop token (entropy near 1 nat), bf16 rollouts scored in fp32. " +
			"Also examined: that no bias is left once the learner is masked to the same support, by two one-sided tests against half of the bias that the unmasked learner shows; " +
			"and temperature 0.6 on one side, whose mean |dlogp| is above 0 where both sides give exactly 0 (equal fp32 engines, raw log-probs against processed ones).",
		Commands: []string{"simulate measure --set rollout.top_p=0.9", "simulate measure --set rollout.log_probs=raw --set rollout.temperature=0.6"},
		Declared: claim.Declaration{When: claim.Revised, Date: "2026-11-21", Verdict: claim.Reproduced,
			Check: "all 9 checks in five seeds, met; the leading one: natural, |mean ratio over kept mass - 1|, top-p 1: ≤ 0.02 in every seed"},
		Unit:    claim.Model,
		Version: 3,
		Measure: measureSupport,
		Judge:   judgeSupport,
	}
}

func measureSupport(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	shipped, err := e.Base(ctx, 192)
	if err != nil {
		return nil, err
	}
	n, t := e.Pick(256, 48, 4), e.Pick(96, 64, 16)
	var ratio, masked, kept, outside, outsideMasked []float64
	for _, p := range supportTopP {
		q := claim.Probe{Params: shipped, Rollout: claim.Numerics("bf16"), Sequences: n, Tokens: t, TopP: p, Distributions: true}
		b, _ := e.Measure(q, claim.Numerics("fp32"))
		mean, out := ratioAndOutside(claim.LogRatios(b))
		ratio, outside, kept = append(ratio, mean), append(outside, out), append(kept, stats.Average(b.KeptMass))
		mean, out = ratioAndOutside(maskedRatios(b))
		masked, outsideMasked = append(masked, mean), append(outsideMasked, out)
		if p == 1 {
			o.Set("entropy", stats.Average(b.Old.Entropy))
		}
	}
	o.Set("ratio", ratio...)
	o.Set("masked ratio", masked...)
	o.Set("kept mass", kept...)
	o.Set("outside", outside...)
	o.Set("outside, masked", outsideMasked...)
	for _, raw := range []bool{false, true} {
		b := e.Sample(claim.Probe{Params: shipped, Rollout: claim.Numerics("fp32"), Sequences: n, Tokens: t, Temperature: 0.6, Raw: raw})
		measure.Score(b, shipped, measure.Scoring{Numerics: claim.Numerics("fp32"), Temperature: 0.6})
		o.Set(map[bool]string{false: "temperature, both sides", true: "temperature, one side"}[raw], stats.Average(stats.Magnitudes(claim.LogRatios(b))))
	}
	return o, nil
}

// ratioAndOutside are the mean ratio and the share of tokens outside [0.9, 1.1].
func ratioAndOutside(e []float64) (mean, outside float64) {
	for _, v := range e {
		r := elementary.Exp(v)
		mean += r / float64(len(e))
		if r < 0.9 || r > 1.1 {
			outside += 1 / float64(len(e))
		}
	}
	return mean, outside
}

// maskedRatios are the log-ratios with the learner's distribution renormalised
// over each token's sampling support.
func maskedRatios(b *batch.Batch) []float64 {
	e := claim.LogRatios(b)
	for n, support := range b.Support {
		if support == nil {
			continue
		}
		mass := 0.0
		for _, id := range support {
			mass += elementary.Exp(float64(b.Old.Dist[n*b.Vocab+int(id)]))
		}
		e[n] -= elementary.Log(mass)
	}
	return e
}

func judgeSupport(j *claim.Judge) {
	var names []string
	for _, p := range supportTopP {
		names = append(names, fmt.Sprintf("top-p %v", p))
	}
	j.Primary(claim.Below(claim.Natural, "largest |mean ratio over kept mass - 1|, top-p 0.8 to 0.95", j.Each(func(o *claim.Observation) float64 {
		return stats.Max(stats.Each(stats.Quotients(o.List("ratio"), o.List("kept mass"))[1:], func(q float64) float64 { return math.Abs(q - 1) }))
	}), 0.02))
	lessOne := func(figure string, k int) []float64 {
		return stats.Each(j.Entry(figure, k), func(mean float64) float64 { return mean - 1 })
	}
	for k := 1; k < len(supportTopP); k++ {
		j.Secondary(claim.Same(claim.Natural, "mean ratio - 1, same support on both sides, "+names[k], lessOne("masked ratio", k), lessOne("ratio", k)))
	}
	j.Secondary(claim.Zero(claim.Exact, "mean |dlogp|, temperature on both sides", j.Column("temperature, both sides")))
	j.Secondary(claim.Above(claim.Natural, "mean |dlogp|, temperature on one side", j.Column("temperature, one side"), 0))
	j.Evidence.Picture = j.Bars("Mean ratio under truncated sampling", "mean of pi/mu", false, names, j.Listed("whole vocabulary in the learner", "ratio"),
		j.Listed("kept mass", "kept mass"), j.Listed("same support in the learner", "masked ratio"))
	j.Evidence.Table = j.NamedTable("Ratios under truncated sampling", "sampling", names, "kept mass", "ratio", "masked ratio", "outside", "outside, masked")
	j.Note("Entropy without truncation: %.2f nats.", stats.Average(j.Column("entropy")))
}
