package lesson

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"driftlab/engine"
	"driftlab/experiments/live"
	"driftlab/experiments/measure"
	"driftlab/results/figure"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// Options are how a recording is made.
type Options struct {
	// Workers says how many cores there are.
	Workers func() int
	// Dir keeps what a recording samples, to be resumed.
	Dir string
	// Tiny makes a small recording, to test that it can be made.
	Tiny bool
}

// recorders make the recordings of the lessons that have one.
var recorders = map[string]func(context.Context, Options) ([]figure.Figure, error){
	"gap": recordGap, "length": recordLength, "age": recordAge,
}

// CheckRecorded returns an error unless the lesson of that name has a recording of its own.
func CheckRecorded(name string) error {
	if recorders[name] == nil {
		return fmt.Errorf("lesson %q has no recording of its own; %s have", name, strings.Join(slices.Sorted(maps.Keys(recorders)), ", "))
	}
	return nil
}

// Record makes the recording of a lesson that has one.
func Record(ctx context.Context, name string, o Options) ([]figure.Figure, error) {
	return recorders[name](ctx, o)
}

// recordGap measures the formats that people serve against those they train in, as the
// headline does the usual pairs of them.
func recordGap(ctx context.Context, o Options) ([]figure.Figure, error) {
	r, err := recipe.Load("headline", "rollout.prompts=32")
	if err != nil {
		return nil, err
	}
	if o.Tiny {
		r.Rollout.Prompts = 2
	}
	var pairs []measure.Pair
	for _, l := range []string{"fp32", "bf16"} {
		for _, n := range []string{"fp32", "fp32-splitk4", "fp16", "bf16", "bf16-tp4", "int8-w8a8", "fp8-w8a8", "fp4-w4a16"} {
			rollout, _ := engine.Preset(n)
			learner, _ := engine.Preset(l)
			pairs = append(pairs, measure.Pair{Rollout: rollout, Learner: learner})
		}
	}
	return gapPanels(ctx, measure.GapRequest{Recipe: r, Pairs: pairs, Workers: o.Workers()})
}

// gapPanels measures pairs; the figures of each are shown with its numerics.
func gapPanels(ctx context.Context, q measure.GapRequest) ([]figure.Figure, error) {
	var sampled []*batch.Batch
	q.Responses = func(_ string, b *batch.Batch, _ []task.Prompt, _ []task.Verdict) error {
		sampled = append(sampled, b)
		return nil
	}
	m, err := measure.Gaps(ctx, q)
	if err != nil {
		return nil, err
	}
	var out []figure.Figure
	for i, pair := range m.Pairs {
		for _, p := range live.Gap(pair, sampled[i], q.Recipe.Task.New().Vocab()) {
			p.When = map[string]string{"rollout": pair.Rollout, "learner": pair.Learner}
			out = append(out, p)
		}
	}
	return out, nil
}
