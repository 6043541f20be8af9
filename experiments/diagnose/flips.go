package diagnose

import (
	"math"

	"driftlab/precision/elementary"
	"driftlab/trainer/method/metrics"
)

// flips are the gap where other experts computed a token in one engine than in the other, and where not.
type flips struct {
	layer        []float64 // tokens with another set of experts, by layer
	rows, any    int       // responses with routes, and those with a flip
	tokens       [2]int    // the others, and those that flipped in any layer
	absolute, k3 [2]float64
}

// add takes in a response whose routes were recorded.
func (f *flips) add(v *view) {
	if v.row.Flips == nil || len(v.ok) == 0 {
		return
	}
	layers := len(v.row.Flips) / len(v.row.Mask)
	for len(f.layer) < layers {
		f.layer = append(f.layer, 0)
	}
	before := f.tokens[1]
	for i, at := range v.ok {
		side := 0
		for l, flipped := range v.row.Flips[at*layers : (at+1)*layers] {
			if flipped {
				f.layer[l]++
				side = 1
			}
		}
		d := v.old[i] - v.roll[i]
		f.tokens[side]++
		f.absolute[side] += math.Abs(d)
		f.k3[side] += elementary.Expm1(d) - d
	}
	f.rows++
	if f.tokens[1] > before {
		f.any++
	}
}

// fill writes what a gap says of routes, over the responses that have them.
func (f *flips) fill(g *metrics.Gap) {
	if f.rows == 0 {
		return
	}
	n := float64(f.tokens[0] + f.tokens[1])
	g.HasRoutes = true
	for _, count := range f.layer {
		g.FlipLayer = append(g.FlipLayer, count/n)
		g.FlipRoute += count / n / float64(len(f.layer))
	}
	g.FlipToken, g.FlipSequence = float64(f.tokens[1])/n, share(f.any, f.rows)
	rest, flipped := float64(max(f.tokens[0], 1)), float64(max(f.tokens[1], 1))
	g.RestAbsDlogp, g.FlippedAbsDlogp = f.absolute[0]/rest, f.absolute[1]/flipped
	g.RestK3, g.FlippedK3 = f.k3[0]/rest, f.k3[1]/flipped
}
