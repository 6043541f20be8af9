package learner

import (
	"fmt"

	"driftlab/engine"
	"driftlab/engine/column"
)

// retained lays the recorded retention masks out in the order of the pack's
// rows, nil if they are not to be replayed. Rows that read the prompt saw all of
// it, or what the index of sparse attention chose for them, if that is recorded. It panics if the batch has no masks: a dense pass would look like a shadow.
func (s *Scorer) retained(b *column.Sampled, replay bool) *engine.Retention {
	if !replay {
		return nil
	}
	per := b.KVPlanes * b.KVWords
	if per == 0 || len(b.KVKept) != b.Tokens()*per {
		panic(fmt.Sprintf("learner: replay of %d words of retention masks, %d tokens have %d each", len(b.KVKept), b.Tokens(), per))
	}
	r := &s.retention
	r.Planes, r.Words, r.Kept = b.KVPlanes, b.KVWords, resized(r.Kept, s.pack.Rows()*per)
	if r.PerLayer = s.indexed; r.PerLayer {
		clear(r.Kept) // a row without a record chooses
	} else {
		for row, position := range s.pack.Positions {
			for at := range per {
				r.Kept[row*per+at] = below(int(position) + 1 - at%r.Words*64)
			}
		}
	}
	for i := range b.Len() {
		from, to := b.Span(i)
		copy(r.Kept[s.layout.prompt[i]*per:], of(b.PromptKept, i))
		copy(r.Kept[s.layout.first[i]*per:], b.KVKept[from*per:to*per])
	}
	return r
}

// below is a word with its first n bits set.
func below(n int) uint64 {
	if n >= 64 {
		return ^uint64(0)
	}
	return 1<<max(n, 0) - 1
}

// addDense adds value and gradient of the dense objective: a second pass over
// the same rows, in which nothing is masked. What the first pass recorded stays
// as it is.
func (l *Learner) addDense(in *column.Sampled, r *Report, o StepOptions) error {
	dense, policy := o.Dense, o.Policy
	policy.Retention, o.Dense = false, nil
	o.Policy, o.Distributions, o.Entropy = policy, true, false
	l.out, l.denseOut = l.denseOut, l.out
	l.made = false
	l.begin(in, o.Policy, o.Earlier, l.saving())
	err := l.propagate(&l.dense, in, dense, o, 0)
	l.out, l.denseOut = l.denseOut, l.out
	r.Loss += l.denseOut.Loss
	r.Metrics = append(r.Metrics, l.denseOut.Metrics...)
	return err
}
