package reward

import (
	"slices"
	"testing"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
)

// A group is what Group says: responses of unequal groups that stand between each
// other earn what they earn side by side.
func TestGroupsNeedNotStandTogether(t *testing.T) {
	together, verdicts := lengths(t,
		[][]int{{3, 8, 13, 5, 6}, {9, 2, 4, 4}, {7, 7, 12, 1, 30, 8}},
		[][]bool{{true, false, true, true, false}, {true, true, true, true}, {true, false, false, false, true, false}})
	order := []int{5, 0, 9, 1, 10, 6, 7, 2, 11, 12, 3, 4, 8, 13, 14}
	var apart batch.Batch
	together.Select(&apart, order)
	var moved []task.Verdict
	for _, i := range order {
		moved = append(moved, verdicts[i])
	}
	for _, e := range Registry {
		if !slices.Contains(e.Spec.Needs, batch.Group) {
			continue
		}
		want, got := part(t, e.New(), together, verdicts), part(t, e.New(), &apart, moved)
		for k, i := range order {
			if want[i] != got[k] {
				t.Errorf("%s: response %d earns %v beside its group and %v away from it", e.Name, i, want[i], got[k])
			}
		}
		if slices.Min(want) == slices.Max(want) {
			t.Errorf("%s: every response earns %v", e.Name, want[0])
		}
	}
}
