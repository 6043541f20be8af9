package length

import (
	"context"

	"driftlab/experiments/claims/claim"
	"driftlab/results/stats"
	"driftlab/trainer/method/reward"
)

// penaltyArms are the runs of penalty-starts.
var penaltyArms = []struct {
	name    string
	verbose bool
	limit   int
	parts   func() []reward.Shaper
}{
	{"none, verbose start", true, 0, func() []reward.Shaper { return nil }},
	{"anchor, verbose start", true, 0, func() []reward.Shaper {
		return []reward.Shaper{&reward.Anchor{Coef: 1, Solved: 0.9, By: "prompt"}}
	}},
	{"preset length, verbose start", true, 0, func() []reward.Shaper { return []reward.Shaper{&reward.Step{Coef: 0.5, Target: 45}} }},
	{"none", false, 0, func() []reward.Shaper { return nil }},
	{"group penalty", false, 0, func() []reward.Shaper { return []reward.Shaper{&reward.Group{Coef: 2}} }},
	{"group penalty, warmed up", false, 0, func() []reward.Shaper {
		return []reward.Shaper{&reward.Group{Ramp: reward.Ramp{From: 80, Warmup: 80}, Coef: 2}}
	}},
	{"uniform penalty", false, 0, func() []reward.Shaper { return []reward.Shaper{&reward.Uniform{Coef: 0.02}} }},
	{"cut at 27 tokens", false, 27, func() []reward.Shaper { return nil }},
}

func penaltyStarts() claim.Claim {
	return claim.Claim{
		ID:        "penalty-starts",
		Title:     "From a verbose start, a simulated searcher becomes shorter under a preset length than under an anchor",
		Statement: "A verbose searcher ends at less than 0.8 of the length under a bonus for a preset length that it ends at under an anchor set by its own first solved prompts.",
		Source:    "A practitioner's account of length penalties; LASER, 2505.15612; Kimi k1.5, 2501.12599.",
		Figure:    "an anchor fails from a verbose start, a preset length does not; a warm-up of the group penalty prevents the race to the bottom; truncation is the extreme penalty; the KL loss grows while lengths shrink",
		Threshold: "Length at the end, preset over anchor, from the verbose start: interval below 0.8. Also checked: the anchor over no penalty, below 0.9; pass rate at the end, group penalty warmed up minus at once, above 0; " +
			"length at the end, cut at 27 tokens over a uniform penalty of 0.02 per token, below 1, and the pass rate's difference; correlation of length and KL to the first policy over updates under the uniform penalty, below -0.8.",
		Setup: searcherSetup + "The verbose start gives up with probability 0.12 and stops checking with 0.18, the other one with 0.12 and 0.73. Anchor: coefficient 1, by prompt, set at nine of ten right. Preset length: a bonus of 0.5 for right answers within 45 tokens. " +
			"Group penalty: coefficient 2, at once or from update 80 over 80 updates. The last twelfth of the updates is judged. Nothing was examined before.",
		LeftOut:  "Models; coefficients that are matched in their first effect: penalty-trio has them.",
		Declared: claim.BeforeResults,
		Unit:     claim.Draw,
		Version:  1,
		Measure: func(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
			o := new(claim.Observation)
			for k, a := range penaltyArms {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				first := startOf(searcherStarts[1].giveUp, searcherStarts[1].stop)
				if a.verbose {
					first = startOf(searcherStarts[2].giveUp, searcherStarts[2].stop)
				}
				run := searcherTraining(e, first, 1, 10)
				run.limit, run.parts = a.limit, a.parts()
				_, steps, err := run.train(e.Rand(uint64(10 + k)))
				if err != nil {
					return nil, err
				}
				var length, kl, pass []float64
				for _, s := range steps {
					length, kl, pass = append(length, s.length), append(kl, s.kl/max(s.length, 1)), append(pass, s.pass)
				}
				last := len(steps) - max(len(steps)/12, 1)
				o.Set(a.name, stats.Average(length[last:]), stats.Average(pass[last:]), stats.Spearman(length, kl))
			}
			return o, nil
		},
		Judge: judgePenaltyStarts,
	}
}

func judgePenaltyStarts(j *claim.Judge) {
	length := func(arm string) []float64 { return j.Entry(arm, 0) }
	pass := func(a, b string) []float64 { return stats.Differences(j.Entry(a, 1), j.Entry(b, 1)) }
	j.Primary(claim.RatioBelow(claim.Natural, "length at the end from a verbose start, preset length over anchor", length("preset length, verbose start"), length("anchor, verbose start"), 0.8))
	j.Secondary(claim.RatioBelow(claim.Natural, "length at the end from a verbose start, anchor over no penalty", length("anchor, verbose start"), length("none, verbose start"), 0.9))
	j.Secondary(claim.Above(claim.Natural, "pass rate at the end, group penalty warmed up minus at once", pass("group penalty, warmed up", "group penalty"), 0))
	j.Secondary(claim.Below(claim.Natural, "pass rate at the end, group penalty minus none", pass("group penalty", "none"), 0))
	j.Secondary(claim.RatioBelow(claim.Natural, "length at the end, cut at 27 tokens over uniform penalty", length("cut at 27 tokens"), length("uniform penalty"), 1))
	j.Secondary(claim.Report(claim.Natural, "pass rate at the end, cut at 27 tokens minus uniform penalty", pass("cut at 27 tokens", "uniform penalty")))
	j.Secondary(claim.Below(claim.Natural, "rank correlation of length and KL per token over updates, uniform penalty", j.Entry("uniform penalty", 2), -0.8))
	var names []string
	for _, a := range penaltyArms {
		names = append(names, a.name)
	}
	j.Evidence.Picture = j.Bars("Length at the end", "tokens", false, names, claim.Group{Name: "simulated searchers", Values: func(k int) []float64 { return length(names[k]) }})
	j.Evidence.Table = j.NamedTable("Simulated searchers at the end of training", "figure", []string{"length", "pass rate", "rank correlation of length and KL"}, names...)
}
