package diagnose

import (
	"fmt"
	"math"
	"math/bits"
)

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
	gap       float64 // Σ|d| of tokens where either is clearly below 0
	n         int
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
	if zeroes >= bf16Zeroes {
		g.on[0]++
	}
	if zeroes >= fp16Zeroes {
		g.on[5]++
	}
	for k := mostDecimals; k >= 1 && hasDecimals(x, k); k-- {
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

// hasDecimals reports whether a number has no more than k decimals. A float32 has seven digits: what it prints as is
// whole to that precision.
func hasDecimals(x float64, k int) bool {
	scaled := float64(x * powersOfTen[k])
	return math.Abs(scaled-math.Round(scaled)) <= 1e-7*math.Abs(scaled)
}

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
			c.gap += math.Abs(v.old[i] - x)
			c.n++
		}
	}
}

func (c *storageGrid) judge(e *evidence) outcome {
	if e.failed("column-not-real") {
		return notApplicable("a column is not real")
	}
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
	rounding, gap := max(c.roll.rounding(roll), c.old.rounding(old)), c.gap/float64(max(c.n, 1))
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

// floored reports whether the least value is a floor. One near 0 is that of a token that is nearly sure wherever it comes.
func (l *lowest) floored() bool {
	return l.value < clearly && l.n >= leastFloored && l.rows > 1 && share(l.below, l.n) >= belowFloor
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
