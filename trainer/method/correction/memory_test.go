package correction

import (
	"testing"

	"driftlab/trainer/method"
	"driftlab/trainer/method/memorytest"
)

// What a correction does follows from the batch, or it is its Memory.
func TestMemory(t *testing.T) {
	use := func(p *Pipeline, k int) ([]float64, error) {
		b := random(uint64(k), 0.5)
		b.Step = k
		err := p.Apply(b, AtBatch)
		all := append([]float64{}, b.Weight...)
		for n, keep := range b.Active() {
			if keep && (b.Gate == nil || b.Gate[n]) {
				all = append(all, float64(n))
			}
		}
		return all, err
	}
	check(t, Weightings, func(m Weighting, k int) ([]float64, error) {
		return use(&Pipeline{Mode: Bypass, Weights: m}, k)
	})
	check(t, Masks, func(m Masking, k int) ([]float64, error) {
		return use(&Pipeline{Mode: Bypass, Masks: []Masking{m}}, k)
	})
}

func check[T any](t *testing.T, table method.Table[T], use func(m T, k int) ([]float64, error)) {
	for _, e := range table {
		if _, err := memorytest.Check(3, e.New, use); err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
}
