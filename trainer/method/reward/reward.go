package reward

import (
	"fmt"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
	"driftlab/trainer/method/task"
)

// Shaper computes one part of the reward. Implementations are pointers to
// parameter structs; one file each.
type Shaper interface {
	// Part writes the part's reward of every response to dst, length B. It
	// reads the verdicts, Mask, and the columns its Spec lists under Needs.
	Part(dst []float64, b *batch.Batch, verdicts []task.Verdict) error
}

// Placer is a Shaper whose part is spread over the tokens of a response.
type Placer interface {
	Shaper
	// Place adds the part to dst, length N. The sum over a response is what
	// Part gives for it.
	Place(dst []float64, b *batch.Batch, verdicts []task.Verdict) error
}

// follower is a Shaper whose part depends on the sum of the parts before it, which it reads in Reward.
type follower interface{ follows() }

// Follows reports whether a part depends on the parts before it, so that it cannot stand first.
func Follows(s Shaper) bool { _, ok := s.(follower); return ok }

// Scorer adds up parts. It keeps scratch memory: use one per goroutine.
type Scorer struct {
	parts  []Shaper
	column []float64
	flat   []float64
	rows   [][]float64
	whole  [][]float64 // those of rows without a place
	wholes []float64
	tokens []float64
	steps  []float64
}

// NewScorer returns a Scorer for these parts; without any, for the exact reward.
func NewScorer(parts ...Shaper) *Scorer {
	if len(parts) == 0 {
		parts = []Shaper{method.New[Exact]()}
	}
	return &Scorer{parts: parts}
}

// Score fills Correct, Reward and RewardParts of the batch from one verdict
// per response, and if a part is placed within the response TokenReward,
// StepReward and OutcomeParts; otherwise it sets these to nil. All but the first
// two columns are the Scorer's memory until its next call.
func (s *Scorer) Score(b *batch.Batch, verdicts []task.Verdict) error {
	n, kinds := b.Len(), len(s.parts)
	if len(verdicts) != n {
		return fmt.Errorf("reward: %d verdicts for %d responses", len(verdicts), n)
	}
	if len(b.Mask) != b.Tokens() {
		return b.Require(batch.Mask)
	}
	b.Correct = batch.Zeroed(b.Correct, n)
	b.Reward = batch.Zeroed(b.Reward, n)
	s.column = batch.Zeroed(s.column, n)
	s.flat = batch.Zeroed(s.flat, n*kinds)
	s.rows = batch.Zeroed(s.rows, n)
	for i := range n {
		b.Correct[i] = verdicts[i].Correct
		s.rows[i] = s.flat[i*kinds : (i+1)*kinds : (i+1)*kinds]
	}
	b.RewardParts, b.OutcomeParts, b.TokenReward, b.StepReward = s.rows, nil, nil, nil
	placed := false
	for k, part := range s.parts {
		if err := part.Part(s.column, b, verdicts); err != nil {
			return err
		}
		for i, r := range s.column {
			s.rows[i][k] = r
			b.Reward[i] += r
		}
		if _, ok := part.(Placer); ok {
			placed = true
		}
	}
	if placed {
		return s.place(b, verdicts)
	}
	return nil
}

// place fills StepReward with the placed parts where they belong, OutcomeParts
// with the others, and TokenReward with both, the others on the last generated
// token.
func (s *Scorer) place(b *batch.Batch, verdicts []task.Verdict) error {
	s.steps = batch.Zeroed(s.steps, b.Tokens())
	s.wholes = batch.Zeroed(s.wholes, len(s.flat))[:0]
	s.whole = s.whole[:0]
	for _, part := range s.parts {
		if p, ok := part.(Placer); ok {
			if err := p.Place(s.steps, b, verdicts); err != nil {
				return err
			}
		}
	}
	s.tokens = append(s.tokens[:0], s.steps...)
	for i, row := range s.rows {
		from, to := b.Span(i)
		at, first := lastGenerated(b, from, to), len(s.wholes)
		for k, part := range s.parts {
			if _, ok := part.(Placer); ok {
				continue
			}
			s.wholes = append(s.wholes, row[k])
			if at >= 0 {
				s.tokens[at] += row[k]
			}
		}
		s.whole = append(s.whole, s.wholes[first:len(s.wholes):len(s.wholes)])
	}
	b.TokenReward, b.StepReward, b.OutcomeParts = s.tokens, s.steps, s.whole
	return nil
}

// lastGenerated returns the last generated token of the entries from..to, or -1.
func lastGenerated(b *batch.Batch, from, to int) int {
	for at := to - 1; at >= from; at-- {
		if b.Mask[at] {
			return at
		}
	}
	return -1
}

// length is the number of generated tokens of response i.
func length(b *batch.Batch, i int) float64 {
	from, to := b.Span(i)
	return float64(masked.Count(b.Mask[from:to]))
}
