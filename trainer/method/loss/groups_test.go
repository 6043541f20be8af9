package loss

import (
	"math"
	"slices"
	"testing"

	"driftlab/trainer/method/batch"
)

// A group is what Group says: responses of unequal groups that stand between each
// other get the gradients that they get side by side. The loss itself is a sum in
// the order of the batch, which may move its last bits.
func TestGroupsNeedNotStandTogether(t *testing.T) {
	together := nastyBatch(3, true)
	together.Group = []int{7, 7, 7, 7, 7, 2, 2, 9, 9, 9, 0, 0}
	order := []int{0, 5, 1, 7, 2, 8, 10, 6, 3, 11, 9, 4}
	var apart batch.Batch
	together.Select(&apart, order)
	for _, e := range Registry {
		if !slices.Contains(e.Spec.Needs, batch.Group) {
			continue
		}
		want, got := eval(t, e.New(), together), eval(t, e.New(), &apart)
		if math.Abs(want.Loss-got.Loss) > 1e-12*math.Abs(want.Loss) {
			t.Errorf("%s: loss %v of groups side by side, %v apart", e.Name, want.Loss, got.Loss)
		}
		for k, i := range order {
			from, to := together.Span(i)
			start, end := apart.Span(k)
			if !slices.Equal(want.DLogp[from:to], got.DLogp[start:end]) {
				t.Errorf("%s: response %d has gradients %v beside its group and %v away from it",
					e.Name, i, want.DLogp[from:to], got.DLogp[start:end])
			}
		}
	}
	for _, mode := range Aggregations() {
		a, want, got := Aggregation{Mode: mode}, make([]float64, together.Len()), make([]float64, together.Len())
		var groups batch.Groups
		must(t, a.RowWeights(want, together, &groups))
		must(t, a.RowWeights(got, &apart, &groups))
		for k, i := range order {
			if want[i] != got[k] {
				t.Errorf("%s: response %d weighs %v beside its group and %v away from it", mode, i, want[i], got[k])
			}
		}
	}
}
