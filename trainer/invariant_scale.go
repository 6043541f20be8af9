package trainer

import "driftlab/model"

// scaleInvariant divides the weights behind each layer's norms by s and
// multiplies the norms' gains by it. The function stays the same, up to rounding,
// and exactly for a power of two. The error of quantised weights shrinks with
// them, while an optimiser that normalises its steps moves them as far as before:
// UAQ (QuRL, arXiv:2602.13953).
func scaleInvariant(p *model.Params, s float64) {
	factor := float32(s)
	for l := range p.Config.Layers {
		y := p.Layer(l)
		divided := append([][]float32{y.QKV, y.Router}, y.W13...)
		for _, w := range divided {
			for i := range w {
				w[i] /= factor
			}
		}
		for _, gains := range [][]float32{y.InputNorm, y.PostNorm} {
			for i := range gains {
				gains[i] *= factor
			}
		}
	}
}
