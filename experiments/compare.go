package experiments

import (
	"context"
	"fmt"
	"path/filepath"

	"driftlab/experiments/study"
	"driftlab/results/record"
	"driftlab/trainer/recipe"
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
	Progress func(study.Progress)
}

// Compare runs every recipe with every seed and returns the records in that
// order: all seeds of the first recipe, then the second. A run that a value
// which is not finite has ended is an outcome like any other. The first other
// failure, or a cancelled context, stops the rest; with a directory, calling
// again takes everything up where it was.
func Compare(ctx context.Context, recipes []recipe.Recipe, seeds []uint64, o Options) ([]*record.Record, error) {
	var tasks []study.Task
	records := make([]*record.Record, len(recipes)*len(seeds))
	for i := range recipes {
		for k, seed := range seeds {
			r, at := recipes[i], i*len(seeds)+k
			r.Seed = seed
			dir := runDir(o.Dir, recipes, i, seed)
			tasks = append(tasks, study.Task{
				Name: fmt.Sprintf("%s, seed %d", r.Name, seed), Units: r.Steps, Cost: r.Work(),
				Make: func(ctx context.Context, d *study.TaskContext) (outcome, curve any, err error) {
					records[at], _, err = study.Train(ctx, d, r, dir)
					return nil, nil, err
				}})
		}
	}
	return records, study.Work{Cores: o.Workers, Progress: o.Progress}.Do(ctx, tasks)
}

// runDir is the folder of one run; recipes of the same name are distinguished by
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
