package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

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
	tokens    int
	roll, old column
	low       moments // of tokens where both columns are clearly below 0
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
		if v > 0 {
			c.positive++
		}
		if v >= 0 && v <= 1 {
			c.probable++
		}
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
	c.roll.add(v.roll, v.old, v.whole)
	c.old.add(v.old, v.roll, v.whole)
	for i, roll := range v.roll {
		if roll < clearly && v.old[i] < clearly {
			c.low.add(roll, v.old[i])
		}
	}
}

func (c *signUnits) judge(e *evidence) outcome {
	if e.failed("column-not-real") {
		return notApplicable("a column is not real")
	}
	for _, column := range []struct {
		name string
		of   *column
	}{{"rollout", &c.roll}, {"learner's", &c.old}} {
		o := column.of
		switch positive := share(o.positive, c.tokens); {
		case share(o.probable, c.tokens) > mostSigns && o.sum/float64(max(c.tokens, 1)) > 0.3:
			return fail(positive, "the "+column.name+" column holds probabilities, no log-probs", "take their logarithm")
		case positive > mostSigns:
			return fail(positive, "the "+column.name+" log-probs are positive: their sign is turned", "turn it back: log-probs are negative")
		case share(o.falling, o.responses) > mostSigns && o.steps.pearson() >= 0.9:
			return fail(share(o.falling, o.responses), "the "+column.name+" column falls all along a response: it is the sum so far", "write one log-prob per token")
		case share(o.flat, o.responses) > mostSigns:
			why := "the " + column.name + " column is constant within a response: "
			if 2*o.sums > o.flat {
				why += "it is the sum of the response's log-probs"
			} else {
				why += "it is the response's, not the token's"
			}
			return fail(share(o.flat, o.responses), why, "write one log-prob per token")
		}
	}
	value := max(share(c.roll.positive, c.tokens), share(c.old.positive, c.tokens))
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

// moments are the sums that a regression needs.
type moments struct {
	n                int
	x, y, xx, yy, xy float64
}

func (m *moments) add(x, y float64) {
	m.n++
	m.x, m.y = m.x+x, m.y+y
	m.xx, m.yy, m.xy = m.xx+float64(x*x), m.yy+float64(y*y), m.xy+float64(x*y)
}

// centred are the second moments about the means.
func (m *moments) centred() (xx, yy, xy float64) {
	n := float64(max(m.n, 1))
	return m.xx - float64(m.x*m.x)/n, m.yy - float64(m.y*m.y)/n, m.xy - float64(m.x*m.y)/n
}

// pearson is the correlation, 0 where there is none.
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

// occurrences are those of a response's tokens at these places.
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

// penalty finds a repetition, presence or frequency penalty that one engine alone applies: of the same token id, at the same
// log-odds, the error where the response has it already is another than where it comes first. Old weights have an error of an
// id, which is the same in both places; rounding has none.
type penalty struct{}

func (penalty) add(*view) {}

func (penalty) judge(e *evidence) outcome {
	if e.failed("structured-gap") {
		return notApplicable("the sampling settings differ")
	}
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
	var size []float64
	for i, x := range s.all {
		if x.id < 0 {
			return p
		}
		s.all[i].v = x.u
		size = append(size, math.Abs(x.u))
	}
	slices.Sort(size)
	values := s.withoutOdds(quantile(size, 0.98))
	type both struct {
		n   [2]float64
		sum [2]float64
	}
	ids := map[int32]*both{}
	var order []*both
	var d [2]moments
	for i, x := range s.all {
		how := s.rows[x.row].again[x.from]
		if how == prompted { // penalised by some, not by others
			continue
		}
		d[how].add(x.d, 0)
		b := ids[x.id]
		if b == nil {
			b = &both{}
			ids[x.id], order = b, append(order, b)
		}
		b.n[how]++
		b.sum[how] += values[i]
	}
	var weight, sum, squares float64
	for _, v := range values {
		squares += float64(v * v)
	}
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
	for _, column := range [...]struct {
		name   string
		values []float64
	}{{"rollout", v.roll}, {"learner's", v.old}} {
		if flat(column.values) {
			continue // not a value per token
		}
		for i, x := range column.values {
			if x <= aboveOne && x >= neverSampled {
				continue
			}
			if c.found++; c.found == 1 {
				c.first = fmt.Sprintf("%s: the %s log-prob of token %d is %.6g", v.place(), column.name, v.ok[i]+1, x)
			}
		}
	}
}

func (c *impossibleValue) judge(e *evidence) outcome {
	value := share(c.found, c.tokens)
	switch {
	case e.failed("column-not-real") || e.failed("sign-units"):
		return notApplicable("the values are not natural log-probs of tokens")
	case c.found == 0:
		return pass(value, "")
	}
	return fail(value, fmt.Sprintf("%s; %s above 0 or below %d in all", c.first, count(c.found, "value"), neverSampled),
		"find out what wrote it: a probability is at most 1, and a token with one of e^-100 is never sampled; mask it until then")
}

// place is the file and the line, or the sample, of the row.
func (v *view) place() string { return fmt.Sprintf("%s:%d", v.file, v.row.Line) }
