package engine

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"driftlab/engine/kernel"
)

// Support restricts next-token distributions to a sampling support, the ids
// that top-k and top-p kept (Keep Sampling Mask, arXiv:2512.02556, section
// 3.1). Over the kept set K
//
//	logp'_a = logp_a - ln Σ_{b∈K} exp(logp_b) = z_a - logsumexp_K(z)
//
// and every other token has probability zero. Both engines do this arithmetic,
// so that equal logits give equal bits. The zero value is ready; it owns memory
// and is not safe for concurrent use.
type Support struct{ order []int32 }

// smallMass is below what float32 probabilities can sum accurately.
const smallMass = 1e-30

// LogMass returns the log of the probability of the kept ids, in nats and
// rounded to float32. logp and probs are a row of log-probs and their
// exponentials. The terms are added in the order in which the rollout engine
// meets them: the most likely first, equals by id. A mass too small for that,
// which another engine's support may have, is summed relative to its largest
// term. It panics if nothing is kept.
func (s *Support) LogMass(logp, probs []float32, kept []int32) float64 {
	if len(kept) == 0 {
		panic(fmt.Sprintf("engine: empty sampling support over %d tokens", len(logp)))
	}
	s.order = append(s.order[:0], kept...)
	slices.SortFunc(s.order, func(a, b int32) int {
		if c := cmp.Compare(probs[b], probs[a]); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	var mass float64
	for _, id := range s.order {
		mass += float64(probs[id])
	}
	if !(mass < smallMass) {
		return LogOfMass(mass)
	}
	most := logp[s.order[0]]
	for _, id := range s.order {
		most = max(most, logp[id])
	}
	mass = 0
	for _, id := range s.order {
		mass += float64(kernel.Exp32(logp[id] - most))
	}
	return float64(most) + LogOfMass(mass)
}

// LogOfMass is the log of a support's probability as both engines round it.
func LogOfMass(mass float64) float64 {
	return float64(kernel.Log32(float32(mass))) // math.Log differs between processors
}

// Restrict rewrites a row of log-probs to those on the support, given in
// increasing order, whose mass has the given log: -Inf for every other token.
func Restrict(logp []float32, kept []int32, logMass float64) {
	outside := float32(math.Inf(-1))
	from := 0
	for _, id := range kept {
		for ; from < int(id); from++ {
			logp[from] = outside
		}
		logp[id] = float32(float64(logp[id]) - logMass)
		from = int(id) + 1
	}
	for ; from < len(logp); from++ {
		logp[from] = outside
	}
}
