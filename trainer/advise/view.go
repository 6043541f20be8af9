package advise

import (
	"math"

	"driftlab/trainer/advise/reader"
)

// view is a response, or a part of it, as the checks see it: its trained tokens.
type view struct {
	row *reader.Row
	// at are the places of the trained tokens in the row, all of them; ok are
	// those of them whose two log-probs are finite, with their values.
	at, ok    []int
	roll, old []float64
	// whole says that it is the whole response, in which neighbours are neighbours.
	whole bool
}

// fill makes the view that of a row with both columns.
func (v *view) fill(row *reader.Row) {
	v.row, v.whole = row, true
	v.at = v.at[:0]
	for i, m := range row.Mask {
		if m {
			v.at = append(v.at, i)
		}
	}
	v.finite()
}

// third makes the view that of a third of another's tokens.
func (v *view) third(of *view, k int) {
	v.row, v.whole = of.row, false
	n := len(of.at)
	v.at = append(v.at[:0], of.at[k*n/3:(k+1)*n/3]...)
	v.finite()
}

// finite collects the tokens whose two log-probs are finite.
func (v *view) finite() {
	v.ok, v.roll, v.old = v.ok[:0], v.roll[:0], v.old[:0]
	for _, i := range v.at {
		if x, y := v.row.Roll[i], v.row.Old[i]; isFinite(x) && isFinite(y) {
			v.ok, v.roll, v.old = append(v.ok, i), append(v.roll, x), append(v.old, y)
		}
	}
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
