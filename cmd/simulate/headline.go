package main

import (
	"slices"
	"strings"

	"driftlab/experiments/studies"
	"driftlab/experiments/study"
	"driftlab/results/stats"
	"driftlab/trainer/method"
	"driftlab/trainer/recipe"
)

type headlineCmd struct {
	Arms  []string `help:"Run only these arms; names below." placeholder:"NAME" complete:"arms"`
	Seeds number   `help:"Number of consecutive seeds, from --seed or 1." default:"3" min:"1" max:"100000" placeholder:"N"`
	common
}

// shippedPlan is the plan of that name in package studies.
func shippedPlan(name string) *study.Plan {
	text, _ := studies.Plan(name)
	plan, err := study.Parse(name+".yaml", text)
	if err != nil {
		panic("simulate: " + err.Error()) // tests read them all
	}
	return plan
}

// mainArms are the arms of the main job.
func mainArms() []study.Value { return shippedPlan("headline").Factors[0].Values }

// chooseArms leaves the arms of those names in a plan; all without a name.
func chooseArms(plan *study.Plan, names []string) error {
	arms := &plan.Factors[0].Values
	known := stats.Map(*arms, func(arm study.Value) string { return arm.Name })
	for _, name := range names {
		if !slices.Contains(known, name) {
			return bad("--arms: %w", method.UnknownName(name, known))
		}
	}
	if len(names) > 0 {
		*arms = slices.DeleteFunc(*arms, func(arm study.Value) bool { return !slices.Contains(names, arm.Name) })
	}
	return nil
}

// Run makes the runs of the main job and shows them.
func (c *headlineCmd) Run(a *app) error {
	plan := shippedPlan("headline")
	if err := chooseArms(plan, c.Arms); err != nil {
		return err
	}
	base, err := c.load("headline")
	if err != nil {
		return err
	}
	if plan.Seeds, err = seedsFrom(base.Seed, int(c.Seeds)); err != nil {
		return err
	}
	changes, err := c.changes()
	if err != nil {
		return err
	}
	plan.Set = append(plan.Set, slices.DeleteFunc(changes, func(c recipe.Change) bool { return strings.HasPrefix(c.String(), "seed=") })...)
	return a.runStudy(studyRun{plan: plan, maker: mainPage, loss: c.choosesLoss(), announce: true, common: &c.common})
}
