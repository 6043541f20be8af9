package diagnose

import (
	"fmt"
	"math"
	"slices"

	"driftlab/precision/elementary"
)

// mostCompared is how many responses of a scope are compared with the others.
const mostCompared = 1 << 19

// unlikely is the log-prob below which two equal responses are no accident: e⁻²⁰ is 2e-9.
const unlikely = -20

// duplicates finds responses that are in the dump more than once.
type duplicates struct {
	seen          map[uint64]bool
	rows, repeats int
}

func newDuplicates() *duplicates { return &duplicates{seen: map[uint64]bool{}} }

func (c *duplicates) add(v *view) {
	sum := 0.0
	for _, x := range v.roll {
		sum += x
	}
	c.rows++
	if !(sum < unlikely) {
		return
	}
	h := hashIDs(hashIDs(hashStart, v.row.Prompt), v.row.Token)
	if v.row.Token == nil { // then the log-probs tell
		for _, x := range v.roll {
			b := math.Float64bits(x)
			h = hashIDs(h, []int32{int32(b), int32(b >> 32)})
		}
	}
	if c.seen[h] {
		c.repeats++
	}
	if len(c.seen) < mostCompared {
		c.seen[h] = true
	}
}

func (c *duplicates) judge(*evidence) outcome {
	value := share(c.repeats, c.rows)
	if c.repeats > 0 {
		return fail(value, count(c.repeats, "response")+" a second time, token for token", "leave the copies out: they count twice in every mean")
	}
	if len(c.seen) == mostCompared {
		return pass(value, fmt.Sprintf("none is a copy of one of the first %d", mostCompared))
	}
	return pass(value, "")
}

const (
	// maskedShare is the share of trained tokens that the engine never scored.
	maskedShare = 0.01
	// surely is a log-prob of the learner's that no engine gives a probability of exactly 1.
	surely = -0.7
	// longRun is how many such tokens in a row are a prompt or a tool's reply.
	longRun = 6
)

// maskedIn finds tokens that are trained although the rollout engine has not
// generated them: it has exactly 0 where the learner has doubts.
type maskedIn struct {
	tokens, found, prompt, tool, placeholder int
	// Of whole responses, how many end in a single zero where the learner has any doubt, and how many such zeroes are elsewhere.
	responses, ends, elsewhere int
	k3, ended                  float64 // of all, and at these ends
}

const (
	// anyDoubt is a log-prob of the learner's at which no engine rounds to 0: of a sampled token that float32 has as certain the other engine has more.
	anyDoubt = -1e-3
	// leastEnds is how many responses that end in a zero are no accident.
	leastEnds = 5
)

func (c *maskedIn) add(v *view) {
	c.tokens += len(v.roll)
	if zeros(v.roll) {
		return // nothing of the response was recorded, which another check counts
	}
	if n := len(v.roll); n > 1 && v.whole {
		c.responses++
		for i, roll := range v.roll {
			d := v.old[i] - roll
			c.k3 += k3Of(d)
			switch zero := roll == 0 && v.old[i] < anyDoubt; {
			case zero && i == n-1 && v.roll[i-1] != 0:
				c.ends++
				c.ended += k3Of(d)
			case zero:
				c.elsewhere++
			}
		}
	}
	for from := 0; from < len(v.roll); {
		to, found := from, 0
		for to < len(v.roll) && v.roll[to] == 0 {
			if v.old[to] < surely {
				found++
			}
			to++
		}
		switch {
		case to-from < longRun || to == len(v.roll):
			c.placeholder += found
		case from == 0:
			c.prompt += found
		default:
			c.tool += found
		}
		c.found += found
		from = max(to, from+1)
	}
}

func (c *maskedIn) judge(e *evidence) outcome {
	value := share(c.found, c.tokens)
	switch {
	case e.failed("column-not-real"):
		return pass(value, "")
	case c.ends >= leastEnds && c.ends >= 10*c.elsewhere && 10*c.ends >= c.responses:
		return fail(share(c.ends, c.responses), fmt.Sprintf("the last token of %s has a rollout log-prob of exactly 0, and hardly any other token has: it was appended, not sampled, and holds %.0f %% of k3",
			ofResponses(c.ends, c.responses), 100*c.ended/max(c.k3, 1e-300)), "mask the token that was appended, or keep the end-of-sequence token that was sampled, with its log-prob")
	case value <= maskedShare:
		return pass(value, "")
	}
	why := fmt.Sprintf("on %.1f %% of the trained tokens the rollout log-prob is exactly 0 and the learner has doubts: ", 100*value)
	switch max(c.prompt, c.tool, c.placeholder) {
	case c.prompt:
		return fail(value, why+"prompts are trained", "mask the prompt")
	case c.tool:
		return fail(value, why+"replies of tools are trained", "mask what a tool wrote")
	}
	return fail(value, why+"zeroes stand for log-probs that were not recorded", "mask these tokens, or have them recorded")
}

const (
	// rowsNotReal is the share of responses from which a column that is not real in some of them is a fault.
	rowsNotReal = 0.01
	// byAccident is the chance below which a response is without any gap, or a token without doubt, for a reason.
	byAccident = 1e-6
	// doubted is a log-prob below which a token is not certain to either engine.
	doubted = -0.01
	// longest bounds the lengths that are distinguished.
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
	rows     int
	why, fix string
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
	if most.rows == copied {
		if o := onsetOf(e.sample); o != nil {
			return watch(value, fmt.Sprintf("in %s the two columns are equal to the last bit: %s", ofResponses(copied, c.responses), o.why))
		}
	}
	return fail(value, why, most.fix)
}

// lateMask finds a loss mask that begins late: right before it, the rollout engine has log-probs, which it has of what it
// generated, and nowhere else before it.
type lateMask struct {
	responses, late int
	by              [farthest + 1]int
}

func (c *lateMask) add(v *view) {
	if len(v.at) == 0 {
		return
	}
	before := slices.Concat(v.row.PromptRoll, v.row.Roll[:v.at[0]])
	if len(v.row.PromptRoll) != len(v.row.Prompt) {
		before = v.row.Roll[:v.at[0]]
	}
	n := 0
	for n < len(before) && before[len(before)-1-n] != 0 && isFinite(before[len(before)-1-n]) {
		n++
	}
	for i := v.at[0]; i < len(v.row.Mask); i++ {
		if !v.row.Mask[i] && v.row.Roll[i] != 0 && isFinite(v.row.Roll[i]) {
			return // other generated tokens are masked, too, which has a reason
		}
	}
	c.responses++
	if n > 0 && n <= farthest && (2*n <= len(before) || n == v.at[0]) && !slices.ContainsFunc(before[:len(before)-n], func(x float64) bool { return x != 0 && isFinite(x) }) {
		c.late++
		c.by[n]++
	}
}

func (c *lateMask) judge(*evidence) outcome {
	value := share(c.late, c.responses)
	if c.late < leastResponses || value < rowsNotReal {
		return pass(value, "")
	}
	by := 1
	for n, count := range c.by {
		if count > c.by[by] {
			by = n
		}
	}
	return fail(value, fmt.Sprintf("in %s %s before the loss mask although the rollout engine generated it, with a log-prob that is not 0: the mask begins late by %d",
		ofResponses(c.late, c.responses), []string{"", "a token stands", "two tokens stand", "three tokens stand"}[by], by), "shift the loss mask: it must begin with the first generated token")
}
