package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"

	"driftlab/precision/elementary"
	"driftlab/results/stats"
)

// A scope with fewer trained tokens or responses than these is not judged.
const (
	leastTokens    = 500
	leastResponses = 8
)

func enoughTokens(e *evidence) outcome {
	value := float64(e.trained)
	if !e.enough() {
		return watch(value, fmt.Sprintf("only %s in %s: too few to judge", count(e.trained, "trained token"), count(e.answers, "response")))
	}
	return pass(value, count(e.trained, "trained token")+" in "+count(e.answers, "response"))
}

func (e *evidence) enough() bool { return e.trained >= leastTokens && e.answers >= leastResponses }

// notReal is the share of zeroes from which a column was never filled: a log-prob
// of exactly 0 is a certain token, and not all tokens are certain.
const notReal = 0.999

type columnNotReal struct{ tokens, roll, old int }

func (c *columnNotReal) add(v *view) {
	for i, x := range v.roll {
		c.tokens++
		c.roll += count1(x == 0)
		c.old += count1(v.old[i] == 0)
	}
}

func (c *columnNotReal) judge(*evidence) outcome {
	roll, old := share(c.roll, c.tokens), share(c.old, c.tokens)
	switch {
	case roll >= notReal && old >= notReal:
		return fail(roll, "both columns of log-probs are all zero", "record the log-probs of both engines")
	case roll >= notReal:
		return fail(roll, "the rollout log-probs are all zero: the engine was not asked for them", "have the rollout engine return log-probs: any importance weight is meaningless without them")
	case old >= notReal:
		return fail(old, "the learner's log-probs are all zero: its pass before the update was skipped", "compute them, as with force_on_policy_ratio off: any importance weight is meaningless without them")
	}
	return pass(max(roll, old), "")
}

// Values below sentinel that come more often than a few times are no log-probs.
const (
	sentinel        = -50
	sentinelRepeats = 3
	mostSentinels   = 1 << 10 // different values that are counted
)

// nonFinite finds values that are no log-probs.
type nonFinite struct {
	trained, bad int
	roll, old    notLogp
	first        string // where the first is
	low          map[float64]int
}

// notLogp counts the values of a column that are no log-probs, and those of them at which the other column is nearly certain.
type notLogp struct {
	n, certain int
	least      float64 // of the other column
}

func (c *notLogp) add(x, other float64) {
	if isLogp(x) {
		return
	}
	c.n++
	if isLogp(other) {
		c.certain += count1(other > doubted)
		c.least = min(c.least, other)
	}
}

func (c *nonFinite) add(v *view) {
	c.trained, c.bad = c.trained+len(v.at), c.bad+len(v.at)-len(v.ok)
	for _, at := range v.at {
		c.roll.add(v.row.Roll[at], v.row.Old[at])
		c.old.add(v.row.Old[at], v.row.Roll[at])
	}
	if c.bad > 0 && c.first == "" {
		c.first = ", the first in " + v.place()
	}
	for _, column := range [...][]float64{v.roll, v.old} {
		if flat(column) { // a response's sum on all of its tokens is low, too: see whether other responses have the same value
			column = column[:1]
		}
		for _, x := range column {
			if c.low[x] > 0 || x < sentinel && len(c.low) < mostSentinels {
				c.low[x]++
			}
		}
	}
}

func (c *nonFinite) judge(*evidence) outcome {
	most, repeated := 0, 0.0
	for x, n := range c.low {
		if n > most || n == most && x < repeated {
			most, repeated = n, x
		}
	}
	value := share(c.bad, c.trained)
	switch {
	case c.bad > 0:
		which, of, other := "both columns", c.roll, "the other engine"
		switch {
		case c.old.n == 0:
			which, other = "the rollout column only", "the learner"
		case c.roll.n == 0:
			which, of, other = "the learner's column only", c.old, "the rollout engine"
		}
		why := fmt.Sprintf("%d of %d trained tokens have a NaN, an infinity, null or a number beyond 1e6 for a log-prob, in %s%s", c.bad, c.trained, which, c.first)
		if c.roll.n*c.old.n == 0 && of.certain == of.n && value < rowsNotReal {
			return watch(value, fmt.Sprintf("%s; all of them are tokens that %s is certain of (probability %.4g or more): the policy is nearly deterministic there (its entropy has collapsed), and the ratio of these tokens is 1; the rest is judged without them", why, other, math.Floor(1e4*elementary.Exp(of.least))/1e4))
		}
		return fail(value, why, "find out which engine writes them, and mask these tokens until then")
	case most > sentinelRepeats:
		return fail(share(most, c.trained), fmt.Sprintf("the value %v stands for a log-prob %d times", repeated, most), "it is a placeholder: mask these tokens")
	}
	return pass(value, "")
}

// equalShare is the share of tokens without a gap from which two columns are equal.
const equalShare = 0.999

// unknownCopy is what is said of columns that are equal where no prompt tells why.
const unknownCopy = "there is no gap at all, and nothing is recorded on the prompt that would distinguish equal engines from a copied column"

// identical asks what it means that there is no gap at all: a prompt tells a copied
// column, since the engine that samples does not score it.
type identical struct{ tokens, equal, prompt, copied, silent int }

func (c *identical) add(v *view) {
	for i, x := range v.roll {
		c.tokens++
		c.equal += count1(x == v.old[i])
	}
	roll, old := v.row.PromptRoll, v.row.PromptOld
	for i := range min(len(roll), len(old)) {
		if i == 0 && len(roll) > 1 {
			continue // nothing predicts the first token
		}
		if roll[i] == 0 && old[i] == 0 {
			continue // neither engine scored the prompt
		}
		c.prompt++
		switch {
		case roll[i] == 0:
			c.silent++
		case roll[i] == old[i]:
			c.copied++
		}
	}
}

func (c *identical) judge(*evidence) outcome {
	value := share(c.equal, c.tokens)
	switch {
	case value < equalShare:
		return pass(value, "")
	case share(c.copied, c.prompt) > 0.5:
		return fail(value, "the two columns are the same, on the prompt as well, which a rollout engine does not score: one is a copy of the other",
			"record the rollout engine's own log-probs: every correction is off, its weights are all 1")
	case share(c.silent, c.prompt) > 0.5:
		return pass(value, "there is no gap: equal engines, or a bypass that takes the rollout's log-probs for the learner's; every weight is 1")
	}
	return watch(value, unknownCopy)
}

const (
	// mostSigns is the share of values, and of responses, above which a pattern is the rule.
	mostSigns = 0.99
	// clearly is what a log-prob is below where its unit shows: near 0 all units are alike.
	clearly = -0.5
	// straight is the correlation above which one column is a multiple of the other.
	straight = 0.95
	// slopeOff is how far a slope may be from that of a base.
	slopeOff = 0.02
	// leastPairs is how many tokens a regression needs.
	leastPairs = 50
	// leastLength is how many tokens make a response that can rise, fall or stand still.
	leastLength = 5
)

// bases are the slopes of old on roll when one of them is in another logarithm.
var bases = []struct {
	slope float64
	says  string
}{
	{1 / math.Ln2, "the learner's log-probs are in base 2"},
	{math.Ln2, "the rollout log-probs are in base 2"},
	{1 / math.Ln10, "the learner's log-probs are in base 10"},
	{math.Ln10, "the rollout log-probs are in base 10"},
}

// signUnits finds columns that are no natural logarithms of a token's probability.
type signUnits struct {
	tokens  int
	columns [len(sideNames)]column
	low     moments // of tokens where both columns are clearly below 0
}

// column is what is counted of one of the two columns.
type column struct {
	positive, probable int
	sum                float64
	// responses are those that are long enough, falling and flat those of them that
	// never rise and those that stand still; steps compares their differences with the other column.
	responses, falling, flat int
	sums                     int // standing still at about the sum of the other column
	steps                    moments
}

func (c *column) add(x, other []float64, whole bool) {
	falling, flat := true, true
	for i, v := range x {
		c.positive += count1(v > 0)
		c.probable += count1(v >= 0 && v <= 1)
		c.sum += v
		if i > 0 {
			falling, flat = falling && v <= x[i-1], flat && v == x[i-1]
		}
	}
	if !whole || len(x) < leastLength {
		return
	}
	c.responses++
	if flat {
		c.flat++
		c.sums += count1(isSum(x[0], other))
		return
	}
	if falling {
		c.falling++
		for i := 1; i < len(x); i++ {
			c.steps.add(x[i]-x[i-1], other[i])
		}
	}
}

func (c *signUnits) add(v *view) {
	c.tokens += len(v.roll)
	c.columns[0].add(v.roll, v.old, v.whole)
	c.columns[1].add(v.old, v.roll, v.whole)
	for i, roll := range v.roll {
		if roll < clearly && v.old[i] < clearly {
			c.low.add(roll, v.old[i])
		}
	}
}

func (c *signUnits) judge(e *evidence) outcome {
	for i, o := range c.columns {
		name := "the " + sideNames[i]
		switch positive := share(o.positive, c.tokens); {
		case share(o.probable, c.tokens) > mostSigns && o.sum/float64(max(c.tokens, 1)) > 0.3:
			return fail(positive, name+" column holds probabilities, no log-probs", "take their logarithm")
		case positive > mostSigns:
			return fail(positive, name+" log-probs are positive: their sign is turned", "turn it back: log-probs are negative")
		case share(o.falling, o.responses) > mostSigns && o.steps.pearson() >= 0.9:
			return fail(share(o.falling, o.responses), name+" column falls all along a response: it is the sum so far", "write one log-prob per token")
		case share(o.flat, o.responses) > mostSigns:
			why := name + " column is constant within a response: "
			if 2*o.sums > o.flat {
				why += "it is the sum of the response's log-probs"
			} else {
				why += "it is the response's, not the token's"
			}
			return fail(share(o.flat, o.responses), why, "write one log-prob per token")
		}
	}
	value := share(max(c.columns[0].positive, c.columns[1].positive), c.tokens)
	if c.low.n >= leastPairs && c.low.pearson() >= straight {
		slope := c.low.xy / c.low.xx
		for _, b := range bases {
			if math.Abs(slope/b.slope-1) <= slopeOff {
				return fail(slope, fmt.Sprintf("%s: %.3f times the others", b.says, slope), "write natural logarithms")
			}
		}
	}
	return pass(value, "")
}

type moments struct {
	n                int
	x, y, xx, yy, xy float64
}

func (m *moments) add(x, y float64) {
	m.n++
	m.x, m.y = m.x+x, m.y+y
	m.xx, m.yy, m.xy = m.xx+float64(x*x), m.yy+float64(y*y), m.xy+float64(x*y)
}

func (m *moments) centred() (xx, yy, xy float64) {
	n := float64(max(m.n, 1))
	return m.xx - float64(m.x*m.x)/n, m.yy - float64(m.y*m.y)/n, m.xy - float64(m.x*m.y)/n
}

func (m *moments) pearson() float64 {
	xx, yy, xy := m.centred()
	if m.n < 2 || xx <= 0 || yy <= 0 {
		return 0
	}
	return xy / math.Sqrt(float64(xx*yy))
}

// How a token's id has occurred before: not at all, in the response, or in the prompt alone.
const (
	firstTime uint8 = iota
	repeated
	prompted
)

// occurrences says of the tokens at these places how their ids have occurred before.
func occurrences(prompt, ids []int32, at []int) []uint8 {
	if ids == nil {
		return nil
	}
	seen := map[int32]uint8{}
	for _, id := range prompt {
		seen[id] = prompted
	}
	list, next := make([]uint8, 0, len(at)), 0
	for i, id := range ids {
		if next < len(at) && at[next] == i {
			list = append(list, seen[id])
			next++
		}
		seen[id] = repeated
	}
	return list
}

const (
	// penalised is the part of the squared errors that repetition explains from which a penalty is a fault, hardlyPenalised
	// from where it may be one, and repetitionZ how many standard errors the errors of repeated ids must be off.
	penalised, hardlyPenalised, repetitionZ = 0.15, 0.05, 6
	// leastOfIDs is how many tokens of ids that come both ways are needed.
	leastOfIDs = 100
)

// penaltyOf finds a repetition, presence or frequency penalty that one engine alone applies: of the same token id, at the same
// log-odds, the error where the response has it already is another than where it comes first. Old weights have an error of an
// id, which is the same in both places; rounding has none.
func penaltyOf(e *evidence) outcome {
	p := repetitionOf(e.sample)
	if p.tokens < leastOfIDs {
		return notApplicable("too few token ids are there both for the first time and again")
	}
	which, other := "rollout engine", "learner"
	if p.effect < 0 {
		which, other = other, which
	}
	why := fmt.Sprintf("on token ids that the response already has, mean d is %+.2f, on others %+.2f; of the same id the logits differ by %.2g, which is %.0f %% of the squared errors: the %s applies a repetition, presence or frequency penalty, the %s does not",
		p.again, p.first, math.Abs(p.effect), 100*p.explained, which, other)
	switch {
	case math.Abs(p.z) <= repetitionZ || p.explained < hardlyPenalised:
		return pass(p.explained, "")
	case p.explained < penalised:
		return watch(p.explained, why)
	}
	return fail(p.explained, why, "sample with repetition_penalty 1, presence_penalty 0 and frequency_penalty 0, or apply the same to the learner's logits")
}

// repetition is how errors differ between tokens whose id the response already has and others of the same id.
type repetition struct {
	tokens       int     // of ids that come both ways
	again, first float64 // mean d
	effect, z    float64 // in logits
	explained    float64 // of the squared errors
}

func repetitionOf(rows []*kept) (p repetition) {
	s := deviationsOf(rows)
	for i, x := range s.all {
		if x.id < 0 {
			return p
		}
		s.all[i].v = x.u
	}
	values := s.withoutOdds(quantile(magnitudes(s.column(deviation.inLogits)), 0.98))
	type both struct {
		n   [2]float64
		sum [2]float64
	}
	var ids map[int32]*both
	var order []*both
	var d [2]moments
	for i, x := range s.all {
		how := s.rows[x.row].again[x.from]
		if how == prompted { // penalised by some, not by others
			continue
		}
		d[how].add(x.d, 0)
		b := entry(&ids, x.id, math.MaxInt)
		if b.n == [2]float64{} {
			order = append(order, b)
		}
		b.n[how]++
		b.sum[how] += values[i]
	}
	weight, sum, squares := 0.0, 0.0, stats.Dot(values, values)
	for _, b := range order {
		if b.n[0] == 0 || b.n[1] == 0 {
			continue
		}
		w := b.n[0] * b.n[1] / (b.n[0] + b.n[1])
		weight += w
		sum += float64(w * (b.sum[1]/b.n[1] - b.sum[0]/b.n[0]))
		p.tokens += int(b.n[0] + b.n[1])
	}
	if weight == 0 || squares == 0 {
		return repetition{}
	}
	variance := squares / float64(len(values))
	p.effect = sum / weight
	p.z = p.effect / math.Sqrt(variance/weight)
	part := float64(d[1].n) / float64(cmp.Or(d[0].n+d[1].n, 1))
	p.explained = min(1, p.effect*p.effect*part*(1-part)/variance)
	p.first, p.again = d[0].x/float64(max(d[0].n, 1)), d[1].x/float64(max(d[1].n, 1))
	return p
}

const (
	// aboveOne is a log-prob of a probability that is above 1 by more than rounding.
	aboveOne = 1e-3
	// neverSampled is a log-prob of a token that no run samples: its chance is e⁻¹⁰⁰.
	neverSampled = -100
	// overscale is the size from which a number is no log-prob in any unit, nor a sum of log-probs: it is taken for not finite.
	overscale = 1e6
)

// isLogp reports whether a number can be measured as a log-prob, in whatever unit.
func isLogp(x float64) bool { return x >= -overscale && x <= overscale }

// impossibleValue finds single values that no softmax gives to a token that was sampled, and says where they are. A column
// that is full of them has other units or another sign, which the check before finds.
type impossibleValue struct {
	tokens, found int
	first         string
}

func (c *impossibleValue) add(v *view) {
	c.tokens += len(v.ok)
	for side, column := range [...][]float64{v.roll, v.old} {
		if flat(column) {
			continue // not a value per token
		}
		for i, x := range column {
			if x <= aboveOne && x >= neverSampled {
				continue
			}
			if c.found++; c.found == 1 {
				c.first = fmt.Sprintf("%s: the %s log-prob of token %d is %.6g", v.place(), sideNames[side], v.ok[i]+1, x)
			}
		}
	}
}

func (c *impossibleValue) judge(e *evidence) outcome {
	value := share(c.found, c.tokens)
	if c.found == 0 {
		return pass(value, "")
	}
	return fail(value, fmt.Sprintf("%s; %s above 0 or below %d in all", c.first, count(c.found, "value"), neverSampled),
		"find out what wrote it: a probability is at most 1, and a token with one of e^-100 is never sampled; mask it until then")
}

func (v *view) place() string { return fmt.Sprintf("%s:%d", v.file, v.row.Line) }

const (
	// onGrid is the share of values on a grid from which a column was stored on it: a
	// float32 is on the coarser ones by a chance of 2⁻¹³.
	onGrid = 0.95
	// The mantissa of a float32 has 23 bits, of a bfloat16 7, of a float16 10.
	bf16Zeroes, fp16Zeroes = 16, 13
	mostDecimals           = 4
	// farBelow is the part of the gap below which rounding on the way into the file changes nothing: errors add in
	// squares, and that is one in 800.
	farBelow = 0.05
)

// grids are the formats that a column may have been rounded to, the coarsest first.
var grids = [...]string{"bfloat16", "1 decimal", "2 decimals", "3 decimals", "4 decimals", "float16"}

// storageGrid finds columns that were rounded on their way into the file.
type storageGrid struct {
	roll, old gridCount
	gap       average // |d| of tokens where either is clearly below 0
}

// gridCount counts values below clearly that lie on each grid; near 0 a float32
// log-softmax is on a coarse grid anyway.
type gridCount struct {
	n    int
	on   [len(grids)]int
	step [len(grids)]float64 // Σ of the distance between neighbours
}

func (g *gridCount) add(x float64) {
	if x >= clearly {
		return
	}
	g.n++
	narrow := float32(x)
	zeroes := bits.TrailingZeros32(math.Float32bits(narrow) | 1<<23)
	g.on[0] += count1(zeroes >= bf16Zeroes)
	g.on[5] += count1(zeroes >= fp16Zeroes)
	for k := mostDecimals; k >= 1; k-- {
		scaled := float64(x * powersOfTen[k])
		if math.Abs(scaled-math.Round(scaled)) > 1e-7*math.Abs(scaled) { // a float32 has seven digits: what it prints as is whole to that precision
			break
		}
		g.on[k]++
	}
	exponent := math.Float64bits(x) >> 52 & 0x7ff // x is finite, and far from 0
	g.step[0] += math.Float64frombits((exponent - 7) << 52)
	g.step[len(grids)-1] += math.Float64frombits((exponent - 10) << 52)
	for k := 1; k <= mostDecimals; k++ {
		g.step[k] += 1 / powersOfTen[k]
	}
}

var powersOfTen = [...]float64{1, 1e1, 1e2, 1e3, 1e4}

// format is the coarsest grid that the values lie on, -1 if there is none.
func (g *gridCount) format() (grid int, on float64) {
	if g.n < leastPairs {
		return -1, 0
	}
	for i, n := range g.on {
		if s := share(n, g.n); s >= onGrid {
			return i, s
		} else if s > on {
			on = s
		}
	}
	return -1, on
}

// rounding is the mean |d| that comes of a grid alone: a quarter of a step.
func (g *gridCount) rounding(grid int) float64 {
	if grid < 0 {
		return 0
	}
	return g.step[grid] / float64(4*g.n)
}

func (c *storageGrid) add(v *view) {
	for i, x := range v.roll {
		c.roll.add(x)
		c.old.add(v.old[i])
		if x < clearly || v.old[i] < clearly {
			c.gap.add(math.Abs(v.old[i] - x))
		}
	}
}

func (c *storageGrid) judge(e *evidence) outcome {
	roll, on := c.roll.format()
	old, other := c.old.format()
	if roll < 0 && old < 0 {
		return pass(max(on, other), "")
	}
	which, format := "rollout", roll
	if roll < 0 {
		which, format, on = "learner's", old, other
	} else if old >= 0 {
		which = "rollout and the learner's"
	}
	rounding, gap := max(c.roll.rounding(roll), c.old.rounding(old)), c.gap.mean()
	why := fmt.Sprintf("the %s log-probs were rounded to %s: where they are below %v, mean |d| is %.2g, of which rounding alone makes %.2g", which, grids[format], clearly, gap, rounding)
	if rounding < farBelow*gap {
		return watch(on, why)
	}
	return fail(on, why, "store them as float32, as they come out of the log-softmax")
}

const (
	// leastFloored is how many tokens must have a column's least value, belowFloor the share of them at which the other column is lower.
	leastFloored, belowFloor = 5, 0.8
)

// floor finds a column whose values were bounded from below, while those of the other go on.
type floor struct {
	tokens, responses int
	lowest            [len(sideNames)]lowest
}

// lowest is a column's least value, how many tokens have it, and at how many of these the other column is lower.
type lowest struct {
	value      float64
	n, below   int
	rows, last int // responses with it, and the last of them
}

func (l *lowest) add(x, other float64, response int) {
	if l.n == 0 || x < l.value {
		*l = lowest{value: x, last: -1}
	}
	if x > l.value {
		return
	}
	l.n++
	l.below += count1(other < x)
	if l.last != response {
		l.last = response
		l.rows++
	}
}

func (c *floor) add(v *view) {
	c.responses++
	for i, x := range v.roll {
		c.tokens++
		c.lowest[0].add(x, v.old[i], c.responses)
		c.lowest[1].add(v.old[i], x, c.responses)
	}
}

func (c *floor) judge(e *evidence) outcome {
	for i, l := range c.lowest {
		// A least value near 0 belongs to a token that is nearly certain wherever it comes.
		if l.value < clearly && l.n >= leastFloored && l.rows > 1 && share(l.below, l.n) >= belowFloor {
			value := share(l.n, c.tokens)
			return fail(value, fmt.Sprintf("the %s log-probs were bounded from below at %.4g, the others go on: %d tokens (%.2g %%) in %s have that value", sideNames[i], l.value, l.n, 100*value, count(l.rows, "response")),
				"record them without a floor, or mask the tokens below it")
		}
	}
	return pass(share(max(c.lowest[0].n, c.lowest[1].n), c.tokens), "")
}
