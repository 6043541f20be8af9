package experiments

import (
	"testing"

	"driftlab/results/record"
)

// TestCurves: a line an evaluation, the steps since the one before as their mean, nothing
// where nothing was measured.
func TestCurves(t *testing.T) {
	r := &record.Record{Seed: 7}
	r.Add(0, []record.Metric{{Name: judged, Value: 0.5}})
	for step, k3 := range []float64{1e-5, 3e-5, 0.25} {
		m := []record.Metric{{Name: "gap/k3", Value: k3}}
		if step > 0 {
			m = append(m, record.Metric{Name: judged, Value: 0.65625})
		}
		r.Add(step+1, m)
	}
	h := &HeadlineResult{Arms: []HeadlineArm{{Name: "arm"}}, Runs: [][]*record.Record{{r}}}
	want := "arm,seed,step,pass_rate,reward,k3,engine_k3,lag_k3,entropy,length,clipped,masked,grad_norm,flipped_tokens\n" +
		"arm,7,0,0.5,,,,,,,,,,\narm,7,2,0.65625,,2e-5,,,,,,,,\narm,7,3,0.65625,,0.25,,,,,,,,\n"
	if got := string(h.Curves()); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
