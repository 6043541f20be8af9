package moe

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestPlan(t *testing.T) {
	var d Dispatch
	// Three rows, top 2 of 4; expert 1 is idle.
	d.Plan([]uint8{3, 0, 0, 2, 3, 2}, 3, 2, 4)
	if want := []int32{0, 2, 2, 4, 6}; !slices.Equal(d.Offsets, want) {
		t.Errorf("offsets %v, want %v", d.Offsets, want)
	}
	if want := []int32{0, 1, 1, 2, 0, 2}; !slices.Equal(d.Row, want) {
		t.Errorf("rows %v, want %v", d.Row, want)
	}
	if want := []int32{1, 2, 3, 5, 0, 4}; !slices.Equal(d.Pair, want) {
		t.Errorf("pairs %v, want %v", d.Pair, want)
	}
	if want := []int32{4, 0, 1, 2, 5, 3}; !slices.Equal(d.Slot, want) {
		t.Errorf("slots %v, want %v", d.Slot, want)
	}
	if from, to := d.Span(2); from != 2 || to != 4 {
		t.Errorf("expert 2 owns %d..%d", from, to)
	}
	x, y := []float32{10, 11, 20, 21, 30, 31}, make([]float32, 12)
	d.Gather(y, x, 2)
	if want := []float32{10, 11, 20, 21, 20, 21, 30, 31, 10, 11, 30, 31}; !slices.Equal(y, want) {
		t.Errorf("gathered %v, want %v", y, want)
	}
}

// A plan is a permutation sorted by expert, stable in the rows, whatever was planned before.
func TestPlanProperties(t *testing.T) {
	var d Dispatch
	rapid.Check(t, func(t *rapid.T) {
		experts := rapid.IntRange(1, 30).Draw(t, "experts")
		topK := rapid.IntRange(1, experts).Draw(t, "topK")
		rows := rapid.IntRange(0, 20).Draw(t, "rows")
		var ids []uint8
		all := make([]uint8, experts)
		for e := range all {
			all[e] = uint8(e)
		}
		for range rows {
			ids = append(ids, rapid.Permutation(all).Draw(t, "choice")[:topK]...)
		}
		d.Plan(ids, rows, topK, experts)

		total := 0
		for e := range experts {
			from, to := d.Span(e)
			total += to - from
			for slot := from; slot < to; slot++ {
				pair := d.Pair[slot]
				if int(ids[pair]) != e {
					t.Fatalf("slot %d of expert %d holds a pair of expert %d", slot, e, ids[pair])
				}
				if int(d.Slot[pair]) != slot || d.Row[slot] != pair/int32(topK) {
					t.Fatalf("slot %d, pair %d: inverse %d, row %d", slot, pair, d.Slot[pair], d.Row[slot])
				}
				if slot > from && d.Row[slot] <= d.Row[slot-1] {
					t.Fatalf("rows of expert %d do not ascend: %v", e, d.Row[from:to])
				}
			}
		}
		if total != rows*topK {
			t.Fatalf("%d slots, want %d", total, rows*topK)
		}
	})
}
