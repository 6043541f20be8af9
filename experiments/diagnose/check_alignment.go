package diagnose

import (
	"fmt"
	"slices"
)

// misplaced is the share of the responses that tell from which columns that do not belong together are a fault.
const misplaced = 0.01

// wellFitted is the distance of aligned columns, over that by chance, up to which some responses are told from the rest: where
// a gap is so large that aligned ones hardly fit, some fit elsewhere by accident. byChance is how far apart unrelated ones are.
const wellFitted, byChance = 0.25, 0.9

// stood counts responses by how their columns stand.
type stood struct {
	told   int
	by     [2*farthest + 1]int
	n      [unrelated + 1]int
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
	if !c.distinct(moved) {
		return pass(value, "")
	}
	const remedy = "align the two columns: value i of both must belong to token i"
	if c.n[fromPrompt] >= c.by[most] {
		return fail(value, fmt.Sprintf("in %s the rollout column begins at the prompt's first token, not at the response's", ofResponses(moved, c.told)), remedy)
	}
	by, which := most-farthest, "late"
	if by < 0 {
		by, which = -by, "early"
	}
	return fail(value, fmt.Sprintf("in %s the rollout log-probs stand %s too %s", ofResponses(moved, c.told), []string{"", "one token", "two tokens", "three tokens"}[by], which), remedy)
}

// ofResponses is a part of the responses from which something can be told.
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
