package metrics

import (
	"fmt"
	"math"
	"testing"

	"driftlab/trainer/method/batch"
)

// Total variations of an update: two responses of one token and of two, whose
// probabilities are written here.
func TestUpdate(t *testing.T) {
	before := [][2]float64{{0.5, 0.5}, {0.6, 0.4}, {0.8, 0.2}}
	now := [][2]float64{{0.7, 0.3}, {0.6, 0.4}, {0.4, 0.6}} // total variations 0.2, 0, 0.4
	mu := []float64{0.5, 0.3, 0.4}
	b := &batch.Batch{}
	b.Offsets, b.Vocab, b.Layers, b.TopK = []int{0, 1, 3}, 2, 1, 1
	b.Token, b.Mask = []int32{0, 0, 1}, []bool{true, true, true}
	var after batch.Scored
	for n, token := range b.Token {
		b.LogpRoll = append(b.LogpRoll, math.Log(mu[n]))
		b.Old.Logp, after.Logp = append(b.Old.Logp, math.Log(before[n][token])), append(after.Logp, math.Log(now[n][token]))
		for a := range 2 {
			b.Old.Dist, after.Dist = append(b.Old.Dist, float32(math.Log(before[n][a]))), append(after.Dist, float32(math.Log(now[n][a])))
		}
	}
	b.Old.Routes, after.Routes = []uint8{1, 2, 3}, []uint8{1, 2, 0}
	want := map[string]float64{
		"val/update_tv": 0.6 / 3, "val/update_tv_p95": 0.4, "val/update_tv_max": 0.4, "val/update_flips": 1. / 3,
		// |0.7 - 0.5|/0.5 and |0.6·0.6 - 0.6·0.2|/(0.3·0.4)
		"val/update_tv_sequence": (0.4 + 2) / 2 / 2,
	}
	got := Update(nil, b, after)
	for _, m := range got {
		if math.Abs(m.Value-want[m.Name]) > 1e-6 {
			t.Errorf("%s is %v, want %v", m.Name, m.Value, want[m.Name])
		}
		if term, ok := Lookup(m.Name); !ok || term.Formula == "" {
			t.Errorf("the glossary does not explain %s", m.Name)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d figures, want %d", len(got), len(want))
	}
	for _, m := range Update(nil, b, b.Old) {
		if m.Value != 0 {
			t.Errorf("%s is %v without an update", m.Name, m.Value)
		}
	}
}

// Repeated runs are those that a search over all earlier positions finds; a reply of a tool
// interrupts a run.
func TestRepeated(t *testing.T) {
	b := &batch.Batch{}
	b.Offsets = []int{0, 12, 24, 27}
	b.Token = []int32{
		1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, // runs 5 to 9 of 9 are repeated
		1, 2, 3, 4, 9, 1, 2, 3, 4, 1, 2, 3, // the tool writes the 9
		1, 2, 3,
	}
	b.Mask = make([]bool, len(b.Token))
	for n := range b.Mask {
		b.Mask[n] = b.Token[n] != 9
	}
	search := func(from, to int) float64 {
		again, all := 0.0, 0.0
		text := make([][]string, b.Len())
		for i := range b.Len() {
			first, end := b.Span(i)
			for n := first; n+4 <= end; n++ {
				if b.Mask[n] && b.Mask[n+1] && b.Mask[n+2] && b.Mask[n+3] {
					run := fmt.Sprint(b.Token[n : n+4])
					if at := n + 4 - first; at > from && at <= to {
						all++
						for _, earlier := range text[i] {
							if earlier == run {
								again++
								break
							}
						}
					}
					text[i] = append(text[i], run)
				}
			}
		}
		return again / all
	}
	for _, c := range [][2]int{{0, 99}, {0, 6}, {6, 12}, {9, 10}} {
		if got, want := Repeated(b, c[0], c[1]), search(c[0], c[1]); got != want {
			t.Errorf("positions %v: %v, want %v", c, got, want)
		}
	}
	// 5 of 9 in the first response, 1 of 5 in the second.
	if got := Repeated(b, 0, 99); got != 6./14 {
		t.Errorf("%v of the runs are repeated, want 6 of 14", got)
	}
	if got := Repeated(b, 90, 99); got != 0 {
		t.Errorf("%v of no runs are repeated", got)
	}
}
