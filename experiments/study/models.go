package study

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"driftlab/model"
	"driftlab/results/record"
	"driftlab/trainer"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// Models are base models, one for each seed of a plan, in Dir/SEED. The plan's recipes name them: checkpoint: DIR/{seed}.
type Models struct {
	// Recipe is the recipe of the warm start, and Set what is changed in it.
	Recipe string  `yaml:"recipe"`
	Set    changes `yaml:"set"`
	Dir    string  `yaml:"dir"`
}

// Quick is the preview of a plan: what it changes in all cells, its seeds and its cells.
type Quick struct {
	Set     changes    `yaml:"set"`
	Seeds   seeds      `yaml:"seeds"`
	Confirm seeds      `yaml:"confirm"`
	Only    conditions `yaml:"only"`
}

// Preview is the plan with what its quick form changes.
func (p *Plan) Preview() (*Plan, error) {
	if p.Quick == nil {
		return nil, fmt.Errorf("%s has no quick form: leave --quick out, or add quick: {set: {steps: 40}} to the plan", p.Name)
	}
	short := *p
	short.Set = slices.Concat(p.Set, p.Quick.Set)
	short.Fresh = nil
	short.Seeds, short.Confirm = slices.Concat(p.Quick.Seeds, p.Quick.Confirm), p.Quick.Confirm
	if len(p.Quick.Only) > 0 {
		short.Only = p.Quick.Only
	}
	return &short, nil
}

// of is the base model of a seed.
func (m Models) of(seed uint64) string { return filepath.Join(m.Dir, strconv.FormatUint(seed, 10)) }

// startsFrom reports whether a cell, or another base model, may start from base models in a folder: not where all checkpoints that the
// plan sets are others, of those for all cells the last.
func (p *Plan) startsFrom(dir string) bool {
	starts := func(c recipe.Change) bool { return strings.HasPrefix(c.String(), "checkpoint=") }
	named := func(c recipe.Change) bool { return strings.Contains(c.String(), dir) } // as a checkpoint or a teacher
	var set []recipe.Change
	for _, c := range p.Set {
		if starts(c) {
			set = []recipe.Change{c}
		}
	}
	for _, f := range p.Factors {
		for _, v := range f.Values {
			set = append(set, v.Set...)
		}
	}
	return slices.ContainsFunc(set, named) || !slices.ContainsFunc(set, starts) ||
		slices.ContainsFunc(p.Models, func(m Models) bool { return slices.ContainsFunc(m.Set, named) })
}

// missing are the seeds whose base models cells of the plan start from and are not there.
func (p *Plan) missing(m Models) (seeds []uint64) {
	if !p.startsFrom(m.Dir) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.Seeds), func(seed uint64) bool {
		_, err := os.Stat(filepath.Join(m.of(seed), "config.json"))
		return !errors.Is(err, os.ErrNotExist)
	})
}

// MissingModels counts the base models that MakeModels would make.
func (p *Plan) MissingModels() (n int) {
	for _, m := range p.Models {
		n += len(p.missing(m))
	}
	return n
}

// MakeModels makes the base models of the plan that are not there, one kind after the other: a later one may start from an earlier one, or
// learn from it. An interruption loses those under way.
func (p *Plan) MakeModels(ctx context.Context, load Loader, cores int, progress func(Progress)) error {
	for _, m := range p.Models {
		var tasks []Task
		for _, seed := range p.missing(m) {
			tasks = append(tasks, Task{Name: "base model " + m.of(seed), Units: 1, Make: func(ctx context.Context, d *TaskContext) (any, any, error) {
				return nil, nil, m.make(ctx, load, seed, d.Cores())
			}})
		}
		if err := (Work{Cores: cores, Progress: progress}).Do(ctx, tasks); err != nil {
			return err
		}
	}
	return nil
}

// make makes the base model of a seed.
func (m Models) make(ctx context.Context, load Loader, seed uint64, workers int) error {
	changes, _ := forSeed(m.Set, seed)
	r, err := load(m.Recipe, changes)
	if err != nil {
		return err
	}
	r.Seed = seed
	if r.Pretrain == nil {
		return fmt.Errorf("recipe %s has no pretrain section: name one that has, such as chain-base", m.Recipe)
	}
	lock, err := record.LockFolder(m.of(seed))
	if err != nil {
		return err
	}
	result, err := trainer.Pretrain(ctx, r, trainer.Options{Workers: workers})
	lock.Release()
	if err != nil {
		return err
	}
	return SaveBase(m.of(seed), r, result.Params)
}

// SaveBase writes a base model with the vocabulary of its recipe's task, whole or not at all.
func SaveBase(dir string, r recipe.Recipe, p *model.Params) error {
	bos, eos := int(task.BOS), int(task.EOS)
	return model.Save(dir, p, model.Extras{Vocab: r.Task.Params.Vocab(), BOS: &bos, EOS: &eos,
		Notes: map[string]string{"recipe": r.Name, "seed": strconv.FormatUint(r.Seed, 10)}})
}
