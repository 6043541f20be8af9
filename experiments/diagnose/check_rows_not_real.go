package diagnose

import (
	"fmt"
	"math"
	"slices"

	"driftlab/precision/elementary"
)

const (
	// rowsNotReal is the share of responses from which a column that is not real in some of them is a fault.
	rowsNotReal = 0.01
	// byAccident is the chance below which a response is without any gap, or a token without doubt, for a reason.
	byAccident = 1e-6
	// doubted is a log-prob below which a token is not certain to either engine.
	doubted = -0.01
	// longest bounds the lengths that are told apart.
	longest = 1 << 10
)

// zeros reports whether a column of several tokens is nothing but zeros.
func zeros(x []float64) bool {
	return len(x) >= leastLength && !slices.ContainsFunc(x, func(v float64) bool { return v != 0 })
}

// flat reports whether a column has the same value at every one of several tokens, which is not 0.
func flat(x []float64) bool {
	return len(x) >= leastLength && x[0] != 0 && !slices.ContainsFunc(x, func(v float64) bool { return v != x[0] })
}

// engines counts responses in which a column is not real.
type engines struct{ roll, old int }

// someNotReal finds responses whose columns are not real while those of others are: one of several workers did not record them.
type someNotReal struct {
	responses  int
	zero, flat engines
	sums       int // flat columns that are the sum of the other one
	// Of responses with a gap, tokens in doubt and those of them without one; of those without any, how many tokens in
	// doubt they have.
	tokens, equal int
	copied        [longest + 1]int
}

func newRowsNotReal() *someNotReal { return &someNotReal{} }

func (c *someNotReal) add(v *view) {
	if len(v.ok) == 0 {
		return
	}
	c.responses++
	doubtful := func(x []float64) bool { return slices.ContainsFunc(x, func(p float64) bool { return p < surely }) }
	switch roll, old := zeros(v.roll), zeros(v.old); {
	case roll && !old && doubtful(v.old) && v.alignment().place != fromPrompt:
		c.zero.roll++
	case old && !roll && doubtful(v.roll):
		c.zero.old++
	case flat(v.roll) && !flat(v.old):
		c.flat.roll++
		c.sums += count1(isSum(v.roll[0], v.old))
	case flat(v.old) && !flat(v.roll):
		c.flat.old++
		c.sums += count1(isSum(v.old[0], v.roll))
	default:
		tokens, equal := 0, 0
		for i, roll := range v.roll {
			if roll < doubted {
				tokens++
				equal += count1(roll == v.old[i])
			}
		}
		if equal < tokens {
			c.tokens, c.equal = c.tokens+tokens, c.equal+equal
		} else {
			c.copied[min(tokens, longest)]++
		}
	}
}

// isSum reports whether a value is about the sum of a column.
func isSum(x float64, column []float64) bool {
	sum := 0.0
	for _, v := range column {
		sum += v
	}
	return math.Abs(x-sum) <= 0.1*math.Abs(sum)
}

// copies are the responses whose columns are equal, which is no accident: that of a token is as likely as in the others.
func (c *someNotReal) copies() (n int) {
	if c.tokens == 0 {
		return 0
	}
	each := (float64(c.equal) + 1) / (float64(c.tokens) + 2)
	for tokens, rows := range c.copied {
		if elementary.Pow(each, float64(tokens)) < byAccident {
			n += rows
		}
	}
	return n
}

// rowsKind is a way in which columns are not real, of so many responses.
type rowsKind struct {
	rows        int
	why, remedy string
}

func (c *someNotReal) judge(e *evidence) outcome {
	if e.failed("column-not-real") {
		return notApplicable("a column is not real")
	}
	copied := c.copies()
	kinds := []rowsKind{
		{c.zero.roll, "the rollout log-probs are all zero: they were not recorded", "have every worker of the rollout engine return log-probs"},
		{c.zero.old, "the learner's log-probs are all zero: its pass was skipped", "compute them for every response"},
		{c.flat.roll, "the rollout column is constant", "write one log-prob per token"},
		{c.flat.old, "the learner's column is constant", "write one log-prob per token"},
		{copied, "the two columns are equal to the last bit, while they differ in the others: one is a copy of the other", "record both engines' own log-probs for every response: where they are equal every weight is 1"},
	}
	most := slices.MaxFunc(kinds, func(a, b rowsKind) int { return a.rows - b.rows })
	value := share(c.zero.roll+c.zero.old+c.flat.roll+c.flat.old+copied, c.responses)
	if value < rowsNotReal {
		return pass(value, "")
	}
	why := fmt.Sprintf("in %s %s", ofResponses(most.rows, c.responses), most.why)
	if flats := c.flat.roll + c.flat.old; most.rows == max(c.flat.roll, c.flat.old) && 2*c.sums > flats {
		why += ", the sum of the response's log-probs"
	}
	return fail(value, why, most.remedy)
}
