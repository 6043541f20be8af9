package experiments

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"driftlab/experiments/measure"
	"driftlab/experiments/studies"
	"driftlab/experiments/study"
	"driftlab/results/record"
	"driftlab/trainer/method"
	"driftlab/trainer/recipe"
)

// headlineRecipe is the shipped recipe all arms of the headline start from.
const headlineRecipe = "headline"

// measuredPrompts is how many prompts the gap is measured on.
const measuredPrompts = 32

// HeadlineArm is one line of the headline: the base recipe with a few fields
// changed.
type HeadlineArm struct {
	// Name names the run folder, Title the line in tables and charts.
	Name, Title string
	// Part is the comparison the arm belongs to.
	Part headlinePart
	// Set are the changes, as --set takes them.
	Set []string
}

// headlinePart is one side-by-side comparison.
type headlinePart string

// The parts of the headline.
const (
	// age has stale rollouts; both engines compute the same bits.
	age headlinePart = "age"
	// router samples with a low-precision router.
	router headlinePart = "router"
)

// control is the arm that all others are compared with: equal engines, fresh weights.
const control = "equal"

// HeadlineArms are the arms of the headline's plan.
var HeadlineArms = sync.OnceValue(func() (arms []HeadlineArm) {
	plan, err := study.Parse("headline.yaml", headlinePlan())
	if err != nil {
		panic("experiments: " + err.Error())
	}
	for _, v := range plan.Factors[0].Values {
		arm := HeadlineArm{Name: v.Name}
		for _, l := range v.Labels {
			if l.Name == "title" {
				arm.Title = l.Text
			} else {
				arm.Part = headlinePart(l.Text)
			}
		}
		for _, c := range slices.Concat(plan.Set, v.Set) {
			arm.Set = append(arm.Set, c.String())
		}
		arms = append(arms, arm)
	}
	return arms
})

// ChooseArms returns the arms of those names, in the order of HeadlineArms; all
// without a name.
func ChooseArms(names []string) ([]HeadlineArm, error) {
	all := slices.Clone(HeadlineArms())
	if len(names) == 0 {
		return all, nil
	}
	var known []string
	for _, arm := range all {
		known = append(known, arm.Name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, method.UnknownName(name, known)
		}
	}
	return slices.DeleteFunc(all, func(arm HeadlineArm) bool { return !slices.Contains(names, arm.Name) }), nil
}

// parts are the comparisons that have an arm.
func (h *HeadlineResult) parts() []headlinePart {
	var parts []headlinePart
	for _, arm := range h.Arms {
		if !slices.Contains(parts, arm.Part) {
			parts = append(parts, arm.Part)
		}
	}
	return parts
}

// HeadlineOptions are the choices of a headline.
type HeadlineOptions struct {
	Options
	// Arms are the names of the arms to run, in any order; nil means all.
	Arms []string
	// Seeds are the seeds of every arm; nil means 1, 2, 3.
	Seeds []uint64
	// Set are further changes to every arm.
	Set []string
	// Measured is called when the gap table is ready, before any training.
	Measured func(*measure.Measurement)
}

// HeadlineResult is everything the headline found.
type HeadlineResult struct {
	// Gap is the measurement at equal weights.
	Gap *measure.Measurement
	// NoEffects are the parts of the arms that cannot act.
	NoEffects []recipe.NoEffect
	// Arms are the lines, and Runs their records, seeds in order.
	Arms []HeadlineArm
	Runs [][]*record.Record
}

// HeadlineRecipes are those of arms, with further changes.
func HeadlineRecipes(arms []HeadlineArm, set []string) ([]recipe.Recipe, error) {
	var recipes []recipe.Recipe
	for _, arm := range arms {
		r, err := recipe.Load(headlineRecipe, append(append([]string{"name=" + arm.Name}, arm.Set...), set...)...)
		if err != nil {
			return nil, fmt.Errorf("headline arm %s: %w", arm.Name, err)
		}
		recipes = append(recipes, r)
	}
	return recipes, nil
}

// Headline measures the gap between engines at equal weights, then provokes
// collapses and tries the fixes, side by side over the same seeds. It shows
// what happens; nothing in it knows what should.
func Headline(ctx context.Context, o HeadlineOptions) (*HeadlineResult, error) {
	arms, err := ChooseArms(o.Arms)
	if err != nil {
		return nil, err
	}
	out := &HeadlineResult{Arms: arms}
	seeds := o.Seeds
	if len(seeds) == 0 {
		seeds = []uint64{1, 2, 3}
	}
	base, err := recipe.Load(headlineRecipe, o.Set...)
	if err != nil {
		return nil, err
	}
	base.Seed = seeds[0]
	sampled := base
	sampled.Rollout.Prompts = measuredPrompts
	out.Gap, err = measure.Gaps(ctx, measure.GapRequest{Recipe: sampled, Pairs: measure.UsualPairs(), Workers: o.Workers})
	if err != nil {
		return nil, err
	}
	if o.Measured != nil {
		o.Measured(out.Gap)
	}
	recipes, err := HeadlineRecipes(arms, o.Set)
	if err != nil {
		return nil, err
	}
	out.NoEffects = recipe.NoEffects(recipes...)
	records, err := Compare(ctx, recipes, seeds, o.Options)
	if err != nil {
		return nil, err
	}
	for i := range recipes {
		out.Runs = append(out.Runs, records[i*len(seeds):(i+1)*len(seeds)])
	}
	return out, nil
}

// headlinePlan is the text of the plan.
func headlinePlan() []byte {
	text, _ := studies.Plan("headline")
	return text
}
