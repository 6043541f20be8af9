package lesson

import (
	"context"
	"fmt"
	"strings"

	"driftlab/experiments"
	"driftlab/experiments/live"
	"driftlab/results/figure"
	"driftlab/results/lab"
	"driftlab/results/record"
	"driftlab/results/stats"
	"driftlab/trainer/recipe"
)

// ageSeeds are those of the recording; the run in the page is that of the first.
var ageSeeds = []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}

// recordAge makes the lesson's live run at every off-policy lag that its control offers, over
// the same seeds. The first lag is none.
func recordAge(ctx context.Context, o Options) ([]figure.Figure, error) {
	seeds, short := ageSeeds, []string(nil)
	if o.Tiny {
		seeds, short = seeds[:1], []string{"steps=5"}
	}
	l, err := lab.Written("age")
	if err != nil {
		return nil, err
	}
	var out []figure.Figure
	var names []string
	var ends [][]float64
	for _, lag := range l.Controls[0].Options {
		chosen := map[string]string{l.Controls[0].Key: lag.Value}
		r, err := recipe.Load(l.Live.Recipe, append(l.Assignments(chosen), short...)...)
		if err != nil {
			return nil, err
		}
		runs, err := experiments.Compare(ctx, []recipe.Recipe{r}, seeds, experiments.Options{Workers: o.Workers()})
		if err != nil {
			return nil, err
		}
		panels := recordedRuns(runs)
		for _, p := range panels {
			p.When = chosen
			out = append(out, p)
		}
		var end []float64
		for _, s := range panels[0].Series {
			end = append(end, s.Y[len(s.Y)-1])
		}
		name, _, _ := strings.Cut(lag.Label, " (")
		names, ends = append(names, name), append(ends, end)
	}
	return append(degradedByLag(names, ends), out...), nil
}

// degradedByLag says at which off-policy lag runs degrade: how many seeds end below the
// same seed of the first lag, and where they end on average.
func degradedByLag(names []string, ends [][]float64) []figure.Figure {
	var means, counts []float64
	var said []string
	for i, end := range ends {
		n := 0
		for j := range end {
			if record.HasDegraded(ends[0][j], end[j]) {
				n++
			}
		}
		means, counts = append(means, stats.Average(end)), append(counts, float64(n))
		if i > 0 {
			said = append(said, fmt.Sprintf("%s: %d", names[i], n))
		}
	}
	seeds := len(ends[0])
	return []figure.Figure{
		{Kind: figure.Bars, Name: "degraded", Title: fmt.Sprintf("Recorded: seeds of %d that degrade, by off-policy lag", seeds), Labels: names[1:],
			Y:      figure.Axis{Label: fmt.Sprintf("seeds that end more than %g below the same seed with %s", record.DegradationLoss, names[0]), High: float64(seeds), Count: true},
			Series: []figure.Series{{Name: "degraded seeds", Method: figure.Uncorrected, Y: counts[1:]}},
			Note:   fmt.Sprintf("Of %d seeds degrade at %s.", seeds, strings.Join(said, ", "))},
		{Kind: figure.Bars, Name: "final", Title: "Recorded: mean pass rate at the end, by off-policy lag", Labels: names, Y: figure.Axis{Label: "pass rate", High: 1},
			Series: []figure.Series{{Name: "mean pass rate", Method: figure.Uncorrected, Y: means}},
			Note:   fmt.Sprintf("The mean pass rate of %d seeds ends at %.2f with %s and at %.2f with %s.", seeds, means[0], names[0], means[len(means)-1], names[len(names)-1])},
	}
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
