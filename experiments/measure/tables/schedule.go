package tables

import (
	"fmt"
	"strings"

	runner "driftlab/experiments/run"
	"driftlab/results"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/trainer/method/schedule/simulation"
)

// ScheduleTables are the figures of a system compared with the synchronous loop's, the lag of
// its samples, and its speed-up by each definition.
func ScheduleTables(r simulation.Report) []*figure.Figure {
	config := r.Run.Config
	t := head("schedule", r.Policy, config.Workers, config.Engine, config.Slots, config.Trainers, config.Batch, config.Group, len(r.Run.Updates))
	t.Columns[1].Name = r.Policy
	row := func(name, meaning string, of func(simulation.Figures) float64) {
		t.Add(figure.Word(name), figure.Number(of(r.Figures), 4), figure.Number(of(r.Synchronous), 4), figure.Word(meaning).As(figure.Muted))
	}
	whole := func(name, meaning string, of func(simulation.Figures) int) {
		t.Add(figure.Word(name), figure.Word(fmt.Sprint(of(r.Figures))), figure.Word(fmt.Sprint(of(r.Synchronous))), figure.Word(meaning).As(figure.Muted))
	}
	row("makespan_s", "time of all updates, with the first and the last batch", func(f simulation.Figures) float64 { return f.Seconds })
	row("throughput_tokens_per_s", "trained response tokens", func(f simulation.Figures) float64 { return f.Throughput })
	row("idle_trainer", "share of time the learner waits for a batch", func(f simulation.Figures) float64 { return f.IdleTrainer })
	row("idle_rollout", "share of time a worker does nothing", func(f simulation.Figures) float64 { return f.IdleRollout })
	row("bubble_intra", "share of slots free on generating workers", func(f simulation.Figures) float64 { return f.BubbleIntra })
	row("bubble_inter", "share of slots of workers that do not generate", func(f simulation.Figures) float64 { return f.BubbleInter })
	row("waste", "decoded tokens that were not trained", func(f simulation.Figures) float64 { return f.Waste })
	row("thrown_away", "discarded tokens of these; the others belong to requests that still run at the end", func(f simulation.Figures) float64 { return f.Thrown })
	whole("reprefilled_tokens", "prefixes computed again", func(f simulation.Figures) int { return f.Reprefilled })
	row("lag_mean", "mean staleness of trained samples, in versions, by their oldest token", func(f simulation.Figures) float64 { return f.LagMean })
	whole("lag_max", "greatest staleness of a trained sample", func(f simulation.Figures) int { return f.LagMax })
	row("token_lag_mean", "mean staleness of trained tokens", func(f simulation.Figures) float64 { return f.TokenLagMean })
	row("trained_by_sampled_length", "mean length of trained over sampled responses: a staleness filter selects by length", func(f simulation.Figures) float64 { return f.LengthRatio })
	row("mixed_responses", "share with tokens of several versions", func(f simulation.Figures) float64 { return f.Mixed })
	whole("dropped_samples", "samples that a filter drops, submitted again or not", func(f simulation.Figures) int { return f.Dropped + f.Requeued })
	if r.Run.Stuck {
		t.Note = "The run stopped early: no running request can finish."
	}
	return []*figure.Figure{t, lagTable(r.LagHistogram), speedupTable(r.Speedup)}
}

func lagTable(histogram []int) *figure.Figure {
	t := head("lags")
	most := 0
	for _, n := range histogram {
		most = max(most, n)
	}
	const width = 40
	for lag, n := range histogram {
		if n > 0 {
			t.Add(figure.Word(fmt.Sprint(lag)), figure.Word(fmt.Sprint(n)), figure.Word(strings.Repeat("#", max(1, n*width/most))).As(figure.Muted))
		}
	}
	return t
}

// speedupTable is the speed-up under each definition.
func speedupTable(s simulation.Speedup) *figure.Figure {
	t := head("speed-up")
	t.Note = simulation.Incomparable
	row := func(name, means string, v float64) {
		cell := figure.Number(v, 3)
		if v == 0 {
			cell = figure.Word("-")
		}
		t.Add(figure.Word(name), cell, figure.Word(means).As(figure.Muted))
	}
	row("equal trained tokens", "trained response tokens per second, same devices, all costs paid", s.EqualTokens)
	row("AReaL", "hours for as many updates, against its own synchronous run on the same division", s.AReaL)
	row("verl", "hours for as many samples, against devices that do both", s.Verl)
	row("DORA, step", "time per step", s.DoraStep)
	row("DORA, tok/s", "prompt and response tokens per second", s.DoraTokens)
	row("DORA, rollout phase", "the part of a step in which the learner waits", s.DoraRollout)
	row("Laminar, AsyncFlow, StreamRL, ROLL", "throughput; theirs is the best of a grid, this is one point", s.Throughput)
	row("Seer, APRIL", "decoded tokens per second of rollout", s.RolloutOnly)
	row("overlap alone, at most", "(T_g + T_t) / max(T_g, T_t) of the synchronous step; more comes from the tail", s.OverlapBound)
	return t
}

// ScheduleTimeline draws the first updates of a system.
func ScheduleTimeline(r simulation.Report) *figure.Figure {
	const updates = 8
	config := r.Run.Config
	until := r.Run.Makespan
	if len(r.Run.Updates) > updates {
		until = r.Run.Updates[updates]
	}
	return results.TimelineOf(&record.Clock{System: r.Policy, Workers: config.Workers, To: until, Spans: runner.Spans(r.Run.Log, config.Slots)})
}
