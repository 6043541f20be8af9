package bench

import (
	"math"
	"testing"

	"driftlab/model"
)

// TestGrowth: times made as powers of the sizes have those powers as slopes.
func TestGrowth(t *testing.T) {
	m := model.Config{Layers: 1, DModel: 8, Heads: 2, Experts: 4, TopK: 2, DFF: 8, Vocab: 11, Context: 7}.WithDefaults()
	list := Step{Model: m, Batch: 4, Group: 2, Prompt: 3, Gen: 4}.Grow()
	var results []Result
	for _, s := range list {
		if err := s.Step.Model.Validate(); err != nil {
			t.Fatalf("%s %d: %v", s.Axis, s.Value, err)
		}
		x := float64(s.Value)
		results = append(results, Result{Phases: []phaseFigures{{Phase: "generate", ProcessorLeast: 3 * x, GFlop: x * x}, {Phase: "train", ProcessorLeast: math.Sqrt(x), GFlop: 5}}})
	}
	g, err := NewGrowth(list, results)
	if err != nil || len(g.Axes) != 4 {
		t.Fatalf("%d axes, %v", len(g.Axes), err)
	}
	for _, a := range g.Axes {
		for i, want := range [][2]float64{{1, 2}, {0.5, 0}} {
			p := a.Phases[i]
			if math.Abs(p.Slope-want[0]) > 1e-9 || math.Abs(p.WorkSlope-want[1]) > 1e-9 {
				t.Errorf("%s, %s: slopes %g and %g, want %v", a.Name, p.Phase, p.Slope, p.WorkSlope, want)
			}
		}
	}
	results[2].Phases[0].ProcessorLeast = 0
	if _, err := NewGrowth(list, results); err == nil {
		t.Error("slopes without processor times")
	}
}
