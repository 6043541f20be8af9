package table

import (
	"math"
	"slices"

	"driftlab/precision/elementary"
	"driftlab/results/stats"
)

// signal is a metric as a predictor takes it.
type signal struct {
	// Name is the metric's; Log takes its logarithm.
	Name string `json:"name"`
	Log  bool   `json:"log,omitempty"`
}

// floorOfLog keeps the logarithm of a gap of zero finite.
const floorOfLog = 1e-8

// value is the signal in a window, 0 where the run has none: no clip, no mask, no age.
func (g signal) value(s *series, window int) float64 {
	v := s.at(g.Name, window)
	if math.IsNaN(v) {
		v = 0
	}
	if math.IsInf(v, 0) {
		v = math.Copysign(1e12, v)
	}
	if g.Log {
		return elementary.Log(max(v, floorOfLog))
	}
	return v
}

// agnostic are the four features of the conjecture, which every stack logs. Specific are those that take a look into the stack.
var (
	agnostic = []signal{{chi2TailMetric, true}, {essMetric, false}, {clipMetric, false}, {lengthMetric, true}}
	logged   = []signal{{k3Metric, true}, {entropyMetric, true}, {gradMetric, true}, {maskedMetric, false}}
	specific = []signal{{flipMetric, false}, {ageMetric, false}, {tvTailMetric, true}, {dlogpMetric, true}}
)

// example is a window of a run: its features, each with its change since the first
// windows, and whether the run collapses after it.
type example struct {
	x        []float64
	collapse bool
}

// examples are the windows of runs before any collapse.
func examples(runs []series, signals []signal) []example {
	var list []example
	for i := range runs {
		s := &runs[i]
		end := s.n
		if s.onset >= 0 {
			end = s.onset
		}
		for w := firstWindow; w < end; w++ {
			var x []float64
			for _, g := range signals {
				v := g.value(s, w)
				start := 0.0
				for before := range firstWindow {
					start += float64(g.value(s, before) / firstWindow)
				}
				x = append(x, v, v-start)
			}
			list = append(list, example{x, s.onset >= 0})
		}
	}
	return list
}

// Predictor is a logistic regression over standardised features.
type Predictor struct {
	Signals []signal `json:"signals"`
	// Mean and Scale standardise: of each signal its value and its change since the
	// first windows.
	Mean  []float64 `json:"mean"`
	Scale []float64 `json:"scale"`
	// Weights are the coefficients, the intercept first.
	Weights []float64 `json:"weights"`
}

// ridge is the penalty on the square of a weight, in examples; rounds bounds Newton's
// method, which takes about ten.
const (
	ridge  = 1.0
	rounds = 30
)

// fit trains a predictor; ok is false without both kinds of examples.
func fit(list []example, signals []signal) (p Predictor, ok bool) {
	p.Signals = signals
	n, k := len(list), 2*len(signals)
	collapses := 0
	for _, e := range list {
		if e.collapse {
			collapses++
		}
	}
	if collapses == 0 || collapses == n {
		return p, false
	}
	columns := make([][]float64, k)
	for j := range columns {
		column := make([]float64, n)
		for i, e := range list {
			column[i] = e.x[j]
		}
		mean, scale := stats.Average(column), stats.Deviation(column)
		if scale == 0 {
			scale = 1
		}
		for i := range column {
			column[i] = (column[i] - mean) / scale
		}
		columns[j], p.Mean, p.Scale = column, append(p.Mean, mean), append(p.Scale, scale)
	}
	p.Weights = newton(columns, list)
	return p, true
}

// newton maximises the penalised likelihood.
func newton(columns [][]float64, list []example) []float64 {
	k := len(columns) + 1
	weights := make([]float64, k)
	row := make([]float64, k)
	for range rounds {
		gradient := make([]float64, k)
		hessian := make([][]float64, k)
		for a := range hessian {
			hessian[a] = make([]float64, k)
			if a > 0 {
				hessian[a][a] = ridge
				gradient[a] = -float64(ridge * weights[a])
			}
		}
		for i, e := range list {
			row[0] = 1
			for j := range columns {
				row[j+1] = columns[j][i]
			}
			q := logistic(stats.Dot(row, weights))
			miss := -q
			if e.collapse {
				miss = 1 - q
			}
			bend := q * (1 - q)
			for a := range k {
				gradient[a] += float64(miss * row[a])
				for b := range k {
					hessian[a][b] += float64(bend * float64(row[a]*row[b]))
				}
			}
		}
		step, ok := stats.Solve(hessian, gradient) // symmetric: its columns are its rows
		if !ok {
			return weights
		}
		far := 0.0
		for a := range weights {
			weights[a] += step[a]
			far = max(far, math.Abs(step[a]))
		}
		if far < 1e-8 {
			break
		}
	}
	return weights
}

// logistic is 1/(1+e^-z).
func logistic(z float64) float64 {
	return 1 / (1 + elementary.Exp(-max(min(z, 30), -30)))
}

// score is the predictor's log-odds of an example.
func (p Predictor) score(e example) float64 {
	z := p.Weights[0]
	for j, x := range e.x {
		z += float64(p.Weights[j+1] * ((x - p.Mean[j]) / p.Scale[j]))
	}
	return z
}

// AUROC is the probability that an example of a collapse scores above one of another
// run, ties by half; NaN without both.
func AUROC(scores []float64, collapse []bool) float64 {
	order := stats.Order(scores)
	var above, pos, neg float64 // pairs won; examples below so far
	for i := 0; i < len(order); {
		j := i
		var p, n float64
		for ; j < len(order) && scores[order[j]] == scores[order[i]]; j++ {
			if collapse[order[j]] {
				p++
			} else {
				n++
			}
		}
		above += float64(p*neg) + float64(float64(p*n)/2)
		pos, neg = pos+p, neg+n
		i = j
	}
	if pos == 0 || neg == 0 {
		return math.NaN()
	}
	return above / (pos * neg)
}

// leftOut is how a predictor does on each stressor when fitted on the others: NaN where
// a stressor has no collapse, or nothing else.
func leftOut(runs []series, families []family, signals []signal) []float64 {
	var list []float64
	for _, f := range families {
		own, others := part(runs, f)
		p, ok := fit(examples(others, signals), signals)
		if !ok {
			list = append(list, math.NaN())
			continue
		}
		var scores []float64
		var collapse []bool
		for _, e := range examples(own, signals) {
			scores, collapse = append(scores, p.score(e)), append(collapse, e.collapse)
		}
		list = append(list, AUROC(scores, collapse))
	}
	return list
}

// average is the mean of what is a number.
func average(list []float64) float64 {
	list = slices.DeleteFunc(slices.Clone(list), math.IsNaN)
	return stats.Average(list)
}
