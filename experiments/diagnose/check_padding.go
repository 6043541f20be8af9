package diagnose

import "fmt"

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

// leastPadding is how many tokens in a row are padding, if their ids are equal.
const leastPadding = 3

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
		if c.byID[id] == nil {
			if c.byID == nil {
				c.byID = map[int32]*padded{}
			}
			c.byID[id] = &padded{}
		}
		c.byID[id].add(n)
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
