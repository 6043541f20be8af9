package recipe

import "driftlab/engine"

// Fusion lets a teacher steer the rollouts of prompts that the policy fails (Logit Fusion).
type Fusion struct {
	With       string           `yaml:"with" default:"self"`
	Numerics   *engine.Numerics `yaml:"numerics"`
	Mix        string           `yaml:"mix" default:"logits" oneof:"logits probabilities"`
	Alpha      float64          `yaml:"alpha" default:"0.5" range:"[0,1]"`
	Until      int              `yaml:"until" default:"100" range:"[0,2^24]"`
	Difficulty [2]int           `yaml:"difficulty,flow"`
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
