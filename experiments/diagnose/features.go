package diagnose

import (
	"cmp"
	_ "embed" // of the fitted figures
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"

	"driftlab/experiments/diagnose/reader"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method/metrics"

	"go.yaml.in/yaml/v4"
)

// Features are the statistical signature of a gap, from which its cause is classified. All but Med, Disp
// and Slope are of errors divided by their response's own median: a lag differs from
// response to response. Null is what cannot be measured here.
type Features struct {
	// Med is the median |u|, in logits: the size of the gap.
	Med *float64 `json:"med"`
	// T90 and T99 are quantiles of |u| in medians, 2.4 and 3.8 of a normal distribution; Big8 the
	// share of |u| above 8 medians.
	T90  *float64 `json:"t90"`
	T99  *float64 `json:"t99"`
	Big8 *float64 `json:"big8"`
	// Lift is how much oftener than by chance neighbours are both among the largest 5 %.
	Lift *float64 `json:"lift"`
	// Eta2 is the share of Σu² that is a function of the log-odds, Slope that of the
	// learner's log-odds on the rollout's, Asymmetry the share of positive errors among
	// the more certain half of the tokens less that among the others.
	Eta2      *float64 `json:"eta2"`
	Slope     *float64 `json:"slope"`
	Asymmetry *float64 `json:"asymmetry"`
	// Power is the slope of log |d| on log q: 1 where errors are of logits.
	Power *float64 `json:"power"`
	// ICC is the correlation of u over pairs of one token id in one step.
	ICC *float64 `json:"icc"`
	// ManyIDs says that these were at least 200, as in a real vocabulary: only then its size is compared.
	ManyIDs bool `json:"many_ids"`
	// Disp is the scatter of responses' log medians over that of shuffled tokens.
	Disp *float64 `json:"disp"`
	// Trend and Advantage are correlations, of log |u| with the place in the response and
	// of u with the advantage.
	Trend     *float64 `json:"trend"`
	Advantage *float64 `json:"advantage"`
	// LagSlope is the slope of the log of a response's median |u| on the log of its lag, LagRank Spearman's
	// correlation of the two.
	LagSlope *float64 `json:"dose"`
	LagRank  *float64 `json:"dose_rank"`
	// Turn is the cosine of the mean u of the ids between steps, freed of its noise: 1
	// where the direction stays.
	Turn *float64 `json:"turn"`
	// Jumps is the part of Σk3 that lies in short runs of errors many times larger than the others, Stay how
	// likely such a run goes on.
	Jumps *float64 `json:"jumps"`
	Stay  *float64 `json:"stay"`
	// Lone is the part of Σk3 in errors as large that come one by one: a tail, or routes that change for a token.
	Lone *float64 `json:"lone"`
	// Flips is the share of tokens that other experts computed in one engine than in the other, FlipPart the
	// part of Σk3 that they have beyond what they would have without; null unless both routes were recorded.
	Flips    *float64 `json:"flips"`
	FlipPart *float64 `json:"flip_part"`
	// Lag is the mean of the updates that responses are old, where every version is recorded.
	Lag *float64 `json:"lag"`

	routes *float64 // the part of Σk3 that is of other routes, where they were recorded
}

// onPolicy reports whether versions say that nothing is old.
func (f *Features) onPolicy() bool { return f.Lag != nil && *f.Lag == 0 }

// named is a feature by its name in documents, or the coordinate aimed; nil where it cannot be measured.
func (f *Features) named(name string) *float64 {
	if name == "aimed" {
		return f.aimed()
	}
	for field, value := range reflect.ValueOf(*f).Fields() {
		if field.Tag.Get("json") == name {
			return value.Interface().(*float64)
		}
	}
	return nil
}

// aimed is how much of the squares has a direction, as old weights have: a function of the token's id, or of the log-odds beyond
// what rounding has there. Nil where ids cannot be compared.
func (f *Features) aimed() *float64 {
	if f.Eta2 == nil || f.ICC == nil {
		return nil
	}
	return new(max(0, *f.Eta2-undirected) + float64((1-*f.Eta2)*max(0, *f.ICC)))
}

// routed is how far recorded routes speak for routing, from -1 to 1: where the same experts computed every token it is out of
// the question, and where the tokens with other ones have the gap, it is nothing else. Old weights take other
// routes, too: of these it says nothing.
func (f *Features) routed() float64 {
	if f.FlipPart == nil {
		return 0
	}
	x := max(-1, min(1, (*f.FlipPart-0.5)/routesDecide))
	if x > 0 && !f.onPolicy() {
		return 0
	}
	return x
}

const (
	// undirected is the η² of gaps without old weights, at most.
	undirected = 0.2
	// routesDecide is how far from a half the part of flips is that decides.
	routesDecide = 0.2
	// pseudoTokens shrink a response's median to that of all.
	pseudoTokens = 8
	// leastIDs, manyIDs and leastSharedIDs are how many token ids a correlation over them needs,
	// within a step and between two, and leastPairsOfIDs how many pairs. On runs of this program twenty ids of
	// many pairs show a direction as well as a thousand of few.
	leastIDs, manyIDs, leastSharedIDs, leastPairsOfIDs = 10, 200, 300, 1000
	// leastOfResponse is how many uncertain tokens a response needs to have a scatter of its own.
	leastOfResponse = 6
	// shuffles are those that give the scatter by chance.
	shuffles = 10
	// leastLags is how many lags a slope needs, leastTagged how many responses.
	leastLags, leastTagged = 3, 30
)

// deviation is the error of a token that is uncertain enough.
type deviation struct {
	u, v      float64 // in logits, and in its response's medians
	d, q      float64
	odds      float64
	row, from int // its response, and where it is in it
	id        int32
}

type deviations struct {
	rows []*kept
	all  []deviation
	// span are the deviations of a response, median its median |u|, and med that of all.
	span   [][2]int
	median []float64
	med    float64
}

// deviationsOf measures the errors of the tokens that are uncertain enough.
func deviationsOf(rows []*kept) *deviations {
	s := &deviations{rows: rows}
	var size []float64
	for n, k := range rows {
		first := len(s.all)
		for i, roll := range k.roll {
			u, odds, q := logitError(roll, k.old[i])
			if q < leastDoubt {
				continue
			}
			x := deviation{u: u, d: k.old[i] - roll, q: q, odds: odds, row: n, from: i, id: -1}
			if k.id != nil {
				x.id = k.id[i]
			}
			s.all = append(s.all, x)
			size = append(size, math.Abs(x.u))
		}
		s.span = append(s.span, [2]int{first, len(s.all)})
		s.median = append(s.median, medianOf(slices.Clone(size[first:])))
	}
	s.med = medianOf(size)
	for n, span := range s.span {
		m := float64(span[1] - span[0])
		scale := (float64(m*s.median[n]) + float64(pseudoTokens*s.med)) / (m + pseudoTokens)
		for i := span[0]; i < span[1] && scale > 0; i++ {
			s.all[i].v = s.all[i].u / scale
		}
	}
	return s
}

func (x deviation) logOdds() float64 { return x.odds }

func (x deviation) inLogits() float64 { return x.u }

func (x deviation) inMedians() float64 { return x.v }

// column is a figure of every error.
func (s *deviations) column(of func(deviation) float64) []float64 { return stats.Map(s.all, of) }

// medianOf sorts a list, whose median it returns; 0 of none.
func medianOf(x []float64) float64 {
	slices.Sort(x)
	return quantile(x, 0.5)
}

// featuresOf measures a sample, nil where hardly a token differs.
func featuresOf(rows []*kept) *Features {
	s := deviationsOf(rows)
	if len(s.all) < leastTokens/2 || s.med == 0 {
		return nil
	}
	f := &Features{Med: &s.med, Lag: meanLag(rows)}
	size := magnitudes(s.column(deviation.inMedians))
	middle := quantile(size, 0.5)
	if middle == 0 {
		return f
	}
	above, _ := slices.BinarySearch(size, 8*middle)
	f.T90, f.T99 = new(quantile(size, 0.9)/middle), new(quantile(size, 0.99)/middle)
	f.Big8 = new(share(len(size)-above, len(size)))
	f.Lift = s.lift(quantile(size, 0.95))
	f.Eta2 = new(s.explained(deviation.inMedians))
	if slope, n := logitSlope(rows); n >= leastPairs {
		f.Slope = &slope
	}
	s.along(f)
	f.ICC, f.Turn, f.ManyIDs = s.identities(quantile(size, 0.98))
	f.Disp = s.dispersion()
	f.LagSlope, f.LagRank = s.lagSlope()
	f.jumped(rows)
	return f
}

func (s *deviations) lift(top float64) *float64 {
	pairs, both := 0, 0
	for _, span := range s.span {
		for i := span[0] + 1; i < span[1]; i++ {
			pairs++
			both += count1(math.Abs(s.all[i].v) > top && math.Abs(s.all[i-1].v) > top)
		}
	}
	if pairs == 0 {
		return nil
	}
	return new(share(both, pairs) / 0.0025)
}

// along measures what goes along with something else that a token has.
func (s *deviations) along(f *Features) {
	var power, trend, advantage moments
	half := medianOf(s.column(deviation.logOdds))
	var sides [2]tokenCount
	graded := true
	for _, x := range s.all {
		sides[count1(x.odds > half)].add(x.u > 0)
		k := s.rows[x.row]
		if x.u != 0 {
			power.add(elementary.Log(x.q), elementary.Log(math.Abs(x.d)))
			trend.add(float64(x.from), elementary.Log(math.Abs(x.v)))
		}
		if graded = graded && k.advantage != nil; graded {
			advantage.add(k.advantage[x.from], x.v)
		}
	}
	f.Asymmetry = new(sides[1].share() - sides[0].share())
	if xx, _, xy := power.centred(); xx > 0 {
		f.Power = new(xy / xx)
	}
	f.Trend = new(trend.pearson())
	if xx, _, _ := advantage.centred(); graded && xx > 0 {
		f.Advantage = new(advantage.pearson())
	}
}

// dispersion is the scatter of responses' medians, over that of shuffled tokens.
func (s *deviations) dispersion() *float64 {
	size := s.column(func(x deviation) float64 { return math.Abs(x.u) })
	scatter := func(size []float64) float64 {
		var m moments
		for _, span := range s.span {
			if span[1]-span[0] >= leastOfResponse {
				if x := medianOf(slices.Clone(size[span[0]:span[1]])); x > 0 {
					m.add(elementary.Log(x), 0)
				}
			}
		}
		xx, _, _ := m.centred()
		if m.n < leastResponses {
			return 0
		}
		return math.Sqrt(xx / float64(m.n-1))
	}
	found, chance := scatter(size), 0.0
	r := rand.New(rand.NewPCG(3, 16))
	for range shuffles {
		r.Shuffle(len(size), func(i, j int) { size[i], size[j] = size[j], size[i] })
		chance += scatter(size) / shuffles
	}
	if chance == 0 {
		return nil
	}
	return new(found / chance)
}

// leastDoubt is the q below which a token says nothing of the size of an error.
const leastDoubt = 1e-3

// logitError is the error of a token in logits, the log-odds of the mean of both log-probs, and how far that is from certain: of less
// than leastDoubt nothing can be said.
func logitError(roll, old float64) (u, odds, q float64) {
	m := min(0, (old+roll)/2)
	q = -elementary.Expm1(m)
	return (old - roll) / q, m - elementary.Log(q), q
}

func magnitudes(x []float64) []float64 {
	y := stats.Magnitudes(x)
	slices.Sort(y)
	return y
}

// quantile is a value of a sorted list, 0 for an empty one.
func quantile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(p*float64(len(sorted))), len(sorted)-1)]
}

// bins are how many parts of equally many tokens the log-odds are cut into.
const bins = 16

// binned are the places of numbers in bins of equally many, the least first.
func binned(x []float64) iter.Seq[[]int] {
	order := stats.Order(x)
	return func(yield func([]int) bool) {
		for b := range bins {
			if !yield(order[b*len(order)/bins : (b+1)*len(order)/bins]) {
				return
			}
		}
	}
}

// explained is the share of Σu² that the mean of u, in one of its units, in each bin of log-odds explains,
// with |u| capped at its 98th percentile and the bins' own variance taken off.
func (s *deviations) explained(of func(deviation) float64) float64 {
	errors := s.column(of)
	if len(errors) < 2*bins {
		return 0
	}
	limit := quantile(magnitudes(errors), 0.98)
	all, systematic := 0.0, 0.0
	for part := range binned(s.column(deviation.logOdds)) {
		sum, squares := 0.0, 0.0
		for _, i := range part {
			u := max(-limit, min(limit, errors[i]))
			sum += u
			squares += float64(u * u)
		}
		m := float64(len(part))
		mean := sum / m
		spread := (squares - float64(mean*sum)) / (m - 1)
		systematic += float64(m*mean*mean) - spread
		all += squares
	}
	if all == 0 {
		return 0
	}
	return max(0, systematic/all)
}

// identities is the correlation of errors over pairs of one token id and one step, of
// different prompts, and that over pairs of different steps in units of it. What is a
// function of the log-odds is taken off before: ids differ in these, too. So is what pairs
// of any ids have in common, which is what a permutation would leave.
func (s *deviations) identities(limit float64) (icc, turn *float64, many bool) {
	type place struct {
		id   int32
		step int
		who  uint64 // the prompt, or the response where there is none
	}
	at, order := make([]place, len(s.all)), make([]int, len(s.all))
	values := s.withoutOdds(limit)
	squares := 0.0
	for i, x := range s.all {
		if x.id < 0 {
			return nil, nil, false
		}
		k := s.rows[x.row]
		at[i], order[i] = place{x.id, k.step, k.prompt}, i
		if !k.prompted {
			at[i].who = uint64(k.number)
		}
		squares += float64(values[i] * values[i])
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := at[i], at[j]
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.step, b.step), cmp.Compare(a.who, b.who))
	})
	var within, between pairSum // sums of products, and how many
	var own, ofStep, ofID pairSum
	distinct, shared, steps := 0, 0, 0
	for n, i := range order {
		own.sum, own.n = own.sum+values[i], own.n+1
		here, next := at[i], place{id: -1}
		if n+1 < len(order) {
			next = at[order[n+1]]
		}
		if next == here {
			continue
		}
		within.products(own, -1)
		ofStep.add(own)
		if own = (pairSum{}); next.id == here.id && next.step == here.step {
			continue
		}
		within.products(ofStep, 1)
		between.products(ofStep, -1)
		ofID.add(ofStep)
		if ofStep, steps = (pairSum{}), steps+1; next.id == here.id {
			continue
		}
		between.products(ofID, 1)
		distinct, shared = distinct+1, shared+count1(steps > 1)
		ofID, steps = pairSum{}, 0
	}
	mean := squares / float64(len(s.all))
	if distinct < leastIDs || within.n < leastPairsOfIDs || mean == 0 {
		return nil, nil, false
	}
	icc = new(within.sum / within.n / mean)
	if shared >= leastSharedIDs && between.n >= leastPairsOfIDs && *icc > 0.02 {
		turn = new(max(-1, min(1, between.sum/between.n/mean / *icc)))
	}
	return icc, turn, distinct >= manyIDs
}

// pairSum is a sum of errors and their number, or of products of pairs and theirs.
type pairSum struct{ sum, n float64 }

func (p *pairSum) add(x pairSum) { p.sum, p.n = p.sum+x.sum, p.n+x.n }

// products adds the products of all errors of a part with all of it, or with -1 takes them off.
func (p *pairSum) products(x pairSum, sign float64) {
	p.sum, p.n = p.sum+float64(sign*x.sum*x.sum), p.n+float64(sign*x.n*x.n)
}

// withoutOdds are the errors, bounded, less the mean of those of like log-odds.
func (s *deviations) withoutOdds(limit float64) []float64 {
	values := s.column(func(x deviation) float64 { return max(-limit, min(limit, x.v)) })
	for part := range binned(s.column(deviation.logOdds)) {
		sum := 0.0
		for _, i := range part {
			sum += values[i]
		}
		for _, i := range part {
			values[i] -= sum / float64(len(part))
		}
	}
	return values
}

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
	f.any += count1(f.tokens[1] > before)
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
	if rank = new(stats.Spearman(lag, size)); math.IsNaN(*rank) {
		*rank = 0 // of equal sizes
	}
	return new(xy / xx), rank
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

// learnerOf is the number of updates before the learner's weights, -1 if unknown.
func learnerOf(r *reader.Row) int {
	switch {
	case r.Step == reader.Unknown:
		return -1
	case r.Learner > 0:
		return r.Learner
	}
	return max(0, r.Step-1)
}

// meanLag is the mean lag of the responses, nil unless every one is tagged.
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
type repeatedRoutes struct{ engines [len(sideNames)]repeatedRows }

type repeatedRows struct {
	responses, repeated int
	first               []int32 // of the first response that repeats one row
	several             bool    // responses repeat different rows
}

func (c *repeatedRoutes) add(v *view) {
	if v.row.Routes == 0 || len(v.ok) < leastLength {
		return
	}
	for i, column := range [...][]int32{v.row.RouteRoll, v.row.RouteLearner} {
		if column == nil {
			continue
		}
		of := &c.engines[i]
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
	most, both := 0.0, c.engines[0].responses > 0 && c.engines[1].responses > 0
	if c.engines[0].responses+c.engines[1].responses == 0 {
		return notApplicable("no routes are recorded")
	}
	// A token's experts are drawn from many rows: a response of five tokens that has one is rare, unless the model has few.
	for i, own := range c.engines {
		value, other := share(own.repeated, own.responses), share(c.engines[1-i].repeated, c.engines[1-i].responses)
		most = max(most, value)
		if value >= 10*misplaced && (own.several || value < nearlyAll || both) && other < value/2 {
			return watch(value, fmt.Sprintf("in %s the recorded routes of the %s are one row that is repeated at every token: they are no routes, and are not used as evidence", ofResponses(own.repeated, own.responses), [...]string{"rollout engine", "learner"}[i]))
		}
	}
	return pass(most, "")
}

// coordinate is a feature by its name, on the scale on which classes are about normal: the logarithm of its size, with something
// added that is too small to tell from 0.
type coordinate struct {
	name    string
	nothing float64
}

// coordinates are in the order of the reference's columns.
var coordinates = []coordinate{
	{"med", 1e-8}, {"t90", 1e-2}, {"t99", 1e-2}, {"big8", 1e-3}, {"lift", 0.5}, {"aimed", 0.03}, {"slope", 0.02}, {"asymmetry", 0.04},
	{"jumps", 0.03}, {"disp", 0.01}, {"eta2", 0.01}, {"icc", 0.03}, {"lone", 0.03},
}

// classified is how many of the coordinates causes are distinguished by; the others are the regression's.
const classified = 10

// of is where features are, NaN where they cannot be measured.
func (c coordinate) of(f *Features) float64 {
	x := f.named(c.name)
	switch {
	case x == nil, c.name == "slope" && *x <= 0, c.name == "icc" && !f.ManyIDs:
		return math.NaN()
	case c.name == "slope":
		return elementary.Log(math.Abs(elementary.Log(*x)) + c.nothing)
	case c.name == "icc":
		return elementary.Log(max(*x, 0) + c.nothing)
	}
	return elementary.Log(math.Abs(*x) + c.nothing)
}

// point is where features are in all coordinates.
func point(f *Features) []float64 {
	return stats.Map(coordinates, func(c coordinate) float64 { return c.of(f) })
}

// class is a kind of gap that was simulated: a distribution about its mean.
type class struct {
	Name  string    `json:"name"`
	Cause string    `json:"cause"`
	Mean  []float64 `json:"mean"`
	N     int       `json:"n"`
	// Routed says that routes were replayed, so that what is left of a low-precision router is its weights of the experts. Only
	// recorded routes tell it from other routes.
	Routed bool `json:"routed,omitempty"`
}

// classes are kinds of gap with one covariance.
type classes struct {
	Classes    []class     `json:"classes"`
	Covariance [][]float64 `json:"covariance"`
}

const (
	// transfer is the deviation of a class's mean from generator to generator, and so, it must be feared, to a real run:
	// a factor of e, which is about what the kinds of gap that both generators make differ by. With strange, that of
	// a quarter, a point is compared that may be unlike any.
	transfer, strange = 1.0, 0.25
	// degrees are the degrees of freedom of Student's distribution about a mean: what lies outside of everything that was simulated
	// shall not decide by how far it does.
	degrees = 4.0
)

func matrix(n int) [][]float64 {
	m := make([][]float64, n)
	for i := range m {
		m[i] = make([]float64, n)
	}
	return m
}

// cholesky is the lower root of a positive matrix.
func cholesky(m [][]float64) ([][]float64, bool) {
	root := matrix(len(m))
	for i := range m {
		for j := range i + 1 {
			x := m[i][j]
			for k := range j {
				x -= float64(root[i][k] * root[j][k])
			}
			if i == j {
				if x <= 0 {
					return nil, false
				}
				root[i][i] = math.Sqrt(x)
			} else {
				root[i][j] = x / root[j][j]
			}
		}
	}
	return root, true
}

// from is the logarithm of the density of a point in a class, in the coordinates given, and its squared distance. What the point lacks
// is integrated out. A constant that all classes have is left out of the density.
func (g classes) from(c class, x []float64, at []int) (logDensity, distance float64) {
	distance, _ = g.mahalanobis(c, x, at, strange)
	square, logRoot := g.mahalanobis(c, x, at, transfer)
	return -logRoot - float64(0.5*(degrees+float64(len(at)))*elementary.Log1p(square/degrees)), distance
}

// mahalanobis is the squared distance of a point from a class's mean, in the coordinates given, where that mean has a
// deviation of its own, and half the logarithm of the covariance's determinant.
func (g classes) mahalanobis(c class, x []float64, at []int, deviation float64) (square, logRoot float64) {
	part := matrix(len(at))
	for i, a := range at {
		for j, b := range at {
			part[i][j] = g.Covariance[a][b]
		}
		part[i][i] += float64(deviation * deviation)
	}
	root, _ := cholesky(part)
	solved := make([]float64, len(at))
	for i, a := range at {
		v := x[a] - c.Mean[a]
		for k := range i {
			v -= float64(root[i][k] * solved[k])
		}
		solved[i] = v / root[i][i]
		square += float64(solved[i] * solved[i])
		logRoot += elementary.Log(root[i][i])
	}
	return square, logRoot
}

// beyond are the 99.5 % quantiles of χ² with 1, 2, ... degrees of freedom.
var beyond = [...]float64{7.879, 10.597, 12.838, 14.860, 16.750, 18.548, 20.278, 21.955, 23.589, 25.188}

// evidenceFor is what a family's classes say of a point: the logarithm of its mean density, and the
// least distance in units of the 99.5 % one.
type evidenceFor struct {
	cause         string
	log, distance float64
	look          float64 // log without what versions say
}

func (g classes) families(f *Features) []evidenceFor {
	x := point(f)
	var at []int // the coordinates that are known
	for i, v := range x[:classified] {
		if !math.IsNaN(v) {
			at = append(at, i)
		}
	}
	var list []evidenceFor
	logs := map[string][]float64{}
	for _, c := range g.Classes {
		if c.Routed && f.FlipPart == nil {
			continue
		}
		logDensity, distance := g.from(c, x, at)
		i := slices.IndexFunc(list, func(e evidenceFor) bool { return e.cause == c.Cause })
		if i < 0 {
			i = len(list)
			list = append(list, evidenceFor{cause: c.Cause, distance: math.Inf(1)})
		}
		logs[c.Cause] = append(logs[c.Cause], logDensity)
		if d := distance / beyond[max(len(at)-1, 0)]; d < list[i].distance {
			list[i].distance = d
		}
	}
	for i := range list {
		own := logs[list[i].cause]
		top, sum := slices.Max(own), 0.0
		for _, v := range own {
			sum += elementary.Exp(v - top)
		}
		list[i].log = top + elementary.Log(sum/float64(len(own)))
		if routed := f.routed(); (list[i].cause == Routing) == (routed < 0) {
			list[i].log -= float64(excluded * math.Abs(routed) * math.Ln10)
		}
		list[i].look = list[i].log
		turned := f.Turn != nil && *f.Turn < turning // a format's own error of an id would stay
		switch cause := list[i].cause; {
		case cause == Staleness && f.onPolicy(), cause == Precision && turned:
			list[i].log -= excluded * math.Ln10
		case cause == Staleness && f.Lag != nil && *f.Lag > 0:
			list[i].log += tagged * math.Ln10
		}
	}
	slices.SortStableFunc(list, func(a, b evidenceFor) int { return cmp.Compare(b.log, a.log) })
	return list
}

// jumps is a two-state chain of error sizes along responses: now and then, for a few tokens, errors are many
// times larger, which is what another route does. Each state's errors have Student's distribution, since positions are of
// unequal size; its tail is chosen by likelihood.
type jumps struct {
	small, large float64 // scales
	share        float64 // of tokens that jump
	stay         float64 // that the next one jumps as well
	// gain is by how much, in log-likelihood, two states explain the errors better than one.
	gain float64
	// chance is the probability of a jump, by deviation.
	chance []float64
}

const (
	// passes is how many the EM makes, which starts where jumps are rare and short.
	passes     = 20
	firstShare = 0.03
	firstStay  = 0.5
	firstLarge = 8.0
	// leastGain is what two states, of three parameters more, gain if there are any, leastLarge how many
	// times larger a jump is.
	leastGain, leastLarge = 12, 4
	// leastStay is the chance that a jump goes on from which it is one of routes: large errors that come one by
	// one are the tail of another distribution. On runs of this program replaying the routes leaves them as they are.
	leastStay = 0.25
)

// student is Student's distribution, with the logarithm of its constant.
type student struct{ degrees, constant float64 }

// students are the distributions that are tried: from those of very unequal positions to the normal one. Their constants
// are log Γ((n+1)/2) − log Γ(n/2) − log(nπ)/2.
var students = []student{{3, -1.0008888496235095}, {4, -0.9808292530117257}, {8, -0.9501086121502307}, {30, -0.9272703253788515}}

// of is the density of an error at a scale, and the weight that the EM gives it there.
func (l student) of(v, scale float64) (density, weight float64) {
	w := l.relative(v, scale)
	return elementary.Exp(l.constant+float64(0.5*(l.degrees+1)*elementary.Log(w))) / scale, (l.degrees + 1) / l.degrees * w
}

// relative is the weight of an error over that of one of 0.
func (l student) relative(v, scale float64) float64 {
	z := v / scale
	return 1 / (1 + float64(z*z)/l.degrees)
}

// jumpsOf fits the chain with the distribution that explains the errors best.
func (s *deviations) jumpsOf() jumps {
	var best jumps
	alone := math.Inf(-1)
	for i, l := range students {
		j, one := s.chain(l)
		if i == 0 || j.gain > best.gain {
			best = j
		}
		alone = max(alone, one)
	}
	best.gain -= alone
	return best
}

// chain fits the chain with a distribution, and has as its gain the log-likelihood; alone is the log-likelihood of one state.
func (s *deviations) chain(l student) (j jumps, alone float64) {
	n := len(s.all)
	j = jumps{chance: make([]float64, n), share: firstShare, stay: firstStay}
	j.small = max(medianOf(s.column(func(x deviation) float64 { return math.Abs(x.v) }))/0.741, 1e-300)
	one := j.small
	for range passes {
		sum := 0.0
		for _, x := range s.all {
			w := (l.degrees + 1) / l.degrees * l.relative(x.v, one)
			sum += float64(w * x.v * x.v)
		}
		one = math.Sqrt(sum / float64(n))
	}
	for _, x := range s.all {
		p, _ := l.of(x.v, one)
		alone += elementary.Log(max(p, 1e-300))
	}
	j.large = firstLarge * j.small
	back, of := make([][2]float64, n), make([]emission, n)
	for range passes {
		likelihood, next := 0.0, jumps{}
		var moves, from, weight float64
		var square [2]float64
		for i, x := range s.all {
			of[i].small, of[i].weightSmall = l.of(x.v, j.small)
			of[i].large, of[i].weightLarge = l.of(x.v, j.large)
		}
		for _, span := range s.span {
			likelihood += j.smooth(of[span[0]:span[1]], j.chance[span[0]:span[1]], back[span[0]:span[1]])
			for i := span[0]; i < span[1]; i++ {
				v, g := s.all[i].v, j.chance[i]
				square[0] += float64((1 - g) * of[i].weightSmall * v * v)
				square[1] += float64(g * of[i].weightLarge * v * v)
				weight += g
				if i > span[0] {
					// The chance that both jump, given each alone: the chain's own odds between them.
					before := j.chance[i-1]
					on := float64(j.stay * of[i].large * back[i][1])
					off := float64((1 - j.stay) * of[i].small * back[i][0])
					from += before
					if on+off > 0 {
						moves += float64(before * on / (on + off))
					}
				}
			}
		}
		next = jumps{chance: j.chance, share: weight / float64(n), stay: firstStay, gain: likelihood}
		next.small = math.Sqrt(square[0] / max(float64(n)-weight, 1))
		next.large = math.Sqrt(square[1] / max(weight, 1e-9))
		if from > 0 {
			next.stay = min(moves/from, 0.98)
		}
		next.share = max(min(next.share, 0.3), 1e-4)
		next.stay = max(next.stay, next.share)
		j = next
		j.small, j.large = max(j.small, 1e-12), max(j.large, j.small)
	}
	return j, alone
}

// emission is what an error has in the two states: its density, and its weight in the EM.
type emission struct{ small, large, weightSmall, weightLarge float64 }

// smooth sets the chances of a response by the forward and backward recursions, and returns its log-likelihood.
// back are the likelihoods of what follows, by state.
func (j *jumps) smooth(of []emission, chance []float64, back [][2]float64) float64 {
	enter := j.share * (1 - j.stay) / (1 - j.share)
	after := [2]float64{1, 1}
	for i := len(of) - 1; i >= 0; i-- {
		back[i] = after
		x := [2]float64{
			float64((1-enter)*of[i].small*after[0]) + float64(enter*of[i].large*after[1]),
			float64((1-j.stay)*of[i].small*after[0]) + float64(j.stay*of[i].large*after[1]),
		}
		total := max(x[0]+x[1], 1e-300)
		after = [2]float64{x[0] / total, x[1] / total}
	}
	likelihood := 0.0
	state := [2]float64{1 - j.share, j.share}
	for i := range of {
		a0, a1 := float64(state[0]*of[i].small), float64(state[1]*of[i].large)
		total := max(a0+a1, 1e-300)
		likelihood += elementary.Log(total)
		a0, a1 = a0/total, a1/total
		b0, b1 := float64(a0*back[i][0]), float64(a1*back[i][1])
		chance[i] = 0
		if b0+b1 > 0 {
			chance[i] = b1 / (b0 + b1)
		}
		state = [2]float64{float64(a0*(1-enter)) + float64(a1*(1-j.stay)), float64(a0*enter) + float64(a1*j.stay)}
	}
	return likelihood
}

// mostMixed bounds the tokens on which jumps are looked for.
const mostMixed = 30_000

// jumped looks for jumps in the first responses of a sample: their part of Σk3 is what they have beyond what the tokens would have
// without. Where routes were recorded a jump is where they differ, and of a response of fresh weights, whatever is there: old ones
// take other routes, too.
func (f *Features) jumped(rows []*kept) {
	tokens := 0
	for i, k := range rows {
		if tokens += len(k.roll); tokens > mostMixed {
			rows = rows[:i+1]
			break
		}
	}
	s := deviationsOf(rows)
	j := s.jumpsOf()
	some := j.gain > leastGain && j.large > leastLarge*j.small // whether there are any at all
	found := some && j.stay >= leastStay                       // whether they do not come one by one
	extra, counted := 0.0, float64(count1(found))
	if some {
		extra = 1 - float64(j.small/j.large*j.small/j.large)
	}
	beyond := s.flipped(f)
	all, jumps, known, routed, flips := 0.0, 0.0, 0.0, 0.0, 0.0
	for i, x := range s.all {
		k3 := k3Of(x.d)
		all += k3
		look := float64(j.chance[i] * extra)
		jumps += float64(k3 * look)
		part := look * counted
		switch k := s.rows[x.row]; {
		case k.flipped == nil:
		case !k.flipped[x.from]:
			part = 0
			routed += k3
		default:
			routed += k3
			flips += float64(k3 * beyond)
			if k.lag == 0 {
				part = beyond
			}
		}
		known += float64(k3 * part)
	}
	if all > 0 {
		f.Jumps, f.Lone = new(counted*jumps/all), new((1-counted)*jumps/all)
	}
	if routed > 0 {
		f.FlipPart, f.routes = new(flips/routed), new(known/all)
	}
	if found {
		f.Stay = &j.stay
	}
}

// flipped fills the share of tokens with other experts, and returns the part of their squares beyond that of the
// tokens with the same ones.
func (s *deviations) flipped(f *Features) (beyond float64) {
	var n [2]int
	var squares [2]float64
	for _, x := range s.all {
		if k := s.rows[x.row]; k.flipped != nil {
			side := count1(k.flipped[x.from])
			n[side]++
			squares[side] += float64(x.v * x.v)
		}
	}
	if n[0]+n[1] == 0 {
		return 0
	}
	f.Flips = new(share(n[1], n[0]+n[1]))
	if n[0] == 0 || n[1] == 0 || squares[1] == 0 {
		return 0
	}
	return max(0, 1-squares[0]/float64(n[0])*float64(n[1])/squares[1])
}

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
			share := 1 / (1 + elementary.Exp(-logit))
			return max(0, min(1, (share-bounded)/(1-2*bounded))) // as it was before the regression bounded it
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

// regression predicts the share of a gap that a cause has: its log-odds are linear in the
// coordinates named, their squares and their products.
type regression struct {
	Coordinates []string  `json:"coordinates"`
	Mean        []float64 `json:"mean"`
	Deviation   []float64 `json:"deviation"`
	Weight      []float64 `json:"weight"` // of the constant first
}

// bounded is how near to 0 and 1 shares are taken to come.
const bounded = 0.03

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
	x := stats.Map(r.Coordinates, func(name string) float64 {
		return point[slices.IndexFunc(coordinates, func(c coordinate) bool { return c.name == name })]
	})
	if slices.ContainsFunc(x, math.IsNaN) {
		return 0, false
	}
	logit := 0.0
	for k, t := range r.terms(x) {
		logit += float64(r.Weight[k] * t)
	}
	return logit, true
}

// reference is what attribution compares with, and how it was made.
type reference struct {
	// Made says of what, and by which command.
	Made    string  `json:"made"`
	Classes classes `json:"classes"`
	// Split predicts the parts that causes have, and Accepted is where it lies for shares that are known, by cause.
	Split    splitters               `json:"split"`
	Accepted map[string][]acceptance `json:"accepted"`
	// Signatures are where features lie, by cause.
	Signatures []Signature `json:"looks"`
	// Checks are where the values of checks lie, by name.
	Checks map[string]*Range `json:"checks"`
	// Accuracy is how often the classes are right on data that they were not fitted to.
	Accuracy []Accuracy `json:"accuracy"`
}

// Accuracy says how often attribution is right on simulated dumps of one cause that it was not fitted to.
type Accuracy struct {
	// Test says what was left out of the fit.
	Test string `json:"test"`
	// Of N dumps Right have the likeliest cause right; Unlike are unlike any that was fitted; Named are named,
	// NamedRight of them rightly.
	N          int `json:"n"`
	Right      int `json:"right"`
	Unlike     int `json:"unlike"`
	Named      int `json:"named"`
	NamedRight int `json:"named_right"`
}

// The shipped reference, and what is said of causes and columns.
var (
	//go:embed reference.json
	referenceText []byte
	//go:embed texts.yaml
	textsText []byte

	the   = shipped[reference](json.Unmarshal, referenceText)
	texts = shipped[struct {
		Causes  map[string]struct{ Confirm, Repair string }
		Columns map[string]string
		Rows    map[string]rowTexts
	}](yaml.Unmarshal, textsText)
)

// rowTexts are a row's of the decision table.
type rowTexts struct {
	Source, Advice string
	Apart          bool
}

// shipped is an embedded file, which every program that diagnoses reads.
func shipped[T any](read func([]byte, any) error, text []byte) (t T) {
	if err := read(text, &t); err != nil {
		panic("diagnose: an embedded file: " + err.Error())
	}
	return t
}

// Signature is a feature of a gap next to its ranges in simulated gaps of each cause.
type Signature struct {
	// Feature is its name among the features, About its description.
	Feature string  `json:"feature"`
	About   string  `json:"about"`
	Value   float64 `json:"value"`
	// Ranges are of the reference set.
	Ranges []Range `json:"ranges"`
}

// Range is where a figure lies in N simulated dumps: a feature in those of a cause, the
// value of a check in all, none of which has anything to repair.
type Range struct {
	Cause string `json:"cause,omitempty"`
	N     int    `json:"n"`
	// Quantiles are the 5, 25, 50, 75 and 95 % quantiles.
	Quantiles [5]float64 `json:"quantiles"`
}

// signatures puts the features that were measured next to the reference's.
func (r *reference) signatures(f *Features) []Signature {
	var list []Signature
	for _, s := range r.Signatures {
		if x := f.named(s.Feature); x != nil {
			s.Value = *x
			list = append(list, s)
		}
	}
	return list
}
