package measurements

import (
	"math"
	"slices"
	"testing"

	"driftlab/experiments/study/claims/claim"
)

// observedRuns are two runs of one model: one falls to 0 at window 20 after its warning rose from window 14 on, the other stays;
// noise is a metric that says nothing.
func observedRuns(seed uint64) *claim.Observation {
	o := new(claim.Observation)
	for k, arm := range []string{"lag 16, 1e-3", "router, 1e-4"} {
		var score, warning, noise []float64
		o.Set(claim.ArmColumn(arm, "constant"), slices.Repeat([]float64{1e-9}, 40)...)
		for at := range 40 {
			score, warning = append(score, 1), append(warning, 1)
			if k == 0 && at >= 20 {
				score[at] = 0
			}
			if k == 0 && at >= 14 {
				warning[at] = 2
			}
			noise = append(noise, 1+math.Mod(float64(at)*0.618+float64(seed)*0.37, 1))
		}
		o.Set(claim.ArmColumn(arm, scoreColumn), score...)
		o.Set(claim.ArmColumn(arm, "warning"), warning...)
		o.Set(claim.ArmColumn(arm, "noise"), noise...)
	}
	return o
}

// TestForecastAUROC: windows are judged before a collapse and where the horizon lies in the run; a metric that warns forecasts on models
// outside the fit, and one that says nothing does not.
func TestForecastAUROC(t *testing.T) {
	windows := trainingWindows(observedRuns(1), "lag 16, 1e-3", []string{"warning"})
	if first, last := windows[0], windows[len(windows)-1]; len(windows) != 20-earliestForecast || first.collapses || !last.collapses || last.x[1] != math.Log(2) || last.x[2] != math.Log(2) {
		t.Errorf("%d windows before a collapse, the last is %+v", len(windows), windows[len(windows)-1])
	}
	if n := len(trainingWindows(observedRuns(1), "router, 1e-4", []string{"warning"})); n != 40-forecastHorizon-earliestForecast {
		t.Errorf("%d windows of a run that stays", n)
	}
	j := &claim.Judge{Seeds: []uint64{1, 2, 3}, Runs: []*claim.Observation{observedRuns(1), observedRuns(2), observedRuns(3)}}
	warned, noise := forecastAUROC(j, nil, []string{"warning", ""}), forecastAUROC(j, nil, []string{"noise", ""})
	if len(warned) != 3 || warned[0] < 0.85 || noise[0] > 0.75 {
		t.Errorf("AUROC %v with a metric that warns, %v with one that says nothing", warned, noise)
	}
	if same := forecastAUROC(j, nil, []string{"warning, constant", ""}); same[0] != warned[0] {
		t.Errorf("AUROC %v with a metric that never changes as well, %v without", same, warned)
	}
	if alone := forecastAUROC(j, nil, []string{"warning", "router"}); len(alone) != 0 {
		t.Errorf("AUROC %v on runs of which none collapses", alone)
	}
}
