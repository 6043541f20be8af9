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
	short.Set = append(append([]recipe.Change(nil), p.Set...), p.Quick.Set...)
	short.Fresh = nil
	short.Seeds, short.Confirm = append(append([]uint64(nil), p.Quick.Seeds...), p.Quick.Confirm...), p.Quick.Confirm
	if len(p.Quick.Only) > 0 {
		short.Only = p.Quick.Only
	}
	return &short, nil
}

// baseModel is a base model to make.
type baseModel struct {
	Models
	seed uint64
}

func (m baseModel) dir() string { return filepath.Join(m.Dir, strconv.FormatUint(m.seed, 10)) }

// startsFrom reports whether a cell may start from base models in a folder: not where all checkpoints that the plan sets are others, of
// those for all cells the last.
func (p *Plan) startsFrom(dir string) bool {
	var set []string
	for _, c := range p.Set {
		if at, ok := strings.CutPrefix(c.String(), "checkpoint="); ok {
			set = []string{at}
		}
	}
	for _, f := range p.Factors {
		for _, v := range f.Values {
			for _, c := range v.Set {
				if at, ok := strings.CutPrefix(c.String(), "checkpoint="); ok || strings.Contains(at, dir) { // or has a teacher there
					set = append(set, at)
				}
			}
		}
	}
	return set == nil || slices.ContainsFunc(set, func(at string) bool { return strings.Contains(at, dir) })
}

// missingModels are the base models that cells of the plan start from and that are not there.
func (p *Plan) missingModels() (list []baseModel) {
	for _, m := range p.Models {
		if !p.startsFrom(m.Dir) {
			continue
		}
		for _, seed := range p.Seeds {
			one := baseModel{m, seed}
			if _, err := os.Stat(filepath.Join(one.dir(), "config.json")); errors.Is(err, os.ErrNotExist) {
				list = append(list, one)
			}
		}
	}
	return list
}

// MissingModels counts the base models that MakeModels would make.
func (p *Plan) MissingModels() int { return len(p.missingModels()) }

// MakeModels makes the base models of the plan that are not there. An interruption loses those under way.
func (p *Plan) MakeModels(ctx context.Context, load Loader, cores int, progress func(Progress)) error {
	var tasks []Task
	for _, m := range p.missingModels() {
		tasks = append(tasks, Task{Name: "base model " + m.dir(), Units: 1, Make: func(ctx context.Context, d *TaskContext) (any, any, error) {
			r, err := load(m.Recipe, m.Set)
			if err != nil {
				return nil, nil, err
			}
			r.Seed = m.seed
			if r.Pretrain == nil {
				return nil, nil, fmt.Errorf("recipe %s has no pretrain section: name one that has, such as chain-base", m.Recipe)
			}
			lock, err := record.LockFolder(m.dir())
			if err != nil {
				return nil, nil, err
			}
			result, err := trainer.Pretrain(ctx, r, trainer.Options{Workers: d.Cores()})
			lock.Release()
			if err != nil {
				return nil, nil, err
			}
			return nil, nil, SaveBase(m.dir(), r, result.Params)
		}})
	}
	return Work{Cores: cores, Progress: progress}.Do(ctx, tasks)
}

// SaveBase writes a base model with the vocabulary of its recipe's task, whole or not at all.
func SaveBase(dir string, r recipe.Recipe, p *model.Params) error {
	bos, eos := int(task.BOS), int(task.EOS)
	return model.Save(dir, p, model.Extras{Vocab: r.Task.Params.Vocab(), BOS: &bos, EOS: &eos,
		Notes: map[string]string{"recipe": r.Name, "seed": strconv.FormatUint(r.Seed, 10)}})
}
