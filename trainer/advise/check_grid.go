package advise

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
)

// grids are the formats that a column may have been rounded to, the coarsest first.
var grids = [...]string{"bfloat16", "1 decimal", "2 decimals", "3 decimals", "4 decimals", "float16"}

// storageGrid finds columns that were rounded on their way into the file.
type storageGrid struct{ roll, old gridCount }

// gridCount counts values below clearly that lie on each grid; near 0 a float32
// log-softmax is on a coarse grid anyway.
type gridCount struct {
	n   int
	on  [len(grids)]int
	ulp float64 // Σ of the distance between neighbours in bfloat16
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
	g.ulp += math.Float64frombits((exponent - 7) << 52)
}

// hasDecimals reports whether a number has no more than k decimals. A float32 has seven digits: what it prints as is
// whole to that precision.
func hasDecimals(x float64, k int) bool {
	scaled := float64(x * [...]float64{1, 1e1, 1e2, 1e3, 1e4}[k])
	return math.Abs(scaled-math.Round(scaled)) <= 1e-7*math.Abs(scaled)
}

// format is the coarsest grid that the values lie on.
func (g *gridCount) format() (name string, on float64) {
	if g.n < leastPairs {
		return "", 0
	}
	for i, n := range g.on {
		if s := share(n, g.n); s >= onGrid {
			return grids[i], s
		} else if s > on {
			on = s
		}
	}
	return "", on
}

func (c *storageGrid) add(v *view) {
	for i, x := range v.roll {
		c.roll.add(x)
		c.old.add(v.old[i])
	}
}

func (c *storageGrid) judge(e *evidence) outcome {
	if e.failed("column-not-real") {
		return notApplicable("a column is not real")
	}
	roll, on := c.roll.format()
	old, other := c.old.format()
	if roll == "" && old == "" {
		return pass(max(on, other), "")
	}
	which, format, g := "rollout", roll, &c.roll
	if roll == "" {
		which, format, g, on = "learner's", old, &c.old, other
	} else if old != "" {
		which = "rollout and the learner's"
	}
	why := fmt.Sprintf("the %s log-probs were rounded to %s", which, format)
	if format == grids[0] {
		why += fmt.Sprintf(": of the gap, mean |d| %.2g is the rounding's", g.ulp/float64(4*g.n))
	}
	return fail(on, why, "store them as float32, as they come out of the log-softmax")
}
