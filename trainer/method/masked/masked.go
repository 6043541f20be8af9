// Package masked reduces packed columns over the entries a mask keeps: sum,
// mean, whitening. Entries outside the mask are never read, so an
// infinity there does no harm.
//
// The denominators carry verl's 1e-8 (verl.utils.torch_functional), because
// the figures logged under verl's names do; Epsilon says so once.
//
// What it is not: it knows nothing of responses or groups. It is a leaf.
package masked

import (
	"iter"
	"math"
)

// Epsilon is added to the count in Mean and to the variance in Whiten, as
// verl's masked_mean and masked_whiten do.
const Epsilon = 1e-8

// Kept are the entries that the mask keeps.
func Kept(mask []bool) iter.Seq[int] {
	return func(yield func(int) bool) {
		for n, keeps := range mask {
			if keeps && !yield(n) {
				return
			}
		}
	}
}

// Count returns the number of entries the mask keeps.
func Count(mask []bool) int {
	n := 0
	for range Kept(mask) {
		n++
	}
	return n
}

// Sum returns the sum of x over the mask.
func Sum(x []float64, mask []bool) float64 {
	sum := 0.0
	for n := range Kept(mask) {
		sum += x[n]
	}
	return sum
}

// Mean returns Sum/(Count+Epsilon); 0 on an empty mask.
func Mean(x []float64, mask []bool) float64 {
	return Sum(x, mask) / (float64(Count(mask)) + Epsilon)
}

// Whiten replaces x over the mask by (x-mean)/sqrt(variance+Epsilon), with
// verl's mean and variance. With fewer than two entries there is no variance:
// they become 0.
func Whiten(x []float64, mask []bool) { WhitenWith(x, mask, Epsilon) }

// WhitenWith is Whiten with another constant than Epsilon added to the number
// of entries: 0 gives the exact mean and variance, as SkyRL and slime take them.
func WhitenWith(x []float64, mask []bool, eps float64) {
	n := float64(Count(mask))
	mean, squares := Sum(x, mask)/(n+eps), 0.0
	for i := range Kept(mask) {
		squares += float64((x[i] - mean) * (x[i] - mean))
	}
	scale := 0.0
	if n > 1 {
		scale = 1 / math.Sqrt(squares/(n+eps)*n/(n-1)+Epsilon)
	}
	for i := range Kept(mask) {
		x[i] = (x[i] - mean) * scale
	}
}

// Running accumulates mean, deviation and extremes of a figure by Welford's rule.
type Running struct {
	N                 int
	Mean, Squares     float64 // Squares is the sum of squared deviations
	Largest, Smallest float64
}

// Add takes a value.
func (r *Running) Add(x float64) {
	if r.N == 0 {
		r.Largest, r.Smallest = x, x
	}
	r.N++
	delta := x - r.Mean
	r.Mean += delta / float64(r.N)
	r.Squares += float64(delta * (x - r.Mean))
	r.Largest, r.Smallest = max(r.Largest, x), min(r.Smallest, x)
}

// Deviation is the unbiased standard deviation, 0 below two values.
func (r *Running) Deviation() float64 {
	if r.N < 2 {
		return 0
	}
	return math.Sqrt(r.Squares / float64(r.N-1))
}
