package claim

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"driftlab/experiments/study/judge"
	"driftlab/precision/must"
	"driftlab/trainer/recipe"
)

// twoArms is a small claim with loops over levels, words, a measurement next to the arms, a
// table and notes.
//
//go:embed testdata/two-arms.yaml
var twoArms string

// powers records the first powers of a base.
type powers struct {
	Base float64
	Name string
}

func (p *powers) Measure(_ *Env, o *Observation) {
	o.Set(p.Name, p.Base, float64(p.Base*p.Base))
}

var testLibrary = Library{Measurements: map[string]func() Measurement{"powers": func() Measurement { return new(powers) }}}

// TestFile reads a claim, and judges two replications whose figures are known.
func TestFile(t *testing.T) {
	f := must.Get(readFile([]byte(twoArms), &testLibrary))(t)
	must.Do(t, f.validate())
	if want := strings.TrimSpace(PassRateNote) + " Then more."; f.Setup != want {
		t.Errorf("setup %q, want %q", f.Setup, want)
	}
	var names []string
	for _, a := range f.Training.Arms {
		names = append(names, a.Name)
	}
	if want := []string{"fp8, plain", "fp8, TIS", "fp4, plain", "fp4, TIS"}; !slices.Equal(names, want) {
		t.Errorf("arms %q, want %q", names, want)
	}
	if got := withRate(f.Training.Arms[3].Set, "2e-3"); !slices.Equal(got, []string{"rollout.numerics=fp4", "learner.optimizer.lr=2e-3"}) {
		t.Errorf("changes %q", got)
	}
	if got := withRate(f.Training.Arms[2].Set, "2e-3"); !slices.Equal(got, []string{"learner.optimizer.lr=2e-3", "rollout.numerics=fp4"}) {
		t.Errorf("changes %q", got)
	}
	j := &Judge{Seeds: []uint64{1, 2}}
	for k := range 2 {
		o := new(Observation)
		for i, arm := range names {
			for r, rate := range f.Training.Rates {
				// Late pass rates 0.1, 0.2, 0.3, 0.4 by arm, 0.1 more in the second replication.
				v := float64(i+1)/10 + float64(k)/10
				o.Set(AtLR(arm, rate), 1, 1, 1, v, v, v)
				o.Set(ArmColumn(AtLR(arm, rate), "gap/k3"), float64(r), float64(r))
			}
		}
		f.measurements[1].Measure(nil, o)
		j.Runs = append(j.Runs, o)
	}
	f.judge(j)
	want := map[string][]float64{"TIS minus plain": {0.15, 0.2}, "gap, lr 2e-3": {1, 1}, "slope": {0.1, 0.1}, "ends": {0, 1}, "highest": {6, 6}}
	for _, c := range j.Evidence.Checks {
		for i, v := range want[c.Name] {
			if c.Level == judge.Natural && math.Abs(c.Seeds[i]-v) > 1e-12 {
				t.Errorf("%s: %v, want %v", c.Name, c.Seeds, want[c.Name])
			}
		}
	}
	if n := len(j.Evidence.Checks); n != 7 || j.Evidence.Picture == nil {
		t.Errorf("%d checks of 7, picture %v", n, j.Evidence.Picture)
	}
	got := j.Evidence.Table.Columns[2].Name
	for _, row := range j.Evidence.Table.Rows {
		got += fmt.Sprintf("\n%s,%s,%.2f", row[0].Text, row[1].Text, row[2].Value)
	}
	if !strings.HasPrefix(got, "pass rate\nplain,both,0.15") || !strings.Contains(got, "\nTIS,both,0.25") {
		t.Errorf("table %q", got)
	}
	if got := j.Evidence.Notes; !slices.Equal(got, []string{"Gain 0.1, 2 powers."}) {
		t.Errorf("notes %q", got)
	}
}

// TestFileUnits: a function is one of a warm start's means, and inside each(...) one of the runs.
func TestFileUnits(t *testing.T) {
	j := &Judge{Seeds: []uint64{1, 11, 2}, SharedWarmStarts: true}
	for _, x := range [][]float64{{1, 5}, {4, 2}, {3, 3}} {
		o := new(Observation)
		o.Set("x", x...)
		j.Runs = append(j.Runs, o)
	}
	s := scope{j: j, lib: new(Library)}
	for text, want := range map[string][]float64{`max("x")`: {3.5, 3}, `each(max("x"))`: {4.5, 3}, `"x"[0]`: {2.5, 3}, `overall("x"[-1])`: {3.25, 3.25}} {
		if got := s.evaluate(text); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// TestFileFaults: what a file says wrongly is named.
func TestFileFaults(t *testing.T) {
	for change, want := range map[string]string{
		"title: -> titel:": "titel",
		`late("$name, TIS") - -> late("$name, TISS") -`:           `check "TIS minus plain": late("fp8, TISS") - 0.5 * late("fp8, plain"): no figure "fp8, TISS at lr 1e-3"`,
		`"gap/k3")' -> "gap/k4")'`:                                `no figure "fp8, TIS at lr 1e-3, gap/k4"`,
		"slope(list -> slop(list":                                 "no function slop",
		"rate: 2e-3, test -> rate: 3e-3, test":                    `no learning rate "3e-3"`,
		"level: natural, test: fewer -> level: mild, test: fewer": `no level "mild"`,
		"test: fewer collapses -> test: fewer":                    `no test "fewer"`,
		"{secondary: slope -> {primary: x, secondary: slope":      "one of primary and secondary",
		"steps: [6, 6, 6] -> steps: [6]":                          "three steps",
		"0.5 * -> 0.5 % ":                                         "no operator",
		"measure: powers -> measure: squares":                     `no measurement "squares": there are powers`,
		"{base: 2, -> {bass: 2,":                                  "params of powers",
		`max("powers") -> max("squares")`:                         `check "highest": max("squares") - each("powers"[1:][0] / -"powers"[0]): no figure "squares"`,
		`TIS at lr $rate"[-1] -> TIS at lr 3e-3"[-1]`:             `no figure "fp8, TIS at lr 3e-3"`,
		"test: above, than: 3.5 -> test: above":                   "than is the threshold",
		`value: late("$arm") -> value: lat("$arm")`:               "picture: lat",
		`'late("$level, $arm")' -> 'late("$level $arm")'`:         `table: late("fp8 plain"): no figure "fp8 plain at lr 1e-3"`,
		`length("powers") -> lengths("powers")`:                   "notes: lengths",
		"cells: [=both, -> cells: [=both, =none,":                 `table: row "plain" has 4 cells for 3 columns`,
	} {
		old, changed, _ := strings.Cut(change, " -> ")
		text := strings.Replace(twoArms, old, changed, 1)
		if text == twoArms {
			t.Fatalf("%q is not there", old)
		}
		if err := Checked([]byte(text), &testLibrary); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", change, err, want)
		}
	}
}

// TestReadFaults: the file is named, a folder's name is a theme, and the id is the file's name.
func TestReadFaults(t *testing.T) {
	if all, err := Read(fstest.MapFS{"theme/two-arms.yaml": {Data: []byte(twoArms)}}, &testLibrary); err != nil || all["two-arms"].Theme != "theme" {
		t.Errorf("%v, %+v", err, all)
	}
	_, err := Read(fstest.MapFS{"theme/other.yaml": {Data: []byte(twoArms)}}, &testLibrary)
	if want := `theme/other.yaml: its id is "two-arms", not its name`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestFileFigures: a measurement that records what its claim does not list, or lacks what it
// lists, is an error that names the figure.
func TestFileFigures(t *testing.T) {
	for name, want := range map[string]string{"powers": "", "cubes": `recorded "cubes", which its figures do not list`} {
		text := "id: c\nversion: 1\nmeasure: powers\nparams: {base: 2, name: " + name + "}\nfigures: [powers, pow*]\npicture: {title: t, bars: [a], groups: [{name: g, value: '1'}]}\n"
		f := must.Get(readFile([]byte(text), &testLibrary))(t)
		if _, err := f.measure(context.Background(), new(Env)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// TestFilesNameRecipes: what the arms of every claim's file change is a recipe, at every
// learning rate.
func TestFilesNameRecipes(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "..", "..", "studies", "claims", "*", "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d files (%v)", len(paths), err)
	}
	for _, path := range paths {
		text := must.Get(os.ReadFile(path))(t)
		f, _, err := parseFile(text)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, a := range f.Training.Arms {
			for _, rate := range f.Training.ratesOf(&a) {
				set := slices.Concat(f.Training.Set, withRate(a.Set, rate))
				for i := range set {
					set[i] = Full.of(set[i])
				}
				if _, err := recipe.Load("headline", set...); err != nil {
					t.Errorf("%s: %s: %v", path, a.Name, err)
				}
			}
		}
	}
}
