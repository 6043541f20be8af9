package measurements

import (
	"math"
	"slices"
	"strings"

	"driftlab/experiments/study/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/stats"

	"gonum.org/v1/gonum/stat"
)

// A trainingWindow is what the metrics of a run say at the end of a window of updates, and whether the run collapses within the
// forecastHorizon windows after it.
type trainingWindow struct {
	x         []float64 // 1, then of each metric its logarithm and that less its median so far
	collapses bool
}

const (
	forecastHorizon  = 8 // of forty windows in a run of 1,000 updates: 200 updates
	earliestForecast = 3 // a median needs as many windows
	scoreColumn      = "critic/score/mean"
)

// trainingWindows are the windows of a run before it collapses, or those whose horizon lies in the run.
func trainingWindows(o *claim.Observation, arm string, metrics []string) (windows []trainingWindow) {
	score := o.List(claim.ArmColumn(arm, scoreColumn))
	fall := collapse(score, len(score))
	end := fall
	if fall < 0 {
		end = len(score) - forecastHorizon
	}
	courses := stats.Map(metrics, func(metric string) []float64 {
		return stats.Each(o.List(claim.ArmColumn(arm, metric)), func(v float64) float64 { return elementary.Log(max(v, 1e-6)) })
	})
	for at := earliestForecast; at < end; at++ {
		w := trainingWindow{x: []float64{1}, collapses: fall >= 0 && fall <= at+forecastHorizon}
		for _, course := range courses {
			w.x = append(w.x, course[at], course[at]-stats.Median(course[:at+1]))
		}
		windows = append(windows, w)
	}
	return windows
}

// forecastAUROC is the area under the ROC curve of a logistic regression that says which windows are followed by a collapse: of each
// warm start, with weights that are fitted to the runs of others. The first text names the metrics, the second a stressor that the fit
// leaves out and that alone is judged; with "" all runs are in both.
func forecastAUROC(j *claim.Judge, _, texts []string) []float64 {
	metrics, left := strings.Split(texts[0], ", "), texts[1]
	windows := make([][2][]trainingWindow, len(j.Runs)) // to fit, to judge
	for i, o := range j.Runs {
		for _, name := range o.Names() {
			arm, ok := strings.CutSuffix(name, ", "+scoreColumn)
			if !ok {
				continue
			}
			of := trainingWindows(o, arm, metrics)
			if left == "" || !strings.HasPrefix(arm, left) {
				windows[i][0] = append(windows[i][0], of...)
			}
			if strings.HasPrefix(arm, left) {
				windows[i][1] = append(windows[i][1], of...)
			}
		}
	}
	areas := make([][]float64, len(j.Runs))
	for i := range j.Runs {
		var others []trainingWindow
		for k := range j.Runs {
			if !sharesWarmStart(j, i, k) || len(j.Runs) == 1 {
				others = append(others, windows[k][0]...)
			}
		}
		weights := fitForecast(others)
		forecast := stats.Map(windows[i][1], func(w trainingWindow) float64 { return stats.Dot(weights, w.x) })
		var sorted []float64
		var labels []bool
		for _, k := range stats.Order(forecast) {
			sorted, labels = append(sorted, forecast[k]), append(labels, windows[i][1][k].collapses)
		}
		if slices.Contains(labels, true) && slices.Contains(labels, false) {
			detected, alarmed, _ := stat.ROC(nil, sorted, labels, nil)
			areas[i] = []float64{stats.AUC(alarmed, detected)}
		}
	}
	return j.Pooled(areas)
}

// fitForecast are the weights of a logistic regression by Newton's method, with a penalty of half the square of each weight times the
// variance of what it weighs. What never changes in these windows has no weight: the clip fraction of one update a batch is 0.
func fitForecast(windows []trainingWindow) []float64 {
	if len(windows) == 0 {
		return nil
	}
	n := len(windows[0].x)
	penalty, weights := make([]float64, n), make([]float64, n)
	for k := 1; k < n; k++ {
		column := stats.Map(windows, func(w trainingWindow) float64 { return w.x[k] })
		penalty[k] = math.MaxFloat32
		if slices.Max(column) > slices.Min(column) {
			deviation := stats.Deviation(column)
			penalty[k] = float64(deviation * deviation)
		}
	}
	for range 12 {
		slope, curvature := make([]float64, n), make([][]float64, n)
		for k := range n {
			slope[k] = float64(-penalty[k] * weights[k])
			curvature[k] = make([]float64, n)
			curvature[k][k] = penalty[k]
		}
		for _, w := range windows {
			p := logistic(stats.Dot(weights, w.x))
			residual := -p
			if w.collapses {
				residual = 1 - p
			}
			for k := range n {
				slope[k] += float64(residual * w.x[k])
				for m := range n {
					curvature[k][m] += float64(p * (1 - p) * w.x[k] * w.x[m])
				}
			}
		}
		step, ok := stats.Solve(curvature, slope)
		if !ok {
			return weights // there are fewer windows than weights
		}
		for k := range n {
			weights[k] += step[k]
		}
	}
	return weights
}
