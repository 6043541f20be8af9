package recipe

import (
	"driftlab/engine"
)

// Fusion lets a teacher steer the rollouts of prompts that the policy fails (Logit
// Fusion). A token is drawn from softmax(((1 - α)·own + α·other)/temperature), or from the
// mixture of the two laws, and the log-prob on record is that of what it was drawn from,
// with α = alpha·max(0, 1 - k/until)·s at step k, counted from 0, and
// s = (difficulty - low)/(high - low), within 0 and 1, of the prompt. Routes and KV cache stay the engine's, and top_k and top_p truncate the
// mixture. Evaluations, and simulate measure, do without. Source: Zhang et al. 2026 in a
// survey's words; that s is linear is inferred. Its loss: logit_fusion.
type Fusion struct {
	// With is the other model: a checkpoint's name, shipped or a folder, or self, the
	// policy in other numerics. Its vocabulary may not be smaller.
	With string `yaml:"with" default:"self"`
	// Numerics is how the other model computes, as under rollout. Nil where it is not
	// given: as the rollout engine does.
	Numerics *engine.Numerics `yaml:"numerics"`
	// Mix is logits (their mean, the geometric mixture of the two laws) or probabilities (the
	// mixture (1 - α)·own + α·other of the laws themselves).
	Mix string `yaml:"mix" default:"logits" oneof:"logits probabilities"`
	// Alpha is the other model's share at the first step, 0 to 1. Default
	// 0.5: inferred, no figure was at hand.
	Alpha float64 `yaml:"alpha" default:"0.5" range:"[0,1]"`
	// Until is the step at which nothing of it is left; 0 keeps the share as it is.
	// Default 100: inferred.
	Until int `yaml:"until" default:"100" range:"[0,2^24]"`
	// Difficulty is the range of the task's knob over which s rises from 0 to 1, so that
	// hard prompts get more of a teacher; [0, 0] is 1 for all. Default [0, 0].
	Difficulty [2]int `yaml:"difficulty,flow"`
}

// MixProbabilities is a value of Fusion.Mix.
const MixProbabilities = "probabilities"

// FusedWithSelf is the value of Fusion.With that names the policy.
const FusedWithSelf = "self"

// Share is α of a prompt of that difficulty, at a step.
func (f Fusion) Share(step, difficulty int) float64 {
	share := f.Alpha
	if f.Until > 0 {
		share *= max(0, 1-float64(step)/float64(f.Until))
	}
	if low, high := f.Difficulty[0], f.Difficulty[1]; high > low {
		share *= min(max(float64(difficulty-low)/float64(high-low), 0), 1)
	}
	return share
}

// fusion checks how another model's logits are mixed in.
func (c *checker) fusion(r Rollout) {
	f := r.Fusion
	if f == nil {
		return
	}
	const at = "rollout.fusion."
	c.that(f.With != "", at+"with", "missing: use self, or a checkpoint's name")
	if f.Numerics != nil {
		c.numerics(at+"numerics", *f.Numerics)
	}
	low, high := f.Difficulty[0], f.Difficulty[1]
	c.that(low >= 0 && (high > low || high == 0 && low == 0), at+"difficulty", "[%d, %d] is not a range low < high: use [0, 0] for the same share everywhere", low, high)

	const out = ": leave one of the two out"
	c.that(r.Speculative == nil, "rollout.fusion", "drafts are verified by the engine's own law, and tokens are drawn by a mixture"+out)
	c.that(r.KVRetention == nil, "rollout.fusion", "the other model attends to every position, and kv_retention compresses the engine's cache alone"+out)
	c.that(len(r.Fleet) == 0, "rollout.fusion", "the other model belongs to a single engine, and fleet has several engines"+out)
	c.that(r.KVScales.Prompts == 0, "rollout.fusion", "kv_scales calibrates the engine, and not the other model"+out)
}
