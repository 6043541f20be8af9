package diagnose

import (
	"math"
	"slices"

	"driftlab/precision/elementary"
)

// splitters predict the parts of a gap that causes have: that of routing, and that of staleness in what is left. Of each there
// are several, for dumps with token ids and without; the first that has all its coordinates predicts.
type splitters struct {
	Routed []regression `json:"routed"`
	Stale  []regression `json:"stale"`
}

// predicted is the share that the first regression with all its coordinates predicts, 0 if none has.
func predicted(list []regression, x []float64) float64 {
	for _, g := range list {
		if logit, ok := g.logit(x); ok {
			return unbounded(1 / (1 + elementary.Exp(-logit)))
		}
	}
	return 0
}

// parts are the shares of Σk3 of a gap with these features. Recorded routes say what is routing.
func (s splitters) parts(f *Features) map[string]float64 {
	x := point(f)
	routed, stale := predicted(s.Routed, x), predicted(s.Stale, x)
	if f.routes != nil {
		routed = *f.routes
	}
	if f.onPolicy() {
		stale = 0
	}
	return map[string]float64{Precision: (1 - routed) * (1 - stale), Routing: routed, Staleness: (1 - routed) * stale}
}

// acceptance is where 90 % of the predicted shares are, in log-odds, of N simulated dumps whose true share is about Truth.
type acceptance struct {
	Truth float64 `json:"truth"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	N     int     `json:"n"`
}

// boundedLogit is the log-odds of a share that is kept off 0 and 1.
func boundedLogit(s float64) float64 {
	x := bounded + float64((1-2*bounded)*s)
	return elementary.Log(x / (1 - x))
}

// around is the interval of a predicted share: the true shares that it is accepted at, so that whatever the truth is,
// nine of ten intervals have it.
func around(list []acceptance, s float64) [3]float64 {
	x := boundedLogit(s)
	low, high := s, s
	if n := len(list); n > 0 { // where no true share is accepted: the one that comes nearest
		low, high = list[n-1].Truth, list[0].Truth
	}
	for i, a := range list {
		before := list[max(i-1, 0)].Truth
		if a.High >= x { // from here on, or a little before
			low = before
			if i > 0 && a.High > list[i-1].High {
				low += float64((a.Truth - before) * (x - list[i-1].High) / (a.High - list[i-1].High))
			}
			if i == 0 {
				low = 0
			}
			break
		}
	}
	for i, a := range slices.Backward(list) {
		if a.Low <= x {
			high = 1
			if i+1 < len(list) {
				after := list[i+1]
				high = a.Truth
				if after.Low > a.Low {
					high += float64((after.Truth - a.Truth) * (x - a.Low) / (after.Low - a.Low))
				}
			}
			break
		}
	}
	return [3]float64{min(s, low), s, max(s, high)}
}

// splitCauses are those that a gap is split into.
var splitCauses = []string{Precision, Routing, Staleness}

// shares are the parts of Σk3 with their intervals. A dense model has no routing.
func (r *reference) shares(f *Features, dense bool) map[string][3]float64 {
	parts := r.Split.parts(f)
	if left := 1 - parts[Routing]; dense && left > 0 {
		parts = map[string]float64{Precision: parts[Precision] / left, Routing: 0, Staleness: parts[Staleness] / left}
	}
	list := map[string][3]float64{}
	for _, cause := range splitCauses {
		s := parts[cause]
		list[cause] = around(r.Accepted[cause], s)
		if math.IsNaN(s) || cause == Routing && (dense || f.routes != nil) || cause == Staleness && f.onPolicy() {
			list[cause] = [3]float64{s, s, s} // which is known
		}
	}
	return list
}

// regression predicts staleness' part of what of a gap is not jumps: its log-odds are linear
// in the coordinates named, and their squares.
type regression struct {
	Coordinates []string  `json:"coordinates"`
	Mean        []float64 `json:"mean"`
	Deviation   []float64 `json:"deviation"`
	Weight      []float64 `json:"weight"` // of the constant first
}

// ridge is the weight of the penalty, bounded how near to 0 and 1 shares are taken to come.
const (
	ridge   = 1.0
	bounded = 0.03
)

// terms are the constant, the standardised coordinates and their products, as far as three deviations.
func (r regression) terms(x []float64) []float64 {
	z := make([]float64, len(x))
	for k, v := range x {
		z[k] = max(-3, min(3, (v-r.Mean[k])/r.Deviation[k]))
	}
	list := append([]float64{1}, z...)
	for i, a := range z {
		for _, b := range z[:i+1] {
			list = append(list, a*b)
		}
	}
	return list
}

// logit predicts the log-odds, false where a coordinate is missing.
func (r regression) logit(point []float64) (float64, bool) {
	x := make([]float64, len(r.Coordinates))
	for k, name := range r.Coordinates {
		x[k] = point[slices.IndexFunc(coordinates, func(c coordinate) bool { return c.name == name })]
	}
	if slices.ContainsFunc(x, math.IsNaN) {
		return 0, false
	}
	logit := 0.0
	for k, t := range r.terms(x) {
		logit += float64(r.Weight[k] * t)
	}
	return logit, true
}

// unbounded is a share as it was before the regression bounded it.
func unbounded(s float64) float64 { return max(0, min(1, (s-bounded)/(1-2*bounded))) }
