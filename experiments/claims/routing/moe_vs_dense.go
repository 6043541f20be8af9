package routing

import (
	"context"
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/results/stats"
	"driftlab/trainer/method/batch"
)

func moeVsDense() claim.Claim {
	return claim.Claim{
		ID:        "moe-vs-dense",
		Title:     "Routing makes the gap between engines larger (8 experts, 2 layers)",
		Statement: "At equal active width a routed model has a larger KL between engines than a dense one.",
		Source:    "Rollout Routing Replay (R3), 2510.11370.",
		Figure:    "KL 1.5e-3 (MoE) against 6.4e-4 (dense), 2.4 times; tokens beyond a factor 2 about 10 times as many",
		Threshold: "Exact KL, mixture of experts over dense, geometric mean over models: interval above 1.5. Reported: tokens beyond a factor 2, " +
			"pooled counts, against 3; log KL with the rollout's routes replayed minus dense, against ± half of the free model's excess.",
		Setup: "bf16 rollouts scored in fp32, on the same prompts. Natural: chain-base and its dense counterpart of equal active width, a warm start of their own each. " +
			"Also reported: eight thin layers after a tenth of that warm start. Amplified: random models of 8 layers, 96 tokens.",
		LeftOut: "The comparison at equal total parameters; the growth with scale, which is gap-scaling.",
		Differs: &claim.Difference{Published: 2.4, Level: claim.Natural, Check: "exact KL, MoE over dense",
			Why:        "Two layers have two routers: a flipped choice of experts changes few later ones, where the flips of the paper's 48 layers add up.",
			Experiment: "What tells is depth at frozen weights: the same pair of models with eight layers, warm-started and untrained.",
			Checks:     []string{"exact KL, MoE over dense, 8 layers", "exact KL, MoE over dense, 8 untrained layers"}},
		Commands: []string{"simulate measure --rollout bf16 --learner fp32"},
		Declared: claim.Declaration{When: claim.Revised, Date: "2026-11-21", Verdict: claim.NotReproduced,
			Check: "all 6 checks in five seeds; decisive: amplified, log KL, routes replayed minus dense: interval holds 0, not met"},
		Unit:    claim.Model,
		Version: 4,
		Measure: measureMoEVsDense,
		Judge:   judgeMoEVsDense,
	}
}

func measureMoEVsDense(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	rungs, err := moeAndDense(ctx, e)
	if err != nil {
		return nil, err
	}
	deep, err := eightLayers(ctx, e, 8, 0)
	if err != nil {
		return nil, err
	}
	plain, err := eightLayers(ctx, e, 0, 0)
	if err != nil {
		return nil, err
	}
	rungs = append(rungs, rung{"8 layers", claim.Natural, claim.Probe{Params: deep, Sequences: e.Pick(512, 64, 4), Tokens: 32, Stops: true}, plain})
	for _, m := range rungs {
		q := m.probe
		q.Rollout, q.Distributions = claim.Numerics("bf16"), true
		b, g := e.Measure(q, claim.Numerics("fp32"))
		tail := beyondTwo(b)
		forced := claim.Replayed(b, q.Params, claim.Numerics("fp32"), true)
		q.Params = m.dense
		d, dense := e.Measure(q, claim.Numerics("fp32"))
		o.Set(m.name+" KL", g.ExactKL, forced.ExactKL, dense.ExactKL)
		o.Set(m.name+" tokens beyond 2", tail, beyondTwo(b), beyondTwo(d))
		o.Set(m.name+" tokens", float64(b.Tokens()), float64(b.Tokens()), float64(d.Tokens()))
		o.Set(m.name+" entropy", stats.Average(b.Old.Entropy), stats.Average(b.Old.Entropy), stats.Average(d.Old.Entropy))
	}
	return o, nil
}

func judgeMoEVsDense(j *claim.Judge) {
	for _, d := range []claim.Level{claim.Natural, claim.Amplified} {
		name := string(d)
		j.Primary(claim.Ratio(d, "exact KL, MoE over dense", j.Entry(name+" KL", 0), j.Entry(name+" KL", 2), 1.5))
		reportTail(j, d, name, "")
	}
	j.Secondary(claim.Ratio(claim.Natural, "exact KL, MoE over dense, 8 layers", j.Entry("8 layers KL", 0), j.Entry("8 layers KL", 2), 1.5))
	reportTail(j, claim.Natural, "8 layers", ", 8 layers")
	j.Secondary(claim.ReportRatio(claim.Amplified, "exact KL, MoE over dense, 8 untrained layers", j.Entry("amplified KL", 0), j.Entry("amplified KL", 2)))
	two, eight := stats.TRatio(j.Entry("natural KL", 0), j.Entry("natural KL", 2)), stats.TRatio(j.Entry("8 layers KL", 0), j.Entry("8 layers KL", 2))
	j.Note("Depth matters: MoE over dense is %.2f [%.2f, %.2f] at two layers, and %.2f [%.2f, %.2f] at eight warm-started ones.",
		two.Estimate, two.Low, two.High, eight.Estimate, eight.Low, eight.High)
	rows := []string{"MoE", "MoE, routes replayed", "dense"}
	j.Evidence.Picture = j.Bars("Gap with and without routing", "exact KL (nats per token)", true, rows,
		j.Listed("chain-base", "natural KL"), j.Listed("8 layers, warm-started", "8 layers KL"), j.Listed("8 random layers", "amplified KL"))
	j.Evidence.Table = j.NamedTable("Gap with and without routing", "model", rows, "natural KL", "natural tokens beyond 2", "natural entropy",
		"8 layers KL", "8 layers tokens beyond 2", "8 layers entropy", "amplified KL", "amplified tokens beyond 2", "amplified entropy")
}

// reportTail reports the tail, and what replayed routes leave of the excess.
func reportTail(j *claim.Judge, d claim.Level, name, at string) {
	log := func(k int) []float64 { return stats.Logs(j.Entry(name+" KL", k)) }
	j.Secondary(claim.Rates(d, "tokens beyond a factor 2, MoE over dense"+at, j.Entry(name+" tokens beyond 2", 0), j.Entry(name+" tokens", 0),
		j.Entry(name+" tokens beyond 2", 2), j.Entry(name+" tokens", 2), 3))
	j.Secondary(claim.Same(d, "log KL, routes replayed minus dense"+at, stats.Differences(log(1), log(2)), stats.Differences(log(0), log(2))))
}

// beyondTwo counts the tokens of F(2): those with a ratio above 2 or below 1/2.
func beyondTwo(b *batch.Batch) float64 {
	n := 0.0
	for _, e := range claim.LogRatios(b) {
		if math.Abs(e) > math.Ln2 {
			n++
		}
	}
	return n
}
