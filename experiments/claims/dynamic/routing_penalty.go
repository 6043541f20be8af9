package dynamic

import (
	"cmp"
	"context"
	"slices"

	"driftlab/experiments/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/figure"
	"driftlab/results/stats"
)

var penaltyRates = []string{"1e-3", "2e-3"}

const penaltyNone = "no rounding"

// penaltyRouters are the formats of a rollout router that flips routes; penaltyHeads
// those of a rollout head, which flips none and changes the token KL alone. The KL of
// each router lies between those of two heads.
var (
	penaltyRouters = []struct {
		level  claim.Level
		format string
	}{{claim.Natural, "e8m2"}, {claim.Natural, "e8m1"}, {claim.Amplified, "fp4_e2m1"}}
	penaltyHeads = []string{"e8m4", "e8m2", "e8m1", "e2m3", "fp4_e2m1"}
)

func penaltyRouter(format string) string { return "router " + format }
func penaltyHead(format string) string   { return "head " + format }

func routingPenalty() claim.Claim {
	return claim.Claim{
		ID:        "routing-penalty",
		Title:     "On the chain task, at equal token KL, rounding in the router costs more pass rate than rounding in the head (learning rates 1e-3 and 2e-3)",
		Statement: "Trained on rollouts with a rounded router, which flips routes, a policy reaches a lower pass rate than on rollouts with a rounded head, which flips none, at the same token KL.",
		Source:    "Conjecture 3 of a survey on off-policy drift, while training: at fixed token KL the bias of a routed model's gradient grows with flips (moe-tkd has it at fixed weights).",
		Figure:    "bias of order T·K·δ at fixed token KL; token KL alone is not to predict it",
		Threshold: "Pass rate, rounded head minus rounded router at equal token KL, mean over the routers of a level and two learning rates: above 0, sign-flip p < 0.05. What a head costs at a router's KL is read off the heads' own ladder, " +
			"linearly in log KL, in the same replication and at the same rate; KL is the exact one of the first sixth of the run, before policies part.",
		Setup: "GRPO on chain-base, 120 updates of 8 prompts with 8 responses, learner in fp32; rollouts in fp32 but for the router or the head. " + claim.PassRateNote +
			"Pilot runs: exact KL and flips of each format at the shipped weights, seed 9001, without training: routers e8m2 2.8e-3 and 0.08 of the decisions, e8m1 9.1e-3 and 0.14, fp4 0.41 and 0.43; " +
			"heads e8m4 2.2e-4, e8m2 4.1e-3, e8m1 2.2e-2, e2m3 0.22, fp4 1.6. Published gaps flip one decision in ten: the first two routers are the natural level.",
		LeftOut:  "Other lengths and numbers of experts: chain-base has what it has. A rounded router changes the gates of tokens that keep their experts, too. A rounded head shifts the law of every token a little, a flip that of a few tokens much: at equal mean KL the tails are unequal, and that is part of what is measured. Corrections. Ten replications to save compute: eighteen runs each.",
		Commands: []string{"simulate train headline --set 'rollout.numerics={base: fp32, router: e8m1}' --set learner.optimizer.lr=2e-3", "simulate train headline --set 'rollout.numerics={base: fp32, head: e8m1}' --set learner.optimizer.lr=2e-3"},
		Declared: claim.BeforeResults,
		Unit:     claim.Run, Replications: claim.LeastReplications,
		Version: 1,
		Measure: measurePenalty,
		Judge:   judgePenalty,
	}
}

func measurePenalty(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	arms := []claim.Arm{{Name: penaltyNone}}
	for _, r := range penaltyRouters {
		arms = append(arms, claim.Arm{Name: penaltyRouter(r.format), Set: []string{"rollout.numerics={base: fp32, router: " + r.format + "}"}})
	}
	for _, h := range penaltyHeads {
		arms = append(arms, claim.Arm{Name: penaltyHead(h), Set: []string{"rollout.numerics={base: fp32, head: " + h + "}"}})
	}
	o := new(claim.Observation)
	return o, e.TrainArms(ctx, o, claim.Training{Steps: []int{120, 60, 6}, Rates: penaltyRates, Columns: []string{gapKL, routeFlips}, Sixths: true, Arms: arms})
}

// earlyKL is the exact KL of an arm's first updates.
func earlyKL(o *claim.Observation, name string) float64 {
	return o.List(claim.ArmColumn(name, gapKL))[0]
}

// headAt is the late pass rate that rounded heads reach at a KL: between the two of the
// ladder around it, or that of the nearest end.
func headAt(o *claim.Observation, rate string, kl float64) float64 {
	type rung struct{ log, pass float64 }
	var ladder []rung
	for _, h := range penaltyHeads {
		name := claim.AtLR(penaltyHead(h), rate)
		ladder = append(ladder, rung{elementary.Log(earlyKL(o, name)), claim.Late(o.List(name))})
	}
	slices.SortFunc(ladder, func(a, b rung) int { return cmp.Compare(a.log, b.log) })
	at := elementary.Log(kl)
	i := slices.IndexFunc(ladder, func(r rung) bool { return r.log >= at })
	switch i {
	case -1:
		return ladder[len(ladder)-1].pass
	case 0:
		return ladder[0].pass
	}
	below, above := ladder[i-1], ladder[i]
	part := (at - below.log) / (above.log - below.log)
	return below.pass + float64(part*(above.pass-below.pass))
}

func judgePenalty(j *claim.Judge) {
	spared := func(formats ...string) []float64 {
		return j.Each(func(o *claim.Observation) float64 {
			sum := 0.0
			for _, format := range formats {
				for _, rate := range penaltyRates {
					name := claim.AtLR(penaltyRouter(format), rate)
					sum += headAt(o, rate, earlyKL(o, name)) - claim.Late(o.List(name))
				}
			}
			return sum / float64(len(formats)*len(penaltyRates))
		})
	}
	for _, d := range []claim.Level{claim.Natural, claim.Amplified} {
		var formats []string
		for _, r := range penaltyRouters {
			if r.level == d {
				formats = append(formats, r.format)
			}
		}
		j.Primary(claim.Better(d, "pass rate at equal token KL, rounded head minus rounded router", spared(formats...)))
	}
	names := []string{penaltyNone}
	for _, r := range penaltyRouters {
		name := penaltyRouter(r.format)
		j.Secondary(claim.Report(r.level, "pass rate at equal token KL, rounded head minus "+name, spared(r.format)))
		j.Secondary(claim.Report(r.level, "pass rate, no rounding minus "+name, stats.Differences(j.Late(penaltyRates, penaltyNone), j.Late(penaltyRates, name))))
		names = append(names, name)
	}
	for _, h := range penaltyHeads {
		names = append(names, penaltyHead(h))
	}
	j.PassRateBars("Pass rate after training with a rounded router or a rounded head", penaltyRates, names)
	j.Evidence.Table = penaltyTable(j, names)
}

// penaltyTable shows the two figures of each arm next to its pass rate.
func penaltyTable(j *claim.Judge, names []string) *figure.Figure {
	t := &figure.Figure{Kind: figure.Table, Title: "What each rounding does", Note: "Means over replications and learning rates: exact KL of the first sixth of the run, share of router decisions that differ over the whole run, late pass rate.",
		Columns: []figure.Column{{Name: "rollouts"}, {Name: "token KL", Align: figure.Right}, {Name: "flips", Align: figure.Right}, {Name: "pass rate", Align: figure.Right}}}
	for _, name := range names {
		t.Add(figure.Word(name), figure.Number(stats.Average(j.OverRates(penaltyRates, name, earlyKL)), 3),
			figure.Number(stats.Average(j.Average(penaltyRates, name, routeFlips)), 3), figure.Number(stats.Average(j.Late(penaltyRates, name)), 3))
	}
	return t
}
