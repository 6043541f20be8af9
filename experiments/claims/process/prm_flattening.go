package process

import (
	"context"
	"strconv"

	"driftlab/experiments/claims/claim"
	"driftlab/results/stats"
	"driftlab/trainer/method"
	"driftlab/trainer/recipe"
)

// stepValues has few completions say what a prefix is worth.
const stepValues = "prefix_values={by: completions, completions: 4}"

// flatteningArms are what is made of the policy's own step scores.
var flatteningArms = []struct {
	name string
	set  []string
}{
	{"outcome alone", []string{"reward=exact"}},
	{"summed", []string{"reward=[exact, marginal_utility]", stepValues}},
	{"by step", []string{"reward=[exact, marginal_utility]", stepValues, "advantage={name: process, credit: step}"}},
	{"by step, shuffled", []string{"reward=[exact, {name: marginal_utility, placebo: shuffled}]", stepValues, "advantage={name: process, credit: step}"}},
	{"to come", []string{"reward=[exact, marginal_utility]", stepValues, "advantage=process"}},
}

// The places of the arms.
const (
	armOutcome = iota
	armSummed
	armStep
	armShuffled
	armToCome
)

// flatteningTrained is how many of them are trained with.
const flatteningTrained = armToCome

func prmFlattening() claim.Claim {
	return claim.Claim{
		ID:        "prm-flattening",
		Title:     "Step scores that are summed before normalisation lose where the mistake was",
		Statement: "Advantages that keep step scores in their place correlate better with what each step did to the chance of success than advantages of the summed scores do.",
		Source:    "A practitioner's account of process rewards in verl; process supervision of 2402.03300; VinePPO, 2410.01679.",
		Figure:    "a group estimator collapses token rewards into one number per answer",
		Threshold: "Pearson's correlation, over the episodes of sampled responses, of the advantage with the change in the share of 64 completions that are right: by step minus summed, t-interval above 0. " +
			"Reported: the pass rate after training by step minus with shuffled scores, exact sign-flip test; summed minus outcome alone, inside half of that; the sum to come and VinePPO's placement.",
		Setup: "Scores are the changes in the share of 4 completions that are right, of other random numbers than the 64. Frozen weights: 24 prompts of 3 to 8 operations, 8 responses each. " +
			"Training: 48 steps on programs of 5 to 10 operations at learning rate 1e-3 from a warm start on 3 to 8, the same responses per step in every arm; mean pass rate of three evaluations on 128 held-out prompts. " +
			"Pilot runs on another seed: by the likelihood of the answer a step's score knows little here, where no demonstration answers early.",
		LeftOut:  "An arm of outcomes alone with as many tokens as the others spend on values, which the table counts: ten times as many responses.",
		Commands: []string{"simulate train headline --set 'reward=[exact, marginal_utility]' --set 'prefix_values={by: completions}' --set 'advantage={name: process, credit: step}' --set task.difficulty=[5,10]"},
		Declared: claim.BeforeResults,
		Unit:     claim.Run, Replications: 10,
		Version: 2,
		Measure: measureFlattening,
		Judge:   judgeFlattening,
	}
}

func measureFlattening(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	m, err := enter(ctx, e, e.Pick(24, 8, 2))
	if err != nil {
		return nil, err
	}
	defer m.engine.Close()
	m.value(with(func(v *recipe.PrefixValues) {
		v.By, v.Completions = recipe.ByCompletions, e.Pick(trueCompletions, 16, 4)
	}), e.Seed)
	truth := m.utilities()
	var agree []float64
	add := func(set ...string) error {
		a, err := m.advantages(set...)
		agree = append(agree, correlation(a, truth))
		return err
	}
	m.value(with(func(v *recipe.PrefixValues) { v.By = recipe.ByCompletions }), e.Seed+1<<32)
	for _, arm := range flatteningArms {
		if err := add(arm.set...); err != nil {
			return nil, err
		}
	}
	if err := add("reward=exact", stepValues, "advantage=vine"); err != nil {
		return nil, err
	}
	m.value(*method.New[recipe.PrefixValues](), e.Seed)
	if err := add(flatteningArms[armStep].set...); err != nil {
		return nil, err
	}
	o.Set("correlation", agree...)
	var rate, generated, valued []float64
	steps := e.Pick(48, 12, 3)
	for k, arm := range flatteningArms[:flatteningTrained] {
		columns := []string{"val/learner/pass_rate", "response_length/mean", "prefix_values/tokens"}
		set := append([]string{"task.difficulty=[5, 10]", claim.SetLR("1e-3"), "eval={every: " + evaluated(steps) + ", prompts: 128}"}, arm.set...)
		if k == armOutcome {
			columns = columns[:2]
		}
		c, err := e.Train(ctx, columns, steps, set...)
		if err != nil {
			return nil, err
		}
		rate, generated, valued = append(rate, stats.Average(c[0][len(c[0])-3:])), append(generated, 64*total(c[1])), append(valued, total(c[2:]...))
	}
	o.Set("pass rate", rate...)
	o.Set("tokens generated", generated...)
	o.Set("tokens valued", valued...)
	return o, nil
}

// evaluated is every third part of a run, in steps.
func evaluated(steps int) string { return strconv.Itoa(max(steps/3, 1)) }

func total(columns ...[]float64) (sum float64) {
	for _, c := range columns {
		for _, v := range c {
			sum += v
		}
	}
	return sum
}

func judgeFlattening(j *claim.Judge) {
	j.Primary(claim.Above(claim.Natural, "correlation with the true utility, by step minus summed",
		stats.Differences(j.Entry("correlation", armStep), j.Entry("correlation", armSummed)), 0))
	effect := stats.Differences(j.Entry("pass rate", armStep), j.Entry("pass rate", armShuffled))
	j.Secondary(claim.Better(claim.Natural, "pass rate, by step minus shuffled", effect))
	j.Secondary(claim.Same(claim.Natural, "pass rate, summed minus outcome alone", stats.Differences(j.Entry("pass rate", armSummed), j.Entry("pass rate", armOutcome)), effect))
	j.Secondary(claim.Better(claim.Natural, "pass rate, by step minus outcome alone", stats.Differences(j.Entry("pass rate", armStep), j.Entry("pass rate", armOutcome))))
	j.Secondary(claim.Report(claim.Natural, "correlation, sum to come", j.Entry("correlation", armToCome)))
	j.Secondary(claim.Report(claim.Natural, "correlation, VinePPO's placement", j.Entry("correlation", len(flatteningArms))))
	j.Secondary(claim.Report(claim.Natural, "correlation, by step with the likelihood", j.Entry("correlation", len(flatteningArms)+1)))
	var names []string
	for _, arm := range flatteningArms {
		names = append(names, arm.name)
	}
	j.Evidence.Picture = j.Bars("What an advantage knows of what its step did", "correlation with the true change in the chance of success", false,
		append(names[:len(names):len(names)], "VinePPO", "by step, likelihood"), j.Listed("correlation", "correlation"))
	j.Evidence.Table = j.NamedTable("Arms", "scores", names[:flatteningTrained], "correlation", "pass rate", "tokens generated", "tokens valued")
}
