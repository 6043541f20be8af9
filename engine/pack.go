package engine

import "fmt"

// Pack is token sequences laid end to end, without padding: row r of a pass is
// Tokens[r]. Row r predicts the token at row r+1 of its sequence.
type Pack struct {
	// Offsets has one entry more than there are sequences; sequence s owns the
	// rows Offsets[s]..Offsets[s+1].
	Offsets []int
	// Tokens are vocabulary ids.
	Tokens []int32
	// Positions are the rows' positions in their sequences; within a sequence
	// they count up by one.
	Positions []int32
	// Targets lists, in increasing order, the rows whose next-token
	// distribution is wanted; nil means every row.
	Targets []int32
}

// Reset empties the pack and keeps its memory.
func (p *Pack) Reset() {
	p.Offsets = append(p.Offsets[:0], 0)
	p.Tokens, p.Positions, p.Targets = p.Tokens[:0], p.Positions[:0], nil
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
	p.Offsets = append(p.Offsets, len(p.Tokens))
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
