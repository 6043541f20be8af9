package advantage

import (
	"math"
	"slices"
	"testing"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// A group is what Group says: responses of unequal groups that stand between each
// other get what they get side by side. Estimators of the unit batch sum over all
// responses in their order, which may move the last bits.
func TestGroupsNeedNotStandTogether(t *testing.T) {
	for _, e := range Registry {
		if !slices.Contains(e.Spec.Needs, batch.Group) {
			continue
		}
		var apart batch.Batch
		together := random(9)
		together.Group = []int{7, 7, 7, 7, 7, 2, 2, 9, 9, 9, 0, 0}
		order := []int{0, 5, 1, 7, 2, 8, 10, 6, 3, 11, 9, 4}
		together.Select(&apart, order)
		estimate(t, e.New(), together)
		estimate(t, e.New(), &apart)
		tolerance := 0.0
		if e.Unit == method.Batch {
			tolerance = 1e-12
		}
		moved := false
		for k, i := range order {
			from, to := together.Span(i)
			start, end := apart.Span(k)
			want, got := together.Advantage[from:to], apart.Advantage[start:end]
			for n := range want {
				moved = moved || want[n] != 0
				if math.Abs(want[n]-got[n]) > tolerance*math.Abs(want[n]) {
					t.Errorf("%s: response %d has advantages %v beside its group and %v away from it", e.Name, i, want, got)
					break
				}
			}
		}
		if !moved {
			t.Errorf("%s: every advantage is 0", e.Name)
		}
	}
}
