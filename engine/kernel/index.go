package kernel

import (
	"cmp"
	"fmt"
	"slices"
)

// IndexScores computes the scores that the index of sparse attention (arXiv:2512.02556) gives
// the first n keys for one row:
//
//	dst_s = Σ_j weights_j·ReLU(q_j·k_s)
//
// one chain over the heads of one chain over the head dimension each, products rounded to
// float32 before they are added. q is [heads, headDim], weights [heads]; kT has one head of
// keys as StoreKV lays it out. A score depends on its row and key alone.
func IndexScores(dst, q, weights, kT []float32, n, headDim int) {
	heads := len(weights)
	if len(dst) < n || len(q) < heads*headDim || len(kT) < ceilDiv(n, panelWidth)*panelWidth*headDim {
		panic(fmt.Sprintf("kernel: IndexScores dst %d, q %d, keys %d: %d keys, %d heads of %d", len(dst), len(q), len(kT), n, heads, headDim))
	}
	for s := range n {
		key := kT[s/panelWidth*panelWidth*headDim+s%panelWidth:]
		var sum float32
		for j, w := range weights {
			var x float32
			for i, a := range q[j*headDim:][:headDim] {
				x += float32(a * key[i*panelWidth])
			}
			sum += float32(w * max(x, 0))
		}
		dst[s] = sum
	}
}

// LargestScores sets in bits, of which it clears the first words that hold n, the last of n
// positions and the k-1 others of the largest scores; of equal scores the later position. All
// of them where n is at most k. A NaN is less than any score.
func LargestScores(bits []uint64, scores []float32, n, k int, s *Scratch) {
	clear(bits[:ceilDiv(n, 64)])
	order := grown(&s.order, n)
	for i := range order {
		order[i] = int32(n - 1 - i)
	}
	if n > k {
		slices.SortStableFunc(order[1:], func(a, b int32) int { return cmp.Compare(scores[b], scores[a]) })
		order = order[:k]
	}
	for _, position := range order {
		bits[position/64] |= 1 << (position % 64)
	}
}
