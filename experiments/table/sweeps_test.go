package table_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"driftlab/experiments/study"
	"driftlab/experiments/table"
	"driftlab/trainer/recipe"
)

// someSeeds are as many as a sweep is read with: a grid has all of its points at each seed.
const someSeeds = 1

// read reads every shipped sweep with the recipes of its first seeds, once.
var read = sync.OnceValues(func() (map[string]*study.Grid, error) {
	all := map[string]*study.Grid{}
	for _, name := range table.Names() {
		text, _ := table.Text(name)
		plan, err := study.Parse(name+".yaml", text)
		if err != nil {
			return nil, err
		}
		if plan.Name != name {
			return nil, fmt.Errorf("the sweep of %s.yaml is named %s", name, plan.Name)
		}
		seeds := plan.Seeds
		plan.Seeds = seeds[:min(someSeeds, len(seeds))]
		all[name], err = plan.Grid(func(base string, changes []recipe.Change) (recipe.Recipe, error) {
			return recipe.LoadChanged(base, changes...)
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		plan.Seeds = seeds
	}
	return all, nil
})

func grids(t *testing.T) map[string]*study.Grid {
	t.Helper()
	all, err := read()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Every cell has the runs that it is compared with: the control's under its stressor,
// and the control's under the stressor that its label against names. Where every setting has a
// learning rate of its own, so has the control.
func TestSweepsHaveTheirControls(t *testing.T) {
	for name, grid := range grids(t) {
		type place struct {
			task, method, stressor, rate string
			seed                         uint64
		}
		rateOf := func(v map[string]string) string {
			if name == "transfer" || name == "scales" {
				return ""
			}
			return v["rate"]
		}
		there := map[place]bool{}
		tasks := false
		for _, c := range grid.Cells {
			v := c.Values
			there[place{v["task"], v["method"], v["stressor"], rateOf(v), c.Seed}] = true
			tasks = tasks || v["task"] != ""
		}
		letters := map[string]bool{}
		for _, c := range grid.Cells {
			v := c.Values
			against := v["against"]
			if against == "" {
				if v["method"] != "none" {
					t.Errorf("%s: %s is run without a stressor", name, v["method"])
				}
				continue
			}
			letters[v["letter"]] = true
			for _, stressor := range []string{v["stressor"], against} {
				if !there[place{v["task"], "none", stressor, rateOf(v), c.Seed}] {
					t.Errorf("%s: %s under %s has no control under %s", name, v["method"], v["stressor"], stressor)
				}
			}
		}
		for _, letter := range []string{"A", "B", "C", "D", "E", "F"} {
			if !letters[letter] && !tasks {
				t.Errorf("%s has no stressor %s", name, letter)
			}
		}
	}
}

// The seeds of the stages are apart: what is confirmed was not chosen on them.
func TestStagesShareNoSeed(t *testing.T) {
	seen := map[uint64]string{}
	for name, grid := range grids(t) {
		for _, seed := range grid.Plan.Seeds {
			if other, ok := seen[seed]; ok && name != "quick" && other != "quick" {
				t.Errorf("%s and %s share seed %d", name, other, seed)
			}
			if name != "quick" {
				seen[seed] = name
			}
		}
	}
}

// The stages tune and transfer have the same tasks, settings, stressors and rates.
func TestTransferHasTheFactorsOfTune(t *testing.T) {
	plan := func(name string) *study.Plan {
		text, _ := table.Text(name)
		p, err := study.Parse(name+".yaml", text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	tune, transfer := plan("tune"), plan("transfer")
	for i, f := range tune.Factors {
		g := transfer.Factors[i]
		if f.Name != g.Name || len(f.Values) != len(g.Values) {
			t.Fatalf("factor %s of tune is %s in transfer", f.Name, g.Name)
		}
		for k, v := range f.Values {
			same := v.Name == g.Values[k].Name && len(v.Set) == len(g.Values[k].Set)
			for n := range v.Set {
				same = same && v.Set[n].String() == g.Values[k].Set[n].String()
			}
			if !same {
				t.Errorf("%s %s is set otherwise in transfer", f.Name, v.Name)
			}
		}
	}
}

// TestPublishedSweeps: the published runs are read, each in its place in the plan.
func TestPublishedSweeps(t *testing.T) {
	for name, cells := range map[string]int{"tune": 2910, "transfer": 1940, "scales": 190} {
		done, err := study.Read(filepath.Join(publishedTable, name))
		if err != nil {
			t.Fatal(err)
		}
		if done.Name != name || len(done.Rows) != cells || done.Missing() != "" {
			t.Errorf("%s: %d rows of the sweep %s", name, len(done.Rows), done.Name)
		}
	}
}
