package precision

import (
	"context"
	"math"
	"slices"

	"driftlab/experiments/claim"
	"driftlab/experiments/stats"
	"driftlab/model"
	"driftlab/trainer/batch"
	"driftlab/trainer/measure"
)

func gapVsLength() claim.Claim {
	return claim.Claim{
		ID:        "gap-vs-length",
		Title:     "The gap accumulates with length, faster in bf16 and in a mixture of experts",
		Statement: "Mismatch accumulates with sequence length faster in bf16 than in fp16, and later tokens carry a larger per-token gap.",
		Source:    "2510.26788; When Speed Kills Stability; Jet-RL, 2601.14243.",
		Figure:    "slope of the sequence log-ratio on length -1.01 (bf16) against -0.07 (fp16)",
		Threshold: "Slope of the mean |log product ratio| on length, bf16 over fp16, dense: at least 4, interval above 1. Mean |dlogp| of the last over the second quarter of the positions: " +
			"above 1.2 with interval above 1 in the mixture of experts, larger than in the dense model and than with replayed routes (paired intervals above 0), also after matching on the token's probability.",
		Setup:    "Responses of 512 tokens, past the stop token. Natural: bf16 or fp16 rollouts scored in fp32 on chain-base and its dense twin. Amplified: random models of 8 layers, 256 tokens. Matching: ten bins of the rollout probability, each with equal weight.",
		LeftOut:  "Fresh prefill against incremental decode: in this rig they agree bit for bit, so the arm is zero by construction. A cache kept in fp32 under bf16 elsewhere.",
		Commands: []string{"simulate measure --rollout bf16 --learner fp32", "simulate measure --rollout fp16 --learner fp32"},
		Unit:     claim.Model,
		Version:  2,
		Measure:  measureGapVsLength,
		Judge:    judgeGapVsLength,
	}
}

func measureGapVsLength(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	long, short := e.Pick(512, 256, 32), e.Pick(256, 128, 32)
	shipped, twin, err := e.Twins(ctx, long+64)
	if err != nil {
		return nil, err
	}
	for _, dtype := range []string{"bf16", "fp16"} {
		b, _ := e.Measure(claim.Probe{Params: twin, Rollout: claim.Numerics(dtype), Sequences: e.Pick(192, 48, 6), Tokens: long}, claim.Numerics("fp32"))
		lengths := claim.PrefixLengths(long)
		var absolute []float64
		for _, sums := range claim.ProductRatios(b, lengths) {
			a := 0.0
			for _, s := range sums {
				a += math.Abs(s) / float64(len(sums))
			}
			absolute = append(absolute, a)
		}
		if dtype == "bf16" {
			o.Set("lengths", lengths...)
			quarters(o, "natural dense", b, long)
		}
		o.Set("dense "+dtype, absolute...)
	}
	for _, m := range []struct {
		name   string
		params *model.Params
		n, t   int
	}{
		{"natural moe", shipped, e.Pick(192, 48, 6), long}, {"amplified moe", e.Deep(8, 8, 256, short+64), e.Pick(64, 12, 3), short},
		{"amplified dense", e.Deep(8, 0, 256, short+64), e.Pick(64, 12, 3), short},
	} {
		b, _ := e.Measure(claim.Probe{Params: m.params, Rollout: claim.Numerics("bf16"), Sequences: m.n, Tokens: m.t}, claim.Numerics("fp32"))
		quarters(o, m.name, b, m.t)
		if !m.params.Config.Dense() {
			measure.Score(b, m.params, measure.Scoring{Numerics: claim.Numerics("fp32"), Replay: true})
			quarters(o, m.name+", replayed", b, m.t)
		}
	}
	return o, nil
}

// quarters records mean |dlogp| by quarter of the positions, plain and matched
// on the rollout probability.
func quarters(o *claim.Observation, name string, b *batch.Batch, length int) {
	const bins = 10
	edges := stats.Edges(b.LogpRoll, bins)
	var plain, matched [4]float64
	var count [4]float64
	var inBin, binCount [4][bins]float64
	e := claim.LogRatios(b)
	for i := range b.Len() {
		from, to := b.Span(i)
		for n := from; n < to; n++ {
			q := (n - from) * 4 / length
			k, _ := slices.BinarySearch(edges, b.LogpRoll[n])
			plain[q] += math.Abs(e[n])
			count[q]++
			inBin[q][k] += math.Abs(e[n])
			binCount[q][k]++
		}
	}
	// Only bins that every quarter has tokens in are compared.
	used := 0.0
	for k := range bins {
		if binCount[0][k] > 0 && binCount[1][k] > 0 && binCount[2][k] > 0 && binCount[3][k] > 0 {
			used++
			for q := range 4 {
				matched[q] += inBin[q][k] / binCount[q][k]
			}
		}
	}
	for q := range 4 {
		plain[q] /= count[q]
		matched[q] /= used
	}
	o.Set(name+" quarters", plain[:]...)
	o.Set(name+" matched", matched[:]...)
}

func judgeGapVsLength(j *claim.Judge) {
	x := j.Runs[0].List("lengths")
	slope := func(figure string) []float64 {
		return j.Each(func(o *claim.Observation) float64 { return stats.Slope(x, o.List(figure)) })
	}
	growth := func(name, kind string) []float64 {
		return j.Each(func(o *claim.Observation) float64 { q := o.List(name + " " + kind); return q[3] / q[1] })
	}
	ones := j.Each(func(*claim.Observation) float64 { return 1 })
	j.Primary(claim.Ratio(claim.Natural, "slope of |log product ratio|, bf16 over fp16, dense", slope("dense bf16"), slope("dense fp16"), 4))
	for _, d := range []claim.Dose{claim.Natural, claim.Amplified} {
		a := string(d)
		for _, kind := range []string{"quarters", "matched"} {
			suffix := ""
			if kind == "matched" {
				suffix = ", matched on probability"
			}
			moe := growth(a+" moe", kind)
			j.Also(claim.Ratio(d, "last over second quarter, MoE"+suffix, moe, ones, 1.2))
			j.Also(claim.Above(d, "that growth, MoE minus dense"+suffix, stats.Differences(moe, growth(a+" dense", kind)), 0))
			j.Also(claim.Above(d, "that growth, MoE minus replayed"+suffix, stats.Differences(moe, growth(a+" moe, replayed", kind)), 0))
		}
	}
	quarter := []float64{1, 2, 3, 4}
	var arms = []string{"natural moe", "natural moe, replayed", "natural dense", "amplified moe", "amplified moe, replayed", "amplified dense"}
	c := claim.Chart("Mean |dlogp| by quarter of the response", "quarter", "nats", "bf16 rollouts scored in fp32. Natural arms: shipped and warm-started weights; amplified: random, 8 layers.", true)
	for _, a := range arms {
		c.Arms = append(c.Arms, j.Arm(a, quarter, a+" quarters"))
	}
	j.Evidence.Picture = c
	j.Evidence.Table = j.CurvesTable("Mean |log product ratio|, dense", "tokens", x, "dense bf16", "dense fp16")
}
