package claim

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"driftlab/trainer/recipe"
)

// twoArms is a small claim with a loop over levels and a note.
const twoArms = `
id: two-arms
title: Two arms
setup: $pass_rates Then $note
version: 1
training:
  steps: [6, 6, 6]
  rates: [1e-3, 2e-3]
  columns: [gap/k3]
  arms:
    - for: &levels [{level: natural, name: fp8}, {level: amplified, name: fp4}]
      do:
        - {name: "$name, plain", set: [rollout.numerics=$name]}
        - {name: "$name, TIS", set: [rollout.numerics=$name, learner.optimizer.lr=$rate]}
checks:
  - for: *levels
    do:
      - {primary: TIS minus plain, level: $level, test: reported, of: ['late("$name, TIS") - 0.5 * late("$name, plain")']}
  - {secondary: "gap, lr 2e-3", level: natural, rate: 2e-3, test: reported, of: ['average("fp8, TIS", "gap/k3")']}
  - {secondary: slope, level: natural, test: reported, of: ['slope(2, late("fp8, plain"), 6, late("fp8, TIS")) / mean(late("fp8, TIS"))']}
  - {secondary: falls, level: natural, test: fewer collapses, of: ["fp8, TIS", "fp8, plain"]}
picture: {title: t, label: l, value: late("$arm"), arms: ["fp8, plain"]}
`

// TestFile reads a claim, and judges two replications whose figures are known.
func TestFile(t *testing.T) {
	f, err := readFile([]byte(twoArms), map[string]string{"note": "more."})
	if err != nil {
		t.Fatal(err)
	}
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
		j.Runs = append(j.Runs, o)
	}
	f.judge(j)
	want := map[string][]float64{"TIS minus plain": {0.15, 0.2}, "gap, lr 2e-3": {1, 1}, "slope": {0.1, 0.1}}
	for _, c := range j.Evidence.Checks {
		for i, v := range want[c.Name] {
			if c.Level == Natural && math.Abs(c.Seeds[i]-v) > 1e-12 {
				t.Errorf("%s: %v, want %v", c.Name, c.Seeds, want[c.Name])
			}
		}
	}
	if n := len(j.Evidence.Checks); n != 5 || j.Evidence.Picture == nil {
		t.Errorf("%d checks of 5, picture %v", n, j.Evidence.Picture)
	}
}

// TestFileFaults: what a file says wrongly is named when it is read.
func TestFileFaults(t *testing.T) {
	for change, want := range map[string]string{
		"title: -> titel:": "titel",
		`late("$name, TIS") - -> late("$name, TISS") - `:          `no arm "fp8, TISS"`,
		`"gap/k3")' -> "gap/k4")'`:                                `keeps no column "gap/k4"`,
		"slope(2, -> slop(2, ":                                    "no function slop",
		"rate: 2e-3, test -> rate: 3e-3, test":                    `no learning rate "3e-3"`,
		"level: natural, test: fewer -> level: mild, test: fewer": `no level "mild"`,
		"test: fewer collapses -> test: fewer":                    `no test "fewer"`,
		"{secondary: slope -> {primary: x, secondary: slope":      "one of primary and secondary",
		"steps: [6, 6, 6] -> steps: [6]":                          "three steps",
		"0.5 * -> 0.5 % ":                                         "no operator",
	} {
		old, changed, _ := strings.Cut(change, " -> ")
		text := strings.Replace(twoArms, old, changed, 1)
		if text == twoArms {
			t.Fatalf("%q is not there", old)
		}
		if _, err := readFile([]byte(text), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", change, err, want)
		}
	}
}

// TestFilesNameRecipes: what the arms of every claim's file change is a recipe, at every
// learning rate.
func TestFilesNameRecipes(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "*", "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d files (%v)", len(paths), err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := readFile(text, nil)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, a := range f.Training.Arms {
			for _, rate := range f.Training.Rates {
				if _, err := recipe.Load("headline", slices.Concat(f.Training.Set, withRate(a.Set, rate))...); err != nil {
					t.Errorf("%s: %s: %v", path, a.Name, err)
				}
			}
		}
	}
}
