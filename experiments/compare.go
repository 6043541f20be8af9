package experiments

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"

	"driftlab/engine/learner"
	"driftlab/results"
	"driftlab/trainer"
	"driftlab/trainer/recipe"
)

// Options are the choices that change no figure.
type Options struct {
	// Dir is where the runs are kept, one folder each; empty keeps them in
	// memory. What is finished there is not run again.
	Dir string
	// Parallel is the number of runs at a time, each on one core; 0 means one.
	Parallel int
	// Progress is called as runs advance, never from two goroutines at once.
	Progress func(Progress)
}

// Progress is where a set of runs stands.
type Progress struct {
	// Steps of Total are done, over all runs.
	Steps, Total int
	// Runs of All have ended.
	Runs, All int
	// Latest is the run that advanced last, by name and seed, and Reward and KL
	// are those of its step.
	Latest string
	Reward float64
	KL     float64
}

// Compare runs every recipe with every seed and returns the records in that
// order: all seeds of the first recipe, then the second. A run that a value
// which is not finite has ended is an outcome like any other. The first other
// failure, or a cancelled context, stops the rest; with a directory, calling
// again takes everything up where it was.
func Compare(ctx context.Context, recipes []recipe.Recipe, seeds []uint64, o Options) ([]*results.Record, error) {
	records := make([]*results.Record, len(recipes)*len(seeds))
	watch := watcher{progress: o.Progress, done: make([]int, len(records)), at: Progress{All: len(records)}}
	for _, r := range recipes {
		watch.at.Total += r.Steps * len(seeds)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(o.Parallel, 1))
	for i := range records {
		r := recipes[i/len(seeds)]
		r.Seed = seeds[i%len(seeds)]
		dir := runDir(o.Dir, recipes, i/len(seeds), r.Seed)
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			result, err := trainer.Run(ctx, r, trainer.Options{Dir: dir, Workers: 1, Progress: func(p trainer.Progress) {
				watch.step(i, r, p)
			}})
			var value *learner.NonFinite
			if err != nil && !(result != nil && errors.As(err, &value)) {
				return fmt.Errorf("%s, seed %d: %w", r.Name, r.Seed, err)
			}
			records[i] = result.Record
			watch.end(i, r.Steps)
			return nil
		})
	}
	return records, group.Wait()
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

// watcher adds up the progress of runs that advance side by side.
type watcher struct {
	mu       sync.Mutex
	progress func(Progress)
	done     []int // steps, by run
	at       Progress
}

func (w *watcher) step(run int, r recipe.Recipe, p trainer.Progress) {
	if w.progress == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at.Steps += p.Step - w.done[run]
	w.done[run] = p.Step
	w.at.Latest, w.at.Reward, w.at.KL = fmt.Sprintf("%s, seed %d", r.Name, r.Seed), p.Reward, p.KL
	w.progress(w.at)
}

// end counts a run as complete, also one that stopped early or was finished before.
func (w *watcher) end(run, steps int) {
	if w.progress == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at.Steps += steps - w.done[run]
	w.done[run] = steps
	w.at.Runs++
	w.progress(w.at)
}
