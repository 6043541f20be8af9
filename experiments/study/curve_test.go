package study

import (
	"encoding/json"
	"math"
	"testing"

	"driftlab/precision/must"
	"driftlab/results/record"
)

// TestCurve: the steps of a run are read back, to six digits, with gaps and with
// what is not finite.
func TestCurve(t *testing.T) {
	var r record.Record
	r.Add(0, []record.Metric{{Name: "val/learner/pass_rate", Value: 0.25}})
	r.Add(1, []record.Metric{{Name: "gap/k3", Value: 1.0 / 3}, {Name: "not kept", Value: 1}})
	r.Add(2, []record.Metric{{Name: "gap/k3", Value: math.Inf(1)}, {Name: "actor/entropy", Value: math.NaN()}, {Name: "val/learner/pass_rate", Value: 1}})
	text := must.Get(json.Marshal(curveOf(&r)))(t)
	got, last, err := (&record.Cell{Key: "x", Curve: text}).Columns()
	if err != nil || last != 2 || len(got) != 3 {
		t.Fatalf("%+v up to %d (%v)", got, last, err)
	}
	k3, entropy, val := got["gap/k3"], got["actor/entropy"], got["val/learner/pass_rate"]
	if len(k3.Value) != 2 || k3.Value[0] != 0.333333 || !math.IsInf(k3.Value[1], 1) {
		t.Errorf("gap/k3 %v", k3)
	}
	if len(entropy.Value) != 1 || entropy.Step[0] != 2 || !math.IsNaN(entropy.Value[0]) || val.Step[0] != 0 || val.Step[1] != 2 {
		t.Errorf("actor/entropy %v, val %v", entropy, val)
	}
	for _, text := range []string{"{}", `[{"name":"a","step":[1],"value":[1,2]}]`} {
		if _, _, err := (&record.Cell{Key: "x", Curve: []byte(text)}).Columns(); err == nil {
			t.Errorf("%s is taken for a curve", text)
		}
	}
}
