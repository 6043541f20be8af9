package diagnose

import (
	"fmt"
)

const (
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
	switch a := v.alignment(); a.place {
	case slid:
		c.slid++
		return
	case shifted, fromPrompt, reversed, unrelated:
		return // which other checks count
	}
	low, high := 0.0, 0.0
	for i, roll := range v.roll {
		low, high = min(low, v.old[i]-roll), max(high, v.old[i]-roll)
	}
	if low < replacedBelow && high <= -replacedBelow {
		c.replaced++
	}
}

func (c *retokenised) judge(e *evidence) outcome {
	value := share(c.slid+c.replaced, c.responses)
	const remedy = "give the learner the token ids that were sampled, and never the decoded text"
	switch l := e.logits(); {
	case e.failed("shift"):
		return notApplicable("all tokens are shifted")
	case share(c.slid, c.responses) >= misplaced:
		return fail(value, fmt.Sprintf("%d of %d responses have slid by a token somewhere, in %d others tokens are different ones: they were decoded and encoded again", c.slid, c.responses, c.replaced), remedy)
	case value >= replacedShare && l.q999 > replacedTail*l.median:
		return fail(value, fmt.Sprintf("in %d of %d responses the learner scored tokens that were not sampled", c.replaced, c.responses), remedy)
	}
	return pass(value, "")
}
