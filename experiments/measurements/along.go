package measurements

import (
	"context"
	"fmt"
	"math"
	"slices"

	"driftlab/experiments/study/claims/claim"
	"driftlab/results/stats"
	"driftlab/trainer/method/batch"
)

// along measures how the gap of pairs goes along responses.
type along struct {
	Pairs []struct {
		pair `yaml:",inline"`
		// Record is what is recorded under which name: "product" is the mean |log product ratio|
		// over the first tokens of the prefix lengths, "quarters" the mean |dlogp| by quarter of
		// the positions, also matched on probability.
		Record ordered
	}
}

// Measure records the prefix lengths of the first pair, and the figures.
func (m *along) Measure(ctx context.Context, e *claim.Env, o *claim.Observation) error {
	o.Set("lengths", prefixLengths(m.Pairs[0].Tokens.of(e))...)
	var b *batch.Batch
	var q probe
	for _, p := range m.Pairs {
		if p.Replay == "" || b == nil {
			var err error
			if q, err = p.probe(ctx, e); err != nil {
				return err
			}
			b = sample(e, q)
		}
		p.score(e, b, q)
		for _, r := range p.Record {
			switch r.name {
			case "product":
				o.Set(r.value, accumulated(b, prefixLengths(q.Tokens))...)
			case "quarters":
				plain, matched := quarters(b, q.Tokens)
				o.Set(r.value+" quarters", plain...)
				o.Set(r.value+" matched", matched...)
			default:
				return fmt.Errorf("along: there is no record of %q", r.name)
			}
		}
	}
	return ctx.Err()
}

// accumulated is the mean |log product ratio| over the first tokens of those numbers.
func accumulated(b *batch.Batch, lengths []float64) []float64 {
	var out []float64
	for _, sums := range logProducts(b, lengths) {
		out = append(out, stats.Average(stats.Magnitudes(sums)))
	}
	return out
}

// quarters are the mean |dlogp| by quarter of the positions, plain and matched on the rollout
// probability in ten bins of equal weight.
func quarters(b *batch.Batch, length int) (plain, matched []float64) {
	const bins = 10
	edges := stats.Edges(b.LogpRoll, bins)
	plain, matched = make([]float64, 4), make([]float64, 4)
	var count [4]float64
	var inBin, binCount [4][bins]float64
	e := logRatiosOf(b)
	for i := range b.Len() {
		from, to := b.Span(i)
		for n := from; n < to; n++ {
			q := (n - from) * 4 / length
			k, _ := slices.BinarySearch(edges, b.LogpRoll[n])
			plain[q] += math.Abs(e[n])
			count[q]++
			inBin[q][k] += math.Abs(e[n])
			binCount[q][k]++
		}
	}
	// Only bins that every quarter has tokens in are compared.
	used := 0.0
	for k := range bins {
		if binCount[0][k] > 0 && binCount[1][k] > 0 && binCount[2][k] > 0 && binCount[3][k] > 0 {
			used++
			for q := range 4 {
				matched[q] += inBin[q][k] / binCount[q][k]
			}
		}
	}
	for q := range 4 {
		plain[q] /= count[q]
		matched[q] /= used
	}
	return plain, matched
}
