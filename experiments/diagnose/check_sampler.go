package diagnose

import (
	"fmt"
	"math"
	"slices"

	"driftlab/experiments/diagnose/reader"
	"driftlab/precision/elementary"
	"driftlab/trainer/method/masked"
)

const (
	// lawFault and lawWatch are the z of the mean ratio. The one for faults has a chance of e^-12.5 of a false alarm, at most, by Ville's inequality.
	lawFault, lawWatch = 5, 3
	// onlyOne is the share of Σρ from which a single token is judged on its own.
	onlyOne = 0.2
	// overflow bounds d before it becomes a ratio.
	overflow = 20
	// capped is the ratio that tokens are counted up to where a mean below 1 is looked for, foundAgain how many times as much as the learner
	// has lost it may have found elsewhere: of 200 runs of this program with lags up to 64 none found more than 1.02 times as much.
	capped, foundAgain = 4, 2
	// ofGap is the part of the mean |ρ - 1| up to which an excess is no fault: no correction changes by it.
	ofGap = 0.1
	// hidden is the missing mass, as of a top-p of 0.95, that a test must be able to find, or it cannot tell.
	hidden = 0.05
)

// bets are the stakes on a mean ratio above 1.
var bets = [...]float64{0.003, 0.01, 0.03, 0.1, 0.3, 0.9}

// lawIdentity asks whether the mean of ρ is the mass that sampling kept, 1 without
// top-p: on tokens that the rollout engine drew it is, whatever the learner thinks,
// unless the recorded log-probs are not those of the sampling distribution. It is
// blind to a learner at the wrong temperature, which has a distribution as well.
//
// Ratios of stale weights have heavy tails, of which a sample's mean and variance say little. Given the tokens before it, a token's ρ has the mean 1, so that
// what a bet on more has won is a martingale, whatever the tail: it wins e^12.5 times the stake with a chance of e^-12.5. A mean below 1 may always lie in
// ratios that are too rare to be sampled. It is looked for in ratios that are capped, and what the tail may hide is taken off: the mass
// that the learner has lost on tokens of ratios below 1/4, it has found again, twice over at most, on tokens above 4.
//
// Where a kept mass below 1 is recorded the mean lies between that, of a learner with the whole vocabulary, and 1, of one with the same support.
type lawIdentity struct {
	n, lost, responses int
	sum, mass, apart   float64 // Σρ, Σ of the kept mass, Σ|ρ - mass|
	missing, squares   float64 // Σ of the mass less the capped ρ, and of the squares of responses' sums of it
	most               float64
	place              string // of the largest ratio
	won                [len(bets)]float64
	logs               [len(bets)]float64 // of what was taken off what was won
}

func (c *lawIdentity) add(v *view) {
	before := c.missing
	for i, rho := range v.ratio {
		c.count(rho, v, i)
	}
	c.response(c.missing - before)
}

// response ends one whose capped ratios miss so much.
func (c *lawIdentity) response(missing float64) {
	c.responses++
	c.squares += float64(missing * missing)
}

// spread is the standard error of the missing mass: responses are independent, their tokens may not be.
func (c *lawIdentity) spread() float64 {
	return math.Sqrt(max(c.squares-float64(c.missing*c.missing)/float64(max(c.responses, 1)), 1e-300))
}

func (c *lawIdentity) count(rho float64, v *view, i int) {
	mass := 1.0
	if kept := v.row.KeptMass; kept != nil && isFinite(kept[v.ok[i]]) {
		mass = kept[v.ok[i]]
	}
	if c.n == 0 {
		for k := range c.won {
			c.won[k] = 1
		}
	}
	c.n++
	c.sum, c.mass, c.apart = c.sum+rho, c.mass+mass, c.apart+math.Abs(rho-mass)
	c.missing += mass - min(rho, capped)
	c.lost += count1(rho < mass/capped)
	if rho > c.most {
		c.most, c.place = rho, ""
		if rho > capped {
			c.place = fmt.Sprintf("%s, token %d", v.place(), v.ok[i]+1)
		}
	}
	for k, stake := range bets {
		c.won[k] *= 1 + float64(stake*(rho-1))
		if c.won[k] > 1e100 || c.won[k] < 1e-100 {
			c.logs[k] += elementary.Log(max(c.won[k], 1e-300))
			c.won[k] = 1
		}
	}
}

// alone reports whether a single token holds so much of Σρ that the others are judged without it.
func (c *lawIdentity) alone() bool { return c.most > onlyOne*c.sum }

// z is how many standard errors the mean of ρ is from the mass that was kept, by as much as no tail explains.
func (c *lawIdentity) z() float64 {
	if c.n < 2 {
		return 0
	}
	top, won := math.Inf(-1), [len(bets)]float64{}
	for k, stake := range bets {
		won[k] = c.logs[k] + elementary.Log(max(c.won[k], 1e-300))
		if c.alone() {
			won[k] -= elementary.Log(1 + float64(stake*(c.most-1)))
		}
		top = max(top, won[k])
	}
	sum := 0.0
	for _, x := range won {
		sum += elementary.Exp(x-top) / float64(len(bets))
	}
	excess := c.sum - float64(c.n)
	if c.alone() {
		excess -= c.most - 1
	}
	if log := top + elementary.Log(sum); log > 0 && excess > ofGap*c.apart {
		return math.Sqrt(2 * log)
	}
	if missing := c.missing - c.beyond(); missing > 0 {
		return -missing / c.spread()
	}
	return 0
}

// beyond is the mass that the tail may hide: what the learner has lost, with three standard errors of its count, and half of all at most.
func (c *lawIdentity) beyond() float64 {
	lost := float64(c.lost)
	return min(max(foundAgain*(lost+float64(3*math.Sqrt(lost))), float64(ofGap*c.apart)), float64(c.n)/2)
}

// power is the missing mass of a token that would be found.
func (c *lawIdentity) power() float64 {
	return (c.beyond() + float64(lawFault*c.spread())) / float64(max(c.n, 1))
}

func (c *lawIdentity) judge(e *evidence) outcome {
	e.keptMass = c.mass / float64(max(c.n, 1))
	z, n := c.z(), float64(max(c.n, 1))
	why := fmt.Sprintf("the mean ratio is %.4f where it must be %.4f (z %+.1f)", c.sum/n, c.mass/n, z)
	switch size := math.Abs(z); {
	case size > lawFault:
		return fail(z, why+": the recorded log-probs are not those of the sampling distribution",
			"record log-probs as they are after temperature, top-p and top-k, and apply the same to the learner's")
	case c.alone():
		return watch(z, fmt.Sprintf("a single token has the ratio %.3g, which is %.0f %% of the sum of all (%s); the mean of the others is %.4f where it must be %.4f", c.most, 100*c.most/c.sum, c.place, (c.sum-c.most)/n, c.mass/n))
	case size > lawWatch:
		return watch(z, why)
	case c.power() > hidden:
		return cannotTell(z, fmt.Sprintf("the mean ratio is %.4f; a sampling distribution that is not the recorded one would be found from a missing mass of %.2g on: the ratios have heavy tails, or the tokens are few", c.sum/n, c.power()))
	}
	return pass(z, "")
}

const (
	// structured is the η² above which a gap is a function of the probability, and
	// halfStructured from where it may be.
	structured, halfStructured = 0.85, 0.75
)

// structuredGap asks how much of the errors the log-odds of a token explain: a wrong
// temperature or support is a function of them, rounding and old weights are not.
func structuredGap(e *evidence) outcome {
	eta := e.deviations().explained(deviation.inLogits)
	if eta <= structured && e.scope == everything {
		if e.part = outlying(e.sample); e.part != nil {
			if part := deviationsOf(e.part).explained(deviation.inLogits); part > structured {
				return fail(part, fmt.Sprintf("in %s, whose gap is far larger than that of the others, %.0f %% of it is a function of the token's probability alone: the engines apply different sampling settings there", ofResponses(len(e.part), len(e.sample)), 100*part),
					"the same temperature and support on both sides, for every response")
			}
			e.part = nil
		}
	}
	switch {
	case eta > structured && e.recordedSupport():
		return watch(eta, fmt.Sprintf("%.0f %% of the gap is a function of the token's probability alone, as it is where the rollout engine samples from a part of the vocabulary: the recorded kept mass is %.3f", 100*eta, e.keptMass))
	case eta > structured:
		return fail(eta, fmt.Sprintf("%.0f %% of the gap is a function of the token's probability alone: the engines apply different sampling settings", 100*eta),
			"the same temperature and support on both sides")
	case eta >= halfStructured:
		return watch(eta, fmt.Sprintf("%.0f %% of the gap is a function of the token's probability alone: stale weights that have sharpened, or a temperature", 100*eta))
	}
	return pass(eta, "")
}

// outlying are the responses whose gap is far larger than that of most others, nil if they are few, or most: part of the workers may sample
// with other settings.
func outlying(rows []*kept) (part []*kept) {
	var sizes []float64
	for _, k := range rows {
		size, _ := sizeOf(k)
		sizes = append(sizes, size)
	}
	limit := aboveFloor * medianOf(slices.Clone(sizes))
	tokens := 0
	for i, k := range rows {
		if sizes[i] > limit && k.lag <= 0 { // old weights have sharpened by themselves
			part = append(part, k)
			tokens += len(k.roll)
		}
	}
	if len(part) < leastResponses || tokens < leastTokens/2 || 10*len(part) < len(rows) || 2*len(part) > len(rows) {
		return nil
	}
	return part
}

const (
	// nearly is a log-prob that is 0 but for rounding, far one that is not.
	nearly, far = 1e-5, -0.01
	// supportShare is the share of tokens that one side alone is sure of, oneSign how
	// many of these must have the same side.
	supportShare, oneSign = 0.01, 0.95
)

// support finds tokens that one side alone is sure of, since it is renormalised over a
// part of the vocabulary: top-p. Min-p, top-k and forbidden words look alike.
type support struct {
	tokens, roll, old int
	sum               float64 // of ρ
}

func (c *support) add(v *view) {
	c.tokens += len(v.roll)
	for i, roll := range v.roll {
		old := v.old[i]
		switch {
		case math.Abs(roll) < nearly && old < far:
			c.roll++
		case math.Abs(old) < nearly && roll < far:
			c.old++
		}
		c.sum += ratioOf(old - roll)
	}
}

func (c *support) judge(e *evidence) outcome {
	found := c.roll + c.old
	value := share(found, c.tokens)
	recorded := e.recordedSupport() && e.found["structured-gap"].result == Watch
	if !e.failed("structured-gap") && !recorded {
		return notApplicable("the gap is no function of the probability")
	}
	if recorded {
		return watch(value, fmt.Sprintf("the rollout engine samples from a part of the vocabulary (recorded kept mass %.3f), and the learner normalises over all of it: mean ratio %.3f", e.keptMass, c.sum/float64(max(c.tokens, 1))))
	}
	if value <= supportShare || share(max(c.roll, c.old), found) <= oneSign {
		return pass(value, "")
	}
	which, other, mirror := "rollout", "learner's", ""
	if c.old > c.roll {
		which, other = other, which
		mirror = ", or the two columns are swapped"
	}
	why := fmt.Sprintf("the %s log-probs are renormalised over a part of the vocabulary, the %s are not: mean ratio %.3f", which, other, c.sum/float64(max(c.tokens, 1)))
	if e.options.TopP > 0 && e.options.TopP < 1 {
		why += fmt.Sprintf(" at top-p %v", e.options.TopP)
	}
	return fail(value, why+" (top-p; min-p, top-k and forbidden words have the same effect)"+mirror, "apply the same top-p to both, or train with top-p 1")
}

// The probabilities between which a slope of log-odds is measured.
const leastProbable, mostProbable = 0.05, 0.95

// temperature finds columns at different temperatures: their log-odds are proportional.
func temperature(e *evidence) outcome {
	if !e.failed("structured-gap") {
		return notApplicable("the gap is no function of the probability")
	}
	rows, where := e.sample, ""
	if e.part != nil {
		rows, where = e.part, "in "+ofResponses(len(e.part), len(e.sample))+" "
	}
	slope, n := logitSlope(rows)
	if n < leastPairs {
		return watch(slope, "the gap looks like a temperature, and too few tokens are in doubt to say which")
	}
	// The side that is raw has temperature 1, and only a raw rollout column makes the mean ratio differ from 1.
	which, other, t := "learner's", "rollout", slope
	if e.found["law-identity"].value > lawWatch {
		which, other, t = "rollout", "learner", 1/slope
	}
	why := where + fmt.Sprintf("the %s log-probs are raw, at temperature 1, where the %s has about %.2f (±15 %%)", which, other, t)
	if e.options.Temperature > 0 {
		why += fmt.Sprintf(", sampled at %v", e.options.Temperature)
	}
	return fail(slope, why, "the same temperature on both sides")
}

// logitSlope is the slope of the learner's log-odds on the rollout's by total least
// squares: about the rollout's temperature over the learner's.
func logitSlope(rows []*kept) (slope float64, n int) {
	var m moments
	for _, k := range rows {
		for i, roll := range k.roll {
			p, q := elementary.Exp(roll), elementary.Exp(k.old[i])
			if p > leastProbable && p < mostProbable && q > leastProbable && q < mostProbable {
				m.add(roll-elementary.Log1p(-p), k.old[i]-elementary.Log1p(-q))
			}
		}
	}
	xx, yy, xy := m.centred()
	if m.n < 2 || xy == 0 {
		return 1, m.n
	}
	difference := yy - xx
	return (difference + math.Sqrt(float64(difference*difference)+float64(4*xy*xy))) / (2 * xy), m.n
}

// heads judges what is recorded of several tokens at a place: the set that sampling kept, or the rollout engine's likeliest tokens.
type heads struct {
	kept     tokenCount // sampled tokens, and those that are not in the set
	sides    [2]headSide
	n, exact int
	kl, q, p float64 // Σ of the divergence on heads and tails, and of the mass of heads in the rollout engine and in the learner
}

// headSide is a column of one engine next to its head: how many sampled tokens have another log-prob there, and of these in how many either is divided by its mass.
type headSide struct {
	tokens       tokenCount
	column, head int
}

// headApart is how far a head's log-prob is from the column's where they are of two distributions, more than one bfloat16 rounding of a log-prob of 2;
// wholeHead is how much of the mass is outside of what is the whole support.
const headApart, wholeHead = 0.02, 1e-6

func (c *heads) add(r *reader.Row) {
	for i := range masked.Kept(r.Mask) {
		if r.HeadEnds == nil || r.Token == nil {
			continue
		}
		h := r.HeadOf(i)
		roll, old, at := h[1], h[2], slices.Index(h[0], float64(r.Token[i]))
		if roll == nil && len(h[0]) > 0 && isFinite(h[0][0]) { // null is the whole vocabulary
			c.kept.add(at < 0)
		}
		for k, column := range [][]float64{r.Roll, r.Old} {
			if h[k+1] != nil && column != nil && at >= 0 && isFinite(column[i]-h[k+1][at]) {
				c.sides[k].add(h[k+1][at], column[i], reader.Mass(h[k+1]))
			}
		}
		if roll == nil || old == nil {
			continue
		}
		q, p := reader.Mass(roll), reader.Mass(old)
		c.n, c.q, c.p = c.n+1, c.q+q, c.p+p
		for k, x := range roll {
			if isFinite(x - old[k]) {
				c.kl += float64(elementary.Exp(x) * (x - old[k]))
			}
		}
		if tail := 1 - q; tail > wholeHead { // by the log-sum inequality no less
			c.kl += float64(tail * elementary.Log(tail/max(1-p, wholeHead)))
		} else {
			c.exact++
		}
	}
}

func (s *headSide) add(head, column, mass float64) {
	off := math.Abs(head-column) > headApart
	if s.tokens.add(off); off {
		s.column += count1(math.Abs(column-head+elementary.Log(mass)) <= headApart)
		s.head += count1(math.Abs(mass-1) <= headApart && column < head)
	}
}

func (c *heads) findings(*Options) (found []Finding, _ []looked) {
	add := func(level Level, next, format string, args ...any) {
		found = append(found, Finding{ID: "head", Topic: Data, Level: level, Text: fmt.Sprintf(format, args...), Next: next})
	}
	if c.kept.share() > rowsNotReal {
		add(Fault, "record the set of the token that was drawn from it", "%.3g %% of the sampled tokens are not in the recorded set that sampling kept: the sets belong to other tokens", 100*c.kept.share())
	}
	for k, s := range c.sides {
		name, part := sideNames[k], 100*s.tokens.share()
		switch {
		case part <= 100*rowsNotReal:
		case 2*s.column > s.tokens.off:
			add(Fault, "take both from one softmax: over the whole vocabulary, or over the set that both engines sampled from", "the %s log-probs of the sampled tokens are renormalised over the recorded head, and those of the head are not, on %.3g %% of the tokens", name, part)
		case 2*s.head > s.tokens.off:
			add(Fault, "record the head with its full-vocabulary probabilities, or take the sampled tokens' from the same set", "the recorded head is renormalised to the mass 1, and the %s log-probs of the sampled tokens are not, on %.3g %% of the tokens", name, part)
		default:
			add(Fault, "record both after the same temperature, penalties and filters", "the %s log-probs of %.3g %% of the sampled tokens are other ones in the recorded head", name, part)
		}
	}
	if n := float64(c.n); n > 0 {
		word := map[bool]string{true: "exact", false: fmt.Sprintf("at least, and exact on %.3g %% of the tokens", 100*share(c.exact, c.n))}[c.exact == c.n]
		add(Note, "", "KL(rollout, learner) of the recorded heads: %.3g a token, %s; their mass is %.4f in the rollout engine, %.4f in the learner", c.kl/n, word, c.q/n, c.p/n)
	}
	return found, nil
}
