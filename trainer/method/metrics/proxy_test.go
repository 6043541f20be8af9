package metrics

import (
	"math"
	"math/rand/v2"
	"testing"

	"driftlab/trainer/method/batch"
)

// The proxies of random batches, with and without weights, with and without
// empty responses, equal the results of a loop written from verl's formulas: means over
// all N responses, an empty one counting as 0.
func TestVarianceProxyRecomputed(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for trial := range 300 {
		b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0}}}
		rows := 1 + rng.IntN(5)
		for range rows {
			empty := rng.IntN(3) == 0
			for range 1 + rng.IntN(6) {
				b.Mask = append(b.Mask, !empty && rng.Float64() < .7)
				b.Old.Logp = append(b.Old.Logp, -3*rng.Float64())
				b.Old.SumSquares = append(b.Old.SumSquares, rng.Float64())
				b.Advantage = append(b.Advantage, rng.NormFloat64())
				if trial%2 == 0 {
					b.Weight = append(b.Weight, float64(rng.IntN(3))*rng.Float64())
				}
			}
			b.Offsets = append(b.Offsets, len(b.Mask))
		}
		norm, n := rng.Float64(), float64(rows)
		want := make([]float64, 5)
		want[0] = norm * norm
		for i := range rows {
			from, to := b.Span(i)
			count, a, w, score, bare := 1e-8, 0.0, 0.0, 0.0, 0.0
			for k := from; k < to; k++ {
				if !b.Mask[k] {
					continue
				}
				s := 1 - 2*math.Exp(b.Old.Logp[k]) + b.Old.SumSquares[k]
				count++
				a += b.Advantage[k]
				if b.Weight == nil {
					score, bare = score+s, bare+s
					continue
				}
				sq := b.Weight[k] * b.Weight[k]
				w += b.Weight[k]
				score += s * sq
				bare += s * sq / max(sq, 1e-10)
			}
			a, w = a/count, w/count
			if b.Weight == nil {
				w = 1
			}
			want[1] += w * w * a * a * max(bare, 0) / n
			want[3] += a * a / n
			want[4] += score / n
		}
		if rows > 1 {
			want[2] = max((want[1]-want[0])/(n-1), 0)
		}
		for i, m := range VarianceProxy(nil, b, norm) {
			if math.Abs(m.Value-want[i]) > 1e-12 {
				t.Fatalf("trial %d: %s is %v, want %v", trial, m.Name, m.Value, want[i])
			}
		}
	}
}
