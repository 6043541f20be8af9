package precision

import (
	"context"
	"math"
	"slices"

	"driftlab/experiments/claims/claim"
	"driftlab/experiments/measure"
	"driftlab/model"
	"driftlab/results/stats"
	"driftlab/trainer/method/batch"
)

func gapVsLength() claim.Claim {
	return claim.Claim{
		ID:    "gap-vs-length",
		Title: "In a dense model the gap accumulates with length at least 4 times as fast in bf16 as in fp16",
		Statement: "Mismatch accumulates with sequence length faster in bf16 than in fp16: over 32 to 512 tokens the mean |log product ratio| of a dense model's rollouts, " +
			"scored in fp32, has a slope at least 4 times as steep.",
		Source:    "2510.26788; When Speed Kills Stability; Jet-RL, 2601.14243.",
		Figure:    "slope of the sequence log-ratio on length -1.01 (bf16) against -0.07 (fp16)",
		Threshold: "Slope of the mean |log product ratio| on length, bf16 over fp16 rollouts, fp32 learner, dense: interval above 4.",
		Setup: "Responses of 512 tokens, past the stop token, on chain-base and its dense counterpart. Judged: another format than the learner's. Also reported: the other mechanisms, " +
			"each by itself: the order of sums alone, accumulators rounded to the format, and routing (chain-base with another order of sums, over the same with routes replayed). " +
			"Also examined, by mechanism: whether later tokens carry a larger gap, by mean |dlogp| of the last over the second quarter of the positions: " +
			"above 1.2 in the mixture of experts, larger than in the dense model and than with replayed routes, also matched on the token's probability in ten bins of equal weight. " +
			"Amplified there: random models of 8 layers, 256 tokens.",
		LeftOut:  "Fresh prefill against incremental decode: in this rig they agree bit for bit, so the arm is zero by construction. A cache kept in fp32 under bf16 elsewhere.",
		Commands: []string{"simulate measure --rollout bf16 --learner fp32", "simulate measure --rollout fp16 --learner fp32"},
		Declared: claim.Declaration{When: claim.Revised, Date: "2026-11-21", Verdict: claim.Refuted,
			Check: "all 13 checks in five seeds; decisive: amplified, last over second quarter, MoE: ≥ 1.2, interval above 1, opposite"},
		Unit:    claim.Model,
		Version: 3,
		Measure: measureGapVsLength,
		Judge:   judgeGapVsLength,
	}
}

func measureGapVsLength(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	long, short := e.Pick(512, 256, 32), e.Pick(256, 128, 32)
	shipped, twin, err := e.MoEAndDense(ctx, long+64)
	if err != nil {
		return nil, err
	}
	lengths := claim.PrefixLengths(long)
	o.Set("lengths", lengths...)
	n := e.Pick(96, 48, 6)
	for _, how := range mechanisms {
		for _, dtype := range []string{"bf16", "fp16"} {
			rollout, learner := how.pair(dtype)
			q := claim.Probe{Params: twin, Rollout: rollout, Sequences: n, Tokens: long}
			if how.name == "sums" {
				q.Sequences = max(n/4, 2) // rounding every partial sum is slow
			}
			b, _ := e.Measure(q, learner)
			o.Set("dense "+how.name+" "+dtype, accumulated(b, lengths)...)
			if dtype == "bf16" && how.name != "sums" {
				quarters(o, "natural dense "+how.name, b, long)
			}
		}
	}
	for _, m := range []struct {
		name, how string
		params    *model.Params
		n, t      int
	}{
		{"natural moe order", "order", shipped, n, long}, {"natural moe dtype", "dtype", shipped, n, long},
		{"amplified moe dtype", "dtype", e.Deep(8, 8, 256, short+64), e.Pick(32, 12, 3), short},
		{"amplified dense dtype", "dtype", e.Deep(8, 0, 256, short+64), e.Pick(32, 12, 3), short},
	} {
		at := slices.IndexFunc(mechanisms, func(how mechanism) bool { return how.name == m.how })
		rollout, learner := mechanisms[at].pair("bf16")
		b, _ := e.Measure(claim.Probe{Params: m.params, Rollout: rollout, Sequences: m.n, Tokens: m.t}, learner)
		quarters(o, m.name, b, m.t)
		if m.params.Config.Dense() {
			continue
		}
		reached := claim.PrefixLengths(m.t)
		o.Set(m.name+" bf16", accumulated(b, reached)...)
		measure.Score(b, m.params, measure.Scoring{Numerics: learner, Replay: true})
		quarters(o, m.name+", replayed", b, m.t)
		o.Set(m.name+" bf16, replayed", accumulated(b, reached)...)
	}
	return o, nil
}

// accumulated is the mean |log product ratio| over the first tokens of those
// numbers.
func accumulated(b *batch.Batch, lengths []float64) []float64 {
	var out []float64
	for _, sums := range claim.ProductRatios(b, lengths) {
		out = append(out, stats.Average(stats.Magnitudes(sums)))
	}
	return out
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
	const what = "slope of mean |log product ratio|, "
	j.Primary(claim.Ratio(claim.Natural, what+"bf16 over fp16, dense, against fp32", slope("dense dtype bf16"), slope("dense dtype fp16"), 4))
	j.Secondary(claim.ReportRatio(claim.Natural, what+"bf16 over fp16, dense, order of sums", slope("dense order bf16"), slope("dense order fp16")))
	j.Secondary(claim.ReportRatio(claim.Amplified, what+"bf16 over fp16, dense, rounded accumulators", slope("dense sums bf16"), slope("dense sums fp16")))
	for _, how := range []string{"order", "dtype"} {
		name := "natural moe " + how + " bf16"
		j.Secondary(claim.ReportRatio(claim.Natural, what+"MoE over routes replayed, bf16, "+how, slope(name), slope(name+", replayed")))
	}
	for _, d := range []struct {
		level claim.Level
		how   string
	}{{claim.Natural, "dtype"}, {claim.Natural, "order"}, {claim.Amplified, "dtype"}} {
		moe, dense := string(d.level)+" moe "+d.how, string(d.level)+" dense "+d.how
		for _, kind := range []struct{ figure, words string }{{"quarters", ""}, {"matched", ", matched on probability"}} {
			grows := growth(moe, kind.figure)
			name := d.how + ": last over second quarter, MoE"
			j.Secondary(claim.Ratio(d.level, name+kind.words, grows, ones, 1.2))
			j.Secondary(claim.Above(d.level, name+" minus dense"+kind.words, stats.Differences(grows, growth(dense, kind.figure)), 0))
			j.Secondary(claim.Above(d.level, name+" minus replayed"+kind.words, stats.Differences(grows, growth(moe+", replayed", kind.figure)), 0))
		}
	}
	c := claim.Chart("Mean |log product ratio| by length", "response length (tokens)", "nats", "Dense counterpart of chain-base; each mechanism by itself.", true)
	var figures []string
	for _, how := range mechanisms {
		for _, dtype := range []string{"bf16", "fp16"} {
			figure := "dense " + how.name + " " + dtype
			figures = append(figures, figure)
			c.Series = append(c.Series, j.Arm(how.name+", "+dtype, x, figure))
		}
	}
	j.Evidence.Picture = c
	j.Evidence.Table = j.CurvesTable("Mean |log product ratio|", "tokens", x, append(figures, "natural moe order bf16", "natural moe order bf16, replayed")...)
}
