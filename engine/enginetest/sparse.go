package enginetest

import (
	"cmp"
	"math"
	"slices"

	"driftlab/model"
)

// indexTensors are those of the index of a sparse-attention layer.
type indexTensors struct{ q, k, w []float64 }

// index chooses the positions that the newest row attends to, by the formula of
// model.IndexLayer: h is the layer's normed input there, keys are the index's of all positions
// so far, to which the row's is added. It also returns the least lead of a chosen position over
// one left out, infinite where the two have the same score for a reason of their own: every
// head is off for both.
func (t *indexTensors) index(c model.Config, h []float64, keys *[][]float64) (sees []bool, margin float64) {
	hd, n := c.HeadDim(), len(*keys)+1
	q, k := times(t.q, h), times(t.k, h)
	if c.Positions == model.Rotary {
		rotate(q, n-1, hd, c.RopeTheta)
		rotate(k, n-1, hd, c.RopeTheta)
	}
	*keys = append(*keys, k)
	scores, weights := make([]float64, n), times(t.w, h)
	margin = math.Inf(1)
	for s, key := range *keys {
		for j, w := range weights {
			var x float64
			for i := range hd {
				x += float64(q[j*hd+i] * key[i])
			}
			scores[s] += float64(w * max(x, 0))
		}
	}
	sees = make([]bool, n)
	sees[n-1] = true
	order := make([]int, n-1)
	for i := range order {
		order[i] = n - 2 - i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	for i, s := range order {
		if i < c.IndexTopK-1 {
			sees[s] = true
		} else if last := i - 1; i == c.IndexTopK-1 && last >= 0 && (scores[order[last]] != 0 || scores[s] != 0) {
			margin = scores[order[last]] - scores[s]
		}
	}
	return sees, margin
}
