package diagnose

import (
	"driftlab/precision/elementary"
	"fmt"
	"maps"
	"math"
	"slices"
)

// regress fits a regression over the coordinates named to points with shares.
func regress(points [][]float64, shares []float64, names []string) (regression, bool) {
	r := regression{Coordinates: names}
	var at []int
	for _, name := range names {
		at = append(at, slices.IndexFunc(coordinates, func(c coordinate) bool { return c.name == name }))
	}
	var rows [][]float64
	var goal []float64
	for i, x := range points {
		row := make([]float64, len(at))
		for k, c := range at {
			row[k] = x[c]
		}
		if !slices.ContainsFunc(row, math.IsNaN) {
			rows, goal = append(rows, row), append(goal, shares[i])
		}
	}
	if len(rows) < 4*len(at) {
		return r, false
	}
	for k := range at {
		var m moments
		for _, row := range rows {
			m.add(row[k], 0)
		}
		xx, _, _ := m.centred()
		n := float64(m.n)
		r.Mean, r.Deviation = append(r.Mean, m.x/n), append(r.Deviation, math.Sqrt(max(xx/n, 1e-12)))
	}
	var terms [][]float64
	for _, row := range rows {
		terms = append(terms, r.terms(row))
	}
	n := len(terms[0])
	normal, right := matrix(n), make([]float64, n)
	for i, row := range terms {
		s := bounded + float64((1-2*bounded)*goal[i])
		y := elementary.Log(s / (1 - s))
		for a := range n {
			right[a] += float64(row[a] * y)
			for b := range n {
				normal[a][b] += float64(row[a] * row[b])
			}
		}
	}
	for a := 1; a < n; a++ {
		normal[a][a]++ // the weight of the penalty
	}
	root, ok := cholesky(normal)
	if !ok {
		return r, false
	}
	for i := range n { // forwards, then backwards
		for k := range i {
			right[i] -= float64(root[i][k] * right[k])
		}
		right[i] /= root[i][i]
	}
	for i := n - 1; i >= 0; i-- {
		for k := i + 1; k < n; k++ {
			right[i] -= float64(root[k][i] * right[k])
		}
		right[i] /= root[i][i]
	}
	r.Weight = right
	return r, true
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

// truthsUpTo are the ends of the ranges of true shares.
var truthsUpTo = [...]float64{0.02, 0.06, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.94, 0.98, 1}

// acceptances are the ranges of predicted shares by range of true shares, the least truth first. They rise with the truth.
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

// signaturesOf are the ranges in observations of a single cause.
func signaturesOf(list []observation) []Signature {
	var signatures []Signature
	for _, l := range the.Signatures {
		s := Signature{Feature: l.Feature, About: l.About}
		for _, cause := range []string{Precision, Routing, Staleness} {
			var values []float64
			for _, o := range list {
				if o.single() && o.cause() == cause {
					if x := o.Features.named(l.Feature); x != nil {
						values = append(values, *x)
					}
				}
			}
			if len(values) > 0 {
				s.Ranges = append(s.Ranges, rangeOf(cause, values))
			}
		}
		signatures = append(signatures, s)
	}
	return signatures
}

// soundOf are the ranges of the checks' values.
func soundOf(list []observation) map[string]*Range {
	ranges := map[string]*Range{}
	for _, c := range checks {
		var values []float64
		for _, o := range list {
			if x, ok := o.Checks[c.id]; ok {
				values = append(values, x)
			}
		}
		if len(values) > 0 {
			r := rangeOf("", values)
			ranges[c.id] = &r
		}
	}
	return ranges
}

// rangeOf sorts the values of a range.
func rangeOf(cause string, values []float64) Range {
	slices.Sort(values)
	r := Range{Cause: cause, N: len(values)}
	for i, p := range [...]float64{0.05, 0.25, 0.5, 0.75, 0.95} {
		r.Quantiles[i] = quantile(values, p)
	}
	return r
}

// fitted estimates the classes of labelled points; of is a class without its figures.
func fitted(points [][]float64, label []string, of map[string]class) (classes, error) {
	var g classes
	dims := classified
	sum, pairs := matrix(dims), matrix(dims)
	for _, name := range slices.Sorted(maps.Keys(of)) {
		var members [][]float64
		for i, x := range points {
			if label[i] == name {
				members = append(members, x)
			}
		}
		if len(members) < leastOfClass {
			continue
		}
		c := of[name]
		c.Mean, c.N = make([]float64, dims), len(members)
		for k := range dims {
			var m moments
			for _, x := range members {
				if !math.IsNaN(x[k]) {
					m.add(x[k], 0)
				}
			}
			if m.n == 0 {
				return g, fmt.Errorf("advise: no dump of %s has %s", name, coordinates[k].name)
			}
			c.Mean[k] = m.x / float64(m.n)
		}
		for _, x := range members {
			for a := range dims {
				for b := range dims {
					if !math.IsNaN(x[a]) && !math.IsNaN(x[b]) {
						sum[a][b] += float64((x[a] - c.Mean[a]) * (x[b] - c.Mean[b]))
						pairs[a][b]++
					}
				}
			}
		}
		g.Classes = append(g.Classes, c)
	}
	g.Covariance = matrix(dims)
	for a := range dims {
		for b := range dims {
			if pairs[a][b] > 0 {
				g.Covariance[a][b] = (1 - towardsDiagonal) * sum[a][b] / pairs[a][b]
			}
		}
		g.Covariance[a][a] = g.Covariance[a][a] / (1 - towardsDiagonal)
	}
	if _, ok := cholesky(g.Covariance); !ok {
		return g, fmt.Errorf("advise: the covariance of the reference set is not positive")
	}
	return g, nil
}

const (
	// towardsDiagonal is how far the covariance within classes is shrunk: features correlate
	// differently from class to class.
	towardsDiagonal = 0.3
	// leastOfClass is how many dumps a class is estimated from.
	leastOfClass = 4
)
