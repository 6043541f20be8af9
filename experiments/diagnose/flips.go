package diagnose

import (
	"fmt"
	"math"
	"slices"

	"driftlab/experiments/diagnose/reader"
	"driftlab/precision/elementary"
	"driftlab/trainer/method/metrics"
)

// flips are the gap where other experts computed a token in one engine than in the other, and where not.
type flips struct {
	layer        []float64 // tokens with another set of experts, by layer
	rows, any    int       // responses with routes, and those with a flip
	tokens       [2]int    // the others, and those that flipped in any layer
	absolute, k3 [2]float64
}

// add takes in a response whose routes were recorded.
func (f *flips) add(v *view) {
	if v.row.Flips == nil || len(v.ok) == 0 {
		return
	}
	layers := len(v.row.Flips) / len(v.row.Mask)
	for len(f.layer) < layers {
		f.layer = append(f.layer, 0)
	}
	before := f.tokens[1]
	for i, at := range v.ok {
		side := 0
		for l, flipped := range v.row.Flips[at*layers : (at+1)*layers] {
			if flipped {
				f.layer[l]++
				side = 1
			}
		}
		d := v.old[i] - v.roll[i]
		f.tokens[side]++
		f.absolute[side] += math.Abs(d)
		f.k3[side] += elementary.Expm1(d) - d
	}
	f.rows++
	if f.tokens[1] > before {
		f.any++
	}
}

// fill writes what a gap says of routes, over the responses that have them.
func (f *flips) fill(g *metrics.Gap) {
	if f.rows == 0 {
		return
	}
	n := float64(f.tokens[0] + f.tokens[1])
	g.HasRoutes = true
	for _, count := range f.layer {
		g.FlipLayer = append(g.FlipLayer, count/n)
		g.FlipRoute += count / n / float64(len(f.layer))
	}
	g.FlipToken, g.FlipSequence = float64(f.tokens[1])/n, share(f.any, f.rows)
	rest, flipped := float64(max(f.tokens[0], 1)), float64(max(f.tokens[1], 1))
	g.RestAbsDlogp, g.FlippedAbsDlogp = f.absolute[0]/rest, f.absolute[1]/flipped
	g.RestK3, g.FlippedK3 = f.k3[0]/rest, f.k3[1]/flipped
}

// lagSlope is how the size goes with the lag, where several are recorded.
func (s *deviations) lagSlope() (slope, rank *float64) {
	var m moments
	lags := map[int]bool{}
	var lag, size []float64
	for n, k := range s.rows {
		if k.lag >= 0 && s.median[n] > 0 {
			lags[k.lag] = true
			lag, size = append(lag, float64(k.lag)), append(size, s.median[n])
			m.add(elementary.Log(float64(1+k.lag)), elementary.Log(s.median[n]))
		}
	}
	xx, _, xy := m.centred()
	if len(lags) < leastLags || m.n < leastTagged || xx == 0 {
		return nil, nil
	}
	return new(xy / xx), new(spearman(lag, size))
}

// spearman is the correlation of ranks.
func spearman(x, y []float64) float64 {
	a, b := ranks(x), ranks(y)
	var m moments
	for i := range a {
		m.add(a[i], b[i])
	}
	return m.pearson()
}

// ranks are the places in order, their mean where values are equal.
func ranks(x []float64) []float64 {
	sorted := slices.Sorted(slices.Values(x))
	r := make([]float64, len(x))
	for i, v := range x {
		from, _ := slices.BinarySearch(sorted, v)
		to := from
		for to < len(sorted) && sorted[to] == v {
			to++
		}
		r[i] = float64(from+to-1) / 2
	}
	return r
}

// lagOf is how many updates the oldest token of a response is behind the step that trained on it, -1 if unknown.
// A step's number is one more than the updates before it.
func lagOf(r *reader.Row) int {
	learner := learnerOf(r)
	if r.Head == reader.Unknown || r.Head < 0 || learner < 0 {
		return -1
	}
	return max(0, learner-r.Head)
}

// learnerOf is the number of updates behind the learner's weights, -1 if unknown.
func learnerOf(r *reader.Row) int {
	switch {
	case r.Step == reader.Unknown:
		return -1
	case r.Learner > 0:
		return r.Learner
	}
	return max(0, r.Step-1)
}

// meanLag is that of the responses, nil unless every one is tagged.
func meanLag(rows []*kept) *float64 {
	sum := 0.0
	for _, k := range rows {
		if k.lag < 0 {
			return nil
		}
		sum += float64(k.lag)
	}
	return new(sum / float64(len(rows)))
}

// repeatedRoutes finds recorded routes that are no routes: an engine's list has the same experts at all tokens of a response, whatever
// the token is, in many responses, while the other engine's, or other responses', change.
type repeatedRoutes struct {
	roll, learner struct {
		responses, repeated int
		first               []int32 // of the first response that repeats one row
		several             bool    // responses repeat different rows
	}
}

func (c *repeatedRoutes) add(v *view) {
	if v.row.Routes == 0 || len(v.ok) < leastLength {
		return
	}
	for i, column := range [...][]int32{v.row.RouteRoll, v.row.RouteLearner} {
		if column == nil {
			continue
		}
		of := &c.roll
		if i == 1 {
			of = &c.learner
		}
		row := func(n int) []int32 { return column[v.ok[n]*v.row.Routes : (v.ok[n]+1)*v.row.Routes] }
		same := true
		for n := 1; n < len(v.ok) && same; n++ {
			same = slices.Equal(row(n), row(0))
		}
		of.responses++
		if same {
			of.repeated++
			if of.first == nil {
				of.first = slices.Clone(row(0))
			}
			of.several = of.several || !slices.Equal(of.first, row(0))
		}
	}
}

func (c *repeatedRoutes) judge(*evidence) outcome {
	if c.roll.responses+c.learner.responses == 0 {
		return notApplicable("no routes are recorded")
	}
	// A token's experts are drawn from many rows: a response of five tokens that has one is rare, unless the model has few.
	roll, learner := share(c.roll.repeated, c.roll.responses), share(c.learner.repeated, c.learner.responses)
	for _, side := range []struct {
		name         string
		value, other float64
		n, of        int
		several      bool
	}{{"rollout engine", roll, learner, c.roll.repeated, c.roll.responses, c.roll.several}, {"learner", learner, roll, c.learner.repeated, c.learner.responses, c.learner.several}} {
		if side.value >= 10*misplaced && (side.several || side.value < nearlyAll || c.roll.responses > 0 && c.learner.responses > 0) && side.other < side.value/2 {
			return watch(side.value, fmt.Sprintf("in %s the recorded routes of the %s are one row that is repeated at every token: they are no routes, and are not used as evidence", ofResponses(side.n, side.of), side.name))
		}
	}
	return pass(max(roll, learner), "")
}
