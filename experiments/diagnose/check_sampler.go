package diagnose

import (
	"fmt"
	"math"

	"driftlab/precision/elementary"
)

const (
	// lawFault and lawWatch are the z of the mean ratio.
	lawFault, lawWatch = 4, 3
	// onlyOne is the share of Σρ that a single token may hold.
	onlyOne = 0.2
	// overflow bounds d before it becomes a ratio.
	overflow = 20
)

// lawIdentity asks whether the mean of ρ is the mass that sampling kept, 1 without
// top-p: on tokens that the rollout engine drew it is, whatever the learner thinks,
// unless the recorded log-probs are not those of the sampling distribution. It is
// blind to a learner at the wrong temperature, whose law is one as well.
type lawIdentity struct {
	n                        int
	sum, squares, most, mass float64
}

func (c *lawIdentity) add(v *view) {
	for i, rho := range v.ratio {
		c.count(rho, v, i)
	}
}

// count takes in the ratio of a token.
func (c *lawIdentity) count(rho float64, v *view, i int) {
	c.n++
	c.sum += rho
	c.squares += float64(rho * rho)
	c.most = max(c.most, rho)
	if mass := v.row.KeptMass; mass != nil && isFinite(mass[v.ok[i]]) {
		c.mass += mass[v.ok[i]]
	} else {
		c.mass++
	}
}

// z is how many standard errors the mean of ρ is from the mass that was kept.
func (c *lawIdentity) z() float64 {
	n := float64(c.n)
	variance := (c.squares - float64(c.sum*c.sum)/n) / (n - 1)
	if c.n < 2 || variance <= 0 {
		return 0
	}
	return (c.sum - c.mass) / n / math.Sqrt(variance/n)
}

func (c *lawIdentity) judge(e *evidence) outcome {
	z := c.z()
	why := fmt.Sprintf("the mean ratio is %.4f where it must be %.4f (z %+.1f)", c.sum/float64(max(c.n, 1)), c.mass/float64(max(c.n, 1)), z)
	switch size := math.Abs(z); {
	case size <= lawWatch:
		return pass(z, "")
	case c.most > onlyOne*c.sum:
		return watch(z, why+", but a single token makes it so")
	case size <= lawFault:
		return watch(z, why)
	}
	return fail(z, why+": the recorded log-probs are not those of the sampling distribution",
		"record log-probs as they are after temperature, top-p and top-k, and apply the same to the learner's")
}

const (
	// structured is the η² above which a gap is a function of the probability, and
	// halfStructured from where it may be.
	structured, halfStructured = 0.85, 0.75
)

// structuredGap asks how much of the errors the log-odds of a token explain: a wrong
// temperature or support is a function of them, rounding and old weights are not.
type structuredGap struct{}

func (structuredGap) add(*view) {}

func (structuredGap) judge(e *evidence) outcome {
	eta := e.logits().explained()
	switch {
	case eta > structured:
		return fail(eta, fmt.Sprintf("%.0f %% of the gap is a function of the token's probability alone: the engines apply different sampling settings", 100*eta),
			"the same temperature and support on both sides")
	case eta >= halfStructured:
		return watch(eta, fmt.Sprintf("%.0f %% of the gap is a function of the token's probability alone: stale weights that have sharpened, or a temperature", 100*eta))
	}
	return pass(eta, "")
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
		c.sum += elementary.Exp(max(-overflow, min(overflow, old-roll)))
	}
}

func (c *support) judge(e *evidence) outcome {
	found := c.roll + c.old
	value := share(found, c.tokens)
	if !e.failed("structured-gap") {
		return notApplicable("the gap is no function of the probability")
	}
	if value <= supportShare || share(max(c.roll, c.old), found) <= oneSign {
		return pass(value, "")
	}
	which, other := "rollout", "learner's"
	if c.old > c.roll {
		which, other = other, which
	}
	why := fmt.Sprintf("the %s log-probs are renormalised over a part of the vocabulary, the %s are not: mean ratio %.3f", which, other, c.sum/float64(max(c.tokens, 1)))
	if e.options.TopP > 0 && e.options.TopP < 1 {
		why += fmt.Sprintf(" at top-p %v", e.options.TopP)
	}
	return fail(value, why+" (top-p; min-p, top-k and forbidden words have the same effect)", "apply the same top-p to both, or train with top-p 1")
}

// The probabilities between which a slope of log-odds is measured.
const leastProbable, mostProbable = 0.05, 0.95

// temperature finds columns at different temperatures: their log-odds are proportional.
type temperature struct{}

func (temperature) add(*view) {}

func (temperature) judge(e *evidence) outcome {
	if !e.failed("structured-gap") {
		return notApplicable("the gap is no function of the probability")
	}
	if e.failed("support") {
		return notApplicable("the support explains it")
	}
	slope, n := logitSlope(e.sample)
	if n < leastPairs {
		return watch(slope, "the gap looks like a temperature, and too few tokens are in doubt to say which")
	}
	// The side that is raw has temperature 1, and only a raw rollout breaks the law's identity.
	which, other, t := "learner's", "rollout", slope
	if e.found["law-identity"].value > lawFault {
		which, other, t = "rollout", "learner", 1/slope
	}
	why := fmt.Sprintf("the %s log-probs are raw, at temperature 1, where the %s has about %.2f (±15 %%)", which, other, t)
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
