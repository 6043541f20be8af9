package measurements

import (
	"math"

	"driftlab/results/stats"
)

// alarmWindow is the number of updates over which an alarm averages a curve.
const alarmWindow = 10

// windows are the means of every ten values in a row.
func windows(x []float64) []float64 {
	var out []float64
	for end := alarmWindow; end <= len(x); end++ {
		out = append(out, stats.Average(x[end-alarmWindow:end]))
	}
	return out
}

// firstWindow is the update that ends the first window whose mean, given the best
// mean so far, is an alarm; infinite where none is.
func firstWindow(x []float64, alarm func(best, mean float64) bool) float64 {
	best := math.Inf(-1)
	for k, mean := range windows(x) {
		best = max(best, mean)
		if alarm(best, mean) {
			return float64(k + alarmWindow)
		}
	}
	return math.Inf(1)
}
