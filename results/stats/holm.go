package stats

import "math"

// Holm adjusts p-values for their number, as Holm (1979) does: in increasing order
// each is multiplied by how many are left, and is never smaller than the one
// before. They are returned in the order given. NaN means not tested: it stays and
// does not count.
func Holm(p []float64) []float64 {
	left := 0
	for _, v := range p {
		if !math.IsNaN(v) {
			left++
		}
	}
	adjusted := make([]float64, len(p))
	largest := 0.0
	for _, at := range Order(p) {
		if math.IsNaN(p[at]) {
			adjusted[at] = p[at]
			continue
		}
		largest = max(largest, min(1, float64(left)*p[at]))
		adjusted[at] = largest
		left--
	}
	return adjusted
}
