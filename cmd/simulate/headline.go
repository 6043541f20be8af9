package main

import (
	"fmt"
	"slices"
	"strings"

	"driftlab/experiments/studies"
	"driftlab/experiments/study"
	"driftlab/trainer/method"
	"driftlab/trainer/recipe"
)

type headlineCmd struct {
	Arms  []string `help:"Run only these arms; names below." placeholder:"NAME" complete:"arms"`
	Seeds number   `help:"Number of consecutive seeds, from --seed or 1." default:"3" min:"1" max:"100000" placeholder:"N"`
	common
}

func (*headlineCmd) Help() string {
	var arms strings.Builder
	for _, arm := range mainArms() {
		fmt.Fprintf(&arms, "  %-22s %s\n", arm.Name, arm.Labels[0].Text)
	}
	return `The main job, which runs without a command: a small map of where training is stable. Each arm trains at four learning rates
on three base models, one for each seed, which are made first: equal engines, stale rollouts (off-policy lag of 16 updates)
and a 4-bit router in the rollout engine, each without and with two corrections. It takes about four minutes on two cores,
and says first how long it will take here. Not in it: other lags, gaps, tasks and corrections, and runs of 1,000 updates.
The studies stability/staleness and stability/gap have those.

Examples:
  simulate
  simulate --seeds 5 --out runs/five
  simulate --json -q
  simulate --set steps=40 --seeds 1              # a quick look
  simulate --set checkpoint=chain-base           # all on the shipped base model
  simulate --arms equal,lag16,lag16-opsm         # three of the arms

The arms:
` + arms.String()
}

// mainPlan is the plan of the main job.
func mainPlan() *study.Plan {
	text, _ := studies.Plan("headline")
	plan, err := study.Parse("headline.yaml", text)
	if err != nil {
		panic("simulate: " + err.Error()) // a test reads it
	}
	return plan
}

// mainArms are the arms of the main job.
func mainArms() []study.Value { return mainPlan().Factors[0].Values }

// chooseArms leaves the arms of those names in a plan; all without a name.
func chooseArms(plan *study.Plan, names []string) error {
	arms := &plan.Factors[0].Values
	var known []string
	for _, arm := range *arms {
		known = append(known, arm.Name)
	}
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
	plan := mainPlan()
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
