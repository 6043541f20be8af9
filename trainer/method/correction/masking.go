package correction

import "driftlab/precision/elementary"

// Masking is a rejection rule: one small file each, a pointer to a parameter
// struct.
type Masking interface {
	// Reject clears keep for every token of in.Mask that the rule rejects. It
	// never sets an entry. It allocates nothing.
	Reject(keep []bool, in *Input) error
	// rule says how a decision comes about, for a trace.
	rule(in *Input) rule
}

// stepMasking marks the rules that compare the current weights with the
// rollout engine and so run at every gradient step also in decoupled mode.
// What they reject has its gate closed: it stays in the loss's denominators, and
// any KL term next to the policy loss still acts on it, as DeepSeek-V3.2, TRL and
// slime have it.
type stepMasking interface {
	Masking
	atEveryStep()
}

// reject clears the entries from..to of keep that count.
func reject(keep []bool, in *Input, from, to int) {
	for n := from; n < to; n++ {
		if in.Mask[n] {
			keep[n] = false
		}
	}
}

// within reports low ≤ x ≤ high, both ends kept; NaN is outside.
func within(x, low, high float64) bool { return x >= low && x <= high }

// geometricMean is exp of the mean log-ratio of response i, 1 if no token counts.
func (in *Input) geometricMean(i int) float64 {
	sum, count := in.rowSum(i)
	return elementary.Exp(in.clamp(sum / float64(max(count, 1))))
}
