package measurements

import (
	"testing"

	"driftlab/trainer/method/batch"
)

// Of five responses, four of them to the first prompt, three differ; the first two of
// those part at the third token, and the third ends where another goes on.
func TestDiffering(t *testing.T) {
	b := new(batch.Batch)
	owner := []int{0, 0, 1, 0, 0}
	for _, text := range [][]int32{{1, 2, 3, 4}, {1, 2, 5, 4}, {9}, {1, 2, 3, 4}, {1, 2, 3}} {
		b.Offsets = append(b.Offsets, len(b.Token))
		b.Token = append(b.Token, text...)
	}
	b.Offsets = append(b.Offsets, len(b.Token))
	if distinct, split := differing(b, owner, 0, 4); distinct != 3 || split != 2 {
		t.Errorf("%v distinct, first split at %v; want 3 and 2", distinct, split)
	}
	if distinct, split := differing(b, owner, 1, 4); distinct != 1 || split != 4 {
		t.Errorf("one response: %v distinct, split at %v; want 1 and no split before 4", distinct, split)
	}
}
