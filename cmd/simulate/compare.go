package main

import (
	"slices"
	"strings"

	"driftlab/experiments/study"
	"driftlab/trainer/recipe"
)

type compareCmd struct {
	Recipes []string `arg:"" complete:"recipes" help:"Shipped recipes or files; --set applies to all."`
	Seeds   number   `help:"Number of consecutive seeds, from --seed or the seed of the first recipe." default:"3" min:"1" max:"100000" placeholder:"N"`
	common
}

// Run makes the runs of the recipes and shows them.
func (c *compareCmd) Run(a *app) error {
	changes, err := c.changes()
	if err != nil {
		return err
	}
	var first uint64
	var recipes []recipe.Recipe
	var texts []string
	for i, name := range c.Recipes {
		r, err := c.load(name)
		if err != nil {
			return err
		}
		if i == 0 {
			first = r.Seed
		}
		r.Seed = first
		text := string(r.YAML())
		if slices.Contains(texts, text) {
			return bad("compare: %s is given twice", name)
		}
		texts, recipes = append(texts, text), append(recipes, r)
	}
	for _, r := range recipes {
		a.noteRandomWeights(c.Quiet, r)
	}
	seeds, err := seedsFrom(first, int(c.Seeds))
	if err != nil {
		return err
	}
	changes = slices.DeleteFunc(changes, func(c recipe.Change) bool { return strings.HasPrefix(c.String(), "seed=") })
	return a.runStudy(studyRun{plan: study.Compare(c.Recipes, changes, seeds), maker: comparePage, options: study.Options{Keep: true}, loss: c.choosesLoss(), common: &c.common})
}
