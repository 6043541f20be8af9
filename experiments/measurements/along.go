package measurements

import (
	"fmt"

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
func (m *along) Measure(e *claim.Env, o *claim.Observation) {
	o.Set("lengths", prefixLengths(m.Pairs[0].Tokens.of(e))...)
	var b *batch.Batch
	var q probe
	for _, p := range m.Pairs {
		if p.Replay == "" || b == nil {
			q = p.probe(e)
			b = sample(e, q)
		}
		p.score(e, b, q)
		for _, r := range p.Record {
			switch r.name {
			case "product":
				for _, sums := range logProducts(b, prefixLengths(q.Tokens)) {
					o.Append(r.value, stats.Average(stats.Magnitudes(sums)))
				}
			case "quarters":
				plain, matched := quarters(b, q.Tokens)
				o.Set(r.value+" quarters", plain...)
				o.Set(r.value+" matched", matched...)
			default:
				claim.StopOn(fmt.Errorf("along: there is no record of %q", r.name))
			}
		}
	}
	e.Continue()
}

// quarters are the mean |dlogp| by quarter of the positions, plain and matched on the rollout
// probability in ten bins of equal weight.
func quarters(b *batch.Batch, length int) (plain, matched []float64) {
	quarter := make([]int, b.Tokens())
	for i := range b.Len() {
		from, to := b.Span(i)
		for n := from; n < to; n++ {
			quarter[n] = (n - from) * 4 / length
		}
	}
	return grouped(4, part{b, quarter})
}
