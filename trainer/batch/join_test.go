package batch_test

import (
	"reflect"
	"testing"

	"driftlab/trainer/batch"
)

// Join is the inverse of cutting a batch in two, column by column, whatever is
// recorded; what one part lacks the whole lacks.
func TestJoin(t *testing.T) {
	whole := batch.Batch{
		Offsets: []int{0, 2, 3, 6}, Prompt: [][]int32{{1}, {2, 3}, {4}}, Token: []int32{5, 6, 7, 8, 9, 1}, Mask: []bool{true, true, false, true, true, true},
		LogpRoll: []float64{-1, -2, -3, -4, -5, -6}, Version: []int32{3, 3, 3, 3, 3, 3}, Support: [][]int32{nil, {1}, nil, {2, 3}, nil, nil},
		RoutesRoll: []uint8{0, 1, 2, 3, 1, 0, 2, 1, 3, 2, 1, 0}, Layers: 1, TopK: 2, Vocab: 2, DistRoll: make([]float32, 12),
		Finished: []bool{true, false, true}, PromptRoutes: [][]uint8{{}, {1, 2}, {}},
	}
	for n := range whole.DistRoll {
		whole.DistRoll[n] = float32(n)
	}
	parts := make([]batch.Batch, 2)
	whole.Select(&parts[0], []int{0, 1})
	whole.Select(&parts[1], []int{2})
	var joined batch.Batch
	for range 2 { // again into the same memory
		batch.Join(&joined, parts)
		if !reflect.DeepEqual(joined, whole) {
			t.Fatalf("joined %+v, want %+v", joined, whole)
		}
	}
	parts[1].LogpRoll = nil
	batch.Join(&joined, parts)
	if joined.LogpRoll != nil || len(joined.Token) != 6 {
		t.Errorf("a column that one part lacks: %v", joined.LogpRoll)
	}
	joined.Group = []int{0, 0, 1}
	batch.Join(&joined, parts)
	if len(joined.Group) != 3 {
		t.Error("a column that no part has is gone")
	}
	empty := []batch.Batch{parts[0], {Offsets: []int{0}}}
	batch.Join(&joined, empty)
	if joined.Len() != 2 || len(joined.LogpRoll) != 3 || joined.DistRoll[5] != 5 {
		t.Errorf("with an empty part: %+v", joined)
	}
}
