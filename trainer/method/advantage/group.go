package advantage

import (
	"math"

	"driftlab/engine/column"
	"driftlab/trainer/method/batch"
)

// groups is an estimator's working memory: the prompt groups of the batch at
// hand, and what it gathers of each.
type groups struct {
	batch.Groups
	score       []float64 // per response of the batch
	input, part []float64 // per response of one group
}

// find collects the groups of the batch.
func (g *groups) find(b *batch.Batch) error {
	if err := b.Require(batch.Mask, batch.Group); err != nil {
		return err
	}
	g.Find(b.Group)
	return nil
}

// each calls per for every group with its responses, their entries of x, and
// zeroes for what becomes of them, which go to the same entries of dst.
func (g *groups) each(dst, x []float64, per func(score, x []float64, rows []int) error) error {
	for k := range g.Len() {
		rows := g.Rows(k)
		g.part = batch.Zeroed(g.part, len(rows))
		if err := per(g.part, g.gather(x, rows), rows); err != nil {
			return err
		}
		for j, i := range rows {
			dst[i] = g.part[j]
		}
	}
	return nil
}

// gather returns these responses' entries of x, until its next call.
func (g *groups) gather(x []float64, rows []int) []float64 {
	g.input = column.Gather(g.input, x, column.PerResponse, nil, rows)
	return g.input
}

// mean returns the mean of x, 0 if it is empty.
func mean(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// deviation returns the unbiased standard deviation of x, 0 below two values.
func deviation(x []float64) float64 {
	if len(x) < 2 {
		return 0
	}
	m, sum := mean(x), 0.0
	for _, v := range x {
		d := v - m
		sum += float64(d * d)
	}
	return math.Sqrt(sum / float64(len(x)-1))
}

// constant reports whether all of x are the same number. Then the mean may
// still be off by a rounding, and dividing it by a tiny deviation would make an
// advantage of nothing (verl's float32 gives 0.056 for eight times 0.7).
func constant(x []float64) bool {
	for _, v := range x {
		if v != x[0] {
			return false
		}
	}
	return true
}

// scoredMean is the mean and number of the rewards that are not NaN.
func scoredMean(x []float64) (m, n float64) {
	for _, v := range x {
		if !math.IsNaN(v) {
			m, n = m+v, n+1
		}
	}
	if n > 0 {
		m /= n
	}
	return m, n
}

// scoredDeviation is the root of the squared distances from m, of rewards that
// are not NaN, over the given divisor; 0 if that is not positive.
func scoredDeviation(x []float64, m, divisor float64) float64 {
	sum := 0.0
	for _, v := range x {
		if d := v - m; !math.IsNaN(v) {
			sum += float64(d * d)
		}
	}
	if divisor <= 0 {
		return 0
	}
	return math.Sqrt(sum / divisor)
}
