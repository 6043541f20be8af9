package reward

import (
	"testing"

	"driftlab/trainer/method/memorytest"
)

// Whatever a part remembers is its Memory. The prompts are solved at once and
// answered at more length later.
func TestMemory(t *testing.T) {
	for _, e := range Registry {
		remembers, err := memorytest.Check(3, e.New, func(s Shaper, k int) ([]float64, error) {
			b, verdicts := lengths(t, [][]int{{3 + 5*k, 4, 5, 6 + k}, {9, 8 + 7*k, 7, 2, 2}}, [][]bool{all(true, 4), all(true, 5)})
			dst := make([]float64, b.Len())
			err := s.Part(dst, b, verdicts)
			return dst, err
		})
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
		if remembers != (e.Name == "length_anchor") {
			t.Errorf("%s remembers: %v", e.Name, remembers)
		}
	}
}
