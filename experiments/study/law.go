package study

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"driftlab/precision/elementary"
	"driftlab/results/figure"
	"driftlab/results/stability"
	"driftlab/results/stats"
)

// predictions are the limits that a law predicts of some arms of a study, by their labels. The law: the logarithm of a limit's ratio to
// equal engines is linear in the logarithms of the factors' values, which are numbers, such as a size and a lag. It is fitted by least
// squares to the other arms of the same method whose ratio is known; equal engines, whose lag is 0, are no point of it. An arm is left out
// until the law has more points than coefficients.
func predictions(s *stability.Study, labels []string) (list []stability.Prediction) {
	for _, label := range labels {
		at, method := logarithms(label)
		p := stability.Prediction{Arm: label}
		var y []float64
		x := make([][]float64, len(at))
		for _, a := range s.Arms {
			name := a.Stressor + ", " + a.Method
			own, _ := logarithms(name)
			switch ratio := a.OverEqual; {
			case name == label:
				p.Measured = ratio
			case own != nil && a.Method == method && !slices.Contains(labels, name) && ratio.From == ratio.To && ratio.From > 0:
				y = append(y, elementary.Log(float64(ratio.From)))
				for k, v := range own {
					x[k] = append(x[k], v)
				}
			}
		}
		if len(y) < len(x)+2 {
			continue
		}
		p.Ratio = meanOf(stats.Fitted(y, x, true, func(intercept float64, slopes []float64) float64 { return intercept + stats.Dot(slopes, at) }).Exp())
		for k := range at {
			p.Exponents = append(p.Exponents, meanOf(stats.Fitted(y, x, false, func(_ float64, slopes []float64) float64 { return slopes[k] })))
		}
		list = append(list, p)
	}
	return list
}

// logarithms are those of the values of an arm, by its label, and its method, which is the last; nil where one is no positive number.
func logarithms(label string) (list []float64, method string) {
	values := strings.Split(label, ", ")
	last := len(values) - 1
	for _, value := range values[:last] {
		v, err := strconv.ParseFloat(strings.TrimSuffix(value, "M"), 64) // sizes are in millions
		if err != nil || !(v > 0) || math.IsInf(v, 0) {
			return nil, values[last]
		}
		list = append(list, elementary.Log(v))
	}
	return list, values[last]
}

// lawTable has the predictions; nil for none.
func lawTable(s *stability.Study) *figure.Figure {
	if len(s.Predictions) == 0 {
		return nil
	}
	t := head("law")
	factors := strings.Split(s.Factor, ", ")
	for _, p := range s.Predictions {
		var exponents []string
		for k, e := range p.Exponents {
			exponents = append(exponents, factors[k]+" "+e.Text(true))
		}
		t.Add(figure.Word(p.Arm).As(figure.Strong), figure.Word(strings.Join(exponents, "; ")), figure.Word(strconv.Itoa(p.Ratio.N)), figure.Word(p.Ratio.Text(false)), figure.Word(p.Measured.Text(stability.FactorText)))
	}
	return t
}
