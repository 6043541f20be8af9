package metrics

import (
	"math"

	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
)

// KeptMass tests that recorded log-probs belong to the law the tokens were drawn
// from. Given a prefix, the ratio of the learner's policy p to the sampling law mu
// averages to the mass that p has on the support of mu:
//
//	E_mu[p(a)/mu(a)] = Σ_{a∈support} p(a)
//
// which is 1 where nothing is truncated and the kept mass where top-p or top-k is
// and the engines are equal. Log-probs from before temperature or truncation, or
// of another engine, break it.
type KeptMass struct {
	// Kept is the mean mass of the sampling support in the rollout engine.
	Kept float64 `json:"kept"`
	// Expected is the mean of the right-hand side: the learner's mass there.
	Expected float64 `json:"expected"`
	// Ratio is the mean of the left-hand side over the sampled tokens, and StdErr
	// the standard error of Ratio − Expected: given the prefix each token's
	// difference has mean 0, so their squares add up.
	Ratio  float64 `json:"ratio"`
	StdErr float64 `json:"std_err"`
	// Holds says that the two sides agree within four standard errors, or rounding.
	Holds bool `json:"holds"`
}

// Bounds of KeptMass.Holds.
const (
	keptErrors   = 4
	keptRounding = 1e-5
)

// CompareKeptMass computes the identity over the generated tokens, false where
// the learner's distributions have not been recorded. It panics without LogpOld,
// LogpRoll or KeptMass.
func CompareKeptMass(b *batch.Batch) (k KeptMass, ok bool) {
	if err := b.Require(batch.Mask, batch.LogpOld, batch.LogpRoll, batch.KeptMass); err != nil {
		panic("diagnose: " + err.Error())
	}
	if b.Tokens() == 0 || len(b.Old.Dist) != b.Tokens()*b.Vocab {
		return k, false
	}
	n, squares := 0, 0.0
	for i, counts := range b.Mask {
		if !counts {
			continue
		}
		mass := 0.0
		p := b.Old.Dist[i*b.Vocab : (i+1)*b.Vocab]
		if b.Support == nil || b.Support[i] == nil {
			for _, logp := range p {
				mass += elementary.Exp(float64(logp))
			}
		} else {
			for _, id := range b.Support[i] {
				mass += elementary.Exp(float64(p[id]))
			}
		}
		ratio := elementary.Exp(b.Old.Logp[i] - b.LogpRoll[i])
		n++
		k.Kept += b.KeptMass[i]
		k.Expected += mass
		k.Ratio += ratio
		squares += float64((ratio - mass) * (ratio - mass))
	}
	if n == 0 {
		return k, false
	}
	count := float64(n)
	k.Kept, k.Expected, k.Ratio = k.Kept/count, k.Expected/count, k.Ratio/count
	k.StdErr = math.Sqrt(squares) / count
	k.Holds = math.Abs(k.Ratio-k.Expected) <= float64(keptErrors*k.StdErr)+keptRounding
	return k, true
}
