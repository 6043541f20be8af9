package study

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"driftlab/results/record"
	"driftlab/results/stats"
	"driftlab/trainer/recipe"
)

// Cell is a point of the grid with a seed.
type Cell struct {
	// Run names what it runs: equal recipes are one run, in whatever sweep.
	Run string
	// Values are the cell's columns: its value of every factor, and their labels.
	Values map[string]string
	// Point is its place among the points of the grid, Seed its seed.
	Point int
	Seed  uint64
	// Recipe is resolved, and named by its run.
	Recipe recipe.Recipe
}

// Grid is a plan with every recipe read: its cells in the order of the points, the
// seeds of each together.
type Grid struct {
	Plan  *Plan
	Cells []Cell
	// Points counts those of the plan, Commands say how each is run alone.
	Commands []string
	// CannotAct has for each point the parts of its recipe that cannot act.
	CannotAct [][]string
	byRun     map[string][]*Cell
	resolved  *Index
}

// Loader reads a recipe, with its models, so that whatever is wrong is said before
// anything runs.
type Loader func(base string, changes []recipe.Change) (recipe.Recipe, error)

// Grid spans the plan. Faults say at which point they are. Where only names points, the
// models of the others need not be there yet.
func (p *Plan) Grid(load Loader, only ...Condition) (*Grid, error) {
	g := &Grid{Plan: p}
	if err := p.setTwice(); err != nil {
		return nil, err
	}
	factors := p.factors()
	for _, chosen := range product(factors) {
		values, base, changes := p.point(factors, chosen)
		if len(p.Only) > 0 && !meetsOne(p.Only, values) || meetsOne(p.Except, values) {
			continue
		}
		load := load
		if with := load; len(only) > 0 && !meetsOne(only, values) {
			load = func(base string, changes []recipe.Change) (recipe.Recipe, error) {
				if r, err := with(base, changes); err == nil {
					return r, nil
				}
				return recipe.LoadChanged(base, changes...) // whose model may be missing
			}
		}
		for _, c := range changes {
			if strings.HasPrefix(c.String(), "seed=") {
				return nil, recipe.Faults{{Source: c.Source(), Path: "seed", Problem: "the seeds of a sweep stand under seeds, or give --seeds N --seed FIRST"}}
			}
		}
		var r recipe.Recipe
		for k, seed := range p.Seeds {
			if own, marked := forSeed(changes, seed); k == 0 || marked && !otherModel(&r, own, changes) {
				var err error
				if r, err = load(base, own); err != nil {
					return nil, placed(err, factors, values)
				}
			}
			c := Cell{Values: values, Point: len(g.Commands), Seed: seed, Recipe: r}
			c.Recipe.Seed = seed
			c.Run = c.Recipe.Identity()
			c.Recipe.Name = c.Run
			g.Cells = append(g.Cells, c)
		}
		g.Commands = append(g.Commands, command(base, changes))
		g.CannotAct = append(g.CannotAct, r.Inert())
	}
	if len(g.Cells) == 0 {
		return nil, errors.New("no point of the grid is left: look at only and except")
	}
	return g, nil
}

// setTwice refuses a change of all points in a field that a factor varies, which would
// be lost.
func (p *Plan) setTwice() error {
	var faults recipe.Faults
	for _, c := range p.Set {
		for _, f := range p.Factors {
			if f.field != "" && strings.HasPrefix(c.String(), f.field+"=") {
				faults = append(faults, recipe.Fault{Source: c.Source(), Path: f.field, Problem: "the sweep varies this field: leave it out here, or take the factor out of the sweep"})
			}
		}
	}
	if len(faults) > 0 {
		return faults
	}
	return nil
}

// forSeed are the changes of a point for a seed; marked reports whether they name it.
func forSeed(changes []recipe.Change, seed uint64) (own []recipe.Change, marked bool) {
	for _, c := range changes {
		c, one := c.ForSeed(seed)
		own, marked = append(own, c), marked || one
	}
	return own, marked
}

// otherModel gives a recipe the base model of another seed, where nothing else of it depends on the seed and the model is there: its
// recipe is then the one that was read, as the base models of a plan have one form.
func otherModel(r *recipe.Recipe, own, changes []recipe.Change) bool {
	at := -1
	for i, c := range changes {
		if own[i].String() == c.String() {
			continue
		}
		if at >= 0 || !strings.HasPrefix(c.String(), "checkpoint=") {
			return false
		}
		at = i
	}
	if at < 0 {
		return false
	}
	dir := strings.Trim(strings.TrimPrefix(own[at].String(), "checkpoint="), `"'`)
	if _, err := os.Stat(filepath.Join(dir, "config.json")); err != nil {
		return false
	}
	r.Checkpoint = dir
	return true
}

// product are the points of a grid, a value of each factor, the last factor varying fastest.
func product(factors []Factor) [][]Value {
	points := [][]Value{nil}
	for _, f := range factors {
		var next [][]Value
		for _, point := range points {
			for _, v := range f.Values {
				next = append(next, append(slices.Clip(point), v))
			}
		}
		points = next
	}
	return points
}

// point is what a point of the grid changes in which recipe, and its columns.
func (p *Plan) point(factors []Factor, chosen []Value) (values map[string]string, base string, changes []recipe.Change) {
	base, changes, values = p.Bases[0], slices.Clone(p.Set), map[string]string{}
	for i, f := range factors {
		v := chosen[i]
		if v.base != "" {
			base = v.base
		}
		values[f.Name] = v.Name
		for _, l := range v.Labels {
			values[l.Name] = l.Text
		}
		changes = append(changes, v.Set...)
	}
	return values, base, changes
}

// meetsOne reports whether a point meets one of the conditions.
func meetsOne(list []Condition, values map[string]string) bool {
	return slices.ContainsFunc(list, func(c Condition) bool { return c.meets(values) })
}

// placed adds to faults the point at which they are.
func placed(err error, factors []Factor, values map[string]string) error {
	where := stats.Map(factors, func(f Factor) string { return f.Name + "=" + values[f.Name] })
	if len(where) == 0 {
		return err
	}
	point := strings.Join(where, ", ")
	var faults recipe.Faults
	if !errors.As(err, &faults) {
		return fmt.Errorf("%w (at %s)", err, point)
	}
	faults = slices.Clone(faults)
	for i := range faults {
		faults[i].Problem += " (at " + point + ")"
	}
	return faults
}

// command runs a point alone, but for its seed.
func command(base string, changes []recipe.Change) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "simulate train %s", record.ShellWord(base))
	for _, c := range changes {
		fmt.Fprintf(&b, " --set %s", record.ShellWord(c.String()))
	}
	return b.String()
}
