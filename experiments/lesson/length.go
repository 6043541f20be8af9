package lesson

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"driftlab/experiments/claims/claim"
	"driftlab/experiments/claims/ratio"
	"driftlab/precision/elementary"
	"driftlab/results/figure"
)

// caps are the places of the lesson's slider: a band on the product of the ratios and
// one on their geometric mean.
var caps = []struct{ product, geometric float64 }{
	{1.1, 1.001}, {1.25, 1.002}, {1.5, 1.005}, {2, 1.01}, {3, 1.02}, {5, 1.03}, {10, 1.05},
}

// dotted is how many responses are drawn as dots.
const dotted = 128

// recordLength samples responses of 1,024 tokens, those of the first replication of the
// claim length-trap and, in the mixture of experts, of geo-length-invariant.
func recordLength(ctx context.Context, o Options) ([]figure.Figure, error) {
	env := &claim.Env{Seed: 1, Cache: claim.NewCache(o.Dir), Cores: o.Workers}
	if o.Tiny {
		env.Size = claim.Tiny
	}
	longest := env.Pick(1024, 1024, 64)
	var lengths []float64
	for n := min(32, longest/8); n <= longest; n *= 2 {
		lengths = append(lengths, float64(n))
	}
	grown, err := ratio.Grow(ctx, env, lengths)
	if err != nil {
		return nil, err
	}
	var out []figure.Figure
	for _, g := range grown {
		for i := range caps {
			kept := keptPanel(g, lengths, i)
			kept.When = map[string]string{"dose": g.Level, "cap": strconv.Itoa(i)}
			out = append(out, kept)
		}
		dots := dotsPanel(g, lengths)
		dots.When = map[string]string{"dose": g.Level}
		out = append(out, dots)
	}
	return out, nil
}

// keptPanel is the share of responses that either rule keeps, by length.
func keptPanel(g ratio.Growth, lengths []float64, at int) figure.Figure {
	limit := caps[at]
	product, geometric := make([]float64, len(lengths)), make([]float64, len(lengths))
	for k, sums := range g.Sum {
		for _, s := range sums {
			if math.Abs(s) <= elementary.Log(limit.product) {
				product[k]++
			}
			if math.Abs(s/lengths[k]) <= elementary.Log(limit.geometric) {
				geometric[k]++
			}
		}
		product[k] /= float64(len(sums))
		geometric[k] /= float64(len(sums))
	}
	last := len(lengths) - 1
	return figure.Figure{Kind: figure.Lines, Name: "kept", Title: fmt.Sprintf("Share of %d responses kept, one model", len(g.Sum[0])),
		X: figure.Axis{Label: "response length (tokens)", Log: true}, Y: figure.Axis{Label: "share kept", High: 1},
		Series: []figure.Series{
			{Name: fmt.Sprintf("product in [1/%g, %g]", limit.product, limit.product), Method: figure.Uncorrected, X: lengths, Y: product},
			{Name: fmt.Sprintf("geometric mean in [1/%g, %g]", limit.geometric, limit.geometric), Method: figure.OPSM, X: lengths, Y: geometric},
		},
		Note: fmt.Sprintf("From %.0f to %.0f tokens the product rule keeps %.3f and then %.3f of the responses, the geometric one %.3f and then %.3f.",
			lengths[0], lengths[last], product[0], product[last], geometric[0], geometric[last]),
	}
}

// dotsPanel is the log of the product ratio of the first responses, by length.
func dotsPanel(g ratio.Growth, lengths []float64) figure.Figure {
	p := figure.Figure{Kind: figure.Dots, Name: "ratios", Title: "Log of the product ratio, response by response; drag the band",
		X: figure.Axis{Label: "response length (tokens)", Log: true}, Y: figure.Axis{Label: "sum of the token log-ratios (nats)"},
		Drag: &figure.Drag{Control: "cap", Axis: "y", Names: [2]string{"kept below", "kept above"}}, Note: "The cloud widens with the length; the band stays."}
	for _, c := range caps {
		p.Drag.At = append(p.Drag.At, elementary.Log(c.product))
	}
	var dots figure.Series
	for k, sums := range g.Sum {
		for _, s := range sums[:min(dotted, len(sums))] {
			rounded, _ := strconv.ParseFloat(strconv.FormatFloat(s, 'g', 3, 64), 64) // it is a number
			dots.X, dots.Y = append(dots.X, lengths[k]), append(dots.Y, rounded)
		}
	}
	dots.Name = "responses"
	p.Series = []figure.Series{dots}
	return p
}
