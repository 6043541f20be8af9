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

// routedBy and staleBy are the coordinates of the regressions.
var (
	routedBy = [][]string{{"med", "t90", "t99", "big8", "lift", "jumps", "lone"}}
	staleBy  = [][]string{{"med", "t90", "eta2", "slope", "asymmetry", "icc", "disp", "jumps", "big8"}, {"med", "t90", "eta2", "slope", "asymmetry", "disp", "jumps", "big8"}}
)

// splittersOf fits them to observations.
func splittersOf(list []observation) (s splitters) {
	var points, rest [][]float64
	var routed, stale []float64
	for _, o := range list {
		if o.Features == nil || o.Features.T90 == nil {
			continue
		}
		left := o.Shares[Precision] + o.Shares[Staleness]
		if left+o.Shares[Routing] == 0 {
			continue
		}
		points, routed = append(points, point(o.Features)), append(routed, o.Shares[Routing])
		if left > 0.3 {
			rest, stale = append(rest, point(o.Features)), append(stale, o.Shares[Staleness]/left)
		}
	}
	for _, names := range routedBy {
		if g, ok := regress(points, routed, names); ok {
			s.Routed = append(s.Routed, g)
		}
	}
	for _, names := range staleBy {
		if g, ok := regress(rest, stale, names); ok {
			s.Stale = append(s.Stale, g)
		}
	}
	return s
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

// truthsUpTo are the ends of the ranges of true shares.
var truthsUpTo = [...]float64{0.02, 0.06, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.94, 0.98, 1}

// boundedLogit is the log-odds of a share that is kept off 0 and 1.
func boundedLogit(s float64) float64 {
	x := bounded + float64((1-2*bounded)*s)
	return elementary.Log(x / (1 - x))
}

// acceptances are those of predicted shares, the least truth first. They rise with it.
func acceptances(predicted, truth []float64) (list []acceptance) {
	for i, end := range truthsUpTo {
		from := -1.0
		if i > 0 {
			from = truthsUpTo[i-1]
		}
		var at []float64
		sum := 0.0
		for k, s := range truth {
			if s > from && s <= end {
				at, sum = append(at, boundedLogit(predicted[k])), sum+s
			}
		}
		slices.Sort(at)
		rank := int(0.05*float64(len(at)+1)) - 1
		if rank < 0 {
			continue // of too few nothing is known
		}
		list = append(list, acceptance{Truth: sum / float64(len(at)), Low: at[rank], High: at[len(at)-1-rank], N: len(at)})
	}
	for i := range list { // what a larger truth has below it, or a smaller one above it, is of chance
		for j := i + 1; j < len(list); j++ {
			list[i].Low = min(list[i].Low, list[j].Low)
			list[j].High = max(list[i].High, list[j].High)
		}
	}
	return list
}

// around is the interval of a predicted share: the true shares that it is accepted at, so that whatever the truth is,
// nine of ten intervals have it.
func around(list []acceptance, s float64) [3]float64 {
	x := boundedLogit(s)
	low, high := s, s
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

// mixed is the task of mixtures.
const mixed = "mixture"

// calibrated are the acceptances of each cause, of planted worlds: shares of odd seeds are predicted by a fit to even ones, and the other way round.
func calibrated(list []observation) map[string][]acceptance {
	predictions, truths := map[string][]float64{}, map[string][]float64{}
	for side := range uint64(2) {
		s := splittersOf(slices.DeleteFunc(slices.Clone(list), func(o observation) bool { return o.Seed%2 == side }))
		for _, o := range list {
			if o.Seed%2 != side || o.From != "planted" || o.Features == nil || o.Features.T90 == nil {
				continue
			}
			parts := s.parts(o.Features)
			for _, cause := range splitCauses {
				predictions[cause] = append(predictions[cause], parts[cause])
				truths[cause] = append(truths[cause], o.Shares[cause])
			}
		}
	}
	accepted := map[string][]acceptance{}
	for _, cause := range splitCauses {
		accepted[cause] = acceptances(predictions[cause], truths[cause])
	}
	return accepted
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
