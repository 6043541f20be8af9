package claim

import "driftlab/results/figure"

// Counting is 1, 2, ..., n.
func Counting(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i + 1)
	}
	return x
}

// Chart draws curves with the range of the replications as bands.
func Chart(title, x, y, caption string, logY bool, arms ...figure.Series) *figure.Figure {
	return &figure.Figure{Kind: figure.Lines, Title: title, X: figure.Axis{Label: x}, Y: figure.Axis{Label: y, Log: logY}, Series: arms, Note: caption}
}
