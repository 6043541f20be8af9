package age

import "driftlab/results/stats"

// averaged is the mean of two arms, replication by replication.
func averaged(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = (a[i] + b[i]) / 2
	}
	return out
}

// slopes are those of y over x, replication by replication; y lists them by x.
func slopes(x []float64, y [][]float64) []float64 {
	out := make([]float64, len(y[0]))
	for i := range out {
		var curve []float64
		for _, at := range y {
			curve = append(curve, at[i])
		}
		out[i] = stats.Slope(x, curve)
	}
	return out
}
