package experiments

import (
	"context"
	"fmt"
	"slices"

	"driftlab/results/record"
	"driftlab/trainer/measure"
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
	Part HeadlinePart
	// Set are the changes, as --set takes them.
	Set []string
}

// HeadlinePart is one side-by-side comparison.
type HeadlinePart int

// The parts of the headline, in the order they are told.
const (
	// Mismatch trains on negatives only with a coarse rollout engine.
	Mismatch HeadlinePart = iota
	// Staleness does the same with equal engines and old rollouts.
	Staleness
	// Ordinary keeps the positives, which is how most people train.
	Ordinary
)

// HeadlineArms are the runs of the headline. In all but the ordinary ones the
// positive advantages are dropped: that is where the prototype found collapses
// that take seconds.
func HeadlineArms() []HeadlineArm {
	const (
		negatives = "advantage.positive_weight=0"
		coarse    = "rollout.numerics=fp4-all"
		tis       = "correction.weights={name: token_tis, cap: 2}"
		stale     = "schedule={name: lag, k: 4}"
	)
	return []HeadlineArm{
		{"matched", "equal engines", Mismatch, []string{negatives}},
		{"fp4", "fp4 rollouts, uncorrected", Mismatch, []string{negatives, coarse}},
		{"fp4-token-tis", "fp4 rollouts, token TIS", Mismatch, []string{negatives, coarse, tis}},
		{"fp4-opsm", "fp4 rollouts, OPSM δ=0.05", Mismatch, []string{negatives, coarse, "correction.masks=[{name: opsm, delta: 0.05}]"}},
		{"fp4-icepop", "fp4 rollouts, IcePop", Mismatch, []string{negatives, coarse, "correction.weights={name: icepop}"}},
		{"fp4-r3", "fp4 rollouts, R3 replay", Mismatch, []string{negatives, coarse, "routing.replay=r3"}},
		{"lag4", "4 updates old, uncorrected", Staleness, []string{negatives, stale}},
		{"lag4-token-tis", "4 updates old, token TIS", Staleness, []string{negatives, stale, tis}},
		{"lag4-bypass", "4 updates old, clip against the rollout", Staleness, []string{negatives, stale, "correction.mode=bypass"}},
		{"lag4-opsm", "4 updates old, OPSM δ=0.01", Staleness, []string{negatives, stale, "correction.masks=[{name: opsm, delta: 0.01}]"}},
		{"fp4-ordinary", "fp4 rollouts, positives kept", Ordinary, []string{coarse}},
	}
}

// ChooseArms returns the arms of those names, in the order they are told; all
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
func (h *HeadlineResult) parts() []HeadlinePart {
	var parts []HeadlinePart
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
	// Arms are the lines, and Runs their records, seeds in order.
	Arms []HeadlineArm
	Runs [][]*record.Record
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
	var recipes []recipe.Recipe
	for _, arm := range out.Arms {
		r, err := recipe.Load(headlineRecipe, append(append([]string{"name=" + arm.Name}, arm.Set...), o.Set...)...)
		if err != nil {
			return nil, fmt.Errorf("headline arm %s: %w", arm.Name, err)
		}
		recipes = append(recipes, r)
	}
	records, err := Compare(ctx, recipes, seeds, o.Options)
	if err != nil {
		return nil, err
	}
	for i := range recipes {
		out.Runs = append(out.Runs, records[i*len(seeds):(i+1)*len(seeds)])
	}
	return out, nil
}
