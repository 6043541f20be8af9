package diagnose

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"

	"driftlab/experiments/diagnose/reader"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method/metrics"
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

// old reports whether versions say that something is.
func (f *Features) old() bool { return f.Lag != nil && *f.Lag > 0 }

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
	// span are the deviations of a response, median its median |u|, scale what u is divided by.
	span          [][2]int
	median, scale []float64
	med           float64
}

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
		s.scale = append(s.scale, scale)
		for i := span[0]; i < span[1] && scale > 0; i++ {
			s.all[i].v = s.all[i].u / scale
		}
	}
	return s
}

func (x deviation) logOdds() float64 { return x.odds }

// column is a figure of every error.
func (s *deviations) column(of func(deviation) float64) []float64 {
	list := make([]float64, len(s.all))
	for i, x := range s.all {
		list[i] = of(x)
	}
	return list
}

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
	l := logits{u: s.column(func(x deviation) float64 { return x.v }), odds: s.column(deviation.logOdds)}
	size := magnitudes(l.u)
	middle := quantile(size, 0.5)
	if middle == 0 {
		return f
	}
	above, _ := slices.BinarySearch(size, 8*middle)
	f.T90, f.T99 = new(quantile(size, 0.9)/middle), new(quantile(size, 0.99)/middle)
	f.Big8 = new(share(len(size)-above, len(size)))
	f.Lift = s.lift(quantile(size, 0.95))
	f.Eta2 = new(l.explained())
	if slope, n := logitSlope(rows); n >= leastPairs {
		f.Slope = &slope
	}
	s.along(f)
	f.ICC, f.Turn, f.ManyIDs = s.identities(quantile(size, 0.98))
	f.Disp = s.dispersion()
	f.LagSlope, f.LagRank = s.lagSlope()
	part := jumpedOf(rows)
	f.Jumps, f.Stay, f.Lone, f.Flips, f.FlipPart, f.routes = part.share, part.stay, part.lone, part.flips, part.flipPart, part.routed
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

// logits are the errors of a sample in units of logits, and where they stand.
type logits struct {
	u    []float64 // d/q
	odds []float64 // the log-odds of the mean of both log-probs
	// median and q999 are of |u|.
	median, q999 float64
}

// logitError is the error of a token in logits, the log-odds of the mean of both log-probs, and how far that is from certain: of less
// than leastDoubt nothing can be said.
func logitError(roll, old float64) (u, odds, q float64) {
	m := min(0, (old+roll)/2)
	q = -elementary.Expm1(m)
	return (old - roll) / q, m - elementary.Log(q), q
}

// logitsOf measures the errors of the tokens that are uncertain enough.
func logitsOf(rows []*kept) logits {
	var l logits
	for _, k := range rows {
		for i, roll := range k.roll {
			if u, odds, q := logitError(roll, k.old[i]); q >= leastDoubt {
				l.u, l.odds = append(l.u, u), append(l.odds, odds)
			}
		}
	}
	size := magnitudes(l.u)
	l.median, l.q999 = quantile(size, 0.5), quantile(size, 0.999)
	return l
}

func magnitudes(x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = math.Abs(v)
	}
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

// explained is the share of Σu² that the mean of u in each bin of log-odds explains,
// with |u| capped at its 98th percentile and the bins' own variance taken off.
func (l *logits) explained() float64 {
	n := len(l.u)
	if n < 2*bins {
		return 0
	}
	limit := quantile(magnitudes(l.u), 0.98)
	all, systematic := 0.0, 0.0
	for part := range binned(l.odds) {
		sum, squares := 0.0, 0.0
		for _, i := range part {
			u := max(-limit, min(limit, l.u[i]))
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
