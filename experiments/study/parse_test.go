package study

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"driftlab/model"
	"driftlab/precision/must"
	"driftlab/trainer/recipe"
)

// TestParse reads a file that uses all there is.
func TestParse(t *testing.T) {
	p := must.Get(Parse("folder/screen.yaml", []byte(`
base: [default, headline]
set: {steps: 5, eval: {every: 2}}
seeds: {first: 7, count: 2}
factors:
  - {field: learner.optimizer.lr, values: [5e-4, 1e-3]}
  - name: method
    values:
      - {name: none, group: control}
      - {name: gspo, group: loss, set: {loss: {eps_low: 3e-4, name: gspo}, correction: {masks: [{name: geometric}]}}}
except: {method: gspo, learner.optimizer.lr: [1e-3]}
`)))(t)
	if p.Name != "screen" || !slices.Equal(p.Seeds, []uint64{7, 8}) || !slices.Equal((&Index{Factors: p.indexFactors()}).columns(), []string{"recipe", "learner.optimizer.lr", "method", "group"}) {
		t.Errorf("%s, seeds %v, columns %v", p.Name, p.Seeds, (&Index{Factors: p.indexFactors()}).columns())
	}
	var sets []string
	for _, c := range append(p.Set, p.Factors[1].Values[1].Set...) {
		sets = append(sets, c.Source()+" "+c.String())
	}
	want := []string{"folder/screen.yaml:3 steps=5", "folder/screen.yaml:3 eval.every=2", "folder/screen.yaml:10 loss.name=gspo",
		"folder/screen.yaml:10 loss.eps_low=3e-4", "folder/screen.yaml:10 correction.masks=[{name: geometric}]"}
	if !slices.Equal(sets, want) {
		t.Errorf("changes\n%s\nwant\n%s", strings.Join(sets, "\n"), strings.Join(want, "\n"))
	}
	if got := numbers([]string{"5e-4", "1e-3"}); !slices.Equal(got, []float64{5e-4, 1e-3}) || numbers([]string{"5e-4", "none"}) != nil {
		t.Errorf("numbers %v", got)
	}
	g := must.Get(p.Grid(load))(t)
	if len(g.Cells) != 2*3*2 || len(g.Runs()) != 12 {
		t.Errorf("%d cells, %d runs, want 12 of both: two recipes, three points, two seeds", len(g.Cells), len(g.Runs()))
	}
	if want := "simulate train headline --set steps=5 --set eval.every=2 --set learner.optimizer.lr=5e-4 --set loss.name=gspo --set loss.eps_low=3e-4 --set 'correction.masks=[{name: geometric}]'"; g.Commands[4] != want {
		t.Errorf("command\n%s\nwant\n%s", g.Commands[4], want)
	}
}

// TestPlanOfFlags: what --sweep says is held to the rules of a file, and a field that tables
// have a column of has another name there.
func TestPlanOfFlags(t *testing.T) {
	p := must.Get(ParseFlags([]string{"headline"}, []string{"steps=2,3", "learner.optimizer.lr=1e-3"}))(t)
	if got := (&Index{Factors: p.indexFactors()}).columns(); !slices.Equal(got, []string{"recipe.steps", "learner.optimizer.lr"}) {
		t.Errorf("columns %v", got)
	}
	for _, tc := range []struct {
		bases, sweeps []string
		want          string
	}{
		{[]string{"headline"}, []string{"steps=2,3", "steps=4"}, "--sweep steps=4: steps is varied twice: put all of its values into one list"},
		{[]string{"headline", "headline"}, []string{"steps=2"}, "headline is given twice"},
	} {
		if _, err := ParseFlags(tc.bases, tc.sweeps); err == nil || err.Error() != "sweep: "+tc.want && err.Error() != tc.want {
			t.Errorf("%v %v: %v, want %s", tc.bases, tc.sweeps, err, tc.want)
		}
	}
	p.Seeds = []uint64{1}
	set := must.Get(recipe.ParseChange("--set", "steps=5"))(t)
	p.Set = append(p.Set, set)
	if _, err := p.Grid(load); err == nil || !strings.Contains(err.Error(), "steps: the sweep varies this field") {
		t.Errorf("--set of what is varied: %v", err)
	}
}

// TestColumnsOnce: no table of a sweep has a column twice.
func TestColumnsOnce(t *testing.T) {
	for name, columns := range map[string][]column{"runs": runColumns(), "steps": stepColumns()} {
		seen := map[string]bool{}
		for _, c := range append((&Index{}).factorColumns(), columns...) {
			if seen[c.Name] {
				t.Errorf("the table of %s has %s twice", name, c.Name)
			}
			seen[c.Name] = true
		}
	}
}

// load reads a recipe as the command does, without its models.
func load(base string, changes []recipe.Change) (recipe.Recipe, error) {
	return recipe.LoadChanged(base, changes...)
}

// TestFaults: whatever is wrong is said with its place.
func TestFaults(t *testing.T) {
	const head = "base: headline\n"
	for _, tc := range []struct{ text, want string }{
		{"", "s.yaml: the sweep is empty"},
		{"seeds: [1]\n", "s.yaml: base: missing"},
		{head + "sedes: [1]\n", `s.yaml:2: sedes: unknown field; did you mean "seeds"?`},
		{head + "steps: 5\n", "s.yaml:2: steps: unknown field; "},
		{head + "seeds: [1, 2, 1]\n", "s.yaml:2: seeds[2]: seed 1 is given twice"},
		{head + "seeds: []\n", "s.yaml:2: seeds: no seed"},
		{head + "seeds: 2\n", "s.yaml:2: seeds: a bare number may mean one seed or so many: write [2] for seed 2, or {first: 1, count: 2} for 2 seeds in a row"},
		{head + "seeds: {first: 18446744073709551615, count: 2}\n", "s.yaml:2: seeds: count must be"},
		{head + "seeds: {count: 0}\n", "s.yaml:2: seeds: count must be"},
		{head + "set: 5\n", "s.yaml:2: set: expected a mapping of a recipe's fields, got 5"},
		{head + "set: {eval: {every: 1, every: 2}}\n", "s.yaml:2: eval.every: given twice"},
		{head + "factors: [{values: [1]}]\n", "s.yaml:2: factors[0]: needs a field"},
		{head + "factors: [{field: steps}]\n", "s.yaml:2: factors[0]: steps has no values"},
		{head + "factors: [{field: steps, values: [1, 1]}]\n", "s.yaml:2: factors[0].values[1]: 1 is given twice"},
		{head + "factors:\n- {name: m, values: [{name: a, set: {}}, {name: a}]}\n", "s.yaml:3: factors[0].values[1]: a is given twice"},
		{head + "factors:\n- {name: m, values: [{set: {}}]}\n", "s.yaml:3: factors[0].values[0]: needs a name"},
		{head + "factors:\n- {name: m, values: [a]}\n", "s.yaml:3: factors[0].values[0]: expected a mapping"},
		{head + "factors:\n- {name: m, values: [{name: a, sett: {steps: 1}}]}\n", "s.yaml:3: factors[0].values[0].sett: a label is a text"},
		{head + "factors: [{field: steps, values: [1]}, {name: steps, values: [{name: a}]}]\n", "factors[1]: there is another column named steps: choose another name"},
		{head + "factors: [{name: gap/k1, values: [{name: a}]}]\n", "factors[0]: there is another column named gap/k1"},
		{head + "factors: [{field: steps, name: a, values: [1]}, {field: steps, name: b, values: [2]}]\n", "factors[1]: steps is varied twice: put all of its values into one list"},
		{head + "factors: [{name: m, values: [{name: a}]}]\nonly: [{n: a}]\n", `only[0]: no such factor: unknown name "n"`},
		{head + "factors: [{name: m, values: [{name: a}]}]\nexcept: [{m: b}]\n", `except[0]: m has no such value: unknown name "b"`},
		{head + "within: task\n", `within: "task" is no factor of the plan`},
		{head + "factors: [{name: m, values: [{name: a}]}]\nwithin: m\nrates: {from: 5e-4, fewer: [{value: b, models: 3}]}\n", `rates.fewer[0]: needs a value of the factor that within names`},
		{head + "factors: [{name: m, values: [{name: a}]}]\nrates: {from: 5e-4}\npredict: [\"16, a\"]\n", `predict[0]: "16, a": with a ladder, write the values of all factors`},
		{head + "---\nbase: default\n", "a second YAML document: a sweep is one"},
		{"base: *x\n", "not YAML"},
		{"base: &x headline\n", "anchors and aliases"},
	} {
		_, err := Parse("s.yaml", []byte(tc.text))
		var faults recipe.Faults
		if !errors.As(err, &faults) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q:\n%v\nwant\n%s", tc.text, err, tc.want)
		}
	}
}

// TestSeedMark: what names the seed is another recipe for every seed, and nothing else is.
func TestSeedMark(t *testing.T) {
	g := gridOf(t, "base: headline\nset:\n  checkpoint: models/{seed}\nseeds: [3, 4]\n")
	for i, want := range []string{"models/3", "models/4"} {
		if got := g.Cells[i].Recipe.Checkpoint; got != want {
			t.Errorf("seed %d starts from %q, want %q", g.Cells[i].Seed, got, want)
		}
	}
	if want := "simulate train headline --set 'checkpoint=models/{seed}'"; g.Commands[0] != want {
		t.Errorf("the point is %q, want %q", g.Commands[0], want)
	}
}

// TestPlacedFaults: what is wrong with a recipe of the grid names the line of the
// sweep that made it so, and the point.
func TestPlacedFaults(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"set:\n  stepz: 5\n", `s.yaml:3: stepz: unknown field; did you mean "steps"? (at m=a)`},
		{"set: {seed: 3}\n", "s.yaml:2: seed: the seeds of a sweep stand under seeds, or give --seeds N --seed FIRST"},
		{"set: {learner: {optimizer: {lr: fast}}}\n", `s.yaml:2: learner.optimizer.lr: expected a number, got the text "fast" (at m=a)`},
	} {
		p := must.Get(Parse("s.yaml", []byte("base: headline\n"+tc.text+"factors: [{name: m, values: [{name: a}]}]\n")))(t)
		if _, err := p.Grid(load); err == nil || err.Error() != tc.want {
			t.Errorf("%q:\n%v\nwant\n%s", tc.text, err, tc.want)
		}
	}
}

// TestFlags reads factors and conditions of the command line.
func TestFlags(t *testing.T) {
	f := must.Get(parseFactor(`loss=ppo_clip,{name: gspo, eps_low: 3e-4},"a,b", gspo`))(t)
	var names []string
	for _, v := range f.Values {
		names = append(names, v.Name)
	}
	if want := []string{"ppo_clip", "{name: gspo, eps_low: 3e-4}", `"a,b"`, "gspo"}; f.Name != "loss" || !slices.Equal(names, want) {
		t.Errorf("%s=%q, want loss=%q", f.Name, names, want)
	}
	for _, text := range []string{"", "steps", "steps=", "=1", "steps=1,1", "steps=[1", "a..b=1"} {
		if _, err := parseFactor(text); err == nil || !strings.HasPrefix(err.Error(), "--sweep "+text) {
			t.Errorf("%q: %v", text, err)
		}
	}
	c, err := ParseCondition("method=a+b,lr=1e-3")
	if err != nil || !c.meets(map[string]string{"method": "b", "lr": "1e-3"}) || c.meets(map[string]string{"method": "b", "lr": "2e-3"}) {
		t.Errorf("%v (%v)", c, err)
	}
	for _, text := range []string{"", "method", "method=", "=a"} {
		if _, err := ParseCondition(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	for text, ok := range map[string]bool{"0/1": true, "3/4": true, "4/4": false, "-1/4": false, "1": false, "a/b": false, "0/0": false} {
		if s, err := ParseShard(text); (err == nil) != ok || ok && fmt.Sprintf("%d/%d", s.Index, s.Count) != text {
			t.Errorf("shard %q: %v (%v)", text, s, err)
		}
	}
}

// FuzzParse: whatever the text, there is a plan or there are faults.
func FuzzParse(f *testing.F) {
	f.Add("base: headline\nseeds: {first: 1, count: 2}\nfactors: [{field: steps, values: [1, 2]}]\n")
	f.Add("base: [a, b]\nset: {a: {b: [1, {c: d}]}}\nfactors: [{name: m, values: [{name: x, set: {loss: gspo}, group: y}]}]\nonly: {m: x}\n")
	f.Add("base: x\nset: {? [a] : b}\nseeds: 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse("f.yaml", []byte(text))
		if err != nil {
			var faults recipe.Faults
			if !errors.As(err, &faults) || len(faults) == 0 {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if len(p.Bases) == 0 || len(p.Seeds) == 0 {
			t.Errorf("%q: %+v", text, p)
		}
		_, _ = p.Grid(func(base string, changes []recipe.Change) (recipe.Recipe, error) {
			for _, c := range changes {
				_ = c.String()
			}
			return recipe.Recipe{}, errors.New("no more than that")
		})
	})
}

// TestParseArms: arms and rates are factors, the arms outermost, with their faults.
func TestParseArms(t *testing.T) {
	p, err := Parse("s.yaml", []byte("title: T\nbase: headline\nrates: [5e-4, 1e-3]\narms: [{name: a, part: x}, {name: b, set: {steps: 3}}]\n"))
	if err != nil || len(p.Factors) != 2 || p.Title != "T" {
		t.Fatalf("%+v (%v)", p, err)
	}
	if a := p.Factors[0]; a.Name != ArmFactor || len(a.Values) != 2 || a.Values[0].Labels[0] != (Label{"part", "x"}) || a.Values[1].Set[0].String() != "steps=3" {
		t.Errorf("arms %+v", a)
	}
	if r := p.Factors[1]; r.Name != "learner.optimizer.lr" || r.Values[1].Set[0].String() != "learner.optimizer.lr=1e-3" {
		t.Errorf("rates %+v", r)
	}
	for text, want := range map[string]string{"arms: [{name: a}, {name: a}]": "a is given twice", "arms: [{set: {steps: 3}}]": "needs a name"} {
		_, err := Parse("s.yaml", []byte("base: headline\n"+text+"\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestMissingModels: base models are made where a cell may start from them, and not where every checkpoint that is set is another.
func TestMissingModels(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name, set, factor string
		want              int
	}{
		{"named for all", dir + "/{seed}", "", 2},
		{"another for all", "chain-base", "", 0},
		{"named by a value", "chain-base", "checkpoint: " + dir + "/{seed}", 2},
		{"a teacher of a value", "chain-base", "teacher: " + dir + "/{seed}", 2},
		{"another by one value", dir + "/{seed}", "checkpoint: chain-base", 2},
		{"none named", "", "", 2},
	} {
		text := "base: headline\nseeds: [1, 2]\nmodels: [{recipe: chain-base, dir: " + dir + "}]\n"
		if c.set != "" {
			text += "set: {checkpoint: \"" + c.set + "\"}\n"
		}
		if c.factor != "" {
			text += "factors: [{name: origin, values: [{name: own, set: {\"" + strings.Replace(c.factor, ": ", "\": \"", 1) + "\"}}, {name: usual}]}]\n"
		}
		p, err := Parse("plan.yaml", []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := p.MissingModels(); got != c.want {
			t.Errorf("%s: %d missing, want %d", c.name, got, c.want)
		}
	}
}

// TestModelsFromModels: a base model that starts from another one of its seed is made after it, also where no cell starts from that one.
func TestModelsFromModels(t *testing.T) {
	dir := t.TempDir()
	text := strings.ReplaceAll(`base: headline
seeds: [1, 2]
set: {checkpoint: "DIR/second/{seed}"}
models:
  - {recipe: tagged-base, dir: DIR/first, set: {checkpoint: chain-base, task: {name: chain, difficulty: [3, 4]}, pretrain: {steps: 1, rejection: {prompts: 8, samples: 2}}}}
  - {recipe: tagged-base, dir: DIR/second, set: {checkpoint: "DIR/first/{seed}", task: {name: chain, difficulty: [3, 4]}, pretrain: {steps: 1, rejection: {prompts: 8, samples: 2}}}}
`, "DIR", dir)
	p := must.Get(Parse("plan.yaml", []byte(text)))(t)
	if got := p.MissingModels(); got != 4 {
		t.Errorf("%d models are missing, want 4", got)
	}
	resolved := func(base string, changes []recipe.Change) (recipe.Recipe, error) {
		r, err := load(base, changes)
		if err != nil {
			return r, err
		}
		ck, err := model.Open(r.Checkpoint)
		if err != nil {
			return r, err
		}
		return r.ResolvedFor(ck.Params.Config)
	}
	must.Do(t, p.MakeModels(t.Context(), resolved, 2, func(Progress) {}))
	if got := p.MissingModels(); got != 0 {
		t.Errorf("%d models are missing after they were made", got)
	}
}
