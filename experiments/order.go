package experiments

import (
	"cmp"
	"slices"
)

// byKey returns the indices of x in increasing order of its values, equal ones
// in their own order.
func byKey(x []float64) []int {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	return order
}
