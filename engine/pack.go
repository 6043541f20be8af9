package engine

import "fmt"

// Pack is token sequences laid end to end, without padding: row r of a pass is
// Tokens[r]. Row r predicts the token at row r+1 of its sequence.
//
// Sequences that begin alike may share their beginning: it is then a prefix, a
// sequence by itself, and what goes on from it attends to its keys and values
// before its own. A row's numbers depend on its beginning alone, so where the
// numerics decode as they score, sharing changes no bit of them.
type Pack struct {
	// Offsets has one entry more than there are sequences; sequence s owns the
	// rows Offsets[s]..Offsets[s+1].
	Offsets []int
	// Tokens are vocabulary ids.
	Tokens []int32
	// Positions are the rows' positions in their sequences; within a sequence
	// they count up by one.
	Positions []int32
	// Prefixes is the number of sequences that others go on from, the first ones of
	// the pack. After has for each sequence the one it goes on from, -1 for none;
	// a prefix goes on from none.
	Prefixes int
	After    []int32
	// Targets lists, in increasing order, the rows whose next-token
	// distribution is wanted; nil means every row.
	Targets []int32
}

// Reset empties the pack and keeps its memory.
func (p *Pack) Reset() {
	p.Offsets = append(p.Offsets[:0], 0)
	p.Tokens, p.Positions, p.Targets = p.Tokens[:0], p.Positions[:0], nil
	p.Prefixes, p.After = 0, p.After[:0]
}

// Add appends a sequence whose first token stands at position first.
func (p *Pack) Add(first int, tokens ...[]int32) {
	if len(p.Offsets) == 0 {
		p.Offsets = append(p.Offsets, 0)
	}
	position := int32(first)
	for _, part := range tokens {
		for _, t := range part {
			p.Tokens = append(p.Tokens, t)
			p.Positions = append(p.Positions, position)
			position++
		}
	}
	p.Offsets, p.After = append(p.Offsets, len(p.Tokens)), append(p.After, -1)
}

// AddPrefix appends a sequence for others to go on from, and returns its number.
// Prefixes come before all other sequences.
func (p *Pack) AddPrefix(tokens ...[]int32) int {
	if p.Prefixes != p.Sequences() {
		panic(fmt.Sprintf("engine: a prefix behind %d sequences, %d of which are prefixes", p.Sequences(), p.Prefixes))
	}
	p.Add(0, tokens...)
	p.Prefixes++
	return p.Prefixes - 1
}

// AddAfter appends a sequence that goes on from a prefix.
func (p *Pack) AddAfter(prefix int, tokens ...[]int32) {
	if prefix >= p.Prefixes {
		panic(fmt.Sprintf("engine: a sequence after prefix %d of %d", prefix, p.Prefixes))
	}
	p.Add(p.Offsets[prefix+1]-p.Offsets[prefix], tokens...)
	p.After[len(p.After)-1] = int32(prefix)
}

// before returns the rows that a sequence goes on from; none by itself.
func (p *Pack) before(sequence int) (from, to int) {
	if p.After[sequence] < 0 {
		return 0, 0
	}
	return p.Offsets[p.After[sequence]], p.Offsets[p.After[sequence]+1]
}

// prefixRows is the number of rows of prefixes.
func (p *Pack) prefixRows() int {
	if p.Prefixes == 0 {
		return 0
	}
	return p.Offsets[p.Prefixes]
}

// Rows returns the number of rows.
func (p *Pack) Rows() int { return len(p.Tokens) }

// Sequences returns the number of sequences.
func (p *Pack) Sequences() int { return max(len(p.Offsets)-1, 0) }

// check panics when a token or position lies outside the model: callers
// validate user input before it reaches a pass.
func (p *Pack) check(vocab, context int) {
	for r, t := range p.Tokens {
		if t < 0 || int(t) >= vocab {
			panic(fmt.Sprintf("engine: token %d at row %d, vocabulary has %d", t, r, vocab))
		}
		if q := p.Positions[r]; q < 0 || int(q) >= context {
			panic(fmt.Sprintf("engine: position %d at row %d, context has %d", q, r, context))
		}
	}
}
