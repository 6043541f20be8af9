package diagnose

import (
	"fmt"
	"math"

	"driftlab/precision/elementary"
)

// A scope with fewer trained tokens or responses than these is not judged.
const (
	leastTokens    = 500
	leastResponses = 8
)

// usable asks whether there is enough to judge.
type usable struct{}

func (*usable) add(*view) {}

func (*usable) judge(e *evidence) outcome {
	value := float64(e.trained)
	if !e.enough() {
		return watch(value, fmt.Sprintf("only %s in %s: too few to judge", count(e.trained, "trained token"), count(e.answers, "response")))
	}
	return pass(value, count(e.trained, "trained token")+" in "+count(e.answers, "response"))
}

// enough reports whether the scope is judged at all.
func (e *evidence) enough() bool { return e.trained >= leastTokens && e.answers >= leastResponses }

// notReal is the share of zeroes from which a column was never filled: a log-prob
// of exactly 0 is a certain token, and not all tokens are certain.
const notReal = 0.999

// columnNotReal finds a column of zeroes.
type columnNotReal struct{ tokens, roll, old int }

func (c *columnNotReal) add(v *view) {
	for i, x := range v.roll {
		c.tokens++
		if x == 0 {
			c.roll++
		}
		if v.old[i] == 0 {
			c.old++
		}
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
			c.note(x)
		}
	}
}

func (c *nonFinite) note(x float64) {
	if x >= sentinel {
		return
	}
	if c.low == nil {
		c.low = map[float64]int{}
	}
	if _, known := c.low[x]; known || len(c.low) < mostSentinels {
		c.low[x]++
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
		if x == v.old[i] {
			c.equal++
		}
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
