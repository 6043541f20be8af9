package diagnose

import (
	"math"
	"math/rand/v2"
	"slices"

	"driftlab/precision/elementary"
)

// Features are the statistical signature of a gap, from which its cause is classified. All but Med, Disp
// and Slope are of errors divided by their response's own median: a lag differs from
// response to response. Null is what cannot be measured here.
type Features struct {
	// Med is the median |u|, in logits: the size of the gap.
	Med *float64 `json:"med"`
	// T90 and T99 are quantiles of |u| in medians, 2.4 and 3.8 of a normal law; Big8 the
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
// the question, and where the gap is that of the tokens with other ones, it is nothing else. Old weights take other
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

// deviations are those of a sample, response by response.
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
			m := min(0, (k.old[i]+roll)/2)
			q := -elementary.Expm1(m)
			if q < leastDoubt {
				continue
			}
			x := deviation{u: (k.old[i] - roll) / q, d: k.old[i] - roll, q: q, odds: m - elementary.Log(q), row: n, from: i, id: -1}
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
	size, l := make([]float64, len(s.all)), logits{}
	for i, x := range s.all {
		size[i] = math.Abs(x.v)
		l.u, l.odds = append(l.u, x.v), append(l.odds, x.odds)
	}
	slices.Sort(size)
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

// lift compares neighbours.
func (s *deviations) lift(top float64) *float64 {
	pairs, both := 0, 0
	for _, span := range s.span {
		for i := span[0] + 1; i < span[1]; i++ {
			pairs++
			if math.Abs(s.all[i].v) > top && math.Abs(s.all[i-1].v) > top {
				both++
			}
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
	odds := make([]float64, len(s.all))
	for i, x := range s.all {
		odds[i] = x.odds
	}
	half := medianOf(odds)
	var tokens, positive [2]int
	graded := true
	for _, x := range s.all {
		side := 0
		if x.odds > half {
			side = 1
		}
		tokens[side]++
		if x.u > 0 {
			positive[side]++
		}
		k := s.rows[x.row]
		if x.u != 0 {
			power.add(elementary.Log(x.q), elementary.Log(math.Abs(x.d)))
			trend.add(float64(x.from), elementary.Log(math.Abs(x.v)))
		}
		if graded = graded && k.advantage != nil; graded {
			advantage.add(k.advantage[x.from], x.v)
		}
	}
	f.Asymmetry = new(share(positive[1], tokens[1]) - share(positive[0], tokens[0]))
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
	size := make([]float64, len(s.all))
	for i, x := range s.all {
		size[i] = math.Abs(x.u)
	}
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
