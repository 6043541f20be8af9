// Package lesson computes what the lessons of the lab show: a lesson's live figures, and the
// recordings that the published page has.
//
// What it is not: it asks and prints nothing.
package lesson

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"driftlab/engine"
	"driftlab/experiments/lesson/live"
	"driftlab/experiments/measure"
	"driftlab/experiments/measure/explain"
	"driftlab/experiments/measurements"
	runner "driftlab/experiments/run"
	"driftlab/experiments/study"
	"driftlab/experiments/study/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/figure"
	"driftlab/results/lab"
	"driftlab/results/lab/picture"
	"driftlab/results/record"
	"driftlab/results/stats"
	"driftlab/trainer"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// ageSeeds are the seeds of the recording; the page shows the run of the first.
var ageSeeds = []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}

// recordAge makes the lesson's live run at every off-policy lag and learning rate that its controls offer, over the same seeds. The
// first lag is none.
func recordAge(ctx context.Context, o Options) ([]figure.Figure, error) {
	seeds, short := ageSeeds, []string(nil)
	if o.Tiny {
		seeds, short = seeds[:1], []string{"steps=3", "eval.prompts=4", "rollout.prompts=4"}
	}
	l := lab.Load().Lesson("age")
	lags, rates := l.Controls[0], l.Controls[1]
	var out []figure.Figure
	degraded, final := degradedByLag(len(seeds), lags)
	for i, rate := range rates.Options {
		colour := []figure.Method{figure.Equal, figure.Clip, figure.Uncorrected}[i]
		var first, means, counts []float64
		for _, lag := range lags.Options {
			chosen := map[string]string{lags.Key: lag.Value, rates.Key: rate.Value}
			r, err := recipe.Load(l.Live.Recipe, append(l.Assignments(chosen), short...)...)
			if err != nil {
				return nil, err
			}
			runs, err := study.Records(ctx, r, seeds, o.Workers())
			if err != nil {
				return nil, err
			}
			panels := recordedRuns(runs)
			for _, p := range panels {
				p.When = chosen
				out = append(out, p)
			}
			var ends []float64
			fell := 0.0
			for k, s := range panels[0].Series {
				ends = append(ends, s.Y[len(s.Y)-1])
				if first != nil && record.HasDegraded(first[k], ends[k]) {
					fell++
				}
			}
			if first == nil {
				first = ends
			} else {
				counts = append(counts, fell)
			}
			means = append(means, stats.Average(ends))
		}
		degraded.Series = append(degraded.Series, figure.Series{Name: rate.Value, Method: colour, Y: counts})
		final.Series = append(final.Series, figure.Series{Name: rate.Value, Method: colour, Y: means})
	}
	return append([]figure.Figure{degraded, final}, out...), nil
}

// degradedByLag are the figures of how many seeds end below the same seed of the first lag, and where they end on average, with a series
// for each learning rate to be filled in.
func degradedByLag(seeds int, lags lab.Control) (degraded, final figure.Figure) {
	var names []string
	for _, o := range lags.Options {
		name, _, _ := strings.Cut(o.Label, " (")
		names = append(names, name)
	}
	degraded = figure.Figure{Kind: figure.Bars, Name: "degraded", Title: fmt.Sprintf("Recorded: seeds of %d that degrade, by off-policy lag and learning rate", seeds), Labels: names[1:],
		Y:    figure.Axis{Label: fmt.Sprintf("seeds that end more than %g below the same seed with %s", record.DegradationLoss, names[0]), High: float64(seeds), Count: true},
		Note: "A series is a learning rate: what a lag costs depends on it."}
	final = figure.Figure{Kind: figure.Bars, Name: "final", Title: "Recorded: mean pass rate at the end, by off-policy lag and learning rate", Labels: names, Y: figure.Axis{Label: "pass rate", High: 1},
		Note: fmt.Sprintf("Means of %d seeds.", seeds)}
	return degraded, final
}

// recordedRuns are the figures of runs that differ by their seeds alone, each faint.
func recordedRuns(runs []*record.Record) []figure.Figure {
	var out []figure.Figure
	for i, run := range runs {
		for j, p := range live.Run(fmt.Sprintf("seed %d", run.Seed), run) {
			line := p.Series[0]
			line.Method, line.Faint = figure.Uncorrected, true
			if i == 0 {
				p.Series, p.Note = nil, fmt.Sprintf("%d recorded seeds.", len(runs))
				out = append(out, p)
			}
			out[j].Series = append(out[j].Series, line)
		}
	}
	return out
}

// caps are the places of the lesson's slider: a band on the product of the ratios and
// one on their geometric mean.
var caps = []struct{ product, geometric float64 }{
	{1.1, 1.001}, {1.25, 1.002}, {1.5, 1.005}, {2, 1.01}, {3, 1.02}, {5, 1.03}, {10, 1.05},
}

// dotted is how many responses are drawn as dots.
const dotted = 128

// recordLength samples responses of 1,024 tokens, those of the first replication of the
// claim length-trap and, in the mixture of experts, of geo-length-invariant.
func recordLength(ctx context.Context, o Options) ([]figure.Figure, error) {
	env := &claim.Env{Seed: 1, Cache: claim.NewCache(o.Dir), Cores: o.Workers}
	if o.Tiny {
		env.Size = claim.Tiny
	}
	var grown []measurements.Growth
	if err := env.Do(ctx, func() { grown = measurements.Grow(env) }); err != nil {
		return nil, err
	}
	var out []figure.Figure
	for _, g := range grown {
		for i := range caps {
			kept := keptPanel(g, i)
			kept.When = map[string]string{"dose": g.Level, "cap": strconv.Itoa(i)}
			out = append(out, kept)
		}
		dots := dotsPanel(g)
		dots.When = map[string]string{"dose": g.Level}
		out = append(out, dots)
	}
	return out, nil
}

// keptPanel is the share of responses that either rule keeps, by length.
func keptPanel(g measurements.Growth, at int) figure.Figure {
	limit := caps[at]
	lengths, product, geometric := g.Lengths, g.Kept(elementary.Log(limit.product), false), g.Kept(elementary.Log(limit.geometric), true)
	last := len(lengths) - 1
	return figure.Figure{Kind: figure.Lines, Name: "kept", Title: fmt.Sprintf("Share of %d responses kept, one model", len(g.Sum[0])),
		X: figure.Axis{Label: "response length (tokens)", Log: true}, Y: figure.Axis{Label: "share kept", High: 1},
		Series: []figure.Series{
			{Name: fmt.Sprintf("product in [1/%g, %g]", limit.product, limit.product), Method: figure.Uncorrected, X: lengths, Y: product},
			{Name: fmt.Sprintf("geometric mean in [1/%g, %g]", limit.geometric, limit.geometric), Method: figure.OPSM, X: lengths, Y: geometric},
		},
		Note: fmt.Sprintf("From %.0f to %.0f tokens the product rule keeps %.3f and then %.3f of the responses, the geometric one %.3f and then %.3f.",
			lengths[0], lengths[last], product[0], product[last], geometric[0], geometric[last]),
	}
}

// dotsPanel is the log of the product ratio of the first responses, by length.
func dotsPanel(g measurements.Growth) figure.Figure {
	p := figure.Figure{Kind: figure.Dots, Name: "ratios", Title: "Log of the product ratio, response by response; drag the band",
		X: figure.Axis{Label: "response length (tokens)", Log: true}, Y: figure.Axis{Label: "sum of the token log-ratios (nats)"},
		Drag: &figure.Drag{Control: "cap", Axis: "y", Names: [2]string{"kept below", "kept above"}}, Note: "The cloud widens with the length; the band stays."}
	for _, c := range caps {
		p.Drag.At = append(p.Drag.At, elementary.Log(c.product))
	}
	var dots figure.Series
	for k, sums := range g.Sum {
		for _, s := range sums[:min(dotted, len(sums))] {
			rounded, _ := strconv.ParseFloat(strconv.FormatFloat(s, 'g', 3, 64), 64) // it is a number
			dots.X, dots.Y = append(dots.X, g.Lengths[k]), append(dots.Y, rounded)
		}
	}
	dots.Name = "responses"
	p.Series = []figure.Series{dots}
	return p
}

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
	r, _ := recipe.Load("headline", "rollout.prompts=32") // it is in the program
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

// Panels does what the page's "Compute it here" does at the values that were chosen of a lesson's controls, and returns its figures next
// to the published ones that the controls choose. A lesson without a live run has these alone. begin takes how many steps the run
// has to report, and returns what hears of each.
func Panels(ctx context.Context, l *lab.Lesson, chosen map[string]string, workers int, begin func(steps int) func(trainer.Progress)) ([]figure.Figure, error) {
	recorded := figure.Matching(l.Data.Panels, chosen)
	if l.Live == nil {
		return recorded, nil
	}
	r, err := recipe.Load(l.Live.Recipe, l.Assignments(chosen)...)
	if err != nil {
		return nil, err
	}
	steps := 1
	if l.Live.Do == "train" {
		steps = r.Steps
	}
	panels, err := computed(ctx, l.Live.Do, r, workers, begin(steps))
	if err != nil {
		return nil, err
	}
	panels = figure.Matching(panels, chosen)
	for _, p := range recorded { // what was not computed here
		if !slices.ContainsFunc(panels, func(q figure.Figure) bool { return q.Name == p.Name }) {
			panels = append(panels, p)
		}
	}
	return panels, nil
}

// computed are a lesson's figures of a recipe.
func computed(ctx context.Context, do string, r recipe.Recipe, workers int, progress func(trainer.Progress)) ([]figure.Figure, error) {
	switch do {
	case "measure":
		return gapPanels(ctx, measure.GapRequest{Recipe: r, Workers: workers})
	case "explain":
		u, err := explain.Follow(ctx, r, explain.Request{Step: 1, Tokens: record.UpdateTokens, Workers: workers})
		if err != nil {
			return nil, err
		}
		return picture.Policies(u), nil
	case "flips":
		f, err := measure.Flips(r, record.FlipsResponses, workers)
		if err != nil {
			return nil, err
		}
		return picture.Flips(f), nil
	case "train":
		result, err := runner.Run(ctx, r, runner.Options{Workers: workers, Progress: progress})
		if err != nil {
			return nil, err
		}
		return live.Run("your run", result.Record), nil
	default:
		return nil, fmt.Errorf("lesson: no way to %s", do)
	}
}
