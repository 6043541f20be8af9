package diagnose

import "fmt"

const (
	// leastFloored is how many tokens must have a column's least value, belowFloor the share of them at which the other column is lower.
	leastFloored, belowFloor = 5, 0.8
)

// floor finds a column whose values were bounded from below, while those of the other go on.
type floor struct {
	tokens, responses int
	roll, old         lowest
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

// floored reports whether the least value is a floor.
func (l *lowest) floored() bool {
	return l.n >= leastFloored && l.rows > 1 && share(l.below, l.n) >= belowFloor
}

func (c *floor) add(v *view) {
	c.responses++
	for i, x := range v.roll {
		c.tokens++
		c.roll.add(x, v.old[i], c.responses)
		c.old.add(v.old[i], x, c.responses)
	}
}

func (c *floor) judge(e *evidence) outcome {
	if e.failed("column-not-real") || e.failed("sign-units") {
		return notApplicable("a column is of other numbers")
	}
	for _, column := range []struct {
		name string
		of   lowest
	}{{"rollout", c.roll}, {"learner's", c.old}} {
		if l := column.of; l.floored() {
			value := share(l.n, c.tokens)
			return fail(value, fmt.Sprintf("the %s log-probs were bounded from below at %.4g, the others go on: %d tokens (%.2g %%) in %s have that value", column.name, l.value, l.n, 100*value, count(l.rows, "response")),
				"record them without a floor, or mask the tokens below it")
		}
	}
	return pass(max(share(c.roll.n, c.tokens), share(c.old.n, c.tokens)), "")
}
