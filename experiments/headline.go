package experiments

import (
	"context"
	"fmt"
	"slices"

	"driftlab/experiments/measure"
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
type headlinePart int

// The parts of the headline, in the order they are shown.
const (
	// age has stale rollouts; both engines compute the same bits.
	age headlinePart = iota
	// router samples with a low-precision router.
	router
)

// control is the arm that all others are compared with: equal engines, fresh weights.
const control = "equal"

// HeadlineArms are the runs of the headline: ordinary GRPO, positives and
// negatives, at a learning rate that the control bears.
func HeadlineArms() []HeadlineArm {
	const (
		old    = "schedule={name: lag, k: 16}"
		coarse = "rollout.numerics={base: bf16, router: fp4_e2m1}"
		tis    = "correction.weights={name: token_tis, cap: 2}"
		bypass = "correction.mode=bypass"
	)
	arms := []HeadlineArm{
		{control, "equal engines", age, nil},
		{"lag16", "off-policy lag 16, uncorrected", age, []string{old}},
		{"lag16-opsm", "off-policy lag 16, OPSM", age, []string{old, "correction.masks=[{name: opsm, delta: 0.05}]"}},
		{"lag16-bypass", "off-policy lag 16, clip against the rollout", age, []string{old, bypass}},
		{"lag16-token-tis", "off-policy lag 16, token TIS", age, []string{old, tis}},
		{"router4", "4-bit router, uncorrected", router, []string{coarse}},
		{"router4-r3", "4-bit router, R3 replay", router, []string{coarse, "routing.replay=r3"}},
		{"router4-sequence-tis", "4-bit router, sequence TIS", router, []string{coarse, "correction.weights=sequence_tis"}},
		{"router4-token-tis", "4-bit router, token TIS", router, []string{coarse, tis}},
		{"router4-bypass", "4-bit router, clip against the rollout", router, []string{coarse, bypass}},
	}
	for i := range arms {
		arms[i].Set = append([]string{"learner.optimizer.lr=7e-4"}, arms[i].Set...)
	}
	return arms
}

// ChooseArms returns the arms of those names, in the order of HeadlineArms; all
// without a name.
func ChooseArms(names []string) ([]HeadlineArm, error) {
	all := HeadlineArms()
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
