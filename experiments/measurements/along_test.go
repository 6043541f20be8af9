package measurements

import (
	"math"
	"testing"

	"driftlab/trainer/method/batch"
)

// Where the later tokens are the less probable ones and the gap depends on the
// probability alone, the plain means grow from quarter to quarter and the matched do not.
func TestQuarters(t *testing.T) {
	b := new(batch.Batch)
	const length, rows = 40, 40
	b.Offsets = []int{0}
	for i := range rows {
		for at := range length {
			p := .1 + .02*float64((i*7+at*3)%40) // every level in every quarter
			if (i+at)%4 < at*4/length {
				p /= 10 // later tokens are more often rare
			}
			level := math.Floor(20 * p)
			b.Token = append(b.Token, 0)
			b.LogpRoll = append(b.LogpRoll, math.Log((level+1)/21))
			b.Old.Logp = append(b.Old.Logp, math.Log((level+1)/21)+.1/(level+1))
		}
		b.Offsets = append(b.Offsets, len(b.Token))
	}
	lists := (&scoredPair{Batch: b, q: probe{Tokens: length}}).quarters()
	plain, matched := lists[0], lists[1]
	for q := 1; q < 4; q++ {
		if plain[q] < plain[q-1]*1.1 {
			t.Errorf("plain means %v: quarter %d does not exceed the one before", plain, q)
		}
		if math.Abs(matched[q]/matched[0]-1) > .1 {
			t.Errorf("matched means %v differ by more than what a bin is wide", matched)
		}
	}
}
