package stats

import (
	"fmt"
	"slices"
)

// AUC is the area under the learning curve y at increasing x by the rule of the
// trapezium, divided by the width: the mean height, in the unit of y. One point
// is its own height. It panics on lengths that differ.
func AUC(x, y []float64) float64 {
	paired("AUC", x, y)
	if len(x) == 1 {
		return y[0]
	}
	area := 0.0
	for i := 1; i < len(x); i++ {
		area += float64((x[i] - x[i-1]) * (y[i-1] + y[i]) / 2)
	}
	return area / (x[len(x)-1] - x[0])
}

// iqm is the interquartile mean of all runs: the mean of those that are left when
// a quarter of their number, rounded down, is cut off at either end. Each argument
// holds the runs of one task (of one model, one setting), and the interval is of the
// bootstrap that draws runs within each (Agarwal et al. 2021, 2108.13264): another
// set of runs at the same tasks. A task with one run does not vary in it.
func iqm(tasks ...[]float64) Interval {
	var all []float64
	return stratified(tasks, func(tasks [][]float64) float64 {
		all = all[:0]
		for _, runs := range tasks {
			all = append(all, runs...)
		}
		slices.Sort(all)
		cut := len(all) / 4
		return Average(all[cut : len(all)-cut])
	})
}

// improvement is the probability that a run of a is better than one of b at the
// same task, a draw counting half, and averaged over tasks (Agarwal et al. 2021,
// section 4.3): Mann and Whitney's U over the number of pairs. a and b hold the runs
// of each task, whose numbers may differ; the interval is that of IQM, drawn from
// both. It takes runs of a and b to be independent: SignFlip is for those paired by
// seed. It panics on lengths that differ.
func improvement(a, b [][]float64) Interval {
	if len(a) != len(b) {
		panic(fmt.Sprintf("stats: Improvement over %d and %d tasks", len(a), len(b)))
	}
	return stratified(slices.Concat(a, b), func(both [][]float64) float64 {
		sum := 0.0
		for task := range a {
			sum += superiority(both[task], both[len(a)+task])
		}
		return sum / float64(len(a))
	})
}

// superiority is the share of pairs in which the value of a is larger, with half
// of those that are equal.
func superiority(a, b []float64) float64 {
	halves := 0
	for _, v := range a {
		for _, w := range b {
			switch {
			case v > w:
				halves += 2
			case v == w:
				halves++
			}
		}
	}
	return float64(halves) / float64(2*len(a)*len(b))
}
