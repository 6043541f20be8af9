package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// WestfallYoung are the two-sided p-values of sign-flip tests on several lists of
// paired differences, adjusted for their number by the step-down maxT of Westfall and
// Young (1993, algorithm 2.8): each pattern of signs turns the same pairs of every
// list, so that lists that go together do not count as many. What is compared is |t|,
// in the form |Σd|/√Σd², which rises with it and has no pole. With n pairs no p is
// below 2/2^n. Lists of zeros alone, and those with a value that is not finite, are not
// tested: NaN. It panics on lengths that differ.
func WestfallYoung(lists [][]float64) []float64 {
	adjusted := make([]float64, len(lists))
	units := make([][]float64, len(lists)) // of length 1
	bounds := make([]float64, len(lists))
	var tested []int
	for k, d := range lists {
		if len(d) != len(lists[0]) {
			panic(fmt.Sprintf("stats: WestfallYoung of lists of %d and %d pairs", len(lists[0]), len(d)))
		}
		adjusted[k] = math.NaN()
		length, sum := math.Sqrt(Dot(d, d)), 0.0
		if !(length > 0) || math.IsInf(length, 0) {
			continue
		}
		units[k] = Each(d, func(v float64) float64 { return v / length })
		for _, v := range units[k] {
			sum += v
		}
		bounds[k] = math.Abs(sum) - 1e-12 // as far but for rounding
		tested = append(tested, k)
	}
	if len(tested) == 0 {
		return adjusted
	}
	slices.SortStableFunc(tested, func(a, b int) int { return cmp.Compare(bounds[a], bounds[b]) })
	far := make([]int, len(tested))
	n := len(lists[0])
	for signs := range signPatterns(n) {
		largest := 0.0 // of this list and those that are nearer to zero
		for i, k := range tested {
			largest = max(largest, math.Abs(Dot(units[k], signs)))
			if largest >= bounds[k] {
				far[i]++
			}
		}
	}
	p := 0.0
	for i, k := range slices.Backward(tested) {
		p = max(p, float64(far[i])/float64(patterns(n)))
		adjusted[k] = p
	}
	return adjusted
}

// WestfallYoungCritical is the |t| beyond which WestfallYoung gives a list a p of at most level
// whatever the others are: that of the largest |t| of all lists over the sign patterns. It is
// +Inf where the pairs are too few for that p, and NaN where no list is tested.
func WestfallYoungCritical(lists [][]float64, level float64) float64 {
	var units [][]float64
	n := 0
	for _, d := range lists {
		if length := math.Sqrt(Dot(d, d)); length > 0 && !math.IsInf(length, 0) {
			units = append(units, Each(d, func(v float64) float64 { return v / length }))
			n = len(d)
		}
	}
	if len(units) == 0 {
		return math.NaN()
	}
	var most []float64 // by pattern
	for signs := range signPatterns(n) {
		largest := 0.0
		for _, u := range units {
			largest = max(largest, math.Abs(Dot(u, signs)))
		}
		most = append(most, largest)
	}
	slices.SortFunc(most, func(a, b float64) int { return cmp.Compare(b, a) })
	k := int(level*float64(len(most))) - 1
	if k < 0 {
		return math.Inf(1)
	}
	square := float64(most[k] * most[k]) // of Σd/√Σd², which is t/√(n-1+t²) times √n
	if left := float64(n) - square; left > 1e-9 {
		return math.Sqrt(float64(n-1) * square / left)
	}
	return math.Inf(1)
}
