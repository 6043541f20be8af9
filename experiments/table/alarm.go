package table

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"driftlab/results/figure"
	"driftlab/results/record"
)

// Alarms are the early-warning signals of a collapse, measured: the file that a diagnosis reads.
type Alarms struct {
	// Runs are those that were read, Collapses those that collapsed late enough for a
	// warning; Window is the number of steps that a figure is the mean of.
	Runs      int `json:"runs"`
	Collapses int `json:"collapses"`
	Window    int `json:"window"`
	// Collapse says what counts as one.
	Collapse string `json:"collapse"`
	// Rules are alarms with limits in use, then with fitted ones: on all runs, and as
	// they do on stressors that were left out of the fit.
	Rules []RatedRule `json:"rules"`
	// Predictors are fitted on several metrics together.
	Predictors []RatedPredictor `json:"predictors"`
	// Adds is what the stack's own signals add to the AUROC of the four of the
	// conjecture, on stressors that were left out.
	Adds record.Number `json:"stack_adds"`
}

// RatedRule is an alarm with its rates.
type RatedRule struct {
	Rule
	Fitted bool  `json:"fitted"`
	Rates  Rates `json:"rates"`
	// Healthy is the false alarms per 1,000 steps of healthy runs alone: stressor G and
	// matched controls.
	Healthy float64 `json:"false_alarms_healthy"`
}

// RatedPredictor is a predictor, fitted on all runs, with its AUROC on each stressor
// when that is left out of the fit.
type RatedPredictor struct {
	Name string `json:"name"`
	Predictor
	AUROC []Score       `json:"auroc"`
	Mean  record.Number `json:"auroc_mean"`
}

// Score is the AUROC on a stressor that was left out of the fit with all of its levels.
type Score struct {
	Stressor string  `json:"stressor"`
	AUROC    float64 `json:"auroc"`
}

// MeasureAlarms reads the runs of stages.
func MeasureAlarms(stages []Stage) Alarms {
	runs, families := allSeries(stages)
	a := Alarms{Runs: len(runs), Adds: record.Number(math.NaN()), Collapse: fmt.Sprintf("reward at least %.0f %% below its peak before, not back within %d updates or to the end; "+
		"or a gradient norm above %d times the median so far and such a fall within %d updates; or a run that stopped", 100*record.CollapseLoss, recoverySteps, spike, recoverySteps)}
	for i := range runs {
		a.Window = runs[i].every
		if runs[i].onset > firstWindow {
			a.Collapses++
		}
	}
	for _, r := range common {
		var t, calm tally
		for i := range runs {
			t.add(r, &runs[i])
			if isHealthy(&runs[i]) {
				calm.add(r, &runs[i])
			}
		}
		a.Rules = append(a.Rules, RatedRule{Rule: r, Rates: t.rates(), Healthy: calm.rates().FalseAlarms})
	}
	for _, r := range fittable {
		if rated, ok := fitRule(r, runs, families); ok {
			a.Rules = append(a.Rules, rated)
		}
	}
	sets := []struct {
		name    string
		signals []signal
	}{
		{"the four of the conjecture", agnostic},
		{"with what else every stack logs", append(append([]signal{}, agnostic...), logged...)},
		{"the four with the stack's own", append(append([]signal{}, agnostic...), specific...)},
	}
	for _, set := range sets {
		p, ok := fit(examples(runs, set.signals), set.signals)
		if !ok {
			continue
		}
		rated := RatedPredictor{Name: set.name, Predictor: p}
		left := leftOut(runs, families, set.signals)
		for i, f := range families {
			if !math.IsNaN(left[i]) {
				rated.AUROC = append(rated.AUROC, Score{f.name, left[i]})
			}
		}
		rated.Mean = record.Number(average(left))
		a.Predictors = append(a.Predictors, rated)
	}
	if len(a.Predictors) == len(sets) {
		a.Adds = a.Predictors[2].Mean - a.Predictors[0].Mean
	}
	return a
}

// family is a stressor with all of its levels, which are left out of a fit together: it is
// known by its letter, and named by the first of them.
type family struct{ letter, name string }

// has reports whether a run is under the stressor.
func (f family) has(s *series) bool { return s.run.Values[letterColumn] == f.letter }

// allSeries are the runs of all stages, each once, and the stressors they are under. A
// matched control, which may collapse by itself, is under none.
func allSeries(stages []Stage) (runs []series, families []family) {
	seen := map[string]bool{}
	for i := range stages {
		for j := range stages[i].Runs {
			o := &stages[i].Runs[j]
			if seen[o.Run] || o.Windows.Every == 0 {
				continue
			}
			seen[o.Run] = true
			s := seriesOf(o)
			runs = append(runs, s)
			if !s.matched() && !slices.ContainsFunc(families, func(f family) bool { return f.has(&s) }) {
				families = append(families, family{o.Values[letterColumn], o.Values[stressorColumn]})
			}
		}
	}
	return runs, families
}

// part parts runs into those under a stressor and the others.
func part(runs []series, f family) (own, others []series) {
	for _, s := range runs {
		if f.has(&s) {
			own = append(own, s)
		} else {
			others = append(others, s)
		}
	}
	return own, others
}

// matched reports whether a run has no stress, for others to be compared with.
func (s *series) matched() bool { return s.run.Values[againstColumn] == "" }

// isHealthy reports whether nothing is wrong with a run but what a method does to it.
func isHealthy(s *series) bool { return s.matched() || s.run.Values[letterColumn] == healthy }

// fitRule fits a limit on all runs and rates the ones fitted without each stressor on
// that stressor; ok is false where there is nothing to fit.
func fitRule(r Rule, runs []series, families []family) (rated RatedRule, ok bool) {
	whole := r.fitted(runs)
	if math.IsNaN(whole.Limit) {
		return rated, false
	}
	side := "above"
	if r.Below {
		side = "below"
	}
	whole.Name = fmt.Sprintf("%s %s %s", r.Metric, side, figure.FormatNumber(whole.Limit, 3))
	if r.Relative {
		whole.Name += " times the median so far"
	}
	whole.Source = "fitted"
	var t, calm tally
	for _, f := range families {
		own, others := part(runs, f)
		one := r.fitted(others)
		if math.IsNaN(one.Limit) {
			continue
		}
		for i := range own {
			t.add(one, &own[i])
			if isHealthy(&own[i]) {
				calm.add(one, &own[i])
			}
		}
	}
	return RatedRule{Rule: whole, Fitted: true, Rates: t.rates(), Healthy: calm.rates().FalseAlarms}, true
}

// JSON is the file. What is not a number is the text "nan".
func (a Alarms) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(a, "", "  ")
	return append(text, '\n'), err
}

// alarmTable shows the rules.
func (a Alarms) alarmTable() *figure.Figure {
	t := &figure.Figure{Kind: figure.Table, Title: "Early-warning signals before a collapse", Sortable: true, Columns: []figure.Column{{Name: "signal"}, {Name: "threshold from"}, number("detection rate"), {Name: "95 % CI"},
		number("lead time"), number("false-alarm rate"), number("in healthy runs"), number("runs flagged")},
		Note: fmt.Sprintf("%d runs, %d of them collapse: %s. Metrics are means over %d steps; a signal may fire from step %d on. Detection rate: share of the collapses before which it fired. Lead time: median number of updates from its first firing. "+
			"False-alarm rate: firings per 1,000 steps of runs that did not collapse, and of healthy runs alone. Fitted thresholds are rated on stressors that were left out of the fit, at all their levels.",
			a.Runs, a.Collapses, a.Collapse, a.Window, firstWindow*a.Window)}
	for _, r := range a.Rules {
		lead := figure.Cell{Text: "-", Value: math.NaN(), Numeric: true}
		if v := float64(r.Rates.Lead); !math.IsNaN(v) {
			lead = figure.Number(v, 3)
		}
		t.Add(figure.Word(r.Name), figure.Word(r.Source), figure.Percent(float64(r.Rates.Detected)/float64(r.Rates.Of), 0), figure.Word(fmt.Sprintf("%.0f%% to %.0f%%", 100*r.Rates.Low, 100*r.Rates.High)),
			lead, figure.Number(r.Rates.FalseAlarms, 2), figure.Number(r.Healthy, 2), figure.Percent(r.Rates.FlaggedRuns, 0))
	}
	return t
}

// predictorTable shows the predictors.
func (a Alarms) predictorTable() *figure.Figure {
	t := &figure.Figure{Kind: figure.Table, Title: "Predictors on stressors that were left out of the fit", Columns: []figure.Column{{Name: "signals"}, number("mean")},
		Note: fmt.Sprintf("AUROC over windows for \"this run collapses later\". The conjecture: 0.90 from the four metrics alone, and at most 0.03 more with the stack's own metrics; measured: %+.3f.", float64(a.Adds))}
	var stressors []string
	for _, p := range a.Predictors {
		for _, x := range p.AUROC {
			if !slices.Contains(stressors, x.Stressor) {
				stressors = append(stressors, x.Stressor)
			}
		}
	}
	for _, s := range stressors {
		t.Columns = append(t.Columns, number(s))
	}
	for _, p := range a.Predictors {
		row := []figure.Cell{figure.Word(p.Name), figure.Number(float64(p.Mean), 3)}
		for _, s := range stressors {
			cell := figure.Cell{Text: "-"}
			if i := slices.IndexFunc(p.AUROC, func(x Score) bool { return x.Stressor == s }); i >= 0 {
				cell = figure.Number(p.AUROC[i].AUROC, 3)
			}
			row = append(row, cell)
		}
		t.Add(row...)
	}
	return t
}
