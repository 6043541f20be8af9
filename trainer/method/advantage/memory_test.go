package advantage

import (
	"testing"

	"driftlab/trainer/method/memorytest"
)

// An estimator's memory is scratch: what it gives follows from the batch, or it is
// its Memory.
func TestMemory(t *testing.T) {
	for _, e := range Registry {
		_, err := memorytest.Check(3, e.New, func(m Estimator, k int) ([]float64, error) {
			b := random(uint64(k))
			err := m.Estimate(b)
			return append(b.Advantage, b.Return...), err
		})
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
}
