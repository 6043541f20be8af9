package diagnose

import (
	"math"
	"math/rand/v2"
)

// Pairs are the mixtures of two causes.
var Pairs = [][2]string{{precision, staleness}, {precision, routing}, {staleness, routing}}

// towards is how often the sizes of a mixture are corrected towards the parts that are wanted.
const towards = 3

// Mixture is a world in which the first of two causes has about a share of what both have of Σk3, and the third hardly any. Sizes
// are random, and then made larger and smaller until the shares are right.
func Mixture(pair [2]string, part float64, seed uint64) SyntheticDump {
	d := &dice{rand.New(rand.NewPCG(seed, 0x313))}
	w := Cases[0].Draw(seed) // for its lengths, ids and positions
	w.Sigma, w.Bias = d.log(0.02, 0.04), 0
	for _, cause := range pair {
		switch cause {
		case precision:
			d.coarse(&w, 0.08, 0.3)
		case routing:
			d.flips(&w)
		case staleness:
			d.lag(&w)
			w.Push = 0 // a part along the advantage belongs to no cause
		}
	}
	for range towards {
		_, shares := w.Rows()
		a, b := shares[pair[0]], shares[pair[1]]
		if a <= 0 || b <= 0 {
			break
		}
		by := math.Sqrt(math.Sqrt(part / (1 - part) * b / a)) // Σk3 goes as the square, and half of it is either's
		by = max(0.25, min(4, by))
		w.scale(pair[0], by)
		w.scale(pair[1], 1/by)
	}
	return w
}

// scale makes the errors of a cause larger.
func (w *SyntheticDump) scale(cause string, by float64) {
	switch cause {
	case precision:
		w.Sigma, w.Bias = w.Sigma*by, w.Bias*by
	case routing:
		w.FlipSize *= by
	case staleness:
		w.Eta, w.Sharp = w.Eta*by, w.Sharp*by
	}
}
