package learner

import (
	"fmt"
	"slices"

	"driftlab/engine"
	"driftlab/engine/column"
	"driftlab/engine/kernel"
)

// distributor turns logits into log-probs, probabilities and entropies, row by row: each
// worker does those of its block as soon as it has computed them.
type distributor struct {
	scorer         *Scorer
	offsets        []int // of the responses, and so of the targets
	invTemperature float32
}

// distributing prepares a pass over the batch that is laid out, and returns what
// is to follow it.
func (s *Scorer) distributing(b *column.Sampled, temperature float64) engine.Follower {
	n := len(s.targets) * s.config.Vocab
	s.logp, s.probs, s.entropy = resized(s.logp, n), resized(s.probs, n), resized(s.entropy, len(s.targets))
	s.follow = distributor{s, b.Offsets, float32(1 / temperature)}
	return &s.follow
}

func (d *distributor) Follow(_, from, to, target int) {
	s, v := d.scorer, d.scorer.config.Vocab
	prefixes := s.pack.Prefixes // they stand before the responses
	if to <= prefixes {
		return
	}
	rows := d.offsets[to-prefixes] - d.offsets[from-prefixes]
	first, end := target*v, (target+rows)*v
	kernel.LogSoftmaxRows(s.logp[first:end], s.pass.Logits()[first:end], rows, v, d.invTemperature)
	kernel.Exp(s.probs[first:end], s.logp[first:end])
	kernel.Entropies(s.entropy[target:target+rows], s.probs[first:end], s.logp[first:end], v)
}

// distribute completes the log-probs and probabilities of the last pass, and
// restricts them to the recorded supports if they are replayed. A token that the
// policy did not generate has the log-prob 0, as in the rollout engine: no policy
// is asked for it.
func (s *Scorer) distribute(b *column.Sampled, onSupport bool) {
	s.chosen = resized(s.chosen, len(s.targets))
	for n := range s.chosen {
		s.chosen[n] = float64(s.logp[n*s.config.Vocab+int(b.Token[n])])
	}
	if onSupport {
		s.restrict(b)
	}
	for n := range b.Mask {
		if !b.Mask[n] {
			s.chosen[n] = 0
		}
	}
	s.mask = b.Mask
}

// restrict moves log-probs and probabilities onto the recorded supports. It
// panics where none was recorded, or where a sampled token lies outside its
// own: a pass over the whole vocabulary would look like one on the support.
func (s *Scorer) restrict(b *column.Sampled) {
	if len(b.Support) != b.Tokens() {
		panic(fmt.Sprintf("learner: %d sampling supports to replay, %d tokens", len(b.Support), b.Tokens()))
	}
	v := s.config.Vocab
	for n, kept := range b.Support {
		if kept == nil {
			continue
		}
		if _, found := slices.BinarySearch(kept, b.Token[n]); !found {
			panic(fmt.Sprintf("learner: token %d is not in its sampling support %v", b.Token[n], kept))
		}
		logp, probs := s.logp[n*v:(n+1)*v], s.probs[n*v:(n+1)*v]
		logMass := s.support.LogMass(logp, probs, kept)
		s.chosen[n] -= logMass
		engine.Restrict(logp, kept, logMass)
		kernel.Exp(probs, logp)
		kernel.Entropies(s.entropy[n:n+1], probs, logp, v)
	}
}
