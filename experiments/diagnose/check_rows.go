package diagnose

import (
	"fmt"
	"math"
)

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
	c.seen[h] = true
}

func (c *duplicates) judge(*evidence) outcome {
	value := share(c.repeats, c.rows)
	if c.repeats > 0 {
		return fail(value, count(c.repeats, "response")+" a second time, token for token", "leave the copies out: they count twice in every mean")
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
type maskedIn struct{ tokens, found, prompt, tool, placeholder int }

func (c *maskedIn) add(v *view) {
	c.tokens += len(v.roll)
	if zeros(v.roll) {
		return // nothing of the response was recorded, which another check counts
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
	if value <= maskedShare || e.failed("column-not-real") {
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
