package experiments

import (
	"context"
	"fmt"
	"path/filepath"

	"driftlab/experiments/queue"
	"driftlab/results"
	"driftlab/results/record"
	"driftlab/trainer"
	"driftlab/trainer/recipe"
	"driftlab/trainer/runner"
)

// Options are the choices that change no figure.
type Options struct {
	// Dir is where the runs are kept, one folder each; empty keeps them in
	// memory. What is finished there is not run again.
	Dir string
	// Workers is the number of cores, which the runs share; 0 means one.
	Workers int
	// Progress is called as runs advance, never from two goroutines at once. Its
	// units are steps.
	Progress func(queue.Progress)
}

// Compare runs every recipe with every seed and returns the records in that
// order: all seeds of the first recipe, then the second. A run that a value
// which is not finite has ended is an outcome like any other. The first other
// failure, or a cancelled context, stops the rest; with a directory, calling
// again takes everything up where it was.
func Compare(ctx context.Context, recipes []recipe.Recipe, seeds []uint64, o Options) ([]*record.Record, error) {
	var jobs []queue.Job[*record.Record]
	for i, r := range recipes {
		for _, seed := range seeds {
			r.Seed = seed
			jobs = append(jobs, training(r, runDir(o.Dir, recipes, i, seed)))
		}
	}
	return queue.Queue[*record.Record]{Cores: o.Workers, Progress: o.Progress}.Run(ctx, jobs)
}

// training is a run as a job. What a folder has of it is not made again.
func training(r recipe.Recipe, dir string) queue.Job[*record.Record] {
	do := func(ctx context.Context, d *queue.Desk) (*record.Record, error) {
		at := queue.State{Kept: -1}
		run, err := runner.Run(ctx, r, runner.Options{Dir: dir, Cores: d.Cores, Progress: func(p trainer.Progress) {
			if at.Kept < 0 {
				at.Kept = p.Step - 1
			}
			at.Done, at.Note = p.Step, fmt.Sprintf("reward %.2f  KL %s", p.Reward, results.FormatNumber(p.KL, 2))
			d.Report(at)
		}})
		if run == nil { // else it stopped at a value that is not finite, and its record says so
			return nil, err
		}
		if at.Kept < 0 {
			d.Report(queue.State{Done: r.Steps, Kept: r.Steps})
		}
		return run.Record, nil
	}
	return queue.Job[*record.Record]{Name: fmt.Sprintf("%s, seed %d", r.Name, r.Seed), Units: r.Steps, Cost: cost(r), Do: do}
}

// cost is about what a run computes: multiply-adds of its tokens' forward passes.
func cost(r recipe.Recipe) float64 {
	tokens := r.Rollout.Prompts * r.Rollout.Group * r.Rollout.MaxTokens
	return float64(r.Steps) * float64(tokens) * float64(r.Model.WithDefaults().LayerProducts())
}

// runDir is the folder of one run; recipes of the same name are told apart by
// their place.
func runDir(dir string, recipes []recipe.Recipe, i int, seed uint64) string {
	if dir == "" {
		return ""
	}
	name := recipes[i].Name
	for j := range i {
		if recipes[j].Name == name {
			name = fmt.Sprintf("%s-%d", recipes[i].Name, i+1)
			break
		}
	}
	return filepath.Join(dir, name, fmt.Sprintf("seed-%d", seed))
}
