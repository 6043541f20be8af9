package routing

import (
	"context"
	"math"
	"strings"

	"driftlab/experiments/claim"
	"driftlab/model"
)

// replayArms are the runs of replay-hides.
var replayArms = []string{"none", "r2", "r3"}

func replayHides() claim.Claim {
	return claim.Claim{
		ID:        "replay-hides",
		Title:     "Route replay makes the visible gap small, not the real one",
		Statement: "Route replay makes the visible gap small without making the two real policies closer, and it changes what the router learns.",
		Source:    "Rollout Routing Replay (R3), 2510.11370, read against its own surrogate.",
		Figure:    "replay restricts the surrogate's support and suppresses router learning",
		Threshold: "After training under R3: visible over true gap (routes replayed over free, k3) below 0.5, interval below 1; displacement of the router's weights, R3 over none: interval below 1. Reported: true gap, R3 over none.",
		Setup: "GRPO on chain-base, 200 updates in four minibatches per rollout, fp32 learner; gaps measured after training on 1,024 responses. Natural: bf16 rollouts. Amplified: fp8 rollouts. " +
			"Displacement: norm of the change of all router weights.",
		LeftOut:  "Replay of a reference model's routes.",
		Commands: []string{"simulate train headline --set rollout.numerics=bf16 --set routing.replay=r3 --set learner.minibatches=4 --set steps=50"},
		Unit:     claim.Run,
		Version:  2,
		Measure:  measureReplayHides,
		Judge:    judgeReplayHides,
	}
}

func measureReplayHides(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	first, err := e.Base(ctx, 0)
	if err != nil {
		return nil, err
	}
	for _, d := range []struct {
		dose    claim.Dose
		rollout string
	}{{claim.Natural, "bf16"}, {claim.Amplified, "fp8-w8a8"}} {
		var visible, free, moved, rest []float64
		for _, arm := range replayArms {
			_, p, err := e.Trained(ctx, nil, e.Pick(50, 10, 1), "learner.minibatches=4", "rollout.numerics="+d.rollout, "routing.replay="+arm)
			if err != nil {
				return nil, err
			}
			q := claim.Probe{Params: p, Rollout: claim.Numerics(d.rollout), Sequences: e.Pick(1024, 256, 8), Tokens: 32, Stops: true}
			b, g := e.Measure(q, claim.Numerics("fp32"))
			free = append(free, g.K3)
			visible = append(visible, claim.Replayed(b, p, claim.Numerics("fp32"), false).K3)
			router, others := displacement(p, first)
			moved, rest = append(moved, router), append(rest, others)
		}
		a := string(d.dose)
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
	const none, r3 = 0, 2
	for _, d := range []claim.Dose{claim.Natural, claim.Amplified} {
		a := string(d)
		j.Primary(claim.RatioBelow(d, "visible over true gap under R3", j.Entry(a+" visible", r3), j.Entry(a+" true", r3), 0.5))
		j.Also(claim.RatioBelow(d, "router displacement, R3 over none", j.Entry(a+" router moved", r3), j.Entry(a+" router moved", none), 1))
		j.Also(claim.ReportRatio(d, "true gap, R3 over none", j.Entry(a+" true", r3), j.Entry(a+" true", none)))
		j.Also(claim.ReportRatio(d, "displacement of the other weights, R3 over none", j.Entry(a+" rest moved", r3), j.Entry(a+" rest moved", none)))
	}
	names := []string{"no replay", "R2", "R3"}
	j.Evidence.Picture = j.Bars("Gap after training, as logged with replay and as it is", "k3 (nats per token)", true, names,
		j.Listed("bf16, true", "natural true"), j.Listed("bf16, with replayed routes", "natural visible"),
		j.Listed("fp8, true", "amplified true"), j.Listed("fp8, with replayed routes", "amplified visible"))
	j.Evidence.Table = j.NamedTable("After training", "replay", names, "natural true", "natural visible", "natural router moved", "natural rest moved",
		"amplified true", "amplified visible", "amplified router moved", "amplified rest moved")
}
