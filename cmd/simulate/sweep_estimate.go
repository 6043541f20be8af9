package main

import (
	"context"
	"fmt"
	"time"

	"driftlab/experiments/queue"
	runner "driftlab/experiments/run"
	"driftlab/experiments/sweep"
)

// dryRun says what there is to do.
func (a *app) dryRun(g *sweep.Grid, o sweep.Options) error {
	left, err := g.Left(o)
	if err != nil {
		return err
	}
	a.warnNoEffect(false, "the page of the sweep has all of them", g.Index().NoEffects())
	runs := len(g.Runs())
	fmt.Fprintf(a.stdout, "%d points, %d cells, %d runs (equal recipes are one)\n", len(g.Commands), len(g.Cells), runs)
	if part := o.Shard; part.Count > 0 {
		fmt.Fprintf(a.stdout, "Part %d of %d: ", part.Index, part.Count)
	}
	fmt.Fprintf(a.stdout, "%d to make\n", len(left))
	if len(left) == 0 {
		return nil
	}
	var total float64
	for _, c := range left {
		total += c.Recipe.Work()
	}
	pace, finished := g.Pace(o.Dir)
	how := fmt.Sprintf("by the times of %d finished ones", finished)
	atOnce := queue.Parallelism(o.Workers) // as many as those were
	if finished == 0 {
		atOnce = o.Workers
		var timed int
		if pace, timed, err = timing(a.ctx, left); err != nil {
			return err
		}
		how = fmt.Sprintf("by a few steps of %d of them", timed)
	}
	seconds := time.Duration(total * pace / float64(min(atOnce, len(left))) * float64(time.Second))
	fmt.Fprintf(a.stdout, "About %s on %d cores, %s\n", seconds.Round(max(time.Second, seconds.Round(time.Minute)/60)), min(o.Workers, len(left)), how)
	return nil
}

// timing makes a few steps of some runs, the first and others evenly from the list,
// and returns how many seconds a unit of cost takes.
func timing(ctx context.Context, left []*sweep.Cell) (pace float64, runs int, err error) {
	const most, steps = 4, 3
	var took, cost float64
	for i := range min(most, len(left)) {
		r := left[i*len(left)/min(most, len(left))].Recipe
		r.Steps = min(steps, r.Steps)
		began := time.Now()
		if _, err := runner.Run(ctx, r, runner.Options{}); err != nil && ctx.Err() != nil {
			return 0, 0, err
		}
		took += time.Since(began).Seconds()
		cost += r.Work()
		runs++
	}
	return took / cost, runs, nil
}
