package length

import (
	"context"
	"fmt"
	"slices"

	"driftlab/experiments/claims/claim"
	"driftlab/results/figure"
	"driftlab/results/stats"
)

// growthSteps is how long the runs of hard-growth are.
const growthSteps = 80

// growthArms are its arms: the mix of prompts, and what others have suspected.
var growthArms = []struct {
	name string
	set  []string
}{
	{"hard tail", []string{"rollout.pool={prompts: 128}"}},
	{"hard prompts removed", nil}, // halfway, see growthSet
	{"easy only", []string{"task.difficulty=[1, 3]", "rollout.pool={prompts: 128}"}},
	{"hard tail, KL 0.01", []string{"rollout.pool={prompts: 128}", "kl={name: k3, coef: 0.01}"}},
	{"hard tail, 1/length", []string{"rollout.pool={prompts: 128}", "loss.aggregation=seq-mean-token-mean"}},
	{"hard tail, constant divisor", []string{"rollout.pool={prompts: 128}", "loss.aggregation=seq-mean-token-sum-norm:96"}},
}

func hardGrowth() claim.Claim {
	return claim.Claim{
		ID:        "hard-growth",
		Title:     "On the search task at learning rate 3e-4, responses grow faster with a hard tail of prompts than after its removal",
		Statement: "In the latter half of training, lengths rise faster with a hard tail of prompts than after those with a pass rate below 0.3 have been removed.",
		Source:    "A practitioner's account of length dynamics; 2501.12948 for the growth itself.",
		Figure:    "a narrow set hovers near 600 tokens; a hard one grows in a U shape over 1,000 updates; KL 0.01 or another aggregation changes nothing; without prompts below a pass rate of 0.3 the growth ends",
		Threshold: "Slope of the mean length over the latter half of the steps, hard tail minus hard prompts removed at half time, tokens per 10 steps: t-interval above 0. " +
			"Reported: the slope with the hard tail above 0; the slopes after the removal and of easy prompts alone, and the changes by KL and by aggregation, inside half of that difference.",
		Setup: "GRPO on the search task with 128 prompts whose root is found with 1 to 10 candidates (easy: 1 to 3), 80 steps at learning rate 3e-4, limit 96 tokens; no reward for length. " +
			"The warm start gives up early, checks some finds twice and answers in 20 tokens. What is hard is known from 16 responses of it to each prompt; the source took a checkpoint after 100 updates. " +
			"Pilot runs on other seeds: that patience 0.8 and rechecks of 0.25 in the demonstrations leave room to grow; that at 5e-4 one run of two had done its growing by half time.",
		LeftOut: "A thousand updates: here half of the growth takes forty.",
		Commands: []string{"simulate train headline --set checkpoint=search-base --set 'task={name: search, difficulty: [1, 10], operations: 2}' --set rollout.max_tokens=96 --set steps=80 --set learner.optimizer.lr=3e-4 " +
			"--set 'rollout.pool={prompts: 128, keep: [0.3, 1], from: 40}'"},
		Declared: claim.BeforeResults,
		Unit:     claim.Run,
		Version:  1,
		Measure:  measureGrowth,
		Judge:    judgeGrowth,
	}
}

func measureGrowth(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	steps := e.Pick(growthSteps, 20, 4)
	for _, arm := range growthArms {
		set := slices.Clone(arm.set)
		if set == nil {
			set = []string{growthRemoval(steps / 2)}
		}
		lengths, _, err := searchRun(ctx, e, steps, append(set, claim.SetLR("3e-4"))...)
		if err != nil {
			return nil, err
		}
		o.Set(arm.name, lengths...)
		total := 0.0
		for _, l := range lengths {
			total += float64(64 * l)
		}
		o.Set(arm.name+", tokens", total)
	}
	return o, nil
}

// growthRemoval leaves out the hard prompts from a step on.
func growthRemoval(from int) string {
	if from < growthSteps/2 { // a preview's shipped weights are better
		return "rollout.pool={prompts: 128, keep: [0.3, 1], samples: 4}"
	}
	return "rollout.pool={prompts: 128, keep: [0.3, 1], from: 40}"
}

// lateSlopes are tokens per ten steps in the latter half of an arm's runs.
func lateSlopes(j *claim.Judge, arm string) []float64 {
	return j.Each(func(o *claim.Observation) float64 {
		y := o.List(arm)
		y = y[len(y)/2:]
		return 10 * stats.Slope(claim.Counting(len(y)), y)
	})
}

func judgeGrowth(j *claim.Judge) {
	tail, removed := lateSlopes(j, growthArms[0].name), lateSlopes(j, growthArms[1].name)
	effect := stats.Differences(tail, removed)
	j.Primary(claim.Above(claim.Natural, "late slope, hard tail minus removed", effect, 0))
	j.Secondary(claim.Above(claim.Natural, "late slope, hard tail", tail, 0))
	j.Secondary(claim.Same(claim.Natural, "late slope, hard prompts removed", removed, effect))
	j.Secondary(claim.Same(claim.Natural, "late slope, easy only", lateSlopes(j, growthArms[2].name), effect))
	for _, arm := range growthArms[3:] {
		j.Secondary(claim.Same(claim.Natural, "late slope, "+arm.name+" minus hard tail", stats.Differences(lateSlopes(j, arm.name), tail), effect))
	}
	steps := len(j.Runs[0].List(growthArms[0].name))
	x := claim.Counting(steps)
	var columns []string
	for _, arm := range growthArms {
		columns = append(columns, arm.name)
	}
	j.Note("Generated tokens of a run, which are those trained: %.0f thousand with the hard tail, %.0f with the removal, %.0f of easy prompts alone.",
		stats.Average(j.Column(columns[0]+", tokens"))/1000, stats.Average(j.Column(columns[1]+", tokens"))/1000, stats.Average(j.Column(columns[2]+", tokens"))/1000)
	j.Evidence.Picture = claim.Chart("Mean response length in training", "step", "tokens", "Means of eight steps. Hard prompts leave one arm at half time.", false,
		growthArm(j, columns[0]), growthArm(j, columns[1]), growthArm(j, columns[2]))
	j.Evidence.Table = j.CurvesTable("Mean length", "step", x, columns...)
}

// growthArm are an arm's lengths as means of eight steps: what a step asks is chance.
func growthArm(j *claim.Judge, arm string) figure.Series {
	const block = 8
	a := figure.Series{Name: arm}
	for i, o := range j.Runs {
		curve := figure.Series{Name: fmt.Sprintf("seed %d", j.Seeds[i])}
		lengths := o.List(arm)
		for from := 0; from < len(lengths); from += block {
			to := min(from+block, len(lengths))
			curve.X, curve.Y = append(curve.X, float64(from+to+1)/2), append(curve.Y, stats.Average(lengths[from:to]))
		}
		a.Seeds = append(a.Seeds, curve)
	}
	return a
}
