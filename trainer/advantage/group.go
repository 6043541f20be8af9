package advantage

import (
	"fmt"
	"math"

	"driftlab/trainer/batch"
)

// groups calls do for the rows from..to of every prompt group. Groups are
// contiguous; a group number that comes back later is an error.
func groups(b *batch.Batch, do func(from, to int) error) error {
	if err := b.Require(batch.Mask, batch.Group); err != nil {
		return err
	}
	largest := -1
	for from := 0; from < b.Len(); {
		to := from + 1
		for to < b.Len() && b.Group[to] == b.Group[from] {
			to++
		}
		if b.Group[from] <= largest {
			return fmt.Errorf("advantage: group %d comes back at response %d: groups must be contiguous and ascending", b.Group[from], from)
		}
		largest = b.Group[from]
		if err := do(from, to); err != nil {
			return err
		}
		from = to
	}
	return nil
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
		sum += d * d
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
			sum += d * d
		}
	}
	if divisor <= 0 {
		return 0
	}
	return math.Sqrt(sum / divisor)
}
