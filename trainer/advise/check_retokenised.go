package advise

import (
	"fmt"
	"math"
)

const (
	// slidGain is how much closer, in nats, the columns must come behind a cut when one
	// of them is moved by a token, slidCap the most that one token may count, and
	// slidTokens how many tokens must lie behind the cut.
	slidGain, slidCap, slidTokens = 3, 2, 4
	// replacedBelow is the d of a token that the learner was not given.
	replacedBelow = -4
	// replacedShare is the share of responses with such a token that is a fault, where
	// the worst errors are also replacedTail times the median one.
	replacedShare = 0.08
	replacedTail  = 100
)

// retokenised finds responses whose tokens changed between the engines, since the
// text was decoded and encoded again: the rest of the response has slid by a token,
// or some tokens are others.
type retokenised struct{ responses, slid, replaced int }

func (c *retokenised) add(v *view) {
	if len(v.ok) == 0 {
		return
	}
	c.responses++
	low, high := 0.0, 0.0
	for i, roll := range v.roll {
		low, high = min(low, v.old[i]-roll), max(high, v.old[i]-roll)
	}
	switch {
	case v.slides(-1) || v.slides(1):
		c.slid++
	case low < replacedBelow && high <= -replacedBelow:
		c.replaced++
	}
}

// slides reports whether the columns fit better from some token on when one is moved.
func (v *view) slides(by int) bool {
	gain, count := 0.0, 0
	for n := len(v.ok) - 1; n >= 0; n-- {
		m := n + by
		if m < 0 || m >= len(v.ok) || v.ok[m] != v.ok[n]+by {
			continue
		}
		count++
		gain += min(math.Abs(v.old[n]-v.roll[n]), slidCap) - min(math.Abs(v.old[n]-v.roll[m]), slidCap)
		if gain > slidGain && count >= slidTokens {
			return true
		}
	}
	return false
}

func (c *retokenised) judge(e *evidence) outcome {
	value := share(c.slid+c.replaced, c.responses)
	const remedy = "give the learner the token ids that were sampled, and never the decoded text"
	switch l := e.logits(); {
	case e.failed("shift"):
		return notApplicable("all tokens are shifted")
	case c.slid > 0:
		return fail(value, fmt.Sprintf("%d of %d responses have slid by a token somewhere, in %d others tokens are different ones: they were decoded and encoded again", c.slid, c.responses, c.replaced), remedy)
	case value >= replacedShare && l.q999 > replacedTail*l.median:
		return fail(value, fmt.Sprintf("in %d of %d responses the learner scored tokens that were not sampled", c.replaced, c.responses), remedy)
	}
	return pass(value, "")
}
