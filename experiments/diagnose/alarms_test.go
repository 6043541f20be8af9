package diagnose

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"driftlab/precision/must"
	"driftlab/results/stability"
	"driftlab/trainer/method/metrics"
)

// Every rule fires on its own side of its limit, which its name says, and nowhere else.
func TestAlarms(t *testing.T) {
	for _, side := range []float64{-1, 1} {
		for i, rule := range alarms {
			v := rule.limit * (1 + 0.001*side)
			g := Gap{Gap: metrics.Gap{K1: -v, Chi2Token: v, ESSToken: v, Pearson: v, MeanAbsDp: v, MeanAbsDlogp: v, K3: v}, MeanExpAbs: v}
			got := alarmsOf(&g, -v, nil)[i]
			if want := (side > 0) != strings.Contains(got.Rule, "<"); got.Fired != want || got.Value != v {
				t.Errorf("%s at %v: fired %v", got.Rule, v, got.Fired)
			}
			at := strings.Fields(got.Rule)
			if named, err := strconv.ParseFloat(at[len(at)-1], 64); err != nil || named != got.Limit {
				t.Errorf("%s has the limit %v", got.Rule, got.Limit)
			}
		}
	}
}

// The alarms of a report read its own figures.
func TestAlarmsOfAReport(t *testing.T) {
	rows := rowsOf(3, 0.03, 60, 60)
	sum := 0.0
	tokens(rows, func(_ int, roll, old *float64) {
		*old -= 0.2
		sum += math.Exp(math.Abs(*old - *roll))
	})
	r := report(Options{}, rows)
	fired := ""
	for _, a := range r.Alarms {
		if a.Fired {
			fired += a.Rule + "; "
		}
	}
	if want := "|k1| > 0.1; mean |dp| > 0.01; mean |d| > 0.1; mean exp|d| > 1.05; k3 > 0.001; |z| of the mean ratio > 4; "; fired != want {
		t.Errorf("fired: %s", fired)
	}
	if got := r.Gap.MeanExpAbs; math.Abs(got-sum/3600) > 1e-9 {
		t.Errorf("mean exp|d| is %v, want %v", got, sum/3600)
	}
	if few := report(Options{}, rowsOf(3, 0.03, 2, 5)); few.Alarms != nil {
		t.Errorf("alarms on %+v", few.Verdict)
	}
}

// A rule has the rates of the same metric, side and limit, and no rates where none were measured.
func TestAlarmRates(t *testing.T) {
	m := new(stability.Alarms)
	must.Do(t, json.Unmarshal([]byte(`{"rules":[
		{"metric":"gap/k3","limit":0.001,"fitted":false,"rates":{"detected":3,"of":4,"low":0.2,"high":0.9,"false_alarms_per_1000_steps":7,"flagged_runs":0.5,"lead":"nan"}},
		{"metric":"gap/k3","limit":0.001,"relative":true,"rates":{"detected":0,"of":4}},
		{"metric":"gap/ess_token","limit":0.5,"below":false,"rates":{"detected":1,"of":4}},
		{"metric":"gap/dp_mean","limit":0.01,"fitted":true,"rates":{"detected":1,"of":4}},
		{"metric":"gap/k1","limit":0.1,"rates":{"detected":0,"of":0}},
		{"metric":"rollout_corr/chi2_token","limit":0.3,"rates":{"detected":0,"of":4,"flagged_runs":0}}]}`), m))
	for _, rule := range alarms {
		a := Alarm{Rule: rule.rule}.rated(rule, m)
		switch a.Rule {
		case "k3 > 0.001":
			if a.Rates == nil || *a.Detection != 0.75 || *a.FalseAlarm != 0.5 || a.Rates.FalseAlarms != 7 || a.Rates.High != 0.9 {
				t.Errorf("%+v", a)
			}
		case "chi2_token > 0.3":
			if a.Detection == nil || *a.Detection != 0 || *a.FalseAlarm != 0 {
				t.Errorf("%+v", a)
			}
		default:
			if a.Rates != nil || a.Detection != nil || a.FalseAlarm != nil {
				t.Errorf("%s has rates that nobody measured: %+v", a.Rule, a)
			}
		}
	}
}
