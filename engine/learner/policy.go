package learner

import "driftlab/engine/column"

// Policy says which distribution over tokens a pass is of, at given weights:
// temperature, and what of the rollout it replays.
type Policy struct {
	// Temperature divides the logits, as in the rollout.
	Temperature float64
	// Replay says whose routes to follow, Gates with which gates; empty means live.
	Replay Replay
	Gates  Gates
	// Support replays each token's recorded sampling support (Keep Sampling Mask,
	// arXiv:2512.02556): log-probs, entropy, sum of squares and distributions are
	// those of the policy restricted to it, outside of which a distribution holds
	// -Inf. Tokens drawn without truncation are as ever.
	Support bool
	// Retention replays each token's recorded retention mask: attention sees what
	// was left in the rollout engine's compressed KV cache (Shadow Mask
	// Distillation, arXiv:2605.06850), or what the indices of sparse attention chose there.
	Retention bool
}

// Objective is what a gradient is of. It is the last operation of the graph.
type Objective interface {
	// Eval sets the value and its derivatives, from what the pass recorded of the
	// current weights.
	Eval(out *column.Grad, now *column.Scored) error
}
