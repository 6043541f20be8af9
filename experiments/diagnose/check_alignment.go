package diagnose

import (
	"fmt"
	"math"
	"slices"
)

// misplaced is the share of the responses that tell from which columns that do not belong together are a fault.
const misplaced = 0.01

// wellFitted is the distance of aligned columns, over that by chance, up to which some responses are distinguished from the rest: where
// a gap is so large that aligned ones hardly fit, some fit elsewhere by accident. byChance is how far apart unrelated ones are.
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
		sum := 0.0
		for _, rho := range v.ratio {
			sum += rho
		}
		c.stale.add(lagOf(v.row) > 0 && sum <= float64(len(v.ratio)))
	}
	if a.place == shifted {
		c.by[a.by+farthest]++
	}
}

// distinct reports whether so many responses stand otherwise for a reason: they are most of them, or the rest fits well.
func (c *stood) distinct(n int) bool {
	return n > 0 && share(n, c.told) >= misplaced && (2*n >= c.told || c.apart[aligned] <= wellFitted*c.chance[aligned])
}

// shift finds responses in which all of one column is off by some tokens.
type shift struct{ stood }

func (c *shift) judge(e *evidence) outcome {
	if e.failed("sign-units") {
		return notApplicable("a column is of other numbers")
	}
	moved, most := c.n[shifted]+c.n[fromPrompt], 0
	for i, n := range c.by {
		if n > c.by[most] {
			most = i
		}
	}
	value := share(moved, c.told)
	if !c.distinct(moved) || c.n[slid] > moved { // a response that slides from its first tokens on is moved as a whole
		return pass(value, "")
	}
	const fix = "align the two columns: value i of both must belong to token i"
	if c.n[fromPrompt] >= c.by[most] {
		return fail(value, fmt.Sprintf("in %s the rollout column begins at the prompt's first token, not at the response's", ofResponses(moved, c.told)), fix)
	}
	by, which := most-farthest, "late"
	if by < 0 {
		by, which = -by, "early"
	}
	return fail(value, fmt.Sprintf("in %s the rollout log-probs stand %s too %s", ofResponses(moved, c.told), []string{"", "one token", "two tokens", "three tokens"}[by], which), fix)
}

// ofResponses is a part of the responses from which something can be concluded.
func ofResponses(n, of int) string {
	return fmt.Sprintf("%d of %d responses (%.0f %%)", n, of, 100*share(n, of))
}

// sameTokens finds responses whose columns fit nowhere: one is of other tokens, or reversed.
type sameTokens struct{ stood }

func (c *sameTokens) judge(e *evidence) outcome {
	if e.failed("sign-units") {
		return notApplicable("a column is of other numbers")
	}
	odd := c.n[reversed] + c.n[unrelated]
	value := share(odd, c.told)
	switch {
	case !c.distinct(odd):
		return pass(value, "")
	case c.n[reversed] > c.n[unrelated]:
		return fail(value, fmt.Sprintf("in %s one column is reversed: it fits the other from its end", ofResponses(odd, c.told)), "write both columns in the order of the tokens")
	case c.apart[unrelated] < byChance*c.chance[unrelated]:
		return pass(value, "") // far apart, and still not by chance: the gap is large
	case 2*c.stale.off > c.stale.all: // columns of other tokens have a mean ratio above 1, and weights that are far apart do not
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
	var odd []*kept
	for _, k := range rows {
		if k.stands.place == unrelated && len(odd) < mostExchanged {
			odd = append(odd, k)
		}
	}
	for _, k := range odd {
		if slices.ContainsFunc(odd, func(other *kept) bool {
			return other != k && (k.fitsTo(other, 0) || k.fitsTo(other, other.lead-k.lead))
		}) {
			n++
		}
	}
	return n, len(odd)
}

// fitsTo reports whether the learner's column fits another response's rollout column, which is late by so many tokens. Where
// whole sequences were exchanged, a response begins behind a prompt of another length.
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

// padded counts tokens and the responses that they are in.
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
	found := map[int32]int{}
	for from := 0; from < len(v.ok); {
		to := from
		for to < len(v.ok) && v.roll[to] == 0 && v.old[to] == 0 && v.sameID(from, to) {
			to++
		}
		atEnd := from == 0 || to == len(v.ok)
		switch n := to - from; {
		case v.row.Token != nil && n >= leastPadding && atEnd:
			found[v.row.Token[v.ok[from]]] += n
		case v.row.Token == nil && n >= longRun && atEnd:
			ended += n
		case v.row.Token == nil && n >= longRun:
			inside = true
		}
		from = max(to, from+1)
	}
	for id, n := range found { // counted by id: in any order
		if c.byID == nil {
			c.byID = map[int32]*padded{}
		}
		if c.byID[id] == nil && len(c.byID) < mostPaddingIDs {
			c.byID[id] = &padded{}
		}
		if p := c.byID[id]; p != nil {
			p.add(n)
		}
	}
	c.ended.add(ended)
	c.inside += count1(inside)
}

// sameID reports whether two tokens have the same id, or none is recorded.
func (v *view) sameID(i, j int) bool {
	return v.row.Token == nil || v.row.Token[v.ok[i]] == v.row.Token[v.ok[j]]
}

func (c *padding) judge(e *evidence) outcome {
	if e.failed("column-not-real") {
		return notApplicable("a column is not real")
	}
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
	if low < replacedBelow && high <= -replacedBelow {
		c.replaced++
	}
}

func (c *retokenised) judge(e *evidence) outcome {
	value := share(c.slid+c.replaced, c.responses)
	const fix = "give the learner the token ids that were sampled, and never the decoded text"
	switch l := e.logits(); {
	case e.failed("shift"):
		return notApplicable("all tokens are shifted")
	case share(c.slid, c.responses) >= misplaced:
		return fail(value, fmt.Sprintf("%d of %d responses have slid by a token somewhere, in %d others tokens are different ones: they were decoded and encoded again", c.slid, c.responses, c.replaced), fix)
	case value >= replacedShare && l.q999 > replacedTail*l.median:
		return fail(value, fmt.Sprintf("in %d of %d responses the learner scored tokens that were not sampled", c.replaced, c.responses), fix)
	}
	return pass(value, "")
}

// swapped asks of which column the law is that was sampled from: the mean of ρ = exp(old - roll) is 1 if it is the
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
	off := math.Abs(c.backward.sum - float64(c.backward.n)) // of the mean that the learner's column would have as the law
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
