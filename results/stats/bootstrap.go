package stats

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// resamples is the number of bootstrap resamples behind every interval.
const resamples = 10_000

// bootstrapSeed starts the generator of every bootstrap: intervals are a
// function of the data alone.
const bootstrapSeed = 0x5eed

// Differences returns a[i] - b[i]. It panics on lengths that differ.
func Differences(a, b []float64) []float64 {
	paired("Differences", a, b)
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return d
}

// Bootstrap is a statistic of x with the percentile interval of its bootstrap. A value that is
// not finite makes interval ends that are not.
func Bootstrap(x []float64, statistic func([]float64) float64) Interval {
	out := Interval{Estimate: statistic(x), N: len(x)}
	out.Low, out.High = out.Estimate, out.Estimate
	if out.N < 2 {
		return out
	}
	rng := rand.New(rand.NewPCG(bootstrapSeed, uint64(out.N)))
	sample, draws := make([]float64, len(x)), make([]float64, resamples)
	for i := range draws {
		for j := range sample {
			sample[j] = x[rng.IntN(len(x))]
		}
		draws[i] = statistic(sample)
	}
	slices.Sort(draws)
	out.Low, out.High = Quantile(draws, (1-level)/2), Quantile(draws, (1+level)/2)
	return out
}

func paired(what string, a, b []float64) {
	if len(a) != len(b) {
		panic(fmt.Sprintf("stats: %s of %d and %d values", what, len(a), len(b)))
	}
}
