package diagnose

import (
	"math"
	"slices"

	"driftlab/precision/elementary"
)

// leastDoubt is the q below which a token says nothing of the size of an error.
const leastDoubt = 1e-3

// logits are the errors of a sample in units of logits, and where they stand.
type logits struct {
	u    []float64 // d/q
	odds []float64 // the log-odds of the mean of both log-probs
	// median and q999 are of |u|.
	median, q999 float64
}

// logitError is the error of a token in logits and the log-odds of the mean of both log-probs, false of a token that is nearly certain.
func logitError(roll, old float64) (u, odds float64, ok bool) {
	m := min(0, (old+roll)/2)
	q := -elementary.Expm1(m)
	if q < leastDoubt {
		return 0, 0, false
	}
	return (old - roll) / q, m - elementary.Log(q), true
}

// logitsOf measures the errors of the tokens that are uncertain enough.
func logitsOf(rows []*kept) logits {
	var l logits
	for _, k := range rows {
		for i, roll := range k.roll {
			if u, odds, ok := logitError(roll, k.old[i]); ok {
				l.u, l.odds = append(l.u, u), append(l.odds, odds)
			}
		}
	}
	size := magnitudes(l.u)
	slices.Sort(size)
	l.median, l.q999 = quantile(size, 0.5), quantile(size, 0.999)
	return l
}

func magnitudes(x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = math.Abs(v)
	}
	return y
}

// quantile is that of a sorted list, 0 for an empty one.
func quantile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(p*float64(len(sorted))), len(sorted)-1)]
}

// bins are how many parts of equally many tokens the log-odds are cut into.
const bins = 16

// explained is the share of Σu² that the mean of u in each bin of log-odds explains,
// with |u| capped at its 98th percentile and the bins' own variance taken off.
func (l *logits) explained() float64 {
	n := len(l.u)
	if n < 2*bins {
		return 0
	}
	size := magnitudes(l.u)
	slices.Sort(size)
	limit := quantile(size, 0.98)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case l.odds[a] < l.odds[b]:
			return -1
		case l.odds[a] > l.odds[b]:
			return 1
		}
		return 0
	})
	all, systematic := 0.0, 0.0
	for b := range bins {
		part := order[b*n/bins : (b+1)*n/bins]
		sum, squares := 0.0, 0.0
		for _, i := range part {
			u := max(-limit, min(limit, l.u[i]))
			sum += u
			squares += float64(u * u)
		}
		m := float64(len(part))
		mean := sum / m
		spread := (squares - float64(mean*sum)) / (m - 1)
		systematic += float64(m*mean*mean) - spread
		all += squares
	}
	if all == 0 {
		return 0
	}
	return max(0, systematic/all)
}
