package study

import (
	"context"
	"fmt"
	"os"

	"driftlab/results"
	"driftlab/results/record"
	"driftlab/trainer/recipe"
)

// Compare is the plan that runs recipes, shipped ones or files, next to each other.
func Compare(recipes []string, set []recipe.Change, seeds []uint64) *Plan {
	f := Factor{Name: recipeFactor}
	for _, name := range recipes {
		f.Values = append(f.Values, Value{Name: name, base: name})
	}
	return &Plan{Name: "compare", Bases: recipes[:1], Factors: []Factor{f}, Set: set, Seeds: seeds}
}

// Records are the runs of a recipe with several seeds, kept in memory.
func Records(ctx context.Context, r recipe.Recipe, seeds []uint64, cores int) ([]*record.Record, error) {
	records := make([]*record.Record, len(seeds))
	var tasks []Task
	for i, seed := range seeds {
		r := r
		r.Seed = seed
		tasks = append(tasks, Task{Name: fmt.Sprintf("%s, seed %d", r.Name, seed), Units: r.Steps,
			Make: func(ctx context.Context, d *TaskContext) (outcome, curve any, err error) {
				records[i], _, err = Train(ctx, d, r, "")
				return nil, nil, err
			}})
	}
	return records, Work{Cores: cores}.Do(ctx, tasks)
}

// Kept are the runs whose folders were kept (Options.Keep), by arm.
func (d *Folder) Kept() (groups []results.RunGroup, err error) {
	for i := range d.Arms {
		a := &d.Arms[i]
		g := results.RunGroup{Name: d.armName(a)}
		for _, key := range a.Keys {
			dir := d.store.runDir(key)
			if _, err := os.Stat(dir); err != nil || d.done[key] == nil {
				continue
			}
			r, err := record.Load(dir)
			if err != nil {
				return nil, err
			}
			g.Runs = append(g.Runs, r)
		}
		if len(g.Runs) > 0 {
			groups = append(groups, g)
		}
	}
	return groups, nil
}
