package diagnose

import (
	"math"
	"slices"

	"driftlab/experiments/diagnose/reader"
	"driftlab/precision/elementary"
)

// view is a response, or a part of it, as the checks see it: its trained tokens.
type view struct {
	row *reader.Row
	// at are the places of the trained tokens in the row, all of them; ok are
	// those of them whose two log-probs are finite, with their values.
	at, ok    []int
	roll, old []float64
	// ratio is ρ, of d as far as the overflow.
	ratio []float64
	// whole says that it is the whole response, in which neighbours are neighbours.
	whole bool
	// stands is how the columns stand to each other, once that has been worked out.
	stands alignment
	placed bool
}

// fill makes the view that of a row with both columns.
func (v *view) fill(row *reader.Row) {
	v.row, v.whole, v.placed = row, true, false
	v.at, v.ok, v.roll, v.old, v.ratio = v.at[:0], v.ok[:0], v.roll[:0], v.old[:0], v.ratio[:0]
	for i, m := range row.Mask {
		if !m {
			continue
		}
		v.at = append(v.at, i)
		if roll, old := row.Roll[i], row.Old[i]; isFinite(roll) && isFinite(old) {
			v.ok, v.roll, v.old = append(v.ok, i), append(v.roll, roll), append(v.old, old)
			v.ratio = append(v.ratio, elementary.Exp(max(-overflow, min(overflow, old-roll))))
		}
	}
}

// third is that of a third of the tokens.
func (v *view) third(k int) view {
	n := len(v.at)
	from, to := k*n/3, (k+1)*n/3
	part := view{row: v.row, at: v.at[from:to]}
	if from < to {
		first, _ := slices.BinarySearch(v.ok, v.at[from])
		last, _ := slices.BinarySearch(v.ok, v.at[to-1]+1)
		part.ok, part.roll, part.old, part.ratio = v.ok[first:last], v.roll[first:last], v.old[first:last], v.ratio[first:last]
	}
	return part
}

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// scope is what a check runs over.
type scope struct{ kind, name string }

// everything is all that was read.
var everything = scope{kind: "all"}

// String is how reports write a scope: all, env:math, file:a.jsonl, third:1.
func (s scope) String() string {
	if s == everything {
		return s.kind
	}
	return s.kind + ":" + s.name
}

// overlaps reports whether two scopes can share a token.
func (s scope) overlaps(other scope) bool { return s.kind != other.kind || s == other }
