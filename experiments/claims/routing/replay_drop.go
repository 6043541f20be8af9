package routing

import (
	"context"
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/results/stats"
)

func replayDrop() claim.Claim {
	return claim.Claim{
		ID:        "replay-drop",
		Title:     "Replaying the rollout's routes brings the KL to the dense level (2 layers)",
		Statement: "Replaying rollout routes in the trainer brings the divergence of a mixture of experts down to about dense level.",
		Source:    "Rollout Routing Replay (R3), 2510.11370; CompassMax, 2512.07710.",
		Figure:    "KL 1.54e-3 to 7.5e-4, where a dense model has 6.4e-4; tokens beyond a factor 2 ten times fewer",
		Threshold: "Log of the exact KL, routes replayed minus dense counterpart: inside ± half of the log of what replay takes off, by two one-sided tests. " +
			"Reported: the factor by which KL falls, against 1.5; tokens beyond a factor 2, pooled counts, against the same factor; ids minus ids and gates.",
		Setup: "As moe-vs-dense: bf16 rollouts scored in fp32, chain-base and its dense counterpart, or random models of 8 layers. Replayed: the learner visits " +
			"the recorded experts and recomputes their gates from its own logits; ids and gates: it weighs them by the recorded gates too. Also reported: rollouts in fp16 and in fp8.",
		Commands: []string{"simulate measure --rollout bf16 --learner fp32"},
		Declared: claim.Declaration{When: claim.Revised, Date: "2026-11-21", Verdict: claim.OnlyAmplified,
			Check: "all 12 checks in five seeds; decisive: natural, share beyond a factor 2, free over replayed: ≥ 1, interval above 1, inconclusive"},
		Unit:    claim.Model,
		Version: 5,
		Measure: measureReplayDrop,
		Judge:   judgeReplayDrop,
	}
}

// replayFormats are the rollouts of replay-drop: a level-response around bf16,
// which is judged. Coarser rollouts flip more.
var replayFormats = []string{"fp16", "bf16", "fp8-w8a8"}

const judgedFormat = 1

func measureReplayDrop(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	rungs, err := moeAndDense(ctx, e)
	if err != nil {
		return nil, err
	}
	for _, m := range rungs {
		figures := map[string][]float64{}
		for k, format := range replayFormats {
			set := func(name string, v float64) { figures[name] = append(figures[name], v) }
			q := m.probe
			if k != judgedFormat {
				q.Sequences = max(q.Sequences/4, 2)
			}
			q.Rollout, q.Distributions, q.Gates = claim.Numerics(format), true, true
			b, g := e.Measure(q, claim.Numerics("fp32"))
			set("free", g.ExactKL)
			set("flips", g.FlipRoute)
			set("tokens", float64(b.Tokens()))
			set("beyond 2, free", beyondTwo(b))
			set("replayed", claim.Replayed(b, q.Params, claim.Numerics("fp32"), true).ExactKL)
			set("beyond 2, replayed", beyondTwo(b))
			set("ids and gates", claim.Gated(b, q.Params, claim.Numerics("fp32")).ExactKL)
			q.Params, q.Gates = m.dense, false
			_, d := e.Measure(q, claim.Numerics("fp32"))
			set("dense", d.ExactKL)
		}
		for _, name := range []string{"flips", "free", "replayed", "ids and gates", "dense", "tokens", "beyond 2, free", "beyond 2, replayed"} {
			o.Set(m.name+" "+name, figures[name]...)
		}
	}
	return o, nil
}

func judgeReplayDrop(j *claim.Judge) {
	for _, d := range []claim.Level{claim.Natural, claim.Amplified} {
		at := func(name string) []float64 { return j.Entry(string(d)+" "+name, judgedFormat) }
		log := func(name string) []float64 { return stats.Logs(at(name)) }
		j.Primary(claim.Same(d, "log KL, routes replayed minus dense", stats.Differences(log("replayed"), log("dense")), stats.Differences(log("free"), log("replayed"))))
		drop := claim.Ratio(d, "exact KL, free over replayed", at("free"), at("replayed"), 1.5)
		j.Secondary(drop)
		j.Secondary(claim.Rates(d, "tokens beyond a factor 2, free over replayed, against the factor of the KL",
			at("beyond 2, free"), at("tokens"), at("beyond 2, replayed"), at("tokens"), math.Round(100*max(drop.Value.Estimate, 1))/100))
		j.Secondary(claim.Above(d, "log KL, ids minus ids and gates", stats.Differences(log("replayed"), log("ids and gates")), 0))
		level := claim.ReportRatio(d, "exact KL, replayed over dense", at("replayed"), at("dense"))
		j.Secondary(level)
		if level.Value.High < 1 {
			j.Note("At the %s level the replayed model's KL is %.2f of its dense counterpart's: below the dense level, which an equivalence test counts as a difference like any other.", d, level.Value.Estimate)
		}
	}
	var bars []string
	for _, model := range []string{"chain-base", "8 random layers"} {
		for _, r := range replayFormats {
			bars = append(bars, model+", "+r)
		}
	}
	// The first half of the bars are of the natural level.
	group := func(name, figure string) claim.Group {
		return claim.Group{Name: name, Values: func(k int) []float64 {
			return j.Entry([]string{"natural ", "amplified "}[k/len(replayFormats)]+figure, k%len(replayFormats))
		}}
	}
	j.Evidence.Picture = j.Bars("What replay removes, rollouts of three formats scored in fp32", "exact KL (nats per token)", true, bars,
		group("free", "free"), group("ids replayed", "replayed"), group("ids and gates replayed", "ids and gates"), group("dense counterpart", "dense"))
	j.Evidence.Table = j.NamedTable("Replay", "rollout", replayFormats, "natural flips", "natural free", "natural replayed", "natural ids and gates", "natural dense",
		"amplified flips", "amplified free", "amplified replayed", "amplified ids and gates", "amplified dense")
}
