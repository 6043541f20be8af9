package table_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"driftlab/experiments/sweep"
	"driftlab/experiments/table"
	"driftlab/results/record"
)

// logged makes a run under a stressor with windows of rewards and of k3.
func logged(stressor string, seed uint64, reward, k3 []float64) sweep.Outcome {
	o := ran("x", stressor, "matched", seed, "A", .5)
	o.Run = fmt.Sprint(stressor, seed)
	o.Windows = sweep.Windows{Every: 10, Values: map[string][]record.Number{}}
	for i := range reward {
		o.Windows.Values["critic/score/mean"] = append(o.Windows.Values["critic/score/mean"], record.Number(reward[i]))
		o.Windows.Values["gap/k3"] = append(o.Windows.Values["gap/k3"], record.Number(k3[i]))
	}
	return o
}

// rule is the rated rule of a name.
func rule(t *testing.T, a table.Alarms, name string) table.RatedRule {
	t.Helper()
	for _, r := range a.Rules {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("no rule %q", name)
	return table.RatedRule{}
}

// measured are the alarms of some runs.
func measured(runs ...sweep.Outcome) table.Alarms {
	return table.MeasureAlarms([]table.Stage{*stage(runs...)})
}

// A fall of 30 % below the peak that lasts is a collapse; one that recovers within 100
// updates is none, nor one window at the very end; a run that stopped is one.
func TestCollapse(t *testing.T) {
	quiet := []float64{0, 0, 0, 0, 0, 0}
	stopped := logged("calm", 1, []float64{.5, .6, .7, .8, .8, .8}, quiet)
	stopped.Status = record.StatusStopped
	spiked := logged("calm", 1, []float64{.5, .6, .7, .7, .6, .4}, quiet)
	for _, v := range []float64{1, 1, 1, 20, 1, 1} {
		spiked.Windows.Values["actor/grad_norm"] = append(spiked.Windows.Values["actor/grad_norm"], 1)
		spiked.Windows.Values["actor/grad_norm_max"] = append(spiked.Windows.Values["actor/grad_norm_max"], record.Number(v))
	}
	for name, tc := range map[string]struct {
		run  sweep.Outcome
		want int
	}{
		"falls and stays":          {logged("calm", 1, []float64{.5, .6, .7, .8, .5, .4}, quiet), 1},
		"comes back":               {logged("calm", 1, []float64{.5, .6, .7, .4, .4, .8}, quiet), 0},
		"a fifth":                  {logged("calm", 1, []float64{.5, .6, .7, .8, .64, .64}, quiet), 0},
		"the last window alone":    {logged("calm", 1, []float64{.5, .6, .7, .8, .8, .1}, quiet), 0},
		"stopped":                  {stopped, 1},
		"a spike before its fall":  {spiked, 1},
		"before anything can warn": {logged("calm", 1, []float64{.9, .9, .1, .1, .1, .1}, quiet), 0},
	} {
		if got := measured(tc.run).Collapses; got != tc.want {
			t.Errorf("%s: %d collapses, want %d", name, got, tc.want)
		}
	}
	// Without the spike the same fall is one window at the end.
	spiked.Windows.Values["actor/grad_norm_max"][3] = 1
	if got := measured(spiked).Collapses; got != 0 {
		t.Errorf("without a spike: %d collapses, want 0", got)
	}
}

// The rewards of a run that collapses and of one that does not, and a k3 that says
// nothing and one that warns.
var (
	fall = []float64{.5, .6, .7, .8, .8, .3, .2}
	hold = []float64{.5, .6, .7, .8, .8, .8, .8}
	low  = []float64{.01, .01, .01, .02, .02, .02, .02}
	high = []float64{.01, .01, .01, .05, .06, .06, .06}
)

// Rates by hand: two collapses of which one is warned of 20 updates before, and two
// other runs, one of which rings twice.
func TestRates(t *testing.T) {
	a := measured(
		logged("age", 1, fall, []float64{0, 0, 0, .2, 0, 0, 0}),
		logged("age", 2, fall, []float64{.2, .2, 0, 0, 0, .2, .2}),
		logged("age", 3, hold, []float64{0, 0, 0, .2, .2, 0, .2}),
		logged("calm", 4, hold, []float64{.2, .2, 0, 0, 0, 0, 0}),
	)
	if a.Runs != 4 || a.Collapses != 2 {
		t.Fatalf("%d runs, %d collapses; want 4 and 2", a.Runs, a.Collapses)
	}
	r := rule(t, a, "k3 above 0.001")
	if r.Rates.Detected != 1 || r.Rates.Of != 2 || r.Rates.Lead != 20 {
		t.Errorf("detected %d of %d with a lead of %v; want 1 of 2 and 20", r.Rates.Detected, r.Rates.Of, r.Rates.Lead)
	}
	near(t, "false alarms", r.Rates.FalseAlarms, 1000*2./100)
	near(t, "flagged runs", r.Rates.FlaggedRuns, .5)
	near(t, "false alarms of healthy runs", r.Healthy, 0)
	text, err := a.JSON()
	if err != nil || !json.Valid(text) {
		t.Errorf("no JSON: %v", err)
	}
}

// A fitted limit parts what can be parted, and is rated on stressors it was not fitted
// on; so is a predictor.
func TestFitted(t *testing.T) {
	var runs []sweep.Outcome
	for i, stressor := range []string{"age", "calm", "other"} {
		for seed := range uint64(3) {
			runs = append(runs, logged(stressor, uint64(10*i)+seed, hold, low), logged(stressor, uint64(10*i)+5+seed, fall, high))
		}
	}
	a := measured(runs...)
	r := rule(t, a, "gap/k3 above 0.0400")
	if !r.Fitted || r.Rates.Detected != 9 || r.Rates.Of != 9 || r.Rates.FalseAlarms != 0 || r.Rates.Lead != 20 {
		t.Errorf("fitted: %+v", r)
	}
	near(t, "limit", r.Limit, .04)
	for _, p := range a.Predictors {
		if len(p.AUROC) != 3 {
			t.Errorf("%s is rated on %d stressors, want 3", p.Name, len(p.AUROC))
		}
	}
	// k3 is in the second set alone. Of the three windows before a collapse two win every
	// pair; the first ties with one of the five of a run that holds and loses to four.
	near(t, "AUROC with k3", float64(a.Predictors[1].Mean), 2./3+1./3*1./5*.5)
	near(t, "AUROC of signals that are not there", float64(a.Predictors[0].Mean), .5)
}

// The doses of a stressor are left out of a fit together: what was fitted on one of them
// is no stranger to another. A matched run that collapses is no stressor.
func TestDosesAreLeftOutTogether(t *testing.T) {
	runs := []sweep.Outcome{logged("matched", 90, fall, low), logged("matched", 91, hold, low)}
	for _, o := range runs {
		o.Values["letter"], o.Values["against"] = "-", ""
	}
	for i, stressor := range []string{"age", "older", "calm"} {
		k3, top := low, high
		if stressor == "calm" {
			k3, top = top, k3 // what warns of the one is quiet before the other
		}
		for seed := range uint64(3) {
			one := []sweep.Outcome{logged(stressor, uint64(10*i)+seed, hold, k3), logged(stressor, uint64(10*i)+5+seed, fall, top)}
			if stressor == "older" {
				one[0].Values["letter"], one[1].Values["letter"] = "C", "C"
			}
			runs = append(runs, one...)
		}
	}
	for _, p := range measured(runs...).Predictors {
		if len(p.AUROC) != 2 || p.AUROC[0].Stressor != "age" || p.AUROC[1].Stressor != "calm" {
			t.Errorf("%s is rated on %+v, want age with its doses and calm", p.Name, p.AUROC)
		} else if p.Name == "with what else every stack logs" && p.AUROC[0].AUROC > .5 {
			t.Errorf("age is told by a fit on calm alone with %v", p.AUROC[0].AUROC)
		}
	}
}

// AUROC counts pairs, ties by half.
func TestAUROC(t *testing.T) {
	// Of the pairs of {3, 2} and {1, 2, 4}: 3 beats 1 and 2, 2 beats 1 and ties with 2.
	near(t, "AUROC", table.AUROC([]float64{3, 2, 1, 2, 4}, []bool{true, true, false, false, false}), 3.5/6)
	if v := table.AUROC([]float64{1, 2}, []bool{true, true}); !math.IsNaN(v) {
		t.Errorf("AUROC of one kind: %v", v)
	}
}
