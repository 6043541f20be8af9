package guard

import (
	"fmt"
	"math"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// GradientAlignment controls how far consecutive gradients agree: on fresh data
// their cosine is near 0, on stale data it stays high, and the shared part is
// what is pushed again and again.
//
// Only positive alignment is touched: between the bounds the cosine's excess is removed, or
// with full the whole parallel part. g_prev, of direction u, is stored before any
// projection. The first step, and steps next to a zero gradient, are applied as they are.
type GradientAlignment struct {
	// Low is the cosine up to which nothing happens.
	Low float64 `yaml:"low" default:"0.1" range:"[0,high)"`
	// High is the cosine from which the step is skipped.
	High float64 `yaml:"high" default:"0.9" range:"[0,1]"`
	// Full removes the whole parallel part.
	Full bool `yaml:"full"`

	previous []float32
	cosine   float64
	removed  float64
	skipped  float64
}

var gradientAlignmentSpec = method.Spec{
	Name: "gradient_alignment", Aliases: []string{"gac"}, Unit: method.Optimiser,
	Does:           "Removes part of the gradient that agrees with the previous gradient, and skips the update if both are nearly parallel.",
	When:           "Use it in asynchronous training, where stale data repeat the same direction of the gradient.",
	Source:         "GAC, arXiv 2603.01501 (abstract and a note)",
	Formula:        "c = cos(g, g_prev): c ≤ low: g;  low < c < high: g − (1 − low/c)·⟨g,u⟩·u;  c ≥ high: skip",
	Gradient:       "the part along the previous raw gradient is reduced",
	Reconstruction: "thresholds 0.1 and 0.9 are this project's; the parallel share left is low/c, full: true removes all of it",
}

// Guard projects the gradient or skips the step.
func (g *GradientAlignment) Guard(grad []float32, _ Input) (Decision, error) {
	if len(g.previous) != 0 && len(g.previous) != len(grad) {
		return Decision{}, fmt.Errorf("guard: gradient has %d entries, the previous one had %d", len(grad), len(g.previous))
	}
	dot, own, before := 0.0, 0.0, 0.0
	for i, p := range g.previous {
		x, y := float64(grad[i]), float64(p)
		dot += float64(x * y)
		own += float64(x * x)
		before += float64(y * y)
	}
	g.cosine, g.removed, g.skipped = 0, 0, 0
	if own > 0 && before > 0 {
		g.cosine = dot / (float64(math.Sqrt(own)*math.Sqrt(before)) + 1e-12)
	}
	share := 0.0 // of the parallel part to remove
	switch {
	case g.cosine >= g.High:
		g.skipped = 1
	case g.cosine > g.Low:
		share = 1 - g.Low/g.cosine
		if g.Full {
			share = 1
		}
	}
	if len(g.previous) == 0 {
		g.previous = make([]float32, len(grad))
	}
	along := 0.0
	if share > 0 {
		along = share * dot / before
	}
	for i, x := range grad {
		p := g.previous[i]
		g.previous[i] = x
		if share > 0 {
			grad[i] = float32(float64(x) - float64(along*float64(p)))
		}
	}
	g.removed = share
	return Decision{Scale: 1, Skip: g.skipped == 1}, nil
}

// Metrics appends the cosine, the share of the parallel part removed, and skips.
func (g *GradientAlignment) Metrics(dst []batch.Metric) []batch.Metric {
	return append(dst, batch.Metric{Name: "guard/grad_cosine", Value: g.cosine},
		batch.Metric{Name: "guard/grad_removed", Value: g.removed}, batch.Metric{Name: "guard/grad_skipped", Value: g.skipped})
}

// AppendState appends the previous gradient.
func (g *GradientAlignment) AppendState(dst []byte) []byte {
	return method.AppendState(dst, g.previous)
}

// SetState takes what AppendState appended.
func (g *GradientAlignment) SetState(state []byte) error {
	return method.ReadState(state, &g.previous)
}
