package learner

import (
	"slices"
	"testing"

	"driftlab/engine/column"
	"driftlab/engine/enginetest"
	"driftlab/engine/rollout"
	"driftlab/precision/must"
)

// What runs in a browser in the place of Gorgonia's graph has its bits: gradient,
// columns and update, also for a shadow with its dense pass.
func TestWalkIsTheGraph(t *testing.T) {
	window := rollout.Retention{Policy: rollout.Window, Keep: 0.4, Sinks: 1, Recent: 2}
	for _, m := range enginetest.Models(enginetest.Small) {
		for _, numerics := range []string{"fp32", "bf16", "fp8-w8a8"} {
			for _, retained := range []bool{false, true} {
				var r rollout.Retention
				o := StepOptions{Policy: Policy{Temperature: 0.8, Retention: retained}, Distributions: true, Entropy: true}
				if retained {
					r, o.Dense = window, plainSum{}
				}
				b := grouped(t, m.Params, "bf16", r)
				var now [2]column.Scored
				var grad [2][]float32
				for k := range 2 {
					l := New(m.Params.Clone(), Settings{Numerics: numericsOf(t, numerics), Balance: 0.2, AdamW: AdamW{Beta1: 0.9, Beta2: 0.99, Eps: 1e-8}}, 1)
					if k == 1 {
						l.capacity = 1000 // rows, more than there are
						l.pass.Reserve(l.capacity)
						l.machine = l.eager()
					}
					for range 2 { // the second time at other weights
						must.Get(l.Gradient(&now[k], b, plainSum{}, o))(t)
						l.Update(1e-3)
					}
					if _, eager := l.machine.(*eager); eager != (k == 1) {
						t.Fatalf("the machine is a %T", l.machine)
					}
					grad[k] = slices.Clone(l.Grad())
					l.Close()
				}
				if !identicalScored(&now[0], &now[1]) || !slices.Equal(grad[0], grad[1]) {
					t.Errorf("%s, %s, retention %t: the eager machine differs from the graph", m.Name, numerics, retained)
				}
			}
		}
	}
}
