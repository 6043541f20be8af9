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

func (c *duplicates) add(v *view) {
	c.rows++
	if !(total(v.roll) < unlikely) {
		return
	}
	h := hashIDs(hashIDs(hashStart, v.row.Prompt), v.row.Token)
	if v.row.Token == nil { // then the log-probs tell
		for _, x := range v.roll {
			b := math.Float64bits(x)
			h = hashIDs(h, []int32{int32(b), int32(b >> 32)})
		}
	}
	c.repeats += count1(c.seen[h])
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
			found += count1(v.old[to] < surely)
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

// unreal are the ways in which a column of a response is not real, and what to do about them; the last one is a copy of the other column.
var unreal = [...]struct{ why, fix string }{
	{"the rollout log-probs are all zero: they were not recorded", "have every worker of the rollout engine return log-probs"},
	{"the learner's log-probs are all zero: its pass was skipped", "compute them for every response"},
	{"the rollout column is constant", "write one log-prob per token"},
	{"the learner's column is constant", "write one log-prob per token"},
	{"the two columns are equal to the last bit, while they differ in the others: one is a copy of the other", "record both engines' own log-probs for every response: where they are equal every weight is 1"},
}

// someNotReal finds responses whose columns are not real while those of others are: one of several workers did not record them.
type someNotReal struct {
	responses int
	rows      [len(unreal) - 1]int // by what is not real
	sums      int                  // flat columns that are the sum of the other one
	// Of responses with a gap, tokens in doubt and those of them without one; of those without any, how many tokens in
	// doubt they have.
	tokens, equal int
	copied        [longest + 1]int
}

func (c *someNotReal) add(v *view) {
	if len(v.ok) == 0 {
		return
	}
	c.responses++
	doubtful := func(x []float64) bool { return slices.ContainsFunc(x, func(p float64) bool { return p < surely }) }
	switch roll, old := zeros(v.roll), zeros(v.old); {
	case roll && !old && doubtful(v.old) && v.alignment().place != fromPrompt:
		c.rows[0]++
	case old && !roll && doubtful(v.roll):
		c.rows[1]++
	case flat(v.roll) && !flat(v.old):
		c.rows[2]++
		c.sums += count1(isSum(v.roll[0], v.old))
	case flat(v.old) && !flat(v.roll):
		c.rows[3]++
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

func isSum(x float64, column []float64) bool {
	sum := total(column)
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

func (c *someNotReal) judge(e *evidence) outcome {
	copied := c.copies()
	rows := append(c.rows[:], copied)
	most := slices.Max(rows)
	value := share(total(rows), c.responses)
	if value < rowsNotReal {
		return pass(value, "")
	}
	kind := unreal[slices.Index(rows, most)]
	why := fmt.Sprintf("in %s %s", ofResponses(most, c.responses), kind.why)
	if most == max(c.rows[2], c.rows[3]) && 2*c.sums > c.rows[2]+c.rows[3] {
		why += ", the sum of the response's log-probs"
	}
	if most == copied {
		if o := onsetOf(e.sample); o != nil {
			return watch(value, fmt.Sprintf("in %s the two columns are equal to the last bit: %s", ofResponses(copied, c.responses), o.why))
		}
	}
	return fail(value, why, kind.fix)
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
	by := slices.Index(c.by[:], slices.Max(c.by[:]))
	return fail(value, fmt.Sprintf("in %s %s before the loss mask although the rollout engine generated it, with a log-prob that is not 0: the mask begins late by %d",
		ofResponses(c.late, c.responses), []string{"", "a token stands", "two tokens stand", "three tokens stand"}[by], by), "shift the loss mask: it must begin with the first generated token")
}

// place is how the two columns of a response stand to each other.
type place int

// The places. A response of too little information is unclear.
const (
	unclear    place = iota
	aligned          // value i of both belongs to token i
	shifted          // all of one column is some tokens late or early
	fromPrompt       // the rollout column begins where the prompt does
	slid             // after some token the columns fit when one is moved by a token
	reversed         // the last value comes first
	unrelated        // they fit nowhere
)

// alignment is the place of a response, by how many tokens the rollout column is late, and the distance of its columns as
// they stand, and by chance.
type alignment struct {
	place       place
	by          int
	own, chance float64
}

const (
	// slidCap is the most that a token may count, in nats.
	slidCap = 2
	// A column fits where its mean distance to the other is at most fits of that between any two of
	// the response's values, and is unrelated from strange on. What is aligned may be as bad as atMost.
	fits, atMost, chanceLike = 0.35, 0.5, 0.75
	// informative is the least distance, in nats over the response, of two unrelated columns.
	informative = 4
	// farthest is the longest shift that is looked for.
	farthest = 3
	// slidGain is how much closer, in nats, the columns must come after a cut when one of them is moved by a
	// token, and slidTokens how many tokens must lie after it.
	slidGain, slidTokens = 3, 4
	// fewPairs is up to how many tokens all pairs are compared.
	fewPairs = 48
)

// distance is that of pairs of log-probs. A log-prob of exactly 0 says nothing of where it belongs.
type distance struct{ average }

func (s *distance) add(old, roll float64) {
	if old != 0 && roll != 0 {
		s.average.add(min(math.Abs(old-roll), slidCap))
	}
}

// anyTwo is the mean distance of any value of a column to any of the other: of all pairs, or of columns that are turned by
// a fifth to four fifths of the response.
func anyTwo(old, roll []float64) float64 {
	var s distance
	n := len(old)
	if n <= fewPairs {
		for i, x := range old {
			for j, y := range roll {
				if i != j {
					s.add(x, y)
				}
			}
		}
		return s.mean()
	}
	for part := 1; part < 5; part++ {
		turn := part * n / 5
		for i, x := range old {
			s.add(x, roll[(i+turn)%n])
		}
	}
	return s.mean()
}

// alignment is worked out once for a response.
func (v *view) alignment() alignment {
	if !v.placed {
		v.placed, v.stands = true, alignment{}
		if !flat(v.roll) && !flat(v.old) { // or it is no column of log-probs
			own := v.moved(0, 0, len(v.ok))
			chance := anyTwo(v.old, v.roll)
			v.stands = v.align(own, chance)
			v.stands.own, v.stands.chance = own.sum, float64(own.n)*chance
		}
	}
	return v.stands
}

func (v *view) align(own distance, chance float64) alignment {
	for _, by := range [...]int{-1, 1} {
		if v.slides(by, chance) {
			return alignment{place: slid, by: by}
		}
	}
	told, near := float64(own.n)*chance >= informative, own.mean() <= atMost*chance
	switch {
	case told && near && own.n >= len(v.roll)/2:
		return alignment{place: aligned}
	case v.beginsAtPrompt():
		return alignment{place: fromPrompt, by: -len(v.row.Prompt)}
	case !told:
		return alignment{}
	case near:
		return alignment{place: aligned}
	}
	best, least := alignment{}, fits*chance
	for by := -farthest; by <= farthest; by++ {
		if s := v.moved(by, 0, len(v.ok)); by != 0 && 2*s.n >= own.n && s.mean() <= least {
			best, least = alignment{place: shifted, by: by}, s.mean()
		}
	}
	var back distance
	for i, roll := range v.roll {
		back.add(v.old[len(v.old)-1-i], roll)
	}
	if 2*back.n >= own.n && back.mean() <= least {
		best = alignment{place: reversed}
	}
	if best.place == unclear && own.mean() >= chanceLike*chance {
		best.place = unrelated
	}
	return best
}

// moved is the distance from some token on, up to another, when the rollout column is late by this number of tokens.
func (v *view) moved(by, from, to int) (s distance) {
	for n := from; n < to; n++ {
		if m := n + by; m >= 0 && m < len(v.ok) && v.ok[m] == v.ok[n]+by {
			s.add(v.old[n], v.roll[m])
		}
	}
	return s
}

// slides reports whether the columns fit from some token on when one is moved, while those before fit as they stand.
func (v *view) slides(by int, chance float64) bool {
	gain, most, cut := 0.0, 0.0, -1
	for n, count := len(v.ok)-1, 0; n >= 0; n-- {
		m := n + by
		if m < 0 || m >= len(v.ok) || v.ok[m] != v.ok[n]+by {
			continue
		}
		count++
		gain += min(math.Abs(v.old[n]-v.roll[n]), slidCap) - min(math.Abs(v.old[n]-v.roll[m]), slidCap)
		if gain > slidGain && count >= slidTokens && gain > most {
			most, cut = gain, n
		}
	}
	if cut < 0 {
		return false
	}
	before, after := v.moved(0, 0, cut), v.moved(0, cut, len(v.ok))
	if v.moved(by, cut, len(v.ok)).mean() > atMost*after.mean() {
		return false
	}
	return before.mean() <= atMost*chance && v.moved(by, 0, cut).sum-before.sum > 1
}

// beginsAtPrompt reports whether the rollout column fits when it is read from the first token of the prompt on.
func (v *view) beginsAtPrompt() bool {
	r := v.row
	p := len(r.Prompt)
	if p <= farthest {
		return false
	}
	var old, roll []float64
	for n, i := range v.ok {
		x := math.NaN()
		switch {
		case i >= p:
			x = r.Roll[i-p]
		case i < len(r.PromptRoll):
			x = r.PromptRoll[i]
		}
		if isFinite(x) {
			old, roll = append(old, v.old[n]), append(roll, x)
		}
	}
	var s distance
	for i, x := range roll {
		s.add(old[i], x)
	}
	chance := anyTwo(old, roll)
	return float64(s.n)*chance >= 2*informative && s.mean() <= fits*chance
}

// misplaced is the share of the responses that tell from which columns that do not belong together are a fault.
const misplaced = 0.01

// wellFitted is the distance of aligned columns, over that by chance, up to which some responses are distinguished from the rest: where
// a gap is so large that aligned ones hardly fit, some fit elsewhere by accident. byChance is the distance of unrelated ones.
const wellFitted, byChance = 0.25, 0.9

// stood counts responses by how their columns stand.
type stood struct {
	told   int
	by     [2*farthest + 1]int
	n      [unrelated + 1]int
	stale  tokenCount             // of the unrelated: all, and those of old weights whose ratios are not above 1 in the mean
	apart  [unrelated + 1]float64 // Σ of their distances as they stand
	chance [unrelated + 1]float64 // Σ of what these would be by chance
}

func (c *stood) add(v *view) {
	a := v.alignment()
	if a.place == unclear {
		return
	}
	c.told++
	c.n[a.place]++
	c.apart[a.place] += a.own
	c.chance[a.place] += a.chance
	if a.place == unrelated {
		c.stale.add(lagOf(v.row) > 0 && total(v.ratio) <= float64(len(v.ratio)))
	}
	if a.place == shifted {
		c.by[a.by+farthest]++
	}
}

// distinct reports whether n responses stand otherwise for a reason: they are most of them, or the rest fits well.
func (c *stood) distinct(n int) bool {
	return n > 0 && share(n, c.told) >= misplaced && (2*n >= c.told || c.apart[aligned] <= wellFitted*c.chance[aligned])
}

// shift finds responses in which all of one column is off by some tokens.
type shift struct{ stood }

func (c *shift) judge(e *evidence) outcome {
	moved, most := c.n[shifted]+c.n[fromPrompt], slices.Index(c.by[:], slices.Max(c.by[:]))
	value := share(moved, c.told)
	if !c.distinct(moved) || c.n[slid] > moved { // a response that slides from its first tokens on is moved as a whole
		return pass(value, "")
	}
	const fix = "align the two columns: value i of both must belong to token i"
	if c.n[fromPrompt] >= c.by[most] {
		return fail(value, fmt.Sprintf("in %s the rollout column begins at the prompt's first token, not at the response's", ofResponses(moved, c.told)), fix)
	}
	by := [...]string{"three tokens too early", "two tokens too early", "one token too early", "", "one token too late", "two tokens too late", "three tokens too late"}[most]
	return fail(value, fmt.Sprintf("in %s the rollout log-probs stand %s", ofResponses(moved, c.told), by), fix)
}

// ofResponses is a part of the responses from which something can be concluded.
func ofResponses(n, of int) string {
	return fmt.Sprintf("%d of %d responses (%.0f %%)", n, of, 100*share(n, of))
}

// sameTokens finds responses whose columns fit nowhere: one is of other tokens, or reversed.
type sameTokens struct{ stood }

func (c *sameTokens) judge(e *evidence) outcome {
	odd := c.n[reversed] + c.n[unrelated]
	value := share(odd, c.told)
	switch {
	case !c.distinct(odd):
		return pass(value, "")
	case c.n[reversed] > c.n[unrelated]:
		return fail(value, fmt.Sprintf("in %s one column is reversed: it fits the other from its end", ofResponses(odd, c.told)), "write both columns in the order of the tokens")
	case c.apart[unrelated] < byChance*c.chance[unrelated]:
		return pass(value, "") // a large distance, and still not by chance: the gap is large
	case 2*c.stale.off > c.stale.all: // columns of other tokens have a mean ratio above 1, and weights at a large distance do not
		return cannotTell(value, fmt.Sprintf("in %s the two columns fit no better than by chance: their weights are as old as recorded and far from the learner's, or the columns are of other tokens", ofResponses(odd, c.told)))
	}
	why := fmt.Sprintf("in %s the two columns are not of the same tokens: they fit no better than any two log-probs of the response, at no shift", ofResponses(odd, c.told))
	if n, of := exchanged(e.sample); 2*n > of {
		return fail(value, fmt.Sprintf("in %s the rollout column is another response's: the rows of one column are permuted", ofResponses(odd, c.told)), "join the two columns by the response, not by its place in the batch")
	}
	return fail(value, why, "see that both columns are of the same response, with the same tokens in the same order")
}

// mostExchanged bounds how many responses are compared with each other, leastExchanged is how many tokens must fit.
const mostExchanged, leastExchanged = 256, 8

// exchanged is how many responses of a sample have a learner's column that fits the rollout column of another one, and not
// their own; of is how many were compared.
func exchanged(rows []*kept) (n, of int) {
	odd := slices.DeleteFunc(slices.Clone(rows), func(k *kept) bool { return k.stands.place != unrelated })
	odd = odd[:min(len(odd), mostExchanged)]
	n = countOf(odd, func(k *kept) bool {
		return slices.ContainsFunc(odd, func(other *kept) bool {
			return other != k && (k.fitsTo(other, 0) || k.fitsTo(other, other.lead-k.lead))
		})
	})
	return n, len(odd)
}

// fitsTo reports whether the learner's column fits another response's rollout column, which is late by this number of tokens. Where
// whole sequences were exchanged, a response begins after a prompt of another length.
func (k *kept) fitsTo(other *kept, by int) bool {
	var old, roll []float64
	var s distance
	for i, x := range k.old {
		if m := i + by; m >= 0 && m < len(other.roll) {
			old, roll = append(old, x), append(roll, other.roll[m])
			s.add(x, other.roll[m])
		}
	}
	return s.n >= leastExchanged && s.mean() <= fits*anyTwo(old, roll)
}

// padding finds padding that is trained: at an end of responses both columns are exactly 0 at several tokens in a row, which have
// the same id in all of them. In a dump without ids that is longer than anything of the kind inside of responses: a
// single token of 0 in both columns may be one that both engines are certain of.
type padding struct {
	tokens, responses int
	byID              map[int32]*padded
	ended             padded // of responses without ids
	inside            int    // responses without ids that have as many inside
}

type padded struct{ tokens, responses int }

func (p *padded) add(n int) {
	p.tokens += n
	p.responses += min(n, 1)
}

const (
	// leastPadding is how many tokens in a row are padding, if their ids are equal.
	leastPadding = 3
	// mostPaddingIDs is how many ids are counted: padding has one.
	mostPaddingIDs = 1 << 12
)

func (c *padding) add(v *view) {
	if len(v.ok) == 0 {
		return
	}
	c.responses++
	c.tokens += len(v.ok)
	ended, inside := 0, false
	ids, found := v.row.Token, map[int32]int{}
	for from := 0; from < len(v.ok); {
		to := from
		for to < len(v.ok) && v.roll[to] == 0 && v.old[to] == 0 && (ids == nil || ids[v.ok[to]] == ids[v.ok[from]]) {
			to++
		}
		atEnd := from == 0 || to == len(v.ok)
		switch n := to - from; {
		case ids != nil && n >= leastPadding && atEnd:
			found[ids[v.ok[from]]] += n
		case ids == nil && n >= longRun && atEnd:
			ended += n
		case ids == nil && n >= longRun:
			inside = true
		}
		from = max(to, from+1)
	}
	for id, n := range found { // counted by id: in any order
		if p := entry(&c.byID, id, mostPaddingIDs); p != nil {
			p.add(n)
		}
	}
	c.ended.add(ended)
	c.inside += count1(inside)
}

func (c *padding) judge(e *evidence) outcome {
	var most padded
	for _, p := range c.byID { // the largest, in any order
		if p.responses > most.responses || p.responses == most.responses && p.tokens > most.tokens {
			most = *p
		}
	}
	if 10*c.ended.responses >= c.responses && 10*c.inside < c.ended.responses && c.ended.responses > most.responses {
		most = c.ended
	}
	value := share(most.tokens, c.tokens)
	if value < rowsNotReal || share(most.responses, c.responses) < rowsNotReal {
		return pass(value, "")
	}
	return fail(value, fmt.Sprintf("in %s padding is trained: %.1f %% of the trained tokens are 0 in both columns, one behind the other", ofResponses(most.responses, c.responses), 100*value),
		"mask the padding: it has no gap, and makes every mean too small")
}

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
	c.replaced += count1(low < replacedBelow && high <= -replacedBelow)
}

func (c *retokenised) judge(e *evidence) outcome {
	value := share(c.slid+c.replaced, c.responses)
	const fix = "give the learner the token ids that were sampled, and never the decoded text"
	switch s := e.deviations(); {
	case share(c.slid, c.responses) >= misplaced:
		return fail(value, fmt.Sprintf("%d of %d responses have slid by a token somewhere, in %d others tokens are different ones: they were decoded and encoded again", c.slid, c.responses, c.replaced), fix)
	case value >= replacedShare && quantile(magnitudes(s.column(deviation.inLogits)), 0.999) > replacedTail*s.med:
		return fail(value, fmt.Sprintf("in %d of %d responses the learner scored tokens that were not sampled", c.replaced, c.responses), fix)
	}
	return pass(value, "")
}

// swapped asks which column has the distribution that was sampled from: the mean of ρ = exp(old - roll) is 1 if it is the
// rollout column's, that of 1/ρ if it is the learner's.
type swapped struct{ forward, backward lawIdentity }

func (c *swapped) add(v *view) {
	c.forward.add(v)
	before := c.backward.missing
	for i, rho := range v.ratio {
		c.backward.count(1/rho, v, i)
	}
	c.backward.response(c.backward.missing - before)
}

func (c *swapped) judge(e *evidence) outcome {
	z, back := c.forward.z(), c.backward.z()
	off := math.Abs(c.backward.sum - float64(c.backward.n)) // of the mean that the learner's column would have if it was sampled from
	switch {
	case e.found["structured-gap"].result != Pass: // of a raw rollout column the same is true
		return notApplicable("the sampling settings may differ")
	case z <= lawFault || off > max(float64(ofGap*c.backward.apart), lawWatch*c.backward.spread()) || c.forward.alone():
		return pass(z, "")
	}
	n := float64(max(c.forward.n, 1))
	return fail(z, fmt.Sprintf("the tokens were drawn from the learner's column: the mean of exp(roll - old) is %.4f (z %+.1f), that of exp(old - roll) %.4f (z %+.1f): the two columns are swapped",
		c.backward.sum/n, back, c.forward.sum/n, z), "swap them back: d is the learner's log-prob less the rollout engine's")
}
