package routing

import (
	"context"
	"math"

	"driftlab/experiments/claim"
	"driftlab/experiments/stats"
	"driftlab/model"
	"driftlab/trainer/batch"
)

// routed are the models of the routing claims: name, whether it has a dense
// twin of equal active width, and how it is sampled.
func routed(ctx context.Context, e *claim.Env) ([]routedModel, error) {
	shipped, twin, err := e.Twins(ctx, 0)
	if err != nil {
		return nil, err
	}
	n, t := e.Pick(96, 16, 3), e.Pick(128, 64, 16)
	return []routedModel{
		{claim.Natural, claim.Probe{Params: shipped, Sequences: e.Pick(2048, 256, 8), Tokens: 32, Stops: true}, twin},
		{claim.Amplified, claim.Probe{Params: e.Deep(8, 8, 256, 256), Sequences: n, Tokens: t}, e.Deep(8, 0, 256, 256)},
	}, nil
}

type routedModel struct {
	dose  claim.Dose
	probe claim.Probe // of the mixture of experts
	dense *model.Params
}

func moeVsDense() claim.Claim {
	return claim.Claim{
		ID:        "moe-vs-dense",
		Title:     "Routing makes the gap larger, above all its tail",
		Statement: "At matched size a routed model has a larger engine gap than a dense one, above all in its extreme tail.",
		Source:    "Rollout Routing Replay (R3), 2510.11370.",
		Figure:    "KL 1.5e-3 (MoE) against 6.4e-4 (dense), 2.4 times; tokens beyond a factor 2 about 10 times as many",
		Threshold: "Exact KL, mixture of experts over dense at least 1.5, share of tokens beyond a factor 2 at least 3, intervals above 1; with the rollout's routes replayed the interval of the KL ratio covers 1.",
		Setup: "bf16 rollouts scored in fp32. Natural: chain-base against its dense twin of equal active width, warm-started alike, on the task's prompts. " +
			"Amplified: random models of 8 layers, 128 tokens.",
		LeftOut:  "The comparison at equal total parameters.",
		Commands: []string{"simulate measure --rollout bf16 --learner fp32"},
		Unit:     claim.Model,
		Version:  2,
		Measure: func(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
			o := new(claim.Observation)
			models, err := routed(ctx, e)
			if err != nil {
				return nil, err
			}
			for _, m := range models {
				q := m.probe
				q.Rollout, q.Distributions = claim.Numerics("bf16"), true
				b, g := e.Measure(q, claim.Numerics("fp32"))
				tail := beyondTwo(b)
				forced := claim.Replayed(b, q.Params, claim.Numerics("fp32"), true)
				q.Params = m.dense
				d, plain := e.Measure(q, claim.Numerics("fp32"))
				o.Set(string(m.dose)+" KL", g.ExactKL, forced.ExactKL, plain.ExactKL)
				o.Set(string(m.dose)+" beyond 2", tail, beyondTwo(b), beyondTwo(d))
				o.Set(string(m.dose)+" mean", g.MeanAbsDlogp, forced.MeanAbsDlogp, plain.MeanAbsDlogp)
				o.Set(string(m.dose)+" entropy", stats.Average(b.Old.Entropy), stats.Average(b.Old.Entropy), stats.Average(d.Old.Entropy))
			}
			return o, nil
		},
		Judge: func(j *claim.Judge) {
			for _, d := range []claim.Dose{claim.Natural, claim.Amplified} {
				a := string(d)
				j.Primary(claim.Ratio(d, "exact KL, MoE over dense", j.Entry(a+" KL", 0), j.Entry(a+" KL", 2), 1.5))
				j.Also(claim.Ratio(d, "share beyond a factor 2, MoE over dense", j.Entry(a+" beyond 2", 0), j.Entry(a+" beyond 2", 2), 3))
				j.Also(claim.Report(d, "log KL, routes replayed minus dense", stats.Differences(stats.Logs(j.Entry(a+" KL", 1)), stats.Logs(j.Entry(a+" KL", 2)))))
			}
			last := j.Evidence.Checks[2] // natural, replayed minus dense
			if last.Value.High < 0 {
				j.Note("With the routes replayed chain-base has a smaller gap than its dense twin: what routing adds is more than gone, which the threshold counts as a miss.")
			}
			rows := []string{"MoE", "MoE, routes replayed", "dense"}
			j.Evidence.Picture = j.Bars("Gap with and without routing", "exact KL (nats per token)", true, rows, j.Listed("natural", "natural KL"), j.Listed("amplified", "amplified KL"))
			j.Evidence.Table = j.NamedTable("Gap with and without routing", "model", rows, "natural KL", "natural beyond 2", "natural entropy", "amplified KL", "amplified beyond 2", "amplified entropy")
		},
	}
}

// beyondTwo is F(2): the share of tokens with a ratio above 2 or below 1/2.
func beyondTwo(b *batch.Batch) float64 {
	n := 0
	for _, e := range claim.LogRatios(b) {
		if math.Abs(e) > math.Ln2 {
			n++
		}
	}
	return float64(n) / float64(b.Tokens())
}
