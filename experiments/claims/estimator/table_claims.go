package estimator

import (
	"context"

	"driftlab/experiments/claims/claim"
	"driftlab/results/stats"
)

const tableSetup = "A table of logits in the place of a model: 32 prompts, responses of four tokens of eight, one right token at each place; one response in four is right at first. GRPO with the program's losses, corrections and rewards, 48 updates of 8 groups of 8 responses, Adam at rates 0.1 and 0.2. " +
	"Judged is the exact pass rate, mean over the last third of the updates and over both rates. "

// tableStale are the arms of table-staleness.
var tableStale = []tableArm{
	{name: "PPO, lag 0"},
	{name: "PPO, lag 16", lag: 16, anchor: "behaviour"},
	{name: "online DPO, lag 0", set: []string{"loss=online_dpo"}},
	{name: "online DPO, lag 16", set: []string{"loss=online_dpo"}, lag: 16},
	{name: "bypass, lag 1", set: []string{"correction.mode=bypass"}, lag: 1},
	{name: "PPO, lag 4", lag: 4, anchor: "behaviour"},
	{name: "PPO, eight updates per batch", prompts: 64, minibatches: 8},
	{name: "no mask, lag 16", lag: 16},
	{name: "OPSM, lag 16", set: []string{"correction.masks=[{name: opsm, delta: 0.01}]"}, lag: 16},
	{name: "random mask, lag 16", set: []string{"correction.masks=[{name: random_mask, rate: 0.25}]"}, lag: 16},
	{name: "no mask, lag 4", lag: 4},
	{name: "equal groups refused", refuse: true},
	{name: "OAPL, lag 400", set: []string{"loss={name: oapl, beta2: 0.1}"}, lag: 400, updates: 480},
	{name: "PPO, lag 400", lag: 400, updates: 480, anchor: "behaviour"},
}

func tableStaleness() claim.Claim {
	return claim.Claim{
		ID:        "table-staleness",
		Title:     "Without a model, online DPO loses less pass rate to a lag of 16 updates than PPO (tables of logits)",
		Statement: "Going from no lag to rollouts of staleness 16 costs online DPO less pass rate than it costs PPO with its clip to the sampler's policy.",
		Source:    "Asynchronous RLHF, 2410.18252; OAPL, 2602.19362; DAPO, 2503.14476; practitioners' accounts of off-policy training.",
		Figure:    "online DPO stands lag best; one update of lag is mild and bypass handles it; staleness is worse than the drift of several updates per batch; OPSM wastes signal; masks per response are better than a global bound; eliminating zero variance pays; OAPL is stable at lags above 400",
		Threshold: "Pass rate lost to a lag of 16, PPO minus online DPO: interval above 0. Also checked: bypass at a lag of 1 minus on-policy, inside ±0.05; eight updates per batch minus a lag of 4, above 0; random mask of a quarter of the tokens minus OPSM, above 0; " +
			"OPSM at a lag of 16 minus no mask at a lag of 4, above 0; groups of equal reward drawn again minus all groups, above 0; OAPL at a lag of 400 minus the pass rate at first, above 0, and minus PPO.",
		Setup:    tableSetup + "At lag 16, 4 and 400 PPO compares with the sampler's policy; eight updates per batch have a mean staleness of 3.5. OPSM has delta 0.01. A lag of 400 is trained for 480 updates: 400 of them on the first policy's responses. Pilot: one draw of seed 9001, whose figures were seen; nothing was changed.",
		LeftOut:  "Models: lag-tolerance, stale-masks, bound-or-mask and label-noise ask the same of a transformer.",
		Commands: []string{"simulate reproduce lag-tolerance"},
		Declared: claim.BeforeResults,
		Unit:     claim.Draw,
		Version:  1,
		Measure:  measureTable(tableStale),
		Judge: func(j *claim.Judge) {
			lost := j.Each(func(o *claim.Observation) float64 {
				return o.Number("PPO, lag 0") - o.Number("PPO, lag 16") - (o.Number("online DPO, lag 0") - o.Number("online DPO, lag 16"))
			})
			j.Primary(claim.Above(claim.Natural, "pass rate lost to a lag of 16, PPO minus online DPO", lost, 0))
			j.Secondary(claim.Inside(claim.Natural, "pass rate, bypass at a lag of 1 minus on-policy", tableMinus(j, "bypass, lag 1", "PPO, lag 0"), 0.05))
			j.Secondary(claim.Above(claim.Natural, "pass rate, eight updates per batch minus a lag of 4", tableMinus(j, "PPO, eight updates per batch", "PPO, lag 4"), 0))
			j.Secondary(claim.Above(claim.Natural, "pass rate, random mask minus OPSM, lag 16", tableMinus(j, "random mask, lag 16", "OPSM, lag 16"), 0))
			j.Secondary(claim.Above(claim.Natural, "pass rate, OPSM minus no mask, lag 16", tableMinus(j, "OPSM, lag 16", "no mask, lag 16"), 0))
			j.Secondary(claim.Above(claim.Natural, "pass rate, OPSM at a lag of 16 minus no mask at a lag of 4", tableMinus(j, "OPSM, lag 16", "no mask, lag 4"), 0))
			j.Secondary(claim.Above(claim.Natural, "pass rate, equal groups refused minus all groups", tableMinus(j, "equal groups refused", "PPO, lag 0"), 0))
			j.Secondary(claim.Above(claim.Natural, "pass rate, OAPL at a lag of 400 minus at first", tableMinus(j, "OAPL, lag 400", "at first"), 0))
			j.Secondary(claim.Above(claim.Natural, "pass rate, OAPL minus PPO at a lag of 400", tableMinus(j, "OAPL, lag 400", "PPO, lag 400"), 0))
			drawTable(j, tableStale)
		},
	}
}

var (
	tableReject = "correction.weights={name: sequence_mis, high: 2}"
	tableWeight = "correction.weights={name: token_tis, cap: 2}"
)

// tableGap are the arms of table-mismatch.
var tableGap = []tableArm{
	{name: "mismatch, none", noise: true},
	{name: "mismatch, weights", set: []string{tableWeight}, noise: true},
	{name: "mismatch, rejection", set: []string{tableReject}, noise: true},
	{name: "stale, none", lag: 16},
	{name: "stale, weights", set: []string{tableWeight}, lag: 16},
	{name: "stale, clip", lag: 16, anchor: "behaviour"},
	{name: "both, none", noise: true, lag: 16},
	{name: "both, weights", set: []string{tableWeight}, noise: true, lag: 16},
	{name: "both, rejection", set: []string{tableReject}, noise: true, lag: 16},
	{name: "both, clip", noise: true, lag: 16, anchor: "behaviour"},
	{name: "both, rejection and clip", set: []string{tableReject}, noise: true, lag: 16, anchor: "behaviour"},
	{name: "cap 1.2, clip 0.1", set: gridSet("1.2", "0.1"), noise: true, prompts: 32, minibatches: 4},
	{name: "cap 1.2, clip 0.4", set: gridSet("1.2", "0.4"), noise: true, prompts: 32, minibatches: 4},
	{name: "cap 5, clip 0.1", set: gridSet("5", "0.1"), noise: true, prompts: 32, minibatches: 4},
	{name: "cap 5, clip 0.4", set: gridSet("5", "0.4"), noise: true, prompts: 32, minibatches: 4},
	{name: "late, matched", updates: 72},
	{name: "late, mismatch", updates: 72, noise: true, from: 48},
	{name: "early, matched", updates: 24},
	{name: "early, mismatch", updates: 24, noise: true},
}

func gridSet(cap, clip string) []string {
	return []string{"correction.weights={name: token_tis, cap: " + cap + "}", "loss={name: ppo_clip, eps_low: " + clip + ", eps_high: " + clip + "}"}
}

func tableMismatch() claim.Claim {
	return claim.Claim{
		ID:        "table-mismatch",
		Title:     "Without a model, following a decision tree ends at a higher pass rate than no correction under mismatch, staleness and both (tables of logits)",
		Statement: "Over a mismatch with heavy tails, rollouts of staleness 16, and both, rejection, a clip to the sampler's policy, and both of these end at a higher mean pass rate than no correction.",
		Source:    "A survey of training-inference mismatch: its decision tree and its order of escalation; a practitioner's account of off-policy training.",
		Figure:    "the decision tree's recommendations work; rejection first, then weights, then the system; only layered combinations suffice; TIS and PPO's clip can be tuned apart; one mismatch is benign early and lethal late",
		Threshold: "Pass rate, the tree's correction minus none, mean of three problems: interval above 0. Also checked: the tree minus token TIS everywhere; under the mismatch, rejection minus weights; matched engines minus rejection; under both problems, rejection with a clip minus the better of its parts; " +
			"cap 1.2 minus cap 5 at a clip of 0.1, minus the same at 0.4, inside ±0.05; pass rate lost to 24 updates with the mismatch, late minus early.",
		Setup:    tableSetup + "The mismatch is a random difference of the rollout engine's logits: standard deviation 0.1, and 3 for one token in twenty. Late: it is there from update 48 to 72; early: for the first 24. Pilot: one draw of seed 9001, whose figures were seen; nothing was changed.",
		LeftOut:  "Models: tree-policy, weight-and-clip and gap-timing ask the same of a transformer. Thresholds of 2, 4, 10 % and 25 %.",
		Commands: []string{"simulate reproduce tree-policy"},
		Declared: claim.BeforeResults,
		Unit:     claim.Draw,
		Version:  1,
		Measure:  measureTable(tableGap),
		Judge: func(j *claim.Judge) {
			mean := func(a, b [3]string) []float64 {
				return j.Each(func(o *claim.Observation) (x float64) {
					for i := range a {
						x += (o.Number(a[i]) - o.Number(b[i])) / 3
					}
					return x
				})
			}
			tree := [3]string{"mismatch, rejection", "stale, clip", "both, rejection and clip"}
			j.Primary(claim.Above(claim.Natural, "pass rate, tree minus none, three problems", mean(tree, [3]string{"mismatch, none", "stale, none", "both, none"}), 0))
			j.Secondary(claim.Above(claim.Natural, "pass rate, tree minus token TIS, three problems", mean(tree, [3]string{"mismatch, weights", "stale, weights", "both, weights"}), 0))
			j.Secondary(claim.Above(claim.Natural, "pass rate, rejection minus weights, mismatch", tableMinus(j, "mismatch, rejection", "mismatch, weights"), 0))
			j.Secondary(claim.Above(claim.Natural, "pass rate, rejection minus none, mismatch", tableMinus(j, "mismatch, rejection", "mismatch, none"), 0))
			j.Secondary(claim.Above(claim.Natural, "pass rate, rejection and clip minus the better of them alone, both problems", j.Each(func(o *claim.Observation) float64 {
				return o.Number("both, rejection and clip") - max(o.Number("both, rejection"), o.Number("both, clip"))
			}), 0))
			j.Secondary(claim.Inside(claim.Natural, "pass rate, cap 1.2 minus cap 5 at clip 0.1, minus the same at clip 0.4",
				stats.Differences(tableMinus(j, "cap 1.2, clip 0.1", "cap 5, clip 0.1"), tableMinus(j, "cap 1.2, clip 0.4", "cap 5, clip 0.4")), 0.05))
			j.Secondary(claim.Above(claim.Natural, "pass rate lost to 24 updates with the mismatch, late minus early",
				stats.Differences(tableMinus(j, "late, matched", "late, mismatch"), tableMinus(j, "early, matched", "early, mismatch")), 0))
			drawTable(j, tableGap)
		},
	}
}

// tablePass are the arms of table-passk.
var tablePass = []tableArm{
	{name: "pass@1", set: []string{"advantage.std=false"}},
	{name: "pass@4", set: []string{"advantage.std=false", "reward={name: pass_at_k, k: 4}"}},
	{name: "pass@4, then pass@1", set: []string{"advantage.std=false", "reward={name: pass_at_k, k: 4, until: 24}"}},
}

func tablePassK() claim.Claim {
	return claim.Claim{
		ID:        "table-passk",
		Title:     "Without a model, training on pass@4 and then on pass@1 ends at a higher pass rate than pass@4 throughout (tables of logits)",
		Statement: "After 48 updates, a policy trained on pass@4 for 24 and on pass@1 for 24 has a higher pass rate than one trained on pass@4 for all.",
		Source:    "Pass@k training, 2508.10751; PKPO, 2505.15201; a practitioner's account of pass@k.",
		Figure:    "training must return to pass@1, or it stays on a plateau",
		Threshold: "Pass rate, switched minus pass@4 throughout: interval above 0. Also checked: switched minus pass@1 throughout, inside ±0.05.",
		Setup:     tableSetup + "Advantages are not divided by the group's deviation. Pilot: one draw of seed 9001, whose figures were seen; nothing was changed.",
		LeftOut:   "Models: passk-then-one asks the same of a transformer.",
		Commands:  []string{"simulate reproduce passk-then-one"},
		Declared:  claim.BeforeResults,
		Unit:      claim.Draw,
		Version:   1,
		Measure:   measureTable(tablePass),
		Judge: func(j *claim.Judge) {
			j.Primary(claim.Above(claim.Natural, "pass rate, pass@4 and then pass@1, minus pass@4", tableMinus(j, "pass@4, then pass@1", "pass@4"), 0))
			j.Secondary(claim.Inside(claim.Natural, "pass rate, pass@4 and then pass@1, minus pass@1", tableMinus(j, "pass@4, then pass@1", "pass@1"), 0.05))
			drawTable(j, tablePass)
		},
	}
}

// measureTable makes the runs of some arms, each at every rate.
func measureTable(arms []tableArm) func(context.Context, *claim.Env) (*claim.Observation, error) {
	return func(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
		o, run := new(claim.Observation), newTableRun(e.Rand(1))
		o.Set("at first", passRate(run.first[:]))
		for k, a := range arms {
			mean := 0.0
			for i, rate := range tableRates {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				if e.Size == claim.Tiny {
					a.updates = 6
				}
				x, err := run.train(e.Rand(uint64(10*k+i+2)), a, rate)
				if err != nil {
					return nil, err
				}
				mean += x / float64(len(tableRates))
			}
			o.Set(a.name, mean)
		}
		return o, nil
	}
}

func tableMinus(j *claim.Judge, a, b string) []float64 {
	return stats.Differences(j.Column(a), j.Column(b))
}

func drawTable(j *claim.Judge, arms []tableArm) {
	var names []string
	for _, a := range arms {
		names = append(names, a.name)
	}
	j.Evidence.Picture = j.Bars("Pass rate by arm", "pass rate", false, names, claim.Group{Name: "tables of logits", Values: func(k int) []float64 { return j.Column(names[k]) }})
}
