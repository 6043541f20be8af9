package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Shown is a part of a response that shows the gap well, for the eye.
type Shown struct {
	// Title says which response it is, and of what size its gap is.
	Title  string
	Tokens []ShownToken
}

// ShownToken is a token with what both engines make of it. ID is -1 where the dump has none.
type ShownToken struct {
	ID         int32
	Roll, Old  float64
	Place      int // among the trained tokens of the response
	Turn       int
	Difference float64 // old - roll
}

// How much is shown.
const (
	shownResponses = 3
	shownTokens    = 160
)

// Shown are the responses of the sample with the largest mean |d| of a stretch, the
// largest first: that stretch of each.
func (a *Analysis) Shown() []Shown {
	rows := a.sample.inOrder()
	type stretch struct {
		k        *kept
		from, to int
		size     float64
	}
	var list []stretch
	for _, k := range rows {
		s := stretch{k: k, to: min(shownTokens, len(k.roll)), size: -1}
		sum := 0.0
		for n := range k.roll {
			sum += size(k, n)
			if n >= shownTokens {
				sum -= size(k, n-shownTokens)
			}
			if from := max(0, n+1-shownTokens); (n+1 == len(k.roll) || n+1 >= shownTokens) && sum > s.size {
				s.from, s.to, s.size = from, n+1, sum
			}
		}
		s.size /= float64(s.to - s.from)
		list = append(list, s)
	}
	enough := func(s stretch) bool { return s.to-s.from >= 20 }
	slices.SortStableFunc(list, func(x, y stretch) int {
		if enough(x) != enough(y) { // a handful of tokens shows nothing
			return map[bool]int{true: -1, false: 1}[enough(x)]
		}
		return cmp.Compare(y.size, x.size)
	})
	var shown []Shown
	for _, s := range list[:min(shownResponses, len(list))] {
		view := Shown{Title: fmt.Sprintf("Response %d, tokens %d to %d of %d: mean |d| %.2g", s.k.number, s.from+1, s.to, len(s.k.roll), s.size)}
		for n := s.from; n < s.to; n++ {
			t := ShownToken{ID: -1, Roll: s.k.roll[n], Old: s.k.old[n], Place: n, Difference: s.k.old[n] - s.k.roll[n]}
			if s.k.id != nil {
				t.ID = s.k.id[n]
			}
			if n < len(s.k.turn) {
				t.Turn = int(s.k.turn[n])
			}
			view.Tokens = append(view.Tokens, t)
		}
		shown = append(shown, view)
	}
	return shown
}

// size is what a token adds: |d|, which one wild token cannot make everything of.
func size(k *kept, n int) float64 { return min(2, math.Abs(k.old[n]-k.roll[n])) }
