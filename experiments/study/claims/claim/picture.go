package claim

import (
	"driftlab/results/figure"
	"driftlab/results/stats"
)

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

// Bars draws one quantity over categories, geometric or plain means with
// intervals over replications as whiskers. Each group names a figure per category.
func (j *Judge) Bars(title, value string, log bool, categories []string, groups ...Group) *figure.Figure {
	b := &figure.Figure{Kind: figure.Bars, Title: title, Y: figure.Axis{Label: value, Log: log}, Labels: categories}
	for _, g := range groups {
		out := figure.Series{Name: g.Name}
		for k := range categories {
			i := stats.T(g.Values(k))
			out.Y, out.Low, out.High = append(out.Y, i.Estimate), append(out.Low, i.Low), append(out.High, i.High)
		}
		b.Series = append(b.Series, out)
	}
	return b
}

// Group is a colour of bars: values of one category over replications.
type Group struct {
	Name   string
	Values func(category int) []float64
}
