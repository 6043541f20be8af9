package routing

import (
	"context"
	"math"

	"driftlab/experiments/claim"
	"driftlab/experiments/stats"
)

func replayDrop() claim.Claim {
	return claim.Claim{
		ID:        "replay-drop",
		Title:     "Replaying the rollout's routes brings the gap down to dense level",
		Statement: "Replaying rollout routes in the trainer brings the divergence of a mixture of experts down to about dense level and shrinks the extreme-token tail by much more than the mean.",
		Source:    "Rollout Routing Replay (R3), 2510.11370; CompassMax, 2512.07710.",
		Figure:    "KL 1.54e-3 to 7.5e-4; tokens beyond a factor 2 ten times fewer",
		Threshold: "Exact KL, free over replayed at least 1.5, and the ratio of the shares beyond a factor 2 at least as large, intervals above 1; free > ids replayed > ids and gates replayed in every seed; " +
			"replayed minus dense inside ± half of what replay removes.",
		Setup: "As moe-vs-dense. Replayed: the learner visits the recorded experts and recomputes their gates from its own logits; ids and gates: " +
			"it weighs them by the recorded gates too.",
		Commands: []string{"simulate measure --rollout bf16 --learner fp32"},
		Unit:     claim.Model,
		Version:  3,
		Measure: func(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
			o := new(claim.Observation)
			models, err := routed(ctx, e)
			if err != nil {
				return nil, err
			}
			for _, m := range models {
				// A dose-response beside the doses: coarser rollouts flip more.
				var free, ids, gates, dense, tailFree, tailIDs, flips []float64
				for _, name := range []string{"fp16", "bf16", "fp8-w8a8"} {
					q := m.probe
					q.Rollout, q.Distributions, q.Gates = claim.Numerics(name), true, true
					b, g := e.Measure(q, claim.Numerics("fp32"))
					free, tailFree, flips = append(free, g.ExactKL), append(tailFree, beyondTwo(b)), append(flips, g.FlipRoute)
					ids = append(ids, claim.Replayed(b, q.Params, claim.Numerics("fp32"), true).ExactKL)
					tailIDs = append(tailIDs, beyondTwo(b))
					gates = append(gates, claim.Gated(b, q.Params, claim.Numerics("fp32")).ExactKL)
					q.Params, q.Gates = m.dense, false
					_, d := e.Measure(q, claim.Numerics("fp32"))
					dense = append(dense, d.ExactKL)
				}
				a := string(m.dose)
				o.Set(a+" free", free...)
				o.Set(a+" replayed", ids...)
				o.Set(a+" ids and gates", gates...)
				o.Set(a+" dense", dense...)
				o.Set(a+" beyond 2, free", tailFree...)
				o.Set(a+" beyond 2, replayed", tailIDs...)
				o.Set(a+" flips", flips...)
			}
			return o, nil
		},
		Judge: func(j *claim.Judge) {
			const bf16 = 1
			for _, d := range []claim.Dose{claim.Natural, claim.Amplified} {
				a := string(d)
				free, ids := j.Entry(a+" free", bf16), j.Entry(a+" replayed", bf16)
				tailFree, tailIDs := j.Entry(a+" beyond 2, free", bf16), j.Entry(a+" beyond 2, replayed", bf16)
				j.Primary(claim.Ratio(d, "exact KL, free over replayed", free, ids, 1.5))
				drop, tail := stats.Quotients(free, ids), stats.Quotients(tailFree, tailIDs)
				j.Also(claim.Ratio(d, "share beyond a factor 2, free over replayed", tailFree, tailIDs, 1))
				j.Also(claim.Ratio(d, "drop of the tail over drop of KL", tail, drop, 1))
				j.Also(claim.Above(d, "log KL, free minus replayed", stats.Differences(stats.Logs(free), stats.Logs(ids)), 0))
				j.Also(claim.Above(d, "log KL, ids minus ids and gates", stats.Differences(stats.Logs(ids), stats.Logs(j.Entry(a+" ids and gates", bf16))), 0))
				removed := stats.Average(stats.Differences(free, ids))
				j.Also(claim.Inside(d, "KL, replayed minus dense", stats.Differences(ids, j.Entry(a+" dense", bf16)), math.Abs(removed)/2))
			}
			rows := []string{"fp16", "bf16", "fp8-w8a8"}
			var bars []string
			for _, model := range []string{"chain-base", "8 layers"} {
				for _, r := range rows {
					bars = append(bars, model+", "+r)
				}
			}
			// The first half of the bars are of the natural dose.
			group := func(name, figure string) claim.Group {
				return claim.Group{Name: name, Values: func(k int) []float64 {
					return j.Entry([]string{"natural ", "amplified "}[k/len(rows)]+figure, k%len(rows))
				}}
			}
			j.Evidence.Picture = j.Bars("What replay removes, rollouts of three formats scored in fp32", "exact KL (nats per token)", true, bars,
				group("free", "free"), group("ids replayed", "replayed"), group("ids and gates replayed", "ids and gates"), group("dense twin", "dense"))
			j.Evidence.Table = j.NamedTable("Replay", "rollout", rows, "natural flips", "natural free", "natural replayed", "natural ids and gates", "natural dense",
				"amplified flips", "amplified free", "amplified replayed", "amplified ids and gates", "amplified dense")
		},
	}
}
