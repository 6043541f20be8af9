package scaling

import (
	"math"

	"driftlab/results/stats"
)

// point is a rung as a law sees it.
type point struct {
	// X are the coordinates of its size: logarithms over the base's.
	X []float64
	// Y are the logarithms of a figure, one per model.
	Y []float64
}

// law is a line in logarithms: log y = a + Σ b_axis·log(x_axis/base), a power of
// each axis and products over axes. The rung is the unit of its residuals, since
// the models of a rung miss the law together; within a rung the model is the unit.
// So the scatter of rungs about the law holds both lack of fit and models.
type law struct {
	// Coefficients are the intercept, then an exponent per axis.
	Coefficients []float64
	// Rungs is how many it was fitted to, and Free how many more they are than
	// the coefficients.
	Rungs, Free int
	// R2 is the share of the variance of the rungs' means that it explains.
	R2 float64

	residual float64     // mean square of the rungs' means about the law
	within   float64     // variance of models within a rung
	inverse  [][]float64 // of the normal matrix, by columns
}

// fitLaw is the law through the means of the points by least squares. It reports
// false where they do not determine it with a residual to spare.
func fitLaw(points []point) (*law, bool) {
	if len(points) == 0 {
		return nil, false
	}
	k := len(points[0].X) + 1
	columns, y := make([][]float64, k), make([]float64, len(points))
	var within, models float64
	for i, p := range points {
		for c, v := range row(p.X) {
			columns[c] = append(columns[c], v)
		}
		y[i] = stats.Average(p.Y)
		for _, v := range p.Y {
			within += float64((v - y[i]) * (v - y[i]))
		}
		models += float64(len(p.Y) - 1)
	}
	beta, ok := stats.Solve(columns, y)
	l := &law{Coefficients: beta, Rungs: len(points), Free: len(points) - k}
	if !ok || l.Free < 1 || !l.invert(columns) {
		return nil, false
	}
	if models > 0 {
		l.within = within / models
	}
	mean, all := stats.Average(y), 0.0
	for i, p := range points {
		off := y[i] - l.center(p.X)
		l.residual += float64(off * off)
		all += float64((y[i] - mean) * (y[i] - mean))
	}
	l.R2 = 1 - l.residual/all
	l.residual /= float64(l.Free)
	return l, true
}

// row is the design's row of a point.
func row(x []float64) []float64 { return append([]float64{1}, x...) }

// invert fills the inverse of the normal matrix.
func (l *law) invert(columns [][]float64) bool {
	k := len(columns)
	normal := make([][]float64, k)
	for a := range normal {
		for b := range columns {
			normal[a] = append(normal[a], stats.Dot(columns[a], columns[b]))
		}
	}
	l.inverse = make([][]float64, k)
	for a := range l.inverse {
		unit := make([]float64, k)
		unit[a] = 1
		column, ok := stats.Solve(normal, unit)
		if !ok {
			return false
		}
		l.inverse[a] = column
	}
	return true
}

// center is the law at a size.
func (l *law) center(x []float64) float64 { return stats.Dot(l.Coefficients, row(x)) }

// exponent is that of an axis, with its 95 % interval.
func (l *law) exponent(axis int) stats.Interval {
	return l.interval(l.Coefficients[axis+1], l.residual*l.inverse[axis+1][axis+1])
}

// model is the logarithm of the figure that one model of a size has, with the 95 %
// interval of a new one: of the law, of a rung about it and of a model about its
// rung.
func (l *law) model(x []float64) stats.Interval {
	return l.interval(l.center(x), float64(l.residual*(1+l.leverage(x)))+l.within)
}

// mean is the same for the mean of many models.
func (l *law) mean(x []float64) stats.Interval {
	return l.interval(l.center(x), l.residual*(1+l.leverage(x)))
}

// leverage is what the law's own uncertainty at a size is to the residual's.
func (l *law) leverage(x []float64) float64 {
	r := row(x)
	sum := 0.0
	for a, column := range l.inverse {
		sum += float64(r[a] * stats.Dot(column, r))
	}
	return sum
}

func (l *law) interval(center, variance float64) stats.Interval {
	half := float64(stats.StudentQuantile(float64(l.Free)) * math.Sqrt(variance))
	return stats.Interval{Estimate: center, Low: center - half, High: center + half, N: l.Rungs}
}
