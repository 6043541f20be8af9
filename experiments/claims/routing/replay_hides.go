package routing

import (
	"context"
	"math"
	"strings"

	"driftlab/experiments/claims/claim"
	"driftlab/model"
	"driftlab/results/stats"
)

func replayHides() claim.Claim {
	return claim.Claim{
		ID:        "replay-hides",
		Title:     "On the chain task, under route replay the logged gap is less than half of the real one (2 layers, 200 updates, learning rate 5e-4)",
		Statement: "After training under route replay the visible gap, along the replayed routes, is less than half of the gap between the two engines' own policies.",
		Source:    "Rollout Routing Replay (R3), 2510.11370, read against its own surrogate.",
		Figure:    "replay restricts the surrogate's support and suppresses router learning",
		Threshold: "After training under R3: visible over true gap (exact KL along replayed routes over that along free ones, same weights and tokens): interval below 0.5. " +
			"Reported: log of the true gap, R3 minus none, against ± half of the log of what R3 takes off the visible one, by two one-sided tests; " +
			"displacement of the router's weights, R3 over no replay, against 1.",
		Setup: "GRPO on chain-base, 200 updates in four minibatches per rollout, fp32 learner, both arms from the same warm start with the same prompts; gaps measured after training on 3,072 responses: " +
			"1,024, and k3 in place of the exact KL, left the difference of two runs to a handful of flips (pilot run with seed 9001). With seeds 9001 to 9004 the true gap of the two arms still differed by factors of 6 (bf16) and 3 (fp8) from run to run, " +
			"more than twenty runs can decide: it is reported, and the visible part is judged. " +
			"Natural: bf16 rollouts. Amplified: fp8 rollouts. Displacement: norm of the change of all router weights.",
		LeftOut:  "R2, and replay of a reference model's routes.",
		Commands: []string{"simulate train headline --set rollout.numerics=bf16 --set routing.replay=r3 --set learner.minibatches=4 --set steps=50"},
		Declared: claim.Declaration{When: claim.Revised, Date: "2026-11-21", Verdict: claim.NotReproduced,
			Check: "all 4 checks in five seeds; decisive: amplified, visible over true gap under R3: < 0.5, interval below 1, not met",
			Again: "reproduced on 2026-11-22, after a change of the numerics of training"},
		Unit:    claim.Run,
		Version: 4,
		Measure: measureReplayHides,
		Judge:   judgeReplayHides,
	}
}

// replayArms are the runs of replay-hides.
var replayArms = []string{"none", "r3"}

func measureReplayHides(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	first, err := e.Base(ctx, 0)
	if err != nil {
		return nil, err
	}
	for _, d := range []struct {
		level   claim.Level
		rollout string
	}{{claim.Natural, "bf16"}, {claim.Amplified, "fp8-w8a8"}} {
		var visible, free, moved, rest []float64
		for _, arm := range replayArms {
			_, p, err := e.Trained(ctx, nil, e.Pick(50, 10, 1), "learner.minibatches=4", "rollout.numerics="+d.rollout, "routing.replay="+arm)
			if err != nil {
				return nil, err
			}
			q := claim.Probe{Params: p, Rollout: claim.Numerics(d.rollout), Sequences: e.Pick(3072, 256, 8), Tokens: 32, Stops: true, Distributions: true}
			b, g := e.Measure(q, claim.Numerics("fp32"))
			free = append(free, g.ExactKL)
			visible = append(visible, claim.Replayed(b, p, claim.Numerics("fp32"), true).ExactKL)
			router, others := displacement(p, first)
			moved, rest = append(moved, router), append(rest, others)
		}
		a := string(d.level)
		o.Set(a+" visible", visible...)
		o.Set(a+" true", free...)
		o.Set(a+" router moved", moved...)
		o.Set(a+" rest moved", rest...)
	}
	return o, nil
}

// displacement is how far the router's weights and all others have moved.
func displacement(p, from *model.Params) (router, rest float64) {
	for i, t := range p.Tensors() {
		sum := 0.0
		for k, v := range t.Data {
			d := float64(v) - float64(from.Tensors()[i].Data[k])
			sum += float64(d * d)
		}
		if strings.Contains(t.Name, "gate.weight") {
			router += sum
		} else {
			rest += sum
		}
	}
	return math.Sqrt(router), math.Sqrt(rest)
}

func judgeReplayHides(j *claim.Judge) {
	const none, r3 = 0, 1
	for _, d := range []claim.Level{claim.Natural, claim.Amplified} {
		at := func(figure string, arm int) []float64 { return j.Entry(string(d)+" "+figure, arm) }
		log := func(figure string, arm int) []float64 { return stats.Logs(at(figure, arm)) }
		j.Primary(claim.RatioBelow(d, "visible over true gap under R3", at("visible", r3), at("true", r3), 0.5))
		j.Secondary(claim.Same(d, "log of the true gap, R3 minus none", stats.Differences(log("true", r3), log("true", none)), stats.Differences(log("true", r3), log("visible", r3))))
		j.Secondary(claim.ReportRatio(d, "true gap, R3 over no replay", at("true", r3), at("true", none)))
		j.Secondary(claim.RatioBelow(d, "router displacement, R3 over no replay", at("router moved", r3), at("router moved", none), 1))
		j.Secondary(claim.ReportRatio(d, "displacement of the other weights, R3 over no replay", at("rest moved", r3), at("rest moved", none)))
	}
	names := []string{"no replay", "R3"}
	j.Evidence.Picture = j.Bars("Gap after training, as logged with replay and as it is", "exact KL (nats per token)", true, names,
		j.Listed("bf16, true", "natural true"), j.Listed("bf16, with replayed routes", "natural visible"),
		j.Listed("fp8, true", "amplified true"), j.Listed("fp8, with replayed routes", "amplified visible"))
	j.Evidence.Table = j.NamedTable("After training", "replay", names, "natural true", "natural visible", "natural router moved", "natural rest moved",
		"amplified true", "amplified visible", "amplified router moved", "amplified rest moved")
}
