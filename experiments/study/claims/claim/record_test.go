package claim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestRunsBySize: an arm's own rates stand in place of the training's, an untrained arm runs once, and changes are chosen by size.
func TestRunsBySize(t *testing.T) {
	training := Training{Steps: []int{9, 5, 2}, Rates: []string{"1e-3", "2e-3"}, Set: []string{"steps=$size(9 | 5 | 2)"}, Arms: []Arm{
		{Name: "all"}, {Name: "own", Rates: []string{"4e-3"}, Set: []string{"loss=gspo", SetLR("$rate")}}, {Name: "start", Untrained: true, Steps: []int{1, 1, 1}},
	}}
	for size, want := range map[Size][]string{
		Full: {"all at 1e-3, 9: steps=9 learner.optimizer.lr=1e-3", "all at 2e-3, 9: steps=9 learner.optimizer.lr=2e-3", "own at 4e-3, 9: steps=9 loss=gspo learner.optimizer.lr=4e-3", "start at , 1: steps=9"},
		Tiny: {"all at 1e-3, 2: steps=2 learner.optimizer.lr=1e-3", "all at 2e-3, 2: steps=2 learner.optimizer.lr=2e-3", "own at 4e-3, 2: steps=2 loss=gspo learner.optimizer.lr=4e-3", "start at , 1: steps=2"},
	} {
		var got []string
		training.Runs(&Env{Size: size}, func(r ArmRun) {
			got = append(got, fmt.Sprintf("%s at %s, %d: %s", r.Arm.Name, r.Rate, r.Steps, strings.Join(r.Set, " ")))
		})
		if !slices.Equal(got, want) {
			t.Errorf("%v: %q; want %q", size, got, want)
		}
	}
}

// TestRecordedValues: quantities of columns and of answers, with a factor and a length; what is neither is an error.
func TestRecordedValues(t *testing.T) {
	columns := map[string][]float64{"length": {2, 4, 6, 8}}
	answers := map[string]map[string]float64{"held-out": {"pass@1": 0.5}}
	for _, c := range []struct {
		recorded
		want []float64
	}{
		{recorded{Of: "values of length", Length: []int{6, 5, 4}}, []float64{2, 4, 6, 8, 0, 0}},
		{recorded{Of: "sum of length", Times: 64}, []float64{1280}},
		{recorded{Of: "late mean of length"}, []float64{6}},
		{recorded{Of: "number of length"}, []float64{4}},
		{recorded{Of: "sum of tokens"}, []float64{0}},
		{recorded{Of: "pass@1 of held-out"}, []float64{0.5}},
		{recorded{Of: "pass@8 of held-out"}, nil},
		{recorded{Of: "median of length"}, nil},
	} {
		got, err := c.values(new(Env), columns, answers)
		if !slices.Equal(got, c.want) || (err == nil) != (c.want != nil) {
			t.Errorf("%s: %v, %v; want %v", c.Of, got, err, c.want)
		}
	}
}

// TestMatchingFigures: a text with stars is one list of all figures of such names, in their order.
func TestMatchingFigures(t *testing.T) {
	o := new(Observation)
	o.Set("mild, 16 slots", 1, 2)
	o.Set("mild, share", 3)
	o.Set("long, 32 slots", 4)
	for pattern, want := range map[string][]float64{"*, * slots": {1, 2, 4}, "mild*": {1, 2, 3}, "*32*": {4}, "mild, share": {3}} {
		if got := o.matching(pattern); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", pattern, got, want)
		}
	}
}
