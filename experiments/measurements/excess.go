package measurements

import (
	"math"

	"driftlab/precision/elementary"
	"driftlab/results/stats"
)

// excess is a law that adds to a known floor,
//
//	y = exp(β_0 + Σ_k β_k·x_k) + floor,
//
// to be fitted where y carries noise of that scale and may be negative: the
// logarithm of what noise hides would bend the law.
type excess struct {
	y, floor, scale []float64
	x               [][]float64
}

// fit is the least-squares fit of β by Gauss's and Newton's method with halved
// steps, from a law of exponents start. It returns NaN where there is no
// excess to fit.
func (f *excess) fit(start ...float64) []float64 {
	beta := append([]float64{0}, start...)
	law, weight := 0.0, 0.0
	for i, y := range f.y {
		g := f.law(beta, i) / f.scale[i]
		law += float64(g * (y - f.floor[i]) / f.scale[i])
		weight += float64(g * g)
	}
	nothing := stats.Each(beta, func(float64) float64 { return math.NaN() })
	if !(law > 0) {
		return nothing
	}
	beta[0] = elementary.Log(law / weight)
	columns, residuals, sum := f.linear(beta)
	for range 100 {
		step, ok := stats.Solve(columns, residuals)
		if !ok {
			return nothing
		}
		moved := false
		for size := 1.0; size > 1e-6; size /= 2 {
			next := make([]float64, len(beta))
			for k := range next {
				next[k] = beta[k] + float64(size*step[k])
			}
			if c, r, s := f.linear(next); s < sum {
				moved = s < sum*(1-1e-12)
				beta, columns, residuals, sum = next, c, r, s
				break
			}
		}
		if !moved {
			break
		}
	}
	return beta
}

func (f *excess) law(beta []float64, i int) float64 {
	at := beta[0]
	for k, x := range f.x {
		at += float64(beta[k+1] * x[i])
	}
	return elementary.Exp(at)
}

// linear is the law around β: its derivatives, what it leaves, and the sum of
// squares of that, all in units of the noise.
func (f *excess) linear(beta []float64) (columns [][]float64, residuals []float64, sum float64) {
	columns = make([][]float64, len(beta))
	for i, y := range f.y {
		law := f.law(beta, i)
		r := (y - law - f.floor[i]) / f.scale[i]
		residuals = append(residuals, r)
		sum += float64(r * r)
		columns[0] = append(columns[0], law/f.scale[i])
		for k, x := range f.x {
			columns[k+1] = append(columns[k+1], law/f.scale[i]*x[i])
		}
	}
	return columns, residuals, sum
}
