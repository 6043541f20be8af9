package diagnose

import (
	"fmt"
	"math"
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
